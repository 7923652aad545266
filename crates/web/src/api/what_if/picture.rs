//! Recorded operations under another key as heat: the columns are those of the recorded load.

use std::collections::BTreeSet;
use std::ops::Range;

use halite_heat::operations::{Call as Logged, CallKind, LoggedCalls};
use halite_heat::{HeatMap, HeatQuery, LAYERS, MAX_BUCKETS, MAX_COLUMNS, Metric};
use halite_rowkey_tools::replay::Replay;
use halite_rowkey_tools::split_sample;
use halite_types::{Bytes, TableName};
use serde::Serialize;
use utoipa::ToSchema;

use super::known_since;
use crate::api::activity::EventView;
use crate::call::Call;
use crate::key_view::{Key, KeyStyle};
use crate::params::Params;
use crate::problem::{Answered, Problem};
use crate::statistics::float;

/// Time before the end that is shown unless another is asked.
const SPAN_MS: i64 = 6 * 3_600_000;

/// Load by key range and time, of the same form as that of `/heat`.
#[derive(Serialize, ToSchema)]
pub(crate) struct Picture {
    from: i64,
    to: i64,
    dt_ms: i64,
    layer: &'static str,
    cols: usize,
    rows: usize,
    metric: String,
    unit: &'static str,
    row: Vec<PictureRow>,
    /// Regions with equal numbers of rows.
    regions: Vec<PictureRegion>,
    /// None: it has not happened.
    events: Vec<EventView>,
    gaps: Vec<PictureGap>,
    /// None: every operation has its own key.
    estimated: Vec<PictureGap>,
    /// Operations in the picture.
    operations: usize,
    /// Mean amount per second by row and column, as far as the sample tells; `null` where nothing
    /// was recorded.
    mean: Vec<Vec<Option<f32>>>,
}

/// Range of keys.
#[derive(Serialize, ToSchema)]
pub(crate) struct PictureRow {
    start: Key,
    /// Empty at the end of the table.
    end: Key,
    /// Number of its region, from 1.
    region: String,
    rows_est: Option<u64>,
    bytes: Option<u64>,
}

/// Region under the other key.
#[derive(Serialize, ToSchema)]
pub(crate) struct PictureRegion {
    /// Number, from 1.
    encoded_name: String,
    row: usize,
    since: i64,
    server: Option<String>,
}

/// Time of which nothing is recorded.
#[derive(Serialize, ToSchema)]
pub(crate) struct PictureGap {
    from: i64,
    to: i64,
    why: &'static str,
}

/// What is asked of a picture.
pub(super) struct PictureQuery {
    from_ms: i64,
    to_ms: i64,
    metric: Amount,
    metric_name: String,
    max_rows: usize,
    max_columns: usize,
}

/// What is counted of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Amount {
    Of(Metric),
    Bytes,
}

impl PictureQuery {
    pub(super) fn of(params: &Params, now: i64) -> Answered<Self> {
        let to_ms = params.optional_number("to")?.filter(|to| *to != 0).unwrap_or(now);
        let from_ms = params.optional_number("from")?.filter(|from| *from != 0);
        let from_ms = from_ms.unwrap_or_else(|| to_ms.saturating_sub(SPAN_MS));
        if from_ms >= to_ms {
            return Err(Problem::field("from", "from is not before to"));
        }
        let metric_name = params.get("metric").unwrap_or("writes").to_owned();
        let metric = match metric_name.as_str() {
            "bytes" => Amount::Bytes,
            "examined" => Amount::Of(Metric::RowsExamined),
            name => Metric::from_name(name).map(Amount::Of).ok_or_else(|| {
                let names = "writes, reads, deletes, examined, bytes, bytes_read, bytes_written";
                let name = crate::params::short(name);
                let text = format!("operations are recorded with {names}, not {name:?}");
                Problem::field("metric", text)
            })?,
        };
        Ok(Self {
            from_ms,
            to_ms,
            metric,
            metric_name,
            max_rows: params.number("rows", 1..=MAX_BUCKETS, 256)?,
            max_columns: params.number("cols", 1..=MAX_COLUMNS, 360)?,
        })
    }

    pub(super) fn span(&self) -> (i64, i64) {
        (self.from_ms, self.to_ms)
    }

    /// Returns `true` if reads are counted and writes are not.
    pub(super) fn counts_reads(&self) -> bool {
        let reads = [Metric::Reads, Metric::RowsExamined, Metric::BytesRead];
        reads.into_iter().any(|metric| self.metric == Amount::Of(metric))
    }

    /// Returns the recorded load of the whole table, whose columns the picture has.
    pub(super) fn grid(&self, call: &Call, table: &TableName) -> Answered<HeatMap> {
        let metric = match self.metric {
            Amount::Of(metric) => metric,
            Amount::Bytes => Metric::BytesWritten,
        };
        let query = HeatQuery {
            from_ms: self.from_ms,
            to_ms: self.to_ms,
            metric,
            start: Box::default(),
            end: None,
            max_rows: 1,
            max_columns: self.max_columns,
        };
        let maps = call.site.extension().heat_maps(table, &[query])?;
        maps.into_iter().next().ok_or_else(Problem::defect)
    }

    fn amount(&self, call: &Logged) -> u64 {
        let rows = if call.kind == CallKind::Scan { call.rows } else { 1 };
        let is_read = call.kind.is_read();
        let amount = match self.metric {
            Amount::Bytes => call.bytes,
            Amount::Of(Metric::Reads | Metric::RowsExamined) if is_read => rows,
            Amount::Of(Metric::BytesRead) if is_read => call.bytes,
            Amount::Of(Metric::Writes) if !is_read => 1,
            Amount::Of(Metric::BytesWritten) if !is_read => call.bytes,
            Amount::Of(Metric::Deletes) if call.kind == CallKind::Delete => 1,
            Amount::Of(_) => 0,
        };
        amount.saturating_mul(call.weight)
    }
}

