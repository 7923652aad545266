//! Panel of a picture: where the writes of a simulation go, and the verdict on them.

use bytes::Bytes;
use halite_heat::HeatMap;
use halite_rowkey::schema::KeySchema;
use halite_types::rng::split_mix;

use super::design::Design;
use super::fanout::QueryCost;
use super::keys::Keys;
use super::skew::Skew;
use super::unique::Uniqueness;
use crate::picture::{
    Axis, Counts, KeyLabels, KeyedOperation, LoadSpread, Panel, Verdict, bounds_of,
    diagnose_operations,
};

/// Minimum and maximum columns; and maximum ranges of keys.
const MIN_COLUMNS: usize = 24;
const MAX_COLUMNS: usize = 240;
const MAX_ROWS: usize = 64;
/// Minimum writes of a column for each region; with fewer, random variation dominates.
const MIN_WRITES_PER_REGION: usize = 8;
/// Writes that a diagnosis looks at; of more, a sample.
const MAX_DIAGNOSED: usize = 400_000;

/// What a panel is made of.
pub(super) struct Source<'s> {
    pub(super) design: &'s Design,
    pub(super) keys: &'s Keys,
    pub(super) boundaries: &'s [Bytes],
    /// Writes in their order.
    pub(super) writes: &'s [KeyedOperation<'s>],
}

/// Returns the panel of a simulation.
pub(super) fn panel(
    source: &Source<'_>,
    skew: &Skew,
    queries: &[QueryCost],
    uniqueness: &Uniqueness,
) -> Panel {
    let Source { design, keys, boundaries, .. } = source;
    let labels =
        KeyLabels { resolver: Some(keys.resolver()), ..KeyLabels::new(design.key.clone()) };
    let (map, axis) = map(source);
    Panel {
        title: design.name.clone(),
        names: labels.names(),
        labels: map.bounds.iter().map(|start| labels.label(start)).collect(),
        borders: borders(&map, boundaries),
        map,
        axis,
        verdict: Some(verdict(source, skew, queries, uniqueness)),
    }
}

fn map(source: &Source<'_>) -> (HeatMap, Axis) {
    let Source { boundaries, writes, .. } = source;
    let (bounds, most) = grid(boundaries, writes.len());
    let (first, last) = match (writes.first(), writes.last()) {
        (Some(first), Some(last)) => (first.time_ms, last.time_ms),
        _ => (0, 0),
    };
    if first == last {
        let keys = writes.iter().map(|write| (write.key, write.weight));
        return (by_arrival(bounds, keys, most), Axis::Arrival { operations: writes.len() as u64 });
    }
    let (column_ms, seconds) = columns(last.saturating_sub(first).saturating_add(1), most);
    let columns = seconds.len();
    let mut counts = Counts::new(bounds, (first, column_ms), seconds);
    for write in *writes {
        // The last column lasts until the last write.
        let column = counts.column_of(write.time_ms).unwrap_or(columns - 1);
        counts.add(counts.row_of(write.key), column, write.weight);
    }
    (counts.into_map(Vec::new()), Axis::Time)
}

/// Returns the first keys of at most 64 ranges, and the number of columns for so few writes.
fn grid(boundaries: &[Bytes], writes: usize) -> (Vec<Box<[u8]>>, usize) {
    let regions = boundaries.len() + 1;
    let per_row = regions.div_ceil(MAX_ROWS).max(1);
    let bounds = bounds_of(boundaries).into_iter().step_by(per_row).collect();
    // Columns with fewer writes would show random variation.
    let filled = writes / (MIN_WRITES_PER_REGION * regions);
    (bounds, filled.clamp(MIN_COLUMNS, MAX_COLUMNS).min(writes.max(1)))
}

/// Returns the map of keys whose order determines their columns.
fn by_arrival<'k>(
    bounds: Vec<Box<[u8]>>,
    keys: impl ExactSizeIterator<Item = (&'k [u8], u64)>,
    columns: usize,
) -> HeatMap {
    let count = keys.len().max(1);
    let mut counts = Counts::new(bounds, (0, 1), vec![1.0; columns]);
    for (place, (key, weight)) in keys.enumerate() {
        counts.add(counts.row_of(key), place * columns / count, weight);
    }
    counts.into_map(Vec::new())
}

