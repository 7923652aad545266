//! Table copy between stores and clusters, in any combination, with all versions and delete
//! markers.
//!
//! `rows.rs` converts scanned rows to write operations, `state.rs` stores the progress of a copy,
//! `copier.rs` runs over the ranges on several threads, `verify.rs` compares both sides afterwards.

mod copier;
mod rows;
mod state;
mod verify;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};
use halite::{BlockingTable, TableDescriptor, TableName};

pub(crate) use verify::ComparisonResult;

use self::state::CopyState;
use crate::backend::Backend;

/// Source, destination and settings of a copy.
pub(crate) struct CopyJob<'a> {
    /// Names of the backends on the command line.
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) table: TableName,
    pub(crate) new_name: TableName,
    pub(crate) threads: usize,
    /// File that stores the progress of the copy.
    pub(crate) state_path: &'a Path,
    pub(crate) verify: bool,
}

/// Report of a copy.
pub(crate) struct CopyReport {
    /// Rows written by this run.
    pub(crate) rows: u64,
    pub(crate) cells: u64,
    pub(crate) seconds: f64,
    /// Ranges that an earlier run started or finished.
    pub(crate) resumed: usize,
    /// Result of the comparison, if it was requested.
    pub(crate) comparison: Option<ComparisonResult>,
}

impl CopyJob<'_> {
    /// Starts a copy, or resumes an earlier run of the same copy, and compares both sides.
    ///
    /// # Errors
    /// Returns an error of either backend, an error if the existing target table lacks families, or
    /// the first difference.
    pub(crate) fn run(&self, source: &Backend, target: &Backend) -> anyhow::Result<CopyReport> {
        if self.from == self.to && self.table == self.new_name {
            bail!(
                "{} would be copied onto itself; give it another name with --new-name",
                self.table
            );
        }
        let from = source
            .table(&self.table.to_string())
            .with_context(|| format!("{} at {}", self.table, self.from))?;
        let descriptor =
            from.descriptor().with_context(|| format!("{} at {}", self.table, self.from))?;
        let regions = from
            .regions()
            .with_context(|| format!("the regions of {} at {}", self.table, self.from))?;
        let splits: Vec<&[u8]> = regions
            .iter()
            .map(|region| &region.start[..])
            .filter(|start| !start.is_empty())
            .collect();
        let to = self
            .prepare(target, &descriptor, &splits)
            .with_context(|| format!("{} at {}", self.new_name, self.to))?;
        let title = format!("{} at {} to {} at {}", self.table, self.from, self.new_name, self.to);
        let keys: Vec<_> =
            regions.iter().map(|region| (region.start.clone(), region.end.clone())).collect();
        let state = CopyState::open(self.state_path, &title, &keys)?;
        let resumed = state.count_started();
        let began = Instant::now();
        let (rows, cells) = copier::copy(&from, &to, &state, self.threads)?;
        let seconds = began.elapsed().as_secs_f64();
        let compared = self
            .verify
            .then(|| verify::compare(&from, &to, state.ranges(), self.threads))
            .transpose()?;
        state.remove()?;
        Ok(CopyReport { rows, cells, seconds, resumed, comparison: compared })
    }

    /// Returns the target table. If it does not exist, it is created like the source table.
    fn prepare(
        &self,
        target: &Backend,
        descriptor: &TableDescriptor,
        splits: &[&[u8]],
    ) -> anyhow::Result<BlockingTable> {
        if !target.table_exists(&self.new_name)? {
            target.create_table(descriptor.clone().renamed(self.new_name.clone()), splits)?;
        }
        let table = target.table(&self.new_name)?;
        let there = table.descriptor()?;
        let missing =
            descriptor.families().find(|family| there.find_family(family.name()).is_none());
        if let Some(family) = missing {
            let name = halite::to_string_binary(family.name());
            bail!(
                "it is there already and has no family {name}; add it with \"alter '{}', \
                 '{name}'\", or copy to another name",
                self.new_name
            );
        }
        Ok(table)
    }
}
