//! `cargo xtask loom` and `cargo xtask races`: checks of thread interactions.

use std::process::Command;

use crate::Result;
use crate::command::{cargo, command_output, output_of, run, target_dir};
use crate::steps::StepOutcome;

/// Runs the models of writers, readers and the log in every interleaving that the memory model
/// allows.
pub(crate) fn loom() -> Result<()> {
    // Only the engine is compiled for the models: with the flag in `RUSTFLAGS`, all its
    // dependencies would be, too.
    let mut command = cargo(["rustc", "--package", "halite-engine", "--lib", "--profile", "test"]);
    command.args(["--message-format", "json-render-diagnostics", "--"]);
    // The compiler takes far longer than the models, even unoptimised.
    command.args(["--cfg", "halite_loom", "-C", "opt-level=0"]);
    let program = executable(&output_of(&mut command)?)?;
    run(Command::new(program).args(["interleavings::", "--test-threads", "1", "--quiet"]))
}

/// Returns the program that a build made, from the messages of cargo.
fn executable(messages: &str) -> Result<String> {
    let found = messages.lines().find_map(|line| {
        let (_, rest) = line.split_once("\"executable\":\"")?;
        Some(rest.split_once('"')?.0.to_owned())
    });
    found.ok_or_else(|| "cargo named no executable of the build".to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_is_that_of_the_last_artifact() {
        let messages = r#"{"reason":"compiler-artifact","executable":null}
{"reason":"compiler-artifact","executable":"/target/debug/deps/engine-1","fresh":false}"#;
        assert_eq!(executable(messages).unwrap(), "/target/debug/deps/engine-1");
        assert!(executable("{}").is_err());
    }
}
