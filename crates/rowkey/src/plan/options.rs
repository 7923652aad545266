//! Input of the planner besides the schema and the query.

use std::sync::Arc;

use crate::codec::KeyResolver;
use crate::schema::FieldId;

/// Limits on the detail of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanLimits {
    /// Maximum ranges of a plan; a list that exceeds it becomes one range from its least to its
    /// greatest value, and every row is checked.
    pub ranges: u64,
    /// Maximum combinations of values for which salts and hashes are computed.
    pub choices: u64,
    /// Maximum values of a range that are enumerated to narrow the following segments.
    pub enumerate: u64,
    /// Maximum distinct values of an open segment whose gaps are skipped.
    pub skip_distinct: u64,
}

impl Default for PlanLimits {
    fn default() -> Self {
        Self { ranges: 1 << 17, choices: 10_000, enumerate: 64, skip_distinct: 100 }
    }
}

/// Input of the planner besides the schema.
#[derive(Clone, Default)]
pub struct PlanOptions {
    /// Limits on the detail.
    pub limits: PlanLimits,
    /// Known numbers of distinct values of fields, for skip scans.
    pub distinct: Vec<(FieldId, u64)>,
    /// Dictionaries; without one, conditions on such fields are checked in each row.
    pub resolver: Option<Arc<dyn KeyResolver + Send + Sync>>,
}
