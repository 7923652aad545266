//! What `halite key` does.

mod code;
mod declared;
mod explain;
mod infer;
mod keys;
mod lint;
mod new;
mod roll;
mod sample;
mod scan;
mod simulate;
mod simulated;
mod split;

pub(crate) use code::{decode, encode};
pub(crate) use explain::explain;
pub(crate) use infer::{AnswerFormat, infer_file, infer_table};
pub(crate) use keys::sample_of;
pub(crate) use lint::{FailOn, ReportFormat, explain_rule, lint_file, lint_table};
pub(crate) use new::new;
pub(crate) use roll::roll_table;
pub(crate) use scan::scan;
pub(crate) use simulate::{Simulated, simulate_keys};
pub(crate) use split::{split, splits_of, unescape};
