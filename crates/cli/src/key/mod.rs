//! What `halite key` does.

mod code;
mod declared;
mod explain;
mod lint;
mod new;
mod sample;
mod scan;
mod split;

pub(crate) use code::{decode, encode};
pub(crate) use explain::explain;
pub(crate) use lint::{FailOn, ReportFormat, explain_rule, lint_file, lint_table};
pub(crate) use new::new;
pub(crate) use scan::scan;
pub(crate) use split::{split, splits_of, unescape};
