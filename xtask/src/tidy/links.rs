//! The code map names every directory of the crates, and links between documents are valid.

use std::collections::BTreeSet;

use super::finding::Finding;
use super::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = folders(tree);
    for (path, text) in tree.with_ending(".md") {
        for (index, line) in text.lines().enumerate() {
            let broken = links(line).filter(|link| !is_resolved(tree, path, link));
            findings.extend(broken.map(|link| {
                Finding::new(
                    path,
                    index + 1,
                    format!("the link {link:?} has no target: correct or remove it"),
                )
            }));
        }
    }
    findings
}

fn folders(tree: &Tree) -> Vec<Finding> {
    let map = tree.text(MAP).unwrap_or_default();
    let sources = tree.with_ending(".rs").filter(|(path, _)| path.starts_with("crates/"));
    let folders: BTreeSet<&str> =
        sources.filter_map(|(path, _)| path.rsplit_once('/')).map(|(folder, _)| folder).collect();
    let below_src = folders
        .iter()
        .filter_map(|folder| Some((folder.strip_prefix("crates/")?, folder.split_once("/src")?.1)));
    below_src
        // Test directories are named after the tested module.
        .filter(|(folder, _)| !folder.ends_with("/tests"))
        .filter(|(folder, inner)| {
            let crate_name = folder.split('/').next().unwrap_or_default();
            let wanted = if inner.is_empty() {
                format!("crates/{crate_name}")
            } else {
                format!("{}/", inner.trim_start_matches('/'))
            };
            !names_path(map, &wanted)
        })
        .map(|(folder, _)| {
            Finding::new(
                MAP,
                1,
                format!("the code map lacks crates/{folder}/: add a line with its purpose"),
            )
        })
        .collect()
}

/// Returns `true` if `text` contains `name` where a path may start, not as the end of a longer
/// path.
fn names_path(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(offset, _)| {
        !text[..offset].ends_with(|letter: char| letter.is_alphanumeric() || "/_-".contains(letter))
            || text[..offset].ends_with("src/")
    })
}

/// Returns the targets of a line's links that are files of the repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains(':'))
}

fn is_resolved(tree: &Tree, from: &str, link: &str) -> bool {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            _ => parts.push(part),
        }
    }
    let path = parts.join("/");
    tree.paths().any(|known| {
        known == path || known.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    #[test]
    fn unlisted_folder_is_reported() {
        let sources = [
            ("crates/engine/src/lib.rs", ""),
            ("crates/engine/src/hfile/mod.rs", ""),
            ("crates/engine/src/hfile/encoding/diff.rs", ""),
        ];
        let found = |map: &str| {
            lines(&check(&Tree::from_files(&[sources[0], sources[1], sources[2], (MAP, map)])))
        };
        assert_eq!(
            found("## crates/engine\n    hfile/  files\n    hfile/encoding/  keys\n"),
            Vec::<String>::new()
        );
        let message = "ARCHITECTURE.md:1: the code map lacks crates/engine/src/hfile/: add a line \
                    with its purpose";
        assert_eq!(
            found("## crates/engine\n    not_hfile/  other\n    hfile/encoding/\n").len(),
            0,
            "a folder is referenced by its files"
        );
        assert_eq!(found("## crates/engine\n    not_hfile/  other\n")[0], message);
    }

    #[test]
    fn links_point_to_files_or_folders() {
        let text =
            "[a](docs/a.md) [b](docs/) [c](https://example.org/x) [d](#part)\n[e](docs/gone.md)\n";
        let found = lines(&check(&Tree::from_files(&[
            ("README.md", text),
            ("docs/a.md", "[up](../README.md#part)\n"),
        ])));
        assert_eq!(
            found,
            ["README.md:2: the link \"docs/gone.md\" has no target: correct or remove it"]
        );
    }
}
