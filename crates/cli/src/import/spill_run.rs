//! Runs: cells that did not fit in memory, in files that are merged later.
//!
//! ```text
//! record    number of the store u32 | sequence id u64 | cell, which begins with its length i32
//! ```
//! A run is ordered by store, then as a store file. Of equal cells, that of the newest run counts.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use halite::CellRef;
use halite_types::cell::{compare_cells, read_cell, write_cell};

/// Bytes of the buffer of a run that is written, and of one that is read.
const WRITE_BYTES: usize = 1 << 20;
const READ_BYTES: usize = 128 << 10;
/// Bytes of a record besides its cell.
pub(super) const RECORD_OVERHEAD_BYTES: u64 = 12;
/// Runs of one level that are merged to one of the next. At most this many of each level are open.
const FAN_IN: usize = 64;

/// Runs from the oldest to the newest.
pub(super) struct Runs {
    directory: PathBuf,
    /// With how often the cells of each were merged, which falls towards the newest.
    files: Vec<(u32, PathBuf)>,
    created: u64,
    /// Runs of one level that are merged.
    fan_in: usize,
}

impl Runs {
    /// Runs are written into a directory, and removed when they are merged.
    pub(super) fn new(directory: &Path) -> Self {
        let directory = directory.to_owned();
        Self { directory, files: Vec::new(), created: 0, fan_in: FAN_IN }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds a run. `write` writes the records in their order.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written.
    pub(super) fn add(
        &mut self,
        write: impl FnOnce(&mut RunWriter) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.create(0, write)?;
        loop {
            let first = self.files.len().saturating_sub(self.fan_in);
            let newest = &self.files[first..];
            let level = newest[0].0;
            if newest.len() < self.fan_in || newest.iter().any(|(of, _)| *of != level) {
                return Ok(());
            }
            let merged = self.files.split_off(first);
            self.create(level + 1, |writer| {
                merge(&merged, |store, cell| writer.write(store, cell))
            })?;
            remove(&merged)?;
        }
    }

    /// Calls `take` with the number of the store and each cell, in the order of a run.
    ///
    /// # Errors
    /// Returns an error if a run cannot be read, or that of `take`.
    pub(super) fn merge(
        self,
        take: impl FnMut(u32, CellRef<'_>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        merge(&self.files, take)?;
        remove(&self.files)
    }

    fn create(
        &mut self,
        level: u32,
        write: impl FnOnce(&mut RunWriter) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let path = self.directory.join(format!("run-{}", self.created));
        self.created += 1;
        let file = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
        let mut writer =
            RunWriter { output: BufWriter::with_capacity(WRITE_BYTES, file), buffer: Vec::new() };
        write(&mut writer)
            .and_then(|()| Ok(writer.output.flush()?))
            .with_context(|| format!("writing {}", path.display()))?;
        self.files.push((level, path));
        Ok(())
    }
}

/// Run that is being written.
pub(super) struct RunWriter {
    output: BufWriter<File>,
    buffer: Vec<u8>,
}

impl RunWriter {
    /// Appends a cell with its sequence id to those of a store.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub(super) fn write(&mut self, store: u32, cell: CellRef<'_>) -> anyhow::Result<()> {
        self.buffer.clear();
        self.buffer.extend_from_slice(&store.to_be_bytes());
        self.buffer.extend_from_slice(&cell.sequence_id().to_be_bytes());
        write_cell(&mut self.buffer, cell);
        Ok(self.output.write_all(&self.buffer)?)
    }
}

fn remove(runs: &[(u32, PathBuf)]) -> anyhow::Result<()> {
    runs.iter().try_for_each(|(_, path)| {
        fs::remove_file(path).with_context(|| format!("removing {}", path.display()))
    })
}

/// Reads runs, from the oldest to the newest, in the order of their records.
fn merge(
    runs: &[(u32, PathBuf)],
    mut take: impl FnMut(u32, CellRef<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut heads = BinaryHeap::new();
    for (age, (_, path)) in runs.iter().enumerate() {
        let head = Head::open(path, age).with_context(|| format!("reading {}", path.display()))?;
        heads.extend(head.map(Reverse));
    }
    let mut last: Option<Record> = None;
    // A head that cannot be read further has no record, and must not be among the others.
    while let Some(Reverse(mut head)) = heads.pop() {
        let record = &head.record;
        if last.as_ref().is_none_or(|last| last.order(record).is_ne()) {
            take(record.store, record.cell())?;
            last.get_or_insert_default().copy_from(record);
        }
        if head.advance().context("reading a file of recovered cells")? {
            heads.push(Reverse(head));
        }
    }
    Ok(())
}

/// Cell with its store.
#[derive(Default)]
struct Record {
    store: u32,
    sequence: u64,
    bytes: Vec<u8>,
}

impl Record {
    fn cell(&self) -> CellRef<'_> {
        read_cell(&self.bytes, self.sequence).expect("it was checked when it was read").0
    }

    fn order(&self, other: &Self) -> Ordering {
        self.store.cmp(&other.store).then_with(|| compare_cells(&self.cell(), &other.cell()))
    }

    fn copy_from(&mut self, other: &Self) {
        (self.store, self.sequence) = (other.store, other.sequence);
        self.bytes.clone_from(&other.bytes);
    }
}

/// Run with its next record.
struct Head {
    input: BufReader<File>,
    /// Number of the run; the greater one is newer.
    age: usize,
    record: Record,
}

impl Head {
    /// Returns `None` for a run without a record.
    fn open(path: &Path, age: usize) -> io::Result<Option<Self>> {
        let input = BufReader::with_capacity(READ_BYTES, File::open(path)?);
        let mut head = Self { input, age, record: Record::default() };
        Ok(head.advance()?.then_some(head))
    }

