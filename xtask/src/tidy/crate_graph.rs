//! Allowed dependencies between our crates, which form layers.

use super::finding::Finding;
use super::manifest::{Dependency, dependencies, package_name};
use super::tree::Tree;

/// The crates of ours that one crate may depend on.
struct Edges {
    package: &'static str,
    /// What the crate itself may use.
    product: &'static [&'static str],
    /// What its tests, examples and benchmarks may use besides.
    tests: &'static [&'static str],
}

const fn edges(
    package: &'static str,
    product: &'static [&'static str],
    tests: &'static [&'static str],
) -> Edges {
    Edges { package, product, tests }
}

/// Allowed edges of each package.
const ALLOWED: &[Edges] = &[
    edges("halite-types", &[], &[]),
    edges("halite-compression", &[], &[]),
    edges("halite-heat", &["halite-types"], &[]),
    edges("halite-engine", &["halite-types", "halite-compression", "halite-heat"], &[]),
    edges("halite-hbase-dir", &["halite-types"], &[]),
    edges("halite-wire", &["halite-types", "halite-compression"], &[]),
    edges("halite-wire-codegen", &[], &[]),
    edges("halite-rowkey", &["halite-types"], &[]),
    edges("halite-rowkey-derive", &["halite-rowkey"], &["halite-types"]),
    edges(
        "halite-rowkey-tools",
        &["halite-types", "halite-heat", "halite-rowkey", "halite-engine"],
        &[],
    ),
    edges(
        "halite-web",
        &["halite-types", "halite-heat", "halite-rowkey", "halite-rowkey-tools"],
        &["halite", "halite-patience"],
    ),
    edges(
        "halite-server",
        &["halite-types", "halite-engine", "halite-rowkey", "halite-rowkey-tools", "halite-wire"],
        &[],
    ),
    edges(
        "halite-client",
        &["halite-types", "halite-wire"],
        &["halite-engine", "halite-patience", "halite-server"],
    ),
    // The SQL of the examples' READMEs is run on their tables; the rules of lint are given by the
    // program, and by the tests.
    edges(
        "halite-sql",
        &["halite-types", "halite-rowkey"],
        &[
            "halite",
            "halite-engine",
            "halite-example-analytics",
            "halite-example-features",
            "halite-example-feed",
            "halite-example-files",
            "halite-example-logs",
            "halite-example-messages",
            "halite-example-monitor",
            "halite-example-timeseries",
            "halite-example-user-ops",
            "halite-example-wide-user",
            "halite-rowkey-tools",
        ],
    ),
    edges("halite-pg", &["halite-types", "halite-sql"], &["halite"]),
    edges(
        "halite",
        &[
            "halite-types",
            "halite-engine",
            "halite-client",
            "halite-rowkey",
            "halite-rowkey-derive",
            "halite-sql",
        ],
        &[],
    ),
    edges(
        "halite-lab",
        &["halite", "halite-rowkey-tools"],
        &["halite-engine", "halite-patience", "halite-server"],
    ),
    // What users copy to begin with: the library is enough for it.
    edges("halite-example-analytics", &["halite"], &[]),
    edges("halite-example-features", &["halite"], &[]),
    edges("halite-example-feed", &["halite"], &[]),
    edges("halite-example-files", &["halite"], &[]),
    edges("halite-example-logs", &["halite"], &[]),
    edges("halite-example-messages", &["halite"], &[]),
    edges("halite-example-monitor", &["halite"], &[]),
    edges("halite-example-timeseries", &["halite"], &[]),
    edges("halite-example-user-ops", &["halite"], &[]),
    edges("halite-example-wide-user", &["halite"], &[]),
    edges(
        "halite-recipes",
        &[
            "halite",
            "halite-example-analytics",
            "halite-example-features",
            "halite-example-feed",
            "halite-example-files",
            "halite-example-logs",
            "halite-example-messages",
            "halite-example-monitor",
            "halite-example-timeseries",
            "halite-example-user-ops",
            "halite-example-wide-user",
        ],
        &["halite-server"],
    ),
    edges(
        "halite-cli",
        &[
            "halite-types",
            "halite-engine",
            "halite",
            "halite-hbase-dir",
            "halite-lab",
            "halite-recipes",
            "halite-pg",
            "halite-rowkey-tools",
            "halite-server",
            "halite-web",
        ],
        &["halite-patience", "halite-wire"],
    ),
    edges("halite-sim", &["halite-types", "halite-engine", "halite-patience"], &[]),
    edges(
        "halite-world",
        &["halite-types", "halite-engine", "halite-patience", "halite-server", "halite-client"],
        &[],
    ),
    edges("halite-conformance", &["halite-types"], &["halite-engine", "halite-server", "halite"]),
    edges(
        "halite-interop",
        &["halite-types", "halite-engine", "halite-patience", "halite-wire", "halite"],
        &[],
    ),
    edges("halite-patience", &[], &[]),
    edges(
        "halite-torture",
        &["halite-types", "halite-engine", "halite-patience", "halite-wire", "halite"],
        &[],
    ),
    edges("halite-torture-preload", &[], &[]),
    edges("halite-bench-stores", &["halite"], &[]),
    // It measures SQL through the server's ports too, without the command.
    edges("halite-bench-sql", &["halite", "halite-pg", "halite-server"], &[]),
    edges(
        "halite-fuzz",
        &[
            "halite-types",
            "halite-engine",
            "halite-hbase-dir",
            "halite-wire",
            "halite-pg",
            "halite-rowkey",
            "halite-rowkey-tools",
            "halite-server",
            "halite-sql",
        ],
        &[],
    ),
    edges("xtask", &["halite-patience"], &[]),
];

