//! Errors of DataFusion, Arrow and the parser as those of statements: what failed, its place as far
//! as the planner knows it, and what to do.

use datafusion::arrow::error::ArrowError;
use datafusion::common::{Column, Diagnostic, SchemaError};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use halite_types::suggest::closest_match;

use super::{SqlError, SqlState};

/// Columns that an error lists.
const MAX_NAMES: usize = 10;

/// Types of CAST, as an error lists them.
const TYPES: [&str; 13] = [
    "BOOLEAN",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "REAL",
    "DOUBLE",
    "NUMERIC",
    "TEXT",
    "STRING",
    "BYTEA",
    "TIMESTAMP",
    "DATE",
    "INTERVAL",
];

impl From<SqlError> for DataFusionError {
    fn from(error: SqlError) -> Self {
        Self::External(Box::new(error))
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
            DataFusionError::Context(_, inner) => (*inner).into(),
            DataFusionError::Diagnostic(diagnostic, inner) => placed((*inner).into(), &diagnostic),
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
            DataFusionError::Context(_, inner) => inner.as_ref().into(),
            DataFusionError::Diagnostic(diagnostic, inner) => {
                placed(inner.as_ref().into(), diagnostic)
            }
            DataFusionError::Shared(inner) => inner.as_ref().into(),
            // Several at once: what comes first explains the others.
            DataFusionError::Collection(errors) if !errors.is_empty() => (&errors[0]).into(),
            DataFusionError::ArrowError(inner, _) => of_arrow(inner),
            DataFusionError::SQL(inner, _) => of_parser(inner),
            DataFusionError::NotImplemented(text) => of_not_implemented(text),
            DataFusionError::IoError(inner) if is_of_disk(&inner.to_string()) => {
                of_resources(&inner.to_string())
            }
            DataFusionError::ResourcesExhausted(text) => of_resources(text),
            DataFusionError::SchemaError(inner, _) => of_schema(inner),
            DataFusionError::Plan(text) => of_plan(text),
            DataFusionError::Internal(text) => of_internal(text),
            DataFusionError::Execution(text) => Self::new(of_execution_text(text), text.clone()),
            _ => Self::new(SqlState::Internal, text()),
        }
    }
}

/// Adds the place that the planner found.
fn placed(error: SqlError, diagnostic: &Diagnostic) -> SqlError {
    match (error.position, diagnostic.span) {
        (None, Some(span)) => error.at(span.start.line, span.start.column),
        _ => error,
    }
}

fn of_schema(error: &SchemaError) -> SqlError {
    let found = match error {
        SchemaError::FieldNotFound { field, valid_fields } => SqlError::new(
            SqlState::UndefinedColumn,
            format!("there is no column {}; {}", field.flat_name(), near(field, valid_fields)),
        ),
        SchemaError::AmbiguousReference { field } => SqlError::new(
            SqlState::Ambiguous,
            format!(
                "{} may be a column of several tables; write the table in front of it, t.{}",
                field.flat_name(),
                field.name
            ),
        ),
        other => SqlError::new(SqlState::Ambiguous, format!("{other}; give each its own name: AS")),
    };
    let (SchemaError::FieldNotFound { field, .. } | SchemaError::AmbiguousReference { field }) =
        error
    else {
        return found;
    };
    match field.spans().first() {
        Some(span) => found.at(span.start.line, span.start.column),
        None => found,
    }
}

/// Says what a column that is missing may have been.
fn near(field: &Column, valid: &[Column]) -> String {
    if let Some(near) = closest_match(&field.name, valid.iter().map(|column| column.name.as_str()))
    {
        return format!("did you mean {near}?");
    }
    let mut names: Vec<&str> = valid.iter().map(|column| column.name.as_str()).collect();
    let hidden = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    match (names.as_slice(), hidden) {
        ([], _) => "there is no table in FROM".to_owned(),
        (_, 0) => format!("the columns are {}", names.join(", ")),
        _ => format!("the columns are {} and {hidden} more", names.join(", ")),
    }
}

/// Memory, or the disk that holds what it cannot, is used up.
fn of_resources(text: &str) -> SqlError {
    // What follows is about DataFusion's own settings.
    let text = text.split(". Please try").next().unwrap_or(text);
    let text = first_line(text);
    if is_of_disk(&text) {
        let remedy = "make room for temporary files, or narrow the statement by a condition";
        return SqlError::new(SqlState::DiskFull, format!("{text}; {remedy}"));
    }
    let remedy = if text.contains("HashJoin") {
        "SET halite.join = 'merge' sorts both sides of joins, which spills; or narrow the statement \
         by a condition"
    } else {
        "narrow the statement by a condition, or sort, group and join fewer rows and columns"
    };
    SqlError::new(SqlState::OutOfMemory, format!("{text}; {remedy}"))
}

/// Returns `true` if a text tells that the disk is full, or as much of it as may be used.
fn is_of_disk(text: &str) -> bool {
    text.contains("disk space") || text.contains("No space left")
}

