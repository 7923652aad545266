//! Whole keys, read by gets instead of scans.

use std::sync::Arc;

use halite_types::{Bytes, Get, Result, Row};

use super::cursor::Shared;
use crate::plan::KeyRange;

/// Keys of one call to the table.
const KEYS_PER_CALL: usize = 256;

/// The keys that are still to get, in the order in which their rows are wanted.
pub(super) struct Points {
    shared: Arc<Shared>,
    keys: std::vec::IntoIter<Bytes>,
}

impl Points {
    pub(super) fn new(shared: Arc<Shared>, mut ranges: Vec<KeyRange>) -> Self {
        ranges.sort_by_cached_key(KeyRange::low_merge_key);
        if shared.plan.query().reverse {
            ranges.reverse();
        }
        let keys: Vec<_> = ranges.iter().filter_map(|range| range.point().cloned()).collect();
        Self { shared, keys: keys.into_iter() }
    }

    /// The next rows that exist, at most `most`; empty at the end.
    pub(super) async fn next_rows(&mut self, most: usize) -> Result<Vec<Row>> {
        while !self.keys.as_slice().is_empty() {
            // The keys are taken when their rows are here, so that nothing is lost when nobody waits for them any more.
            let keys = &self.keys.as_slice()[..self.keys.len().min(KEYS_PER_CALL)];
            let count = keys.len();
            let get = |key: &Bytes| {
                let mut get = Get::new(key.clone());
                get.selection = self.shared.template.selection.clone();
                get
            };
            let found = self.shared.table.get(keys.iter().map(get).collect()).await;
            let found = found.map_err(|error| error.at(format_args!("table {}, gets of {count} keys", self.shared.table.name())))?;
            let mut rows = Vec::with_capacity(found.len());
            let mut taken = 0;
            for row in found {
                if rows.len() == most {
                    break;
                }
                taken += 1;
                self.shared.examined.fetch_add(u64::from(!row.is_empty()), std::sync::atomic::Ordering::Relaxed);
                if !row.is_empty() && self.shared.keeps(&row)? {
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