impl Picture {
    /// Draws operations at the keys that a replay gave them. `grid` has the columns.
    pub(super) fn new(
        query: &PictureQuery,
        grid: &HeatMap,
        logged: &LoggedCalls,
        replay: &Replay,
        style: &KeyStyle,
    ) -> Self {
        let regions = &replay.boundaries.1;
        let bounds = bounds(replay, regions, query.max_rows);
        let columns = grid.columns;
        let mut cells = vec![0_u64; bounds.len() * columns];
        let mut operations = 0;
        for (at, key) in &replay.keys {
            let call = &logged.calls[*at];
            let column =
                call.time_ms.saturating_sub(grid.from_ms).div_euclid(grid.column_ms.max(1));
            let column = usize::try_from(column).ok().filter(|column| *column < columns);
            let row = bounds.partition_point(|bound| bound <= key).saturating_sub(1);
            if let Some(column) = column {
                let amount = query.amount(call);
                operations += usize::from(amount > 0);
                let cell = &mut cells[row * columns + column];
                *cell = cell.saturating_add(amount);
            }
        }
        let gaps = gaps_of(grid, logged);
        let width = |column: usize| {
            let columns = i64::try_from(column).unwrap_or(i64::MAX);
            grid.from_ms.saturating_add(grid.column_ms.saturating_mul(columns))
        };
        let gap = |range: &Range<usize>| PictureGap {
            from: width(range.start),
            to: width(range.end),
            why: "not recorded",
        };
        Self {
            from: grid.from_ms,
            to: width(columns),
            dt_ms: grid.column_ms,
            layer: LAYERS.get(grid.layer).map_or("", |layer| layer.name),
            cols: columns,
            rows: bounds.len(),
            metric: query.metric_name.clone(),
            unit: "per_s",
            row: rows(&bounds, regions, style),
            regions: marks(&bounds, regions, grid.from_ms),
            events: Vec::new(),
            gaps: gaps.iter().map(gap).collect(),
            estimated: Vec::new(),
            operations,
            mean: per_second(&cells, grid, &gaps),
        }
    }
}

/// Returns the columns of which no load is recorded, or that end before the first replayed
/// operation of the log: the load there is not known, and not zero.
fn gaps_of(grid: &HeatMap, logged: &LoggedCalls) -> Vec<Range<usize>> {
    let since = known_since(logged).unwrap_or(i64::MAX).saturating_sub(grid.from_ms);
    let unknown = usize::try_from(since.div_euclid(grid.column_ms.max(1))).unwrap_or(0);
    let unknown = unknown.min(grid.columns);
    let after = grid.gaps.iter().map(|gap| gap.start.max(unknown)..gap.end);
    let first = std::iter::once(0..unknown);
    first.chain(after).filter(|gap| !gap.is_empty()).collect()
}

/// Returns first keys of ranges with about equal numbers of rows, among them those of the regions.
fn bounds(replay: &Replay, regions: &[Bytes], max_rows: usize) -> Vec<Bytes> {
    let mut rows: Vec<Bytes> = replay.keys.iter().map(|(_, key)| key.clone()).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut all: BTreeSet<Bytes> = BTreeSet::from([Bytes::new()]);
    all.extend(regions.iter().take(max_rows.saturating_sub(1)).cloned());
    let more = u32::try_from(max_rows.saturating_sub(all.len())).unwrap_or(0);
    if let Ok(splits) = split_sample(rows, more) {
        all.extend(splits.keys);
    }
    all.into_iter().collect()
}

fn region_of(regions: &[Bytes], key: &Bytes) -> usize {
    regions.partition_point(|start| start <= key) + 1
}

fn rows(bounds: &[Bytes], regions: &[Bytes], style: &KeyStyle) -> Vec<PictureRow> {
    let end = Bytes::new();
    let ends = bounds.iter().skip(1).chain([&end]);
    let row = |(start, end): (&Bytes, &Bytes)| PictureRow {
        start: style.boundary(start),
        end: style.boundary(end),
        region: region_of(regions, start).to_string(),
        rows_est: None,
        bytes: None,
    };
    bounds.iter().zip(ends).map(row).collect()
}

fn marks(bounds: &[Bytes], regions: &[Bytes], since: i64) -> Vec<PictureRegion> {
    let first = Bytes::new();
    let starts = std::iter::once(&first).chain(regions);
    let mark = |(at, start): (usize, &Bytes)| PictureRegion {
        encoded_name: (at + 1).to_string(),
        row: bounds.partition_point(|bound| bound <= start).saturating_sub(1),
        since,
        server: None,
    };
    starts.enumerate().map(mark).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "a picture has a few digits")]
fn per_second(cells: &[u64], grid: &HeatMap, gaps: &[Range<usize>]) -> Vec<Vec<Option<f32>>> {
    let seconds = float(grid.column_ms.max(1).unsigned_abs()) / 1000.0;
    let is_gap = |column: usize| gaps.iter().any(|gap| gap.contains(&column));
    let cell = |(column, amount): (usize, &u64)| {
        (!is_gap(column)).then(|| (float(*amount) / seconds) as f32)
    };
    let row = |row: &[u64]| row.iter().enumerate().map(cell).collect();
    cells.chunks(grid.columns.max(1)).map(row).collect()
}
