//! Functions of the web page's modules: none has more than 100 code lines.
//!
//! The modules are formatted, so that a function ends at the brace with the indentation of its
//! first line.

use super::finding::Finding;
use super::sizes::code_lines;
use super::tree::Tree;

const MODULES: &str = "crates/web/assets/js/";
const MAX_LINES: usize = 100;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let modules = tree.with_ending(".js").filter(|(path, _)| path.starts_with(MODULES));
    modules.flat_map(|(path, text)| long_functions(path, text)).collect()
}

fn long_functions(path: &str, text: &str) -> Vec<Finding> {
    let lines: Vec<&str> = text.lines().collect();
    let mut findings = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| begins_function(line)) {
        let indentation = indentation_of(line);
        let ends = |other: &&str| {
            other.len() > indentation
                && indentation_of(other) == indentation
                && other[indentation..].starts_with('}')
        };
        let Some(length) = lines[at + 1..].iter().position(ends) else { continue };
        let size = code_lines(lines[at..=at + 1 + length].iter().copied());
        if size > MAX_LINES {
            let fix = format!(
                "the function has {size} code lines, more than {MAX_LINES}: divide it into named \
                 pieces"
            );
            findings.push(Finding::new(path, at + 1, fix));
        }
    }
    findings
}

fn indentation_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns `true` for the first line of a function, a method or a named arrow function, whose
/// parameters may be on the lines after it.
fn begins_function(line: &str) -> bool {
    let code = line.trim_start();
    let code = ["export ", "async ", "static "]
        .iter()
        .fold(code, |code, word| code.strip_prefix(word).unwrap_or(code));
    if code.starts_with("function ") || (code.starts_with("const ") && code.ends_with("=> {")) {
        return true;
    }
    let name = code.split('(').next().unwrap_or_default();
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric());
    let is_statement = ["if", "for", "while", "switch", "catch"].contains(&name);
    is_name && !is_statement && code.contains('(') && code.ends_with(") {")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(first: &str, last: &str, lines: usize) -> Vec<String> {
        let body = "    work();\n    // Why.\n\n".repeat(lines - 2);
        let text = format!("// A module.\n{first}\n{body}{last}\n");
        super::super::finding::lines(&long_functions("a.js", &text))
    }

    #[test]
    fn functions_of_every_form_are_measured_without_blanks_and_comments() {
        for (first, last) in [
            ("export async function show(page) {", "}"),
            ("  async load(after) {", "  }"),
            ("  const draw = async () => {", "  };"),
        ] {
            assert_eq!(found(first, last, 100), [""; 0], "{first}");
            let long = found(first, last, 101);
            assert_eq!(long.len(), 1, "{first}");
            assert!(long[0].starts_with("a.js:2: the function has 101"), "{}", long[0]);
        }
    }

    #[test]
    fn statements_and_classes_are_no_functions() {
        for (first, last) in [("class Page {", "}"), ("  if (a) {", "  }"), ("  for (;;) {", "  }")]
        {
            assert_eq!(found(first, last, 200), [""; 0], "{first}");
        }
    }
}