fn of_arrow(error: &ArrowError) -> SqlError {
    let state = match error {
        ArrowError::DivideByZero => SqlState::DivisionByZero,
        ArrowError::ArithmeticOverflow(_) => SqlState::OutOfRange,
        // A number that its type cannot hold.
        ArrowError::CastError(text) if text.contains("Can't cast value") => SqlState::OutOfRange,
        ArrowError::NotYetImplemented(_) => SqlState::NotSupported,
        ArrowError::IoError(text, _) if is_of_disk(text) => return of_resources(text),
        ArrowError::ExternalError(inner) => {
            if let Some(error) = inner.downcast_ref::<DataFusionError>() {
                return error.into();
            }
            SqlState::Internal
        }
        ArrowError::CastError(text) => {
            return SqlError::new(SqlState::InvalidValue, of_cast_text(text));
        }
        ArrowError::ParseError(text) => {
            return SqlError::new(SqlState::InvalidValue, of_time_text(text));
        }
        _ => SqlState::InvalidValue,
    };
    SqlError::new(state, error.to_string())
}

/// Arrow says `Error parsing timestamp from 'soon': error parsing date`.
fn of_time_text(text: &str) -> String {
    let value = text
        .strip_prefix("Error parsing timestamp from '")
        .and_then(|rest| rest.rsplit_once("': "))
        .map(|(value, _)| value);
    let Some(value) = value else { return text.to_owned() };
    let most: String = value.chars().take(100).collect();
    format!("'{most}' is no TIMESTAMP; write one as '2024-03-15 10:01:00'")
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

/// DataFusion calls some mistakes of a statement its own.
fn of_internal(text: &str) -> SqlError {
    let text = first_line(text);
    if text.starts_with("Expect TypeSignatureClass") && text.contains("but received") {
        let what = format!("a function has no form for this argument: {text}; CAST it");
        return SqlError::new(SqlState::WrongType, what);
    }
    let function = text
        .strip_prefix("Function '")
        .and_then(|rest| rest.split_once("' failed to match any signature"))
        .map(|(name, _)| name);
    if let Some(name) = function {
        let what = format!(
            "no form of {name} takes this number of arguments of these types; CAST those that are of \
             another type"
        );
        return SqlError::new(SqlState::UndefinedFunction, what);
    }
    SqlError::new(SqlState::Internal, format!("{text}; please report it"))
}

fn of_not_implemented(text: &str) -> SqlError {
    let expr = text.strip_prefix("Physical plan does not support logical expression ");
    if expr.is_some_and(|expr| expr.contains("<subquery>")) {
        return SqlError::unsupported(
            "a subquery in this place is not planned; compute it in FROM, as in FROM (SELECT .., \
             (SELECT ..) AS c FROM ..) AS t, and name c here, or write a join",
        );
    }
    let Some(name) = text.strip_prefix("Unsupported SQL type ") else {
        return SqlError::unsupported(text);
    };
    let near = match closest_match(name, TYPES.into_iter()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are {}", TYPES.join(", ")),
    };
    SqlError::new(SqlState::UndefinedObject, format!("there is no type {name}; {near}"))
}

/// DataFusion says `Invalid function 'uper'.\nDid you mean 'upper'?`, however far the name is.
fn of_function(text: &str) -> Option<SqlError> {
    let (name, rest) = text.strip_prefix("Invalid function '")?.split_once('\'')?;
    let known = rest.rsplit_once("Did you mean '").and_then(|(_, known)| known.split('\'').next());
    let near = match closest_match(name, known.into_iter()) {
        Some(near) => format!("did you mean {near}?"),
        None => {
            "SELECT routine_name FROM information_schema.routines lists the functions".to_owned()
        }
    };
    let text = format!("there is no function {name}; {near}");
    Some(SqlError::new(SqlState::UndefinedFunction, text))
}

/// DataFusion says `LIMIT must be >= 0, '-1' was provided`.
fn of_limit(text: &str) -> Option<SqlError> {
    let (word, rest) = text.split_once(" must be >")?;
    let state = match word {
        "LIMIT" => SqlState::InvalidLimit,
        "OFFSET" => SqlState::InvalidOffset,
        _ => return None,
    };
    let value = rest.split('\'').nth(1).unwrap_or_default();
    Some(SqlError::new(state, format!("{word} must not be negative, and this one is {value}")))
}

/// DataFusion's planner gives text only.
fn of_plan(text: &str) -> SqlError {
    if let Some(error) = of_function(text).or_else(|| of_limit(text)) {
        return error;
    }
    let state = state_of_plan(text);
    let remedy = match state {
        SqlState::WrongType => "; CAST one side to the type of the other",
        _ => "",
    };
    let text = text.strip_suffix('.').unwrap_or(text);
    SqlError::new(state, format!("{text}{remedy}"))
}

fn state_of_plan(text: &str) -> SqlState {
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
