//! Error of a statement: what failed, where in the text, and PostgreSQL's code for it.

#[cfg(feature = "datafusion")]
mod of_datafusion;

use std::fmt;

use halite_rowkey::{LanguageError, PlanError};
use halite_types::ErrorKind;

/// Result type of this crate.
pub type Result<T, E = SqlError> = std::result::Result<T, E>;

/// Category of an error, by PostgreSQL's codes (`SQLSTATE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SqlState {
    /// `42601`: the text is not SQL, or a word is where it has no meaning.
    Syntax,
    /// `42P01`: there is no such table.
    UndefinedTable,
    /// `3F000`: there is no such schema.
    UndefinedSchema,
    /// `42703`: there is no such column.
    UndefinedColumn,
    /// `42883`: there is no such function.
    UndefinedFunction,
    /// `42704`: there is no such setting or type.
    UndefinedObject,
    /// `42702`: the name fits several columns or tables.
    Ambiguous,
    /// `42P02`: there is no such parameter, or it has no value.
    UndefinedParameter,
    /// `42501`: the session's role does not permit it.
    NotPermitted,
    /// `42P07`: the table exists already.
    DuplicateTable,
    /// `42809`: a view where a table is expected, or the reverse.
    WrongObject,
    /// `42P06`: the schema exists.
    DuplicateSchema,
    /// `2BP01`: the schema has tables.
    DependentObjects,
    /// `42804`: a value of another type.
    WrongType,
    /// `22003`: a number out of the range of its type.
    OutOfRange,
    /// `22P02`: text or bytes that are no value of a type.
    InvalidValue,
    /// `2201W`: a LIMIT below 0.
    InvalidLimit,
    /// `2201X`: an OFFSET below 0.
    InvalidOffset,
    /// `22023`: a value that a setting or a key does not permit.
    InvalidParameter,
    /// A line of COPY that is not as the statement says.
    BadCopyData,
    /// Text that is not UTF-8, or has the letter U+0000.
    NotInEncoding,
    /// `22026`: text or bytes of another length than `CHAR(n)` or `BYTES(n)`.
    WrongLength,
    /// `22012`: division by zero.
    DivisionByZero,
    /// `23502`: null in a field of the key or a NOT NULL column.
    NotNull,
    /// `21000`: one statement would change a row twice.
    Cardinality,
    /// `23505`: the row that INSERT writes is there.
    RowExists,
    /// `40001`: a row changed each time that it was to be written.
    Contention,
    /// `40003`: the answer to a write was lost; it may have been done.
    OutcomeUnknown,
    /// `42P10`: ON CONFLICT names other columns than the key.
    WrongConflictTarget,
    /// `0A000`: SQL has it, this dialect does not.
    NotSupported,
    /// `54000`: a limit on statements, or a guard.
    LimitExceeded,
    /// `25006`: a statement that changes something, in a session or a block that only reads.
    ReadOnly,
    /// `53200`: memory for statements is used up.
    OutOfMemory,
    /// `53100`: the disk has no room for what memory cannot hold.
    DiskFull,
    /// `55000`: the table is disabled.
    NotInState,
    /// `57014`: cancelled, or longer than `statement_timeout`.
    Cancelled,
    /// `08006`: no server answers.
    ConnectionFailure,
    /// `53400`: a server is busy after all retries.
    Busy,
    /// `XX001`: bytes on disk are damaged.
    Corrupt,
    /// `XX000`: a fault of this program.
    Internal,
}

