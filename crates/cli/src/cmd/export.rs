//! `halite export`: writes a table for HBase.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use halite::TableName;

use crate::backend::Backend;
use crate::export::{ExportJob, Exported};
use crate::open_files;
use crate::text_table::grouped;

/// Export a table as a snapshot for HBase
///
/// Takes a snapshot of the table and writes it as HBase's `ExportSnapshot` does. HBase restores or
/// clones it if the directory is its root directory, exports it further, and reads it with
/// `TableSnapshotInputFormat`. The store files are verified, and linked if the directory is on the file system of
/// the store, and copied otherwise. The snapshot appears when all of its files are there. To resume
/// an interrupted export, rerun the same command.
#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    /// Table to export
    #[arg(long, value_name = "TABLE", required = true)]
    hbase_snapshot: TableName,
    /// Directory to write to, created if it does not exist; it may be the root directory of HBase
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Name of the snapshot for HBase [default: name of the table, with - for :]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Copy all files: HBase then owns what it reads
    #[arg(long)]
    copy: bool,
    /// Do not read and verify every byte of the store files
    #[arg(long)]
    no_verify: bool,
    /// Print what would be exported, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Directory of the store
    #[arg(long, value_name = "DIR", default_value = "halite-data", env = "HALITE_DATA")]
    data: PathBuf,
}

impl ExportArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        // The store opens all files of its tables.
        let _ = open_files::raise_limit();
        let path = self.data.to_str().context("the store's path is not UTF-8")?;
        let backend = Backend::open_existing(path)?;
        let name = self.name.unwrap_or_else(|| self.hbase_snapshot.to_string().replace(':', "-"));
        let job = ExportJob {
            table: &self.hbase_snapshot,
            name: &name,
            to: &self.to,
            links: !self.copy,
            verifies: !self.no_verify,
        };
        let exported = backend
            .store()
            .context("tables of a store are exported; give its directory with --data")
            .and_then(|store| if self.dry_run { job.estimate(store) } else { job.run(store) });
        let closed = backend.close();
        let exported = exported?;
        closed.context("closing the store")?;
        print_report(&name, &self.to, &exported, self.dry_run)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints a human-readable report.
fn print_report(
    name: &str,
    to: &std::path::Path,
    exported: &Exported,
    is_estimate: bool,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let (to, regions) = (to.display(), grouped(exported.regions as u64));
    let sum =
        |files: u64, bytes: u64| format!("{} files ({} bytes)", grouped(files), grouped(bytes));
    let linked = sum(exported.linked_files, exported.linked_bytes);
    let copied = sum(exported.copied_files, exported.copied_bytes);
    if is_estimate {
        writeln!(
            out,
            "snapshot {name} in {to}: {regions} regions; {linked} to link, {copied} to copy, and \
             the cells in memory\nnothing has been changed"
        )?;
        return Ok(());
    }
    let resumed = match exported.known_files {
        0 => String::new(),
        files => format!(", {} were there", grouped(files)),
    };
    writeln!(
        out,
        "exported snapshot {name} to {to}: {regions} regions, {linked} linked, {copied} \
         copied{resumed}, in {:.2} s",
        exported.seconds
    )?;
    Ok(())
}
