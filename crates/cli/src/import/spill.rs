//! Cells in any order, written to one store file for each store, with bounded memory: a sorter
//! orders them by store, and then as in a store file.
//!
//! ```text
//! key of the sorter      number of the store u32 | sequence id u64 | flat key
//! value of the sorter    bytes of the tags u16 | tags | value
//! ```

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use halite::{Bytes, CellRef, FamilyDescriptor};
use halite_engine::env::Env;
use halite_engine::hfile::{Compression, StoreFileInfo, Writer, WriterOptions};
use halite_types::cell::{check_key, compare_keys};

use crate::cell_sorter::{self, KeyOrder, Sorter};

/// Maximum bytes of the cells in memory.
const MAX_BYTES: usize = 128 << 20;
/// Bytes before the flat key of a cell in a key of the sorter.
const HEAD_BYTES: usize = 12;
/// Bytes by which key and value of the sorter are larger than an encoded cell, at most.
const EXTRA_BYTES: u64 = 2;

/// Cells by store, and of one store as in its file. Of cells with one key and one sequence id,
/// which are the same entry in two logs or were written in one batch, the sorter keeps the last
/// one.
const CELLS_OF_STORES: KeyOrder = KeyOrder { is_key, compare };

fn is_key(key: &[u8]) -> bool {
    key.get(HEAD_BYTES..).is_some_and(check_key)
}

fn compare(a: &[u8], b: &[u8]) -> Ordering {
    a[..4]
        .cmp(&b[..4])
        .then_with(|| compare_keys(&a[HEAD_BYTES..], &b[HEAD_BYTES..]))
        .then_with(|| b[4..HEAD_BYTES].cmp(&a[4..HEAD_BYTES]))
}

/// Returns the most bytes of files beside the final ones for encoded cells: none if they fit in
/// memory.
pub(super) fn max_run_bytes(cell_bytes: u64, cells: u64) -> u64 {
    let bytes = cell_bytes.saturating_add(cells.saturating_mul(EXTRA_BYTES));
    cell_sorter::max_run_bytes(MAX_BYTES, bytes, cells)
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
    /// Numbers of the stores that cells were added to.
    numbers: BTreeMap<StorePlace, u32>,
    stores: Vec<Store>,
    sorter: Sorter,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// Store with the options of its file.
struct Store {
    place: StorePlace,
    options: WriterOptions,
}

impl<'a> Spill<'a> {
    /// Files are written to the root of an environment.
    pub(super) fn new(env: &'a Env) -> Self {
        Self::with_memory(env, MAX_BYTES)
    }

    fn with_memory(env: &'a Env, max_bytes: usize) -> Self {
        Self {
            env,
            numbers: BTreeMap::new(),
            stores: Vec::new(),
            sorter: Sorter::new(Path::new(&env.fs.root()), max_bytes, CELLS_OF_STORES),
            key: Vec::new(),
            value: Vec::new(),
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
            stores.push(Store::new(place, family));
            number
        };
        stores[number as usize].options.include_tags |= !cell.tags().is_empty();
        self.key.clear();
        self.key.extend_from_slice(&number.to_be_bytes());
        self.key.extend_from_slice(&cell.sequence_id().to_be_bytes());
        self.key.extend_from_slice(cell.key());
        let tags = u16::try_from(cell.tags().len()).context("tags above 64 KiB")?;
        self.value.clear();
        self.value.extend_from_slice(&tags.to_be_bytes());
        self.value.extend_from_slice(cell.tags());
        self.value.extend_from_slice(cell.value());
        self.sorter.add(&self.key, &self.value)
    }

    /// Writes the store files, and returns them.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written.
    pub(super) fn finish(self) -> anyhow::Result<Vec<(StorePlace, PathBuf)>> {
        let Self { env, stores, sorter, .. } = self;
        let mut files = Vec::new();
        let mut current: Option<(u32, NewFile)> = None;
        sorter.finish(|key, value| {
            let (number, cell) = parse(key, value).context("a recovered cell is damaged")?;
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
}

/// Returns the number of the store and the cell of an entry of the sorter, whose key is one.
fn parse<'b>(key: &'b [u8], value: &'b [u8]) -> Option<(u32, CellRef<'b>)> {
    let (number, rest) = key.split_first_chunk()?;
    let (sequence, key) = rest.split_first_chunk()?;
    let (tags, value) = value.split_first_chunk()?;
    let (tags, value) = value.split_at_checked(usize::from(u16::from_be_bytes(*tags)))?;
    let cell = CellRef::new(key, value, tags, u64::from_be_bytes(*sequence));
    Some((u32::from_be_bytes(*number), cell))
}

/// Store file that is being written.
struct NewFile {
    place: StorePlace,
    path: String,
    writer: Writer,
    newest: u64,
}

impl NewFile {
    fn create(env: &Env, store: &Store, number: usize) -> anyhow::Result<Self> {
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

impl Store {
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
        }
    }
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
            let mut spill = Spill::with_memory(&env, max_bytes);
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
