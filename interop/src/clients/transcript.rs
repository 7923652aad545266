//! Comparison of a client's output on a server with its output on HBase.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;

/// Maximum number of printed lines of a difference; a file contains all of them.
const MAX_SHOWN_LINES: usize = 120;

/// Returns the path of the stored transcript of a client on HBase.
pub(crate) fn path(client: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/clients").join(format!("{client}.txt"))
}

/// Stores a transcript.
pub(crate) fn record(client: &str, found: &str) -> Result<()> {
    let path = path(client);
    fs::write(&path, found).map_err(|error| format!("{}: {error}", path.display()))
}

/// Compares a transcript with the stored one. Known differences must match exactly.
///
/// # Errors
/// Returns unknown differences, each after the line that precedes it.
pub(crate) fn compare(client: &str, found: &str, known: &[KnownDifference]) -> Result<()> {
    let path = path(client);
    let expected = fs::read_to_string(&path).map_err(|error| {
        format!("{}: {error}; record it: cargo xtask interop --record", path.display())
    })?;
    let hunks = difference(&expected, found);
    let known: Vec<_> = known
        .iter()
        .filter(|known| client.starts_with(&known.client))
        .map(|known| &known.hunk)
        .collect();
    let new: Vec<_> = hunks.iter().filter(|hunk| !known.contains(hunk)).flatten().collect();
    let gone: Vec<_> = known.into_iter().filter(|hunk| !hunks.contains(hunk)).flatten().collect();
    let mut text = String::new();
    if !new.is_empty() {
        let lines = new.iter().filter(|line| line.starts_with(['-', '+'])).count();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{lines} lines differ from HBase (- HBase, + here):");
        for line in new.iter().take(MAX_SHOWN_LINES) {
            let _ = writeln!(text, "{line}");
        }
        if new.len() > MAX_SHOWN_LINES {
            let _ = writeln!(text, "... and {} more", new.len() - MAX_SHOWN_LINES);
        }
    }
    if !gone.is_empty() {
        let _ =
            writeln!(text, "this difference no longer occurs; remove it from {KNOWN_DIFFERENCES}:");
        for line in gone {
            let _ = writeln!(text, "{line}");
        }
    }
    if text.is_empty() { Ok(()) } else { Err(text) }
}

const KNOWN_DIFFERENCES: &str = "interop/testdata/clients/known_differences.txt";

/// Difference from the file of known differences.
pub(crate) struct KnownDifference {
    /// Prefix of the names of the affected clients.
    client: String,
    hunk: Hunk,
}

/// Run of differing lines, after the line that precedes it.
type Hunk = Vec<String>;

/// Returns the known differences.
pub(crate) fn known_differences() -> Result<Vec<KnownDifference>> {
    let path = path("known_differences");
    Ok(parse(&fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?))
}

/// Parses differences. Each starts with `@ CLIENT`; lines with `#` contain the reason.
fn parse(text: &str) -> Vec<KnownDifference> {
    let mut all: Vec<KnownDifference> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match (line.strip_prefix("@ "), all.last_mut()) {
            (Some(client), _) => {
                all.push(KnownDifference { client: client.to_string(), hunk: Vec::new() });
            }
            (None, Some(known)) => known.hunk.push(line.to_string()),
            (None, None) => {}
        }
    }
    all
}

/// Returns the differing lines, each run after the line before it.
fn difference(expected: &str, found: &str) -> Vec<Hunk> {
    let (left, right): (Vec<_>, Vec<_>) = (expected.lines().collect(), found.lines().collect());
    let common = common(&left, &right);
    let mut hunks = Vec::new();
    let (mut index, mut other) = (0, 0);
    let mut before = "(the beginning)";
    for &(next, next_other) in common.iter().chain([&(left.len(), right.len())]) {
        if index < next || other < next_other {
            let mut hunk = vec![format!("  {before}")];
            hunk.extend(
                left.get(index..next).unwrap_or_default().iter().map(|line| format!("- {line}")),
            );
            hunk.extend(
                right
                    .get(other..next_other)
                    .unwrap_or_default()
                    .iter()
                    .map(|line| format!("+ {line}")),
            );
            hunks.push(hunk);
        }
        before = left.get(next).copied().unwrap_or_default();
        (index, other) = (next + 1, next_other + 1);
    }
    hunks
}

/// Returns the longest common subsequence of lines, as indexes in both.
fn common(left: &[&str], right: &[&str]) -> Vec<(usize, usize)> {
    let width = right.len() + 1;
    // For each pair of indexes, the number of lines that the rests of both have in common.
    let mut rest = vec![0_u32; (left.len() + 1) * width];
    for index in (0..left.len()).rev() {
        for other in (0..right.len()).rev() {
            let here = index * width + other;
            rest[here] = if left[index] == right[other] {
                rest[here + width + 1] + 1
            } else {
                rest[here + width].max(rest[here + 1])
            };
        }
    }
    let (mut index, mut other) = (0, 0);
    let mut pairs = Vec::new();
    while index < left.len() && other < right.len() {
        let here = index * width + other;
        if left[index] == right[other] {
            pairs.push((index, other));
            (index, other) = (index + 1, other + 1);
        } else if rest[here + width] >= rest[here + 1] {
            index += 1;
        } else {
            other += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(expected: &str, found: &str) -> Vec<String> {
        difference(expected, found).concat()
    }

    #[test]
    fn equal_transcripts_have_no_difference() {
        assert_eq!(lines("a\nb\n", "a\nb\n"), Vec::<String>::new());
        assert_eq!(lines("", ""), Vec::<String>::new());
    }

    #[test]
    fn extra_line_does_not_shift_later_lines() {
        assert_eq!(lines("a\nb\nc\n", "a\nx\nb\nc\n"), ["  a", "+ x"]);
        assert_eq!(lines("a\nb\nc\n", "a\nc\n"), ["  a", "- b"]);
        assert_eq!(lines("a\n", "b\n"), ["  (the beginning)", "- a", "+ b"]);
        assert_eq!(lines("a\n", "a\nb\n"), ["  a", "+ b"]);
    }

    #[test]
    fn known_difference_passes_only_while_present_for_its_clients() {
        let recorded = fs::read_to_string(path("gohbase")).expect("the recorded transcript");
        let other = format!("{recorded}one line more\n");
        let last = recorded.lines().last().expect("a line");
        let known = parse(&format!("# why\n@ go\n  {last}\n+ one line more\n"));
        assert_eq!(compare("gohbase", &other, &known), Ok(()));
        assert!(
            compare("gohbase", &recorded, &known).is_err_and(|text| text.contains("no longer"))
        );
        assert!(
            compare("gohbase", &other, &[]).is_err_and(|text| text.contains("+ one line more"))
        );
        let of_another = parse(&format!("@ asynchbase\n  {last}\n+ one line more\n"));
        assert!(compare("gohbase", &other, &of_another).is_err());
    }
}
