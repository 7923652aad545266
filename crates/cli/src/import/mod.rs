//! Import of tables from a directory of HBase into a store.
//!
//! `source.rs` reads what is to be imported, `plan.rs` prints it. Here the tables are created.

mod plan;
mod source;

use std::time::Instant;

use anyhow::{Context as _, bail};
use halite::{Attributes, BulkLoad, ErrorKind, Store, TableName};
use halite_engine::ImportReport;
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) use plan::print_plan;
pub(crate) use source::ImportSource;

/// Result of importing a table.
pub(crate) struct ImportedTable<'a> {
    pub(crate) name: &'a TableName,
    pub(crate) regions: usize,
    pub(crate) report: ImportReport,
    pub(crate) seconds: f64,
}

/// Imports tables, one after the other. Existing tables are refused before the first is imported,
/// unless bare files are loaded.
///
/// # Errors
/// Returns the first error. The store then has the tables before it, and nothing of that one.
pub(crate) fn import_all(
    store: &Store,
    sources: &[ImportSource],
    verify: bool,
    print: impl Fn(&ImportedTable<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for source in sources.iter().filter(|source| !source.is_bare) {
        if store.table_exists(source.name())? {
            bail!(
                "table {} exists already in the store; drop it, or import other tables",
                source.name()
            );
        }
    }
    for source in sources {
        let began = Instant::now();
        let report =
            import(store, source, verify).with_context(|| format!("table {}", source.name()))?;
        let (name, regions) = (source.name(), source.regions.len());
        print(&ImportedTable { name, regions, report, seconds: began.elapsed().as_secs_f64() })?;
    }
    Ok(())
}

fn import(store: &Store, source: &ImportSource, verify: bool) -> anyhow::Result<ImportReport> {
    if source.is_bare && store.table_exists(source.name())? {
        return load_into(store, source, verify);
    }
    let namespace = source.name().namespace();
    let is_new_namespace = match store.create_namespace(namespace, Attributes::new()) {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::NamespaceExists => false,
        Err(error) => return Err(error.into()),
    };
    let bar = progress(source.bytes());
    let imported = store.engine().import_table(
        source.descriptor.clone(),
        &source.regions,
        verify,
        &mut |bytes| bar.inc(bytes),
    );
    bar.finish_and_clear();
    if imported.is_err() && is_new_namespace {
        // An empty namespace that stays is harmless.
        let _ = store.drop_namespace(namespace);
    }
    Ok(imported?)
}

/// Loads bare files into an existing table. They are copied: a bulk load that links files takes
/// them away from where they are.
fn load_into(store: &Store, source: &ImportSource, verify: bool) -> anyhow::Result<ImportReport> {
    let files = source.files().map(|file| (file.family.clone(), file.path.clone())).collect();
    store.bulk_load(source.name(), BulkLoad { files, copy: true, verify })?;
    Ok(ImportReport {
        copied_files: source.files().count() as u64,
        copied_bytes: source.bytes(),
        ..ImportReport::default()
    })
}

fn progress(bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "importing {wide_bar} {binary_bytes}/{binary_total_bytes}, {binary_bytes_per_sec}, {eta}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(bytes).with_style(style)
}
