//! Files of the repository as input of the checks.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::Result;

/// Extensions of the files whose text is checked.
const TEXT: [&str; 7] = [".rs", ".js", ".toml", ".md", ".proto", ".java", ".xml"];

/// Every file of the repository by its path from the root, with `/` as the separator.
pub(super) struct Tree {
    files: BTreeMap<String, String>,
}

impl Tree {
    /// Reads the files that are in the repository or will be after the next `git add`.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .map_err(|error| {
                format!(
                    "`git ls-files` cannot be started: {error}; tidy reads the list of files from \
                     git"
                )
            })?;
        if !output.status.success() {
            return Err(format!(
                "`git ls-files` failed: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            ));
        }
        let mut files = BTreeMap::new();
        for name in output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
            let name = String::from_utf8_lossy(name).into_owned();
            let place = root.join(&name);
            if place.is_file() {
                let text = if is_text(&name) {
                    std::fs::read(&place).map_err(|error| format!("{name}: {error}"))?
                } else {
                    Vec::new()
                };
                files.insert(name, String::from_utf8_lossy(&text).into_owned());
            }
        }
        Ok(Self { files })
    }

    /// Creates a tree for a test.
    #[cfg(test)]
    pub(super) fn from_files(files: &[(&str, &str)]) -> Self {
        Self {
            files: files
                .iter()
                .map(|(path, text)| ((*path).to_string(), (*text).to_string()))
                .collect(),
        }
    }

    /// Returns the text of one file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Returns all paths.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns the path and text of the files whose path has this ending.
    pub(super) fn with_ending<'a>(
        &'a self,
        ending: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |(path, _)| path.ends_with(ending))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }
}

/// Returns `true` if a file is read as text. Files in `testdata` are data, whatever their name.
fn is_text(path: &str) -> bool {
    TEXT.iter().any(|ending| path.ends_with(ending))
        && !path.split('/').any(|part| part == "testdata")
}
