//! Steps as a person reads them: short enough to see what met what.

use std::fmt;

use halite_types::key::print_bytes;
use halite_types::op::Mutation;
use halite_types::{CellRef, Condition, Durability, LATEST_TIMESTAMP, RowOp, Scan, Selection};

use crate::burst::Act;
use crate::generate::Step;

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(op) => f.write_str(&show_op(op)),
            Self::WriteOnce(op, nonce) => write!(f, "{} as number {nonce}", show_op(op)),
            Self::Burst(acts, end) => write!(f, "at once: {}; then {end:?}", acts.iter().map(show_act).collect::<Vec<_>>().join(" | ")),
            Self::Batch(ops) => write!(f, "batch of {}", ops.iter().map(show_op).collect::<Vec<_>>().join("; ")),
            Self::Get(get) => write!(f, "get {}{}", print_bytes(get.row()), show_selection(&get.selection)),
            Self::Scan(scan) => f.write_str(&show_scan(scan)),
            Self::Load(put) => write!(f, "load {}", show_op(&put.clone().into())),
            Self::Split(row) => write!(f, "split at {}", print_bytes(row)),
            Self::WriteClone(number, op) => write!(f, "clone {number}: {}", show_op(op)),
            Self::SplitClone(number, row) => write!(f, "split clone {number} at {}", print_bytes(row)),
            other => write!(f, "{other:?}"),
        }
    }
}

fn show_act(act: &Act) -> String {
    match act {
        Act::Submit(ops) => ops.iter().map(show_op).collect::<Vec<_>>().join("; "),
        Act::SubmitOnce(op, nonce) => format!("{} as number {nonce}", show_op(op)),
        Act::Get(get) => format!("get {}", print_bytes(get.row())),
        Act::Scan(scan) => show_scan(scan),
        other => format!("{other:?}"),
    }
}

/// How much is promised, where it is not what the store promises.
fn show_mode(durability: Durability) -> &'static str {
    match durability {
        Durability::UseDefault => "",
        Durability::SkipWal => " skip",
        Durability::AsyncWal => " async",
        Durability::SyncWal => " sync",
        Durability::FsyncWal => " fsync",
    }
}

/// A write on one line.
pub(crate) fn show_op(op: &RowOp) -> String {
    let row = print_bytes(op.row());
    let cells = |mutation: &Mutation| {
        let cells = mutation.cells().iter().map(show_cell).collect::<Vec<_>>().join(" ");
        cells + show_mode(mutation.durability)
    };
    match op {
        RowOp::Put(put) => format!("put {row} {}", cells(put.mutation())),
        RowOp::Delete(delete) if delete.mutation().cells().is_empty() => format!("delete {row} all{}", show_stamp(delete.timestamp)),
        RowOp::Delete(delete) => format!("delete {row} {}", cells(delete.mutation())),
        RowOp::Increment(increment) => format!("increment {row} {}", cells(increment.mutation())),
        RowOp::Append(append) => format!("append {row} {}", cells(append.mutation())),
        RowOp::Mutate(all) => format!("mutate [{}]", all.ops.iter().map(show_op).collect::<Vec<_>>().join("; ")),
        RowOp::CheckAndMutate(check) => match &check.condition {
            Condition::Column { family, qualifier, op, value } => {
                let value = value.as_ref().map_or_else(|| "no value".to_owned(), |value| format!("{:?}", print_bytes(value)));
                format!("if {row} {}:{} {op:?} {value} then {}", print_bytes(family), print_bytes(qualifier), show_op(&check.then))
            }
            Condition::Filter(filter) => format!("if {row} {filter:?} then {}", show_op(&check.then)),
        },
    }
}

fn show_stamp(stamp: i64) -> String {
    if stamp == LATEST_TIMESTAMP { String::new() } else { format!("@{stamp}") }
}

fn show_cell(cell: CellRef<'_>) -> String {
    let column = format!("{}:{}{}", print_bytes(cell.family()), print_bytes(cell.qualifier()), show_stamp(cell.timestamp()));
    let ttl = cell.ttl_ms().map_or_else(String::new, |ttl| format!(" for {ttl} ms"));
    match cell.cell_type().filter(|kind| kind.is_delete()) {
        Some(kind) => format!("{column} {}", kind.name()),
        None => format!("{column}={}{ttl}", print_bytes(&cell.value()[..cell.value().len().min(12)])),
    }
}

fn show_scan(scan: &Scan) -> String {
    let Scan { range, selection, reverse, raw, limit, batch, max_result_bytes } = scan;
    let flags = [(*reverse, " reverse"), (*raw, " raw")].iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect::<String>();
    let numbers = format!("limit {limit:?} batch {batch:?} bytes {max_result_bytes}");
    format!("scan {:?}..{:?}{flags}, {numbers}{}", range.start, range.end, show_selection(selection))
}

fn show_selection(selection: &Selection) -> String {
    let Selection { columns, time_range, family_time_ranges, max_versions, family_limit, family_offset, .. } = selection;
    let range = if time_range.is_all() { String::new() } else { format!(", times {}..{}", time_range.min(), time_range.max()) };
    let ranges = if family_time_ranges.is_empty() { String::new() } else { format!(", times {family_time_ranges:?}") };
    let limit = family_limit.map_or_else(String::new, |limit| format!(", {limit} cells from {family_offset}"));
    format!(" {columns:?}, {max_versions} versions{range}{ranges}{limit}")
}
