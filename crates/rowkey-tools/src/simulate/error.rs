//! Reasons why nothing was simulated.

use std::fmt;

use halite_rowkey::split::SplitError;

use super::traffic::MAX_OPERATIONS;

/// Reason why nothing was simulated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SimulateError {
    /// Invalid number of operations.
    Operations(usize),
    /// Field of a key without values in the traffic.
    Field {
        /// Name of the design.
        design: String,
        /// Name of the field.
        field: String,
        /// Fields of the traffic.
        there: Vec<String>,
    },
    /// Values that are invalid for a key.
    Key {
        /// Name of the design.
        design: String,
        /// Reason.
        message: String,
    },
    /// Invalid line of a trace.
    Trace {
        /// Line number, from 1 on.
        line: usize,
        /// Reason.
        message: String,
    },
    /// Trace of complete keys, none of which is a key of the design.
    NoKeys {
        /// Name of the design.
        design: String,
        /// Keys of the trace.
        keys: usize,
    },
    /// More than one specification of the operations per second.
    Rates(Vec<String>),
    /// Window of width 0.
    Window,
    /// Traffic without writes.
    NoWrites,
    /// Invalid splits.
    Splits(SplitError),
}

impl fmt::Display for SimulateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operations(count) => write!(
                out,
                "{count} operations are not possible: 1 to {MAX_OPERATIONS} can be simulated"
            ),
            Self::Field { design, field, there } => {
                write!(
                    out,
                    "{design}: nothing says what values {field} has; the traffic has {}: give \
                     --field {field}=..., or {field}=value in each line of a trace",
                    there.join(", ")
                )
            }
            Self::Key { design, message } => write!(out, "{design}: {message}"),
            Self::Trace { line, message } => write!(out, "line {line} of the trace: {message}"),
            Self::NoKeys { design, keys } => {
                write!(
                    out,
                    "{design}: none of the {keys} keys of the trace is a key of it; it has no \
                     result for rows that it cannot hold"
                )
            }
            Self::Rates(said) => write!(
                out,
                "operations in a second are said more than once: {}; say them in one place",
                said.join(", ")
            ),
            Self::Window => out.write_str(
                "a window holds at least one operation, and lasts at least one millisecond",
            ),
            Self::NoWrites => {
                out.write_str("the traffic has reads only; without writes there are no rows")
            }
            Self::Splits(error) => write!(out, "{error}"),
        }
    }
}

impl std::error::Error for SimulateError {}
