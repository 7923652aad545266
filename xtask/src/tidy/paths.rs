//! `docs/paths.md` follows calls through the code: its files and functions exist, and no page
//! returns to a file.

use std::collections::BTreeSet;

use super::extending::place;
use super::finding::Finding;
use super::phrase::{is_part_of_name, name_starts};
use super::tree::Tree;

const DOCUMENT: &str = "docs/paths.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(DOCUMENT) else {
        return vec![Finding::new(DOCUMENT, 1, "write the paths of a put and of a scan")];
    };
    let mut findings = Vec::new();
    let mut visited: BTreeSet<&str> = BTreeSet::new();
    let mut current = None;
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with("## ") {
            visited.clear();
            current = None;
        }
        let mut prose = line;
        if let Some(path) = place(line) {
            if !visited.insert(path) {
                let fix = format!("{path} was left: name it once, where the call enters it");
                findings.push(Finding::new(DOCUMENT, number, fix));
            }
            current = tree.text(path).map(|text| (path, text));
            if current.is_none() {
                findings.push(Finding::new(DOCUMENT, number, format!("{path} is missing")));
            }
            prose = line.split_once("`:").map_or("", |(_, rest)| rest);
        }
        let Some((path, source)) = current else { continue };
        for name in prose.split('`').skip(1).step_by(2) {
            if !mentions(source, name) {
                let fix = format!("{path} does not contain {name}: name what is there");
                findings.push(Finding::new(DOCUMENT, number, fix));
            }
        }
    }
    findings
}

/// Returns `true` if a source contains a word.
fn mentions(source: &str, word: &str) -> bool {
    name_starts(source, word)
        .any(|offset| !source[offset + word.len()..].starts_with(is_part_of_name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    #[test]
    fn page_names_each_file_once_with_words_of_it() {
        let document = "## A put\n1. `a.rs`: `put` calls\n   `write`.\n2. `b.rs`: it.\n\n## A scan\n1. `a.rs`: it.\n";
        let found = |document: &str| {
            let files = [(DOCUMENT, document), ("a.rs", "fn put() { write() }"), ("b.rs", "")];
            lines(&check(&Tree::from_files(&files)))
        };
        assert_eq!(found(document), Vec::<String>::new());
        assert_eq!(
            found("## A put\n1. `a.rs`: `puts`.\n2. `c.rs`: it.\n3. `a.rs`: it.\n"),
            [
                "docs/paths.md:2: a.rs does not contain puts: name what is there",
                "docs/paths.md:3: c.rs is missing",
                "docs/paths.md:4: a.rs was left: name it once, where the call enters it"
            ]
        );
    }
}
