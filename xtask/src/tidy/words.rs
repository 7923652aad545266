//! Prose of comments, texts and Markdown: words with a plainer or more exact replacement, and the
//! width of comment lines.
//!
//! Inline code, code fences, test data and generated pages are not checked. A line that needs one
//! of the words contains `tidy:allow-word`; for a text that is the line it begins in.

use std::path::Path;

use super::finding::Finding;
use super::phrase::word_starts;
use super::tokens::texts;
use super::tree::Tree;

/// Maximum columns of a comment line outside code fences and tables.
const MAX_COLUMNS: usize = 100;
const ALLOW: &str = "tidy:allow-word";
const THIS_FILE: &str = "xtask/src/tidy/words.rs";

/// Each phrase and its replacement. `*` matches the rest of a word.
const WORDS: &[(&str, &str)] = &[
    ("whoever", "the named actor: caller, client, thread"),
    ("nobody", "no client, no caller; or passive voice"),
    ("somebody", "a caller, an operator"),
    ("anybody", "any caller, any client"),
    ("everybody", "all callers, all waiting writers"),
    ("so many", "n, this many"),
    ("for ever", "indefinitely, never expires"),
    ("in the place of", "instead of; replaces"),
    ("anew", "again; rewrites, restarts"),
    ("mend*", "fix"),
    ("condens*", "in-memory compaction"),
    ("unfold*", "decode, decoded size"),
    ("stands", "is, is stored, appears"),
    ("lies behind", "follows, is past the end of"),
    ("one behind the other", "consecutive"),
    ("behind it", "after it"),
    ("behind them", "after them"),
    ("at or behind", "at or after"),
    ("goes on", "continues"),
    ("take away", "remove, delete, drop"),
    ("taken away", "removed, deleted, dropped"),
    ("taken apart", "parsed, split"),
    ("put together", "assembled, concatenated"),
    ("what there is", "a list of the items"),
    ("came of", "result of"),
    ("becomes of", "outcome of"),
    ("told apart", "distinguished"),
    ("looked at", "examined, checked"),
    ("under way", "in progress"),
    ("by chance", "randomly"),
    ("times to come", "future time ranges"),
    ("the seam", "the `Cluster` API"),
    ("for people", "human-readable"),
    ("chance", "randomness, random seed"),
    ("figures", "metrics, statistics"),
    ("borders", "boundaries, split keys"),
    ("perhaps", "optionally"),
    ("is told", "receives"),
    ("are told", "receive"),
    ("is said", "is stated, is declared"),
    ("asked for", "requested"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let checked = |path: &str| {
        !path.contains("/testdata/")
            && !path.starts_with("docs/lab/")
            && !path.ends_with("/generated.rs")
    };
    let files =
        tree.with_ending(".rs").chain(tree.with_ending(".md")).filter(|(path, _)| checked(path));
    let check_both =
        |(path, text)| check_file(path, text).into_iter().chain(check_texts(path, text));
    files.flat_map(check_both).collect()
}

/// Checks the texts of a Rust source. This file has the words in texts.
fn check_texts(path: &str, source: &str) -> Vec<Finding> {
    if !is_rust(path) || path == THIS_FILE {
        return Vec::new();
    }
    let lines: Vec<&str> = source.lines().collect();
    let is_allowed = |line: usize| lines.get(line - 1).is_some_and(|line| line.contains(ALLOW));
    texts(source)
        .into_iter()
        .filter(|text| !is_allowed(text.line))
        .filter_map(|text| {
            let (phrase, instead) = find_phrase(&without_escapes(text.text))?;
            let fix = format!("{phrase:?} in a text: write {instead}");
            Some(Finding::new(path, text.line, fix))
        })
        .collect()
}

/// Returns a text with a space for each escape, and in one line where it is continued.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let mut letters = after.chars();
        if letters.next() == Some('\n') {
            rest = letters.as_str().trim_start();
        } else {
            plain.push(' ');
            rest = letters.as_str();
        }
    }
    plain + rest
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

