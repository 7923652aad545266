//! Messages of clients.

use bytes::Bytes;

use super::cursor::{Cursor, Malformed};

/// Message of a client after the startup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Statements as text, run at once.
    Query(String),
    /// Statement to prepare.
    Parse {
        /// Name of the prepared statement; empty for the unnamed one.
        name: String,
        /// Text of the statement.
        text: String,
        /// Types of its first parameters, 0 where the client does not know.
        types: Vec<u32>,
    },
    /// Portal of a prepared statement with values.
    Bind {
        /// Name of the portal; empty for the unnamed one.
        portal: String,
        /// Name of the prepared statement.
        statement: String,
        /// Formats of the values: none for text, one for all, or one each.
        formats: Vec<i16>,
        /// Values, `None` for null.
        values: Vec<Option<Bytes>>,
        /// Formats of the columns, as those of the values.
        results: Vec<i16>,
    },
    /// Asks for the columns.
    Describe(Target),
    /// Runs a portal for a number of rows; 0 for all.
    Execute {
        /// Name of the portal.
        portal: String,
        /// Rows after which the portal is suspended.
        rows: usize,
    },
    /// Forgets a statement or a portal.
    Close(Target),
    /// Ends a series of messages.
    Sync,
    /// Asks for what has been answered so far.
    Flush,
    /// Password, or a part of SASL.
    Password(Bytes),
    /// Rows of COPY.
    CopyData(Bytes),
    /// End of COPY.
    CopyDone,
    /// COPY is given up.
    CopyFail(String),
    /// The client leaves.
    Terminate,
    /// Message over the limit, which was passed over.
    TooLarge {
        /// Its type.
        kind: u8,
        /// Its bytes.
        bytes: usize,
    },
    /// Statement whose text is not UTF-8, which was passed over.
    NoText {
        /// Its type.
        kind: u8,
        /// Where its text ends to be UTF-8, in bytes of the message.
        at: usize,
    },
    /// Message for which there was no memory, and which was passed over.
    NoMemory {
        /// Its type.
        kind: u8,
    },
}

/// Prepared statement or portal, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Statement(String),
    Portal(String),
}

impl Message {
    /// Reads a message: its type and its body.
    ///
    /// # Errors
    /// Bytes that are no message of that type.
    pub(crate) fn read(kind: u8, body: Bytes) -> Result<Self, Malformed> {
        if matches!(kind, b'Q' | b'P')
            && let Err(error) = std::str::from_utf8(&body)
            && is_of_texts(kind, &body)
        {
            return Ok(Self::NoText { kind, at: error.valid_up_to() });
        }
        let mut cursor = Cursor::new(body);
        let message = match kind {
            b'Q' => Self::Query(cursor.text()?),
            b'P' => Self::Parse {
                name: cursor.text()?,
                text: cursor.text()?,
                types: cursor.list(4, Cursor::u32)?,
            },
            b'B' => Self::Bind {
                portal: cursor.text()?,
                statement: cursor.text()?,
                formats: cursor.list(2, Cursor::i16)?,
                values: cursor.list(4, Cursor::value)?,
                results: cursor.list(2, Cursor::i16)?,
            },
            b'D' => Self::Describe(target(&mut cursor)?),
            b'E' => Self::Execute {
                portal: cursor.text()?,
                // A negative number is all, as in PostgreSQL.
                rows: usize::try_from(cursor.i32()?).unwrap_or(0),
            },
            b'C' => Self::Close(target(&mut cursor)?),
            b'S' => Self::Sync,
            b'H' => Self::Flush,
            b'p' => Self::Password(all(&mut cursor)?),
            b'd' => Self::CopyData(all(&mut cursor)?),
            b'c' => Self::CopyDone,
            b'f' => Self::CopyFail(cursor.text()?),
            b'X' => Self::Terminate,
            _ => return Err(Malformed("there is no message of this type")),
        };
        cursor.end()?;
        Ok(message)
    }
}

/// Returns `true` if the first bytes of a message that are not UTF-8 are in one of its texts: types
/// of parameters follow those of Parse.
fn is_of_texts(kind: u8, body: &[u8]) -> bool {
    let texts = if kind == b'P' { 2 } else { 1 };
    let ends = body.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at);
    let end = ends.take(texts).last();
    end.and_then(|end| body.get(..end)).is_some_and(|texts| std::str::from_utf8(texts).is_err())
}

fn all(cursor: &mut Cursor) -> Result<Bytes, Malformed> {
    cursor.bytes(cursor.remaining())
}

fn target(cursor: &mut Cursor) -> Result<Target, Malformed> {
    match cursor.u8()? {
        b'S' => Ok(Target::Statement(cursor.text()?)),
        b'P' => Ok(Target::Portal(cursor.text()?)),
        _ => Err(Malformed("neither a statement nor a portal is meant")),
    }
}

