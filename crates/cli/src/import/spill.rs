//! Cells in any order, written to store files in their order, with bounded memory.
//!
//! Each store collects its cells. When all of them together reach a limit, the largest ones are
//! sorted and written, as a memstore is flushed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;
use halite::{Bytes, CellRef, FamilyDescriptor};
use halite_engine::env::Env;
use halite_engine::hfile::{Compression, StoreFileInfo, Writer, WriterOptions};
use halite_types::cell::{compare_cells, read_cell, write_cell};

/// Maximum bytes of the cells in memory.
const MAX_BYTES: usize = 128 << 20;
/// Bytes of memory for a cell besides its own.
const CELL_OVERHEAD_BYTES: usize = 16;

/// Store of a table to import: positions of the table and its region, and the family.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StorePlace {
    pub(super) table: usize,
    pub(super) region: usize,
    pub(super) family: Bytes,
}

/// Cells of stores.
pub(super) struct Spill<'a> {
    env: &'a Env,
    max_bytes: usize,
    bytes: usize,
    stores: BTreeMap<StorePlace, StoreCells>,
    files: Vec<(StorePlace, PathBuf)>,
}

/// Cells of a store.
struct StoreCells {
    options: WriterOptions,
    bytes: Vec<u8>,
    /// Offset and sequence id of each cell.
    cells: Vec<(usize, u64)>,
}

impl<'a> Spill<'a> {
    /// Files are written to the root of an environment.
    pub(super) fn new(env: &'a Env) -> Self {
        Self { env, max_bytes: MAX_BYTES, bytes: 0, stores: BTreeMap::new(), files: Vec::new() }
    }

    /// Adds a cell with its sequence id.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub(super) fn add(
        &mut self,
        place: StorePlace,
        family: &FamilyDescriptor,
        cell: CellRef<'_>,
    ) -> anyhow::Result<()> {
        let store = self.stores.entry(place).or_insert_with(|| StoreCells::new(family));
        let before = store.memory_bytes();
        store.cells.push((store.bytes.len(), cell.sequence_id()));
        store.options.include_tags |= !cell.tags().is_empty();
        write_cell(&mut store.bytes, cell);
        self.bytes += store.memory_bytes() - before;
        while self.bytes > self.max_bytes {
            let largest = self.stores.iter().max_by_key(|(_, store)| store.memory_bytes());
            let Some((place, _)) = largest else { break };
            let place = place.clone();
            self.write(&place)?;
        }
        Ok(())
    }

    /// Writes all cells that are left, and returns the files.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub(super) fn finish(mut self) -> anyhow::Result<Vec<(StorePlace, PathBuf)>> {
        while let Some((place, _)) = self.stores.first_key_value() {
            let place = place.clone();
            self.write(&place)?;
        }
        Ok(self.files)
    }

    fn write(&mut self, place: &StorePlace) -> anyhow::Result<()> {
        let Some(mut store) = self.stores.remove(place) else { return Ok(()) };
        self.bytes -= store.memory_bytes();
        store.sort();
        let name = format!("{:032x}", self.files.len());
        let path = format!("{}/{name}", self.env.fs.root());
        let created = self.env.fs.create(&name).with_context(|| format!("creating {path}"))?;
        let mut writer = Writer::create(created, &path, store.options.clone())?;
        let mut newest = 0;
        for cell in store.iter() {
            newest = cell.sequence_id().max(newest);
            writer.append(cell)?;
        }
        writer.finish(StoreFileInfo::flushed(newest))?;
        self.files.push((place.clone(), PathBuf::from(path)));
        Ok(())
    }
}

impl StoreCells {
    fn new(family: &FamilyDescriptor) -> Self {
        // Codecs that cannot be written are refused with the table.
        let compression = Compression::from_name(&family.compression());
        Self {
            options: WriterOptions {
                bloom: family.bloom_filter(),
                compression: compression.filter(|codec| codec.is_supported()).unwrap_or_default(),
                ..WriterOptions::default()
            },
            bytes: Vec::new(),
            cells: Vec::new(),
        }
    }

    fn memory_bytes(&self) -> usize {
        self.bytes.len() + self.cells.len() * CELL_OVERHEAD_BYTES
    }

    fn iter(&self) -> impl Iterator<Item = CellRef<'_>> {
        self.cells.iter().map(|(start, sequence)| cell_at(&self.bytes, *start, *sequence))
    }

    /// Orders the cells as in a store file. Of cells with one key and one sequence id, which are
    /// the same entry in two logs or were written in one batch, the last one stays.
    fn sort(&mut self) {
        let Self { bytes, cells, .. } = self;
        let cell = |(start, sequence): &(usize, u64)| cell_at(bytes, *start, *sequence);
        cells.reverse();
        cells.sort_by(|a, b| compare_cells(&cell(a), &cell(b)));
        cells.dedup_by(|later, first| compare_cells(&cell(later), &cell(first)).is_eq());
    }
}

fn cell_at(bytes: &[u8], start: usize, sequence: u64) -> CellRef<'_> {
    read_cell(&bytes[start..], sequence).expect("it was written here").0
}

#[cfg(test)]
mod tests {
    use halite_engine::hfile::{Cursor, DirectBlocks};
    use halite_types::CellType;
    use halite_types::cell::make_key;

    use super::*;

    #[test]
    fn spilled_cells_are_sorted_and_repeated_ones_left_out() {
        let family = FamilyDescriptor::new("f");
        for (max_bytes, expected_files) in [(MAX_BYTES, 1), (120, 2)] {
            let folder = tempfile::tempdir().unwrap();
            let env = Env::os(folder.path()).unwrap();
            let mut spill = Spill { max_bytes, ..Spill::new(&env) };
            for (row, sequence, value) in
                [("b", 3, "old"), ("a", 4, "x"), ("b", 5, "new"), ("b", 5, "newest"), ("c", 1, "y")]
            {
                let place = StorePlace { table: 0, region: 0, family: family.name().clone() };
                let key = make_key(row.as_bytes(), b"f", b"q", 7, CellType::Put.code());
                let cell = CellRef::new(&key, value.as_bytes(), &[], sequence);
                spill.add(place, &family, cell).unwrap();
            }
            let files = spill.finish().unwrap();
            assert_eq!(files.len(), expected_files);
            let mut values = Vec::new();
            for (_, path) in &files {
                let mut cursor = Cursor::new(crate::hfile::open(path).unwrap(), DirectBlocks);
                cursor.seek_to_first().unwrap();
                while let Some(cell) = cursor.peek() {
                    values.push(String::from_utf8(cell.value().to_vec()).unwrap());
                    cursor.advance().unwrap();
                }
            }
            if expected_files == 1 {
                assert_eq!(values, ["x", "newest", "old", "y"]);
            } else {
                assert_eq!(values.len(), 5, "{values:?}");
            }
        }
    }
}
