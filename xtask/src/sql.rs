//! Tests of SQL, which need DataFusion. It takes minutes to compile, so they are a step of their
//! own.

use std::process::Command;

use crate::Result;
use crate::command::{Background, cargo, target_dir};

/// Returns the command of the tests.
pub(crate) fn tests() -> Command {
    cargo(["test", "--no-fail-fast", "--package", "halite-sql", "--features", "sqllogictest"])
}

/// Starts to build the tests beside other work.
pub(crate) fn start_build() -> Result<Background> {
    Background::start(tests().arg("--no-run"), &target_dir().join("sql-tests-build.txt"))
}
