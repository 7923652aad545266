//! Every file in a `testdata` directory is read by a test: by its name, or with its directory.

use super::finding::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let data = tree.paths().filter_map(|path| Some((path, inside_testdata(path)?)));
    data.filter(|(path, _)| !path.ends_with("/README.md"))
        .filter(|(_, inside)| !readers(tree).any(|text| is_read_by(text, inside)))
        .map(|(path, _)| {
            Finding::new(
                path,
                1,
                "no test reads this file: use it or its folder in a test, or remove it",
            )
        })
        .collect()
}

/// Returns the part of a path from `testdata` on.
fn inside_testdata(path: &str) -> Option<&str> {
    let offset = if path.starts_with("testdata/") { 0 } else { path.find("/testdata/")? + 1 };
    Some(&path[offset..])
}

fn readers(tree: &Tree) -> impl Iterator<Item = &str> {
    tree.with_ending(".rs").chain(tree.with_ending(".java")).map(|(_, text)| text)
}

/// Returns `true` if a program names the file, or, in a separate string, a directory above it:
/// `"testdata"`, `"../testdata/hfile/"`.
fn is_read_by(text: &str, inside: &str) -> bool {
    let mut folders = Vec::new();
    let mut rest = inside;
    while let Some((folder, _)) = rest.rsplit_once('/') {
        folders.push(folder);
        rest = folder;
    }
    let name = inside.rsplit('/').next().unwrap_or(inside);
    let stem = name.split('.').next().unwrap_or(name);
    let quoted =
        |what: &str| text.contains(&format!("{what}\"")) || text.contains(&format!("{what}/\""));
    quoted(name)
        || quoted(&format!("testdata/{stem}"))
        || folders.iter().any(|folder| quoted(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    fn found(program: &str) -> Vec<String> {
        lines(&check(&Tree::from_files(&[
            ("crates/a/testdata/hfile/one.hfile", ""),
            ("crates/a/testdata/README.md", ""),
            ("crates/a/src/lib.rs", program),
        ])))
    }

    #[test]
    fn file_is_used_by_its_name_or_folder() {
        assert_eq!(found("include_bytes!(\"../testdata/hfile/one.hfile\")"), Vec::<String>::new());
        assert_eq!(found("read_dir(\"testdata/hfile/\")"), Vec::<String>::new());
        assert_eq!(
            found("read_tree(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/testdata\"))"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn unused_test_file_is_reported() {
        let message = "crates/a/testdata/hfile/one.hfile:1: no test reads this file: use it or its \
                    folder in a test, or remove it";
        assert_eq!(found("include_str!(\"../testdata/other.txt\") // one.hfile"), [message]);
    }
}