/// First message of a connection, which has no type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Startup {
    /// Asks for TLS.
    Tls,
    /// Asks for encryption by GSSAPI.
    Gss,
    /// Asks to cancel the running statement of another connection.
    Cancel {
        /// Number of the connection.
        connection: u32,
        /// Its secret.
        secret: u32,
    },
    /// Starts a session.
    Session {
        /// Minor version of the protocol.
        minor: u16,
        /// Parameters: `user`, `database`, settings.
        parameters: Vec<(String, String)>,
    },
}

const PROTOCOL_MAJOR: u32 = 3;
const CODE_CANCEL: u32 = 80_877_102;
const CODE_TLS: u32 = 80_877_103;
const CODE_GSS: u32 = 80_877_104;

impl Startup {
    /// Reads the body of a first message.
    ///
    /// # Errors
    /// Bytes that are none, such as those of an HTTP client or of protocol 2.
    pub(crate) fn read(body: Bytes) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(body);
        let code = cursor.u32()?;
        let startup = match code {
            CODE_TLS => Self::Tls,
            CODE_GSS => Self::Gss,
            CODE_CANCEL => Self::Cancel { connection: cursor.u32()?, secret: cursor.u32()? },
            _ if code >> 16 == PROTOCOL_MAJOR => {
                let minor = u16::try_from(code & 0xffff).unwrap_or(u16::MAX);
                Self::Session { minor, parameters: parameters(&mut cursor)? }
            }
            _ => return Err(Malformed("this is not PostgreSQL's protocol, version 3")),
        };
        cursor.end()?;
        Ok(startup)
    }
}

fn parameters(cursor: &mut Cursor) -> Result<Vec<(String, String)>, Malformed> {
    let mut parameters = Vec::new();
    loop {
        let name = cursor.text()?;
        if name.is_empty() {
            return Ok(parameters);
        }
        parameters.push((name, cursor.text()?));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: u8, body: &[u8]) -> Result<Message, Malformed> {
        Message::read(kind, Bytes::copy_from_slice(body))
    }

    /// `p`, `s`, format 1, values `ab` and null, all columns as text.
    const BIND: &[u8] = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\x01\0\0";

    #[test]
    fn messages_are_read() {
        assert_eq!(read(b'Q', b"SELECT 1\0"), Ok(Message::Query("SELECT 1".into())));
        let bind = Message::Bind {
            portal: "p".into(),
            statement: "s".into(),
            formats: vec![1],
            values: vec![Some(Bytes::from_static(b"ab")), None],
            results: vec![0],
        };
        assert_eq!(read(b'B', BIND), Ok(bind));
        let parse = Message::Parse { name: String::new(), text: "x".into(), types: vec![23] };
        assert_eq!(read(b'P', b"\0x\0\0\x01\0\0\0\x17"), Ok(parse));
        assert_eq!(read(b'D', b"Sx\0"), Ok(Message::Describe(Target::Statement("x".into()))));
        let all = Message::Execute { portal: String::new(), rows: 0 };
        assert_eq!(read(b'E', b"\0\xff\xff\xff\xff"), Ok(all));
    }

    #[test]
    fn no_beginning_of_a_message_and_no_longer_one_is_read() {
        for end in 0..BIND.len() {
            assert!(read(b'B', &BIND[..end]).is_err(), "{end}");
        }
        assert!(read(b'B', &[BIND, b"\0"].concat()).is_err());
        // Counts and lengths beyond the end, negative lengths, text without an end.
        for (kind, body) in [
            (b'P', &b"\0x\0\xff\xff"[..]),
            (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"),
            (b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0"),
            (b'Q', b"no end"),
            (b'Q', b"\xff"),
            (b'D', b"Xx\0"),
            (b'?', b""),
        ] {
            assert!(read(kind, body).is_err(), "{}", kind as char);
        }
    }

    #[test]
    fn statement_that_is_not_utf8_is_told_from_types_that_are_not() {
        assert_eq!(read(b'Q', b"a\xff\0"), Ok(Message::NoText { kind: b'Q', at: 1 }));
        assert_eq!(read(b'P', b"s\0a\xff\0\0\0"), Ok(Message::NoText { kind: b'P', at: 3 }));
        let types = Message::Parse { name: String::new(), text: "x".into(), types: vec![u32::MAX] };
        assert_eq!(read(b'P', b"\0x\0\0\x01\xff\xff\xff\xff"), Ok(types));
    }

    #[test]
    fn startup_is_read() {
        let read = |body: &[u8]| Startup::read(Bytes::copy_from_slice(body));
        assert_eq!(read(&CODE_TLS.to_be_bytes()), Ok(Startup::Tls));
        let session = Startup::Session {
            minor: 0,
            parameters: vec![("user".into(), "u".into()), ("database".into(), "d".into())],
        };
        assert_eq!(read(b"\0\x03\0\0user\0u\0database\0d\0\0"), Ok(session));
        assert!(read(b"\0\x03\0\0user\0u").is_err());
        assert!(read(b"\0\x02\0\0").is_err());
        assert!(read(b"GET / HTTP/1.1").is_err());
        assert!(read(b"").is_err());
    }
}
