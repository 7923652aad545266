//! Waiting for other programs, and never for ever: every wait has a limit, and what was heard until then is in the message.
//!
//! A [`Program`] is killed when it is dropped, so that a test which fails leaves nothing behind. What it says is read by threads of
//! their own: a program that says much does not stand still because nobody listens yet.
#![forbid(unsafe_code)]

use std::io::{self, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time for what takes a moment, on a machine that has much else to do.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// How often a program is asked whether it has ended.
const POLL: Duration = Duration::from_millis(2);

/// How long outputs are read after the end of their program. Programs it has started may hold them open.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How much of what was said is in a message, in bytes.
const TAIL_BYTES: usize = 4000;

/// How a program ended, or `None` if it still runs when the time is over.
///
/// # Errors
/// The operating system's.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    until(limit, || child.try_wait().transpose()).transpose()
}

/// Asks again and again, until there is an answer or the time is over.
pub fn until<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        match ask() {
            None if Instant::now() < end => sleep(POLL),
            answer => return answer,
        }
    }
}

/// Kills a program that may have ended by itself.
pub fn end(child: &mut Child) {
    // It fails only for one that is gone.
    let _ = child.kill();
    let _ = child.wait();
}

/// What is said on one output, as far as it has been heard.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    shared: Arc<(Mutex<Saying>, Condvar)>,
}

#[derive(Debug, Default)]
struct Saying {
    bytes: Vec<u8>,
    has_ended: bool,
}

impl Heard {
    /// Listens on a thread until the output ends.
    pub fn of(mut output: impl Read + Send + 'static) -> Self {
        let heard = Self::default();
        let listening = heard.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                let read = output.read(&mut buffer);
                let mut saying = listening.saying();
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

    /// What has been said until now.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.saying().bytes).into_owned()
    }

    /// What `look` finds in the text as soon as it finds anything; `None` if the output has ended or the time is over without it.
    pub fn find<T>(&self, limit: Duration, mut look: impl FnMut(&str) -> Option<T>) -> Option<T> {
        let end = Instant::now() + limit;
        let mut saying = self.saying();
        loop {
            let found = look(&String::from_utf8_lossy(&saying.bytes));
            let left = end.saturating_duration_since(Instant::now());
            if found.is_some() || saying.has_ended || left.is_zero() {
                return found;
            }
            saying = self.shared.1.wait_timeout(saying, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Everything, after the output has ended or the time is over.
    pub fn all(&self, limit: Duration) -> Vec<u8> {
        self.find(limit, |_| None::<()>);
        self.saying().bytes.clone()
    }

    fn saying(&self) -> MutexGuard<'_, Saying> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A program that runs, until it is dropped at the latest.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    stdout: Heard,
    stderr: Heard,
}

impl Program {
    /// Starts a program that is given nothing to read.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &mut Command) -> Result<Self, String> {
        Self::spawn(command.stdin(Stdio::null()))
    }

    /// Starts a program that is given `input` to read.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_with(command: &mut Command, input: impl Into<Vec<u8>>) -> Result<Self, String> {
        let mut program = Self::spawn(command.stdin(Stdio::piped()))?;
        if let Some(mut stdin) = program.child.stdin.take() {
            let input = input.into();
            // One that ends early does not read it, and one that hangs must not hold up who waits for it.
            std::thread::spawn(move || stdin.write_all(&input));
        }
        Ok(program)
    }

    fn spawn(command: &mut Command) -> Result<Self, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| format!("{name} cannot be started: {error}"))?;
        let stdout = child.stdout.take().map(Heard::of).unwrap_or_default();
        let stderr = child.stderr.take().map(Heard::of).unwrap_or_default();
        Ok(Self { name, child, stdout, stderr })
    }

    /// The process.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it says.
    pub fn stdout(&self) -> &Heard {
        &self.stdout
    }

    /// What it complains about.
    pub fn stderr(&self) -> &Heard {
        &self.stderr
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It has not ended in time; it is killed then. The message has the end of what it said.
    pub fn wait(mut self, limit: Duration) -> Result<Output, String> {
        match wait(&mut self.child, limit) {
            Ok(Some(status)) => Ok(Output { status, stdout: self.stdout.all(LAST_WORDS), stderr: self.stderr.all(LAST_WORDS) }),
            Ok(None) => Err(self.complaint(&format!("has not ended within {} s", limit.as_secs_f64()))),
            Err(error) => Err(self.complaint(&format!("cannot be waited for: {error}"))),
        }
    }

    /// Kills it.
    pub fn kill(mut self) {
        end(&mut self.child);
    }

    /// What is wrong with it, and what it has said.
    pub fn complaint(&self, what: &str) -> String {
        format!("{} (process {}) {what}\n{}{}", self.name, self.id(), tail(&self.stdout.text()), tail(&self.stderr.text()))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Runs a program to its end.
///
/// # Errors
/// It cannot be started, or has not ended in time.
pub fn output(command: &mut Command, limit: Duration) -> Result<Output, String> {
    Program::start(command)?.wait(limit)
}

/// The end of a text.
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
    fn a_program_that_hangs_is_killed_and_named_with_what_it_said() {
        let program = Program::start(&mut shell("echo here I am; exec sleep 1000")).unwrap();
        assert_eq!(program.stdout().find(PATIENCE, |text| text.contains("am\n").then_some(7)), Some(7));
        let id = program.id();
        let error = program.wait(Duration::from_millis(10)).unwrap_err();
        assert!(error.contains("sh (process") && error.contains("has not ended within 0.01 s") && error.contains("here I am"), "{error}");
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "it is gone");
    }

    #[test]
    fn everything_a_program_says_is_heard_however_much_it_is() {
        let mut command = shell("cat; echo bad >&2; exit 3");
        let output = Program::start_with(&mut command, vec![b'x'; 1 << 20]).unwrap().wait(PATIENCE).unwrap();
        assert_eq!((output.status.code(), output.stdout.len(), &output.stderr[..]), (Some(3), 1 << 20, &b"bad\n"[..]));
    }

    #[test]
    fn an_output_that_somebody_else_holds_open_does_not_keep_the_waiter() {
        let output = output(&mut shell("sleep 30 & echo $!"), PATIENCE).unwrap();
        let other: i32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
        assert!(output.status.success());
        assert!(shell(&format!("kill {other}")).status().unwrap().success());
    }

    #[test]
    fn what_is_not_said_is_not_found_and_the_end_ends_the_search() {
        let program = Program::start(&mut shell("echo one")).unwrap();
        assert_eq!(program.stdout().find(PATIENCE, |text| text.contains("two").then_some(())), None);
        assert_eq!(program.stdout().text(), "one\n");
        assert!(program.wait(PATIENCE).unwrap().status.success());
    }
}
