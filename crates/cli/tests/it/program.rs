//! The command as a child process: its environment, and waits with a timeout.

use std::process::{Command, Output};
use std::sync::Once;
use std::time::Duration;

use halite_patience::Program;
use tokio::signal::unix::{SignalKind, signal};

/// Maximum run time of a command.
pub(crate) const LIMIT: Duration = Duration::from_mins(5);

/// Returns the command without environment variables about stores, with signal handling as in a
/// terminal.
pub(crate) fn halite() -> Command {
    enable_hangup();
    let mut command = Command::new(env!("CARGO_BIN_EXE_halite"));
    command.env_remove("HALITE_DATA").env_remove("HALITE_CONNECT");
    command
}

/// Prevents child processes from ignoring SIGHUP. Under `nohup` these tests ignore it, and so would
/// their children: an ignored signal stays ignored over `exec`, while a handled one is reset to its
/// default action.
fn enable_hangup() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _guard = runtime.enter();
        // The signal remains handled, without effect, while this process runs: after the terminal
        // is closed, the tests must be stopped by hand.
        drop(signal(SignalKind::hangup()).unwrap());
    });
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn output(command: &mut Command) -> Output {
    halite_patience::output(command, LIMIT).unwrap()
}

/// Runs a command with `input` as standard input until it exits.
#[track_caller]
pub(crate) fn output_of(command: &mut Command, input: &str) -> Output {
    Program::start_with(command, input).and_then(|program| program.wait(LIMIT)).unwrap()
}

/// Waits for a program to exit.
#[track_caller]
pub(crate) fn ended(program: Program) -> Output {
    program.wait(LIMIT).unwrap()
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn await_that(condition: &str, mut is_so: impl FnMut() -> bool) {
    assert!(
        halite_patience::poll_until(LIMIT, || is_so().then_some(())).is_some(),
        "{condition}: not within {} s",
        LIMIT.as_secs()
    );
}
