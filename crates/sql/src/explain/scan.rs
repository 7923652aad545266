//! One scan of EXPLAIN.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_rowkey::plan::{ExplainedPlan, ExplainedRanges};
use halite_types::ScanMeter;
use halite_types::key::to_string_binary;

use super::json::{Json, Members};
use super::sorted::Sorted;
use super::units::{bytes, milliseconds};
use crate::catalog::shape::RowKind;
use crate::scan::exec::ScanExec;
use crate::scan::families_on_demand;
use crate::scan::full_scan::Wide;
use crate::scan::history::History;
use crate::scan::joined::Narrowed;
use crate::scan::spec::ScanSpec;

/// Scan of a table: its keys, what is read of each row, and what it did.
pub(super) struct ScanPart {
    table: String,
    /// The planner of the key explains itself.
    key: ExplainedPlan,
    columns: Vec<String>,
    /// Number of scans that read the keys.
    scans: Option<usize>,
    /// Families of which the cells are read after the filter.
    on_demand: Vec<String>,
    /// `true` if rows without one of the columns are not read.
    skips_empty: bool,
    /// Ranges of each part that is read at the same time.
    parts: Vec<usize>,
    /// Fields of the groups of which the first row is read.
    seek: Option<Vec<String>>,
    join: Option<String>,
    history: Option<String>,
    /// Cells that `cells(t)` reads.
    cells: Option<String>,
    is_of_buckets: bool,
    filter: Option<String>,
    /// Conditions that DataFusion checks.
    again: Vec<String>,
    /// Rows by the conditions on the key, and rows of the table, as ANALYZE found.
    expected: Option<(u64, u64)>,
    /// Notes about conditions, besides those of the planner.
    notes: Vec<String>,
    serves: Option<String>,
    ran: Option<Ran>,
}

/// What a scan did.
enum Ran {
    /// Nothing had to be read.
    NotRead,
    Read(Figures),
}

struct Figures {
    examined: u64,
    received: u64,
    kept: u64,
    left_out: u64,
    bytes: u64,
    calls: Option<u64>,
    blocks_read: Option<u64>,
    blocks_cached: Option<u64>,
    first_row_ms: Option<f64>,
    all_ms: f64,
    has_stopped_early: bool,
}

impl ScanPart {
    /// Explains a scan.
    pub(super) fn of(scan: &ScanExec, has_run: bool, sorted: &Sorted) -> Self {
        let spec = &scan.spec;
        let mut key = spec.plan.explained(&spec.target.regions);
        // It knows the fields of the key only; the statement also names cells, and their order.
        key.serves = None;
        key.notes = key.notes.into_iter().filter_map(|note| note_of_key(scan, note)).collect();
        let expected = match (&spec.target.statistics, spec.known_rows()) {
            (Some(statistics), Some(rows)) => Some((rows, statistics.rows)),
            _ => None,
        };
        let serves = if scan.joined.is_empty() { spec.serving_key(sorted) } else { None };
        let filter = spec.template.selection.filter.as_ref();
        let fields = spec.schema.fields().iter();
        Self {
            table: spec.target.table.name().to_string(),
            key,
            columns: fields.map(|field| field.name().clone()).collect(),
            scans: spec.point_runs().map(|runs| runs.len()),
            on_demand: on_demand(spec),
            skips_empty: spec.skips_empty,
            parts: scan.parts.iter().map(|part| part.plan.ranges().count()).collect(),
            seek: spec.first_of.as_ref().map(|first| first.fields.clone()),
            join: (!scan.joined.is_empty()).then(|| joined(scan)),
            history: (spec.history != History::default()).then(|| spec.history.to_string()),
            cells: spec.cells.clone(),
            is_of_buckets: spec.target.shape.rows == RowKind::Bucket,
            filter: filter.map(ToString::to_string),
            again: spec.checked_again.clone(),
            expected,
            notes: notes(scan),
            serves: serves.map(|key| key.to_string()),
            ran: has_run.then(|| Ran::of(scan)),
        }
    }

