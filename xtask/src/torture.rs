//! `cargo xtask torture`: builds the program, the torture test and its preload library, and runs
//! the test.

use crate::Result;
use crate::command::{cargo, run, target_dir};

/// Runs the torture test; the arguments are passed to it.
pub(crate) fn run_battery(arguments: &[String]) -> Result<()> {
    run(&mut cargo([
        "build",
        "--quiet",
        "--package",
        "halite-cli",
        "--package",
        "halite-torture",
        "--package",
        "halite-torture-preload",
    ]))?;
    let programs = target_dir().join("debug");
    let mut battery = std::process::Command::new(programs.join("halite-torture"));
    battery
        .arg("--program")
        .arg(programs.join("halite"))
        .arg("--preload")
        .arg(programs.join("libhalite_torture_preload.so"))
        .arg("--out")
        .arg(target_dir().join("torture"));
    run(battery.args(arguments))
}