const THIS_FILE: &str = "xtask/src/tidy/crate_graph.rs";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    check_against(ALLOWED, tree)
}

fn check_against(allowed: &[Edges], tree: &Tree) -> Vec<Finding> {
    let packages: Vec<_> = tree
        .with_ending("Cargo.toml")
        .filter_map(|(path, text)| Some((path, text, package_name(text)?)))
        .collect();
    let mut findings = Vec::new();
    for (path, text, name) in &packages {
        let Some(may) = allowed.iter().find(|edges| edges.package == *name) else {
            findings.push(Finding::new(
                path,
                1,
                format!("add {name} to {THIS_FILE} with the crates it may depend on"),
            ));
            continue;
        };
        let dependencies = dependencies(text);
        for found in &dependencies {
            let ours = packages.iter().any(|(_, _, package)| *package == found.name);
            if ours && let Some(fix) = may.forbid(found.name, found.is_for_tests) {
                findings.push(Finding::new(path, found.line, fix));
            }
        }
        let line = table_line(tree, name);
        findings.extend(
            may.unused(&dependencies).into_iter().map(|fix| Finding::new(THIS_FILE, line, fix)),
        );
    }
    let is_package = |edges: &&Edges| packages.iter().any(|(_, _, name)| *name == edges.package);
    findings.extend(allowed.iter().filter(|edges| !is_package(edges)).map(|edges| {
        let fix = format!("there is no package {}: delete its entry", edges.package);
        Finding::new(THIS_FILE, table_line(tree, edges.package), fix)
    }));
    findings
}

/// Returns the line of the table at which the entry of a package begins.
fn table_line(tree: &Tree, package: &str) -> usize {
    let text = tree.text(THIS_FILE).unwrap_or_default();
    let in_one_line = format!("edges(\"{package}\",");
    let in_lines = format!("\"{package}\",");
    let mut before = "";
    for (index, line) in text.lines().map(str::trim).enumerate() {
        if line.starts_with(&in_one_line) || (before == "edges(" && line == in_lines) {
            return index + 1;
        }
        before = line;
    }
    1
}

