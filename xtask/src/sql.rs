//! Tests of SQL, which need DataFusion. It takes minutes to compile, so they are a step of their
//! own.

use std::process::Command;

use crate::Result;
use crate::command::{Background, cargo, target_dir};

/// Packages with tests, which one command builds: apart, each would choose other features of
/// DataFusion and compile it again.
const PACKAGES: [&str; 3] = ["halite-sql", "halite-pg", "halite-lab"];
const FEATURES: &str = "halite-sql/sqllogictest,halite-sql/files,halite-pg/clients,halite-lab/sql";
/// Tests of pages of the lab that need no SQL, which the tests of the workspace run.
const OTHER_PAGES: [&str; 3] = ["embedded::", "served::", "documentation_matches_generated_pages"];

/// Returns the command of the tests.
pub(crate) fn tests() -> Command {
    let mut command = cargo(["test", "--no-fail-fast", "--features", FEATURES]);
    PACKAGES.iter().for_each(|package| {
        command.args(["--package", package]);
    });
    command.arg("--");
    OTHER_PAGES.iter().for_each(|name| {
        command.args(["--skip", name]);
    });
    command
}

/// Starts to build and run the tests beside other work.
pub(crate) fn start() -> Result<Background> {
    Background::start(&tests(), 10, &target_dir().join("sql-tests.txt"))
}