    /// Returns the lines about the scan.
    pub(super) fn lines(&self, is_direct: bool) -> Vec<String> {
        let direct = if is_direct { ", direct" } else { "" };
        let mut lines = vec![format!("scan {}{direct}", self.table)];
        lines.extend(self.key.to_string().lines().map(|line| format!("  {line}")));
        let mut add = |label: &str, text: &str| lines.push(format!("  {label:<8} {text}"));
        let which = if self.skips_empty { " of rows that have one" } else { "" };
        match self.columns.as_slice() {
            [] => add("read", &format!("no column{which}")),
            columns => add("read", &format!("{}{which}", columns.join(", "))),
        }
        if let Some(scans) = self.scans {
            let text = format!("{scans}, with a filter of the keys, instead of as many gets");
            add("scans", &text);
        }
        if !self.on_demand.is_empty() {
            let families = self.on_demand.join(", ");
            add("demand", &format!("family {families}, of rows that the filter includes"));
        }
        if !self.parts.is_empty() {
            let ranges: Vec<String> = self.parts.iter().map(ToString::to_string).collect();
            let (parts, ranges) = (self.parts.len(), ranges.join(", "));
            add(
                "parts",
                &format!("{parts} at once, of regions next to each other; ranges {ranges}"),
            );
        }
        if let Some(fields) = &self.seek {
            let fields = fields.join(", ");
            let text = format!("first row of each ({fields}), where a sample has 20 rows of one");
            add("seek", &text);
        }
        for (label, text) in
            [("join", &self.join), ("history", &self.history), ("cells", &self.cells)]
        {
            text.iter().for_each(|text| add(label, text));
        }
        if self.is_of_buckets {
            add("points", "of each bucket row as a list");
        }
        self.filter.iter().for_each(|filter| add("filter", filter));
        match self.again.as_slice() {
            [] => add("again", "nothing"),
            conditions => add("again", &conditions.join(" AND ")),
        }
        if let Some((rows, all)) = self.expected {
            add("expect", &format!("about {rows} of {all} rows by the key, as ANALYZE found"));
        }
        self.notes.iter().for_each(|note| add("note", note));
        self.serves.iter().for_each(|key| add("serves", key));
        match &self.ran {
            None => {}
            Some(Ran::NotRead) => add("ran", "not read: nothing of it was needed"),
            Some(Ran::Read(figures)) => add("ran", &figures.line()),
        }
        lines
    }

    /// Returns the members of the scan's object.
    pub(super) fn json(&self, is_direct: bool) -> Members {
        let names = |names: &[String]| Json::from(names.to_vec());
        let expected =
            self.expected.map(|(rows, of)| Members::default().with("rows", rows).with("of", of));
        let notes: Vec<Json> =
            self.key.notes.iter().chain(&self.notes).map(|text| note_json(text)).collect();
        let ran = self.ran.as_ref().map(|ran| match ran {
            Ran::NotRead => Members::default().with("is_read", false),
            Ran::Read(figures) => figures.json(),
        });
        Members::default()
            .with("table", self.table.as_str())
            .with("direct", is_direct)
            .with("key", key_json(&self.key))
            .with("read", names(&self.columns))
            .with_some("scans", self.scans)
            .with_some("on_demand", (!self.on_demand.is_empty()).then(|| self.on_demand.clone()))
            .with("skips_empty", self.skips_empty)
            .with_some("parts", (!self.parts.is_empty()).then(|| self.parts.clone()))
            .with_some("seek", self.seek.clone())
            .with_some("join", self.join.clone())
            .with_some("history", self.history.clone())
            .with_some("cells", self.cells.clone())
            .with_some("buckets", self.is_of_buckets.then_some(true))
            .with_some("filter", self.filter.clone())
            .with("again", names(&self.again))
            .with_some("expect", expected)
            .with("notes", notes)
            .with_some("serves", self.serves.clone())
            .with_some("ran", ran)
    }
}

fn key_json(key: &ExplainedPlan) -> Members {
    let regions =
        key.regions.map(|(read, all)| Members::default().with("read", read).with("of", all));
    let of_range = |(conditions, keys): &(String, String)| {
        Members::default().with("conditions", conditions.as_str()).with("rows", keys.as_str())
    };
    let of_query =
        |shown: &ExplainedRanges| -> Vec<Members> { shown.ranges.iter().map(of_range).collect() };
    let shown: Vec<Members> = key.shown.iter().flat_map(of_query).collect();
    Members::default()
        .with_some("gets", key.gets)
        .with("ranges", key.ranges)
        .with("fan_out", key.fan_out)
        .with_some("regions", regions)
        .with("order", key.order.clone())
        .with("merged", key.is_merged)
        .with_some("check", (key.checks != "nothing").then(|| key.checks.clone()))
        .with_some("limit", key.limit)
        .with("shown", shown)
        .with_some("joined", key.joined.as_ref().map(|joined| joined.ranges))
}

/// Returns a note as its rule, if it has one, and its text.
fn note_json(note: &str) -> Json {
    let rule =
        note.split_once([':', ',']).map(|(rule, _)| rule).filter(|rule| rule.starts_with("Q-"));
    Members::default().with_some("rule", rule).with("text", note).into()
}

/// Returns a note of the planner as it holds for the statement.
fn note_of_key(scan: &ScanExec, note: String) -> Option<String> {
    if !note.starts_with("Q-FULL") {
        Some(note)
    } else if scan.spec.first_of.is_some() {
        None
    } else if scan.joined.is_empty() {
        Some(note)
    } else {
        let text = "Q-FULL, unless the join narrows it: nothing in front of the key is known";
        Some(text.to_owned())
    }
}

