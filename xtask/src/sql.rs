//! Tests of SQL, which need DataFusion. Compiling it takes minutes, so no package has it by
//! default.

use std::process::Command;

use crate::command::cargo;

/// Packages with tests, which one command builds: apart, each would choose other features of
/// DataFusion and compile it again.
const PACKAGES: [&str; 3] = ["halite-sql", "halite-pg", "halite-lab"];
const FEATURES: &str = "halite-sql/sqllogictest,halite-sql/files,halite-pg/clients,halite-lab/sql";
const FEATURES_OF_PROGRAM: &str = "halite-cli/pg,halite-cli/sql-files";
/// Tests of pages of the lab that need no SQL, which the tests of the workspace run.
const OTHER_PAGES: [&str; 3] = ["embedded::", "served::", "documentation_matches_generated_pages"];

/// Returns the command of the tests, without those of the program.
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

/// Has a command for all packages include SQL, in them and in the program.
///
/// With it all are compiled once. Without it the libraries of DataFusion have other features, and
/// most of the workspace would be compiled for each.
pub(crate) fn with_sql(command: &mut Command) -> &mut Command {
    command.args(["--features", &format!("{FEATURES},{FEATURES_OF_PROGRAM}")])
}
