//! Heat map with one row for each value of a field of the declared key.
//!
//! Loads are recorded by ranges of keys. Where the bounds of a range determine the value, its load
//! belongs to it. The load of a range with several values is divided by a sample of the operations
//! of the last ten minutes, and marked as estimated; without a sample it goes to the row of other
//! values. So the sums of the columns are those of the physical map.

use std::collections::HashMap;

use halite_heat::{HeatMap, HeatQuery, Metric, RowShares, WeightedKey};

use super::heat_answer::HeatRow;
use crate::call::Call;
use crate::key_view::DeclaredKey;
use crate::problem::{Answered, Problem};
use crate::region_load::SPAN_MS;
use crate::site::KnownTable;

/// Values that have rows of their own, at most.
const MAX_VALUES: usize = 200;

/// Field by which a map is pivoted.
pub(crate) struct Pivot<'a> {
    declared: &'a DeclaredKey,
    segment: usize,
}

/// Weights and texts of the sampled values of one range, by their bytes.
type Sampled = HashMap<Option<Vec<u8>>, (f64, String)>;

/// Values of the ranges of keys.
#[derive(Default)]
struct Values {
    /// Bytes and texts of the values; the bytes of keys that are none of the declaration are
    /// `None`.
    found: Vec<(Option<Vec<u8>>, String)>,
    numbers: HashMap<Option<Vec<u8>>, usize>,
    /// Values of each range with their shares.
    shares: Vec<RowShares>,
}

impl Values {
    fn number(&mut self, value: Option<(Vec<u8>, String)>) -> usize {
        let (bytes, text) = match value {
            Some((bytes, text)) => (Some(bytes), text),
            None => (None, "(not in schema)".to_owned()),
        };
        let next = self.found.len();
        let number = *self.numbers.entry(bytes.clone()).or_insert(next);
        if number == next {
            self.found.push((bytes, text));
        }
        number
    }
}

impl<'a> Pivot<'a> {
    pub(crate) fn of(declared: Option<&'a DeclaredKey>, field: &str) -> Answered<Self> {
        let Some(declared) = declared else {
            let problem = Problem::field("order", "the table declares no row key");
            return Err(problem.detail("declare it with halite key, or use order=physical"));
        };
        let segment = declared.segment_of(field).ok_or_else(|| {
            let field = crate::params::short(field);
            let text = format!("the declared key has no values of a field {field:?}");
            Problem::field("order", text)
        })?;
        Ok(Self { declared, segment })
    }

    /// Returns the map of values and its rows, from the physical map of the sum of some metrics.
    /// Blocks.
    pub(crate) fn rows(
        &self,
        call: &Call,
        table: &KnownTable,
        map: &HeatMap,
        (query, metrics): (&HeatQuery, &[Metric]),
    ) -> (HeatMap, Vec<HeatRow>) {
        let extension = call.site.extension();
        let to_ms = i64::try_from(extension.now_ms()).unwrap_or(i64::MAX);
        let span = (to_ms.saturating_sub(SPAN_MS), to_ms);
        let sample = extension.sampled_keys(table.name(), span).unwrap_or_default();
        let values = self.values(map, query.end.as_deref(), of_metrics(sample, metrics));
        regrouped(map, &values, query.max_rows)
    }

    /// Returns the values of the keys of each range.
    fn values(&self, map: &HeatMap, end: Option<&[u8]>, sample: Vec<WeightedKey>) -> Values {
        let mut sampled: Vec<Sampled> = map.bounds.iter().map(|_| Sampled::new()).collect();
        for WeightedKey { key, weight, .. } in sample {
            let is_after = end.is_some_and(|end| *key.row >= *end);
            let at = map.bounds.partition_point(|bound| **bound <= *key.row).checked_sub(1);
            let Some(range) = at.filter(|_| !is_after).and_then(|at| sampled.get_mut(at)) else {
                continue;
            };
            let (bytes, text) = self.declared.value_of(&key.row, self.segment).unzip();
            range.entry(bytes).or_insert((0.0, text.unwrap_or_default())).0 += weight;
        }
        let mut values = Values::default();
        let ends = map.bounds.iter().skip(1).map(|bound| Some(&**bound)).chain([end]);
        for ((start, end), range) in map.bounds.iter().zip(ends).zip(sampled) {
            let common = end.and_then(|end| self.declared.common_value(start, end, self.segment));
            let shares = match common {
                Some(value) => {
                    RowShares { rows: vec![(values.number(Some(value)), 1.0)], is_estimated: false }
                }
                None => shares_of(&mut values, range),
            };
            values.shares.push(shares);
        }
        values
    }
}

