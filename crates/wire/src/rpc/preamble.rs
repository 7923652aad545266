//! First six bytes of a connection.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::ProtocolError;
use crate::exception::{Exception, ExceptionKind};

/// Bytes of a preamble.
pub const PREAMBLE_BYTES: usize = 6;

const CALLS: [u8; 4] = *b"HBas";
const REGISTRY: [u8; PREAMBLE_BYTES] = *b"Regist";
const SECURITY: [u8; PREAMBLE_BYTES] = *b"Securi";
const VERSION: u8 = 0;

/// Purpose of a connection, as the peer's preamble specifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preamble {
    /// RPC calls; a connection header follows.
    Calls(Auth),
    /// Cluster id: respond with a `GetConnectionRegistryResponse` under the call id -1 and close
    /// the connection.
    Registry,
    /// Server principal: respond with a `SecurityPreamableResponse` under the call id -1 or with
    /// [`Preamble::security_not_enabled`]. Another preamble follows on the same connection.
    Security,
}

/// Authentication method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// No authentication: the connection header names the user.
    Simple = 80,
    /// SASL with GSSAPI.
    Kerberos = 81,
    /// SASL with a token.
    Digest = 82,
}

impl Preamble {
    /// Parses the first six bytes.
    ///
    /// # Errors
    /// [`ProtocolError::Fatal`] for other bytes, another version and unknown ways to authenticate,
    /// as HBase answers them.
    pub fn decode(bytes: [u8; PREAMBLE_BYTES]) -> Result<Self, ProtocolError> {
        match bytes {
            REGISTRY => return Ok(Self::Registry),
            SECURITY => return Ok(Self::Security),
            _ => {}
        }
        let [h, b, a, s, version, auth] = bytes;
        if [h, b, a, s] != CALLS {
            let received = bytes.escape_ascii();
            return Err(fatal(
                ExceptionKind::FatalConnection,
                format!("expected a connection to start with HBas, but it starts with {received}"),
            ));
        }
        if version != VERSION {
            return Err(fatal(
                ExceptionKind::WrongVersion,
                format!("unsupported protocol version {version}; expected {VERSION}"),
            ));
        }
        match Auth::from_code(auth) {
            Some(auth) => Ok(Self::Calls(auth)),
            None => Err(fatal(
                ExceptionKind::BadAuth,
                format!("unsupported authentication code {auth}"),
            )),
        }
    }

    /// Returns the first bytes of a connection.
    pub fn encode(self) -> [u8; PREAMBLE_BYTES] {
        let [h, b, a, s] = CALLS;
        match self {
            Self::Calls(auth) => [h, b, a, s, VERSION, auth as u8],
            Self::Registry => REGISTRY,
            Self::Security => SECURITY,
        }
    }

    /// Returns the response to [`Preamble::Security`] of a server without security.
    pub fn security_not_enabled() -> Exception {
        Exception::new(ExceptionKind::SecurityNotEnabled, "security is not enabled")
    }
}

impl Auth {
    /// Response of a server without security to a client that begins with SASL: success, then
    /// "switch to simple authentication". The client still sends its first SASL message, which must
    /// be skipped.
    pub const SWITCH_TO_SIMPLE: [u8; 8] = [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xa8];

    fn from_code(code: u8) -> Option<Self> {
        [Self::Simple, Self::Kerberos, Self::Digest].into_iter().find(|auth| *auth as u8 == code)
    }
}

fn fatal(kind: ExceptionKind, message: String) -> ProtocolError {
    ProtocolError::Fatal(Exception::new(kind, message))
}
