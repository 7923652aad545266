//! HBase shell language on any `Cluster`: reads lines, runs their statements, and prints in the
//! format of the HBase shell.
//!
//! ```text
//! line -> lexer -> parser -> eval -> commands/<group> -> BlockingCluster
//!                               `-> print
//! ```
//! Statements of the row-key language (`statements.rs`) and of SQL (`sql/`) are processed
//! separately. A statement may span several lines; incomplete input is buffered until it is
//! complete.

mod adopt;
mod ast;
mod column;
mod commands;
mod complete;
mod convert;
mod eval;
mod filter_string;
mod help;
mod interactive;
mod lexer;
mod methods;
mod parser;
mod print;
mod script;
mod session;
mod sql;
mod statements;
#[cfg(test)]
mod test_store;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use complete::ShellCompleter;
#[cfg(feature = "sql")]
pub(crate) use interactive::history_file;
pub(crate) use interactive::{run_interactive, terminal_width};
pub(crate) use script::{ScriptEnd, read_line, run_lines};
pub(crate) use session::Session;

use std::io;

use halite::rowkey::language::{Progress, progress};

use lexer::SyntaxProblem;
use session::Interrupt;
use value::Value;

/// State of the shell after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShellState {
    /// The statement has finished; `failed` is its outcome.
    Done { failed: bool },
    /// The statement continues on the next line.
    Unfinished,
    /// The previous statement failed because this line does not belong to it; the caller must feed
    /// the line again.
    Again,
    /// `exit` was called with this code.
    Exit(u8),
}

/// Session with the buffered lines of the current statement.
pub(crate) struct Shell<'a> {
    pub(crate) session: Session<'a>,
    pending: String,
    missing_quote: Option<char>,
    line: usize,
    /// First line number of the buffered input.
    first: usize,
}

impl<'a> Shell<'a> {
    pub(crate) fn new(session: Session<'a>) -> Self {
        Self { session, pending: String::new(), missing_quote: None, line: 1, first: 1 }
    }

    /// Returns the prompt `halite:001:0> `: the line number and the number of open brackets, with
    /// `*` or a quote while a statement continues.
    pub(crate) fn prompt(&self) -> String {
        let mark = match self.missing_quote {
            Some(quote) => quote,
            None if self.pending.is_empty() => '>',
            None => '*',
        };
        format!("halite:{:03}:{}{mark} ", self.line, lexer::open_brackets(&self.pending))
    }

