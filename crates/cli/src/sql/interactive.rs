//! Prompt: statements up to their semicolon, and commands that begin with a backslash.

use std::io::{self, Write as _};

use anyhow::Context as _;
use halite::sql::split_statements;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};

use super::Runner;
use super::complete::SqlCompleter;
use crate::shell::history_file;

/// Name of the history file in the home directory.
const HISTORY: &str = ".halite_sql_history";

const HELP: &str = "\
Statements end with a semicolon. Commands:
  \\d            the tables
  \\d TABLE      the columns of a table
  \\dt           the tables
  \\copy T FROM 'FILE' [csv header]    rows of a file into a table
  \\copy {T | (QUERY)} TO 'FILE' [..]  rows into a file
  \\i FILE       run the statements of a file
  \\timing       print the time of each statement, or no longer
  \\x            print one line per value, or no longer
  \\q            quit
Ctrl-C ends the running statement; Tab completes names and words.";

/// What a command does next.
#[derive(Debug, PartialEq, Eq)]
enum Command<'l> {
    Statement(String),
    File(&'l str),
    Copy(&'l str),
    Timing,
    Expanded,
    Help,
    Quit,
    Unknown,
}

/// Reads lines until `\q` or Ctrl-D.
///
/// # Errors
/// An error of the terminal.
pub(crate) fn run_interactive(runner: &mut Runner, name: &str) -> anyhow::Result<()> {
    let config = Config::builder().completion_type(CompletionType::List).build();
    let mut editor: Editor<SqlCompleter, DefaultHistory> = Editor::with_config(config)
        .context("the terminal cannot be used for typing; pipe the statements in")?;
    editor.set_helper(Some(SqlCompleter { names: runner.names(), before: String::new() }));
    let history = history_file(HISTORY);
    if let Some(file) = &history {
        // In the first session, the history file does not exist yet.
        editor.load_history(file).ok();
    }
    runner.outlive_interrupts();
    let mut out = io::stdout();
    writeln!(out, "Halite SQL {} on {name}; \\? for help", env!("CARGO_PKG_VERSION"))?;
    let mut text = String::new();
    loop {
        let prompt = if text.is_empty() { "halite=> " } else { "halite-> " };
        if let Some(completer) = editor.helper_mut() {
            completer.before.clone_from(&text);
        }
        match editor.readline(prompt) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    editor.add_history_entry(&line)?;
                }
                if text.trim().is_empty() && line.trim_start().starts_with('\\') {
                    text.clear();
                    if !run_command(runner, line.trim())? {
                        break;
                    }
                    continue;
                }
                text.push_str(&line);
                text.push('\n');
                let found = split_statements(&text);
                if found.iter().all(|statement| statement.is_ended) {
                    for statement in found {
                        runner.run_one(statement.text)?;
                    }
                    text.clear();
                }
            }
            Err(ReadlineError::Interrupted) => text.clear(),
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error).context("reading from the terminal"),
        }
    }
    if let Some(file) = &history {
        editor.append_history(file).with_context(|| format!("history file {}", file.display()))?;
    }
    Ok(())
}

/// Runs a command; returns `false` to quit.
fn run_command(runner: &mut Runner, line: &str) -> anyhow::Result<bool> {
    let mut out = io::stdout();
    let on = |is_on: bool| if is_on { "on" } else { "off" };
    match command(line) {
        Command::Statement(text) => {
            runner.run_one(&text)?;
        }
        Command::File(path) => match std::fs::read_to_string(path) {
            Ok(text) => {
                runner.run_all(&text)?;
            }
            Err(error) => writeln!(io::stderr(), "{path}: {error}")?,
        },
        Command::Copy(text) => {
            runner.copy(text)?;
        }
        Command::Timing => {
            runner.timing = !runner.timing;
            writeln!(out, "timing is {}", on(runner.timing))?;
        }
        Command::Expanded => {
            runner.expanded = !runner.expanded;
            writeln!(out, "one line per value is {}", on(runner.expanded))?;
        }
        Command::Help => writeln!(out, "{HELP}")?,
        Command::Quit => return Ok(false),
        Command::Unknown => {
            writeln!(io::stderr(), "there is no command {line}; \\? lists the commands")?;
        }
    }
    Ok(true)
}

fn command(line: &str) -> Command<'_> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (name, rest.trim().trim_end_matches(';')) {
        ("\\d" | "\\dt", "") => Command::Statement("SHOW TABLES".to_owned()),
        ("\\d", table) => Command::Statement(format!("DESCRIBE {table}")),
        ("\\copy", text) if !text.is_empty() => Command::Copy(text),
        ("\\i", path) if !path.is_empty() => Command::File(path),
        ("\\timing", "") => Command::Timing,
        ("\\x", "") => Command::Expanded,
        ("\\?" | "\\h", "") => Command::Help,
        ("\\q", "") => Command::Quit,
        _ => Command::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_recognized() {
        assert_eq!(command("\\d"), Command::Statement("SHOW TABLES".to_owned()));
        assert_eq!(command("\\d ns.t;"), Command::Statement("DESCRIBE ns.t".to_owned()));
        assert_eq!(command("\\i a b.sql"), Command::File("a b.sql"));
        assert_eq!(command("\\timing"), Command::Timing);
        assert_eq!(command("\\q"), Command::Quit);
        assert_eq!(command("\\copy t from 'x';"), Command::Copy("t from 'x'"));
        assert_eq!(command("\\nothing"), Command::Unknown);
    }
}
