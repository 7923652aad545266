//! Rules for source files: a first line, ASCII characters, issues for open tasks, no unsafe code.

use super::finding::Finding;
use super::phrase::word_starts;
use super::tree::Tree;

/// Files that may contain unsafe code; each block there documents its invariant. The last is not
/// part of the product: it replaces functions of the C library during the torture test.
const UNSAFE_ALLOWED: [&str; 4] = [
    "crates/engine/src/env/writeback.rs",
    "crates/engine/src/memstore/arena.rs",
    "crates/engine/src/memstore/skiplist.rs",
    "torture/preload/src/lib.rs",
];

/// Paths on a developer's machine, and words for how the work was ordered. Each is written in two
/// parts so that this file does not match itself.
const FORBIDDEN_TEXT: [&str; 8] = [
    concat!("/", "home/"),
    concat!("/", "root/"),
    concat!("/", "work/"),
    concat!("/", "Users/"),
    concat!("my ", "machine"),
    concat!("the ", "brief"),
    concat!("as ", "requested"),
    concat!("as ", "instructed"),
];

const UNSAFE: &str = concat!("un", "safe");
const LATER: &str = concat!("TO", "DO");
const IGNORED: &str = concat!("#[", "ignore");

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.with_ending(".rs") {
        if !text.starts_with("//! ") {
            findings.push(Finding::new(
                path,
                1,
                "start the file with a `//!` sentence that states its purpose",
            ));
        }
        findings.extend(each_line(path, text, rust_line));
    }
    for ending in [".rs", ".toml", ".proto", ".java", ".xml"] {
        findings.extend(
            tree.with_ending(ending).flat_map(|(path, text)| each_line(path, text, source_line)),
        );
    }
    for ending in [".rs", ".toml", ".md", ".java", ".xml"] {
        findings.extend(
            tree.with_ending(ending).flat_map(|(path, text)| each_line(path, text, any_line)),
        );
    }
    findings
}

fn each_line(path: &str, text: &str, look: fn(&str, &str) -> Option<String>) -> Vec<Finding> {
    text.lines()
        .enumerate()
        .filter_map(|(index, line)| Some(Finding::new(path, index + 1, look(path, line)?)))
        .collect()
}

fn rust_line(path: &str, line: &str) -> Option<String> {
    let code = line.split("//").next().unwrap_or_default();
    if has_word(code, UNSAFE) && !UNSAFE_ALLOWED.contains(&path) {
        return Some(format!(
            "{UNSAFE} code is allowed only in {}: use safe code",
            UNSAFE_ALLOWED.join(" and ")
        ));
    }
    code.contains(IGNORED).then(|| {
        "an ignored test verifies nothing: assert the current behavior and state why it is wrong"
            .to_string()
    })
}

fn source_line(_: &str, line: &str) -> Option<String> {
    if let Some(letter) = line.chars().find(|letter| !letter.is_ascii()) {
        return Some(format!("write {letter:?} as an escape or in ASCII: sources are ASCII"));
    }
    let offset = line.find(LATER)?;
    let rest = line[offset + LATER.len()..].trim_start_matches('(');
    let has_issue = rest
        .strip_prefix('#')
        .is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()));
    (!has_issue)
        .then(|| format!("write {LATER}(#issue) to refer to an issue, or complete the work"))
}

fn any_line(_: &str, line: &str) -> Option<String> {
    let found = FORBIDDEN_TEXT.iter().find(|text| word_starts(line, text).next().is_some())?;
    Some(format!("{found:?} is outside the repository: refer only to its contents"))
}

/// Returns `true` if a keyword is in code: followed by a blank or a brace, and not as a part of a
/// name or a string.
fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(offset, _)| {
        let before = code[..offset].chars().next_back();
        let after = code[offset + word.len()..].chars().next();
        before.is_none_or(|letter| letter == ' ' || letter == '(')
            && after.is_none_or(|letter| letter == ' ' || letter == '{')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    fn found(path: &str, text: &str) -> Vec<String> {
        lines(&check(&Tree::from_files(&[(path, text)])))
    }

    #[test]
    fn file_starts_with_doc_comment() {
        assert_eq!(found("a.rs", "//! Does one thing.\nfn a() {}\n"), Vec::<String>::new());
        assert_eq!(
            found("a.rs", "fn a() {}\n"),
            ["a.rs:1: start the file with a `//!` sentence that states its purpose"]
        );
    }

    #[test]
    fn todo_names_issue() {
        assert_eq!(
            found("a.rs", &format!("//! A.\n// {LATER}(#12): later\n")),
            Vec::<String>::new()
        );
        assert!(
            found("a.rs", &format!("//! A.\n// {LATER}: later\n"))[0].starts_with("a.rs:2: write")
        );
        assert!(found("a.toml", &format!("# {LATER}(soon)\n"))[0].starts_with("a.toml:1: write"));
    }

    #[test]
    fn non_ascii_is_reported_in_sources_but_not_documents() {
        assert_eq!(
            found("a.rs", "//! A \u{2264} b.\n")[0],
            "a.rs:1: write '\u{2264}' as an escape or in ASCII: sources are ASCII"
        );
        assert_eq!(found("a.md", "A \u{2264} b.\n"), Vec::<String>::new());
    }

    #[test]
    fn unsafe_code_is_limited_to_its_files() {
        let text = format!("//! A.\nfn a() {{ {UNSAFE} {{ }} }}\n");
        assert!(
            found("crates/halite/src/lib.rs", &text)[0].starts_with("crates/halite/src/lib.rs:2: ")
        );
        assert_eq!(found(UNSAFE_ALLOWED[0], &text), Vec::<String>::new());
        assert_eq!(
            found("a.rs", &format!("//! A.\n#![forbid({UNSAFE}_code)]\n// not {UNSAFE} here\n")),
            Vec::<String>::new()
        );
    }

    #[test]
    fn ignored_tests_are_reported() {
        assert!(
            found("a.rs", &format!("//! A.\n{IGNORED} = \"slow\"]\n"))[0]
                .starts_with("a.rs:2: an ignored test")
        );
    }

    #[test]
    fn machine_paths_are_reported_in_documents_too() {
        let text = format!("run {}me/x\n", FORBIDDEN_TEXT[0]);
        assert!(found("README.md", &text)[0].starts_with("README.md:1: "));
    }
}
