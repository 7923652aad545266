//! What a client said of a server, beside what it said of HBase.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;

/// How many lines of a difference are shown; all of it lies in a file.
const SHOWN_MAX: usize = 120;

/// Where the transcript of a client's talk with HBase is kept.
pub(crate) fn path(client: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/clients").join(format!("{client}.txt"))
}

/// Keeps a transcript.
pub(crate) fn record(client: &str, found: &str) -> Result<()> {
    let path = path(client);
    fs::write(&path, found).map_err(|error| format!("{}: {error}", path.display()))
}

/// Compares a transcript with the one that is kept.
///
/// # Errors
/// If they differ: the lines that do, below the line they follow.
pub(crate) fn compare(client: &str, found: &str) -> Result<()> {
    let path = path(client);
    let expected = fs::read_to_string(&path).map_err(|error| format!("{}: {error}; record it: cargo xtask interop --record", path.display()))?;
    let difference = difference(&expected, found);
    if difference.is_empty() {
        return Ok(());
    }
    let lines = difference.iter().filter(|line| line.starts_with(['-', '+'])).count();
    let mut text = format!("{lines} lines are not as with HBase (- HBase, + here):\n");
    for line in difference.iter().take(SHOWN_MAX) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    }
    if difference.len() > SHOWN_MAX {
        let _ = writeln!(text, "... and {} more", difference.len() - SHOWN_MAX);
    }
    Err(text)
}

/// The lines that differ, each run of them after the line before it.
pub(crate) fn difference(expected: &str, found: &str) -> Vec<String> {
    let (left, right): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    let common = common(&left, &right);
    let mut told = Vec::new();
    let (mut at, mut other) = (0, 0);
    let mut before = "(the beginning)";
    for &(next, next_other) in common.iter().chain([&(left.len(), right.len())]) {
        if at < next || other < next_other {
            told.push(format!("  {before}"));
        }
        told.extend(left.get(at..next).unwrap_or_default().iter().map(|line| format!("- {line}")));
        told.extend(right.get(other..next_other).unwrap_or_default().iter().map(|line| format!("+ {line}")));
        before = left.get(next).copied().unwrap_or_default();
        (at, other) = (next + 1, next_other + 1);
    }
    told
}

/// The longest list of equal lines, as their places in both.
fn common(left: &[&str], right: &[&str]) -> Vec<(usize, usize)> {
    let width = right.len() + 1;
    // For each pair of places, how many lines the rest of both have in common.
    let mut rest = vec![0_u32; (left.len() + 1) * width];
    for at in (0..left.len()).rev() {
        for other in (0..right.len()).rev() {
            let here = at * width + other;
            rest[here] = if left[at] == right[other] { rest[here + width + 1] + 1 } else { rest[here + width].max(rest[here + 1]) };
        }
    }
    let (mut at, mut other) = (0, 0);
    let mut pairs = Vec::new();
    while at < left.len() && other < right.len() {
        let here = at * width + other;
        if left[at] == right[other] {
            pairs.push((at, other));
            (at, other) = (at + 1, other + 1);
        } else if rest[here + width] >= rest[here + 1] {
            at += 1;
        } else {
            other += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_transcripts_have_no_difference() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), Vec::<String>::new());
        assert_eq!(difference("", ""), Vec::<String>::new());
    }

    #[test]
    fn a_line_more_does_not_shift_the_others() {
        assert_eq!(difference("a\nb\nc\n", "a\nx\nb\nc\n"), ["  a", "+ x"]);
        assert_eq!(difference("a\nb\nc\n", "a\nc\n"), ["  a", "- b"]);
        assert_eq!(difference("a\n", "b\n"), ["  (the beginning)", "- a", "+ b"]);
        assert_eq!(difference("a\n", "a\nb\n"), ["  a", "+ b"]);
    }
}
