//! What no compiler checks and a reader relies on. Each finding names the place and the mend.

mod dependencies;
mod edges;
mod manifest;
mod map;
mod sources;
mod testdata;
mod tree;

use std::fmt;

use crate::Result;
use crate::command::root;
use tree::Tree;

/// One thing to mend.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    mend: String,
}

impl Finding {
    fn new(path: &str, line: usize, mend: impl Into<String>) -> Self {
        Self { path: path.to_string(), line, mend: mend.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path, self.line, self.mend)
    }
}

/// One look at the whole tree.
type Check = fn(&Tree) -> Vec<Finding>;

const CHECKS: [Check; 5] = [edges::check, dependencies::check, sources::check, map::check, testdata::check];

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
        1 => Err("tidy: one thing to mend, named above".to_string()),
        count => Err(format!("tidy: {count} things to mend, named above")),
    }
}

/// The places and mends of findings, one line each, for tests.
#[cfg(test)]
fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
