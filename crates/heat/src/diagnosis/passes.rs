//! Passes: rows of a region that scans returned one after the other in key order.
//!
//! ```text
//! key of a row    one pass of a sweep        three scans of a few rows
//!      ^               . . .                       . .
//!      |          . . .                    . .
//!      |     . . .                                      . .
//!      +---------------------> time        -------------------->
//! span of a pass       all                  a third of the read keys
//! ```
//!
//! Rows of every scan rise. Those of a sweep rise over all keys that are read.

use std::collections::BTreeMap;

use super::phase::MIN_COLUMNS;
use crate::activity::{ActivityColumn, WeightedKey, keys_by_region};

/// Returns the mean number of sampled rows that reads returned at a time: those of a scan are in
/// one region, so that few scans load regions differently by accident.
#[expect(clippy::cast_precision_loss, reason = "numbers of a sample")]
pub(super) fn rows_per_read(columns: &[&ActivityColumn]) -> f64 {
    let is_of_one_scan = |one: &WeightedKey, next: &WeightedKey| {
        one.region == next.region
            && one.key.is_scan
            && next.key.is_scan
            && one.key.row <= next.key.row
    };
    let (mut rows, mut reads) = (0, 0);
    for column in columns {
        let read: Vec<_> = column.keys.iter().filter(|key| !key.key.is_write).collect();
        rows += read.len();
        reads += read.chunk_by(|one, next| is_of_one_scan(one, next)).count();
    }
    rows as f64 / reads.max(1) as f64
}

/// Returns the share of the scanned keys of a region that a pass covers, in the mean of the rows: 1
/// if each pass reads all of them, little if scans read some here and some there. `None` without
/// scans.
///
/// Passes fall if `falls`.
#[expect(clippy::cast_precision_loss, reason = "numbers of a sample")]
pub(super) fn mean_span(columns: &[&ActivityColumn], falls: bool) -> Option<f64> {
    let (mut covered, mut rows) = (0.0, 0);
    for scanned in scanned_by_region(columns) {
        let mut keys = scanned.clone();
        keys.sort_unstable();
        keys.dedup();
        let rank = |row: &[u8]| keys.partition_point(|key| *key < row);
        let continues = |one: &&[u8], next: &&[u8]| if falls { one >= next } else { one <= next };
        for pass in scanned.chunk_by(continues) {
            let (first, last) = (rank(pass[0]), rank(pass[pass.len() - 1]));
            let span = (first.abs_diff(last) + 1) as f64 / keys.len() as f64;
            covered += span * pass.len() as f64;
            rows += pass.len();
        }
    }
    (rows > 0).then(|| covered / rows as f64)
}

/// Returns the share of the scanned rows in paths of at least three columns: regions that are read
/// in one column or in successive ones, and are the same or adjacent, as the last and the first
/// are. About 1 for a sweep; little for a few scans of some of many regions.
#[expect(clippy::cast_precision_loss, reason = "numbers of a sample")]
pub(super) fn path_share(columns: &[&ActivityColumn]) -> f64 {
    let mut rows: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (at, column) in columns.iter().enumerate() {
        for key in column.keys.iter().filter(|key| key.key.is_scan) {
            *rows.entry((at, key.region)).or_default() += 1;
        }
    }
    let all: usize = rows.values().sum();
    let regions = columns.iter().filter_map(|column| column.reads).map(|skew| skew.regions).max();
    let regions = regions.unwrap_or(1).max(1);
    let mut of_paths = 0;
    while let Some((cell, count)) = rows.pop_first() {
        let (mut sum, mut last) = (count, cell.0);
        let mut ends = vec![cell];
        while let Some((column, region)) = ends.pop() {
            last = last.max(column);
            let beside = [region, (region + 1) % regions, (region + regions - 1) % regions];
            for other in column.saturating_sub(1)..=column + 1 {
                for cell in beside.map(|region| (other, region)) {
                    if let Some(count) = rows.remove(&cell) {
                        sum += count;
                        ends.push(cell);
                    }
                }
            }
        }
        if last + 1 >= cell.0 + MIN_COLUMNS {
            of_paths += sum;
        }
    }
    of_paths as f64 / all.max(1) as f64
}

/// Returns the scanned rows of each region in the order of their reads. Columns before a change of
/// the number of regions have other ones.
fn scanned_by_region<'a>(columns: &[&'a ActivityColumn]) -> Vec<Vec<&'a [u8]>> {
    let regions = |column: &&ActivityColumn| column.reads.map(|skew| skew.regions);
    let mut all = Vec::new();
    for same in columns.chunk_by(|one, next| regions(one) == regions(next)) {
        let scanned = keys_by_region(same, |key| key.key.is_scan);
        let rows = |keys: Vec<&'a WeightedKey>| keys.iter().map(|key| &*key.key.row).collect();
        all.extend(scanned.into_values().map(rows));
    }
    all
}
