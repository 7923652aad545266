//! Tables of a root directory, with the logs that may have cells of theirs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use halite::{ErrorKind, TableName};
use halite_hbase_dir::{
    LiveRegions, Liveness, LogFile, MetaFiles, find_meta, list_logs, list_meta_logs, list_tables,
    read_table, recorded_sequence,
};
use halite_types::schema::SYSTEM_NAMESPACE;

use super::meta_rows::MetaRows;
use super::remark::Remark;
use super::source::ImportSource;

/// Root directory of HBase.
pub(crate) struct HbaseRoot {
    root: PathBuf,
    wal_root: PathBuf,
    tables: Vec<TableName>,
    /// Logs when it was read; none if they are to be ignored.
    pub(super) logs: Option<Vec<LogFile>>,
}

impl HbaseRoot {
    /// Reads tables; all of them if none is named. `wal_root` contains the directory `WALs`; `None`
    /// ignores the logs. `note` is called with what is not as `hbase:meta` says.
    ///
    /// # Errors
    /// Returns an error if the directory is damaged, or has no logs.
    pub(crate) fn read(
        root: &Path,
        wal_root: Option<&Path>,
        wanted: &[TableName],
        note: &mut dyn FnMut(Remark),
    ) -> anyhow::Result<(Self, Vec<ImportSource>)> {
        let all = list_tables(root)?;
        let mut tables = if wanted.is_empty() { all } else { wanted.to_vec() };
        // A second source of a table would take the cells of the logs from the first.
        let mut known = BTreeSet::new();
        tables.retain(|table| known.insert(table.clone()));
        let logs = wal_root.map(|wal_root| list_logs(root, wal_root, &tables)).transpose()?;
        let wal_root = wal_root.unwrap_or(root).to_owned();
        let live = match find_meta(root, &wal_root)? {
            None => None,
            Some(meta) => live_regions(root, &wal_root, &meta, logs.as_deref(), note)?,
        };
        if let Some(live) = live.as_ref().filter(|_| wanted.is_empty()) {
            compare_tables(live, &tables).into_iter().for_each(&mut *note);
        }
        let liveness = live.as_ref().map_or(Liveness::Derived, Liveness::Listed);
        let mut read = |name: &TableName| -> anyhow::Result<ImportSource> {
            let table =
                read_table(root, name, liveness).with_context(|| format!("table {name}"))?;
            if table.unlisted_regions > 0 {
                note(Remark::Note(format!(
                    "table {name}: {} directories of regions are left out: hbase:meta does not \
                     list them as live, as after a split or merge, or before its end",
                    table.unlisted_regions
                )));
            }
            for path in &table.unknown_regions {
                note(Remark::Warning(format!(
                    "table {name}: {} is left out with its store files: it has no .regioninfo, and \
                     hbase:meta lists no live region of that name; if rows are missing, restore \
                     them, or let HBase repair hbase:meta, and repeat the import",
                    path.display()
                )));
            }
            ImportSource::new(table)
        };
        let sources = tables.iter().map(&mut read).collect::<anyhow::Result<_>>()?;
        Ok((Self { root: root.to_owned(), wal_root, tables, logs }, sources))
    }

    /// Returns the sequence id up to which a region's cells were in files when it was opened or
    /// closed last.
    ///
    /// # Errors
    /// The file system's error.
    pub(super) fn recorded_sequence(&self, table: &TableName, region: &str) -> anyhow::Result<u64> {
        Ok(recorded_sequence(&self.root, &self.wal_root, table, region)?)
    }

    /// Checks that no log has changed since the directory was read.
    ///
    /// # Errors
    /// Returns an error if one has: HBase runs.
    pub(crate) fn check_is_still(&self) -> anyhow::Result<()> {
        let Some(logs) = &self.logs else { return Ok(()) };
        if list_logs(&self.root, &self.wal_root, &self.tables)? != *logs {
            bail!(
                "the logs below {} have changed meanwhile: HBase is running; stop it first",
                self.wal_root.display()
            );
        }
        Ok(())
    }
}

/// Returns the regions that are live by `hbase:meta`. `logs` are those that are read; `None` if they
/// are to be ignored. `hbase:meta` is not used then if a log of it is damaged.
///
/// # Errors
/// Returns an error if its files, or logs that are not ignored, are damaged.
fn live_regions(
    root: &Path,
    wal_root: &Path,
    meta: &MetaFiles,
    logs: Option<&[LogFile]>,
    note: &mut dyn FnMut(Remark),
) -> anyhow::Result<Option<LiveRegions>> {
    // Also if the logs of the tables are ignored: the store files of hbase:meta alone may name
    // regions that others have replaced.
    let listed = if logs.is_none() { list_meta_logs(wal_root)? } else { Vec::new() };
    let of_meta = logs.unwrap_or_default().iter().filter(|log| log.is_meta);
    let used: Vec<_> = of_meta.chain(&listed).chain(&meta.logs).collect();
    let mut rows = MetaRows::read(&meta.files)?;
    match rows.add_logs(&used, note) {
        Ok(()) => {}
        Err(error)
            if logs.is_none()
                && matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) =>
        {
            note(Remark::Warning(format!(
                "hbase:meta is not used, so that the regions themselves are to tell which of them \
                 are live: {}",
                error.message()
            )));
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Some(rows.live_regions(root, note)))
}

/// Compares the tables that have directories with those of which `hbase:meta` lists regions.
fn compare_tables(live: &LiveRegions, present: &[TableName]) -> Vec<Remark> {
    let present: BTreeSet<&TableName> = present.iter().collect();
    let own = |table: &TableName| table.namespace() == SYSTEM_NAMESPACE;
    let listed: BTreeSet<&TableName> =
        live.keys().map(|(table, _)| table).filter(|table| !own(table)).collect();
    let missing = listed.difference(&present).map(|table| {
        Remark::Warning(format!(
            "table {table}: hbase:meta lists it, and its directory is missing; it is not imported: \
             if it was not dropped, copy its directory, too"
        ))
    });
    let unlisted = present.difference(&listed).map(|table| {
        Remark::Note(format!(
            "table {table}: it has a directory, and hbase:meta lists no region of it"
        ))
    });
    missing.chain(unlisted).collect()
}

#[cfg(test)]
mod tests {
    use halite_hbase_dir::live_region;

    use super::*;

    #[test]
    fn tables_of_meta_and_of_directories_are_compared() {
        // A region with the id 1 of the table `default:m`, and one of `hbase:acl`.
        let rows = [
            &b"PBUF\x08\x01\x12\x0c\x0a\x07default\x12\x01m"[..],
            b"PBUF\x08\x01\x12\x0c\x0a\x05hbase\x12\x03acl",
        ];
        let of_row = |row: &[u8]| live_region(Path::new("root"), row, b"OPEN").unwrap().unwrap();
        let live: LiveRegions = rows.into_iter().map(of_row).collect();
        let [m, d]: [TableName; 2] = ["m", "d"].map(|name| name.parse().unwrap());
        assert_eq!(compare_tables(&live, std::slice::from_ref(&m)), []);
        let remarks = compare_tables(&live, &[d]);
        let texts: Vec<String> = remarks.iter().map(ToString::to_string).collect();
        assert!(texts[0].starts_with("warning: table m: hbase:meta lists it"), "{texts:?}");
        assert!(texts[1].starts_with("note: table d: it has a directory"), "{texts:?}");
        assert_eq!(texts.len(), 2);
    }
}
