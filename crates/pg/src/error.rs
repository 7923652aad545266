//! Errors that a client receives.

use halite_sql::datafusion::arrow::error::ArrowError;
use halite_sql::datafusion::error::DataFusionError;
use halite_sql::{SqlError, SqlState};

use crate::wire::Malformed;
use crate::wire::backend::{Backend, Severity, letter_at};

/// Error of a statement or a message: PostgreSQL's code, what failed, and where in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PgError {
    pub(crate) severity: Severity,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Line and column from 1 on.
    position: Option<(u64, u64)>,
}

pub(crate) type Result<T, E = PgError> = std::result::Result<T, E>;

/// A message that is none, or does not fit what went before.
pub(crate) const PROTOCOL_VIOLATION: &str = "08P01";
/// No such user, or no user where one is needed.
pub(crate) const NOT_AUTHORIZED: &str = "28000";
pub(crate) const WRONG_PASSWORD: &str = "28P01";
pub(crate) const TOO_MANY_CONNECTIONS: &str = "53300";
pub(crate) const OUT_OF_MEMORY: &str = "53200";
pub(crate) const LIMIT_EXCEEDED: &str = "54000";
pub(crate) const STOPPING: &str = "57P01";
/// A session idled for too long, or a transaction.
pub(crate) const IDLE_SESSION: &str = "57P05";
pub(crate) const IDLE_TRANSACTION: &str = "25P03";
pub(crate) const CANCELLED: &str = "57014";
pub(crate) const NOT_SUPPORTED: &str = "0A000";
pub(crate) const SYNTAX: &str = "42601";
pub(crate) const NO_TRANSACTION: &str = "25P01";
pub(crate) const NO_SAVEPOINT: &str = "3B001";
pub(crate) const FAILED_TRANSACTION: &str = "25P02";
pub(crate) const NO_SUCH_STATEMENT: &str = "26000";
pub(crate) const STATEMENT_EXISTS: &str = "42P05";
pub(crate) const NO_SUCH_CURSOR: &str = "34000";
pub(crate) const CURSOR_EXISTS: &str = "42P03";
/// A portal whose statement has failed.
pub(crate) const NOT_IN_STATE: &str = "55000";
pub(crate) const INVALID_VALUE: &str = "22P02";
pub(crate) const INVALID_PARAMETER: &str = "22023";
pub(crate) const UNKNOWN_SETTING: &str = "42704";
pub(crate) const NOT_PERMITTED: &str = "42501";
pub(crate) const NOT_IN_ENCODING: &str = "22021";
pub(crate) const OUT_OF_RANGE: &str = "22003";
pub(crate) const INTERNAL: &str = "XX000";

impl PgError {
    /// The statement fails.
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, message: message.into(), position: None }
    }

    /// The connection ends.
    pub(crate) fn fatal(code: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Fatal, ..Self::new(code, message) }
    }

    /// Returns the error as one that ends the connection.
    pub(crate) fn into_fatal(self) -> Self {
        Self { severity: Severity::Fatal, ..self }
    }

    /// Returns it as an error of SQL, for what adds to its text.
    pub(crate) fn into_sql(self) -> SqlError {
        let state = match self.code {
            NOT_IN_ENCODING => SqlState::NotInEncoding,
            OUT_OF_RANGE => SqlState::OutOfRange,
            NOT_SUPPORTED => SqlState::NotSupported,
            PROTOCOL_VIOLATION => SqlState::BadCopyData,
            _ => SqlState::InvalidValue,
        };
        SqlError::new(state, self.message)
    }

    /// Writes it as a message. `before` is what the client has sent in front of `statement`, in which
    /// the place of the error is.
    pub(crate) fn write(&self, out: &mut Backend, statement: &str, before: &str) {
        let position = self.position.and_then(|place| letter_at(statement, place));
        let position = position.map(|position| before.chars().count() + position);
        out.report(self.severity, self.code, &self.message, position);
    }
}

impl From<SqlError> for PgError {
    fn from(error: SqlError) -> Self {
        Self { position: error.position, ..Self::new(error.state.code(), error.message) }
    }
}

impl From<DataFusionError> for PgError {
    fn from(error: DataFusionError) -> Self {
        SqlError::from(error).into()
    }
}

impl From<ArrowError> for PgError {
    fn from(error: ArrowError) -> Self {
        SqlError::from(DataFusionError::from(error)).into()
    }
}

impl From<Malformed> for PgError {
    fn from(error: Malformed) -> Self {
        Self::new(PROTOCOL_VIOLATION, format!("malformed message: {error}"))
    }
}

/// Returns the error of a program that cannot go on with what it has.
pub(crate) fn internal(what: impl Into<String>) -> PgError {
    SqlError::new(SqlState::Internal, what).into()
}
