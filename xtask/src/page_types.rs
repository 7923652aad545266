//! Types of the web page's modules, checked by TypeScript's compiler.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::command::{root, run, target_dir};
use crate::prerequisites::with_tools;
use crate::steps::StepOutcome;

const PAGE: &str = "crates/web";
const MODULES: &str = "assets/js";
/// Tags that begin a line of a comment for the compiler.
const TAGS: [&str; 6] = ["@param ", "@returns ", "@type ", "@typedef ", "@template ", "@property "];

/// Checks the modules: types, and what the strict options find (unused names, missing results).
///
/// Debian's compiler (4.8) sees a tag only where it begins a line, while the modules have several
/// in one. So it reads copies, in which each tag has a line; errors name these.
pub(crate) fn step() -> Result<StepOutcome> {
    with_tools(&["tsc"], || {
        let copies = target_dir().join("page-types");
        copy_modules(&root().join(PAGE), &copies)
            .map_err(|error| format!("{}: {error}", copies.display()))?;
        run(Command::new("tsc").arg("-p").arg(copies.join("tsconfig.json")))
    })
}

fn copy_modules(page: &Path, copies: &Path) -> std::io::Result<()> {
    let modules = copies.join(MODULES);
    if modules.exists() {
        // A module that is gone must not be found by those that import it.
        fs::remove_dir_all(&modules)?;
    }
    fs::create_dir_all(&modules)?;
    fs::create_dir_all(copies.join("types"))?;
    for name in ["tsconfig.json", "types/page.d.ts"] {
        fs::copy(page.join(name), copies.join(name))?;
    }
    for entry in fs::read_dir(page.join(MODULES))? {
        let entry = entry?;
        let text = fs::read_to_string(entry.path())?;
        fs::write(modules.join(entry.file_name()), with_tags_in_lines(&text))?;
    }
    Ok(())
}

/// Returns a module in which each tag of a comment `/** ... */` begins a line.
fn with_tags_in_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut rest = text;
    while let Some(start) = rest.find("/**") {
        let (before, from) = rest.split_at(start);
        let (comment, after) = from.split_at(from.find("*/").map_or(from.len(), |end| end + 2));
        out.push_str(before);
        let lines = TAGS.iter().fold(comment.to_string(), |comment, tag| {
            comment.replace(&format!(" {tag}"), &format!("\n * {tag}"))
        });
        // A cast stays where it is: the value of `return` begins on its line.
        out.push_str(&lines.replace("/**\n * @", "/** @"));
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_comments_begin_lines() {
        assert_eq!(
            with_tags_in_lines("a /** Text. @param {x} y @returns {z} */ b // @param c"),
            "a /** Text.\n * @param {x} y\n * @returns {z} */ b // @param c"
        );
        let cast = "return /** @type {T} */ (body);";
        assert_eq!(with_tags_in_lines(cast), cast);
        assert_eq!(with_tags_in_lines("/** open @type "), "/** open\n * @type ");
    }
}
