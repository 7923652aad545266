//! Cells in any order, written to one store file for each store, with bounded memory.
//!
//! Each store collects its cells. When all of them together reach a limit, they are sorted and
//! written to a file, which is merged with the others at the end (`spill_run.rs`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use halite::{Bytes, CellRef, FamilyDescriptor};
use halite_engine::env::Env;
use halite_engine::hfile::{Compression, StoreFileInfo, Writer, WriterOptions};
use halite_types::cell::{compare_cells, read_cell, write_cell};

use super::spill_run::{RECORD_OVERHEAD_BYTES, Runs};

/// Maximum bytes of the cells in memory.
const MAX_BYTES: usize = 128 << 20;
/// Bytes of memory for a cell besides its own.
const CELL_OVERHEAD_BYTES: usize = 16;

/// Returns the most bytes of runs beside the final files: none if the cells fit in memory.
pub(super) fn max_run_bytes(cell_bytes: u64, cells: u64) -> u64 {
    let in_memory = cell_bytes.saturating_add(cells.saturating_mul(CELL_OVERHEAD_BYTES as u64));
    if in_memory <= MAX_BYTES as u64 {
        return 0;
    }
    cell_bytes.saturating_add(cells.saturating_mul(RECORD_OVERHEAD_BYTES))
}

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
    /// Numbers of the stores that cells were added to.
    numbers: BTreeMap<StorePlace, u32>,
    stores: Vec<StoreCells>,
    runs: Runs,
}

/// Store with its cells in memory.
struct StoreCells {
    place: StorePlace,
    options: WriterOptions,
    bytes: Vec<u8>,
    /// Offset and sequence id of each cell.
    cells: Vec<(usize, u64)>,
}

impl<'a> Spill<'a> {
    /// Files are written to the root of an environment.
    pub(super) fn new(env: &'a Env) -> Self {
        Self {
            env,
            max_bytes: MAX_BYTES,
            bytes: 0,
            numbers: BTreeMap::new(),
            stores: Vec::new(),
            runs: Runs::new(Path::new(&env.fs.root())),
        }
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
        let Self { numbers, stores, .. } = self;
        let number = if let Some(number) = numbers.get(&place) {
            *number
        } else {
            let number = u32::try_from(stores.len()).context("too many stores")?;
            numbers.insert(place.clone(), number);
            stores.push(StoreCells::new(place, family));
            number
        };
        let store = &mut stores[number as usize];
        let before = store.memory_bytes();
        store.cells.push((store.bytes.len(), cell.sequence_id()));
        store.options.include_tags |= !cell.tags().is_empty();
        write_cell(&mut store.bytes, cell);
        self.bytes += store.memory_bytes() - before;
        if self.bytes > self.max_bytes { self.write_run() } else { Ok(()) }
    }

    /// Writes the store files, and returns them.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written.
    pub(super) fn finish(mut self) -> anyhow::Result<Vec<(StorePlace, PathBuf)>> {
        let mut files = Vec::new();
        if self.runs.is_empty() {
            for store in &mut self.stores {
                store.sort();
                let mut file = NewFile::create(self.env, store, files.len())?;
                store.iter().try_for_each(|cell| file.append(cell))?;
                files.push(file.finish()?);
            }
            return Ok(files);
        }
        self.write_run()?;
        let Self { env, stores, runs, .. } = self;
        let mut current: Option<(u32, NewFile)> = None;
        runs.merge(|number, cell| {
            if current.as_ref().is_none_or(|(of, _)| *of != number) {
                if let Some((_, file)) = current.take() {
                    files.push(file.finish()?);
                }
                let store = stores.get(number as usize).context("no such store")?;
                current = Some((number, NewFile::create(env, store, files.len())?));
            }
            current.iter_mut().try_for_each(|(_, file)| file.append(cell))
        })?;
        if let Some((_, file)) = current {
            files.push(file.finish()?);
        }
        Ok(files)
    }

    /// Moves all cells in memory to a run.
    fn write_run(&mut self) -> anyhow::Result<()> {
        let Self { stores, runs, bytes, .. } = self;
        runs.add(|writer| {
            for (number, store) in (0..).zip(stores) {
                store.sort();
                store.iter().try_for_each(|cell| writer.write(number, cell))?;
                (store.bytes, store.cells) = (Vec::new(), Vec::new());
            }
            Ok(())
        })?;
        *bytes = 0;
        Ok(())
    }
}

/// Store file that is being written.
struct NewFile {
    place: StorePlace,
    path: String,
    writer: Writer,
    newest: u64,
}

impl NewFile {
    fn create(env: &Env, store: &StoreCells, number: usize) -> anyhow::Result<Self> {
        let name = format!("{number:032x}");
        let path = format!("{}/{name}", env.fs.root());
        let created = env.fs.create(&name).with_context(|| format!("creating {path}"))?;
        let writer = Writer::create(created, &path, store.options.clone())?;
        Ok(Self { place: store.place.clone(), path, writer, newest: 0 })
    }

    fn append(&mut self, cell: CellRef<'_>) -> anyhow::Result<()> {
        self.newest = cell.sequence_id().max(self.newest);
        Ok(self.writer.append(cell)?)
    }

    fn finish(self) -> anyhow::Result<(StorePlace, PathBuf)> {
        self.writer.finish(StoreFileInfo::flushed(self.newest))?;
        Ok((self.place, PathBuf::from(self.path)))
    }
}

impl StoreCells {
    fn new(place: StorePlace, family: &FamilyDescriptor) -> Self {
        // Codecs that cannot be written are refused with the table.
        let compression = Compression::from_name(&family.compression());
        Self {
            place,
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
    fn each_store_has_one_file_of_sorted_cells() {
        let family = FamilyDescriptor::new("f");
        for max_bytes in [MAX_BYTES, 300, 1] {
            let folder = tempfile::tempdir().unwrap();
            let env = Env::os(folder.path()).unwrap();
            let mut spill = Spill { max_bytes, ..Spill::new(&env) };
            for (region, row, sequence, value) in [
                (0, "b", 3, "old"),
                (1, "d", 2, "second region"),
                (0, "a", 4, "x"),
                (0, "b", 5, "new"),
                (0, "b", 5, "newest"),
                (1, "c", 6, "first row"),
                (0, "c", 1, "y"),
            ] {
                let place = StorePlace { table: 0, region, family: family.name().clone() };
                let key = make_key(row.as_bytes(), b"f", b"q", 7, CellType::Put.code());
                let cell = CellRef::new(&key, value.as_bytes(), &[], sequence);
                spill.add(place, &family, cell).unwrap();
            }
            let files = spill.finish().unwrap();
            let values = |path: &Path| {
                let mut values = Vec::new();
                let mut cursor = Cursor::new(crate::hfile::open(path).unwrap(), DirectBlocks);
                cursor.seek_to_first().unwrap();
                while let Some(cell) = cursor.peek() {
                    values.push(String::from_utf8(cell.value().to_vec()).unwrap());
                    cursor.advance().unwrap();
                }
                values.join(", ")
            };
            let found: Vec<_> =
                files.iter().map(|(place, path)| (place.region, values(path))).collect();
            let expected = [(0, "x, newest, old, y"), (1, "first row, second region")];
            assert_eq!(found, expected.map(|(region, text)| (region, text.to_owned())));
            let left = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(left, 2, "with at most {max_bytes} bytes");
        }
    }
}
