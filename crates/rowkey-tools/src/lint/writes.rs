//! Rules about declared writes: counters in one row, appends used as additions, queues, and times
//! to live of cells.

use halite_rowkey::internals::Growth;
use halite_rowkey::language::{Action, ColumnType};
use halite_rowkey::schema::{KeySchema, Order};
use halite_types::TableDescriptor;

use super::finding::Findings;
use super::input::{ConditionShape, HOT_ROW_PER_SECOND, LintInput, QueryShape};
use super::planned_query::first_open;
use super::rules::Severity;

pub(super) fn check(subject: &LintInput<'_>, found: &mut Findings) {
    for query in subject.queries {
        match query.action {
            Action::Increment => hot_row(query, found),
            Action::Append => appended(query, subject, found),
            Action::Put { ttl_ms: Some(ms) } => {
                subject.table.into_iter().for_each(|table| outlives(query, ms, table, found));
            }
            Action::Read => {
                subject.key.into_iter().for_each(|key| queue(key, query, subject, found));
            }
            _ => {}
        }
    }
}

/// F-HOTCTR.
fn hot_row(query: &QueryShape, found: &mut Findings) {
    let Some(rate) = query.rate.filter(|&rate| rate > HOT_ROW_PER_SECOND) else { return };
    let shards = (rate / HOT_ROW_PER_SECOND).ceil();
    let message = format!(
        "Query {} adds to one row {rate} times each second. Increments of one row wait for each \
         other, each for the log, and no split parts a row.",
        query.name
    );
    found
        .add("F-HOTCTR", None, message)
        .evidence(format!(
            "about {HOT_ROW_PER_SECOND} increments of one row each second are safe to count on"
        ))
        .fix(format!(
            "{shards} rows instead of one, with a field shard U8 in the key that each writer \
             draws; a reader adds them up"
        ));
}

/// F-APPENDCNT, from the declaration.
fn appended(query: &QueryShape, subject: &LintInput<'_>, found: &mut Findings) {
    let is_number =
        |ty: &ColumnType| ty.value_type().is_some_and(|ty| ty.integer_range().is_some());
    if let Some(column) = subject.columns.iter().find(|column| is_number(&column.ty)) {
        let message = format!(
            "Query {} appends, and column {} is a number: Append adds bytes to the end of the \
             existing ones, and 1 with 1 becomes 11.",
            query.name, column.name
        );
        found
            .add("F-APPENDCNT", None, message)
            .fix("INCREMENT, which adds to the eight bytes of a number");
    }
}

/// F-TTL, from the declaration.
fn outlives(query: &QueryShape, cell_ms: u64, table: &TableDescriptor, found: &mut Findings) {
    for family in table.families() {
        let Some(family_ms) =
            family.ttl_ms().and_then(|ms| u64::try_from(ms).ok()).filter(|&ms| cell_ms > ms)
        else {
            continue;
        };
        let name = String::from_utf8_lossy(family.name());
        let message = format!(
            "Query {} writes cells that are to live {} s, and family {name} lets none live longer \
             than {} s: the shorter one holds.",
            query.name,
            cell_ms / 1000,
            family_ms / 1000
        );
        found.add("F-TTL", None, message).fix(format!(
            "{name}: TTL => {}, and shorter lives cell by cell; or a family of its own",
            cell_ms / 1000
        ));
        return;
    }
}

/// Q-TOMB, from the declaration: rows are deleted at the start of the next read.
fn queue(key: &KeySchema, query: &QueryShape, subject: &LintInput<'_>, found: &mut Findings) {
    let Some((field, in_key)) = first_open(key, query) else { return };
    let wanted =
        query.order.iter().find(|(of, _)| *of == field).map_or(in_key, |(_, order)| *order);
    let is_bounded =
        query.conditions.iter().any(|&(of, asks)| of == field && asks != ConditionShape::Prefix);
    if query.limit.is_none()
        || is_bounded
        || wanted == Order::Desc
        || Growth::of_field(&key.fields()[field]).is_none()
    {
        return;
    }
    let deletes = subject.queries.iter().find(|other| other.action == Action::Delete);
    let lives =
        subject.table.is_some_and(|table| table.families().any(|family| family.ttl_ms().is_some()));
    let name = &key.fields()[field].name;
    let (why, severity) = match deletes {
        Some(delete) => (format!("query {} deletes rows there", delete.name), Severity::Warning),
        None if lives => ("rows expire there".to_owned(), Severity::Note),
        None => return,
    };
    let message = format!(
        "Query {} reads the oldest {name} first, and {why}: until a major compaction each reading \
         goes through all that is gone before it finds a row.",
        query.name
    );
    found.add("Q-TOMB", key.carrier(field), message).cap_severity(severity).fix(format!(
        "{name} IN RANGE, from the last row that was read; or a bucket of {name} at the start, \
         which a reader finishes with"
    ));
}
