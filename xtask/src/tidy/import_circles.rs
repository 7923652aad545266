//! Import circles between the files of one crate: none has more than four files.
//!
//! A file imports another one if it names a module or an item in it by a path, in a `use` or in
//! code. A name that a third file exports again counts as an import of the file that defines it.
//! `mod` declarations, and exports of names that the file does not use itself, are no imports;
//! neither is anything under `#[cfg(test)]`.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::manifest::package_name;
use super::tree::Tree;

mod graph;
mod scan;

use scan::{Import, SourceFile};

/// Files that may import each other in a circle. A few halves of one thing may; a group of this
/// size can be read as one.
const MAX_CIRCLE_FILES: usize = 4;

/// Reports the imports that form a circle of too many files.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let packages = tree.with_ending("Cargo.toml").filter(|(_, text)| package_name(text).is_some());
    packages.flat_map(|(path, _)| check_crate(tree, path.trim_end_matches("Cargo.toml"))).collect()
}

fn check_crate(tree: &Tree, directory: &str) -> Vec<Finding> {
    let files = Modules::read(tree, &format!("{directory}src/"));
    let imports: BTreeMap<&str, BTreeMap<&str, usize>> =
        files.by_module.iter().map(|(module, file)| (&module[..], files.imports(file))).collect();
    let targets = imports
        .iter()
        .map(|(module, targets)| (*module, targets.keys().copied().collect::<BTreeSet<_>>()))
        .collect();
    let mut findings = Vec::new();
    for circle in graph::circles(&targets) {
        if circle.len() <= MAX_CIRCLE_FILES {
            continue;
        }
        for module in &circle {
            for (target, line) in imports[module].iter().filter(|(to, _)| circle.contains(*to)) {
                let fix = format!(
                    "the import of {} is part of a circle of {} files; at most {MAX_CIRCLE_FILES} may \
                     import each other: move what both need to a file below them",
                    files.by_module[*target].path,
                    circle.len()
                );
                findings.push(Finding::new(&files.by_module[*module].path, *line, fix));
            }
        }
    }
    findings
}

/// Source files of one crate by their module path, `a::b`; the root is the empty path.
struct Modules {
    by_module: BTreeMap<String, SourceFile>,
}

impl Modules {
    fn read(tree: &Tree, source: &str) -> Self {
        let mut by_module = BTreeMap::new();
        for (path, text) in tree.with_ending(".rs").filter(|(path, _)| path.starts_with(source)) {
            let module = module_path(&path[source.len()..]);
            by_module.insert(module.clone(), scan::scan(path, &module, text));
        }
        let tests: BTreeSet<String> =
            by_module.values().flat_map(|file| file.test_modules.iter().cloned()).collect();
        by_module.retain(|module, _| !is_inside_any(module, &tests));
        Self { by_module }
    }

    /// Returns the modules that a file imports, each with a line that does.
    fn imports(&self, file: &SourceFile) -> BTreeMap<&str, usize> {
        let mut found = BTreeMap::new();
        for Import { path, line } in &file.imports {
            let target = self.defining_module(path);
            if let Some(target) = target.filter(|target| *target != file.module) {
                found.entry(target).or_insert(*line);
            }
        }
        found
    }

    /// Returns the module that defines what a path from the root names.
    fn defining_module(&self, path: &[String]) -> Option<&str> {
        /// Exports of exports that are followed; a circle of them ends here.
        const MAX_EXPORTS: usize = 8;
        let mut path = path.to_vec();
        for _ in 0..MAX_EXPORTS {
            let (module, file) = self.longest_module(&path)?;
            let depth = if module.is_empty() { 0 } else { module.split("::").count() };
            let exported = path.get(depth).and_then(|name| file.names.get(name));
            let Some(exported) = exported else { return Some(module) };
            let rest = path.split_off(depth + 1);
            path = exported.iter().cloned().chain(rest).collect();
        }
        self.longest_module(&path).map(|(module, _)| module)
    }

    fn longest_module(&self, path: &[String]) -> Option<(&str, &SourceFile)> {
        (0..=path.len()).rev().find_map(|length| {
            let (module, file) = self.by_module.get_key_value(&path[..length].join("::"))?;
            Some((&module[..], file))
        })
    }
}

fn is_inside_any(module: &str, parents: &BTreeSet<String>) -> bool {
    module.match_indices("::").any(|(end, _)| parents.contains(&module[..end]))
        || parents.contains(module)
}

/// Returns the module path of a file below `src/`: `a/b.rs` and `a/b/mod.rs` are `a::b`.
fn module_path(file: &str) -> String {
    let mut parts: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    parts.join("::")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let manifest = ("a/Cargo.toml", "[package]\nname = \"a\"\n");
        let files: Vec<_> = files.iter().copied().chain([manifest]).collect();
        lines(&check(&Tree::from_files(&files)))
    }

    /// Five files, each of which imports the next; the last imports what a test says.
    fn chain(last: &str) -> Vec<String> {
        let lib = "pub mod one; pub mod two; pub mod three; pub mod four; pub mod five;\n";
        found(&[
            ("a/src/lib.rs", lib),
            ("a/src/one.rs", "use crate::two::Two;\nstruct One(Two);\n"),
            ("a/src/two.rs", "struct Two(super::three::Three);\n"),
            ("a/src/three.rs", "use crate::{one, four::{self, Four}};\n"),
            ("a/src/four/mod.rs", "use crate::five::*;\n"),
            ("a/src/five.rs", last),
        ])
    }

    #[test]
    fn circle_of_five_files_is_found_at_every_import() {
        let found = chain("// A comment.\nfn five() { let _ = \"}\"; crate::one::run() }\n");
        assert_eq!(found.len(), 6, "{found:?}");
        assert!(
            found[0].starts_with(
                "a/src/five.rs:2: the import of a/src/one.rs is part of a circle of 5 files"
            ),
            "{found:?}"
        );
    }

    #[test]
    fn circle_of_three_files_is_allowed() {
        assert_eq!(chain("use std::fmt;\n"), Vec::<String>::new());
    }

    #[test]
    fn tests_comments_and_strings_import_nothing() {
        let tests = "#[cfg(test)]\nuse crate::one::One;\n#[cfg(test)]\nmod tests {\n    use crate::one;\n}\n";
        assert_eq!(chain(tests), Vec::<String>::new());
        assert_eq!(chain("// crate::one::run()\n/* crate::one::run() */\n"), Vec::<String>::new());
        assert_eq!(chain("const A: &str = \"crate::one::run()\";\n"), Vec::<String>::new());
        assert_eq!(chain("const A: &str = r#\"\" crate::one::run()\"#;\n"), Vec::<String>::new());
    }

    #[test]
    fn export_leads_to_the_file_that_defines_the_name() {
        let lib = "mod one; mod two; mod three; mod four; mod five;\npub use one::{One, Other as Another};\n";
        let file = |last| {
            found(&[
                ("a/src/lib.rs", lib),
                ("a/src/one.rs", "use crate::two;\n"),
                ("a/src/two.rs", "use crate::three;\n"),
                ("a/src/three.rs", "use crate::four;\n"),
                ("a/src/four.rs", "use crate::five;\n"),
                ("a/src/five.rs", last),
            ])
        };
        assert_eq!(file("use crate::Another;\n").len(), 5);
        assert_eq!(file("fn five(one: super::One) {}\n").len(), 5);
        assert_eq!(file("use crate::Result;\n"), Vec::<String>::new());
    }
}
