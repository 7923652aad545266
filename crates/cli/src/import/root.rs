//! Tables of a root directory, with the logs that may have cells of theirs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use halite::TableName;
use halite_hbase_dir::{
    Liveness, LogFile, find_meta, list_logs, list_meta_logs, list_tables, read_table,
    recorded_sequence,
};

use super::meta_rows::MetaRows;
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
    /// ignores the logs.
    ///
    /// # Errors
    /// Returns an error if the directory is damaged, or has no logs.
    pub(crate) fn read(
        root: &Path,
        wal_root: Option<&Path>,
        wanted: &[TableName],
    ) -> anyhow::Result<(Self, Vec<ImportSource>)> {
        let all = list_tables(root)?;
        let tables = if wanted.is_empty() { all } else { wanted.to_vec() };
        let logs = wal_root.map(|wal_root| list_logs(root, wal_root, &tables)).transpose()?;
        let wal_root = wal_root.unwrap_or(root).to_owned();
        let live = match find_meta(root, &wal_root)? {
            None => None,
            Some(meta) => {
                // Also if the logs of the tables are ignored: the store files of hbase:meta alone
                // may name regions that others have replaced.
                let listed = if logs.is_none() { list_meta_logs(&wal_root)? } else { Vec::new() };
                let of_meta = logs.iter().flatten().filter(|log| log.is_meta);
                let used: Vec<_> = of_meta.chain(&listed).chain(&meta.logs).collect();
                Some(MetaRows::read(&meta.files, &used)?.live_regions(root)?)
            }
        };
        let liveness = live.as_ref().map_or(Liveness::Derived, Liveness::Listed);
        let read = |name: &TableName| -> anyhow::Result<ImportSource> {
            let table =
                read_table(root, name, liveness).with_context(|| format!("table {name}"))?;
            ImportSource::new(table)
        };
        let sources = tables.iter().map(read).collect::<anyhow::Result<_>>()?;
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
    pub(super) fn check_is_still(&self) -> anyhow::Result<()> {
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
