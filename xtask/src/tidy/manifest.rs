//! Minimal parser of the parts of a `Cargo.toml` that the checks need.

/// Dependency in a manifest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dependency<'a> {
    /// Name of the dependency.
    pub(super) name: &'a str,
    /// Line number, from 1.
    pub(super) line: usize,
    /// `true` if version and path are inherited from the workspace.
    pub(super) inherited: bool,
    /// `true` for an entry of the workspace that members inherit.
    pub(super) is_workspace_entry: bool,
    /// `true` if only tests, examples and benchmarks see it.
    pub(super) is_for_tests: bool,
}

/// Returns the name of a manifest's package, or `None` if it has none.
pub(super) fn package_name(text: &str) -> Option<&str> {
    let package = text.lines().skip_while(|line| line.trim() != "[package]");
    let mut lines = package.skip(1).take_while(|line| !line.starts_with('['));
    lines.find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
}

/// Returns the dependencies of a manifest, of every kind and for every target.
pub(super) fn dependencies(text: &str) -> Vec<Dependency<'_>> {
    let mut found: Vec<Dependency> = Vec::new();
    let mut section = "";
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = header;
            if let Some(name) = single_dependency_name(header) {
                found.push(Dependency {
                    name,
                    line: number,
                    inherited: false,
                    is_workspace_entry: header.starts_with("workspace."),
                    is_for_tests: is_for_tests(header),
                });
            }
        } else if is_dependencies(section) && !line.starts_with('#') {
            found.extend(entry(line, number, section));
        } else if single_dependency_name(section).is_some() && line == "workspace = true" {
            found.iter_mut().rev().take(1).for_each(|dependency| dependency.inherited = true);
        }
    }
    found
}

fn entry<'a>(line: &'a str, number: usize, section: &str) -> Option<Dependency<'a>> {
    let (key, value) = line.split_once('=')?;
    let name = key.trim().split('.').next()?.trim_matches('"');
    let inherited = key.trim().ends_with(".workspace") || value.contains("workspace = true");
    Some(Dependency {
        name,
        line: number,
        inherited,
        is_workspace_entry: section.starts_with("workspace."),
        is_for_tests: is_for_tests(section),
    })
}

/// Returns `true` if a section lists what only tests, examples and benchmarks depend on.
fn is_for_tests(section: &str) -> bool {
    section.split('.').any(|part| part == "dev-dependencies")
}

/// Returns `true` if a section lists dependencies: `dependencies`, `dev-dependencies`,
/// `target.'cfg(unix)'.dependencies`.
fn is_dependencies(section: &str) -> bool {
    section.rsplit('.').next().is_some_and(|last| last.ends_with("dependencies"))
}

/// Returns the name in a section of one dependency: `dependencies.bytes`.
fn single_dependency_name(section: &str) -> Option<&str> {
    let (before, name) = section.rsplit_once('.')?;
    is_dependencies(before).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_dependency_is_parsed() {
        let text = "[package]\nname = \"a\"\n[dependencies]\n# why\nbytes.workspace = true\n\
                    prost = { workspace = true }\nfjall = \"3\"\n\
                    [dev-dependencies.tempfile]\nworkspace = true\n\
                    [dev-dependencies]\ncriterion.workspace = true\n\
                    [target.'cfg(unix)'.dependencies]\nrustix = \"1\"\n[features]\nx = []\n";
        let seen: Vec<_> = dependencies(text)
            .iter()
            .map(|found| (found.name, found.line, found.inherited, found.is_for_tests))
            .collect();
        assert_eq!(
            seen,
            [
                ("bytes", 5, true, false),
                ("prost", 6, true, false),
                ("fjall", 7, false, false),
                ("tempfile", 8, true, true),
                ("criterion", 11, true, true),
                ("rustix", 13, false, false)
            ]
        );
    }

    #[test]
    fn workspace_manifest_has_dependencies_but_no_name() {
        let text = "[workspace]\nmembers = []\n[workspace.dependencies]\nhalite = \
                    { path = \"crates/halite\" }\n";
        assert!(dependencies(text).iter().all(|found| found.is_workspace_entry));
        assert_eq!(package_name(text), None);
        assert_eq!(package_name("[package]\nname = \"halite\"\n"), Some("halite"));
    }
}
