//! `docs/extending.md` names every place that an extension touches.
//!
//! Each section follows one existing example through the code, by one or several names. The product
//! files that mention it must be the files that the section lists, so neither a new place nor a
//! moved one can be forgotten.
//!
//! ```text
//! ## A filter
//!
//! Example: `ColumnPagination`, `column_pagination`.
//!
//! 1. `crates/types/src/filter.rs`: the variant ...
//! ```

use std::collections::BTreeSet;

use super::finding::Finding;
use super::phrase::name_starts;
use super::product::{is_test_or_generated, without_unit_tests};
use super::tree::Tree;

const DOCUMENT: &str = "docs/extending.md";

/// Start of the line that names a section's example.
const EXAMPLE: &str = "Example: `";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(DOCUMENT) else {
        return vec![Finding::new(DOCUMENT, 1, "write how each kind of extension is made")];
    };
    sections(text).iter().flat_map(|section| section.check(tree)).collect()
}

/// Section with its example and the files of its list.
struct Section<'a> {
    title: &'a str,
    line: usize,
    /// Names of the example.
    example: Vec<&'a str>,
    /// Path and line of each place.
    places: Vec<(&'a str, usize)>,
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(Section {
                title,
                line: index + 1,
                example: Vec::new(),
                places: Vec::new(),
            });
        }
        let Some(section) = sections.last_mut() else { continue };
        if let Some(rest) = line.strip_prefix(EXAMPLE) {
            section.example = rest.split('`').step_by(2).collect();
        }
        section.places.extend(place(line).map(|path| (path, index + 1)));
    }
    sections
}

/// Returns the path at the start of a list item: ``1. `path`: ...``.
pub(super) fn place(line: &str) -> Option<&str> {
    let (number, rest) = line.split_once(". `")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| rest.split('`').next())?
}

impl Section<'_> {
    fn check(&self, tree: &Tree) -> Vec<Finding> {
        let names = &self.example;
        if names.is_empty() {
            let fix = format!("name an example that exists, as in {EXAMPLE}Name`");
            return vec![Finding::new(DOCUMENT, self.line, fix)];
        }
        let example = names.join(" or ");
        let mentions = |text: &str| names.iter().any(|name| mentions(text, name));
        let mut findings = Vec::new();
        for (path, line) in &self.places {
            match tree.text(path) {
                None => findings.push(Finding::new(DOCUMENT, *line, format!("{path} is missing"))),
                Some(text) if is_product(path) && !mentions(text) => {
                    let fix = format!("{path} does not mention {example}: name the right file");
                    findings.push(Finding::new(DOCUMENT, *line, fix));
                }
                Some(_) => {}
            }
        }
        let listed: BTreeSet<&str> = self.places.iter().map(|(path, _)| *path).collect();
        for path in tree.paths().filter(|path| is_product(path) && !listed.contains(path)) {
            if tree.text(path).is_some_and(mentions) {
                let title = self.title;
                let fix = format!("{path} mentions {example} too: list it under \"{title}\"");
                findings.push(Finding::new(DOCUMENT, self.line, fix));
            }
        }
        findings
    }
}

/// Returns `true` for code of the product that people write.
fn is_product(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_source = parts.next() == Some("crates") && parts.any(|part| part == "src");
    let is_code = matches!(path.rsplit('.').next(), Some("rs" | "proto"));
    is_source && is_code && !is_test_or_generated(path)
}

/// Returns `true` if code outside comments and unit tests has a word that starts with `example`.
fn mentions(text: &str, example: &str) -> bool {
    let code = without_unit_tests(text).lines();
    code.map(|line| line.split("//").next().unwrap_or_default())
        .any(|line| name_starts(line, example).next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    const CODE: (&str, &str) = ("crates/a/src/one.rs", "//! A.\nenum Filter { Page }\n");

    fn found(document: &str, more: (&str, &str)) -> Vec<String> {
        lines(&check(&Tree::from_files(&[(DOCUMENT, document), CODE, more])))
    }

    #[test]
    fn listed_places_that_mention_the_example_are_right() {
        let document = "# T\n\n## A filter\n\nExample: `Page`, `page`.\n\n1. `crates/a/src/one.rs`: it.\n2. `docs/x.md`: it.\n";
        assert_eq!(found(document, ("docs/x.md", "")), Vec::<String>::new());
        let comment = "//! B.\n// Page\n#[cfg(test)]\nmod tests { Page }\n";
        assert_eq!(
            found(document, ("crates/a/src/two.rs", comment)),
            ["docs/extending.md:8: docs/x.md is missing"]
        );
    }

    #[test]
    fn unlisted_and_wrong_places_are_found() {
        let document = "## A filter\nExample: `Page`.\n1. `crates/a/src/two.rs`: it.\n";
        assert_eq!(
            found(document, ("crates/a/src/two.rs", "fn homePage() {}\n")),
            [
                "docs/extending.md:3: crates/a/src/two.rs does not mention Page: name the right file",
                "docs/extending.md:1: crates/a/src/one.rs mentions Page too: list it under \"A filter\""
            ]
        );
    }

    #[test]
    fn section_without_example_is_found() {
        let found = found("## A filter\n", ("docs/x.md", ""));
        assert_eq!(
            found,
            ["docs/extending.md:1: name an example that exists, as in Example: `Name`"]
        );
    }
}
