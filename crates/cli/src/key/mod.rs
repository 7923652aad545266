//! Implementation of `halite key`.

pub(crate) mod arguments;
mod cell_sample;
mod codec;
mod explain;
mod http;
mod infer;
mod key_spec;
mod lint;
mod new;
mod presplit;
mod put;
mod record_output;
mod sampling;
mod scan;
mod simulate;
mod simulate_report;
mod split;
mod terminal_colors;
mod trace;
mod trace_file;

pub(crate) use codec::{decode, encode};
pub(crate) use explain::explain;
pub(crate) use infer::{OutputFormat, infer_file, infer_table};
pub(crate) use key_spec::{ResolvedKey, declares_key, dictionary_of, resolve_in, resolver_of};
pub(crate) use lint::{FailOn, LintFormat, explain_rule, lint_file, lint_table};
pub(crate) use new::new;
pub(crate) use presplit::presplit_table;
pub(crate) use put::{PutSource, put};
pub(crate) use record_output::RowFormat;
pub(crate) use sampling::{region_positions, sample_table};
pub(crate) use scan::scan;
pub(crate) use simulate::{SimulateArgs, simulate_keys};
pub(crate) use split::{resolve_splits, split, unescape};
pub(crate) use trace::{TraceArgs, trace};
