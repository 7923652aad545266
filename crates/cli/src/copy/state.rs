//! Progress of a copy, in a text file: an interrupted copy resumes after its last recorded rows.
//!
//! The ranges are those of the source's regions at the start of the copy, even if the regions
//! change later. Writing rows twice changes nothing, so a record may be lost, and the file is not
//! synced.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context as _, bail};
use halite::{Bytes, to_bytes_binary, to_string_binary};

const FIRST_LINE: &str = "halite copy, version 1";

/// Range from `start` (inclusive) to `end` (exclusive); an empty key is unbounded.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) start: Bytes,
    pub(super) end: Bytes,
    /// Last row that has arrived, at least in part; all rows before it have arrived.
    pub(super) arrived: Option<Bytes>,
    pub(super) is_done: bool,
}

/// Ranges of a copy and the file that stores their progress.
pub(super) struct CopyState {
    path: PathBuf,
    ranges: Vec<Range>,
    file: Mutex<File>,
}

impl CopyState {
    /// Reads the progress of an earlier run of this copy, or starts with these ranges, each from an
    /// inclusive to an exclusive key.
    ///
    /// # Errors
    /// Returns an error if the file belongs to another copy, has another format, or cannot be read.
    pub(super) fn open(path: &Path, title: &str, keys: &[(Bytes, Bytes)]) -> anyhow::Result<Self> {
        let at = || format!("the notes of the copy, {}", path.display());
        if let Some(ranges) = read(path, title).with_context(at)? {
            let file = File::options().append(true).open(path).with_context(at)?;
            return Ok(Self { path: path.to_owned(), ranges, file: Mutex::new(file) });
        }
        let range = |(start, end): &(Bytes, Bytes)| Range {
            start: start.clone(),
            end: end.clone(),
            arrived: None,
            is_done: false,
        };
        let ranges: Vec<Range> = keys.iter().map(range).collect();
        let mut text = format!("{FIRST_LINE}\n{title}\n");
        for range in &ranges {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "range {} {}", word(&range.start), word(&range.end));
        }
        let mut file = File::create_new(path).with_context(at)?;
        file.write_all(text.as_bytes()).with_context(at)?;
        Ok(Self { path: path.to_owned(), ranges, file: Mutex::new(file) })
    }

    pub(super) fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// Returns the number of ranges that an earlier run started or finished.
    pub(super) fn count_started(&self) -> usize {
        self.ranges.iter().filter(|range| range.is_done || range.arrived.is_some()).count()
    }

    /// Records that all rows of a range up to `row` have arrived.
    pub(super) fn record_progress(&self, range: usize, row: &[u8]) -> io::Result<()> {
        self.write(&format!("arrived {range} {}\n", word(row)))
    }

    /// Records that a range has arrived.
    pub(super) fn record_done(&self, range: usize) -> io::Result<()> {
        self.write(&format!("done {range}\n"))
    }

    fn write(&self, line: &str) -> io::Result<()> {
        self.file
            .lock()
            .expect("nothing panics while it notes how far the copy is")
            .write_all(line.as_bytes())
    }

    /// Deletes the file, after the copy is complete.
    pub(super) fn remove(self) -> anyhow::Result<()> {
        std::fs::remove_file(&self.path)
            .with_context(|| format!("taking {} away", self.path.display()))
    }
}

/// Reads the ranges of a file; returns `None` if the file does not exist.
fn read(path: &Path, title: &str) -> anyhow::Result<Option<Vec<Range>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut lines = BufReader::new(file).lines();
    if lines.next().transpose()?.as_deref() != Some(FIRST_LINE) {
        bail!("it is something else; give another file with --state-file");
    }
    let noted = lines.next().transpose()?.unwrap_or_default();
    if noted != title {
        bail!(
            "it belongs to the copy of {noted}; finish that one, take the file away, or give \
             another with --state-file"
        );
    }
    let mut ranges = Vec::new();
    for line in lines {
        let line = line?;
        // The last line may be incomplete if the run was interrupted.
        if parse_line(&line, &mut ranges).is_none() && !line.is_empty() {
            tracing::debug!(line, "a note that is not whole");
        }
    }
    if ranges.is_empty() {
        bail!("it names no range; take it away and begin again");
    }
    Ok(Some(ranges))
}

fn parse_line(line: &str, ranges: &mut Vec<Range>) -> Option<()> {
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["range", start, end] => {
            ranges.push(Range {
                start: key(start)?,
                end: key(end)?,
                arrived: None,
                is_done: false,
            });
        }
        ["arrived", range, row] => {
            ranges.get_mut(range.parse::<usize>().ok()?)?.arrived = Some(key(row)?);
        }
        ["done", range] => ranges.get_mut(range.parse::<usize>().ok()?)?.is_done = true,
        _ => return None,
    }
    Some(())
}

/// Formats a key as one word: quoted, and without blanks.
fn word(key: &[u8]) -> String {
    format!("\"{}\"", to_string_binary(key).replace(' ', "\\x20"))
}

fn key(word: &str) -> Option<Bytes> {
    let inner = word.strip_prefix('"')?.strip_suffix('"')?;
    Some(to_bytes_binary(inner).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Vec<(Bytes, Bytes)> {
        vec![(Bytes::new(), "m \"\\x".into()), ("m \"\\x".into(), Bytes::new())]
    }

    #[test]
    fn copy_state_resumes_same_copy_and_rejects_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        let state = CopyState::open(&path, "a to b", &keys()).unwrap();
        state.record_progress(1, b"z\xff \"").unwrap();
        state.record_done(0).unwrap();
        drop(state);
        // Simulates a crash in the middle of a line.
        File::options().append(true).open(&path).unwrap().write_all(b"arrived 1 \"zz").unwrap();
        let again = CopyState::open(&path, "a to b", &[]).unwrap();
        let ranges = again.ranges();
        assert_eq!(again.count_started(), 2);
        assert!(ranges[0].is_done && !ranges[1].is_done);
        assert_eq!(ranges[1].arrived.as_deref(), Some(&b"z\xff \""[..]));
        assert_eq!(ranges[1].start, &b"m \"\\x"[..]);
        let other = CopyState::open(&path, "a to c", &keys()).err().unwrap();
        assert!(format!("{other:#}").contains("belongs to the copy of a to b"), "{other:#}");
        again.remove().unwrap();
        assert!(!path.exists());
    }
}
