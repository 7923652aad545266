//! The files of the repository as the checks see them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::Result;

/// Endings of the files whose text is looked at.
const TEXT: [&str; 6] = [".rs", ".toml", ".md", ".proto", ".java", ".xml"];

/// Every file of the repository by its path from the top, with `/` between the parts.
pub(super) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// The files that are in the repository or will be with the next `git add`.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .map_err(|error| format!("`git ls-files` cannot be started: {error}; tidy asks git which files there are"))?;
        if !output.status.success() {
            return Err(format!("`git ls-files` failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
        }
        let mut files = BTreeMap::new();
        for name in output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
            let name = String::from_utf8_lossy(name).into_owned();
            let place = root.join(&name);
            if place.is_file() {
                let text = if is_text(&name) { std::fs::read(&place).map_err(|error| format!("{name}: {error}"))? } else { Vec::new() };
                files.insert(name, String::from_utf8_lossy(&text).into_owned());
            }
        }
        Ok(Self { files })
    }

    /// A tree that only a test knows.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        Self { files: files.iter().map(|(path, text)| ((*path).to_string(), (*text).to_string())).collect() }
    }

    /// The text of one file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// All paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Path and text of the files whose path ends so.
    pub(super) fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files.iter().filter(move |(path, _)| path.ends_with(ending)).map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

/// Whether a file is read as text. What lies in `testdata` is data, whatever its name.
fn is_text(path: &str) -> bool {
    TEXT.iter().any(|ending| path.ends_with(ending)) && !path.split('/').any(|part| part == "testdata")
}
