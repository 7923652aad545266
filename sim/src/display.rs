//! Compact, human-readable format of steps.

use std::fmt;

use halite_types::key::to_string_binary;
use halite_types::op::Mutation;
use halite_types::{CellRef, Condition, Durability, LATEST_TIMESTAMP, RowOp, Scan, Selection};

use crate::step::{BurstAction, Step};

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(op) => f.write_str(&format_op(op)),
            Self::WriteOnce(op, nonce) => write!(f, "{} as number {nonce}", format_op(op)),
            Self::Burst(acts, end) => write!(
                f,
                "at once: {}; then {end:?}",
                acts.iter().map(format_action).collect::<Vec<_>>().join(" | ")
            ),
            Self::Batch(ops) => {
                write!(f, "batch of {}", ops.iter().map(format_op).collect::<Vec<_>>().join("; "))
            }
            Self::Get(get) => {
                write!(f, "get {}{}", to_string_binary(get.row()), format_selection(&get.selection))
            }
            Self::Scan(scan) => f.write_str(&format_scan(scan)),
            Self::Load(put) => write!(f, "load {}", format_op(&put.clone().into())),
            Self::Split(row) => write!(f, "split at {}", to_string_binary(row)),
            Self::WriteClone(number, op) => write!(f, "clone {number}: {}", format_op(op)),
            Self::SplitClone(number, row) => {
                write!(f, "split clone {number} at {}", to_string_binary(row))
            }
            other => write!(f, "{other:?}"),
        }
    }
}

fn format_action(act: &BurstAction) -> String {
    match act {
        BurstAction::Submit(ops) => ops.iter().map(format_op).collect::<Vec<_>>().join("; "),
        BurstAction::SubmitOnce(op, nonce) => format!("{} as number {nonce}", format_op(op)),
        BurstAction::Get(get) => format!("get {}", to_string_binary(get.row())),
        BurstAction::Scan(scan) => format_scan(scan),
        other => format!("{other:?}"),
    }
}

/// Formats a durability that differs from the store's default.
fn format_durability(durability: Durability) -> &'static str {
    match durability {
        Durability::UseDefault => "",
        Durability::SkipWal => " skip",
        Durability::AsyncWal => " async",
        Durability::SyncWal => " sync",
        Durability::FsyncWal => " fsync",
    }
}

/// Formats a write on one line.
pub(crate) fn format_op(op: &RowOp) -> String {
    let row = to_string_binary(op.row());
    let cells = |mutation: &Mutation| {
        let cells = mutation.cells().iter().map(format_cell).collect::<Vec<_>>().join(" ");
        cells + format_durability(mutation.durability)
    };
    match op {
        RowOp::Put(put) => format!("put {row} {}", cells(put.mutation())),
        RowOp::Delete(delete) if delete.mutation().cells().is_empty() => {
            format!("delete {row} all{}", format_timestamp(delete.timestamp))
        }
        RowOp::Delete(delete) => format!("delete {row} {}", cells(delete.mutation())),
        RowOp::Increment(increment) => format!("increment {row} {}", cells(increment.mutation())),
        RowOp::Append(append) => format!("append {row} {}", cells(append.mutation())),
        RowOp::Mutate(all) => {
            format!("mutate [{}]", all.ops.iter().map(format_op).collect::<Vec<_>>().join("; "))
        }
        RowOp::CheckAndMutate(check) => match &check.condition {
            Condition::Column { family, qualifier, op, value } => {
                let value = value.as_ref().map_or_else(
                    || "no value".to_owned(),
                    |value| format!("{:?}", to_string_binary(value)),
                );
                format!(
                    "if {row} {}:{} {op:?} {value} then {}",
                    to_string_binary(family),
                    to_string_binary(qualifier),
                    format_op(&check.then)
                )
            }
            Condition::Filter(filter) => {
                format!("if {row} {filter:?} then {}", format_op(&check.then))
            }
        },
    }
}

fn format_timestamp(stamp: i64) -> String {
    if stamp == LATEST_TIMESTAMP { String::new() } else { format!("@{stamp}") }
}

fn format_cell(cell: CellRef<'_>) -> String {
    let column = format!(
        "{}:{}{}",
        to_string_binary(cell.family()),
        to_string_binary(cell.qualifier()),
        format_timestamp(cell.timestamp())
    );
    let ttl = cell.ttl_ms().map_or_else(String::new, |ttl| format!(" for {ttl} ms"));
    match cell.cell_type().filter(|kind| kind.is_delete()) {
        Some(kind) => format!("{column} {}", kind.name()),
        None => format!(
            "{column}={}{ttl}",
            to_string_binary(&cell.value()[..cell.value().len().min(12)])
        ),
    }
}

fn format_scan(scan: &Scan) -> String {
    let Scan {
        range,
        selection,
        reverse,
        raw,
        limit,
        batch,
        max_result_bytes,
        load_families_on_demand,
        meter: _,
    } = scan;
    let flags = [(*reverse, " reverse"), (*raw, " raw")]
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, name)| *name)
        .collect::<String>();
    let numbers = format!(
        "limit {limit:?} batch {batch:?} bytes {max_result_bytes} on demand \
         {load_families_on_demand:?}"
    );
    format!(
        "scan {:?}..{:?}{flags}, {numbers}{}",
        range.start,
        range.end,
        format_selection(selection)
    )
}

fn format_selection(selection: &Selection) -> String {
    let Selection {
        columns,
        time_range,
        family_time_ranges,
        max_versions,
        family_limit,
        family_offset,
        ..
    } = selection;
    let range = if time_range.is_all() {
        String::new()
    } else {
        format!(", times {}..{}", time_range.min(), time_range.max())
    };
    let ranges = if family_time_ranges.is_empty() {
        String::new()
    } else {
        format!(", times {family_time_ranges:?}")
    };
    let limit = family_limit
        .map_or_else(String::new, |limit| format!(", {limit} cells from {family_offset}"));
    format!(" {columns:?}, {max_versions} versions{range}{ranges}{limit}")
}
