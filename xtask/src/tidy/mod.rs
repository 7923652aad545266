//! Checks of the source tree that no compiler performs. Each finding names the location and the
//! fix.

mod crate_graph;
mod dependencies;
mod extending;
mod finding;
mod import_circles;
mod links;
mod manifest;
mod paths;
mod phrase;
mod product;
mod scripts;
pub(crate) mod sizes;
mod sources;
mod testdata;
mod tokens;
mod tree;
mod words;

use crate::Result;
use crate::command::root;
use finding::Finding;
use tree::Tree;

/// Check of the whole tree.
type Check = fn(&Tree) -> Vec<Finding>;

const CHECKS: [Check; 10] = [
    crate_graph::check,
    dependencies::check,
    extending::check,
    import_circles::check,
    scripts::check,
    sources::check,
    links::check,
    paths::check,
    testdata::check,
    words::check,
];

/// `cargo xtask tidy`.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::read(&root())?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        1 => Err("tidy: 1 finding".to_string()),
        count => Err(format!("tidy: {count} findings")),
    }
}
