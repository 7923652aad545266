//! Copies a table from one place to another: stores and clusters in any combination, all versions and delete markers.
//!
//! `rows.rs` turns what is read into what is written, `state.rs` remembers how far a copy has come, `work.rs` runs over the
//! ranges on several threads, `verify.rs` compares both sides afterwards.

mod rows;
mod state;
mod verify;
mod work;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};
use halite::{TableDescriptor, TableName};

pub(crate) use verify::Compared;

use self::state::State;
use crate::place::{Place, PlaceTable};

/// What to copy, from where to where.
pub(crate) struct Job<'a> {
    /// What the places are called on the command line.
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) table: TableName,
    pub(crate) new_name: TableName,
    pub(crate) threads: usize,
    /// Where it is noted how far the copy has come.
    pub(crate) state: &'a Path,
    pub(crate) verify: bool,
}

/// What was done.
pub(crate) struct Copied {
    /// Rows and cells written by this run.
    pub(crate) rows: u64,
    pub(crate) cells: u64,
    pub(crate) seconds: f64,
    /// Ranges that an earlier run had begun or done.
    pub(crate) resumed: usize,
    /// The comparison, if it was asked for.
    pub(crate) compared: Option<Compared>,
}

impl Job<'_> {
    /// Copies, or goes on where an earlier run of the same copy stopped, and compares.
    ///
    /// # Errors
    /// A place's; a table there that lacks families; a difference.
    pub(crate) fn run(&self, source: &Place, target: &Place) -> anyhow::Result<Copied> {
        if self.from == self.to && self.table == self.new_name {
            bail!("{} would be copied onto itself; give it another name with --new-name", self.table);
        }
        let from = source.table(&self.table.to_string()).with_context(|| format!("{} at {}", self.table, self.from))?;
        let descriptor = from.descriptor().with_context(|| format!("{} at {}", self.table, self.from))?;
        let regions = from.regions().with_context(|| format!("the regions of {} at {}", self.table, self.from))?;
        let splits: Vec<&[u8]> = regions.iter().map(|region| &region.start[..]).filter(|start| !start.is_empty()).collect();
        let to = self.prepare(target, &descriptor, &splits).with_context(|| format!("{} at {}", self.new_name, self.to))?;
        let title = format!("{} at {} to {} at {}", self.table, self.from, self.new_name, self.to);
        let keys: Vec<_> = regions.iter().map(|region| (region.start.clone(), region.end.clone())).collect();
        let state = State::open(self.state, &title, &keys)?;
        let resumed = state.begun();
        let began = Instant::now();
        let (rows, cells) = work::copy(&from, &to, &state, self.threads)?;
        let seconds = began.elapsed().as_secs_f64();
        let compared = self.verify.then(|| verify::compare(&from, &to, state.ranges(), self.threads)).transpose()?;
        state.remove()?;
        Ok(Copied { rows, cells, seconds, resumed, compared })
    }

    /// The table to write to; it is made like the other if it is not there.
    fn prepare(&self, target: &Place, descriptor: &TableDescriptor, splits: &[&[u8]]) -> anyhow::Result<PlaceTable> {
        if !target.has_table(&self.new_name)? {
            target.create_table(descriptor.clone().renamed(self.new_name.clone()), splits)?;
        }
        let table = target.table(&self.new_name.to_string())?;
        let there = table.descriptor()?;
        let missing = descriptor.families().find(|family| there.find_family(family.name()).is_none());
        if let Some(family) = missing {
            let name = halite::print_bytes(family.name());
            bail!("it is there already and has no family {name}; add it with \"alter '{}', '{name}'\", or copy to another name", self.new_name);
        }
        Ok(table)
    }
}
