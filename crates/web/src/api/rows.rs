//! Rows of a table, and the bytes of single cells.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use axum::response::Response;
use halite_rowkey::plan::Plan;
use halite_rowkey::scatter::{PageToken, Scatter, ScatterOptions, UndecodableRows};
use halite_rowkey::schema::{Profile, SegmentKind};
use halite_types::key::{to_hex, to_string_binary};
use halite_types::{CellRef, Get, Row, Scan, Table, TimeRange, block_on};
use serde::Serialize;
use utoipa::ToSchema;

use super::row_query::{RowQuery, text_after_key, text_of_token, with_columns};
use crate::call::{Call, Document};
use crate::deadline_table::DeadlineTable;
use crate::gate::{Deadline, Weight};
use crate::key_view::{DeclaredKey, Key, KeyStyle};
use crate::problem::{Answered, Problem};

/// Maximum cells of one row in an answer; the number of all is in it.
const MAX_CELLS_OF_ROW: usize = 1000;

/// Bytes of values after which a page ends early.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// Ranges up to which the regions that they touch are counted.
const MAX_COUNTED_RANGES: usize = 64;

/// Salts that are listed.
const MAX_SALTS: usize = 256;

/// Rows.
#[derive(Serialize, ToSchema)]
pub(crate) struct RowsAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    plan: RowsPlan,
    rows: Vec<RowView>,
    /// Token of the next page; `null` at the end.
    next: Option<String>,
}

/// How the rows were read.
#[derive(Serialize, ToSchema)]
pub(crate) struct RowsPlan {
    ranges: usize,
    /// Regions that the ranges touch; `null` for more than 64 ranges.
    regions: Option<usize>,
    /// Salts that were read, if the key begins with one.
    salts: Vec<u32>,
    rows_examined: u64,
    /// Rows that are no keys of the declared row key, so that no condition could be asked of them.
    left_out: u64,
    ms: f64,
    /// Plan in words.
    text: Option<String>,
}

/// Row.
#[derive(Serialize, ToSchema)]
pub(crate) struct RowView {
    key: Key,
    /// Number of cells, of which at most 1000 are listed.
    cells_total: usize,
    cells: Vec<CellView>,
}

/// Cell.
#[derive(Serialize, ToSchema)]
pub(crate) struct CellView {
    family: String,
    qualifier: Key,
    ts: i64,
    #[serde(rename = "type")]
    cell_type: &'static str,
    value: ValueView,
}

/// Value.
#[derive(Serialize, ToSchema)]
pub(crate) struct ValueView {
    /// Its bytes in hexadecimal digits, at most `value_bytes_max` of them.
    hex: String,
    /// Its length in bytes.
    len: usize,
}

/// Rows by the fields of the declared key (`device_id=s1&ts.ge=2024-03-15`), or by keys.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/rows",
    tag = "rows",
    params(
        ("t" = String, Path),
        ("FIELD" = Option<String>, Query,
            description = "Condition on a field; FIELD.ge .gt .le .lt .in .prefix .is for others"),
        ("start" = Option<String>, Query, description = "First key, with \\xNN for a byte"),
        ("stop" = Option<String>, Query, description = "Key after the last"),
        ("prefix" = Option<String>, Query), ("reverse" = Option<u8>, Query),
        ("limit" = Option<usize>, Query), ("versions" = Option<u32>, Query),
        ("cols" = Option<String>, Query, description = "FAMILY or FAMILY:QUALIFIER, with commas"),
        ("value_bytes_max" = Option<usize>, Query), ("next" = Option<String>, Query),
        ("keys" = Option<String>, Query), ("key_bytes_max" = Option<usize>, Query),
    ),
    responses(
        (status = 200, body = RowsAnswer),
        (status = 400, body = Problem), (status = 404, body = Problem),
        (status = 403, body = Problem, description = "Rows are not shown by this server"),
        (status = 503, body = Problem, description = "Too busy, or not found in time"),
    )
)]
pub(crate) async fn rows(call: Call) -> Response {
    call.json(Weight::Heavy, answer).await
}

/// Limits of an answer, and the form of its keys and values.
struct RowStyle {
    limit: usize,
    value_bytes: usize,
    keys: KeyStyle,
}

