//! External sort of cells: in memory up to a budget, and merged from sorted runs on disk beyond it.
//!
//! The files of the runs have no names, so the operating system removes them when the process ends,
//! however it does.
//!
//! ```text
//! entry of a run    u32 keyLength | u32 valueLength | u64 number of the cell | key | value
//! ```

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use halite_types::cell::compare_keys;

/// Runs of one level that are merged to one of the next, so that few files are open and each cell
/// is written once per level.
const MERGED_RUNS: usize = 32;
/// Buffer of the file of a run.
const BUFFER_BYTES: usize = 256 << 10;
/// Bytes of memory per cell besides key and value.
const CELL_OVERHEAD: usize = size_of::<Entry>();

/// Cell: its flat key and its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SortedCell {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
    /// Position in the input.
    number: u64,
}

/// Place of a cell in the buffer.
struct Entry {
    start: usize,
    key_bytes: u32,
    value_bytes: u32,
    number: u64,
}

/// Sorter of cells by key. Of cells with one key the last one added is kept.
pub(super) struct Sorter {
    directory: PathBuf,
    budget: usize,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// The levels never rise from one run to the next.
    runs: Vec<Run>,
    added: u64,
}

/// Sorted cells on disk.
struct Run {
    file: File,
    /// Number of merges that its cells went through.
    level: u32,
}

impl Sorter {
    /// Creates a sorter that uses about `budget` bytes of memory, and files in `directory`.
    pub(super) fn new(directory: &Path, budget: usize) -> Self {
        Self {
            directory: directory.to_owned(),
            budget,
            bytes: Vec::new(),
            entries: Vec::new(),
            runs: Vec::new(),
            added: 0,
        }
    }

    /// Adds a cell.
    ///
    /// # Errors
    /// Returns an error if a run cannot be written.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) -> anyhow::Result<()> {
        let size = key.len() + value.len() + CELL_OVERHEAD;
        if !self.entries.is_empty() && self.used_bytes() + size > self.budget {
            self.spill()?;
        }
        let length = |part: &[u8]| u32::try_from(part.len()).context("a cell above 4 GiB");
        self.entries.push(Entry {
            start: self.bytes.len(),
            key_bytes: length(key)?,
            value_bytes: length(value)?,
            number: self.added,
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.added += 1;
        Ok(())
    }

    /// Returns the number of cells added.
    pub(super) fn added(&self) -> u64 {
        self.added
    }

    /// Returns the number of runs on disk.
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    fn used_bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * CELL_OVERHEAD
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries.sort_unstable_by(|a, b| {
            compare_keys(a.key(bytes), b.key(bytes)).then(b.number.cmp(&a.number))
        });
    }

    /// Writes the cells in memory to a run.
    fn spill(&mut self) -> anyhow::Result<()> {
        self.sort();
        let mut run = RunWriter::create(&self.directory)?;
        for entry in &self.entries {
            run.write(entry.key(&self.bytes), entry.value(&self.bytes), entry.number)?;
        }
        self.runs.push(Run { file: run.finish()?, level: 0 });
        self.bytes.clear();
        self.entries.clear();
        self.merge_full_levels()
    }

    /// Merges the last runs while they are a full level.
    fn merge_full_levels(&mut self) -> anyhow::Result<()> {
        while let Some(level) = self.runs.last().map(|run| run.level) {
            let start = self.runs.partition_point(|run| run.level > level);
            if self.runs.len() - start < MERGED_RUNS {
                break;
            }
            let mut merged = Merge::new(self.runs.split_off(start))?;
            let mut run = RunWriter::create(&self.directory)?;
            while let Some(cell) = merged.next_cell()? {
                run.write(&cell.key, &cell.value, cell.number)?;
            }
            self.runs.push(Run { file: run.finish()?, level: level + 1 });
        }
        Ok(())
    }

    /// Passes the cells in order of their keys, each key once, the last one added.
    ///
    /// # Errors
    /// Returns the first error of `each`, or of a run.
    pub(super) fn finish(
        mut self,
        mut each: impl FnMut(&[u8], &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if self.runs.is_empty() {
            self.sort();
            let mut last: Option<&[u8]> = None;
            for entry in &self.entries {
                let key = entry.key(&self.bytes);
                if last != Some(key) {
                    each(key, entry.value(&self.bytes))?;
                }
                last = Some(key);
            }
            return Ok(());
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        // The buffer is no longer needed, and those of the runs are.
        (self.bytes, self.entries) = (Vec::new(), Vec::new());
        let mut merged = Merge::new(std::mem::take(&mut self.runs))?;
        while let Some(cell) = merged.next_cell()? {
            each(&cell.key, &cell.value)?;
        }
        Ok(())
    }
}

impl Entry {
    fn key<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[self.start..self.start + self.key_bytes as usize]
    }

    fn value<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let start = self.start + self.key_bytes as usize;
        &bytes[start..start + self.value_bytes as usize]
    }
}

/// Writer of a run.
struct RunWriter {
    out: BufWriter<File>,
}

