//! Statistics of the written cells, for the file info.

use halite_types::{CellRef, CellType};

use super::cell_layout::CellLayout;
use super::file_info::{FileInfo, encode_flag, info_key};

/// Sums and extremes over the cells of a file.
#[derive(Debug)]
pub(super) struct FileStatsBuilder {
    pub(super) cells: u64,
    pub(super) delete_family_cells: u64,
    pub(super) last_key: Vec<u8>,
    pub(super) min_timestamp: i64,
    pub(super) max_timestamp: i64,
    key_bytes: u64,
    value_bytes: u64,
    biggest_cell_bytes: usize,
    key_of_biggest_cell: Vec<u8>,
    max_tags_bytes: usize,
    max_sequence_id: u64,
    earliest_put: i64,
}

impl FileStatsBuilder {
    pub(super) fn new() -> Self {
        Self {
            cells: 0,
            delete_family_cells: 0,
            last_key: Vec::new(),
            min_timestamp: i64::MAX,
            max_timestamp: -1,
            key_bytes: 0,
            value_bytes: 0,
            biggest_cell_bytes: 0,
            key_of_biggest_cell: Vec::new(),
            max_tags_bytes: 0,
            max_sequence_id: 0,
            earliest_put: i64::MAX,
        }
    }

    pub(super) fn add(&mut self, cell: CellRef<'_>) {
        self.cells += 1;
        self.key_bytes += cell.key().len() as u64;
        self.value_bytes += cell.value().len() as u64;
        // HBase's serialized size of a KeyValue, which is that of an encoded cell.
        if cell.encoded_len() > self.biggest_cell_bytes {
            self.biggest_cell_bytes = cell.encoded_len();
            self.key_of_biggest_cell.clear();
            self.key_of_biggest_cell.extend_from_slice(cell.key());
        }
        self.max_tags_bytes = self.max_tags_bytes.max(cell.tags().len());
        self.max_sequence_id = self.max_sequence_id.max(cell.sequence_id());
        self.last_key.clear();
        self.last_key.extend_from_slice(cell.key());
        self.add_type(cell.type_code(), cell.timestamp());
    }

    fn add_type(&mut self, type_code: u8, timestamp: i64) {
        self.include_timestamp(timestamp);
        match CellType::from_code(type_code) {
            Some(CellType::Put) => self.earliest_put = self.earliest_put.min(timestamp),
            // These apply to every older cell, so a read of any older time needs this file.
            Some(CellType::DeleteColumn) => self.include_timestamp(0),
            Some(CellType::DeleteFamily) => {
                self.include_timestamp(0);
                self.delete_family_cells += 1;
            }
            Some(CellType::DeleteFamilyVersion) => self.delete_family_cells += 1,
            // One version, whose time is included above; or no type that is stored.
            Some(CellType::Delete) | None => {}
        }
    }

    fn include_timestamp(&mut self, timestamp: i64) {
        self.min_timestamp = self.min_timestamp.min(timestamp);
        self.max_timestamp = self.max_timestamp.max(timestamp);
    }

    /// Sets the properties of every HFile.
    pub(super) fn set_file_properties(&self, info: &mut FileInfo, layout: CellLayout) {
        let average = |total: u64| {
            i32::try_from(total.checked_div(self.cells).unwrap_or(0))
                .unwrap_or(i32::MAX)
                .to_be_bytes()
        };
        info.set(info_key::AVERAGE_KEY_LENGTH, average(self.key_bytes));
        info.set(info_key::AVERAGE_VALUE_LENGTH, average(self.value_bytes));
        if self.cells > 0 {
            info.set(info_key::LAST_KEY, self.last_key.as_slice());
            info.set(info_key::KEY_OF_BIGGEST_CELL, self.key_of_biggest_cell.as_slice());
            info.set(
                info_key::LENGTH_OF_BIGGEST_CELL,
                (self.biggest_cell_bytes as u64).to_be_bytes(),
            );
        }
        if layout.tags {
            info.set(
                info_key::MAX_TAGS_LENGTH,
                i32::try_from(self.max_tags_bytes).unwrap_or(i32::MAX).to_be_bytes(),
            );
            info.set(info_key::TAGS_COMPRESSED, encode_flag(layout.tags_compressed));
        }
        if layout.sequence_ids {
            info.set(info_key::KEY_VALUE_VERSION, 1_i32.to_be_bytes());
            info.set(info_key::MAX_CELL_SEQUENCE_ID, self.max_sequence_id.to_be_bytes());
        }
    }

    /// Sets the properties of a store file from its cells.
    pub(super) fn set_store_properties(&self, info: &mut FileInfo) {
        let range = [self.min_timestamp.to_be_bytes(), self.max_timestamp.to_be_bytes()].concat();
        info.set(info_key::TIME_RANGE, range);
        info.set(info_key::EARLIEST_PUT, self.earliest_put.to_be_bytes());
        info.set(info_key::DELETE_FAMILY_COUNT, self.delete_family_cells.to_be_bytes());
        info.set(info_key::HISTORICAL, encode_flag(false));
    }
}