    /// Prints a line that was not typed.
    pub(crate) fn print_line(&mut self, line: &str) -> io::Result<()> {
        match self.session.print_line(line).and_then(|()| self.session.flush()) {
            Err(Interrupt::Output(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Discards the lines of an incomplete statement.
    pub(crate) fn cancel(&mut self) {
        self.pending.clear();
        self.missing_quote = None;
    }

    /// Adds a line, and runs the statement if it is complete.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(crate) fn feed(&mut self, line: &str) -> io::Result<ShellState> {
        if self.pending.trim().is_empty() {
            self.first = self.line;
        }
        if statements::begins(&self.pending)
            && let Some(why) = statements::left_open(&self.pending, line)
        {
            let lines = self.pending_lines(self.line - 1);
            self.cancel();
            self.finish(Err(Interrupt::Problem(format!(
                "the statement of {lines} has not run: {why}"
            ))))?;
            return Ok(ShellState::Again);
        }
        self.line += 1;
        self.pending.push_str(line);
        self.pending.push('\n');
        if statements::begins(&self.pending) {
            return self.feed_statement();
        }
        if sql::begins(&self.pending) {
            return self.feed_sql();
        }
        if let Some(meant) = statements::misspelled_beginning(&self.pending) {
            let shown = self.point_at(0);
            self.cancel();
            let text = format!("there is no such statement (did you mean {meant}?)\n{shown}");
            return self.finish(Err(Interrupt::Problem(text)));
        }
        let variables = self.session.variables.keys().cloned().collect();
        match parser::parse(&self.pending, &variables) {
            Err(SyntaxProblem::Incomplete { quote }) => {
                self.missing_quote = quote;
                Ok(ShellState::Unfinished)
            }
            Err(SyntaxProblem::Wrong { offset: at, text }) => {
                let shown = self.point_at(at);
                self.cancel();
                self.finish(Err(Interrupt::Problem(format!("{text}\n{shown}"))))
            }
            Ok(statements) => {
                self.cancel();
                let outcome = eval::run(&mut self.session, &statements);
                self.finish(outcome)
            }
        }
    }

    /// Runs the buffered input if its last line completes it.
    fn feed_statement(&mut self) -> io::Result<ShellState> {
        let progress = progress(&self.pending);
        if progress != Progress::Ended {
            if progress == Progress::Complete && self.session.interactive {
                self.print_line("(';' ends the statement)")?;
            }
            return Ok(ShellState::Unfinished);
        }
        let text = std::mem::take(&mut self.pending);
        let outcome = statements::run(&mut self.session, &text);
        self.finish(outcome)
    }

    /// Runs the buffered SQL if its last line ends it.
    fn feed_sql(&mut self) -> io::Result<ShellState> {
        if !sql::is_ended(&self.pending) {
            return Ok(ShellState::Unfinished);
        }
        let text = std::mem::take(&mut self.pending);
        let outcome = sql::run(&mut self.session, &text);
        self.finish(outcome)
    }

    /// Returns `line 3` or `lines 3 to 5`, the lines of the buffered input.
    fn pending_lines(&self, last: usize) -> String {
        if last > self.first {
            format!("lines {} to {last}", self.first)
        } else {
            format!("line {}", self.first)
        }
    }

    /// Reports an incomplete statement at the end of the input, if there is one.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub(crate) fn end(&mut self) -> io::Result<ShellState> {
        if self.pending.trim().is_empty() {
            return Ok(ShellState::Done { failed: false });
        }
        let lines = self.pending_lines(self.line - 1);
        let position = match self.missing_quote {
            Some(quote) => format!("inside a string; the closing {quote} is missing"),
            None if statements::begins(&self.pending) || sql::begins(&self.pending) => {
                format!("inside the statement of {lines}; its ';' is missing")
            }
            None => "inside a statement; a bracket, 'end' or value is missing".to_owned(),
        };
        if let (true, Progress::Wrong(error)) =
            (statements::begins(&self.pending), progress(&self.pending))
        {
            let text = std::mem::take(&mut self.pending);
            return self.finish(Err(Interrupt::Problem(
                error.render(&text).trim_start_matches("error: ").to_owned(),
            )));
        }
        let first = self.pending.lines().next().unwrap_or_default().to_owned();
        self.cancel();
        self.finish(Err(Interrupt::Problem(format!("the input ends {position}\n  {first}"))))
    }

    /// Returns the line that contains the byte `at`, with a mark below it.
    fn point_at(&self, at: usize) -> String {
        let at = self.pending.floor_char_boundary(at);
        let start = self.pending[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.pending[start..].lines().next().unwrap_or_default();
        format!("  {line}\n  {}^", " ".repeat(self.pending[start..at].chars().count()))
    }

    fn finish(&mut self, outcome: Result<Value, Interrupt>) -> io::Result<ShellState> {
        let said = match outcome {
            Ok(Value::Nil) => Ok(ShellState::Done { failed: false }),
            Ok(value) => self
                .session
                .print_line(format!("=> {}", value.inspect()))
                .map(|()| ShellState::Done { failed: false }),
            Err(Interrupt::Problem(text)) => self
                .session
                .print_line(format!("\nERROR: {text}\n"))
                .map(|()| ShellState::Done { failed: true }),
            Err(Interrupt::Reported) => Ok(ShellState::Done { failed: true }),
            Err(Interrupt::Exit(code)) => Ok(ShellState::Exit(code)),
            Err(stop) => Err(stop),
        };
        match said.and_then(|state| self.session.flush().map(|()| state)) {
            Ok(state) => Ok(state),
            Err(Interrupt::Output(error)) => Err(error),
            Err(_) => Ok(ShellState::Done { failed: true }),
        }
    }
}
