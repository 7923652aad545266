//! Columns of five weeks: short ones of the last minutes, longer ones of the time before.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::codec::PackedColumn;
use crate::column::{BASE_MS, Bounds, Column, MAX_BUCKETS, union};

/// Ring of columns of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Length of a column, in milliseconds.
    pub column_ms: i64,
    /// Number of columns that are kept.
    pub columns: usize,
    /// Name of the length.
    pub name: &'static str,
}

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// All layers, from short columns to long ones.
pub const LAYERS: [Layer; 6] = [
    Layer { column_ms: BASE_MS, columns: 60, name: "10s" },
    Layer { column_ms: MINUTE, columns: 60, name: "1m" },
    Layer { column_ms: 2 * MINUTE, columns: 210, name: "2m" },
    Layer { column_ms: 6 * MINUTE, columns: 160, name: "6m" },
    Layer { column_ms: 30 * MINUTE, columns: 288, name: "30m" },
    // Five weeks.
    Layer { column_ms: 4 * HOUR, columns: 210, name: "4h" },
];

impl Layer {
    /// Returns the time that the layer reaches back, in milliseconds.
    #[must_use]
    pub fn span_ms(&self) -> i64 {
        self.column_ms.saturating_mul(i64::try_from(self.columns).unwrap_or(i64::MAX))
    }
}

/// Columns of one table.
#[derive(Clone, Debug, Default)]
pub struct History {
    rings: [Ring; LAYERS.len()],
}

#[derive(Clone, Debug, Default)]
struct Ring {
    closed: VecDeque<PackedColumn>,
    /// Column that later ones are added to.
    open: Option<Column>,
}

impl History {
    /// Adds the newest base column, and returns the columns that it closes, with the index of their
    /// layers: itself, and those of longer layers that end before it.
    ///
    /// A column that begins before the previous one, after a change of the clock, closes the open
    /// ones.
    pub fn push(&mut self, column: &Column) -> Vec<(usize, PackedColumn)> {
        let mut closed = Vec::new();
        for (at, layer) in LAYERS.iter().enumerate() {
            let ring = &mut self.rings[at];
            if at == 0 {
                closed.push((0, ring.keep(column, layer)));
                continue;
            }
            let slot = column.from_ms.div_euclid(layer.column_ms);
            let is_other = |open: &Column| {
                open.from_ms.div_euclid(layer.column_ms) != slot || column.from_ms < open.to_ms
            };
            if let Some(open) = ring.open.take_if(|open| is_other(open)) {
                closed.push((at, ring.keep(&open, layer)));
            }
            ring.add(column);
        }
        closed
    }

    /// Returns the open columns of the longer layers, with the indexes of the layers: what a
    /// process would lose that ends now.
    #[must_use]
    pub fn open_columns(&self) -> Vec<(usize, PackedColumn)> {
        let open = self.rings.iter().enumerate().filter_map(|(at, ring)| {
            ring.open.as_ref().map(|column| (at, PackedColumn::pack(column, None)))
        });
        open.collect()
    }

    /// Adds a column of an earlier process to a layer. Columns come in the order of their times.
    pub fn restore(&mut self, layer: usize, mut column: PackedColumn) {
        let Some(ring) = self.rings.get_mut(layer) else { return };
        if let Some(last) = ring.closed.back()
            && last.bounds == column.bounds
        {
            column.bounds = Arc::clone(&last.bounds);
        }
        ring.closed.push_back(column);
        while ring.closed.len() > LAYERS[layer].columns {
            ring.closed.pop_front();
        }
    }

    /// Begins the open columns of the longer layers again: those that were stored open, and the
    /// columns of shorter layers after them. Called after all columns are restored.
    pub fn finish_restore(&mut self) {
        let newest = self.rings.iter().filter_map(|ring| ring.closed.back());
        let Some(newest) = newest.map(|column| column.to_ms).max() else { return };
        for (at, layer) in LAYERS.iter().enumerate().skip(1) {
            let slot_start = (newest - 1) - (newest - 1).rem_euclid(layer.column_ms);
            let stored = self.rings[at].closed.pop_back_if(|last| last.from_ms >= slot_start);
            self.rings[at].open = stored.map(|column| column.unpack());
            let since = self.rings[at].open.as_ref().map_or(slot_start, |open| open.to_ms);
            let shorter = self.columns(at - 1, since, i64::MAX);
            for column in shorter.iter().filter(|column| column.from_ms >= since) {
                self.rings[at].add(&column.unpack());
            }
        }
    }

