//! `cargo xtask sizes`: code lines of files and functions, outside tests and generated code.
//!
//! A code line is neither blank nor a comment. The report is a measure, not a check: what is too
//! long is divided where it has two duties.

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

/// Prints medians and percentiles, the longest files, and the functions that are too long.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::read(&root())?;
    let (mut files, mut functions) = (Vec::new(), Vec::new());
    for (path, text) in tree.with_ending(".rs").filter(|(path, _)| is_measured(path)) {
        let text = without_unit_tests(text);
        files.push(Size { lines: code_lines(text.lines()), name: path.to_string() });
        functions.extend(functions_of(path, text));
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
    Ok(())
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

fn code_lines<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
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
}
