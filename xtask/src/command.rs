//! Execution of other programs, with human-readable errors.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, IsTerminal as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::Result;
use crate::steps::SUMMARY;

/// Maximum duration of any run, including the torture test and the fuzzers.
const MAX_RUN_TIME: Duration = Duration::from_hours(24);
/// Maximum time without output of a test; a runner that exceeds it hangs.
const MAX_SILENCE: Duration = Duration::from_mins(30);
/// Maximum duration of a version query.
const MAX_RESPONSE_TIME: Duration = Duration::from_mins(1);

/// Returns `true` in CI, where nothing may be skipped.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Returns the root directory of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or_else(|| here.to_path_buf(), Path::to_path_buf)
}

/// Returns cargo's target directory.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Returns a command of a program of the workspace that was built before.
pub(crate) fn built(program: &str) -> Command {
    let mut command = Command::new(target_dir().join("debug").join(program));
    command.current_dir(root());
    command
}

/// Returns a cargo command in the repository, with the toolchain that runs this task.
pub(crate) fn cargo<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command with this process's input and output.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let mut child = command.spawn().map_err(|error| cannot_start(command, &error))?;
    let ended = halite_patience::wait(&mut child, MAX_RUN_TIME)
        .map_err(|error| format!("waiting for `{}`: {error}", format_command(command)))?;
    let Some(status) = ended else {
        halite_patience::kill(&mut child);
        return Err(format!(
            "`{}` was still running after {} hours",
            format_command(command),
            MAX_RUN_TIME.as_secs() / 3600
        ));
    };
    if status.success() {
        Ok(())
    } else {
        Err(format!("`{}` failed ({status})", format_command(command)))
    }
}

/// Runs a command, prints each line of its output and errors immediately, and passes it to `line`
/// without color codes.
pub(crate) fn run_and_watch(command: &mut Command, line: impl FnMut(&str)) -> Result<()> {
    run_and_watch_for(command, MAX_SILENCE, line)
}

fn run_and_watch_for(
    command: &mut Command,
    silence: Duration,
    mut line: impl FnMut(&str),
) -> Result<()> {
    let failed =
        |name: &str, error: std::io::Error| format!("`{name}`: cannot read its output: {error}");
    let name = format_command(command);
    let (reader, writer) = std::io::pipe().map_err(|error| failed(&name, error))?;
    let errors = writer.try_clone().map_err(|error| failed(&name, error))?;
    if std::io::stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(errors)
        .spawn()
        .map_err(|error| cannot_start(command, &error))?;
    // The pipe ends when the last writer is closed, and the command holds two of them.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (sender, lines) = mpsc::channel();
    // It ends with the outputs, or when the receiver is dropped.
    thread::spawn(move || {
        BufReader::new(reader).split(b'\n').try_for_each(|bytes| sender.send(bytes))
    });
    loop {
        let bytes = match lines.recv_timeout(silence) {
            Ok(bytes) => bytes.map_err(|error| failed(&name, error))?,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                halite_patience::kill(&mut child);
                return Err(format!(
                    "`{name}` printed nothing for {} s and was killed",
                    silence.as_secs()
                ));
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        println!("{text}");
        line(&without_colors(&text));
    }
    let ended = halite_patience::wait(&mut child, halite_patience::DEFAULT_TIMEOUT)
        .map_err(|error| failed(&name, error))?;
    let Some(status) = ended else {
        halite_patience::kill(&mut child);
        return Err(format!("`{name}` closed its outputs but did not exit"));
    };
    if status.success() { Ok(()) } else { Err(format!("`{name}` failed ({status})")) }
}

/// Returns the combined output of a command, if it can be run and succeeds.
pub(crate) fn command_output(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        halite_patience::output(Command::new(program).args(arguments), MAX_RESPONSE_TIME).ok()?;
    let both = [output.stdout, output.stderr].concat();
    output.status.success().then(|| String::from_utf8_lossy(&both).into_owned())
}

/// Command that runs beside others, at a lower priority. Dropping it ends its input and kills it.
pub(crate) struct Background {
    child: Child,
    /// Open as long as this process runs.
    _input: Option<ChildStdin>,
    name: String,
    output: PathBuf,
}

impl Background {
    /// Starts a command that nothing else waits for, in a group of processes of its own. Its output
    /// goes to a file, which is replaced. Its input ends when this process does.
    pub(crate) fn start(command: &Command, output: &Path) -> Result<Self> {
        let name = format_command(command);
        let failed = |error: std::io::Error| format!("`{name}`: {}: {error}", output.display());
        let file = File::create(output).map_err(failed)?;
        let errors = file.try_clone().map_err(failed)?;
        let mut nice = Command::new("nice");
        nice.args(["-n", "19"])
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(root());
        nice.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        nice.stdin(Stdio::piped()).stdout(file).stderr(errors).process_group(0);
        let mut child = nice.spawn().map_err(|error| cannot_start(&nice, &error))?;
        let input = child.stdin.take();
        Ok(Self { child, _input: input, name, output: output.to_path_buf() })
    }

    /// Waits until it ends, and prints its output.
    ///
    /// # Errors
    /// Its failure, with the steps that failed.
    pub(crate) fn wait(mut self) -> Result<()> {
        let ended = halite_patience::wait(&mut self.child, MAX_RUN_TIME)
            .map_err(|error| format!("waiting for `{}`: {error}", self.name))?;
        let output = fs::read(&self.output).unwrap_or_default();
        let output = without_colors(&String::from_utf8_lossy(&output));
        println!("{output}");
        let Some(status) = ended else {
            return Err(format!("`{}` was still running after a day", self.name));
        };
        if status.success() {
            return Ok(());
        }
        let (_, summary) = output.rsplit_once(SUMMARY).unwrap_or_default();
        Err(format!("`{}` failed ({status}); its output is above.\n{summary}", self.name))
    }
}

/// Kills this process and its children, which are one group of processes, when its input ends.
///
/// What the children build would otherwise hold cargo's locks after a run that was stopped.
pub(crate) fn end_with_input() {
    thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let group = format!("-{}", std::process::id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    });
}

