//! Form of a heat map in answers: of a recorded load, and of the same load under another key.

use std::ops::Range;

use halite_heat::{HeatMap, LAYERS};
use halite_rowkey_tools::picture::{LoadLevel, Scale};
use serde::Serialize;
use utoipa::ToSchema;

use super::activity::EventView;
use crate::key_view::Key;

/// Heat map; the binary form has the same header without `mean` and `max`, which follow it.
#[derive(Serialize, ToSchema)]
pub(crate) struct HeatAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    /// Begin of the first column.
    from: i64,
    /// End of the last column.
    to: i64,
    dt_ms: i64,
    /// Recorded columns that the picture is made of: `10s`, `1m`, `2m`, `6m`, `30m` or `4h`.
    layer: &'static str,
    cols: usize,
    rows: usize,
    metric: String,
    /// `per_s`.
    unit: &'static str,
    /// Scale of the colours.
    scale: HeatScale,
    row: Vec<HeatRow>,
    /// Regions of the shown keys, at most 2,000, with the row that each begins in. Under another
    /// key regions with equal numbers of rows.
    regions: Vec<HeatRegion>,
    /// None under another key: they have not happened.
    events: Vec<EventView>,
    gaps: Vec<Gap>,
    /// Spans of time whose loads were recorded for wider ranges of keys, and are distributed
    /// evenly.
    estimated: Vec<Span>,
    /// Time at which the newest column closes.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_column_at: Option<i64>,
    /// Recorded operations in the picture of another key.
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<usize>,
    /// Mean amount per second by row and column; `null` where nothing was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<Vec<Vec<Option<f32>>>>,
    /// Largest amount per second over 10 seconds, as `mean`.
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<Vec<Vec<Option<f32>>>>,
}

/// Scale of colours: the place of an amount `v` on the ramp is
/// `log1p(v / knee) / log1p(top / knee)`.
#[derive(Serialize, ToSchema)]
pub(crate) struct HeatScale {
    /// A third of the mean amount of a cell.
    knee: f64,
    /// Amount of the last colour.
    top: f64,
}

/// Range of keys, or value of a field.
#[derive(Default, Serialize, ToSchema)]
pub(crate) struct HeatRow {
    pub(crate) start: Key,
    /// Empty at the end of the table.
    pub(crate) end: Key,
    /// Encoded name of the region that it begins in, or the number of one under another key from 1;
    /// `null` in an order that mixes regions.
    pub(crate) region: Option<String>,
    /// Rows and bytes of its keys: an even part of those of its regions.
    pub(crate) rows_est: Option<u64>,
    pub(crate) bytes: Option<u64>,
    /// Value of the field by which the map is pivoted, whose keys are in many ranges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<Vec<String>>,
    /// `true` for the row of all values that have none of their own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) other: bool,
    /// `true` if some of its load is from ranges of keys with several values, and is divided by a
    /// sample of the last ten minutes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) estimated: bool,
}

/// Region of the shown keys.
#[derive(Serialize, ToSchema)]
pub(crate) struct HeatRegion {
    /// Encoded name, or a number from 1 under another key.
    pub(crate) encoded_name: String,
    pub(crate) row: usize,
    /// Time at which it was created.
    pub(crate) since: i64,
    pub(crate) server: Option<String>,
}

/// Time of which nothing is recorded.
#[derive(Serialize, ToSchema)]
pub(crate) struct Gap {
    from: i64,
    to: i64,
    why: &'static str,
}

/// Span of time.
#[derive(Serialize, ToSchema)]
pub(crate) struct Span {
    from: i64,
    to: i64,
}

/// What an answer has beside its map.
pub(crate) struct HeatParts {
    pub(crate) as_of: u64,
    pub(crate) missing: Vec<&'static str>,
    pub(crate) metric: String,
    pub(crate) row: Vec<HeatRow>,
    pub(crate) regions: Vec<HeatRegion>,
    pub(crate) events: Vec<EventView>,
    pub(crate) next_column_at: Option<i64>,
    pub(crate) operations: Option<usize>,
}

impl HeatAnswer {
    /// Returns the answer without amounts.
    pub(crate) fn new(map: &HeatMap, parts: HeatParts) -> Self {
        let (from, to) = span_of(map);
        let spans = |ranges: Vec<Range<usize>>| {
            ranges.into_iter().map(|range| (time(map, range.start), time(map, range.end)))
        };
        // The row of other values sets no scale: it is the sum of many.
        let rows = parts.row.iter().filter(|row| !row.other).count();
        let scale = Scale::of([LoadLevel::of_map_rows(map, rows)]);
        Self {
            as_of: parts.as_of,
            missing: parts.missing,
            from,
            to,
            dt_ms: map.column_ms,
            layer: LAYERS.get(map.layer).map_or("", |layer| layer.name),
            cols: map.columns,
            rows: map.bounds.len(),
            metric: parts.metric,
            unit: "per_s",
            scale: HeatScale { knee: scale.knee, top: scale.top },
            row: parts.row,
            regions: parts.regions,
            events: parts.events,
            gaps: spans(map.gaps.clone())
                .map(|(from, to)| Gap { from, to, why: "not recorded" })
                .collect(),
            estimated: spans(estimated_columns(map)).map(|(from, to)| Span { from, to }).collect(),
            next_column_at: parts.next_column_at,
            operations: parts.operations,
            mean: None,
            max: None,
        }
    }

    /// Returns the answer with the amounts of its map.
    pub(crate) fn with_cells(self, map: &HeatMap) -> Self {
        Self { mean: Some(cells(map, &map.mean)), max: Some(cells(map, &map.max)), ..self }
    }
}

/// Returns the begin of the first column of a map, and the end of the last one.
pub(crate) fn span_of(map: &HeatMap) -> (i64, i64) {
    (map.from_ms, time(map, map.columns))
}

/// Returns the begin of a column.
pub(crate) fn time(map: &HeatMap, column: usize) -> i64 {
    let columns = i64::try_from(column).unwrap_or(i64::MAX);
    map.from_ms.saturating_add(map.column_ms.saturating_mul(columns))
}

/// Returns the runs of columns with estimated cells.
fn estimated_columns(map: &HeatMap) -> Vec<Range<usize>> {
    let is_estimated = |column: usize| {
        let mut cells = map.estimated.iter().skip(column).step_by(map.columns.max(1));
        cells.any(|is_estimated| *is_estimated)
    };
    runs((0..map.columns).filter(|column| is_estimated(*column)))
}

/// Returns the runs of rising numbers.
pub(crate) fn runs(numbers: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            _ => runs.push(number..number + 1),
        }
    }
    runs
}

fn cells(map: &HeatMap, values: &[f32]) -> Vec<Vec<Option<f32>>> {
    let is_gap = |column: &usize| map.gaps.iter().any(|gap| gap.contains(column));
    let row = |values: &[f32]| {
        values
            .iter()
            .enumerate()
            .map(|(column, value)| (!is_gap(&column)).then_some(*value))
            .collect()
    };
    values.chunks(map.columns.max(1)).map(row).collect()
}
