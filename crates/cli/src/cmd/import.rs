//! `halite import`: takes tables out of a directory of HBase.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use halite::TableName;

use crate::backend::Backend;
use crate::import::{self, ImportSource, ImportedTable};
use crate::text_table::grouped;

/// Import tables from a directory of HBase, without a running HBase
///
/// Takes the tables of the root directory of a cleanly stopped HBase, the table of a snapshot in
/// it or exported from it, or bare store files. The tables are created with their families,
/// settings and regions. Store files are linked if they are on the file system of the store, and
/// copied otherwise; the directory of HBase is not changed. Each table is imported as a whole or
/// not at all.
#[derive(clap::Args)]
pub(crate) struct ImportArgs {
    /// Root directory of HBase (hbase.rootdir), directory of an exported snapshot, or, with
    /// --hfiles, a directory with one directory of store files per family
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Tables to import [default: all]; with --snapshot, the name of the new table [default: name
    /// of the snapshot's table]; with --hfiles, the table that the files are loaded into, which is
    /// created if it does not exist
    #[arg(value_name = "TABLE")]
    tables: Vec<TableName>,
    /// Import the table of this snapshot
    #[arg(long, value_name = "NAME", conflicts_with = "hfiles")]
    snapshot: Option<String>,
    /// Load bare store files
    #[arg(long)]
    hfiles: bool,
    /// Print what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not read and verify every byte of the store files
    #[arg(long)]
    no_verify: bool,
    /// Directory of the store, created if it does not exist
    #[arg(long, value_name = "DIR", default_value = "halite-data", env = "HALITE_DATA")]
    data: PathBuf,
}

impl ImportArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let directory = self
            .directory
            .canonicalize()
            .with_context(|| format!("the directory to import, {}", self.directory.display()))?;
        let sources = self.read(&directory)?;
        if self.dry_run {
            import::print_plan(&sources, &self.data)?;
            return Ok(ExitCode::SUCCESS);
        }
        let path = self.data.to_str().context("the store's path is not UTF-8")?;
        let backend = Backend::open(path)?;
        let imported = backend
            .store()
            .context("tables are imported into a store; give its directory with --data")
            .and_then(|store| import::import_all(store, &sources, !self.no_verify, print_imported));
        let closed = backend.close();
        imported?;
        closed.context("closing the store")?;
        Ok(ExitCode::SUCCESS)
    }

    /// Reads the sources that the arguments name.
    fn read(&self, directory: &std::path::Path) -> anyhow::Result<Vec<ImportSource>> {
        if let Some(snapshot) = &self.snapshot {
            let new_name = match &self.tables[..] {
                [] => None,
                [name] => Some(name.clone()),
                _ => bail!("a snapshot has one table; give at most one name for it"),
            };
            return Ok(vec![ImportSource::read_snapshot(directory, snapshot, new_name)?]);
        }
        if self.hfiles {
            let [table] = &self.tables[..] else {
                bail!("store files are loaded into one table; give its name after the directory");
            };
            return Ok(vec![ImportSource::read_bare_files(directory, table.clone())?]);
        }
        ImportSource::read_tables(directory, &self.tables)
    }
}

/// Prints a human-readable report of a table.
fn print_imported(table: &ImportedTable<'_>) -> anyhow::Result<()> {
    let report = &table.report;
    let left_out = match report.empty_files {
        0 => String::new(),
        files => format!(", {} without a cell left out", grouped(files)),
    };
    writeln!(
        std::io::stdout().lock(),
        "imported {}: {} regions, {} files linked, {} copied ({} bytes){left_out}, in {:.2} s",
        table.name,
        grouped(table.regions as u64),
        grouped(report.linked_files),
        grouped(report.copied_files),
        grouped(report.copied_bytes),
        table.seconds
    )?;
    Ok(())
}