    /// Reads the next record. Returns `false` at the end.
    fn advance(&mut self) -> io::Result<bool> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let (mut store, mut sequence, mut length) = ([0; 4], [0; 8], [0; 4]);
        self.input.read_exact(&mut store)?;
        self.input.read_exact(&mut sequence)?;
        self.input.read_exact(&mut length)?;
        let Record { store: of, sequence: at, bytes } = &mut self.record;
        (*of, *at) = (u32::from_be_bytes(store), u64::from_be_bytes(sequence));
        bytes.clear();
        bytes.extend_from_slice(&length);
        self.input.by_ref().take(u64::from(u32::from_be_bytes(length))).read_to_end(bytes)?;
        match read_cell(bytes, *at) {
            Ok(_) => Ok(true),
            Err(why) => Err(io::Error::new(io::ErrorKind::InvalidData, why.to_string())),
        }
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.record.order(&other.record).then_with(|| other.age.cmp(&self.age))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

#[cfg(test)]
mod tests {
    use halite_types::CellType;
    use halite_types::cell::make_key;

    use super::*;

    fn write(runs: &mut Runs, records: &[(u32, &str, u64, &str)]) {
        runs.add(|writer| {
            records.iter().try_for_each(|(store, row, sequence, value)| {
                let key = make_key(row.as_bytes(), b"f", b"q", 7, CellType::Put.code());
                writer.write(*store, CellRef::new(&key, value.as_bytes(), &[], *sequence))
            })
        })
        .unwrap();
    }

    #[test]
    fn runs_of_any_number_are_merged_in_order() {
        for fan_in in [2, 3, FAN_IN] {
            let folder = tempfile::tempdir().unwrap();
            let mut runs = Runs { fan_in, ..Runs::new(folder.path()) };
            for number in 0..9_u64 {
                let value = number.to_string();
                write(
                    &mut runs,
                    &[(0, "a", 1, &value), (0, "b", number, &value), (1, "a", 1, &value)],
                );
            }
            let files = fs::read_dir(folder.path()).unwrap().count();
            assert!(fan_in == FAN_IN || files < 4, "{files} files of at most {fan_in} runs");
            let mut found = Vec::new();
            runs.merge(|store, cell| {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                found.push(format!("{store}{}{}", text(cell.row()), text(cell.value())));
                Ok(())
            })
            .unwrap();
            let expected = "0a8 0b8 0b7 0b6 0b5 0b4 0b3 0b2 0b1 0b0 1a8";
            assert_eq!(found.join(" "), expected, "{fan_in}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn run_that_was_cut_is_an_error() {
        let records = [(0, "a", 1, "first"), (0, "c", 2, "other"), (0, "d", 3, "third")];
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Runs::new(folder.path());
        for _ in 0..3 {
            write(&mut runs, &records);
        }
        for (_, path) in &runs.files {
            let whole = fs::read(path).unwrap();
            let record = whole.len() / records.len();
            for length in (record..whole.len()).filter(|length| length % record != 0) {
                fs::write(path, &whole[..length]).unwrap();
                let error = merge(&runs.files, |_, _| Ok(())).unwrap_err().to_string();
                assert!(error.contains("recovered cells"), "cut at {length}: {error}");
            }
            fs::write(path, whole).unwrap();
        }
    }
}