impl Drop for Background {
    fn drop(&mut self) {
        halite_patience::kill(&mut self.child);
    }
}

/// Runs a command and returns its standard output; its errors are printed if it fails.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let output = halite_patience::output(command, MAX_RUN_TIME)
        .map_err(|error| format!("`{}`: {error}", format_command(command)))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Err(format!("`{}` failed ({})", format_command(command), output.status))
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start `{}`: {error}; install it and add it to PATH", format_command(command))
}

fn format_command(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let mut text = program.to_string_lossy().into_owned();
    for argument in command.get_args() {
        // Writing to a string cannot fail.
        let _ = write!(text, " {}", argument.to_string_lossy());
    }
    text
}

/// Returns a line without color escape sequences.
fn without_colors(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_codes_are_removed_from_line() {
        assert_eq!(
            without_colors("\u{1b}[1m\u{1b}[32m     Running\u{1b}[0m unittests"),
            "     Running unittests"
        );
        assert_eq!(without_colors("plain"), "plain");
    }

    #[test]
    fn stdout_and_stderr_are_read_and_failure_is_reported() {
        let mut lines = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; exit 3"]);
        let error = run_and_watch(&mut command, |line| lines.push(line.to_string())).unwrap_err();
        assert_eq!(lines, ["one", "two"]);
        assert!(error.contains("exit status: 3"), "{error}");
    }

    #[test]
    fn silent_command_is_killed() {
        let mut command = Command::new("sleep");
        let error =
            run_and_watch_for(command.arg("600"), Duration::from_millis(50), |_| {}).unwrap_err();
        assert!(error.contains("`sleep 600` printed nothing"), "{error}");
    }

    #[test]
    fn background_command_reports_failure_and_dies_when_dropped() {
        let output = std::env::temp_dir().join(format!("halite-xtask-{}", std::process::id()));
        let start = |script: &str| {
            Background::start(Command::new("sh").args(["-c", script]), &output).unwrap()
        };
        assert_eq!(start("echo one; echo two >&2").wait(), Ok(()));
        assert_eq!(fs::read_to_string(&output).unwrap(), "one\ntwo\n");
        assert!(start("echo oh; exit 3").wait().unwrap_err().contains("`sh -c echo oh; exit 3`"));
        drop(start("sleep 600"));
        fs::remove_file(&output).unwrap();
    }

    #[test]
    fn missing_program_is_named() {
        let error = run(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(error.contains("cannot start `no-such-program-anywhere`"), "{error}");
    }
}
