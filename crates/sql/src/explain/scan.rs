//! One scan of EXPLAIN.

use std::sync::atomic::Ordering;

use super::sorted::Sorted;
use crate::catalog::shape::RowKind;
use crate::scan::exec::ScanExec;
use crate::scan::history::History;
use crate::scan::joined::Narrowed;

/// Returns the lines about a scan.
pub(super) fn lines(scan: &ScanExec, has_run: bool, sorted: &Sorted) -> Vec<String> {
    let spec = &scan.spec;
    let mut lines = vec![format!("scan {}", spec.target.table.name())];
    // The planner of the key explains itself: ranges, fan-out, regions, order, notes.
    let explained = spec.plan.explain(&spec.target.regions);
    // It knows the fields of the key only; the statement also asks of cells, and of their order.
    let of_scan = explained.lines().filter(|line| !line.starts_with("serves "));
    let shown = of_scan.filter_map(|line| {
        if !line.starts_with("note     Q-FULL") {
            Some(line)
        } else if spec.first_of.is_some() {
            None
        } else if scan.joined.is_empty() {
            Some(line)
        } else {
            Some(
                "note     Q-FULL, unless the join narrows it: nothing in front of the key is known",
            )
        }
    });
    lines.extend(shown.map(|line| format!("  {line}")));
    let columns: Vec<&str> =
        spec.schema.fields().iter().map(|field| field.name().as_str()).collect();
    let columns = if columns.is_empty() { "no column".to_owned() } else { columns.join(", ") };
    let which = if spec.skips_empty { " of rows that have one" } else { "" };
    lines.push(format!("  read     {columns}{which}"));
    if !scan.parts.is_empty() {
        let ranges: Vec<String> =
            scan.parts.iter().map(|part| part.plan.ranges().count().to_string()).collect();
        lines.push(format!(
            "  parts    {} at once, of regions next to each other; ranges {}",
            scan.parts.len(),
            ranges.join(", ")
        ));
    }
    if let Some(first) = &spec.first_of {
        let fields = first.fields.join(", ");
        lines.push(format!(
            "  seek     first row of each ({fields}), where a sample has 20 rows of one"
        ));
    }
    if !scan.joined.is_empty() {
        lines.push(format!("  join     {}", joined_line(scan)));
    }
    if spec.history != History::default() {
        lines.push(format!("  history  {}", spec.history));
    }
    if let Some(cells) = &spec.cells {
        lines.push(format!("  cells    {cells}"));
    }
    if spec.target.shape.rows == RowKind::Bucket {
        lines.push("  points   of each bucket row as a list".to_owned());
    }
    if let Some(filter) = &spec.template.selection.filter {
        lines.push(format!("  filter   {filter}"));
    }
    let again = match spec.checked_again.as_slice() {
        [] => "nothing".to_owned(),
        conditions => conditions.join(" AND "),
    };
    lines.push(format!("  again    {again}"));
    if let (Some(statistics), Some(rows)) = (&spec.target.statistics, spec.known_rows()) {
        lines.push(format!(
            "  expect   about {rows} of {} rows by the key, as ANALYZE found",
            statistics.rows
        ));
    }
    lines.extend(notes(scan));
    if scan.joined.is_empty()
        && let Some(key) = spec.serving_key(sorted)
    {
        lines.push(format!("  serves   {key}"));
    }
    if has_run {
        lines.push(ran_line(scan));
    }
    lines
}

/// Returns what the values of a join's other side leave of the scan.
fn joined_line(scan: &ScanExec) -> String {
    match scan.figures.narrowed() {
        Some(Narrowed::Gets(keys)) => format!("the other side's values left {keys} gets"),
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
    let is_full = spec.plan.is_full_scan();
    let conditions: Vec<&String> = spec.filtered.iter().chain(&spec.checked_again).collect();
    if is_full && !conditions.is_empty() {
        let conditions: Vec<&str> = conditions.iter().map(|text| text.as_str()).collect();
        notes.push(format!(
            "  note     Q-FILTER: {} narrows no key, so every row that is read is compared",
            conditions.join(" AND ")
        ));
    }
    notes
}

fn ran_line(scan: &ScanExec) -> String {
    let figures = &scan.figures;
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let received = load(&figures.received);
    let examined = load(&figures.examined);
    let is_whole = load(&figures.ended) >= scan.parts.len().max(1) as u64;
    let end = if is_whole { "" } else { ", stopped early" };
    format!(
        "  ran      {examined} rows examined, {received} received, {} kept, {} left out; first \
         row {:.1} ms, all {:.1} ms{end}",
        load(&figures.returned),
        load(&figures.left_out),
        milliseconds(load(&figures.first_row_us)),
        milliseconds(load(&figures.all_us)),
    )
}

#[expect(clippy::cast_precision_loss, reason = "it is rounded to a tenth of a millisecond")]
fn milliseconds(us: u64) -> f64 {
    us as f64 / 1000.0
}
