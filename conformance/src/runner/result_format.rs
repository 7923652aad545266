//! Results as lines, and their equality.

use halite_types::{CellRef, CellType, Error, ErrorKind, OpResult, Result, Row, RowOp};

use crate::script::text::{qualifier, word};

/// Format of the result of a successful operation.
#[derive(Clone, Copy)]
pub(super) enum ResultFormat {
    /// Nothing.
    Silent,
    /// The new cells.
    Cells,
    /// The new cells, if there are any.
    CellsIfAny,
    /// The outcome of the condition, then the new cells, if there are any.
    Verdict,
}

impl ResultFormat {
    pub(super) fn for_op(op: &RowOp) -> Self {
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

/// Formats one line per cell, and dashes where a row continues in a further partial row.
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

/// Returns `true` if a result equals the recorded lines. Exceptions equal errors of their kind.
pub(super) fn agrees(recorded: &[String], found: &Result<Vec<String>>) -> bool {
    match found {
        Ok(lines) => {
            lines.len() == recorded.len()
                && lines.iter().zip(recorded).all(|(line, recorded)| same_line(line, recorded))
        }
        Err(error) => {
            matches!(recorded, [line] if exception(line).is_some_and(|name| error_kind(name) == Some(error.kind())))
        }
    }
}

fn same_line(line: &str, recorded: &str) -> bool {
    match (exception(line), exception(recorded)) {
        (Some(found), Some(name)) => {
            error_kind(name).is_some_and(|kind| found.starts_with(&format!("{kind:?}: ")))
        }
        _ => line == recorded,
    }
}

fn exception(line: &str) -> Option<&str> {
    line.strip_prefix("error: ")
}

/// Returns the error kind with the same meaning for a caller as HBase's exception. HBase has many
/// names for an invalid request.
pub(crate) fn error_kind(exception: &str) -> Option<ErrorKind> {
    Some(match exception {
        "NoSuchColumnFamilyException" => ErrorKind::NoSuchFamily,
        "IncompatibleFilterException" => ErrorKind::IncompatibleFilter,
        "RowTooBigException" => ErrorKind::RowTooBig,
        "IllegalArgumentException"
        | "DoNotRetryIOException"
        | "IOException"
        | "WrongRowIOException" => ErrorKind::InvalidRequest,
        _ => return None,
    })
}
