//! ClickBench's queries in the words of Halite and DataFusion, and in those of SQLite.
//!
//! Marks are what databases write differently, what makes an order total, and values that the
//! generated rows have. ClickBench's numbers for HAVING and OFFSET are those of 100 M hits, of
//! which counter 62 has 0.7 %. Here it has 3.8 %: offsets are those of ClickBench for 10 M hits,
//! and smaller in proportion for fewer.

use super::hits::{Hits, busiest_page_hash, busiest_user};
use super::texts::QUERIES;
use crate::marks::{Dialect, replaced};

/// First query that names the beginning of the key.
const FIRST_BY_KEY: usize = 36;
/// Hits for which ClickBench's offsets are used as they are.
const FULL_HITS: u64 = 10_000_000;
/// Share of a group that HAVING asks for, one in this many: that of ClickBench.
const HITS_OF_LARGE_GROUP: u64 = 1000;
/// July 1st 2013, in days since 1970.
const JULY: u32 = 15_887;

/// A query.
pub(super) struct Query {
    text: &'static str,
    /// Columns of the answer by which it is ordered.
    pub(super) ordered: &'static [usize],
}

/// How rows are ordered that the query leaves equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ties {
    /// In no order, as ClickBench writes the query.
    Open,
    /// By further columns, so that the answer is the only one.
    Ordered,
}

impl Query {
    /// Returns the text; `None` if the database lacks a function.
    pub(super) fn text(&self, dialect: Dialect, ties: Ties, hits: &Hits) -> Option<String> {
        let is_sqlite = dialect == Dialect::Sqlite;
        if is_sqlite && self.text.contains("{domain") {
            return None;
        }
        Some(replaced(self.text, |kind, of| match kind {
            "ties" if ties == Ties::Ordered => format!(", {of}"),
            "order" if ties == Ties::Ordered => format!("ORDER BY {of}"),
            "ties" | "order" => String::new(),
            "july" => {
                let (first, last) = (day("1", dialect), day("31", dialect));
                format!("CounterID = 62 AND EventDate >= {first} AND EventDate <= {last}")
            }
            "day" => day(of, dialect),
            // SQLite has milliseconds since 1970, and a LIKE that ignores case.
            "minute" if is_sqlite => format!("{of} / 60000 % 60"),
            "minute" => format!("extract(minute FROM {of})"),
            "truncated" if is_sqlite => format!("{of} / 60000 * 60000"),
            "truncated" => format!("date_trunc('minute', {of})"),
            "has" => {
                let (column, part) = of.split_once(' ').unwrap_or((of, ""));
                if is_sqlite {
                    format!("{column} GLOB '*{part}*'")
                } else {
                    format!("{column} LIKE '%{part}%'")
                }
            }
            "domain" => {
                format!(r"regexp_replace({of}, '^https?://(?:www\.)?([^/]+)/.*$', '\1')")
            }
            "large" => (hits.count / HITS_OF_LARGE_GROUP).to_string(),
            "offset" => {
                let offset: u64 = of.parse().unwrap_or(0);
                format!("OFFSET {}", offset * hits.count.min(FULL_HITS) / FULL_HITS)
            }
            "sums" => {
                let sum = |at: u32| format!("sum(ResolutionWidth + {at})");
                (1..90).map(sum).collect::<Vec<_>>().join(", ")
            }
            "user" => busiest_user().to_string(),
            _ => busiest_page_hash().to_string(),
        }))
    }

    pub(super) fn has_ties(&self) -> bool {
        self.text.contains("{ties") || self.text.contains("{order")
    }

    pub(super) fn has_offset(&self) -> bool {
        self.text.contains("{offset")
    }
}

fn day(of_july: &str, dialect: Dialect) -> String {
    let day: u32 = of_july.parse().unwrap_or(1);
    match dialect {
        Dialect::PostgreSql => format!("DATE '2013-07-{day:02}'"),
        Dialect::Sqlite => (JULY + day - 1).to_string(),
    }
}

/// Returns `true` if a query names the beginning of the key.
pub(super) fn is_by_key(number: usize) -> bool {
    number >= FIRST_BY_KEY
}

/// Returns all queries.
pub(super) fn queries() -> [Query; 43] {
    QUERIES.map(|(text, ordered)| Query { text, ordered })
}
