//! `cargo xtask loom` and `cargo xtask races`: checks of thread interactions.

use crate::Result;
use crate::command::{cargo, command_output, run, target_dir};
use crate::steps::StepOutcome;

/// Runs the models of writers, readers and the log in every interleaving that the memory model
/// allows.
pub(crate) fn loom() -> Result<()> {
    let mut command = cargo(["test", "--quiet", "--package", "halite-engine", "--lib"]);
    // A separate directory: the flag would make cargo rebuild everything, and again without it.
    command
        .arg("--target-dir")
        .arg(target_dir().join("loom"))
        .env("RUSTFLAGS", "--cfg halite_loom");
    run(command.args(["interleavings::", "--", "--test-threads", "1"]))
}

/// Runs the step of `cargo xtask test`.
pub(crate) fn loom_step() -> Result<StepOutcome> {
    loom().map(|()| StepOutcome::Done)
}

/// False positives of the sanitizer. The standard library of a toolchain is not instrumented, and
/// the last owner of an `Arc` orders its drop by a fence, which the sanitizer does not support.
const SUPPRESSIONS: &str =
    "race:drop_slow\nrace:std::thread::lifecycle::Packet\nrace:std::sync::mpmc\n";

/// Runs readers concurrently with the writer of a memstore under the thread sanitizer.
///
/// Code with locks of the standard library cannot run under it, because the sanitizer does not see
/// their ordering. The library could be rebuilt with instrumentation, but not every toolchain has
/// its source.
pub(crate) fn races() -> Result<()> {
    let version = command_output("rustc", &["-vV"]).ok_or("`rustc -vV` cannot be run")?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or("`rustc -vV` printed no host")?;
    let directory = target_dir().join("races");
    let suppressions = directory.join("suppressions.txt");
    let written = std::fs::create_dir_all(&directory)
        .and_then(|()| std::fs::write(&suppressions, SUPPRESSIONS));
    written.map_err(|error| format!("cannot write {}: {error}", suppressions.display()))?;
    // Flags of an explicit target do not apply to build scripts and macros.
    let mut command = cargo([
        "test",
        "--quiet",
        "--package",
        "halite-engine",
        "--lib",
        "--target",
        host,
        "--target-dir",
    ]);
    command
        .arg(&directory)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer");
    command.env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
    run(command.args(["readers_beside_the_writer", "--", "--test-threads", "1"]))
}