impl SqlState {
    /// Returns the five characters of the code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Syntax => "42601",
            Self::UndefinedTable => "42P01",
            Self::UndefinedSchema => "3F000",
            Self::UndefinedColumn => "42703",
            Self::UndefinedFunction => "42883",
            Self::UndefinedObject => "42704",
            Self::Ambiguous => "42702",
            Self::NotPermitted => "42501",
            Self::DuplicateTable => "42P07",
            Self::WrongObject => "42809",
            Self::DuplicateSchema => "42P06",
            Self::DependentObjects => "2BP01",
            Self::WrongType => "42804",
            Self::OutOfRange => "22003",
            Self::InvalidValue => "22P02",
            Self::InvalidLimit => "2201W",
            Self::InvalidOffset => "2201X",
            Self::InvalidParameter => "22023",
            Self::BadCopyData => "22P04",
            Self::NotInEncoding => "22021",
            Self::WrongLength => "22026",
            Self::DivisionByZero => "22012",
            Self::NotNull => "23502",
            Self::Cardinality => "21000",
            Self::RowExists => "23505",
            Self::Contention => "40001",
            Self::OutcomeUnknown => "40003",
            Self::UndefinedParameter => "42P02",
            Self::WrongConflictTarget => "42P10",
            Self::NotSupported => "0A000",
            Self::LimitExceeded => "54000",
            Self::ReadOnly => "25006",
            Self::OutOfMemory => "53200",
            Self::DiskFull => "53100",
            Self::NotInState => "55000",
            Self::Cancelled => "57014",
            Self::ConnectionFailure => "08006",
            Self::Busy => "53400",
            Self::Corrupt => "XX001",
            Self::Internal => "XX000",
        }
    }
}

/// Error of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// Category.
    pub state: SqlState,
    /// What failed and what to do.
    pub message: String,
    /// Line and column in the statement, both from 1 on, if known.
    pub position: Option<(u64, u64)>,
}

impl SqlError {
    /// Creates an error without a position.
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        Self { state, message: message.into(), position: None }
    }

    pub(crate) fn at(mut self, line: u64, column: u64) -> Self {
        self.position = (line > 0).then_some((line, column));
        self
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(SqlState::NotSupported, message)
    }

    /// Returns the error of a line of COPY that is not as the statement says.
    pub fn bad_copy(line: u64, what: &str) -> Self {
        Self::new(SqlState::BadCopyData, format!("line {line}: {what}"))
    }

    /// Adds where a value of COPY is: its line, and its column by name.
    #[must_use]
    pub fn at_field(mut self, line: u64, column: &str) -> Self {
        self.message = format!("line {line}, column {column}: {}", self.message);
        self
    }

    pub(crate) fn of_language(error: &LanguageError, source: &str) -> Self {
        Self::new(SqlState::Syntax, error.render(source).trim_start_matches("error: "))
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.state.code(), self.message)?;
        match self.position {
            Some((line, column)) => write!(out, " (line {line}, column {column})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for SqlError {}

impl From<PlanError> for SqlError {
    fn from(error: PlanError) -> Self {
        let state = match error {
            PlanError::OnlyHashed { .. } => SqlState::NotSupported,
            _ => SqlState::WrongType,
        };
        Self::new(state, error.to_string())
    }
}

impl From<halite_types::Error> for SqlError {
    fn from(error: halite_types::Error) -> Self {
        let state = match error.kind() {
            ErrorKind::NoSuchTable => SqlState::UndefinedTable,
            ErrorKind::NoSuchNamespace => SqlState::UndefinedSchema,
            ErrorKind::NamespaceExists => SqlState::DuplicateSchema,
            ErrorKind::NamespaceNotEmpty => SqlState::DependentObjects,
            ErrorKind::TableExists => SqlState::DuplicateTable,
            ErrorKind::TableDisabled => SqlState::NotInState,
            ErrorKind::InvalidRequest | ErrorKind::NoSuchFamily => SqlState::InvalidParameter,
            ErrorKind::Busy => SqlState::Busy,
            ErrorKind::Corrupt => SqlState::Corrupt,
            ErrorKind::Unsupported | ErrorKind::IncompatibleFilter => SqlState::NotSupported,
            ErrorKind::RowTooBig => SqlState::LimitExceeded,
            ErrorKind::Io | ErrorKind::Stopped => SqlState::ConnectionFailure,
            _ => SqlState::Internal,
        };
        Self::new(state, error.to_string())
    }
}
