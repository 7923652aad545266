//! `halite copy`: copies a table from one backend to another.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use halite::TableName;

use crate::backend::Backend;
use crate::copy::{CopyJob, CopyReport};
use crate::text_table::grouped;

/// Copy a table between stores and clusters, in any combination
///
/// Copies all versions and delete markers with their timestamps, one region of the source per
/// thread. If the target table does not exist, it is created with the schema and regions of the
/// source. To resume an interrupted copy, rerun the same command in the same directory. At the end
/// both sides are read and compared: rows, cells and a checksum. Concurrent writes to the source
/// may or may not be copied. The TTL of single cells is copied only from a store: HBase's protocol
/// does not transmit it.
#[derive(clap::Args)]
pub(crate) struct CopyArgs {
    /// Location of the table: the directory of a store, zk://HOST:PORT,...[/ZNODE],
    /// rpc://HOST:PORT,... or site:HBASE-SITE.XML
    #[arg(value_name = "SOURCE")]
    from: String,
    /// Table to copy
    table: TableName,
    /// Destination of the copy, in the same form; a store is created if the directory does not
    /// exist
    #[arg(value_name = "DESTINATION")]
    to: String,
    /// Name of the copy [default: name of the table]
    #[arg(long, value_name = "NAME")]
    new_name: Option<TableName>,
    /// Number of regions copied concurrently
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=256))]
    threads: u64,
    /// Progress file, deleted when the copy completes [default: halite-copy-TABLE.state]
    #[arg(long, value_name = "FILE")]
    state_file: Option<PathBuf>,
    /// Do not read and compare both sides at the end
    #[arg(long)]
    no_verify: bool,
}

impl CopyArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let source = Backend::open_existing(&self.from)?;
        let target = if self.from == self.to { source.clone() } else { Backend::open(&self.to)? };
        let copied = self.copy(&source, &target);
        let closed = target
            .close()
            .and_then(|()| if self.from == self.to { Ok(()) } else { source.close() });
        let copied = copied?;
        closed.context("closing the store")?;
        print_report(&copied)?;
        Ok(ExitCode::SUCCESS)
    }

    fn copy(&self, source: &Backend, target: &Backend) -> anyhow::Result<CopyReport> {
        let file_name = || {
            PathBuf::from(format!("halite-copy-{}.state", self.table.to_string().replace(':', ".")))
        };
        let state = self.state_file.clone().unwrap_or_else(file_name);
        let new_name = self.new_name.clone().unwrap_or_else(|| self.table.clone());
        let (from, to) = (self.from.as_str(), self.to.as_str());
        let threads = usize::try_from(self.threads)?;
        CopyJob {
            from,
            to,
            table: self.table.clone(),
            new_name,
            threads,
            state_path: &state,
            verify: !self.no_verify,
        }
        .run(source, target)
    }
}

/// Prints a human-readable report.
fn print_report(copied: &CopyReport) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if copied.resumed > 0 {
        writeln!(
            out,
            "went on where an earlier run stopped; {} regions had been begun or done",
            copied.resumed
        )?;
    }
    writeln!(
        out,
        "copied {} rows, {} cells in {:.2} s",
        grouped(copied.rows),
        grouped(copied.cells),
        copied.seconds
    )?;
    match copied.comparison {
        Some(both) => {
            let (rows, cells) = (grouped(both.rows), grouped(both.cells));
            writeln!(
                out,
                "both sides show {rows} rows, {cells} cells with the checksum {:08x}",
                both.checksum
            )?;
        }
        None => writeln!(out, "not compared")?,
    }
    Ok(())
}
