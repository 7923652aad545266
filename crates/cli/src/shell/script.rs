//! Script mode: runs the lines of a pipe or a file, and prints prompts and lines as on a terminal.

use std::io::{self, BufRead};

use super::{Shell, ShellState};

/// Reason why a script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptEnd {
    /// All lines have run.
    Input,
    /// `exit` was called with this code.
    Exit(u8),
    /// The first error stopped the script.
    Failed,
}

/// Runs lines to the end, to `exit`, or to the first error if `stop_at_error`.
///
/// Requests one line at a time from `next_line`, so that the answer to a confirmation ("y/n?") can
/// be read from the same input.
///
/// # Errors
/// Returns an error if the input cannot be read or the output cannot be written.
pub(crate) fn run_lines(
    shell: &mut Shell<'_>,
    mut next_line: impl FnMut() -> io::Result<Option<String>>,
    stop_at_error: bool,
) -> io::Result<ScriptEnd> {
    loop {
        let line = next_line()?;
        let state = match &line {
            Some(line) => {
                let shown = format!("{}{line}", shell.prompt());
                shell.print_line(&shown)?;
                match shell.feed(line)? {
                    ShellState::Again if stop_at_error => ShellState::Done { failed: true },
                    ShellState::Again => shell.feed(line)?,
                    state => state,
                }
            }
            None => shell.end()?,
        };
        match state {
            ShellState::Exit(code) => return Ok(ScriptEnd::Exit(code)),
            ShellState::Done { failed: true } if stop_at_error => return Ok(ScriptEnd::Failed),
            _ if line.is_none() => return Ok(ScriptEnd::Input),
            _ => {}
        }
    }
}

/// Returns the next line without its line end, or `None` at the end of the input. Invalid UTF-8 is
/// replaced by replacement characters.
///
/// # Errors
/// Returns an error if the input cannot be read.
pub(crate) fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if input.read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    let line = String::from_utf8_lossy(&bytes);
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}
