//! The command as a process: what it is given from these tests' own surroundings, and waits for it
//! that end.

use std::process::{Command, Output};
use std::sync::Once;
use std::time::Duration;

use halite_patience::Program;
use tokio::signal::unix::{SignalKind, signal};

/// No run of the command takes longer.
pub(crate) const LIMIT: Duration = Duration::from_mins(5);

/// The command, without what the environment says about stores, and with the signals as a terminal
/// has them.
pub(crate) fn halite() -> Command {
    enable_hangup();
    let mut command = Command::new(env!("CARGO_BIN_EXE_halite"));
    command.env_remove("HALITE_DATA").env_remove("HALITE_CONNECT");
    command
}

/// Sees to it that programs started from here do not ignore SIGHUP. Under `nohup` these tests
/// ignore it, and so would what they start: an ignored signal stays so over `exec`, while one that
/// is heard becomes an ordinary one.
fn enable_hangup() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _guard = runtime.enter();
        // It stays heard, and without consequence, for as long as this process lives: who closes
        // the terminal ends the tests by hand.
        drop(signal(SignalKind::hangup()).unwrap());
    });
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> Output {
    halite_patience::output(command, LIMIT).unwrap()
}

/// Runs a command to its end that is given `input` to read.
#[track_caller]
pub(crate) fn output_of(command: &mut Command, input: &str) -> Output {
    Program::start_with(command, input).and_then(|program| program.wait(LIMIT)).unwrap()
}

/// Waits for the end of a program.
#[track_caller]
pub(crate) fn ended(program: Program) -> Output {
    program.wait(LIMIT).unwrap()
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    assert!(
        halite_patience::poll_until(LIMIT, || is_so().then_some(())).is_some(),
        "{what}: not within {} s",
        LIMIT.as_secs()
    );
}
