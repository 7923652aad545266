//! Import of tables from a directory of HBase into a store.
//!
//! `source.rs` and `root.rs` read what is to be imported, `compacted.rs` leaves out replaced files,
//! `recovery.rs` reads the cells in logs of a killed HBase, `mob.rs` values outside the store files,
//! and `plan.rs` prints it. Here the tables are created.

mod compacted;
mod file_marks;
mod log_codec;
mod meta_rows;
mod mob;
mod plan;
mod progress;
mod recovery;
mod remark;
mod root;
mod source;
mod spill;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use halite::{Attributes, ErrorKind, Store, TableName};
use halite_engine::ImportReport;
use indicatif::ProgressBar;

pub(crate) use file_marks::file_marks;
pub(crate) use mob::inline_mob;
pub(crate) use plan::print_plan;
use progress::progress;
pub(crate) use recovery::recover;
pub(crate) use remark::Remark;
pub(crate) use root::HbaseRoot;
pub(crate) use source::{ImportSource, Recovered};

use crate::store_place;

/// Result of importing a table.
pub(crate) struct ImportedTable<'a> {
    pub(crate) name: &'a TableName,
    pub(crate) regions: usize,
    pub(crate) report: ImportReport,
    pub(crate) recovered: Recovered,
    pub(crate) seconds: f64,
}

/// Prefix of the directory of recovered files.
const RECOVERY_PREFIX: &str = ".import-";

/// Removes tables that exist already in the store, and calls `note` for each.
///
/// # Errors
/// Returns an error if the store cannot be read.
pub(crate) fn skip_existing(
    store: &Store,
    sources: &mut Vec<ImportSource>,
    mut note: impl FnMut(Remark),
) -> anyhow::Result<()> {
    let mut missing = Vec::new();
    for source in sources.drain(..) {
        if !source.is_bare && store.table_exists(source.name())? {
            let text =
                format!("table {} exists already in the store; it is skipped", source.name());
            note(Remark::Note(text));
        } else {
            missing.push(source);
        }
    }
    *sources = missing;
    Ok(())
}

/// Makes the checks of an import, apart from those that read all bytes, and changes nothing.
///
/// # Errors
/// Returns the error of the import, with the table.
pub(crate) fn check_all(store: &Store, sources: &mut [ImportSource]) -> anyhow::Result<()> {
    check_new(store, sources)?;
    for source in sources {
        check(store, source).with_context(|| format!("table {}", source.name()))?;
    }
    Ok(())
}

fn check(store: &Store, source: &mut ImportSource) -> anyhow::Result<()> {
    let engine = store.engine();
    source.loads_into_existing = source.is_bare && store.table_exists(source.name())?;
    if source.loads_into_existing {
        engine.check_bulk_load(source.name(), &source.bulk_load(false)?)?;
    } else {
        engine.check_import(&source.descriptor, &source.import_regions()?)?;
    }
    Ok(())
}

/// Checks that no table exists already, except those that bare files are loaded into.
///
/// # Errors
/// Returns an error with the first table that exists.
pub(crate) fn check_new(store: &Store, sources: &[ImportSource]) -> anyhow::Result<()> {
    for source in sources.iter().filter(|source| !source.is_bare) {
        if store.table_exists(source.name())? {
            bail!(
                "table {} exists already in the store; drop it, or import other tables",
                source.name()
            );
        }
    }
    Ok(())
}

/// Creates a directory for recovered files in that of a store which is open; those of an import
/// that was killed are removed. The store takes files of its own disk without a copy, and from its
/// own directory only below `staging`.
///
/// # Errors
/// Returns an error if it cannot be created.
pub(crate) fn recovery_directory(data: &Path) -> anyhow::Result<tempfile::TempDir> {
    let failed = || format!("making a directory for recovered files in {}", data.display());
    let staging = data.join(store_place::STAGING);
    std::fs::create_dir_all(&staging).with_context(failed)?;
    for entry in std::fs::read_dir(&staging).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        if entry.file_name().to_string_lossy().starts_with(RECOVERY_PREFIX) {
            std::fs::remove_dir_all(entry.path()).with_context(failed)?;
        }
    }
    let staging = staging.canonicalize().with_context(failed)?;
    tempfile::Builder::new().prefix(RECOVERY_PREFIX).tempdir_in(staging).with_context(failed)
}

/// Imports tables, one after the other. `check` fails if the source changes meanwhile.
///
/// # Errors
/// Returns the first error. The store then has the tables before it, and nothing of that one unless
/// the error says so.
pub(crate) fn import_all(
    store: &Store,
    sources: &[ImportSource],
    verify: bool,
    check: impl Fn() -> anyhow::Result<()>,
    print: impl Fn(&ImportedTable<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for source in sources {
        check()?;
        let began = Instant::now();
        let report =
            import(store, source, verify).with_context(|| format!("table {}", source.name()))?;
        check().with_context(|| {
            let name = source.name();
            format!("table {name} is imported and may lack what was written meanwhile; drop it")
        })?;
        print(&ImportedTable {
            name: source.name(),
            regions: source.regions.len(),
            report,
            recovered: source.recovered,
            seconds: began.elapsed().as_secs_f64(),
        })?;
    }
    Ok(())
}

fn import(store: &Store, source: &ImportSource, verify: bool) -> anyhow::Result<ImportReport> {
    if source.is_bare && store.table_exists(source.name())? {
        return load_into(store, source, verify);
    }
    // What fails here is not to leave the namespace.
    let regions = source.import_regions()?;
    let namespace = source.name().namespace();
    let is_new_namespace = match store.create_namespace(namespace, Attributes::new()) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::NamespaceExists => false,
        Err(error) => return Err(error.into()),
    };
    let bar = progress("importing", source.bytes());
    let imported =
        store
            .engine()
            .import_table(source.descriptor.clone(), &regions, verify, &mut |bytes| bar.inc(bytes));
    bar.finish_and_clear();
    if imported.is_err() && is_new_namespace {
        // An empty namespace that stays is harmless.
        let _ = store.drop_namespace(namespace);
    }
    Ok(imported?)
}

/// Loads bare files into an existing table.
fn load_into(store: &Store, source: &ImportSource, verify: bool) -> anyhow::Result<ImportReport> {
    let load = source.bulk_load(verify)?;
    // The engine loads all of them at once.
    let bar = ProgressBar::new_spinner().with_message("loading files");
    bar.enable_steady_tick(Duration::from_millis(200));
    let loaded = store.bulk_load(source.name(), load);
    bar.finish_and_clear();
    loaded?;
    Ok(ImportReport {
        copied_files: source.files().count() as u64,
        copied_bytes: source.bytes(),
        ..ImportReport::default()
    })
}
