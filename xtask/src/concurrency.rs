//! `cargo xtask loom` and `cargo xtask races`: what threads may do to each other.

use crate::Result;
use crate::command::{answer, cargo, run, target_dir};
use crate::steps::Outcome;

/// Runs the models of writers, readers and the log in every interleaving that the memory model allows.
pub(crate) fn loom() -> Result<()> {
    let mut command = cargo(["test", "--quiet", "--package", "halite-engine", "--lib"]);
    // A directory of its own: the flag would make cargo build everything else again, and again without it.
    command.arg("--target-dir").arg(target_dir().join("loom")).env("RUSTFLAGS", "--cfg halite_loom");
    run(command.args(["interleavings::", "--", "--test-threads", "1"]))
}

/// The step of `cargo xtask test`.
pub(crate) fn loom_step() -> Result<Outcome> {
    loom().map(|()| Outcome::Done)
}

/// What the sanitizer reports although it is ordered. The standard library that comes with a toolchain is not instrumented,
/// and the last owner of an `Arc` orders its end by a fence, which the sanitizer does not know.
const SUPPRESSIONS: &str = "race:drop_slow\nrace:std::thread::lifecycle::Packet\nrace:std::sync::mpmc\n";

/// Runs readers beside the writer of a memstore under the thread sanitizer.
///
/// Code with locks of the standard library cannot be run so, for the sanitizer does not see what they order. The library
/// could be built again with instrumentation, but not every toolchain has its source.
pub(crate) fn races() -> Result<()> {
    let version = answer("rustc", &["-vV"]).ok_or("`rustc -vV` cannot be run")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("`rustc -vV` does not name a host")?;
    let directory = target_dir().join("races");
    let suppressions = directory.join("suppressions.txt");
    let written = std::fs::create_dir_all(&directory).and_then(|()| std::fs::write(&suppressions, SUPPRESSIONS));
    written.map_err(|error| format!("cannot write {}: {error}", suppressions.display()))?;
    // Flags of a named target are not for build scripts and macros.
    let mut command = cargo(["test", "--quiet", "--package", "halite-engine", "--lib", "--target", host, "--target-dir"]);
    command.arg(&directory).env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer");
    command.env("TSAN_OPTIONS", format!("suppressions={}", suppressions.display()));
    run(command.args(["readers_beside_the_writer", "--", "--test-threads", "1"]))
}