fn answer(call: &Call, deadline: Deadline) -> Answered<RowsAnswer> {
    let began = Instant::now();
    call.check_rows()?;
    let limit = call.params.number("limit", 1..=1000, 25)?;
    let value_bytes = call.params.number("value_bytes_max", 0..=1 << 20, 1024)?;
    let template = with_columns(&call.params, Scan::all())?;
    let found = call.table()?;
    let declared = DeclaredKey::of(&*call.site.sources.cluster, &found.descriptor);
    // One row more than is shown tells whether there is another page.
    let query = RowQuery::of(&call.params, declared.as_ref(), limit + 1)?;
    let style = RowStyle { limit, value_bytes, keys: KeyStyle::of(&call.params, declared)? };
    let table = DeadlineTable::around(found.table, deadline);
    let (mut plan, page) = match query {
        RowQuery::Fields(plan, after) => {
            by_fields(&table, &plan, after.as_ref(), template, &style)?
        }
        RowQuery::Keys(range) => by_keys(&table, &range, template, &style)?,
    };
    plan.ms = (began.elapsed().as_secs_f64() * 1e5).round() / 100.0;
    Ok(RowsAnswer {
        as_of: call.site.extension().now_ms(),
        missing: if plan.regions.is_none() { vec!["regions"] } else { Vec::new() },
        plan,
        rows: page.rows,
        next: page.next,
    })
}

#[derive(Default)]
struct RowPage {
    rows: Vec<RowView>,
    bytes: usize,
    next: Option<String>,
}

impl RowPage {
    /// Adds a row; returns `false` if the page was full before it.
    fn add(&mut self, row: &Row, style: &RowStyle) -> bool {
        if self.rows.len() >= style.limit || self.bytes > MAX_PAGE_BYTES {
            return false;
        }
        let view = style.row(row);
        self.bytes += view.cells.iter().map(|cell| cell.value.hex.len() + 200).sum::<usize>();
        self.rows.push(view);
        true
    }
}

fn by_fields(
    table: &Arc<dyn Table>,
    plan: &Arc<Plan>,
    after: Option<&PageToken>,
    template: Scan,
    style: &RowStyle,
) -> Answered<(RowsPlan, RowPage)> {
    // An undecodable key cannot match a condition; without conditions, all rows are returned.
    let is_asked = !plan.query().conditions.is_empty();
    let undecodable_rows = if is_asked { UndecodableRows::Count } else { UndecodableRows::Return };
    // The ranges share one answer, so little is read ahead.
    let options = ScatterOptions {
        undecodable_rows,
        buffer_bytes: 8 << 20,
        concurrency: 4,
        ..ScatterOptions::default()
    };
    let mut rows = Scatter::new(Arc::clone(table), Arc::clone(plan), template, &options, after)?;
    let (mut page, mut last): (RowPage, Option<Row>) = (RowPage::default(), None);
    while let Some(row) = block_on(rows.next())? {
        if !page.add(&row, style) {
            page.next = last.map(|last| text_of_token(&rows.token_of(&last)));
            break;
        }
        last = Some(row);
    }
    let regions = block_on(table.regions())?;
    let ranges = plan.ranges().count();
    let touched = || {
        let is_read =
            |start: &[u8], end: &[u8]| plan.ranges().any(|range| range.touches(start, end));
        regions.iter().filter(|region| is_read(&region.start, &region.end)).count()
    };
    let summary = RowsPlan {
        ranges,
        regions: (ranges <= MAX_COUNTED_RANGES).then(touched),
        salts: salts(plan),
        rows_examined: rows.examined(),
        left_out: rows.left_out(),
        ms: 0.0,
        text: (ranges <= MAX_COUNTED_RANGES).then(|| plan.explain(&regions)),
    };
    Ok((summary, page))
}

/// Returns the salts that a plan reads, if its keys begin with a binary one.
fn salts(plan: &Plan) -> Vec<u32> {
    let Some(SegmentKind::Salt { count, .. }) =
        plan.schema().segments().first().map(|segment| &segment.kind)
    else {
        return Vec::new();
    };
    if plan.schema().profile() != Profile::Bin || *count > 256 {
        return Vec::new();
    }
    let salts: BTreeSet<u32> = plan
        .ranges()
        .filter_map(|range| range.fixed_bytes().first().copied())
        .map(u32::from)
        .take(MAX_SALTS)
        .collect();
    salts.into_iter().collect()
}

