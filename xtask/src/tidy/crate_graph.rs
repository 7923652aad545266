//! Allowed dependencies between our crates, which form layers.

use super::Finding;
use super::manifest::{dependencies, package_name};
use super::tree::Tree;

/// Packages, each with those of ours it may depend on, including for tests.
const ALLOWED: &[(&str, &[&str])] = &[
    ("halite-types", &[]),
    ("halite-engine", &["halite-types"]),
    ("halite-wire", &["halite-types"]),
    ("halite-wire-codegen", &[]),
    ("halite-rowkey", &["halite-types"]),
    ("halite-rowkey-derive", &["halite-types", "halite-rowkey"]),
    ("halite-server", &["halite-types", "halite-engine", "halite-rowkey", "halite-wire"]),
    ("halite-client", &["halite-types", "halite-wire", "halite-engine", "halite-server"]),
    (
        "halite",
        &[
            "halite-types",
            "halite-engine",
            "halite-client",
            "halite-rowkey",
            "halite-rowkey-derive",
        ],
    ),
    ("halite-lab", &["halite-engine", "halite", "halite-server"]),
    (
        "halite-cli",
        &[
            "halite-types",
            "halite-engine",
            "halite",
            "halite-lab",
            "halite-patience",
            "halite-server",
            "halite-wire",
        ],
    ),
    ("halite-sim", &["halite-types", "halite-engine", "halite-patience", "halite"]),
    (
        "halite-world",
        &["halite-types", "halite-engine", "halite-patience", "halite-server", "halite-client"],
    ),
    ("halite-conformance", &["halite-types", "halite-engine", "halite-server", "halite"]),
    (
        "halite-interop",
        &["halite-types", "halite-engine", "halite-patience", "halite-wire", "halite"],
    ),
    ("halite-patience", &[]),
    (
        "halite-torture",
        &["halite-types", "halite-engine", "halite-patience", "halite-wire", "halite"],
    ),
    ("halite-torture-preload", &[]),
    ("halite-bench-stores", &["halite"]),
    (
        "halite-fuzz",
        &["halite-types", "halite-engine", "halite-wire", "halite-rowkey", "halite-server"],
    ),
    ("xtask", &["halite-patience"]),
];

const THIS_FILE: &str = "xtask/src/tidy/crate_graph.rs";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    check_against(ALLOWED, tree)
}

fn check_against(allowed: &[(&str, &[&str])], tree: &Tree) -> Vec<Finding> {
    let packages: Vec<_> = tree
        .with_ending("Cargo.toml")
        .filter_map(|(path, text)| Some((path, text, package_name(text)?)))
        .collect();
    let mut findings = Vec::new();
    for (path, text, name) in &packages {
        let Some((_, may)) = allowed.iter().find(|(package, _)| package == name) else {
            findings.push(Finding::new(
                path,
                1,
                format!("add {name} to {THIS_FILE} with the crates it may depend on"),
            ));
            continue;
        };
        for found in dependencies(text) {
            let ours = packages.iter().any(|(_, _, package)| *package == found.name);
            if ours && !may.contains(&found.name) {
                let message = format!(
                    "{name} must not depend on {}: move the code to a lower crate, or change the \
                     table in {THIS_FILE} and give the reason",
                    found.name
                );
                findings.push(Finding::new(path, found.line, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    const TYPES: (&str, &str) = ("crates/types/Cargo.toml", "[package]\nname = \"types\"\n");

    #[test]
    fn unlisted_edge_is_reported_with_location() {
        let engine = (
            "crates/engine/Cargo.toml",
            "[package]\nname = \"engine\"\n[dependencies]\nbytes = \"1\"\ntypes.workspace = true\n",
        );
        let tree = Tree::from_files(&[TYPES, engine]);
        assert_eq!(check_against(&[("types", &[]), ("engine", &["types"])], &tree), []);
        let found = lines(&check_against(&[("types", &[]), ("engine", &[])], &tree));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("crates/engine/Cargo.toml:5: engine must not depend on types"),
            "{found:?}"
        );
    }

    #[test]
    fn unknown_package_is_reported() {
        let found = lines(&check_against(&[], &Tree::from_files(&[TYPES])));
        assert_eq!(
            found,
            ["crates/types/Cargo.toml:1: add types to xtask/src/tidy/crate_graph.rs with the \
              crates it may depend on"]
        );
    }
}
