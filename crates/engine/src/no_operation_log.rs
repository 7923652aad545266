//! In place of `operation_log/` in a build without the feature `heat`: nothing is logged.

use crate::env::Env;
use crate::options::Options;

/// Nothing.
pub(crate) struct OperationLog;

impl OperationLog {
    pub(crate) fn new(_options: &Options, _env: &Env) -> Self {
        Self
    }
}
