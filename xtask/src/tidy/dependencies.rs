//! Each direct dependency has a row with a reason in `docs/dependencies.md`, and each row a
//! dependency.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::manifest::{dependencies, package_name};
use super::tree::Tree;

const DOCUMENT: &str = "docs/dependencies.md";
/// Minimum number of letters in a reason.
const MIN_REASON_LETTERS: usize = 20;

struct Row<'a> {
    line: usize,
    reason: &'a str,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rows = rows(tree.text(DOCUMENT).unwrap_or_default());
    let manifests: Vec<_> = tree.with_ending("Cargo.toml").collect();
    let ours: Vec<_> = manifests.iter().filter_map(|(_, text)| package_name(text)).collect();
    let mut findings = Vec::new();
    let mut used = Vec::new();
    for (path, text) in &manifests {
        let own_workspace = text.lines().any(|line| line == "[workspace]");
        for found in dependencies(text).into_iter().filter(|found| !ours.contains(&found.name)) {
            used.push(found.name);
            if !found.inherited && !own_workspace {
                let message = format!(
                    "write `{}.workspace = true` and its version in the top Cargo.toml",
                    found.name
                );
                findings.push(Finding::new(path, found.line, message));
            } else if !found.inherited
                && rows.get(found.name).is_none_or(|row| row.reason.len() < MIN_REASON_LETTERS)
            {
                let message = format!(
                    "add a row for `{}` to {DOCUMENT} with its purpose and the alternatives",
                    found.name
                );
                findings.push(Finding::new(path, found.line, message));
            }
        }
    }
    let gone = rows.iter().filter(|(name, _)| !used.contains(name));
    findings.extend(gone.map(|(name, row)| {
        Finding::new(DOCUMENT, row.line, format!("nothing depends on `{name}`: remove the row"))
    }));
    findings.extend(unused(tree));
    findings
}

/// Returns workspace dependencies that no member uses.
fn unused(tree: &Tree) -> Vec<Finding> {
    let taken: Vec<_> = tree
        .with_ending("Cargo.toml")
        .flat_map(|(_, text)| dependencies(text))
        .filter(|found| found.inherited)
        .map(|found| found.name)
        .collect();
    let offered = tree
        .with_ending("Cargo.toml")
        .flat_map(|(path, text)| dependencies(text).into_iter().map(move |found| (path, found)));
    offered
        .filter(|(_, found)| found.is_workspace_entry && !taken.contains(&found.name))
        .map(|(path, found)| {
            Finding::new(
                path,
                found.line,
                format!("no crate uses `{}`: remove the line", found.name),
            )
        })
        .collect()
}

/// Returns the rows of the tables whose first cell is one name in backticks.
fn rows(text: &str) -> BTreeMap<&str, Row<'_>> {
    let mut rows = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let Some(cells) = line.trim().strip_prefix("| `").and_then(|rest| rest.strip_suffix('|'))
        else {
            continue;
        };
        if let Some((name, rest)) = cells.split_once("` |") {
            rows.insert(
                name,
                Row { line: index + 1, reason: rest.rsplit('|').next().unwrap_or_default().trim() },
            );
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    const TOP: (&str, &str) =
        ("Cargo.toml", "[workspace]\n[workspace.dependencies]\nbytes = \"1\"\n");
    const MEMBER: (&str, &str) = (
        "crates/a/Cargo.toml",
        "[package]\nname = \"a\"\n[dependencies]\nbytes.workspace = true\n",
    );

    fn with_document(text: &str) -> Vec<String> {
        lines(&check(&Tree::from_files(&[TOP, MEMBER, (DOCUMENT, text)])))
    }

    #[test]
    fn dependency_needs_row_with_reason() {
        assert_eq!(
            with_document("| `bytes` | buffers | shared slices without copying |\n"),
            Vec::<String>::new()
        );
        let message = "Cargo.toml:3: add a row for `bytes` to docs/dependencies.md with its purpose \
                    and the alternatives";
        assert_eq!(with_document(""), [message]);
        assert_eq!(with_document("| `bytes` | buffers | good |\n"), [message]);
    }

    #[test]
    fn row_without_dependency_is_reported() {
        let found = with_document(
            "| `bytes` | buffers | shared slices without copying |\n| `snap` | snappy | it has no \
             dependencies |\n",
        );
        assert_eq!(found, ["docs/dependencies.md:2: nothing depends on `snap`: remove the row"]);
    }

    #[test]
    fn versions_are_in_workspace_manifest_and_used() {
        let loose =
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n[dependencies]\nsnap = \"1\"\n");
        let rows = (
            DOCUMENT,
            "| `bytes` | buffers | shared slices without copying |\n| `snap` | snappy | it has no \
             dependencies |\n",
        );
        let found = lines(&check(&Tree::from_files(&[TOP, loose, rows])));
        assert_eq!(
            found,
            [
                "crates/a/Cargo.toml:4: write `snap.workspace = true` and its version in the top \
                 Cargo.toml",
                "Cargo.toml:3: no crate uses `bytes`: remove the line"
            ]
        );
    }
}
