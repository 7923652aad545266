//! Conditions of check-and-mutate operations.

use halite_types::{CheckAndMutate, CompareOp, Condition, Get, ReadTier, Result, Row};

use super::Region;
use crate::scan::ReadStats;

/// Result of a condition.
pub(super) struct ConditionResult {
    pub(super) holds: bool,
    /// Timestamp of the cell that was compared.
    pub(super) newest: Option<i64>,
    /// Bytes of the scanned blocks.
    pub(super) block_bytes_scanned: u64,
}

impl Region {
    /// Evaluates the condition. The row is locked.
    pub(super) fn check_locked(
        &self,
        check: &CheckAndMutate,
        tier: ReadTier,
    ) -> Result<ConditionResult> {
        match &check.condition {
            Condition::Filter(filter) => {
                let get = Get::new(check.row().clone())
                    .time_range(check.time_range)
                    .filter(filter.clone());
                let (row, looked_through) = self.read_applied(&get, tier)?;
                let first = row.cells().first();
                Ok(ConditionResult {
                    holds: first.is_some(),
                    newest: first.map(|cell| cell.timestamp()),
                    block_bytes_scanned: looked_through,
                })
            }
            Condition::Column { family, qualifier, op, value } => {
                let get = Get::new(check.row().clone())
                    .column(family.clone(), qualifier.clone())
                    .time_range(check.time_range);
                let (row, looked_through) = self.read_applied(&get, tier)?;
                let stored = row.cells().first();
                let holds = condition_holds(stored.map(|cell| cell.value()), *op, value.as_deref());
                Ok(ConditionResult {
                    holds,
                    newest: stored.map(|cell| cell.timestamp()),
                    block_bytes_scanned: looked_through,
                })
            }
        }
    }

    /// Reads a row at the newest applied state. Returns it and the bytes of the scanned blocks. The
    /// row is locked.
    pub(super) fn read_applied(&self, get: &Get, tier: ReadTier) -> Result<(Row, u64)> {
        let trace = ReadStats::default().into();
        let row = self.read_row(get, u64::MAX, tier, &trace)?;
        Ok((row, trace.data_block_bytes()))
    }
}

/// HBase's `checkAndMutate`: compares `given op stored`; no value and an empty value are
/// equivalent. A missing cell satisfies no comparison with a value, including `NotEqual`.
fn condition_holds(stored: Option<&[u8]>, op: CompareOp, given: Option<&[u8]>) -> bool {
    match (stored, given.unwrap_or_default()) {
        (None, given) => given.is_empty() && op != CompareOp::NotEqual,
        (Some(stored), b"") => stored.is_empty() == (op != CompareOp::NotEqual),
        (Some(stored), given) => op.accepts(given.cmp(stored)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condition_compares_given_value_with_stored_value() {
        let holds = |stored: Option<&str>, op, given: Option<&str>| {
            condition_holds(stored.map(str::as_bytes), op, given.map(str::as_bytes))
        };
        assert!(holds(Some("b"), CompareOp::Less, Some("a")));
        assert!(!holds(Some("a"), CompareOp::Less, Some("b")));
        assert!(holds(None, CompareOp::Equal, None) && holds(None, CompareOp::Equal, Some("")));
        assert!(
            !holds(None, CompareOp::NotEqual, Some("x")) && !holds(None, CompareOp::NotEqual, None)
        );
        assert!(
            holds(Some(""), CompareOp::Equal, None) && holds(Some("x"), CompareOp::NotEqual, None)
        );
    }
}