    /// Returns the columns of a layer that overlap a span of time, in its order. The open column of
    /// a longer layer is among them, up to the newest base column.
    #[must_use]
    pub fn columns(&self, layer: usize, from_ms: i64, to_ms: i64) -> Vec<PackedColumn> {
        let Some(ring) = self.rings.get(layer) else { return Vec::new() };
        let overlaps = |from: i64, to: i64| from < to_ms && to > from_ms;
        let closed = ring.closed.iter().filter(|column| overlaps(column.from_ms, column.to_ms));
        let open = ring.open.iter().filter(|column| overlaps(column.from_ms, column.to_ms));
        closed.cloned().chain(open.map(|column| PackedColumn::pack(column, None))).collect()
    }

    /// Returns the beginning of the oldest column of a layer.
    #[must_use]
    pub fn oldest_ms(&self, layer: usize) -> Option<i64> {
        let ring = self.rings.get(layer)?;
        let closed = ring.closed.front().map(|column| column.from_ms);
        closed.or(ring.open.as_ref().map(|column| column.from_ms))
    }

    /// Returns the newest base columns, at most `count`, in the order of time.
    #[must_use]
    pub fn newest(&self, count: usize) -> Vec<PackedColumn> {
        let closed = &self.rings[0].closed;
        closed.iter().skip(closed.len().saturating_sub(count)).cloned().collect()
    }

    /// Returns the beginning of the oldest column.
    #[must_use]
    pub fn since_ms(&self) -> Option<i64> {
        (0..LAYERS.len()).filter_map(|layer| self.oldest_ms(layer)).min()
    }

    /// Returns the memory of the packed columns, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let of_bounds =
            |bounds: &Bounds| bounds.iter().map(|bound| bound.len() + 16).sum::<usize>();
        let mut total = 0;
        for ring in &self.rings {
            let mut shared: Option<&Bounds> = None;
            for column in &ring.closed {
                total += column.memory_bytes();
                if !shared.is_some_and(|bounds| Arc::ptr_eq(bounds, &column.bounds)) {
                    total += of_bounds(&column.bounds);
                }
                shared = Some(&column.bounds);
            }
        }
        total
    }
}

impl Ring {
    /// Packs and keeps a column, in place of the oldest if there are enough.
    fn keep(&mut self, column: &Column, layer: &Layer) -> PackedColumn {
        let packed = PackedColumn::pack(column, self.closed.back().map(|last| &last.bounds));
        if self.closed.len() >= layer.columns {
            self.closed.pop_front();
        }
        self.closed.push_back(packed.clone());
        packed
    }

