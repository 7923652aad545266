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
use halite_types::cell::{check_key, compare_keys};

/// Runs of one level that are merged to one of the next, so that few files are open and each cell
/// is written once per level.
const MERGED_RUNS: usize = 32;
/// Buffer of the file of a run.
const BUFFER_BYTES: usize = 256 << 10;
/// Bytes of memory per cell besides key and value.
const CELL_OVERHEAD: usize = size_of::<Entry>();
/// Bytes of an entry of a run besides key and value.
const RUN_OVERHEAD: usize = 16;

/// Keys of a sorter and their order.
#[derive(Clone, Copy)]
pub(crate) struct KeyOrder {
    /// Returns `true` for bytes that `compare` takes.
    pub(crate) is_key: fn(&[u8]) -> bool,
    pub(crate) compare: fn(&[u8], &[u8]) -> Ordering,
}

/// Flat keys in the order of a store file.
pub(crate) const FLAT_KEYS: KeyOrder = KeyOrder { is_key: check_key, compare: compare_keys };

/// Returns the most bytes of runs of a sorter: none if the cells fit in memory. While runs are
/// merged, the cells of one level are on disk twice.
pub(crate) fn max_run_bytes(budget: usize, key_and_value_bytes: u64, cells: u64) -> u64 {
    let with =
        |overhead: usize| key_and_value_bytes.saturating_add(cells.saturating_mul(overhead as u64));
    if with(CELL_OVERHEAD) <= budget as u64 { 0 } else { with(RUN_OVERHEAD) }
}

/// Cell: its flat key and its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SortedCell {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
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
pub(crate) struct Sorter {
    directory: PathBuf,
    budget: usize,
    order: KeyOrder,
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
    pub(crate) fn new(directory: &Path, budget: usize, order: KeyOrder) -> Self {
        Self {
            directory: directory.to_owned(),
            budget,
            order,
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
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> anyhow::Result<()> {
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
    pub(crate) fn added(&self) -> u64 {
        self.added
    }

    /// Returns the number of runs on disk.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    fn used_bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * CELL_OVERHEAD
    }

    fn sort(&mut self) {
        let (bytes, compare) = (&self.bytes, self.order.compare);
        self.entries.sort_unstable_by(|a, b| {
            compare(a.key(bytes), b.key(bytes)).then(b.number.cmp(&a.number))
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
            let mut merged = Merge::new(self.runs.split_off(start), self.order)?;
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
    pub(crate) fn finish(
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
        let mut merged = Merge::new(std::mem::take(&mut self.runs), self.order)?;
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
    order: KeyOrder,
    cell: SortedCell,
}

impl RunReader {
    /// Reads the next cell. Returns `false` at the end.
    fn advance(&mut self) -> io::Result<bool> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let mut head = [0; RUN_OVERHEAD];
        self.input.read_exact(&mut head)?;
        let (key, value, number) = split_head(head);
        self.cell.number = number;
        read_bytes(&mut self.input, key, &mut self.cell.key)?;
        read_bytes(&mut self.input, value, &mut self.cell.value)?;
        if (self.order.is_key)(&self.cell.key) {
            Ok(true)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidData, "it has a damaged key"))
        }
    }
}

/// Reads `count` bytes in place of those before, without memory for more than there are.
fn read_bytes(input: &mut BufReader<File>, count: usize, out: &mut Vec<u8>) -> io::Result<()> {
    out.clear();
    if input.by_ref().take(count as u64).read_to_end(out)? < count {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Returns the lengths of key and value, and the number of the cell.
fn split_head(head: [u8; RUN_OVERHEAD]) -> (usize, usize, u64) {
    let number =
        |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (key, value, high, low) = (number(0), number(4), number(8), number(12));
    (key as usize, value as usize, u64::from(high) << 32 | u64::from(low))
}

/// Order in the heap, whose greatest is the next: smallest key, then the cell added last.
impl Ord for RunReader {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.order.compare)(&other.cell.key, &self.cell.key)
            .then(self.cell.number.cmp(&other.cell.number))
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
    fn new(runs: Vec<Run>, order: KeyOrder) -> anyhow::Result<Self> {
        let mut heap = BinaryHeap::with_capacity(runs.len());
        for Run { file, .. } in runs {
            let input = BufReader::with_capacity(BUFFER_BYTES, file);
            let mut run = RunReader { input, order, cell: SortedCell::default() };
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
        let mut sorter = Sorter::new(directory.path(), budget, FLAT_KEYS);
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

    #[test]
    fn run_that_was_cut_is_an_error() {
        let lengths = |sorter: &Sorter| -> Vec<u64> {
            sorter.runs.iter().map(|run| run.file.metadata().unwrap().len()).collect()
        };
        let filled = || {
            let directory = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::new(directory.path(), 1, FLAT_KEYS);
            (0..4).for_each(|at| sorter.add(&key(at), b"value").unwrap());
            (sorter, directory)
        };
        let whole = lengths(&filled().0);
        assert_eq!(whole.len(), 3);
        for (run, length) in whole.into_iter().enumerate() {
            for cut in 1..length {
                let (sorter, _directory) = filled();
                sorter.runs[run].file.set_len(cut).unwrap();
                let error = sorter.finish(|_, _| Ok(())).unwrap_err().to_string();
                assert!(error.contains("sorted cells"), "run {run} cut at {cut}: {error}");
            }
        }
    }

    #[test]
    fn runs_have_at_most_the_stated_bytes() {
        for cells in [1_usize, 50, 700] {
            let directory = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::new(directory.path(), 1000, FLAT_KEYS);
            let mut bytes = 0;
            for at in 0..cells {
                sorter.add(&key(at), b"value").unwrap();
                bytes += key(at).len() as u64 + 5;
            }
            sorter.spill().unwrap();
            let on_disk: u64 =
                sorter.runs.iter().map(|run| run.file.metadata().unwrap().len()).sum();
            let stated = max_run_bytes(1000, bytes, cells as u64);
            assert!(cells == 1 && stated == 0 || on_disk == stated, "{on_disk} of {stated}");
        }
    }
}
