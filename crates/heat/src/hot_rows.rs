//! Frequent rows and prefixes of a span of time, from those of its columns.

use std::collections::{HashMap, HashSet};

use crate::activity::ActivityColumn;
use crate::prefixes::{FrequentPrefixes, PrefixLevel};
use crate::space_saving::FrequentRow;

/// Row or prefix with its load over several columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HotRow {
    /// Row or prefix, or its first 1,024 bytes.
    pub row: Vec<u8>,
    /// Upper bound of the number of operations.
    pub count: u64,
    /// The number is at least `count - error`.
    pub error: u64,
    /// Writes among the operations, at least.
    pub writes: u64,
    /// Bytes of the operations, at least.
    pub bytes: u64,
    /// Beginning of the first column with the row.
    pub first_seen_ms: i64,
    /// End of the last column with the row.
    pub last_seen_ms: i64,
}

/// What one column lists: frequent rows, and the upper bound of the weight of one that is not
/// listed.
pub(crate) struct Listed<'a> {
    pub(crate) column: &'a ActivityColumn,
    pub(crate) rows: &'a [FrequentRow],
    pub(crate) missed: u64,
}

/// Returns the most frequent rows of several columns, in falling order, at most `limit`.
pub(crate) fn hot_rows(columns: &[Listed<'_>], limit: usize) -> Vec<HotRow> {
    let mut rows: HashMap<&[u8], HotRow> = HashMap::new();
    for listed in columns {
        for row in listed.rows {
            let hot = rows.entry(&row.row).or_insert_with(|| HotRow {
                row: row.row.clone(),
                first_seen_ms: listed.column.from_ms,
                ..HotRow::default()
            });
            hot.count = hot.count.saturating_add(row.count);
            hot.error = hot.error.saturating_add(row.error);
            hot.writes = hot.writes.saturating_add(row.writes);
            hot.bytes = hot.bytes.saturating_add(row.bytes);
            hot.last_seen_ms = listed.column.to_ms;
        }
    }
    // A row that a column does not list may have had as much as its last listed one.
    for listed in columns.iter().filter(|listed| listed.missed > 0) {
        let known: HashSet<&[u8]> = listed.rows.iter().map(|row| &*row.row).collect();
        for (row, hot) in &mut rows {
            if !known.contains(row) {
                hot.count = hot.count.saturating_add(listed.missed);
                hot.error = hot.error.saturating_add(listed.missed);
            }
        }
    }
    let mut rows: Vec<HotRow> = rows.into_values().collect();
    let least = |row: &HotRow| row.count.saturating_sub(row.error);
    rows.sort_by(|one, other| least(other).cmp(&least(one)).then_with(|| one.row.cmp(&other.row)));
    rows.truncate(limit);
    rows
}

/// Prefixes of one region, which begins with `start` and ends before the next one's.
pub(crate) struct RegionPrefixes<'a> {
    pub(crate) start: &'a [u8],
    pub(crate) prefixes: &'a [FrequentPrefixes],
}

/// Returns the most frequent prefixes of each length of all regions, which are in key order: at
/// most `most` of a length. The rows of a prefix may be in several regions.
pub(crate) fn table_prefixes(regions: &[RegionPrefixes<'_>], most: usize) -> Vec<FrequentPrefixes> {
    let mut levels: Vec<PrefixLevel> =
        regions.iter().flat_map(|region| region.prefixes).map(|prefixes| prefixes.level).collect();
    levels.sort_unstable();
    levels.dedup();
    levels.into_iter().map(|level| prefixes_of_level(regions, level, most)).collect()
}

fn prefixes_of_level(
    regions: &[RegionPrefixes<'_>],
    level: PrefixLevel,
    most: usize,
) -> FrequentPrefixes {
    let of_level = |prefixes: &&FrequentPrefixes| prefixes.level == level;
    let listed: Vec<Option<&FrequentPrefixes>> =
        regions.iter().map(|region| region.prefixes.iter().find(of_level)).collect();
    let mut sums: HashMap<&[u8], FrequentRow> = HashMap::new();
    for row in listed.iter().flatten().flat_map(|prefixes| &prefixes.top) {
        let sum = sums
            .entry(&row.row)
            .or_insert_with(|| FrequentRow { row: row.row.clone(), ..FrequentRow::default() });
        sum.count = sum.count.saturating_add(row.count);
        sum.error = sum.error.saturating_add(row.error);
        sum.writes = sum.writes.saturating_add(row.writes);
        sum.bytes = sum.bytes.saturating_add(row.bytes);
    }
    let mut top: Vec<FrequentRow> = sums.into_values().collect();
    let by_count = |one: &FrequentRow, other: &FrequentRow| {
        other.count.cmp(&one.count).then_with(|| one.row.cmp(&other.row))
    };
    top.sort_by(by_count);
    let cut = top.get(most).map_or(0, |row| row.count);
    top.truncate(most);
    // Regions that have keys of the prefix and do not list it may have had some of it.
    for row in &mut top {
        let first = regions.partition_point(|region| *region.start <= *row.row).saturating_sub(1);
        let others = regions.iter().zip(&listed).skip(first).take_while(|(region, _)| {
            *region.start <= *row.row || region.start.starts_with(&row.row)
        });
        for (_, prefixes) in others {
            let Some(prefixes) = prefixes.as_ref().filter(|prefixes| prefixes.missed > 0) else {
                continue;
            };
            if !prefixes.top.iter().any(|known| known.row == row.row) {
                row.count = row.count.saturating_add(prefixes.missed);
                row.error = row.error.saturating_add(prefixes.missed);
            }
        }
    }
    top.sort_by(by_count);
    let missed = listed.iter().flatten().map(|prefixes| prefixes.missed).sum::<u64>().max(cut);
    FrequentPrefixes { level, top, missed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(rows: &[(&str, u64, u64)], missed: u64) -> FrequentPrefixes {
        let frequent = |&(row, count, error): &(&str, u64, u64)| FrequentRow {
            row: row.as_bytes().to_vec(),
            count,
            error,
            ..FrequentRow::default()
        };
        let top = rows.iter().map(frequent).collect();
        FrequentPrefixes { level: PrefixLevel::Bytes(4), top, missed }
    }

    #[test]
    fn prefix_of_several_regions_has_their_sum() {
        let parts = [
            [prefixes(&[("aaaa", 50, 0), ("bbbb", 40, 0)], 0)],
            [prefixes(&[("bbbb", 100, 5)], 3)],
            [prefixes(&[("bcde", 20, 0)], 7)],
            [prefixes(&[("zzzz", 10, 0)], 9)],
        ];
        let starts = ["", "bbbb3", "bbbb7", "c"];
        let regions: Vec<RegionPrefixes<'_>> = starts
            .iter()
            .zip(&parts)
            .map(|(start, prefixes)| RegionPrefixes { start: start.as_bytes(), prefixes })
            .collect();
        let found = table_prefixes(&regions, 3).remove(0);
        let rows: Vec<_> =
            found.top.iter().map(|row| (row.row.as_slice(), row.count, row.error)).collect();
        // The third region has rows of bbbb that it does not list; the last one has none.
        let expected = [(&b"bbbb"[..], 147, 12), (&b"aaaa"[..], 50, 0), (&b"bcde"[..], 20, 0)];
        assert_eq!(rows, expected);
        assert_eq!(found.missed, 19);
    }
}
