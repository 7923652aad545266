//! Pictures and their panels, and operations that are counted for one.

use bytes::Bytes;
use halite_heat::HeatMap;

use super::gutter::Gutter;
use super::scale::{LoadLevel, Scale, shown};
use super::verdict::Verdict;

/// Loads by key and time, of one or several keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Title.
    pub title: String,
    /// Amount that is counted, in the plural: `writes`.
    pub metric: String,
    /// Panels, in the order in which they are read.
    pub panels: Vec<Panel>,
}

/// Load of one key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Panel {
    /// Name: the key.
    pub title: String,
    /// Ranges of keys, columns of time and amounts: per second on an axis of time.
    pub map: HeatMap,
    /// Meaning of the columns.
    pub axis: Axis,
    /// Names of the fields of the labels.
    pub names: Vec<String>,
    /// Label of each range: the fields of its first key.
    pub labels: Vec<Vec<String>>,
    /// Ranges in which regions begin.
    pub borders: Vec<usize>,
    /// Shape of the load.
    pub verdict: Option<Verdict>,
}

/// Meaning of the columns of a panel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axis {
    /// Time in milliseconds since 1970.
    #[default]
    Time,
    /// Operations in the order of their arrival, without times: amounts are those of a column.
    Arrival {
        /// Number of all operations.
        operations: u64,
    },
}

impl Picture {
    /// Returns the scale of all panels.
    #[must_use]
    pub fn scale(&self) -> Scale {
        Scale::of(self.panels.iter().map(|panel| LoadLevel::of_map(&panel.map)))
    }

    /// Returns the unit of the amounts: `/s`, or nothing without times.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        let has_times = self.panels.iter().all(|panel| panel.axis == Axis::Time);
        if has_times { "/s" } else { "" }
    }
}

impl Panel {
    /// Returns the number of ranges of keys.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.map.bounds.len()
    }

    /// Returns the amounts of a range, column by column.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f32] {
        let from = row * self.map.columns;
        shown(&self.map).get(from..from + self.map.columns).unwrap_or_default()
    }

    /// Returns the share of each range in all of the load: of its amount, not of its mean.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        let seconds =
            |column: usize| self.map.seconds.get(column).map_or(1.0, |seconds| f64::from(*seconds));
        let total = |row: &[f32]| -> f64 {
            let known = row.iter().enumerate().filter(|(_, mean)| mean.is_finite());
            known.map(|(column, mean)| f64::from(*mean) * seconds(column)).sum()
        };
        let rows: Vec<f64> = self.map.mean.chunks(self.map.columns.max(1)).map(total).collect();
        let all: f64 = rows.iter().sum();
        rows.into_iter().map(|row| if all > 0.0 { row / all } else { 0.0 }).collect()
    }

    /// Returns the end of the last column.
    #[must_use]
    pub fn to_ms(&self) -> i64 {
        let columns = i64::try_from(self.map.columns).unwrap_or(i64::MAX);
        self.map.from_ms.saturating_add(self.map.column_ms.saturating_mul(columns))
    }

    /// Returns the labels as columns of fields, each with its runs of equal values.
    #[must_use]
    pub fn gutter(&self) -> Gutter {
        Gutter::of(&self.names, &self.labels, self.to_ms())
    }
}

/// Amounts of operations by range of keys and time, as they are counted.
#[derive(Clone, Debug)]
pub struct Counts {
    map: HeatMap,
}

impl Counts {
    /// Returns a map without amounts: ranges that begin at `bounds`, rising, the first of them
    /// empty, and columns of these lengths in seconds.
    #[must_use]
    pub fn new(
        bounds: Vec<Box<[u8]>>,
        (from_ms, column_ms): (i64, i64),
        seconds: Vec<f32>,
    ) -> Self {
        let (rows, columns) = (bounds.len(), seconds.len());
        let map = HeatMap {
            from_ms,
            column_ms: column_ms.max(1),
            columns,
            bounds,
            mean: vec![0.0; rows * columns],
            seconds,
            ..HeatMap::default()
        };
        Self { map }
    }

    /// Adds an amount to a range of keys and a column; one outside of the map is left out.
    #[expect(clippy::cast_precision_loss, reason = "amounts of a picture")]
    pub fn add(&mut self, row: usize, column: usize, amount: u64) {
        if column < self.map.columns
            && let Some(cell) = self.map.mean.get_mut(row * self.map.columns + column)
        {
            *cell += amount as f32;
        }
    }

    /// Returns the range of keys that a key is in.
    #[must_use]
    pub fn row_of(&self, key: &[u8]) -> usize {
        self.map.bounds.partition_point(|bound| **bound <= *key).saturating_sub(1)
    }

    /// Returns the column of a time, also if it is before or after the map.
    #[must_use]
    pub fn column_of(&self, time_ms: i64) -> Option<usize> {
        let at = time_ms.checked_sub(self.map.from_ms)?.div_euclid(self.map.column_ms);
        usize::try_from(at).ok().filter(|column| *column < self.map.columns)
    }

    /// Returns the map of amounts per second of recorded time, without amounts in the columns of
    /// `gaps`.
    #[must_use]
    pub fn into_map(mut self, gaps: Vec<std::ops::Range<usize>>) -> HeatMap {
        let columns = self.map.columns.max(1);
        for (cell, mean) in self.map.mean.iter_mut().enumerate() {
            let seconds = self.map.seconds[cell % columns];
            let is_gap = gaps.iter().any(|gap| gap.contains(&(cell % columns)));
            *mean = if is_gap || seconds <= 0.0 { 0.0 } else { *mean / seconds };
        }
        self.map.max = self.map.mean.clone();
        self.map.gaps = gaps;
        self.map
    }
}

/// Returns the boundaries of regions as the first keys of ranges, the first of them empty.
pub(crate) fn bounds_of(boundaries: &[Bytes]) -> Vec<Box<[u8]>> {
    let starts = boundaries.iter().map(|start| start.as_ref().into());
    std::iter::once(Box::default()).chain(starts).collect()
}
