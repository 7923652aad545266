//! Real data of a CSV file, read as a stream: items by number, of which only some are in memory.
//!
//! Items are requested in about the order of their numbers. A number before those in memory begins
//! the file again.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};
use flate2::read::{DeflateDecoder, GzDecoder};

/// Items in memory.
const WINDOW_ITEMS: usize = 8192;
/// Length of a ZIP archive's header of a file, without its name.
const ZIP_HEADER_BYTES: usize = 30;

/// Parser of lines: appends the items of a line, which may be none.
pub(crate) type Parser<T> = Box<dyn FnMut(&csv::StringRecord, &mut Vec<T>) -> Result<()> + Send>;
/// Returns the parser for a file with these headings.
pub(crate) type Format<T> = fn(&csv::StringRecord) -> Result<Parser<T>>;

/// Names, with the number of items that have each.
#[derive(Debug, Default)]
pub(crate) struct NameCounts(HashMap<String, u64>);

/// Items of a file.
pub(crate) struct Source<T> {
    path: PathBuf,
    format: Format<T>,
    /// Number of items, at least 1.
    items: u64,
    /// Digest of the text of the file.
    digest: u64,
    window: Mutex<Window<T>>,
}

/// Items from a number on, and the lines that follow them.
struct Window<T> {
    lines: Lines<T>,
    first: u64,
    items: VecDeque<T>,
}

/// Lines of an opened file.
struct Lines<T> {
    reader: csv::Reader<Box<dyn Read + Send>>,
    parser: Parser<T>,
    line: csv::StringRecord,
    parsed: Vec<T>,
    digest: Arc<Mutex<u64>>,
}

impl NameCounts {
    /// Counts an item.
    pub(crate) fn add(&mut self, name: &str) {
        match self.0.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(name.to_owned(), 1)),
        }
    }

    /// Returns the names, the most frequent first.
    pub(crate) fn into_ranked(self) -> Vec<String> {
        let mut counts: Vec<_> = self.0.into_iter().map(|(name, count)| (count, name)).collect();
        counts.sort_by(|a, b| b.cmp(a));
        counts.into_iter().map(|(_, name)| name).collect()
    }
}

/// Returns the index of a column of `file`.
///
/// # Errors
/// A file with other columns.
pub(crate) fn column(headings: &csv::StringRecord, name: &str, file: &str) -> Result<usize> {
    headings
        .iter()
        .position(|heading| heading == name)
        .with_context(|| format!("it has no column {name}; use {file}"))
}

impl<T: Clone> Source<T> {
    /// Reads a file once, and calls `visit` with each item.
    ///
    /// # Errors
    /// A file that cannot be read, has another format, with the line, or has no items.
    pub(crate) fn open(path: &Path, format: Format<T>, visit: &mut dyn FnMut(&T)) -> Result<Self> {
        let mut items = 0;
        let mut lines = Lines::open(path, format)?;
        while let Some(parsed) = lines.next().with_context(|| format!("file {}", path.display()))? {
            items += parsed.len() as u64;
            parsed.iter().for_each(&mut *visit);
        }
        ensure!(items > 0, "file {}: it contains no items", path.display());
        let digest = *lines.digest.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = Lines::open(path, format)?;
        let window = Mutex::new(Window { lines, first: 0, items: VecDeque::new() });
        Ok(Self { path: path.to_owned(), format, items, digest, window })
    }

    /// Returns the number of items.
    pub(crate) fn items(&self) -> u64 {
        self.items
    }

    /// Returns the digest of the text.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns an item, and how many times the file was complete before it: after the last item
    /// the first one follows again.
    ///
    /// # Errors
    /// A file that cannot be read or was changed.
    pub(crate) fn item(&self, number: u64) -> Result<(u64, T)> {
        let (round, number) = (number / self.items, number % self.items);
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if number < window.first {
            let lines = Lines::open(&self.path, self.format)?;
            *window = Window { lines, first: 0, items: VecDeque::new() };
        }
        loop {
            let at = usize::try_from(number - window.first).unwrap_or(usize::MAX);
            if let Some(item) = window.items.get(at) {
                return Ok((round, item.clone()));
            }
            let Window { lines, first, items } = &mut *window;
            let Some(parsed) = lines.next()? else {
                bail!("file {}: it became shorter while it was read", self.path.display());
            };
            items.extend(parsed.drain(..));
            let excess = items.len().saturating_sub(WINDOW_ITEMS);
            items.drain(..excess);
            *first += excess as u64;
        }
    }
}

impl<T> std::fmt::Debug for Source<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} with {} items", self.path.display(), self.items)
    }
}

impl<T> Lines<T> {
    fn open(path: &Path, format: Format<T>) -> Result<Self> {
        let open = || -> Result<Self> {
            let digest = Arc::new(Mutex::new(0xcbf2_9ce4_8422_2325));
            let text = Digesting { text: decompressed(File::open(path)?)?, digest: digest.clone() };
            let mut reader = csv::Reader::from_reader(Box::new(text) as Box<dyn Read + Send>);
            let parser = format(reader.headers()?)?;
            Ok(Self { reader, parser, line: csv::StringRecord::new(), parsed: Vec::new(), digest })
        };
        open().with_context(|| format!("file {}", path.display()))
    }

