//! `cargo xtask sizes`: code lines of files and functions, and assertions of each crate, outside
//! tests and generated code.
//!
//! A code line is neither blank nor a comment. The report is a measure, not a check: what is too
//! long is divided where it has two duties.

use std::collections::BTreeMap;

use super::product::{is_test_or_generated, without_unit_tests};
use super::tokens::{Token, tokens};
use super::tree::Tree;
use crate::Result;
use crate::command::root;

/// Code lines above which a function is listed.
const LONG_FUNCTION_LINES: usize = 100;

/// Longest files that are listed.
const LISTED_FILES: usize = 5;

/// Code lines of one file or function, and its name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Size {
    lines: usize,
    name: String,
}

/// Macros that state what always holds.
const ASSERTIONS: [&str; 6] =
    ["assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "debug_assert_ne"];

/// Code lines and assertions of one crate.
#[derive(Debug, Default, PartialEq, Eq)]
struct AssertionCount {
    lines: usize,
    assertions: usize,
}

/// Prints medians and percentiles, the longest files, the functions that are too long, and the
/// assertions of each crate.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::read(&root())?;
    let (mut files, mut functions) = (Vec::new(), Vec::new());
    let mut crates: BTreeMap<&str, AssertionCount> = BTreeMap::new();
    for (path, text) in tree.with_ending(".rs").filter(|(path, _)| is_measured(path)) {
        let text = without_unit_tests(text);
        let lines = code_lines(text.lines());
        files.push(Size { lines, name: path.to_string() });
        functions.extend(functions_of(path, text));
        if let Some(name) = crate_of(path) {
            let count = crates.entry(name).or_default();
            count.lines += lines;
            count.assertions += assertions_in(text);
        }
    }
    files.sort();
    functions.sort();
    println!("{}", summary("files", &files));
    println!("{}", summary("functions", &functions));
    for Size { lines, name } in files.iter().rev().take(LISTED_FILES) {
        println!("{lines:>6}  {name}");
    }
    let is_long = |size: &&Size| size.lines > LONG_FUNCTION_LINES;
    for Size { lines, name } in functions.iter().rev().take_while(is_long) {
        println!("{lines:>6}  {name}");
    }
    println!("lines  assertions  per 1000  crate");
    for (name, count) in &crates {
        println!("{}", assertion_row(name, count));
    }
    Ok(())
}

/// Returns the directory under `crates` that contains a file of a crate's sources.
fn crate_of(path: &str) -> Option<&str> {
    let (name, file) = path.strip_prefix("crates/")?.split_once('/')?;
    file.starts_with("src/").then_some(name)
}

/// Returns the number of assertions in a source.
fn assertions_in(text: &str) -> usize {
    let tokens = tokens(text);
    let is_call = |pair: &&[Token<'_>]| ASSERTIONS.contains(&pair[0].text) && pair[1].text == "!";
    tokens.windows(2).filter(is_call).count()
}

/// Returns the line of a crate in the table of assertions.
fn assertion_row(name: &str, count: &AssertionCount) -> String {
    let AssertionCount { lines, assertions } = *count;
    let tenths = (assertions * 10_000).checked_div(lines).unwrap_or(0);
    format!("{lines:>5}  {assertions:>10}  {:>6}.{}  {name}", tenths / 10, tenths % 10)
}

fn is_measured(path: &str) -> bool {
    !is_test_or_generated(path)
        && path != "crates/wire/src/service/table.rs"
        && !path.starts_with("examples/")
}

fn summary(what: &str, sizes: &[Size]) -> String {
    let percentile = |percent: usize| {
        sizes.get(sizes.len() * percent / 100).or(sizes.last()).map_or(0, |size| size.lines)
    };
    format!(
        "{} {what}: median {} code lines, 90th percentile {}, 99th {}, longest {}",
        sizes.len(),
        percentile(50),
        percentile(90),
        percentile(99),
        percentile(100),
    )
}

pub(super) fn code_lines<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    let lines = lines.map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// Returns the functions of a file that have a body.
fn functions_of(path: &str, text: &str) -> Vec<Size> {
    let (tokens, lines) = (tokens(text), text.lines().collect::<Vec<_>>());
    let mut sizes = Vec::new();
    for (index, token) in tokens.iter().enumerate().filter(|(_, token)| token.text == "fn") {
        let Some(name) = tokens.get(index + 1).filter(|name| name.text != "(") else { continue };
        if let Some(last_line) = last_line_of_body(&tokens[index..]) {
            let lines = code_lines(lines[token.line - 1..last_line].iter().copied());
            sizes.push(Size { lines, name: format!("{path}: {}", name.text) });
        }
    }
    sizes
}

/// Returns the line of the brace that closes a function's body; `None` if it has no body.
fn last_line_of_body(tokens: &[Token<'_>]) -> Option<usize> {
    let (mut brackets, mut braces) = (0_usize, 0_usize);
    for token in tokens {
        match token.text {
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets = brackets.saturating_sub(1),
            ";" if brackets == 0 && braces == 0 => return None,
            "{" => braces += 1,
            "}" if braces == 1 => return Some(token.line),
            "}" => braces = braces.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_with_bodies_are_measured_without_blanks_and_comments() {
        let text = "trait T {\n    fn none(a: [u8; 2]);\n}\n\nfn two(b: fn()) -> [u8; 2] {\n\n    // Why.\n    \
                    [{ 1 }, 2]\n}\n";
        let sizes = functions_of("a.rs", text);
        assert_eq!(sizes, [Size { lines: 3, name: "a.rs: two".to_string() }]);
    }

    #[test]
    fn assertions_are_counted_outside_comments_and_texts() {
        let text = "fn f() {\n    assert!(a, \"assert!(b)\");\n    // assert!(c)\n    \
                    debug_assert_eq!(d, e);\n    assert_valid!(g);\n    let assert = h;\n}\n";
        assert_eq!(assertions_in(text), 2);
    }

    #[test]
    fn assertions_are_counted_for_sources_of_crates() {
        assert_eq!(crate_of("crates/engine/src/wal/mod.rs"), Some("engine"));
        assert_eq!(crate_of("crates/engine/benches/get.rs"), None);
        assert_eq!(crate_of("sim/src/lib.rs"), None);
        let count = AssertionCount { lines: 28_000, assertions: 70 };
        assert_eq!(assertion_row("engine", &count), "28000          70       2.5  engine");
    }
}
