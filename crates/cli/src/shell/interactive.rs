//! Interactive shell: line editing, history, completion, and Ctrl-C to discard the current input.

use std::io;
use std::path::PathBuf;

use anyhow::Context as _;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Editor, Helper};

use super::complete::ShellCompleter;
use super::{Shell, ShellState};

/// Name of the history file in the home directory.
const HISTORY: &str = ".halite_history";
/// Maximum history lines.
const HISTORY_LINES: usize = 10_000;

struct Assistant(ShellCompleter);

impl Completer for Assistant {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &rustyline::Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.0.find(&line[..position]))
    }
}

impl Hinter for Assistant {
    type Hint = String;
}
impl Highlighter for Assistant {}
impl Validator for Assistant {}
impl Helper for Assistant {}

/// Returns the path of a history file: `$HALITE_HISTORY`, or else `name` in the home directory;
/// `None` if that is empty.
pub(crate) fn history_file(name: &str) -> Option<PathBuf> {
    match std::env::var_os("HALITE_HISTORY") {
        Some(path) => Some(PathBuf::from(path)).filter(|path| !path.as_os_str().is_empty()),
        None => std::env::home_dir().map(|home| home.join(name)),
    }
}

/// Reads lines until `exit`, Ctrl-D, or, if `stop_at_error`, an error. Returns the exit code.
pub(crate) fn run_interactive(
    shell: &mut Shell<'_>,
    candidates: ShellCompleter,
    stop_at_error: bool,
) -> anyhow::Result<u8> {
    let config = Config::builder()
        .max_history_size(HISTORY_LINES)?
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .build();
    let mut editor: Editor<Assistant, DefaultHistory> = Editor::with_config(config)
        .context("the terminal cannot be used for typing; pipe the commands in")?;
    editor.set_helper(Some(Assistant(candidates)));
    let history = history_file(HISTORY);
    if let Some(file) = &history {
        // In the first session, the history file does not exist yet.
        editor.load_history(file).ok();
    }
    let code = loop {
        shell.session.width = terminal_width();
        match editor.readline(&shell.prompt()) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    editor.add_history_entry(&line)?;
                }
                let mut state = shell.feed(&line)?;
                if state == ShellState::Again {
                    state = if stop_at_error {
                        ShellState::Done { failed: true }
                    } else {
                        shell.feed(&line)?
                    };
                }
                match state {
                    ShellState::Exit(code) => break code,
                    ShellState::Done { failed: true } if stop_at_error => break 1,
                    _ => {}
                }
            }
            Err(ReadlineError::Interrupted) => shell.cancel(),
            Err(ReadlineError::Eof) => break 0,
            Err(error) => return Err(error).context("reading from the terminal"),
        }
    };
    if let Some(file) = &history {
        editor.append_history(file).with_context(|| {
            format!(
                "history file {}: it cannot be written; set HALITE_HISTORY to another, or to \
                 nothing",
                file.display()
            )
        })?;
    }
    Ok(code)
}

/// Returns the columns of the terminal on standard output, or `None` if output is redirected.
pub(crate) fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns >= 40)
}
