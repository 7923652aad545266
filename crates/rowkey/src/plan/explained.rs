//! Parts of the text of a plan.

use std::fmt;

use crate::schema::KeySchema;

/// Plan as [`Plan::explain`](super::Plan::explain) prints it, in its parts.
#[derive(Clone, Debug)]
pub struct ExplainedPlan {
    /// Number of whole keys, if they are all that is read.
    pub gets: Option<usize>,
    /// Number of ranges of keys; 0 if no key meets all conditions.
    pub ranges: usize,
    /// Number of salts and hashes that are read.
    pub fan_out: usize,
    /// Regions that are read, and regions of the table, where they are known.
    pub regions: Option<(usize, usize)>,
    /// Order of the rows; empty if they come in the order of a hash.
    pub order: Vec<String>,
    /// `true` if the rows of several salts are merged.
    pub is_merged: bool,
    /// Conditions on fields that are checked in each row.
    pub checks: String,
    /// Rows after which the read ends.
    pub limit: Option<usize>,
    /// `true` if each range is read up to the limit only.
    pub is_limit_of_ranges: bool,
    /// Notes of the planner, as `Q-FULL: ..`.
    pub notes: Vec<String>,
    /// Key that would narrow the query, where the whole table is read.
    pub serves: Option<KeySchema>,
    /// The first ranges of each of the first queries.
    pub shown: Vec<ExplainedRanges>,
    /// Queries that are not among them.
    pub more_queries: usize,
    /// What is read, where ranges of several queries touch.
    pub joined: Option<ExplainedJoin>,
}

/// Ranges of several queries after those that touch were joined.
#[derive(Clone, Debug)]
pub struct ExplainedJoin {
    /// Number of the ranges.
    pub ranges: usize,
    /// The keys of the first ones.
    pub keys: Vec<String>,
}

/// The first ranges of one query of a plan.
#[derive(Clone, Debug, Default)]
pub struct ExplainedRanges {
    /// Which query of how many; `None` for the only one.
    pub of: Option<(usize, usize)>,
    /// The conditions of a range, and its keys.
    pub ranges: Vec<(String, String)>,
    /// Ranges that are not among them.
    pub more: usize,
}

impl fmt::Display for ExplainedPlan {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ranges == 0 {
            writeln!(out, "reads    nothing: no key meets all of these conditions")?;
        } else {
            self.write_head(out)?;
        }
        self.shown.iter().try_for_each(|ranges| ranges.fmt(out))?;
        if self.more_queries > 0 {
            writeln!(out, "  and {} more", self.more_queries)?;
        }
        let Some(joined) = &self.joined else { return Ok(()) };
        writeln!(out, "  joined to {}", joined.ranges)?;
        joined.keys.iter().try_for_each(|keys| writeln!(out, "    {keys}"))
    }
}

impl ExplainedPlan {
    fn write_head(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gets {
            Some(gets) => writeln!(out, "gets     {gets}")?,
            None => writeln!(out, "ranges   {}", self.ranges)?,
        }
        writeln!(out, "fan-out  {}", self.fan_out)?;
        if let Some((read, all)) = self.regions {
            writeln!(out, "regions  {read} of {all}")?;
        }
        let how = if self.is_merged { " (merged)" } else { "" };
        match self.order.as_slice() {
            [] => writeln!(out, "order    none: rows come in the order of a hash")?,
            terms => writeln!(out, "order    {}{how}", terms.join(", "))?,
        }
        writeln!(out, "check    {}", self.checks)?;
        if let Some(limit) = self.limit {
            let of = if self.is_limit_of_ranges { ", in each range" } else { "" };
            writeln!(out, "limit    {limit}{of}")?;
        }
        for note in &self.notes {
            writeln!(out, "note     {note}")?;
        }
        match &self.serves {
            Some(key) => writeln!(out, "serves   {key}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ExplainedRanges {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((at, all)) = self.of {
            writeln!(out, "  query {at} of {all}")?;
        }
        for (conditions, keys) in &self.ranges {
            writeln!(out, "  {conditions}")?;
            writeln!(out, "    {keys}")?;
        }
        match self.more {
            0 => Ok(()),
            more => writeln!(out, "  and {more} more"),
        }
    }
}
