//! Waits for child processes, with timeouts: every wait has a limit, and its error contains the
//! output so far.
//!
//! A [`Program`] is killed on drop, so that a failing test leaves nothing behind. Separate threads
//! read its output, so that a program with much output does not block.
#![forbid(unsafe_code)]

pub mod arguments;
mod ports;

use std::io::{self, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

pub use ports::lasting_ports;

/// Default timeout for short operations on a busy machine.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);

/// Interval at which the exit of a program is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Interval at which a process looks whether it was stopped.
const WATCH_INTERVAL: Duration = Duration::from_millis(20);

/// Time for which output is read after the end of a program. Its own child processes may hold it
/// open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 30 });

/// Maximum output in an error message, in bytes.
const TAIL_BYTES: usize = 4000;

/// Returns the exit status of a program, or `None` if it still runs after the timeout.
///
/// # Errors
/// Returns an error of the operating system.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    poll_until(limit, || child.try_wait().transpose()).transpose()
}

/// Calls `ask` repeatedly until it returns a value or the time is over.
pub fn poll_until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        match ask() {
            None if Instant::now() < end => sleep(POLL_INTERVAL),
            answer => return answer,
        }
    }
}

/// Calls `work` again, at most `times` in all, while it fails and all threads of this process were
/// stopped for longer than `gap` meanwhile, as a busy machine does: for work that depends on the
/// real time.
///
/// # Errors
/// The last failure.
pub fn unless_stopped<T, E>(
    times: u32,
    gap: Duration,
    mut work: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let mut tries = 0;
    loop {
        tries += 1;
        let (result, longest) = with_longest_stop(&mut work);
        if result.is_ok() || tries >= times || longest <= gap {
            return result;
        }
    }
}

/// Calls `work`, and returns the longest time that a thread beside it slept for moments.
fn with_longest_stop<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let (mut longest, mut last) = (Duration::ZERO, Instant::now());
            while !has_ended.load(Ordering::Relaxed) {
                sleep(WATCH_INTERVAL);
                longest = longest.max(last.elapsed());
                last = Instant::now();
            }
            longest.max(last.elapsed())
        });
        let end = SetOnDrop(&has_ended);
        let result = work();
        drop(end);
        (result, watch.join().unwrap_or_default())
    })
}

/// Sets a flag when it is dropped, by a panic too.
struct SetOnDrop<'f>(&'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Kills a program that may already have exited.
pub fn kill(child: &mut Child) {
    // It fails only if the process has exited.
    let _ = child.kill();
    let _ = child.wait();
}

/// Output of a program, as far as it has been read.
#[derive(Clone, Debug, Default)]
pub struct CapturedOutput {
    shared: Arc<(Mutex<OutputBuffer>, Condvar)>,
}

#[derive(Debug, Default)]
struct OutputBuffer {
    bytes: Vec<u8>,
    has_ended: bool,
}

