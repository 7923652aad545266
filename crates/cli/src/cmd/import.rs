//! `halite import`: takes tables out of a directory of HBase.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use halite::TableName;

use crate::backend::Backend;
use crate::import::{self, HbaseRoot, ImportSource, ImportedTable, Remark};
use crate::open_files;
use crate::store_place;
use crate::text_table::grouped;

/// Import tables from a directory of HBase, without a running HBase
///
/// Takes the tables of the root directory of a stopped or killed HBase, the table of a snapshot in
/// it or exported from it, or bare store files. The tables are created with their families,
/// settings and regions. Cells that a killed HBase had only in its logs are recovered from them.
/// Store files are linked if they are on the file system of the store, and copied otherwise; the
/// directory of HBase is not changed. Each table is imported as a whole or not at all.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
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
    /// Directory with the directory WALs, if hbase.wal.dir is not DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["hfiles", "snapshot"])]
    wal_dir: Option<PathBuf>,
    /// Take the store files only: cells that HBase had in its logs only are left out
    #[arg(long, conflicts_with_all = ["hfiles", "snapshot", "wal_dir"])]
    ignore_logs: bool,
    /// Leave out tables that exist already in the store
    #[arg(long, conflicts_with = "hfiles")]
    skip_existing: bool,
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
    pub(crate) fn run(mut self) -> anyhow::Result<ExitCode> {
        let directory = self
            .directory
            .canonicalize()
            .with_context(|| format!("the directory to import, {}", self.directory.display()))?;
        if let Some(wal_dir) = &mut self.wal_dir {
            // The logs of a directory that has two paths are not to be read twice.
            *wal_dir = wal_dir
                .canonicalize()
                .with_context(|| format!("the directory of --wal-dir, {}", wal_dir.display()))?;
        }
        for from in [Some(&directory), self.wal_dir.as_ref()].into_iter().flatten() {
            if !(self.hfiles && self.is_staged(from)) {
                store_place::check_is_outside(from, "copy its tables with `halite copy`")?;
            }
        }
        // Of the directory of the logs, only what HBase has there.
        let logs = self.wal_dir.iter().flat_map(|of| [of.join("WALs"), of.join("oldWALs")]);
        let data = store_place::real_path(&self.data)?;
        if let Some(from) =
            std::iter::once(directory.clone()).chain(logs).find(|it| data.starts_with(it))
        {
            bail!(
                "the store, {}, is inside {}, which an import does not change; give another \
                 directory with --data",
                self.data.display(),
                from.display()
            );
        }
        let note = |remark: Remark| drop(writeln!(std::io::stderr().lock(), "{remark}"));
        let (root, mut sources) = self.read(&directory, note)?;
        // Every imported file is open until its table exists; a dry run needs as many.
        if let Err(error) = open_files::raise_limit() {
            note(Remark::Note(format!("the limit of open files stays as it is: {error}")));
        }
        if self.dry_run {
            self.check(root.as_ref(), &directory, &mut sources, note)?;
            import::print_plan(&sources, &self.data)?.into_iter().for_each(note);
            return Ok(ExitCode::SUCCESS);
        }
        let path = self.data.to_str().context("the store's path is not UTF-8")?;
        let new_store = store_place::NewStore::plan(&self.data)?;
        let backend = Backend::open(path)?;
        let imported = backend
            .store()
            .context("tables are imported into a store; give its directory with --data")
            .and_then(|store| {
                if self.skip_existing {
                    import::skip_existing(store, &mut sources, note)?;
                }
                import::check_new(store, &sources)?;
                // On the disk of the store, so that its files need no copy.
                let recovered = import::recovery_directory(&self.data)?;
                if let Some(root) = &root {
                    import::recover(root, &mut sources, Some(recovered.path()), note)?;
                }
                let marks = import::file_marks(&sources, note)?;
                let into = Some(recovered.path());
                import::inline_mob(&directory, &mut sources, &marks, into, note)?;
                let check = || root.as_ref().map_or(Ok(()), HbaseRoot::check_is_still);
                import::import_all(store, &sources, !self.no_verify, check, print_imported)
            });
        let is_empty = imported.is_err()
            && backend.store().is_some_and(|store| {
                let engine = store.engine();
                engine.open_report().created
                    && engine.snapshots().is_empty()
                    && store.list_tables().is_ok_and(|tables| tables.is_empty())
            });
        let closed = backend.close();
        if let Some(store) = new_store.filter(|_| is_empty && closed.is_ok())
            && let Err(error) = store.remove()
        {
            note(Remark::Note(format!("an empty store stays in {path}: {error}")));
        }
        imported?;
        closed.context("closing the store")?;
        Ok(ExitCode::SUCCESS)
    }

    /// Returns whether a directory is inside `staging` of the store, where programs write files that
    /// it is to load.
    fn is_staged(&self, directory: &Path) -> bool {
        let staging = self.data.join(store_place::STAGING).canonicalize();
        staging.is_ok_and(|staging| directory != staging && directory.starts_with(staging))
    }

    /// Makes the checks of an import. A store that does not exist yet is replaced by an empty one.
    /// A directory with anything else is refused when it is opened, without a change.
    fn check(
        &self,
        root: Option<&HbaseRoot>,
        directory: &Path,
        sources: &mut Vec<ImportSource>,
        note: impl Fn(Remark),
    ) -> anyhow::Result<()> {
        let empty = tempfile::tempdir().context("making a temporary directory")?;
        let is_free = store_place::NewStore::plan(&self.data)?.is_some();
        let path = if is_free { empty.path() } else { &self.data };
        let backend = Backend::open(path.to_str().context("the store's path is not UTF-8")?)?;
        let checked = backend.store().context("no store").and_then(|store| {
            if self.skip_existing {
                import::skip_existing(store, sources, &note)?;
            }
            if let Some(root) = root {
                import::recover(root, sources, None, &note)?;
            }
            let marks = import::file_marks(sources, &note)?;
            import::inline_mob(directory, sources, &marks, None, &note)?;
            import::check_all(store, sources)
        });
        let closed = backend.close();
        checked?;
        closed.context("closing the store")
    }

    /// Reads the sources that the arguments name, and the root directory that they are in.
    fn read(
        &self,
        directory: &Path,
        mut note: impl FnMut(Remark),
    ) -> anyhow::Result<(Option<HbaseRoot>, Vec<ImportSource>)> {
        if let Some(snapshot) = &self.snapshot {
            let new_name = match &self.tables[..] {
                [] => None,
                [name] => Some(name.clone()),
                _ => bail!("a snapshot has one table; give at most one name for it"),
            };
            let source = ImportSource::read_snapshot(directory, snapshot, new_name)?;
            return Ok((None, vec![source]));
        }
        if self.hfiles {
            let [table] = &self.tables[..] else {
                bail!("store files are loaded into one table; give its name after the directory");
            };
            let source = ImportSource::read_bare_files(directory, table.clone())?;
            return Ok((None, vec![source]));
        }
        let wal_root = self.wal_dir.as_deref().unwrap_or(directory);
        let wal_root = (!self.ignore_logs).then_some(wal_root);
        let (root, sources) = HbaseRoot::read(directory, wal_root, &self.tables, &mut note)?;
        Ok((Some(root), sources))
    }
}

/// Prints a human-readable report of a table.
fn print_imported(table: &ImportedTable<'_>) -> anyhow::Result<()> {
    let report = &table.report;
    let left_out = match report.empty_files {
        0 => String::new(),
        files => format!(", {} without a cell left out", grouped(files)),
    };
    let recovered = match table.recovered.entries {
        0 => String::new(),
        entries => format!(", {} entries recovered from logs", grouped(entries)),
    };
    writeln!(
        std::io::stdout().lock(),
        "imported {}: {} regions, {} files linked, {} copied ({} bytes){left_out}{recovered}, in \
         {:.2} s",
        table.name,
        grouped(table.regions as u64),
        grouped(report.linked_files),
        grouped(report.copied_files),
        grouped(report.copied_bytes),
        table.seconds
    )?;
    Ok(())
}
