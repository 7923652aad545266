//! Runs the lines of a pipe or a file, with the prompts and the lines shown as at a terminal.

use std::io::{self, BufRead};

use super::{Shell, State};

/// How the lines were used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All of them have run.
    Input,
    /// `exit` was called with this code.
    Exit(u8),
    /// The first error ended it.
    Failed,
}

/// Runs lines to the end, to `exit`, or to the first error if `stop_at_error`.
///
/// `next_line` is asked for one line at a time, so that what a command asks for ("y/n?") can come from the same input.
///
/// # Errors
/// If the input cannot be read or the output not be written.
pub(crate) fn run_lines(shell: &mut Shell<'_>, mut next_line: impl FnMut() -> io::Result<Option<String>>, stop_at_error: bool) -> io::Result<End> {
    loop {
        let line = next_line()?;
        let state = match &line {
            Some(line) => {
                let shown = format!("{}{line}", shell.prompt());
                shell.show(&shown)?;
                match shell.feed(line)? {
                    State::Again if stop_at_error => State::Done { failed: true },
                    State::Again => shell.feed(line)?,
                    state => state,
                }
            }
            None => shell.end()?,
        };
        match state {
            State::Exit(code) => return Ok(End::Exit(code)),
            State::Done { failed: true } if stop_at_error => return Ok(End::Failed),
            _ if line.is_none() => return Ok(End::Input),
            _ => {}
        }
    }
}

/// The next line without its end; `None` at the end of the input. Bytes that are not UTF-8 become replacement characters.
///
/// # Errors
/// If the input cannot be read.
pub(crate) fn read_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    if input.read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    let line = String::from_utf8_lossy(&bytes);
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}