fn by_keys(
    table: &Arc<dyn Table>,
    range: &Scan,
    template: Scan,
    style: &RowStyle,
) -> Answered<(RowsPlan, RowPage)> {
    let scan =
        Scan { range: range.range.clone(), reverse: range.reverse, limit: range.limit, ..template };
    let mut rows = table.scan(scan);
    let (mut page, mut last): (RowPage, Option<Row>) = (RowPage::default(), None);
    let mut examined = 0;
    while let Some(row) = block_on(rows.next())? {
        examined += 1;
        if !page.add(&row, style) {
            page.next = last.map(|last| text_after_key(last.key()));
            break;
        }
        last = Some(row);
    }
    let regions = block_on(table.regions())?;
    let touched = regions.iter().filter(|region| touches(range, &region.start, &region.end));
    let summary = RowsPlan {
        ranges: 1,
        regions: Some(touched.count()),
        salts: Vec::new(),
        rows_examined: examined,
        left_out: 0,
        ms: 0.0,
        text: None,
    };
    Ok((summary, page))
}

/// Returns `true` if a region has a part of a range of keys.
fn touches(scan: &Scan, start: &[u8], end: &[u8]) -> bool {
    let begins_before_end = end.is_empty()
        || match &scan.range.start {
            std::ops::Bound::Unbounded => true,
            std::ops::Bound::Included(first) | std::ops::Bound::Excluded(first) => &first[..] < end,
        };
    begins_before_end && !scan.range.is_past_end(start)
}

impl RowStyle {
    fn row(&self, row: &Row) -> RowView {
        let cells = row.iter().take(MAX_CELLS_OF_ROW).map(|cell| self.cell(cell));
        RowView { key: self.keys.key(row.key()), cells_total: row.len(), cells: cells.collect() }
    }

    fn cell(&self, cell: CellRef<'_>) -> CellView {
        let value = cell.value();
        let shown = &value[..value.len().min(self.value_bytes)];
        CellView {
            family: to_string_binary(cell.family()),
            qualifier: self.keys.undeclared().key(cell.qualifier()),
            ts: cell.timestamp(),
            cell_type: cell.cell_type().map_or("Unknown", halite_types::CellType::name),
            value: ValueView { hex: to_hex(shown), len: value.len() },
        }
    }
}

/// The bytes of one cell.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/cell",
    tag = "rows",
    params(
        ("t" = String, Path),
        ("row" = String, Query, description = "Row key in hexadecimal digits"),
        ("family" = String, Query, description = "Family in hexadecimal digits"),
        ("qualifier" = String, Query, description = "Qualifier in hexadecimal digits"),
        ("ts" = Option<i64>, Query, description = "Timestamp; the newest cell unless given"),
    ),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/octet-stream"),
        (status = 400, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem),
    )
)]
pub(crate) async fn cell(call: Call) -> Response {
    call.document(Weight::Heavy, cell_bytes).await
}

fn cell_bytes(call: &Call, deadline: Deadline) -> Answered<Document> {
    call.check_rows()?;
    let (row, family) = (call.params.hex("row")?, call.params.hex("family")?);
    let qualifier = call.params.hex("qualifier")?;
    let ts = call.params.optional_number::<i64>("ts")?;
    if row.is_empty() {
        return Err(Problem::field("row", "a row key has at least one byte"));
    }
    let found = call.table()?;
    let mut get = Get::new(row).column(family.clone(), qualifier.clone());
    if let Some(ts) = ts {
        let range = TimeRange::at(ts).map_err(|error| Problem::from(error).of("ts"))?;
        get = get.time_range(range);
    }
    let table = DeadlineTable::around(found.table, deadline);
    let row = block_on(table.get_all(vec![get]))?.pop().unwrap_or_default();
    let Some(bytes) = row.value(&family, &qualifier) else {
        return Err(Problem::not_found("row", "there is no such cell"));
    };
    Ok(Document {
        content_type: "application/octet-stream",
        file_name: Some("cell.bin".to_owned()),
        bytes: bytes.to_vec(),
    })
}
