//! Rules about observed cells of the table.

use halite_types::key::to_string_binary;

use super::cells::{AppendedAs, CellSample, format_column};
use super::finding::Findings;
use super::input::{HOT_ROW_PER_SECOND, LintInput};
use super::rules::Severity;

/// Consecutive deleted rows that trigger a finding about scans.
const MIN_TOMBSTONE_ROWS: usize = 100;
/// Maximum ratio of the rows in two families.
const FAMILY_ROWS_RATIO: usize = 100;
/// Cells of a row that trigger a finding.
const ROW_CELLS: usize = 10_000;
/// Bytes of a row that trigger a finding: five responses of a scan.
const ROW_BYTES: usize = 10 << 20;

pub(super) fn check(cells: &CellSample, subject: &LintInput<'_>, found: &mut Findings) {
    tombstones(cells, found);
    unequal(cells, subject, found);
    outlives(cells, subject, found);
    wide(cells, found);
    appended(cells, subject, found);
    hot(cells, found);
}

/// Q-TOMB.
fn tombstones(cells: &CellSample, found: &mut Findings) {
    let run = &cells.longest_tombstone_run;
    if run.rows < MIN_TOMBSTONE_ROWS {
        return;
    }
    let message = format!(
        "{} consecutive rows are deleted but still stored: a scan from {} reads all their markers \
         before it finds a row.",
        run.rows,
        to_string_binary(&run.key)
    );
    found
        .add("Q-TOMB", None, message)
        .evidence(format!("{} rows were read with what is deleted", cells.rows))
        .fix(
            "scans that begin after the consumed rows; a major compaction removes the existing \
             markers",
        );
}

/// F-CARD.
fn unequal(cells: &CellSample, subject: &LintInput<'_>, found: &mut Findings) {
    let Some(table) = subject.table else { return };
    let rows = |name: &[u8]| cells.families.get(name).map_or(0, |family| family.rows);
    let counted: Vec<_> = table
        .families()
        .map(|family| (rows(family.name()), String::from_utf8_lossy(family.name())))
        .collect();
    let (Some(most), Some(least)) = (counted.iter().max(), counted.iter().min()) else { return };
    if most.0 <= FAMILY_ROWS_RATIO * least.0.max(1) {
        return;
    }
    let message = format!(
        "Family {} has cells in {} of the rows that were read, family {} in {}. Requested flushes, \
         and those that the log waits for, write small files of {}, and regions are split where {} \
         is large; a scan of {} opens many files for few rows.",
        most.1, most.0, least.1, least.0, least.1, most.1, least.1
    );
    let fix = match least.0 {
        0 => format!(
            "{} left out as long as nothing is in it; later a table of its own with the same key",
            least.1
        ),
        _ => format!("{} in a table of its own with the same key", least.1),
    };
    found.add("F-CARD", None, message).evidence(format!("in {} rows", cells.rows)).fix(fix);
}

/// F-TTL.
fn outlives(cells: &CellSample, subject: &LintInput<'_>, found: &mut Findings) {
    let Some(table) = subject.table else { return };
    for family in table.families() {
        let of_cells = cells.families.get(family.name()).and_then(|seen| seen.ttl_ms);
        let (Some(cell_ms), Some(family_ms)) = (of_cells, family.ttl_ms()) else { continue };
        if cell_ms <= family_ms {
            continue;
        }
        let name = String::from_utf8_lossy(family.name());
        let message = format!(
            "Cells of family {name} were given {} s to live, and the family lets none live longer \
             than {} s.",
            cell_ms / 1000,
            family_ms / 1000
        );
        found
            .add("F-TTL", None, message)
            .fix(format!("{name}: TTL => {}, and shorter lives cell by cell", cell_ms / 1000));
    }
}

/// F-WIDE.
fn wide(cells: &CellSample, found: &mut Findings) {
    let row = &cells.widest;
    if row.cells < ROW_CELLS && row.bytes < ROW_BYTES {
        return;
    }
    let message = format!(
        "Row {} has {} cells of {} bytes or more: a get brings them all in one answer, and no \
         split parts a row.",
        to_string_binary(&row.key),
        row.cells,
        row.bytes
    );
    found.add("F-WIDE", None, message).evidence(format!("the widest of {} rows", cells.rows)).fix(
        "what the qualifiers count up as a field of the key: a row each, or a row for each bucket \
         of time",
    );
}

/// F-APPENDCNT.
fn appended(cells: &CellSample, subject: &LintInput<'_>, found: &mut Findings) {
    const FIX: &str = "Increment, which adds to the eight bytes of a number; what is there now has \
                       to be added up once";
    if let Some(seen) = &cells.appended {
        let lengths: Vec<_> = seen.lengths.iter().map(ToString::to_string).collect();
        let (says, worst) = match seen.by {
            AppendedAs::Numbers => ("Append is used to count", Severity::Error),
            AppendedAs::Text => ("if Append is used to count, it does not add", Severity::Note),
        };
        let message = format!(
            "The value of {} in row {} grows by what is appended to it: {says}.",
            seen.column,
            to_string_binary(&seen.key)
        );
        found
            .add("F-APPENDCNT", None, message)
            .evidence(format!(
                "versions of {} bytes, each the beginning of the next",
                lengths.join(", ")
            ))
            .fix(FIX)
            .cap_severity(worst);
        return;
    }
    for column in subject.columns {
        let is_number = column.ty.value_type().is_some_and(|ty| ty.integer_range().is_some());
        let of_column = cells.longs.iter().find(|((family, qualifier), _)| {
            family == column.family.as_bytes() && column.owns(qualifier)
        });
        let Some(((family, qualifier), length)) = of_column.filter(|_| is_number) else { continue };
        let message = format!(
            "Column {} is declared as a number, and holds {length} bytes: numbers were appended to \
             it.",
            column.name
        );
        found
            .add("F-APPENDCNT", None, message)
            .evidence(format!("in {}", format_column(family, qualifier)))
            .fix(FIX);
    }
}

/// F-HOTCTR.
fn hot(cells: &CellSample, found: &mut Findings) {
    let Some(counter) =
        cells.counter.as_ref().filter(|counter| counter.per_second > HOT_ROW_PER_SECOND)
    else {
        return;
    };
    let message = format!(
        "The number in {} of row {} is written {:.0} times each second, and one row takes its \
         writes one after the other.",
        counter.column,
        to_string_binary(&counter.key),
        counter.per_second
    );
    found.add("F-HOTCTR", None, message).evidence("by the times of its versions").fix(
        "as many rows as are needed, with a field shard U8 in the key that each writer draws; a \
         reader adds them up",
    );
}
