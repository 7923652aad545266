//! Answers as lines, and when two of them are the same.

use halite_types::{CellRef, CellType, Error, ErrorKind, OpResult, Result, Row, RowOp};

use crate::script::text::{qualifier, word};

/// What an operation says when it succeeds.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// Nothing.
    Silent,
    /// The new cells.
    Cells,
    /// The new cells, if there are any.
    CellsIfAny,
    /// Whether the condition held, then the new cells, if there are any.
    Verdict,
}

impl Shape {
    pub(super) fn of(op: &RowOp) -> Self {
        match op {
            RowOp::Put(_) | RowOp::Delete(_) => Self::Silent,
            RowOp::Increment(_) | RowOp::Append(_) => Self::Cells,
            RowOp::Mutate(_) => Self::CellsIfAny,
            RowOp::CheckAndMutate(_) => Self::Verdict,
        }
    }

    pub(super) fn lines(self, result: &OpResult) -> Vec<String> {
        let any = || result.row.iter().map(cell_line);
        match self {
            Self::Silent => Vec::new(),
            Self::Cells => cells(std::slice::from_ref(&result.row)),
            Self::CellsIfAny => any().collect(),
            Self::Verdict => std::iter::once(result.processed.to_string()).chain(any()).collect(),
        }
    }
}

/// A line for each cell, and dashes where a row goes on in a further piece.
pub(super) fn cells(rows: &[Row]) -> Vec<String> {
    let mut out = Vec::new();
    let mut last: Option<&[u8]> = None;
    for row in rows.iter().filter(|row| !row.is_empty()) {
        if last == Some(row.key()) {
            out.push("--".to_string());
        }
        last = Some(row.key());
        out.extend(row.iter().map(cell_line));
    }
    if out.is_empty() { vec!["(empty)".to_string()] } else { out }
}

fn cell_line(cell: CellRef<'_>) -> String {
    format!(
        "{} {}:{} @{} {} = {}",
        word(cell.row()),
        word(cell.family()),
        qualifier(cell.qualifier()),
        cell.timestamp(),
        cell.cell_type().map_or("Unknown", CellType::name),
        word(cell.value())
    )
}

pub(super) fn batch_line(result: &Result<OpResult>) -> String {
    result.as_ref().map_or_else(error_line, |_| "ok".to_string())
}

pub(crate) fn error_line(error: &Error) -> String {
    format!("error: {error:?}")
}

/// Whether an answer says what the recorded lines say. Exceptions agree with errors of their kind.
pub(super) fn agrees(recorded: &[String], found: &Result<Vec<String>>) -> bool {
    match found {
        Ok(lines) => lines.len() == recorded.len() && lines.iter().zip(recorded).all(|(line, recorded)| same_line(line, recorded)),
        Err(error) => matches!(recorded, [line] if exception(line).is_some_and(|name| kind_of(name) == Some(error.kind()))),
    }
}

fn same_line(line: &str, recorded: &str) -> bool {
    match (exception(line), exception(recorded)) {
        (Some(found), Some(name)) => kind_of(name).is_some_and(|kind| found.starts_with(&format!("{kind:?}: "))),
        _ => line == recorded,
    }
}

fn exception(line: &str) -> Option<&str> {
    line.strip_prefix("error: ")
}

/// The kind of error that tells a caller the same as HBase's exception. HBase has many names for a request that is wrong.
pub(crate) fn kind_of(exception: &str) -> Option<ErrorKind> {
    Some(match exception {
        "NoSuchColumnFamilyException" => ErrorKind::NoSuchFamily,
        "IncompatibleFilterException" => ErrorKind::IncompatibleFilter,
        "RowTooBigException" => ErrorKind::RowTooBig,
        "IllegalArgumentException" | "DoNotRetryIOException" | "IOException" | "WrongRowIOException" => ErrorKind::InvalidRequest,
        _ => return None,
    })
}
