//! Error of a statement: what failed, where in the text, and PostgreSQL's code for it.

use std::fmt;

use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
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
    /// `42804`: a value of another type.
    WrongType,
    /// `22003`: a number out of the range of its type.
    OutOfRange,
    /// `22P02`: text or bytes that are no value of a type.
    InvalidValue,
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
            Self::WrongType => "42804",
            Self::OutOfRange => "22003",
            Self::InvalidValue => "22P02",
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

impl From<SqlError> for DataFusionError {
    fn from(error: SqlError) -> Self {
        Self::External(Box::new(error))
    }
}

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

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> Self {
        match error {
            DataFusionError::External(inner) => match inner.downcast::<Self>() {
                Ok(error) => *error,
                Err(inner) => match inner.downcast::<halite_types::Error>() {
                    Ok(error) => (*error).into(),
                    Err(inner) => Self::new(SqlState::Internal, inner.to_string()),
                },
            },
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
                (*inner).into()
            }
            DataFusionError::Shared(inner) => inner.as_ref().into(),
            other => (&other).into(),
        }
    }
}

impl From<&DataFusionError> for SqlError {
    fn from(error: &DataFusionError) -> Self {
        let text = || first_line(&error.strip_backtrace());
        match error {
            DataFusionError::External(inner) => {
                if let Some(error) = inner.downcast_ref::<Self>() {
                    return error.clone();
                }
                match inner.downcast_ref::<halite_types::Error>() {
                    Some(error) => error.clone().into(),
                    None => Self::new(SqlState::Internal, inner.to_string()),
                }
            }
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
                inner.as_ref().into()
            }
            DataFusionError::Shared(inner) => inner.as_ref().into(),
            DataFusionError::ArrowError(inner, _) => of_arrow(inner),
            DataFusionError::SQL(inner, _) => of_parser(inner),
            DataFusionError::NotImplemented(text) => Self::unsupported(text.clone()),
            DataFusionError::ResourcesExhausted(text) => {
                Self::new(SqlState::OutOfMemory, text.clone())
            }
            DataFusionError::SchemaError(inner, _) => {
                let state = match inner.as_ref() {
                    SchemaError::AmbiguousReference { .. } => SqlState::Ambiguous,
                    _ => SqlState::UndefinedColumn,
                };
                Self::new(state, inner.to_string())
            }
            DataFusionError::Plan(text) => Self::new(of_plan_text(text), text.clone()),
            DataFusionError::Execution(text) => Self::new(of_execution_text(text), text.clone()),
            _ => Self::new(SqlState::Internal, text()),
        }
    }
}

fn of_arrow(error: &ArrowError) -> SqlError {
    let state = match error {
        ArrowError::DivideByZero => SqlState::DivisionByZero,
        ArrowError::ArithmeticOverflow(_) => SqlState::OutOfRange,
        // A number that its type cannot hold.
        ArrowError::CastError(text) if text.contains("Can't cast value") => SqlState::OutOfRange,
        ArrowError::NotYetImplemented(_) => SqlState::NotSupported,
        ArrowError::ExternalError(inner) => {
            if let Some(error) = inner.downcast_ref::<DataFusionError>() {
                return error.into();
            }
            SqlState::Internal
        }
        ArrowError::CastError(text) => {
            return SqlError::new(SqlState::InvalidValue, of_cast_text(text));
        }
        _ => SqlState::InvalidValue,
    };
    SqlError::new(state, error.to_string())
}

/// Arrow says `Cannot cast string 'abc' to value of Float64 type`, with its own names of types.
fn of_cast_text(text: &str) -> String {
    let parts = text
        .strip_prefix("Cannot cast string '")
        .and_then(|rest| rest.rsplit_once("' to value of "))
        .and_then(|(value, ty)| Some((value, ty.strip_suffix(" type")?)));
    let Some((value, ty)) = parts else { return text.to_owned() };
    let ty = match ty {
        "Boolean" => "BOOLEAN",
        "Int8" | "Int16" | "UInt8" => "SMALLINT",
        "Int32" | "UInt16" => "INTEGER",
        "Int64" | "UInt32" | "UInt64" => "BIGINT",
        "Float32" => "REAL",
        "Float64" => "DOUBLE",
        other => other,
    };
    let most: String = value.chars().take(100).collect();
    format!("'{most}' is no {ty}; write a value of the type, or CAST the other side to text")
}

/// DataFusion's planner gives text only.
fn of_plan_text(text: &str) -> SqlState {
    if text.starts_with("table '") || text.contains("' not found") && text.contains("table") {
        SqlState::UndefinedTable
    } else if text.contains("Invalid function") || text.contains("No function matches") {
        SqlState::UndefinedFunction
    } else if text.contains("type") || text.contains("coerce") {
        SqlState::WrongType
    } else {
        SqlState::Syntax
    }
}

fn of_execution_text(text: &str) -> SqlState {
    if text.contains("overflow") { SqlState::OutOfRange } else { SqlState::InvalidValue }
}

fn of_parser(error: &ParserError) -> SqlError {
    match error {
        ParserError::RecursionLimitExceeded => SqlError::new(
            SqlState::LimitExceeded,
            "the statement is nested too deeply; compute parts of it in WITH",
        ),
        ParserError::ParserError(text) | ParserError::TokenizerError(text) => {
            let (text, position) = without_position(text);
            let error = SqlError::new(SqlState::Syntax, text);
            match position {
                Some((line, column)) => error.at(line, column),
                None => error,
            }
        }
    }
}

/// The parser appends ` at Line: 1, Column: 8`.
fn without_position(text: &str) -> (String, Option<(u64, u64)>) {
    let Some((message, place)) = text.rsplit_once(" at Line: ") else {
        return (text.to_owned(), None);
    };
    let numbers = place
        .split_once(", Column: ")
        .and_then(|(line, column)| Some((line.trim().parse().ok()?, column.trim().parse().ok()?)));
    (message.to_owned(), numbers)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
