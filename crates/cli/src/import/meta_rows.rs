//! Rows of HBase's catalog `hbase:meta`, from its files and logs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use halite::{CellRef, CellType, Error, to_string_binary};
use halite_engine::hfile::{Cursor, DirectBlocks};
use halite_hbase_dir::wal::WalReader;
use halite_hbase_dir::{
    HbaseFile, LiveRegions, LogFile, META_FAMILY, META_REGION, META_STATE, live_region,
};

use super::log_codec::decompress_value;
use super::remark::Remark;
use crate::hfile;

/// Table name in the entries of a log.
const META_TABLE: &[u8] = b"hbase:meta";

/// Columns of the rows that tell which regions are live.
#[derive(Default)]
pub(super) struct MetaRows {
    rows: BTreeMap<Vec<u8>, MetaRow>,
}

#[derive(Default)]
struct MetaRow {
    /// Timestamp up to which a marker hides the family; `None` for no marker.
    deleted_up_to: Option<i64>,
    region: Column,
    state: Column,
}

#[derive(Default)]
struct Column {
    deleted_up_to: Option<i64>,
    deleted: BTreeSet<i64>,
    /// Values by timestamp and sequence id.
    values: BTreeMap<(i64, u64), Vec<u8>>,
}

impl MetaRows {
    /// Reads files.
    ///
    /// # Errors
    /// Returns an error if one of them is damaged.
    pub(super) fn read(files: &[HbaseFile]) -> anyhow::Result<Self> {
        let mut rows = Self::default();
        for file in files {
            let mut cursor = Cursor::new(hfile::open(&file.path)?, DirectBlocks);
            cursor.seek_to_first()?;
            while let Some(cell) = cursor.peek() {
                rows.add(cell);
                cursor.advance()?;
            }
        }
        Ok(rows)
    }

    /// Reads logs. `note` is called with remarks about them.
    ///
    /// # Errors
    /// Returns an error if one of them is damaged.
    pub(super) fn add_logs(
        &mut self,
        logs: &[&LogFile],
        note: &mut dyn FnMut(Remark),
    ) -> Result<(), Error> {
        for log in logs {
            let mut reader = WalReader::open(&log.path, decompress_value)?;
            while let Some(entry) = reader.next_entry()? {
                if entry.table == META_TABLE {
                    let sequence = entry.sequence;
                    entry.data().for_each(|cell| self.add(cell.with_sequence_id(sequence)));
                }
            }
            Remark::of_log(&log.path, reader.end()).into_iter().for_each(&mut *note);
        }
        Ok(())
    }

    fn add(&mut self, cell: CellRef<'_>) {
        if cell.family() != META_FAMILY {
            return;
        }
        let Some(kind) = cell.cell_type() else { return };
        let row = self.rows.entry(cell.row().to_vec()).or_default();
        let at = cell.timestamp();
        if kind == CellType::DeleteFamily {
            row.deleted_up_to = row.deleted_up_to.max(Some(at));
            return;
        }
        let column = match cell.qualifier() {
            META_REGION => &mut row.region,
            META_STATE => &mut row.state,
            _ => return,
        };
        match kind {
            CellType::DeleteColumn => column.deleted_up_to = column.deleted_up_to.max(Some(at)),
            CellType::Put => {
                column.values.insert((at, cell.sequence_id()), cell.value().to_vec());
            }
            _ => {
                column.deleted.insert(at);
            }
        }
    }

    /// Returns the regions that are live. `note` is called with a warning for each row whose region
    /// cannot be read; HBase skips it, too (`CatalogFamilyFormat.getRegionInfo`).
    pub(super) fn live_regions(&self, root: &Path, note: &mut dyn FnMut(Remark)) -> LiveRegions {
        let mut live = LiveRegions::new();
        for (name, row) in &self.rows {
            let Some(region) = row.region.newest(row.deleted_up_to) else { continue };
            let state = row.state.newest(row.deleted_up_to).unwrap_or_default();
            match live_region(root, region, state) {
                Ok(region) => live.extend(region),
                Err(error) => note(Remark::Warning(format!(
                    "hbase:meta, row '{}': {}; the row is skipped, as by HBase, and its region \
                     counts as not live",
                    to_string_binary(name),
                    error.message()
                ))),
            }
        }
        live
    }
}

impl Column {
    fn newest(&self, family_deleted_up_to: Option<i64>) -> Option<&[u8]> {
        let hidden = self.deleted_up_to.max(family_deleted_up_to);
        let mut values = self.values.iter().rev();
        let visible =
            |at: i64| hidden.is_none_or(|hidden| at > hidden) && !self.deleted.contains(&at);
        values.find(|((at, _), _)| visible(*at)).map(|(_, value)| &value[..])
    }
}

#[cfg(test)]
mod tests {
    use halite_types::cell::make_key;

    use super::*;

    fn rows(cells: &[(i64, u64, CellType, &str, &str)]) -> MetaRows {
        let mut rows = MetaRows::default();
        for (at, sequence, kind, qualifier, value) in cells {
            let key = make_key(b"t,,1.ab.", META_FAMILY, qualifier.as_bytes(), *at, kind.code());
            rows.add(CellRef::new(&key, value.as_bytes(), &[], *sequence));
        }
        rows
    }

    #[test]
    fn newest_visible_value_of_a_column_counts() {
        use CellType::{Delete, DeleteColumn, DeleteFamily, Put};
        let state = |more: &[(i64, u64, CellType, &str, &str)]| {
            let puts = [(5, 1, Put, "state", "OPENING"), (6, 2, Put, "state", "OPEN")];
            let rows = rows(&[&puts[..], more].concat());
            let row = rows.rows.values().next().unwrap();
            row.state
                .newest(row.deleted_up_to)
                .map(|value| String::from_utf8(value.to_vec()).unwrap())
        };
        assert_eq!(state(&[]).as_deref(), Some("OPEN"));
        assert_eq!(state(&[(6, 3, Put, "state", "SPLIT")]).as_deref(), Some("SPLIT"));
        assert_eq!(state(&[(6, 3, Delete, "state", "")]).as_deref(), Some("OPENING"));
        assert_eq!(state(&[(6, 3, DeleteColumn, "state", "")]), None);
        assert_eq!(state(&[(7, 3, DeleteFamily, "", "")]), None);
        assert_eq!(state(&[(6, 3, Put, "server", "x")]).as_deref(), Some("OPEN"));
    }

    #[test]
    fn row_without_a_region_is_skipped_and_named() {
        let mut remarks = Vec::new();
        let mut live = |value: &str| {
            let rows = rows(&[(5, 1, CellType::Put, "regioninfo", value)]);
            rows.live_regions(Path::new("root"), &mut |remark| remarks.push(remark.to_string()))
        };
        let whole = "PBUF\x08\x01\x12\x0c\x0a\x07default\x12\x01t";
        assert_eq!(live(whole).len(), 1);
        for value in ["", "text", "PBUF", &whole[..10], "PBUF\x08\x01\x12\x05\x0a\0\x12\x01/"] {
            assert_eq!(live(value).len(), 0, "{value:?}");
        }
        assert_eq!(remarks.len(), 5, "{remarks:?}");
        for remark in remarks {
            assert!(remark.starts_with("warning: hbase:meta, row 't,,1.ab.': "), "{remark}");
        }
    }
}