/// Returns the families of which a scan reads the cells after its filter. Gets read all at once,
/// and so do scans from the end.
fn on_demand(spec: &ScanSpec) -> Vec<String> {
    if spec.plan.is_points() || spec.plan.query().reverse {
        return Vec::new();
    }
    let families = families_on_demand(&spec.template);
    families.map(|family| to_string_binary(family)).collect()
}

/// Returns what the values of a join's other side leave of the scan.
fn joined(scan: &ScanExec) -> String {
    match scan.figures.narrowed() {
        Some(Narrowed::Gets(keys)) => format!("the other side's values left {keys} gets"),
        Some(Narrowed::Scanned(keys)) => {
            format!("the other side's values left {keys} keys, which scans read")
        }
        Some(Narrowed::Ranges(ranges)) => {
            format!("the other side's values left ranges: {ranges}")
        }
        None => "the other side is read first; its values become gets or ranges".to_owned(),
    }
}

/// Returns notes by the ids of lint, besides those of the planner.
fn notes(scan: &ScanExec) -> Vec<String> {
    let spec = &scan.spec;
    let mut notes = Vec::new();
    if let Some(Wide::FanOut(ranges)) = spec.wide() {
        notes.push(format!(
            "Q-FAN: {ranges} ranges are read at once and merged, as no condition tells which, and \
             there is no LIMIT"
        ));
    }
    // A filter that is not exact is checked again.
    let again = spec.checked_again.iter().filter(|again| !spec.filtered.contains(again));
    let conditions: Vec<&str> = spec.filtered.iter().chain(again).map(String::as_str).collect();
    if spec.plan.is_full_scan() && !conditions.is_empty() {
        notes.push(format!(
            "Q-FILTER: {} narrows no key, so every row that is read is compared",
            conditions.join(" AND ")
        ));
    }
    notes
}

impl Ran {
    fn of(scan: &ScanExec) -> Self {
        let figures = &scan.figures;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let meters = figures.meters();
        if meters.is_empty() {
            return Self::NotRead;
        }
        let sum = |of: fn(&ScanMeter) -> Option<u64>| {
            meters.iter().filter_map(|meter| of(meter)).reduce(|one, other| one + other)
        };
        let (received, kept) = (load(&figures.received), load(&figures.returned));
        // A limit ends a scan where it is reached, or because a step above it has all its rows.
        let is_whole = load(&figures.ended) >= scan.parts.len().max(1) as u64;
        let limit = scan.spec.plan.query().limit.filter(|_| !scan.spec.plan.is_points());
        let is_limited = limit.is_some_and(|limit| kept >= limit as u64);
        Self::Read(Figures {
            examined: load(&figures.examined),
            received,
            kept,
            left_out: load(&figures.left_out),
            bytes: load(&figures.bytes),
            calls: sum(ScanMeter::calls),
            blocks_read: sum(ScanMeter::blocks_read),
            blocks_cached: sum(ScanMeter::blocks_cached),
            first_row_ms: (received > 0).then(|| of_us(load(&figures.first_row_us))),
            all_ms: of_us(load(&figures.all_us)),
            has_stopped_early: !is_whole || is_limited,
        })
    }
}

impl Figures {
    fn line(&self) -> String {
        let mut text = format!(
            "{} rows examined, {} received, {} kept, {} left out; {}",
            self.examined,
            self.received,
            self.kept,
            self.left_out,
            bytes(self.bytes)
        );
        match (self.blocks_read, self.blocks_cached) {
            (Some(read), Some(cached)) => {
                let _ = write!(text, ", {} blocks, {cached} cached", read + cached);
            }
            (Some(read), None) => text.push_str(&format!(", {read} blocks read")),
            (None, _) => {}
        }
        if let Some(calls) = self.calls {
            let _ = write!(text, "; {calls} calls");
        }
        if let Some(first) = self.first_row_ms {
            let _ = write!(text, "; first row {}", milliseconds(first));
        }
        let end = if self.has_stopped_early { ", stopped early" } else { "" };
        let before = if self.first_row_ms.is_some() { "," } else { ";" };
        let _ = write!(text, "{before} all {}{end}", milliseconds(self.all_ms));
        text
    }

    fn json(&self) -> Members {
        Members::default()
            .with("rows_examined", self.examined)
            .with("rows_received", self.received)
            .with("rows_kept", self.kept)
            .with("rows_left_out", self.left_out)
            .with("bytes", self.bytes)
            .with_some("calls", self.calls)
            .with_some("blocks_read", self.blocks_read)
            .with_some("blocks_cached", self.blocks_cached)
            .with_some("first_row_ms", self.first_row_ms)
            .with("all_ms", self.all_ms)
            .with("stopped_early", self.has_stopped_early)
    }
}

#[expect(clippy::cast_precision_loss, reason = "it is rounded to a tenth of a millisecond")]
fn of_us(us: u64) -> f64 {
    us as f64 / 1000.0
}
