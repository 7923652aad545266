//! A statement that writes as EXPLAIN shows it.

use std::fmt::Write as _;
use std::time::Duration;

use crate::explain::{JSON_VERSION, Json, Members, Part, milliseconds, of_time};
use crate::session::tally::WriteCounts;

/// Explained statement.
pub(crate) struct ExplainedWrite {
    /// What it does, as `update`.
    pub(super) verb: &'static str,
    pub(super) table: String,
    /// Operation that each row becomes.
    pub(super) each: String,
    pub(super) atomic: Atomic,
    pub(super) rows: RowsFrom,
    /// Query that finds the rows, or their keys.
    pub(super) plan: Option<Part>,
    /// Runs of the query after the first one, for rows that changed meanwhile.
    pub(super) again: usize,
    pub(super) ran: Option<RanWrite>,
}

/// What is written as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atomic {
    Row,
    /// The row, and the condition on it.
    RowAndCondition,
    /// Neither: the row is under both keys for a while.
    Steps,
}

/// Where the rows come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowsFrom {
    Values(usize),
    /// A query; `true` if it is read to its end before the first row is written.
    Query(bool),
    /// Whole keys, which are not read.
    Keys(usize),
    /// The key of MOVE ROW.
    OneKey,
}

/// What a statement did.
pub(super) struct RanWrite {
    /// Tag, as `UPDATE 2`.
    pub(super) tag: String,
    pub(super) counts: WriteCounts,
    /// Rows that were written, and rows that regions examined to find them.
    pub(super) written: u64,
    pub(super) examined: u64,
    pub(super) elapsed: Duration,
}

impl Atomic {
    fn text(self) -> &'static str {
        match self {
            Self::Row => "each row; nothing across rows",
            Self::RowAndCondition => "each row with its condition; nothing across rows",
            Self::Steps => "the Put, then the Delete: the row is under both keys between them",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::RowAndCondition => "row_and_condition",
            Self::Steps => "steps",
        }
    }
}

impl RowsFrom {
    fn text(self) -> Option<String> {
        match self {
            Self::Values(rows) => Some(format!("{rows} of VALUES")),
            Self::Query(false) => Some("of a query".to_owned()),
            Self::Query(true) => Some("of a query that is read to its end first".to_owned()),
            Self::Keys(keys) => Some(format!("{keys} whole key(s), which are not read")),
            Self::OneKey => None,
        }
    }

    fn json(self) -> Members {
        let of = |name: &str| Members::default().with("of", name);
        match self {
            Self::Values(rows) => of("values").with("count", rows),
            Self::Query(is_kept) => of("query").with("read_first", is_kept),
            Self::Keys(keys) => of("keys").with("count", keys),
            Self::OneKey => of("keys").with("count", 1_usize),
        }
    }
}

impl ExplainedWrite {
    /// Returns the lines.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{} {}\n", self.verb, self.table);
        let _ = writeln!(text, "  each     {}", self.each);
        let _ = writeln!(text, "  atomic   {}", self.atomic.text());
        if let Some(rows) = self.rows.text() {
            let _ = writeln!(text, "  rows     {rows}");
        }
        if let Some(plan) = &self.plan {
            for line in plan.text(false).lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        if self.again > 0 {
            let again = self.again;
            let _ = writeln!(
                text,
                "  again    the query ran {again} more time(s), for rows that changed"
            );
        }
        if let Some(ran) = &self.ran {
            let _ = writeln!(text, "  wrote    {}", ran.line());
            let _ = writeln!(text, "{}, {}", ran.tag, milliseconds(of_time(ran.elapsed)));
        }
        text
    }

    /// Returns the object.
    pub(crate) fn json(&self) -> Json {
        Members::default()
            .with("version", JSON_VERSION)
            .with("statement", self.verb)
            .with("table", self.table.as_str())
            .with("each", self.each.as_str())
            .with("atomic", self.atomic.name())
            .with("rows", self.rows.json())
            .with_some("plan", self.plan.as_ref().map(|plan| plan.json(false)))
            .with_some("runs_again", (self.again > 0).then_some(self.again))
            .with_some("ran", self.ran.as_ref().map(RanWrite::json))
            .into()
    }
}

impl RanWrite {
    fn line(&self) -> String {
        let WriteCounts { puts, deletes, increments, conditions_failed, rows_read, batches } =
            self.counts;
        let read = if rows_read > 0 { format!(", {rows_read} read") } else { String::new() };
        format!(
            "{} rows: {puts} puts, {deletes} deletes, {increments} increments; \
             {conditions_failed} conditions failed; {} rows examined{read}; {batches} batches",
            self.written, self.examined
        )
    }

    fn json(&self) -> Members {
        let counts = self.counts;
        Members::default()
            .with("tag", self.tag.as_str())
            .with("rows", self.written)
            .with("puts", counts.puts)
            .with("deletes", counts.deletes)
            .with("increments", counts.increments)
            .with("conditions_failed", counts.conditions_failed)
            .with("rows_examined", self.examined)
            .with("rows_read", counts.rows_read)
            .with("batches", counts.batches)
            .with("ms", of_time(self.elapsed))
    }
}
