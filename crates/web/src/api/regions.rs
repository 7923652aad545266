//! Regions of a table, as JSON in parts or as CSV as a whole.

use std::borrow::Cow;

use axum::response::Response;
use halite_types::key::{to_hex, to_string_binary};
use serde::Serialize;
use utoipa::ToSchema;

use super::csv::write_line;
use super::region_list::{Region, RegionGroup, RegionList};
use crate::call::{Call, Document};
use crate::gate::{Deadline, Weight};
use crate::problem::{Answered, Problem};

/// Regions.
#[derive(Serialize, ToSchema)]
pub(crate) struct RegionsAnswer {
    /// Name of this sorted list, with which its other parts can be requested for a minute.
    as_of: u64,
    missing: Vec<&'static str>,
    /// Number of regions that match.
    total: usize,
    /// Number of regions of the table.
    table_regions: usize,
    offset: usize,
    regions: Vec<Region>,
    /// Groups of the whole list, if some were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<RegionGroup>>,
    /// Maximum requests of a region, divided by the mean of the table, in equal parts of the whole
    /// list, if that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    ruler: Option<Vec<f64>>,
}

/// Regions of a table.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/regions",
    tag = "regions",
    params(
        ("t" = String, Path),
        ("q" = Option<String>, Query, description = "Text in a key, name or server"),
        ("sort" = Option<String>, Query, description = "Figure to sort by; - before it for falling"),
        ("group" = Option<String>, Query, description = "server, salt or state"),
        ("offset" = Option<usize>, Query), ("limit" = Option<usize>, Query),
        ("as_of" = Option<u64>, Query, description = "Time of the list of which this is a part"),
        ("series" = Option<u8>, Query, description = "1 for the rates of the last ten minutes"),
        ("ruler" = Option<usize>, Query, description = "Number of parts of the list whose load is returned"),
        ("keys" = Option<String>, Query, description = "escaped for keys as HBase prints them too"),
        ("key_bytes_max" = Option<usize>, Query, description = "Bytes of a key, 256 unless given"),
    ),
    responses(
        (status = 200, content(
            (RegionsAnswer = "application/json"),
            (String = "text/csv"),
        )),
        (status = 400, body = Problem),
        (status = 404, body = Problem),
        (status = 409, body = Problem, description = "The list of as_of is no longer kept"),
    )
)]
pub(crate) async fn regions(call: Call) -> Response {
    if call.accepts("text/csv") {
        return regions_csv(call).await;
    }
    call.json(Weight::Light, answer).await
}

/// All matching regions of a table as CSV.
#[utoipa::path(
    get,
    path = "/api/tables/{t}/regions.csv",
    tag = "regions",
    params(
        ("t" = String, Path),
        ("q" = Option<String>, Query), ("sort" = Option<String>, Query),
        ("group" = Option<String>, Query), ("as_of" = Option<u64>, Query),
    ),
    responses(
        (status = 200, body = String, content_type = "text/csv"),
        (status = 404, body = Problem),
    )
)]
pub(crate) async fn regions_csv(call: Call) -> Response {
    call.document(Weight::Heavy, csv).await
}

fn answer(call: &Call, deadline: Deadline) -> Answered<RegionsAnswer> {
    let offset = call.params.number("offset", 0..=usize::MAX, 0)?;
    let limit = call.params.number("limit", 1..=1000, 100)?;
    let ruler = call.params.number("ruler", 0..=1024, 0)?;
    let (list, _) = RegionList::of(call)?;
    deadline.check()?;
    let order = list.order(&call.params)?;
    deadline.check()?;
    let part = order.iter().skip(offset).take(limit);
    let regions: Vec<Region> =
        part.filter_map(|&index| list.region(usize::try_from(index).ok()?)).collect();
    Ok(RegionsAnswer {
        as_of: list.status.as_of,
        missing: RegionList::missing(&regions),
        total: order.len(),
        table_regions: list.len(),
        offset,
        regions,
        groups: list.groups(&order),
        ruler: (ruler > 0).then(|| list.ruler(&order, ruler)),
    })
}

const HEADS: [&str; 22] = [
    "Name",
    "Encoded name",
    "Region server",
    "Start key",
    "Start key (hex)",
    "End key",
    "End key (hex)",
    "Locality",
    "Requests",
    "Read requests",
    "Write requests",
    "Reads/s",
    "Writes/s",
    "p99 (ms)",
    "Rows (estimate)",
    "Size",
    "Files",
    "Memstore",
    "Compaction",
    "Share",
    "Share of mean",
    "State",
];

fn csv(call: &Call, deadline: Deadline) -> Answered<Document> {
    /// Regions between checks of the time.
    const REGIONS_AT_ONCE: usize = 1024;
    let (list, table) = RegionList::of(call)?;
    deadline.check()?;
    let order = list.order(&call.params)?;
    let mut out = String::new();
    write_line(&mut out, HEADS.into_iter().map(Cow::Borrowed));
    for part in order.chunks(REGIONS_AT_ONCE) {
        deadline.check()?;
        for index in part.iter().filter_map(|&index| usize::try_from(index).ok()) {
            if let (Some(region), Some(load)) = (list.region(index), list.load(index)) {
                write_line(&mut out, cells(&region, &load.region.start, &load.region.end));
            }
        }
    }
    let name: String = table.name().to_string();
    let name = name.replace(|char: char| !char.is_ascii_alphanumeric() && char != '_', "-");
    Ok(Document {
        content_type: "text/csv; charset=utf-8",
        file_name: Some(format!("{name}-regions.csv")),
        bytes: out.into_bytes(),
    })
}

fn cells<'c>(region: &'c Region, start: &[u8], end: &[u8]) -> [Cow<'c, str>; 22] {
    let number = |figure: Option<f64>| {
        Cow::Owned(figure.map(|figure| figure.to_string()).unwrap_or_default())
    };
    let count = |count: u64| Cow::Owned(count.to_string());
    [
        Cow::Borrowed(&region.name),
        Cow::Borrowed(&region.encoded_name),
        Cow::Borrowed(region.server.as_deref().unwrap_or_default()),
        Cow::Owned(to_string_binary(start)),
        Cow::Owned(to_hex(start)),
        Cow::Owned(to_string_binary(end)),
        Cow::Owned(to_hex(end)),
        number(region.locality),
        count(region.requests_total),
        count(region.read_requests_total),
        count(region.write_requests_total),
        number(region.reads_per_s),
        number(region.writes_per_s),
        number(region.p99_ms),
        Cow::Owned(region.rows.map(|rows| rows.to_string()).unwrap_or_default()),
        count(region.size_bytes),
        count(region.store_files),
        count(region.memstore_bytes),
        Cow::Borrowed(region.compaction.map_or("", |compaction| compaction.kind)),
        number(region.share),
        number(region.share_of_mean),
        Cow::Borrowed(region.state),
    ]
}