    fn add(&mut self, column: &Column) {
        let Some(mut open) = self.open.take() else {
            self.open = Some(column.clone());
            return;
        };
        let bounds = union(&open.bounds, &column.bounds);
        if !Arc::ptr_eq(&bounds, &open.bounds) {
            open = open.with_bounds(&bounds);
        }
        open.append(&column.with_bounds(&bounds));
        self.open = Some(open.limited(MAX_BUCKETS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Region;
    use crate::column_time::ColumnTime;
    use crate::metric::{Load, Metric};

    fn base(number: i64, reads: u64) -> Column {
        let loads = vec![Load::new([reads, 0, 0, 0, 0, 0])];
        let region = Region { loads, ..Region::default() };
        Column::of_regions(ColumnTime::exact(number * BASE_MS, (number + 1) * BASE_MS), &[region])
    }

    fn reads(columns: &[PackedColumn]) -> u64 {
        columns.iter().map(|column| column.values(Metric::Reads).0[0]).sum()
    }

    /// Five weeks and a day, with one spike of a minute three weeks ago.
    #[test]
    fn every_layer_has_its_time_and_the_spike_of_a_minute() {
        let mut history = History::default();
        let last = 36 * 24 * 360_i64;
        let spike = last - 21 * 24 * 360;
        for number in 0..last {
            let is_spike = (spike..spike + 6).contains(&number);
            history.push(&base(number, if is_spike { 5000 } else { 10 }));
        }
        let now = last * BASE_MS;
        for (at, layer) in LAYERS.iter().enumerate() {
            let columns = history.columns(at, 0, now);
            let span = now - columns[0].from_ms;
            assert!(span >= layer.span_ms(), "{}: {span}", layer.name);
            assert!(columns.len() <= layer.columns + 1);
            assert!(columns.iter().is_sorted_by_key(|column| column.from_ms));
            let full = &columns[columns.len() / 2];
            assert_eq!(full.to_ms - full.from_ms, layer.column_ms);
        }
        let weeks = history.columns(5, now - LAYERS[5].span_ms(), now);
        let peaks: Vec<u64> =
            weeks.iter().map(|column| column.values(Metric::Reads).1[0]).collect();
        assert_eq!(peaks.iter().filter(|peak| **peak == 5000).count(), 1, "{peaks:?}");
        assert!(history.memory_bytes() < 1 << 20);
    }

    /// Base columns whose other boundaries change each time, as those of new rows do.
    #[test]
    fn hot_row_stays_one_bucket_of_long_columns() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut history = History::default();
        for number in 0..1000 {
            let mut boundaries: Vec<Box<[u8]>> =
                (0..60).map(|_| random.u32(..).to_be_bytes().into()).collect();
            let hot: Box<[u8]> = 0x8000_0000_u32.to_be_bytes().into();
            boundaries.extend([hot.clone(), [&*hot, &[0]].concat().into()]);
            boundaries.sort();
            let load = |at: &[u8]| Load::new([if *at == *hot { 600 } else { 10 }, 0, 0, 0, 0, 0]);
            let mut loads = vec![load(&[])];
            loads.extend(boundaries.iter().map(|at| load(at)));
            let region = Region { start: Box::default(), boundaries, loads };
            history.push(&Column::of_regions(
                ColumnTime::exact(number * BASE_MS, (number + 1) * BASE_MS),
                &[region],
            ));
        }
        for (at, layer) in LAYERS.iter().enumerate().skip(1) {
            for column in history.columns(at, 0, i64::MAX) {
                let (values, _) = column.values(Metric::Reads);
                let total: u64 = values.iter().sum();
                let hot = *values.iter().max().unwrap();
                assert!(hot * 100 > total * 45, "{}: {hot} of {total}", layer.name);
                assert!(values.len() <= MAX_BUCKETS);
            }
        }
    }

    #[test]
    fn layers_have_equal_sums() {
        let mut history = History::default();
        for number in 0..59 {
            history.push(&base(number, 3));
        }
        for at in 0..LAYERS.len() {
            assert_eq!(reads(&history.columns(at, 0, i64::MAX)), 59 * 3, "{at}");
        }
        assert_eq!((history.newest(6).len(), history.since_ms()), (6, Some(0)));
    }

    #[test]
    fn clock_that_jumps_loses_no_load() {
        let mut history = History::default();
        let order = [0, 1, 2, 100_000, 100_001, 50, 51, 52];
        for number in order {
            history.push(&base(number, 1));
        }
        for at in 0..LAYERS.len() {
            assert_eq!(reads(&history.columns(at, 0, i64::MAX)), order.len() as u64, "{at}");
        }
    }

    #[test]
    fn open_columns_outlive_long_pause() {
        let mut first = History::default();
        let mut stored = std::collections::BTreeMap::new();
        for number in 0..3 {
            for (layer, column) in
                first.push(&base(number, 5)).into_iter().chain(first.open_columns())
            {
                stored.insert((layer, column.from_ms), column);
            }
        }
        // The base columns have expired.
        let mut second = History::default();
        for ((layer, _), column) in stored.into_iter().filter(|((layer, _), _)| *layer > 0) {
            second.restore(layer, column);
        }
        second.finish_restore();
        second.push(&base(100, 1));
        for at in 1..LAYERS.len() {
            assert_eq!(reads(&second.columns(at, 0, i64::MAX)), 16, "{at}");
        }
    }

    #[test]
    fn restored_columns_precede_new_ones() {
        let mut first = History::default();
        let mut stored = Vec::new();
        for number in 0..100 {
            stored.extend(first.push(&base(number, 1)));
        }
        let mut second = History::default();
        for (layer, column) in stored {
            let bytes = column.encode();
            second.restore(layer, PackedColumn::decode(&bytes, None).unwrap());
        }
        second.finish_restore();
        second.push(&base(100, 1));
        assert_eq!(reads(&second.columns(0, 0, i64::MAX)), 60);
        for at in 1..LAYERS.len() {
            assert_eq!(reads(&second.columns(at, 0, i64::MAX)), 101, "{at}");
        }
    }
}