impl Edges {
    /// Returns what to do about the allowed edges that no dependency uses.
    fn unused(&self, dependencies: &[Dependency]) -> Vec<String> {
        let name = self.package;
        // An edge of the tests that the product uses has a finding of its own.
        let is_used = |to: &str, for_tests: bool| {
            dependencies.iter().any(|it| it.name == to && (for_tests || !it.is_for_tests))
        };
        let product = self.product.iter().filter(|to| !is_used(to, false));
        let product = product.map(|to| format!("{name} does not depend on {to}: delete the edge"));
        let tests = self.tests.iter().filter(|to| !is_used(to, true));
        let tests =
            tests.map(|to| format!("the tests of {name} do not depend on {to}: delete the edge"));
        product.chain(tests).collect()
    }

    /// Returns what to do about a dependency that the table does not allow.
    fn forbid(&self, dependency: &str, is_for_tests: bool) -> Option<String> {
        let name = self.package;
        if self.product.contains(&dependency) {
            return None;
        }
        if !self.tests.contains(&dependency) {
            return Some(format!(
                "{name} must not depend on {dependency}: move the code to a lower crate, or change the table in {THIS_FILE} and give the reason"
            ));
        }
        (!is_for_tests).then(|| {
            format!("only the tests of {name} may use {dependency}: list it in dev-dependencies")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::finding::lines;

    const TYPES: (&str, &str) = ("crates/types/Cargo.toml", "[package]\nname = \"types\"\n");

    #[test]
    fn unlisted_edge_is_reported_with_location() {
        let engine = (
            "crates/engine/Cargo.toml",
            "[package]\nname = \"engine\"\n[dependencies]\nbytes = \"1\"\ntypes.workspace = true\n",
        );
        let tree = Tree::from_files(&[TYPES, engine]);
        let types = || edges("types", &[], &[]);
        assert_eq!(check_against(&[types(), edges("engine", &["types"], &[])], &tree), []);
        let found = lines(&check_against(&[types(), edges("engine", &[], &[])], &tree));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("crates/engine/Cargo.toml:5: engine must not depend on types"),
            "{found:?}"
        );
    }

    #[test]
    fn edge_of_tests_is_no_edge_of_product() {
        let engine = |section: &str| {
            format!("[package]\nname = \"engine\"\n[{section}]\ntypes.workspace = true\n")
        };
        let allowed = [edges("types", &[], &[]), edges("engine", &[], &["types"])];
        let findings = |section: &str| {
            let files = [TYPES, ("crates/engine/Cargo.toml", &engine(section)[..])];
            lines(&check_against(&allowed, &Tree::from_files(&files)))
        };
        assert_eq!(findings("dev-dependencies"), Vec::<String>::new());
        assert_eq!(
            findings("dependencies"),
            [
                "crates/engine/Cargo.toml:4: only the tests of engine may use types: list it in dev-dependencies"
            ]
        );
    }

    #[test]
    fn unused_edges_are_reported_at_their_entry() {
        let engine = "[package]\nname = \"engine\"\n[dev-dependencies]\ntypes.workspace = true\n";
        let table = "const ALLOWED: &[Edges] = &[\n    edges(\"types\", &[], &[]),\n    edges(\n        \
                     \"engine\",\n        &[\"types\"],\n        &[\"wire\"],\n    ),\n];\n";
        let files = [TYPES, ("crates/engine/Cargo.toml", engine), (THIS_FILE, table)];
        let allowed = [edges("types", &[], &[]), edges("engine", &["types"], &["wire"])];
        assert_eq!(
            lines(&check_against(&allowed, &Tree::from_files(&files))),
            [
                format!("{THIS_FILE}:4: engine does not depend on types: delete the edge"),
                format!(
                    "{THIS_FILE}:4: the tests of engine do not depend on wire: delete the edge"
                ),
            ]
        );
        let allowed = [edges("types", &[], &[]), edges("engine", &["types"], &[])];
        assert_eq!(
            lines(&check_against(&allowed, &Tree::from_files(&[TYPES, (THIS_FILE, table)]))),
            [format!("{THIS_FILE}:4: there is no package engine: delete its entry")]
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
