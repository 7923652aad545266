//! Complete keys, read by gets instead of scans.

use std::borrow::Cow;
use std::sync::Arc;

use halite_types::{Bytes, Get, Result, Row};

use super::cursor::ScatterContext;
use crate::plan::{KeyRange, Plan};

/// Keys of one call to the table.
const KEYS_PER_CALL: usize = 256;

/// Returns the keys of ranges of one key each, in the order of the plan's rows.
pub(super) fn in_order(plan: &Plan, ranges: &[Cow<'_, KeyRange>]) -> Vec<Bytes> {
    let mut ranges: Vec<&KeyRange> = ranges.iter().map(AsRef::as_ref).collect();
    // Those of one branch are in order.
    if plan.fan_out() > 1 {
        ranges.sort_by_cached_key(|range| range.low_merge_key());
    }
    let keys = ranges.iter().filter_map(|range| range.point().cloned());
    if plan.query().reverse { keys.rev().collect() } else { keys.collect() }
}

/// Remaining keys, in the order of their rows.
pub(super) struct PointLookups {
    context: Arc<ScatterContext>,
    keys: std::vec::IntoIter<Bytes>,
}

impl PointLookups {
    /// Creates the lookups of keys, which are in the order of their rows.
    pub(super) fn new(context: Arc<ScatterContext>, keys: Vec<Bytes>) -> Self {
        Self { context, keys: keys.into_iter() }
    }

    /// Returns the next existing rows, at most `most`; empty at the end.
    pub(super) async fn next_rows(&mut self, most: usize) -> Result<Vec<Row>> {
        while !self.keys.as_slice().is_empty() {
            // The keys are removed after their rows have arrived, so that a cancelled call loses
            // none.
            let keys = &self.keys.as_slice()[..self.keys.len().min(KEYS_PER_CALL)];
            let count = keys.len();
            let get = |key: &Bytes| {
                let mut get = Get::new(key.clone());
                get.selection = self.context.template.selection.clone();
                get
            };
            let found = self.context.table.get_all(keys.iter().map(get).collect()).await;
            let found = found.map_err(|error| {
                error.at(format_args!("table {}, gets of {count} keys", self.context.table.name()))
            })?;
            let mut rows = Vec::with_capacity(found.len());
            let mut taken = 0;
            for row in found {
                if rows.len() == most {
                    break;
                }
                taken += 1;
                if row.is_empty() {
                    continue;
                }
                self.context.count(std::slice::from_ref(&row));
                if self.context.keeps(&row)? {
                    rows.push(row);
                }
            }
            self.keys.by_ref().take(taken).for_each(drop);
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
        Ok(Vec::new())
    }
}
