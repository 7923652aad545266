//! Login by SCRAM-SHA-256.

use std::io;

use halite_sql::Access;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::io::Socket;
use crate::error::{NOT_AUTHORIZED, PROTOCOL_VIOLATION, PgError, WRONG_PASSWORD};
use crate::users::{Exchange, Refused, Users};
use crate::wire::cursor::Cursor;
use crate::wire::{Backend, Malformed};

const MECHANISM: &str = "SCRAM-SHA-256";
/// Bytes of a message of the login.
const MAX_BYTES: usize = 4096;

/// Codes of the messages of the server.
const OK: u32 = 0;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;

/// Why there is no session.
pub(super) enum Failed {
    Socket(io::Error),
    Refused(PgError),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Socket(error)
    }
}

impl From<Malformed> for Failed {
    fn from(error: Malformed) -> Self {
        Self::Refused(PgError::fatal(PROTOCOL_VIOLATION, error.to_string()))
    }
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Self {
        let code = match refused {
            Refused::Password => WRONG_PASSWORD,
            Refused::Protocol(_) => PROTOCOL_VIOLATION,
        };
        Self::Refused(PgError::fatal(code, refused.to_string()))
    }
}

/// Lets a client prove who it is, and returns what it may do. The last message is left in `out`.
pub(super) async fn prove(
    socket: &mut Box<dyn Socket>,
    out: &mut Backend,
    users: Option<&Users>,
    parameters: &[(String, String)],
) -> Result<Access, Failed> {
    let user = parameters.iter().find(|(name, _)| name == "user");
    let user = user.map(|(_, user)| user.as_str()).filter(|user| !user.is_empty());
    let user = user.ok_or_else(|| {
        Failed::Refused(PgError::fatal(NOT_AUTHORIZED, "the startup message names no user"))
    })?;
    let Some(users) = users else {
        out.authentication(OK, &[]);
        return Ok(Access::Admin);
    };
    out.authentication(SASL, format!("{MECHANISM}\0\0").as_bytes());
    socket.write_all_buf(out.buffer()).await?;
    let mut first = Cursor::new(read(socket).await?);
    if first.text()? != MECHANISM {
        return Err(Refused::Protocol("only SCRAM-SHA-256 is offered").into());
    }
    let message = first.value()?.unwrap_or_default();
    first.end()?;
    let (exchange, answer) = Exchange::begin(users.verifier(user), &message)?;
    out.authentication(SASL_CONTINUE, answer.as_bytes());
    socket.write_all_buf(out.buffer()).await?;
    let last = exchange.finish(&read(socket).await?)?;
    // A name that no user has has failed before.
    let known = users.get(user).ok_or(Refused::Password)?;
    out.authentication(SASL_FINAL, last.as_bytes());
    out.authentication(OK, &[]);
    Ok(known.access)
}

/// Reads the body of a message of the login.
async fn read(socket: &mut Box<dyn Socket>) -> Result<bytes::Bytes, Failed> {
    if socket.read_u8().await? != b'p' {
        return Err(Malformed("a part of the login is expected").into());
    }
    let length = usize::try_from(i64::from(socket.read_i32().await?) - 4).unwrap_or(usize::MAX);
    if length > MAX_BYTES {
        return Err(Malformed("a part of the login is too long").into());
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    Ok(body.into())
}
