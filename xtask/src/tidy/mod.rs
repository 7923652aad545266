//! Checks of the source tree that no compiler performs. Each finding names the location and the
//! fix.

mod crate_graph;
mod dependencies;
mod links;
mod manifest;
mod sources;
mod testdata;
mod tree;
mod words;

use std::fmt;

use crate::Result;
use crate::command::root;
use tree::Tree;

/// Violation to fix.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    fix: String,
}

impl Finding {
    fn new(path: &str, line: usize, fix: impl Into<String>) -> Self {
        Self { path: path.to_string(), line, fix: fix.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.fix)
    }
}

/// Check of the whole tree.
type Check = fn(&Tree) -> Vec<Finding>;

const CHECKS: [Check; 6] = [
    crate_graph::check,
    dependencies::check,
    sources::check,
    links::check,
    testdata::check,
    words::check,
];

/// `cargo xtask tidy`.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::read(&root())?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => Err("tidy: 1 finding".to_string()),
        count => Err(format!("tidy: {count} findings")),
    }
}

/// Returns the positions of `phrase` in `text`; if it starts with a letter, only where no word
/// continues into it. A path is found anywhere.
fn word_starts<'a>(text: &'a str, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = phrase.starts_with(char::is_alphabetic);
    let positions = text.match_indices(phrase).map(|(offset, _)| offset);
    positions.filter(move |offset| !(is_word && text[..*offset].ends_with(char::is_alphabetic)))
}

/// Formats the locations and fixes of findings, one line each, for tests.
#[cfg(test)]
fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::word_starts;

    #[test]
    fn words_match_at_word_starts_and_paths_anywhere() {
        assert_eq!(word_starts("was late as late", "as late").collect::<Vec<_>>(), [9]);
        assert_eq!(word_starts("x/tmp/y", "/tmp/").collect::<Vec<_>>(), [1]);
    }
}