    /// Returns the items of the next line; `None` at the end.
    fn next(&mut self) -> Result<Option<&mut Vec<T>>> {
        self.parsed.clear();
        if !self.reader.read_record(&mut self.line)? {
            return Ok(None);
        }
        let number = self.line.position().map_or(0, csv::Position::line);
        (self.parser)(&self.line, &mut self.parsed).with_context(|| format!("line {number}"))?;
        Ok(Some(&mut self.parsed))
    }
}

/// Reader that computes the FNV-1a digest of what it reads.
struct Digesting {
    text: Box<dyn Read + Send>,
    digest: Arc<Mutex<u64>>,
}

impl Read for Digesting {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.text.read(buffer)?;
        let mut digest = self.digest.lock().unwrap_or_else(PoisonError::into_inner);
        *digest = buffer[..read]
            .iter()
            .fold(*digest, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Ok(read)
    }
}

/// Returns the text of a file: as it is, compressed with gzip, or the first file of a ZIP archive.
fn decompressed(file: File) -> Result<Box<dyn Read + Send>> {
    let mut file = BufReader::new(file);
    match file.fill_buf()? {
        [b'P', b'K', 3, 4, ..] => {
            skip_zip_header(&mut file)?;
            Ok(Box::new(DeflateDecoder::new(file)))
        }
        [0x1f, 0x8b, ..] => Ok(Box::new(GzDecoder::new(file))),
        _ => Ok(Box::new(file)),
    }
}

/// Reads the header of the first file of a ZIP archive.
fn skip_zip_header(file: &mut impl Read) -> Result<()> {
    const DEFLATE: u16 = 8;
    let end = "the ZIP archive ends inside its first header";
    let mut header = [0; ZIP_HEADER_BYTES];
    file.read_exact(&mut header).context(end)?;
    let number = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    if number(8) != DEFLATE {
        bail!("the ZIP archive is not compressed by DEFLATE; extract the file from it");
    }
    let names = u64::from(number(26)) + u64::from(number(28));
    let skipped = std::io::copy(&mut file.take(names), &mut std::io::sink())?;
    ensure!(skipped == names, "{end}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::read::{DeflateEncoder, GzEncoder};

    use super::*;

    fn numbers(headings: &csv::StringRecord) -> Result<Parser<u64>> {
        ensure!(headings.get(0) == Some("n"), "it has no column n");
        Ok(Box::new(|line, items| {
            let number: u64 = line[0].parse()?;
            // Lines have no item, one, or two.
            items.extend((0..number % 3).map(|part| number * 10 + part));
            Ok(())
        }))
    }

    fn compressed(mut encoder: impl Read) -> Vec<u8> {
        let mut bytes = Vec::new();
        encoder.read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn source(bytes: &[u8]) -> Result<Source<u64>> {
        let directory = tempfile::tempdir()?;
        let path = directory.keep().join("numbers.csv");
        std::fs::write(&path, bytes)?;
        Source::open(&path, numbers, &mut |_| ())
    }

    #[test]
    fn items_are_read_by_number_in_any_order() {
        let text: String = std::iter::once("n\n".to_owned())
            .chain((0..30_000).map(|n| format!("{n}\n")))
            .collect();
        let source = source(text.as_bytes()).unwrap();
        let expected: Vec<u64> =
            (0..30_000).flat_map(|n| (0..n % 3).map(move |part| n * 10 + part)).collect();
        assert_eq!(source.items(), expected.len() as u64);
        for number in [0, 29_999, 29_000, 5, 12_345, 12_344] {
            let item = expected[usize::try_from(number).unwrap()];
            assert_eq!(source.item(number).unwrap(), (0, item));
            assert_eq!(source.item(number + 2 * source.items()).unwrap(), (2, item));
        }
        assert!(source.window.lock().unwrap().items.len() <= WINDOW_ITEMS);
    }

    #[test]
    fn compressed_files_are_read_as_they_are() {
        let text = &b"n\n1\n2\n"[..];
        let gzip = compressed(GzEncoder::new(text, Compression::fast()));
        let mut zip = b"PK\x03\x04\x14\0\0\0\x08\0".to_vec();
        zip.resize(26, 0);
        zip.extend(b"\x0b\0\x02\0numbers.csvxx");
        zip.extend(compressed(DeflateEncoder::new(text, Compression::fast())));
        zip.extend(b"PK\x01\x02");
        let plain = source(text).unwrap();
        for bytes in [gzip, zip] {
            let packed = source(&bytes).unwrap();
            assert_eq!((packed.items(), packed.digest()), (3, plain.digest()));
        }
        assert_ne!(source(b"n\n1\n5\n").unwrap().digest(), plain.digest());
    }

    #[test]
    fn unreadable_files_are_named() {
        for (bytes, expected) in [
            (&b"PK\x03\x04\x14\0\0\0\x08\0"[..], "the ZIP archive ends inside"),
            (b"n\n1\nx\n", "line 3"),
            (b"n\n3\n", "it contains no items"),
        ] {
            let error = format!("{:#}", source(bytes).unwrap_err());
            assert!(error.contains(expected) && error.contains("numbers.csv"), "{error}");
        }
    }
}
