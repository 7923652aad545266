//! `\e`: a statement in the user's editor.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use anyhow::Context as _;

/// Variables with the command of the editor, the first that is set.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];
/// Editor without them.
const EDITOR: &str = "vi";

/// Opens a text in the editor. Returns what was saved; `None` if nothing was, or the editor failed.
///
/// # Errors
/// The editor or the file cannot be opened.
pub(super) fn edited(text: &str) -> anyhow::Result<Option<String>> {
    let file = tempfile::Builder::new().prefix("halite-").suffix(".sql").tempfile();
    let mut file = file.context("a file to edit")?;
    file.write_all(text.as_bytes()).context("a file to edit")?;
    edited_file(file.path())
}

/// Opens a file in the editor. Returns what was saved; `None` if nothing was, or the editor failed:
/// a statement that writes must not run again because its text was read.
///
/// # Errors
/// As [`edited`].
pub(super) fn edited_file(path: &Path) -> anyhow::Result<Option<String>> {
    let named = VARIABLES.iter().find_map(|name| std::env::var(name).ok());
    let editor = named.filter(|editor| !editor.trim().is_empty());
    let editor = editor.unwrap_or_else(|| EDITOR.to_owned());
    // It may have arguments, as `code --wait`.
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(path);
    let before = saved(path);
    let status = command.status().with_context(|| format!("the editor {editor}"))?;
    if !status.success() || saved(path) == before {
        return Ok(None);
    }
    let text = fs::read_to_string(path);
    Ok(Some(text.with_context(|| path.display().to_string())?))
}

/// Returns when a file was saved, and what it has.
fn saved(path: &Path) -> Option<(SystemTime, Vec<u8>)> {
    Some((fs::metadata(path).ok()?.modified().ok()?, fs::read(path).ok()?))
}