/// Returns the panel of keys in the order in which they are written, on regions that begin at
/// `boundaries` (rising, without the empty key); `skew` is that of the same keys.
#[must_use]
pub fn panel_of_keys(
    schema: &KeySchema,
    keys: &[Bytes],
    boundaries: &[Bytes],
    skew: &Skew,
) -> Panel {
    let labels = KeyLabels::new(schema.clone());
    let (bounds, columns) = grid(boundaries, keys.len());
    let map = by_arrival(bounds, keys.iter().map(|key| (&key[..], 1)), columns);
    let keyed = keys.iter();
    let operations: Vec<KeyedOperation<'_>> =
        keyed.map(|key| KeyedOperation { key, time_ms: 0, is_read: false, weight: 1 }).collect();
    let mut rows: Vec<&Bytes> = keys.iter().collect();
    rows.sort_unstable();
    rows.dedup();
    let mut finding = diagnose_operations(&operations, boundaries, schema);
    if are_new(rows.len() as u64, keys.len() as u64) {
        finding = finding.of_new_rows();
    }
    Panel {
        title: schema.to_text(),
        names: labels.names(),
        labels: map.bounds.iter().map(|start| labels.label(start)).collect(),
        borders: borders(&map, boundaries),
        map,
        axis: Axis::Arrival { operations: keys.len() as u64 },
        verdict: Some(Verdict::new(&finding, spread(skew, None))),
    }
}

/// Returns the ranges in which regions begin. A range of several regions has boundaries inside,
/// which cannot be drawn.
fn borders(map: &HeatMap, boundaries: &[Bytes]) -> Vec<usize> {
    if map.bounds.len() > boundaries.len() { (0..map.bounds.len()).collect() } else { Vec::new() }
}

fn spread(skew: &Skew, ranges: Option<f64>) -> LoadSpread {
    LoadSpread {
        regions: skew.regions(),
        effective_regions: skew.window_effective_regions,
        window_skew: skew.window_p99,
        whole_skew: skew.max_over_mean,
        ranges,
    }
}

/// Returns the length of at most `most` columns in milliseconds, and the seconds that each has of a
/// span of time: the last one up to half more or less than the others.
#[expect(clippy::cast_precision_loss, reason = "seconds of a picture")]
fn columns(span_ms: i64, most: usize) -> (i64, Vec<f32>) {
    let most = i64::try_from(most).unwrap_or(1).max(1);
    let column_ms = (span_ms / most + i64::from(span_ms % most > 0)).max(1);
    let count = (span_ms.saturating_add(column_ms / 2) / column_ms).clamp(1, most);
    let rest_ms = span_ms - column_ms * (count - 1);
    let seconds = |column| {
        let ms = if column == count - 1 { rest_ms } else { column_ms };
        ms as f32 / 1000.0
    };
    (column_ms, (0..count).map(seconds).collect())
}

fn verdict(
    source: &Source<'_>,
    skew: &Skew,
    queries: &[QueryCost],
    uniqueness: &Uniqueness,
) -> Verdict {
    let step = source.writes.len().div_ceil(MAX_DIAGNOSED) as u64;
    // Not every n-th of them: the writers may take turns.
    let is_chosen = |at: u64| step <= 1 || split_mix(at).is_multiple_of(step);
    let chosen = (0..).zip(source.writes).filter(|(at, _)| is_chosen(*at));
    let operations: Vec<KeyedOperation<'_>> = chosen.map(|(_, write)| *write).collect();
    let mut finding = diagnose_operations(&operations, source.boundaries, &source.design.key);
    if are_new(uniqueness.rows, uniqueness.writes) {
        finding = finding.of_new_rows();
    }
    Verdict::new(&finding, spread(skew, ranges(queries)))
}

/// Returns `true` if hardly any row is written twice.
#[expect(clippy::cast_precision_loss, reason = "a share of counts")]
fn are_new(rows: u64, writes: u64) -> bool {
    rows as f64 >= 0.95 * writes as f64
}

/// Returns the mean number of ranges per query, by their weights.
#[expect(clippy::cast_precision_loss, reason = "numbers of ranges")]
fn ranges(queries: &[QueryCost]) -> Option<f64> {
    let known = || queries.iter().filter(|query| query.error.is_none());
    let weight: f64 = known().map(|query| query.weight).sum();
    let sum: f64 = known().map(|query| query.weight * query.ranges as f64).sum();
    (weight > 0.0).then(|| sum / weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_time_of_their_writes() {
        assert_eq!(columns(100, 4), (25, vec![0.025; 4]));
        let (length, seconds) = columns(10, 4);
        assert_eq!((length, seconds.len()), (3, 3), "the last has 4 ms");
        assert!((seconds.iter().sum::<f32>() - 0.01).abs() < 1e-6 && seconds[2] > seconds[0]);
        assert_eq!(columns(1, 24), (1, vec![0.001]));
    }
}
