//! Recorded operations under another key as heat: the columns are those of the recorded load.

use std::collections::BTreeSet;

use halite_heat::operations::{Call as Logged, CallKind, LoggedCalls};
use halite_heat::{HeatMap, HeatQuery, MAX_BUCKETS, MAX_COLUMNS, Metric};
use halite_rowkey_tools::picture::Counts;
use halite_rowkey_tools::replay::Replay;
use halite_rowkey_tools::split_sample;
use halite_types::{Bytes, TableName};

use super::known_since;
use crate::api::heat_answer::{HeatAnswer, HeatParts, HeatRegion, HeatRow, runs, time};
use crate::call::Call;
use crate::key_view::KeyStyle;
use crate::params::Params;
use crate::problem::{Answered, Problem};

/// Time before the end that is shown unless another is asked.
const SPAN_MS: i64 = 6 * 3_600_000;
/// Known time of a column below which its rate is not shown: it would be that of a few operations.
const MIN_KNOWN_SECONDS: f32 = 1.0;

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
        // Nothing is recorded of the future, and the columns divide the whole span.
        let to_ms = params.optional_number("to")?.map_or(now, |to: i64| to.min(now));
        let from_ms = params.optional_number("from")?;
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

/// Operations under another key, and where they are drawn.
pub(super) struct Redrawn<'a> {
    pub(super) as_of: u64,
    pub(super) query: &'a PictureQuery,
    /// Recorded load, whose columns the picture has.
    pub(super) grid: &'a HeatMap,
    pub(super) logged: &'a LoggedCalls,
    pub(super) replay: &'a Replay,
    pub(super) style: &'a KeyStyle,
}

impl Redrawn<'_> {
    /// Draws the operations at the keys that the replay gave them.
    pub(super) fn answer(&self) -> HeatAnswer {
        let Self { query, grid, logged, replay, .. } = self;
        let regions = &replay.boundaries.1;
        let bounds = bounds(replay, regions, query.max_rows);
        let starts = bounds.iter().map(|bound| bound.as_ref().into()).collect();
        let since = known_since(logged).unwrap_or(i64::MAX).max(query.from_ms);
        let seconds = known_seconds(grid, (since, query.to_ms));
        let gaps = runs((0..grid.columns).filter(|column| seconds[*column] < MIN_KNOWN_SECONDS));
        let mut counts = Counts::new(starts, (grid.from_ms, grid.column_ms), seconds);
        let mut operations = 0;
        for (at, key) in &replay.keys {
            let call = &logged.calls[*at];
            if let Some(column) = counts.column_of(call.time_ms) {
                let amount = query.amount(call);
                operations += usize::from(amount > 0);
                counts.add(counts.row_of(key), column, amount);
            }
        }
        let map = HeatMap { layer: grid.layer, ..counts.into_map(gaps) };
        let parts = HeatParts {
            as_of: self.as_of,
            missing: vec!["rows_est", "bytes"],
            metric: query.metric_name.clone(),
            row: rows(&bounds, regions, self.style),
            regions: marks(&bounds, regions, grid.from_ms),
            events: Vec::new(),
            next_column_at: None,
            operations: Some(operations),
        };
        HeatAnswer::new(&map, parts).with_cells(&map)
    }
}

/// Returns the time of each column, in seconds, of which both a load is recorded and all replayed
/// operations are known, which are those of a span: a column that is known in part has the rate of
/// that part, as the recorded load has.
#[expect(clippy::cast_precision_loss, reason = "seconds of a picture")]
fn known_seconds(grid: &HeatMap, (since, to): (i64, i64)) -> Vec<f32> {
    let known = |column: usize| {
        let (start, end) = (time(grid, column), time(grid, column + 1));
        let known_ms = end.min(to).saturating_sub(start.max(since)).max(0);
        let seconds = |column: usize| grid.seconds.get(column).copied().unwrap_or_default();
        // What a late recorder took into the column before is known of this one's operations.
        let length = grid.column_ms as f32 / 1000.0;
        let taken = column.checked_sub(1).map_or(0.0, |before| (seconds(before) - length).max(0.0));
        let recorded = seconds(column);
        let known = known_ms as f32 / 1000.0;
        if recorded > 0.0 { (recorded + taken).min(length).min(known) } else { 0.0 }
    };
    (0..grid.columns).map(known).collect()
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

fn rows(bounds: &[Bytes], regions: &[Bytes], style: &KeyStyle) -> Vec<HeatRow> {
    let end = Bytes::new();
    let ends = bounds.iter().skip(1).chain([&end]);
    let row = |(start, end): (&Bytes, &Bytes)| HeatRow {
        start: style.boundary(start),
        end: style.boundary(end),
        region: Some(region_of(regions, start).to_string()),
        ..HeatRow::default()
    };
    bounds.iter().zip(ends).map(row).collect()
}

fn marks(bounds: &[Bytes], regions: &[Bytes], since: i64) -> Vec<HeatRegion> {
    let first = Bytes::new();
    let starts = std::iter::once(&first).chain(regions);
    let mark = |(at, start): (usize, &Bytes)| HeatRegion {
        encoded_name: (at + 1).to_string(),
        row: bounds.partition_point(|bound| bound <= start).saturating_sub(1),
        since,
        server: None,
    };
    starts.enumerate().map(mark).collect()
}