impl CapturedOutput {
    /// Reads on a separate thread until the output ends.
    pub fn capture(mut output: impl Read + Send + 'static) -> Self {
        let heard = Self::default();
        let listening = heard.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                let read = output.read(&mut buffer);
                let mut saying = listening.buffer();
                match read {
                    Ok(bytes @ 1..) => saying.bytes.extend_from_slice(&buffer[..bytes]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    _ => saying.has_ended = true,
                }
                listening.shared.1.notify_all();
                if saying.has_ended {
                    return;
                }
            }
        });
        heard
    }

    /// Returns the output so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.buffer().bytes).into_owned()
    }

    /// Returns the first value that `look` returns for the text, or `None` if the output has ended
    /// or the time is over.
    pub fn find<T>(&self, limit: Duration, mut look: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let end = Instant::now() + limit;
        let mut saying = self.buffer();
        loop {
            let found = look(&String::from_utf8_lossy(&saying.bytes));
            let left = end.saturating_duration_since(Instant::now());
            if found.is_some() || saying.has_ended || left.is_zero() {
                return found;
            }
            saying =
                self.shared.1.wait_timeout(saying, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the whole output, after it has ended or the time is over.
    pub fn all(&self, limit: Duration) -> Vec<u8> {
        self.find(limit, |_| None::<()>);
        self.buffer().bytes.clone()
    }

    fn buffer(&self) -> MutexGuard<'_, OutputBuffer> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Running program, killed on drop.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    stdout: CapturedOutput,
    stderr: CapturedOutput,
}

impl Program {
    /// Starts a program without input.
    ///
    /// # Errors
    /// Returns an error if it cannot be started.
    pub fn start(command: &mut Command) -> Result<Self, String> {
        Self::spawn(command.stdin(Stdio::null()))
    }

    /// Starts a program with `input` as its standard input.
    ///
    /// # Errors
    /// Returns an error if it cannot be started.
    pub fn start_with(command: &mut Command, input: impl Into<Vec<u8>>) -> Result<Self, String> {
        let mut program = Self::spawn(command.stdin(Stdio::piped()))?;
        if let Some(mut stdin) = program.child.stdin.take() {
            let input = input.into();
            // A program that ends early does not read it, and one that hangs must not block the
            // caller.
            std::thread::spawn(move || stdin.write_all(&input));
        }
        Ok(program)
    }

    fn spawn(command: &mut Command) -> Result<Self, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {name}: {error}"))?;
        let stdout = child.stdout.take().map(CapturedOutput::capture).unwrap_or_default();
        let stderr = child.stderr.take().map(CapturedOutput::capture).unwrap_or_default();
        Ok(Self { name, child, stdout, stderr })
    }

    /// Returns the process.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns its standard output.
    pub fn stdout(&self) -> &CapturedOutput {
        &self.stdout
    }

    /// Returns its standard error.
    pub fn stderr(&self) -> &CapturedOutput {
        &self.stderr
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// Returns an error with the end of the output if it has not ended in time; it is killed then.
    pub fn wait(mut self, limit: Duration) -> Result<Output, String> {
        match wait(&mut self.child, limit) {
            Ok(Some(status)) => Ok(Output {
                status,
                stdout: self.stdout.all(DRAIN_TIMEOUT),
                stderr: self.stderr.all(DRAIN_TIMEOUT),
            }),
            Ok(None) => {
                Err(self.failure_message(&format!("did not exit within {} s", limit.as_secs_f64())))
            }
            Err(error) => {
                Err(self.failure_message(&format!("cannot wait for the process: {error}")))
            }
        }
    }

    /// Kills it.
    pub fn kill(mut self) {
        kill(&mut self.child);
    }

    /// Returns a message with the problem and the output.
    pub fn failure_message(&self, what: &str) -> String {
        format!(
            "{} (process {}) {what}\n{}{}",
            self.name,
            self.id(),
            tail(&self.stdout.text()),
            tail(&self.stderr.text())
        )
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}

/// Runs a program to its end.
///
/// # Errors
/// Returns an error if it cannot be started, or has not ended in time.
pub fn output(command: &mut Command, limit: Duration) -> Result<Output, String> {
    Program::start(command)?.wait(limit)
}

/// Returns the end of a text.
pub fn tail(text: &str) -> &str {
    let mut from = text.len().saturating_sub(TAIL_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn hanging_program_is_killed_and_reported_with_output() {
        let program = Program::start(&mut shell("echo here I am; exec sleep 1000")).unwrap();
        assert_eq!(
            program.stdout().find(DEFAULT_TIMEOUT, |text| text.contains("am\n").then_some(7)),
            Some(7)
        );
        let id = program.id();
        let error = program.wait(Duration::from_millis(10)).unwrap_err();
        assert!(
            error.contains("sh (process")
                && error.contains("did not exit within 0.01 s")
                && error.contains("here I am"),
            "{error}"
        );
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "it is gone");
    }

    #[test]
    fn complete_output_of_any_size_is_read() {
        let mut command = shell("cat; echo bad >&2; exit 3");
        let output = Program::start_with(&mut command, vec![b'x'; 1 << 20])
            .unwrap()
            .wait(DEFAULT_TIMEOUT)
            .unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len(), &output.stderr[..]),
            (Some(3), 1 << 20, &b"bad\n"[..])
        );
    }

    #[test]
    fn output_held_open_by_other_process_does_not_block() {
        let output = output(&mut shell("sleep 300 & echo $!"), DEFAULT_TIMEOUT).unwrap();
        let other: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        assert!(output.status.success());
        assert!(shell(&format!("kill {other}")).status().unwrap().success());
    }

    #[test]
    fn search_for_missing_line_ends_at_end_of_output() {
        let program = Program::start(&mut shell("echo one")).unwrap();
        assert_eq!(
            program.stdout().find(DEFAULT_TIMEOUT, |text| text.contains("two").then_some(())),
            None
        );
        assert_eq!(program.stdout().text(), "one\n");
        assert!(program.wait(DEFAULT_TIMEOUT).unwrap().status.success());
    }

    #[test]
    fn failed_work_is_repeated_only_after_a_stop() {
        let mut calls = 0;
        let mut fail = |gap| {
            calls = 0;
            let work = || {
                calls += 1;
                Err::<(), _>(calls)
            };
            unless_stopped(3, gap, work)
        };
        assert_eq!(fail(Duration::from_hours(1)), Err(1));
        // Every sleep is longer than nothing.
        assert_eq!(fail(Duration::ZERO), Err(3));
        assert_eq!(unless_stopped(3, Duration::ZERO, || Ok::<_, ()>(7)), Ok(7));
    }
}