impl RunWriter {
    fn create(directory: &Path) -> anyhow::Result<Self> {
        let file = tempfile::tempfile_in(directory)
            .with_context(|| format!("creating a file to sort with in {}", directory.display()))?;
        Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, file) })
    }

    fn write(&mut self, key: &[u8], value: &[u8], number: u64) -> anyhow::Result<()> {
        let length = |part: &[u8]| u32::try_from(part.len()).map(u32::to_be_bytes);
        let (key_bytes, value_bytes) = (length(key)?, length(value)?);
        for part in [&key_bytes[..], &value_bytes, &number.to_be_bytes(), key, value] {
            self.out.write_all(part).context("writing cells to sort")?;
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<File> {
        let mut file = self
            .out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .context("writing cells to sort")?;
        file.rewind().context("reading sorted cells")?;
        Ok(file)
    }
}

/// Reader of a run, at its next cell.
struct RunReader {
    input: BufReader<File>,
    cell: SortedCell,
}

impl RunReader {
    /// Reads the next cell. Returns `false` at the end.
    fn advance(&mut self) -> io::Result<bool> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let mut head = [0; 16];
        self.input.read_exact(&mut head)?;
        let (key, value, number) = split_head(head);
        self.cell.key.resize(key, 0);
        self.cell.value.resize(value, 0);
        self.cell.number = number;
        self.input.read_exact(&mut self.cell.key)?;
        self.input.read_exact(&mut self.cell.value)?;
        Ok(true)
    }
}

/// Returns the lengths of key and value, and the number of the cell.
fn split_head(head: [u8; 16]) -> (usize, usize, u64) {
    let number =
        |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (key, value, high, low) = (number(0), number(4), number(8), number(12));
    (key as usize, value as usize, u64::from(high) << 32 | u64::from(low))
}

/// Order in the heap, whose greatest is the next: smallest key, then the cell added last.
impl Ord for RunReader {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_keys(&other.cell.key, &self.cell.key).then(self.cell.number.cmp(&other.cell.number))
    }
}

impl PartialOrd for RunReader {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RunReader {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for RunReader {}

/// Merge of runs.
struct Merge {
    heap: BinaryHeap<RunReader>,
    last: SortedCell,
    has_last: bool,
}

impl Merge {
    fn new(runs: Vec<Run>) -> anyhow::Result<Self> {
        let mut heap = BinaryHeap::with_capacity(runs.len());
        for Run { file, .. } in runs {
            let input = BufReader::with_capacity(BUFFER_BYTES, file);
            let mut run = RunReader { input, cell: SortedCell::default() };
            if run.advance().context("reading sorted cells")? {
                heap.push(run);
            }
        }
        Ok(Self { heap, last: SortedCell::default(), has_last: false })
    }

    /// Returns the next cell whose key differs from the one before.
    fn next_cell(&mut self) -> anyhow::Result<Option<&SortedCell>> {
        while let Some(mut run) = self.heap.pop() {
            let is_new = !self.has_last || run.cell.key != self.last.key;
            if is_new {
                std::mem::swap(&mut self.last, &mut run.cell);
                self.has_last = true;
            }
            if run.advance().context("reading sorted cells")? {
                self.heap.push(run);
            }
            if is_new {
                return Ok(Some(&self.last));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use halite_types::cell::make_key;

    use super::*;

    type KeyAndValue = (Vec<u8>, Vec<u8>);

    fn key(number: usize) -> Vec<u8> {
        make_key(format!("{number:05}").as_bytes(), b"f", b"q", 5, 4)
    }

    /// Returns the sorted cells and the number of runs.
    fn sorted(budget: usize, cells: usize) -> (Vec<KeyAndValue>, usize) {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(directory.path(), budget);
        for at in 0..cells {
            sorter.add(&key(at * 7919 % 1000), at.to_string().as_bytes()).unwrap();
        }
        let runs = sorter.runs();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "files have no names");
        let mut found = Vec::new();
        let push = |key: &[u8], value: &[u8]| {
            found.push((key.to_vec(), value.to_vec()));
            Ok(())
        };
        sorter.finish(push).unwrap();
        (found, runs)
    }

    #[test]
    fn sorting_on_disk_equals_sorting_in_memory() {
        let (in_memory, runs) = sorted(1 << 30, 5000);
        assert_eq!((in_memory.len(), runs), (1000, 0));
        assert_eq!(in_memory[7].0, key(7));
        // The last of the cells with one key: those at 4000 and later.
        assert!(in_memory.iter().all(|(_, value)| value.len() == 4 && value[0] == b'4'));
        let (few_runs, runs) = sorted(40_000, 5000);
        assert!((2..MERGED_RUNS).contains(&runs), "{runs}");
        assert_eq!(few_runs, in_memory);
        // More than a thousand runs, so that merged ones are merged again.
        let (many_runs, runs) = sorted(300, 5000);
        assert!(runs < 3 * MERGED_RUNS, "{runs}");
        assert_eq!(many_runs, in_memory);
    }
}
