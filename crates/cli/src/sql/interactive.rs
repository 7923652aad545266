//! Prompt: statements up to their semicolon, and commands that begin with a backslash.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use halite::sql::split_statements;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};

use super::Runner;
use super::complete::SqlCompleter;
use super::edit::{edited, edited_file};
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
  \\e [FILE]     edit the last statement, or a file, and run it
  \\i FILE       run the statements of a file
  \\o [FILE]     send rows to a file; without one, to the terminal again
  \\timing       print the time of each statement, or no longer (on, off)
  \\x            print one line per value, or no longer (on, off)
  \\q            quit
Ctrl-C ends the running statement; Tab completes names and words.";

/// What a command does next.
#[derive(Debug, PartialEq, Eq)]
enum Command<'l> {
    Statement(String),
    File(&'l str),
    Copy(&'l str),
    /// The last statement, or a file.
    Edit(Option<&'l str>),
    /// Rows go to a file, or to the terminal.
    Output(Option<&'l str>),
    /// On, off, or the other one.
    Timing(Option<bool>),
    Expanded(Option<bool>),
    Help,
    Quit,
    Unknown,
}

/// What follows a command.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// The next line.
    Read,
    /// This text, as if it was typed.
    Typed(String),
    Quit,
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
    let (mut text, mut last) = (String::new(), String::new());
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
                let is_edit = matches!(command(line.trim()), Command::Edit(_));
                let is_first = text.trim().is_empty();
                if is_edit || is_first && line.trim_start().starts_with('\\') {
                    let begun = if is_first { &last } else { &text };
                    match run_command(runner, line.trim(), begun)? {
                        Next::Read if is_edit => continue,
                        Next::Read => text.clear(),
                        Next::Quit => break,
                        Next::Typed(typed) => {
                            editor.add_history_entry(typed.trim_end())?;
                            text = typed;
                        }
                    }
                } else {
                    text.push_str(&line);
                    text.push('\n');
                }
                let found = split_statements(&text);
                if found.iter().all(|statement| statement.is_ended) {
                    if !found.is_empty() {
                        last.clone_from(&text);
                    }
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

/// Runs a command. `begun` is the text that `\e` edits.
fn run_command(runner: &mut Runner, line: &str, begun: &str) -> anyhow::Result<Next> {
    let mut out = io::stdout();
    let on = |is_on: bool| if is_on { "on" } else { "off" };
    match command(line) {
        Command::Edit(file) => return edit(file, begun),
        Command::Output(None) => runner.set_output(None),
        Command::Output(Some(path)) => match File::create(path) {
            Ok(file) => runner.set_output(Some(file)),
            Err(error) => writeln!(io::stderr(), "{path}: {error}")?,
        },
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
        Command::Timing(is_on) => {
            runner.timing = is_on.unwrap_or(!runner.timing);
            writeln!(out, "timing is {}", on(runner.timing))?;
        }
        Command::Expanded(is_on) => {
            runner.expanded = is_on.unwrap_or(!runner.expanded);
            writeln!(out, "one line per value is {}", on(runner.expanded))?;
        }
        Command::Help => writeln!(out, "{HELP}")?,
        Command::Quit => return Ok(Next::Quit),
        Command::Unknown => {
            writeln!(io::stderr(), "there is no command {line}; \\? lists the commands")?;
        }
    }
    Ok(Next::Read)
}

/// Has a text or a file edited, and returns it as what is typed next. Without a semicolon at its
/// end, more of it may be typed.
fn edit(file: Option<&str>, begun: &str) -> anyhow::Result<Next> {
    let text = match file {
        Some(path) => edited_file(Path::new(path)),
        None => edited(begun),
    };
    match text {
        Ok(Some(text)) if !text.trim().is_empty() => {
            writeln!(io::stdout(), "{}", text.trim_end())?;
            Ok(Next::Typed(text))
        }
        Ok(_) => Ok(Next::Read),
        Err(error) => {
            writeln!(io::stderr(), "{error:#}")?;
            Ok(Next::Read)
        }
    }
}

fn command(line: &str) -> Command<'_> {
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (name, rest.trim().trim_end_matches(';')) {
        ("\\d" | "\\dt", "") => Command::Statement("SHOW TABLES".to_owned()),
        ("\\d", table) => Command::Statement(format!("DESCRIBE {table}")),
        ("\\copy", text) if !text.is_empty() => Command::Copy(text),
        ("\\i", path) if !path.is_empty() => Command::File(path),
        ("\\e", "") => Command::Edit(None),
        ("\\e", path) => Command::Edit(Some(path)),
        ("\\o", "") => Command::Output(None),
        ("\\o", path) => Command::Output(Some(path)),
        ("\\timing", value) if is_switch(value) => Command::Timing(switch(value)),
        ("\\x", value) if is_switch(value) => Command::Expanded(switch(value)),
        ("\\?" | "\\h", "") => Command::Help,
        ("\\q", "") => Command::Quit,
        _ => Command::Unknown,
    }
}

/// Returns `true` for what may follow a command that is on or off.
fn is_switch(value: &str) -> bool {
    value.is_empty() || switch(value).is_some()
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
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
        assert_eq!(command("\\timing"), Command::Timing(None));
        assert_eq!(command("\\x off"), Command::Expanded(Some(false)));
        assert_eq!(command("\\x maybe"), Command::Unknown);
        assert_eq!(command("\\o rows.csv"), Command::Output(Some("rows.csv")));
        assert_eq!(command("\\o"), Command::Output(None));
        assert_eq!(command("\\e"), Command::Edit(None));
        assert_eq!(command("\\e a b.sql"), Command::Edit(Some("a b.sql")));
        assert_eq!(command("\\q"), Command::Quit);
        assert_eq!(command("\\copy t from 'x';"), Command::Copy("t from 'x'"));
        assert_eq!(command("\\nothing"), Command::Unknown);
    }
}
