//! Child processes with their output in a file, and with a timeout.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

pub(crate) use halite_patience::kill;

use crate::Result;

/// Maximum size of the output that is printed when a program fails, in bytes.
const TAIL_BYTES: usize = 4000;

/// Starts a program without input; its output is written to `log`.
pub(crate) fn start(command: &mut Command, log: &Path) -> Result<Child> {
    let file = create(log)?;
    let again = file.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
    spawn(command.stdin(Stdio::null()).stdout(file).stderr(again))
}

/// Starts a program that reads a file; its output is written to one file, its errors to another.
pub(crate) fn start_reading(
    command: &mut Command,
    input: &Path,
    output: &Path,
    log: &Path,
) -> Result<Child> {
    let file = File::open(input).map_err(|error| format!("{}: {error}", input.display()))?;
    spawn(command.stdin(file).stdout(create(output)?).stderr(create(log)?))
}

fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn spawn(command: &mut Command) -> Result<Child> {
    let program = command.get_program().to_string_lossy().into_owned();
    command
        .spawn()
        .map_err(|error| format!("cannot start {program}: {error}; install it and add it to PATH"))
}

/// Runs a program to its end.
///
/// # Errors
/// Returns an error with the end of the output if the program fails or does not end in time.
pub(crate) fn run(command: &mut Command, log: &Path, limit: Duration) -> Result<()> {
    let mut child = start(command, log)?;
    finish(&mut child, log, limit)
}

/// Waits for a program's end, as [`run`] does.
pub(crate) fn finish(child: &mut Child, log: &Path, limit: Duration) -> Result<()> {
    match wait(child, limit)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(format!("ended with {status}\n{}", tail(log))),
        None => {
            kill(child);
            Err(format!("did not end within {} s\n{}", limit.as_secs(), tail(log)))
        }
    }
}

/// Returns the exit status of a program, or `None` if it still runs after the timeout.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    halite_patience::wait(child, limit)
        .map_err(|error| format!("cannot wait for the process: {error}"))
}

/// Waits until `ready` returns a value for the log, while the program runs.
pub(crate) fn await_log<T>(
    child: &mut Child,
    log: &Path,
    limit: Duration,
    ready: impl Fn(&str) -> Option<T>,
) -> Result<T> {
    // The exit is checked first, so that the log contains the whole output.
    let found = halite_patience::poll_until(limit, || {
        let has_ended = !matches!(child.try_wait(), Ok(None));
        ready(&text(log)).map(Some).or_else(|| has_ended.then_some(None))
    });
    found.flatten().ok_or_else(|| {
        kill(child);
        format!("the server did not become ready\n{}", tail(log))
    })
}

/// Returns the contents of a log, or an empty text if it does not exist.
pub(crate) fn text(log: &Path) -> String {
    fs::read(log)
        .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the end of a log, with its path.
pub(crate) fn tail(log: &Path) -> String {
    let text = text(log);
    let mut from = text.len().saturating_sub(TAIL_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    format!("{}\n(all of it: {})", &text[from..], log.display())
}
