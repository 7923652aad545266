//! Child processes that end with the tests, whatever ends those.
//!
//! All tests share the browser and the server through statics, which nothing drops, and a killed
//! runner drops nothing at all. So each process runs below a shell that waits for the end of its
//! input, which the kernel closes with this process. The shell then ends its whole process group,
//! with the children of the child, and removes the folder of the process.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use halite_patience::CapturedOutput;

/// `$1` is the folder to remove; the rest is the command. What does not end within five seconds of
/// SIGTERM is killed.
const KEEPER: &str = r#"
folder=$1
shift
trap : TERM
"$@" </dev/null &
child=$!
read -r _
kill -TERM 0
(sleep 5; kill -KILL 0) &
wait "$child"
rm -rf "$folder"
kill -KILL 0
"#;

/// Longest time that the shell takes to end all.
const LAST_MOMENTS: Duration = Duration::from_secs(20);

/// Running process, ended on drop and with this process.
pub(crate) struct Guarded {
    name: String,
    keeper: Child,
    stdout: CapturedOutput,
    stderr: CapturedOutput,
}

impl Guarded {
    /// Starts a program. `folder` is removed after its end.
    pub(crate) fn start(program: &str, arguments: &[&str], folder: &Path) -> Self {
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(folder)
            .arg(program)
            .args(arguments)
            .env_remove("HALITE_DATA")
            .env_remove("HALITE_CONNECT")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = CapturedOutput::capture(keeper.stdout.take().unwrap());
        let stderr = CapturedOutput::capture(keeper.stderr.take().unwrap());
        Self { name: program.to_owned(), keeper, stdout, stderr }
    }

    pub(crate) fn stdout(&self) -> &CapturedOutput {
        &self.stdout
    }

    /// Returns a message with the problem and the ends of the outputs.
    pub(crate) fn failure_message(&self, what: &str) -> String {
        let (out, err) = (self.stdout.text(), self.stderr.text());
        format!(
            "{} {what}\n{}\n{}",
            self.name,
            halite_patience::tail(&out),
            halite_patience::tail(&err)
        )
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // An error leaves nothing to do: the process is gone, or the kernel keeps it.
        let _ = halite_patience::wait(&mut self.keeper, LAST_MOMENTS);
    }
}
