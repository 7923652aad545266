//! `halite copy`: a table from one place to another.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use halite::TableName;

use crate::copy::{Copied, Job};
use crate::place::Place;
use crate::text_table::grouped;

/// Copy a table between stores and clusters, in any combination
///
/// All versions and delete markers are copied, with their timestamps, one region of the source per thread. The table is made like the
/// source's, with its regions, if it is not there. A copy that was interrupted goes on where it stopped when the same command is given again
/// in the same directory. At the end both sides are read and compared: the rows, the cells, a checksum. Writes to the source meanwhile may
/// or may not be copied. Times to live of single cells come along only from a store: HBase's protocol does not show them.
#[derive(clap::Args)]
pub(crate) struct Copy {
    /// Where the table is: the directory of a store, zk://HOST:PORT[,HOST:PORT...][/ZNODE], rpc://HOST:PORT[,HOST:PORT...] or site:HBASE-SITE.XML
    #[arg(value_name = "SOURCE")]
    from: String,
    /// The table
    table: TableName,
    /// Where the copy goes; a store is created if the directory does not exist
    #[arg(value_name = "DESTINATION")]
    to: String,
    /// Name of the copy, if it is to be another
    #[arg(long, value_name = "NAME")]
    new_name: Option<TableName>,
    /// Regions that are copied at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=256))]
    threads: u64,
    /// Progress file, deleted when the copy completes [default: halite-copy-TABLE.state]
    #[arg(long, value_name = "FILE")]
    state_file: Option<PathBuf>,
    /// Do not read both sides again to compare them
    #[arg(long)]
    no_verify: bool,
}

impl Copy {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let source = Place::existing(&self.from)?;
        let target = if self.from == self.to { source.clone() } else { Place::named(&self.to)? };
        let copied = self.copy(&source, &target);
        let closed = target.close().and_then(|()| if self.from == self.to { Ok(()) } else { source.close() });
        let copied = copied?;
        closed.context("closing the store")?;
        tell(&copied)?;
        Ok(ExitCode::SUCCESS)
    }

    fn copy(&self, source: &Place, target: &Place) -> anyhow::Result<Copied> {
        let file_name = || PathBuf::from(format!("halite-copy-{}.state", self.table.to_string().replace(':', ".")));
        let state = self.state_file.clone().unwrap_or_else(file_name);
        let new_name = self.new_name.clone().unwrap_or_else(|| self.table.clone());
        let (from, to) = (self.from.as_str(), self.to.as_str());
        let threads = usize::try_from(self.threads)?;
        Job { from, to, table: self.table.clone(), new_name, threads, state: &state, verify: !self.no_verify }.run(source, target)
    }
}

/// What was done, for people.
fn tell(copied: &Copied) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if copied.resumed > 0 {
        writeln!(out, "went on where an earlier run stopped; {} regions had been begun or done", copied.resumed)?;
    }
    writeln!(out, "copied {} rows, {} cells in {:.2} s", grouped(copied.rows), grouped(copied.cells), copied.seconds)?;
    match copied.compared {
        Some(both) => {
            let (rows, cells) = (grouped(both.rows), grouped(both.cells));
            writeln!(out, "both sides show {rows} rows, {cells} cells with the checksum {:08x}", both.checksum)?;
        }
        None => writeln!(out, "not compared")?,
    }
    Ok(())
}