/// Returns the sampled reads for metrics of reads, and the writes for those of writes: they may
/// have other values. An operation between two columns may have a weight of 0, and is left out.
fn of_metrics(mut sample: Vec<WeightedKey>, metrics: &[Metric]) -> Vec<WeightedKey> {
    let counts_writes =
        |metric: &Metric| matches!(metric, Metric::Writes | Metric::Deletes | Metric::BytesWritten);
    sample.retain(|key| {
        key.weight > 0.0 && metrics.iter().any(|metric| counts_writes(metric) == key.key.is_write)
    });
    sample
}

#[expect(clippy::cast_possible_truncation, reason = "a share")]
fn shares_of(values: &mut Values, sampled: Sampled) -> RowShares {
    let total: f64 = sampled.values().map(|(weight, _)| weight).sum();
    let share = |(bytes, (weight, text)): (Option<Vec<u8>>, (f64, String))| {
        let number = values.number(bytes.map(|bytes| (bytes, text)));
        (number, (weight / total) as f32)
    };
    RowShares { rows: sampled.into_iter().map(share).collect(), is_estimated: true }
}

/// Returns the map of the values with the most load, in the order of their bytes, and a last row of
/// all others if they have load.
fn regrouped(map: &HeatMap, values: &Values, max_rows: usize) -> (HeatMap, Vec<HeatRow>) {
    let of_ranges = map.mean.chunks(map.columns.max(1)).map(|row| row.iter().sum::<f32>());
    let mut loads = vec![0.0_f32; values.found.len()];
    for (load, shares) in of_ranges.zip(&values.shares) {
        for (value, share) in &shares.rows {
            loads[*value] += load * share;
        }
    }
    let mut order: Vec<usize> = (0..loads.len()).filter(|value| loads[*value] > 0.0).collect();
    order.sort_by(|one, other| loads[*other].total_cmp(&loads[*one]));
    order.truncate(max_rows.saturating_sub(1).clamp(1, MAX_VALUES));
    order.sort_by(|one, other| values.found[*one].0.cmp(&values.found[*other].0));
    let other = order.len();
    let places: HashMap<usize, usize> =
        order.iter().enumerate().map(|(row, value)| (*value, row)).collect();
    let shares = values.shares.iter().map(|shares| {
        let known = shares.rows.iter();
        let mut rows: Vec<(usize, f32)> =
            known.map(|(value, share)| (*places.get(value).unwrap_or(&other), *share)).collect();
        if rows.is_empty() {
            rows.push((other, 1.0));
        }
        RowShares { rows, is_estimated: shares.is_estimated }
    });
    let mut grouped = map.regrouped(other + 1, &shares.collect::<Vec<_>>());
    let cells = other * map.columns;
    let has_other = other == 0 || grouped.mean[cells..].iter().any(|mean| *mean > 0.0);
    if !has_other {
        grouped.bounds.truncate(other);
        grouped.mean.truncate(cells);
        grouped.max.truncate(cells);
        grouped.estimated.truncate(cells);
    }
    let estimated = grouped.estimated.chunks(map.columns.max(1)).map(|row| row.contains(&true));
    let label = |row: usize| match order.get(row) {
        Some(value) => values.found[*value].1.clone(),
        None => "(other)".to_owned(),
    };
    let rows = estimated.enumerate().map(|(row, estimated)| HeatRow {
        label: Some(vec![label(row)]),
        other: row == other,
        estimated,
        ..HeatRow::default()
    });
    let rows = rows.collect();
    (grouped, rows)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use halite_heat::SampledKey;

    use super::*;

    fn declared() -> DeclaredKey {
        DeclaredKey::of_schema("ROW KEY (a STRING, b U8)".parse().unwrap())
    }

    fn key(a: &str, b: u8) -> Vec<u8> {
        let schema = Arc::clone(&declared().schema);
        let values = [format!("a={a}"), format!("b={b}")];
        let values = schema.parse_values(values.iter().map(String::as_str)).unwrap();
        schema.encode(&values).unwrap().to_vec()
    }

    fn sampled(row: Vec<u8>, weight: f64) -> WeightedKey {
        WeightedKey { key: SampledKey { row, ..SampledKey::default() }, region: 0, weight }
    }

    fn map(bounds: Vec<Vec<u8>>) -> HeatMap {
        let cells = bounds.len();
        HeatMap {
            columns: 1,
            bounds: bounds.into_iter().map(Vec::into_boxed_slice).collect(),
            mean: vec![10.0; cells],
            max: vec![20.0; cells],
            ..HeatMap::default()
        }
    }

    #[test]
    fn pivot_has_sums_of_physical_map() {
        let declared = declared();
        let pivot = Pivot::of(Some(&declared), "a").unwrap();
        // The second range has one value by its bounds, the first and last ones several.
        let map = map(vec![Vec::new(), key("m", 1), key("m", 200), key("x", 7)]);
        let sample = vec![
            sampled(key("c", 1), 3.0),
            sampled(key("d", 1), 1.0),
            sampled(key("m", 3), 5.0),
            sampled(key("y", 3), 5.0),
            sampled(vec![0xff], 5.0),
        ];
        let (grouped, rows) = regrouped(&map, &pivot.values(&map, None, sample), 100);
        let labels: Vec<&str> =
            rows.iter().map(|row| row.label.as_ref().unwrap()[0].as_str()).collect();
        assert_eq!(labels, ["(not in schema)", "c", "d", "m", "y", "(other)"]);
        assert_eq!(grouped.mean, [5.0, 7.5, 2.5, 10.0, 5.0, 10.0]);
        let estimated: Vec<bool> = rows.iter().map(|row| row.estimated).collect();
        assert_eq!(estimated, [true, true, true, false, true, true]);
        assert!(rows[5].other && !rows[4].other);
    }

    #[test]
    fn sample_is_that_of_the_metric() {
        let mut written = sampled(key("w", 1), 2.0);
        written.key.is_write = true;
        let sample = vec![written, sampled(key("r", 1), 3.0), sampled(key("z", 1), 0.0)];
        let rows = |metrics: &[Metric]| {
            let found = of_metrics(sample.clone(), metrics).into_iter();
            found.map(|key| key.key.row).collect::<Vec<_>>()
        };
        assert_eq!(rows(&[Metric::BytesWritten]), [key("w", 1)]);
        assert_eq!(rows(&[Metric::RowsExamined]), [key("r", 1)]);
        assert_eq!(rows(&[Metric::BytesRead, Metric::BytesWritten]).len(), 2);
    }

    #[test]
    fn values_beyond_limit_are_in_other_row() {
        let declared = declared();
        let pivot = Pivot::of(Some(&declared), "b").unwrap();
        let map = map(vec![Vec::new()]);
        let sample = (0..50).map(|value| sampled(key("c", value), f64::from(value))).collect();
        let (grouped, rows) = regrouped(&map, &pivot.values(&map, None, sample), 4);
        assert_eq!((rows.len(), rows[2].label.as_ref().unwrap()[0].as_str()), (4, "49"));
        let sum: f32 = grouped.mean.iter().sum();
        assert!((sum - 10.0).abs() < 1e-4, "{sum}");
        assert!(Pivot::of(Some(&declared), "c").is_err() && Pivot::of(None, "a").is_err());
    }
}