fn check_file(path: &str, text: &str) -> Vec<Finding> {
    let is_rust = is_rust(path);
    let mut findings = Vec::new();
    let mut in_fence = false;
    for (index, line) in text.lines().enumerate() {
        let Some(prose) = (if is_rust { comment(line) } else { Some(line) }) else {
            in_fence = false;
            continue;
        };
        if prose.trim_start().starts_with("```") {
            in_fence = !in_fence;
            continue;
        }
        if in_fence || line.contains(ALLOW) {
            continue;
        }
        if let Some((phrase, instead)) = find_phrase(prose) {
            let fix = format!("{phrase:?} in prose: write {instead}");
            findings.push(Finding::new(path, index + 1, fix));
        }
        let is_breakable = prose.trim().split(' ').any(|word| word.len() < MAX_COLUMNS / 2)
            && !prose.contains('|')
            && !prose.contains('`');
        if is_rust && is_breakable && line.chars().count() > MAX_COLUMNS {
            let fix = format!("a comment line of more than {MAX_COLUMNS} columns: break it");
            findings.push(Finding::new(path, index + 1, fix));
        }
    }
    findings
}

/// Returns the text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("//")?;
    Some(rest.strip_prefix(['/', '!']).unwrap_or(rest))
}

fn find_phrase(prose: &str) -> Option<(&'static str, &'static str)> {
    // Every second part of a line is inline code.
    let words: Vec<String> = prose.split('`').step_by(2).map(str::to_lowercase).collect();
    WORDS.iter().copied().find(|(phrase, _)| words.iter().any(|part| contains(part, phrase)))
}

/// Returns `true` if `text` contains the phrase as whole words.
fn contains(text: &str, phrase: &str) -> bool {
    let (stem, is_open) = match phrase.strip_suffix('*') {
        Some(stem) => (stem, true),
        None => (phrase, false),
    };
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    word_starts(text, stem)
        .any(|offset| is_open || !text[offset + stem.len()..].starts_with(is_letter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    #[test]
    fn words_are_reported_only_in_prose() {
        let rust = "//! Nobody reads.\nfn nobody() {}\n// `nobody` and nobodys\n/// ```\n/// \
                    nobody\n/// ```\n// It goes on. tidy:allow-word\n";
        let markdown = "Condensed\n```\nanew\n```\n";
        let tree = Tree::from_files(&[("crates/a/src/lib.rs", rust), ("docs/a.md", markdown)]);
        assert_eq!(
            lines(&check(&tree)),
            [
                "crates/a/src/lib.rs:1: \"nobody\" in prose: write no client, no caller; or \
                 passive voice",
                "docs/a.md:1: \"condens*\" in prose: write in-memory compaction",
            ]
        );
    }

    #[test]
    fn words_are_reported_in_texts() {
        let rust = "fn f() {\n    g(\"Nobody\\n\");\n    g(\"it goes \\\n       on\");\n    \
                    g(\"\\nanew\");\n    g(\"`nobody` {mend}\");\n    \
                    g(\"nobody\"); // tidy:allow-word\n    let nobody = 'a';\n}\n";
        let tree = Tree::from_files(&[("crates/a/src/lib.rs", rust), (THIS_FILE, rust)]);
        assert_eq!(
            lines(&check(&tree)),
            [
                "crates/a/src/lib.rs:2: \"nobody\" in a text: write no client, no caller; or \
                 passive voice",
                "crates/a/src/lib.rs:3: \"goes on\" in a text: write continues",
                "crates/a/src/lib.rs:5: \"anew\" in a text: write again; rewrites, restarts",
                "crates/a/src/lib.rs:6: \"mend*\" in a text: write fix",
            ]
        );
    }

    #[test]
    fn wide_comment_lines_are_found() {
        let wide = format!("    // {}\n", "word ".repeat(20));
        let table = format!("// | {} |\n", "word ".repeat(20));
        let tree = Tree::from_files(&[("crates/a/src/lib.rs", &format!("{wide}{table}"))]);
        let fix = "crates/a/src/lib.rs:1: a comment line of more than 100 columns: break it";
        assert_eq!(lines(&check(&tree)), [fix]);
    }
}
