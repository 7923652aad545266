//! The HBase shell's language over any `Cluster`: reads lines, runs the statements they make, prints as the shell does.
//!
//! ```text
//! line -> lexer -> parser -> eval -> words/<command> -> dyn Cluster
//!                                     `-> print
//! ```
//! Statements of the row-key language (`statements.rs`) go their own way. A statement may take several lines: what is not complete yet is kept until it is.

mod adopt;
mod ast;
mod column;
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
#[cfg(test)]
mod scratch;
mod script;
mod session;
mod statements;
#[cfg(test)]
mod tests;
mod value;
mod words;

pub(crate) use complete::Candidates;
pub(crate) use interactive::{converse, terminal_width};
pub(crate) use script::{End, read_line, run_lines};
pub(crate) use session::Session;

use std::io;

use halite::rowkey::language::{Progress, progress};

use lexer::SyntaxProblem;
use session::Stop;
use value::Value;

/// What the shell waits for, or why it waits no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The statement is done; `failed` says how.
    Done { failed: bool },
    /// The statement goes on on the next line.
    Unfinished,
    /// The statement before has failed because this line does not belong to it; the line has to be fed again.
    Again,
    /// `exit` was called with this code.
    Exit(u8),
}

/// A session and the lines of the statement it is being told.
pub(crate) struct Shell<'a> {
    pub(crate) session: Session<'a>,
    pending: String,
    missing_quote: Option<char>,
    line: usize,
    /// The line on which what is pending begins.
    first: usize,
}

impl<'a> Shell<'a> {
    pub(crate) fn new(session: Session<'a>) -> Self {
        Self { session, pending: String::new(), missing_quote: None, line: 1, first: 1 }
    }

    /// `halite:001:0> `: the line's number and how many brackets are open; `*` or a quote while a statement goes on.
    pub(crate) fn prompt(&self) -> String {
        let mark = match self.missing_quote {
            Some(quote) => quote,
            None if self.pending.is_empty() => '>',
            None => '*',
        };
        format!("halite:{:03}:{}{mark} ", self.line, lexer::open_brackets(&self.pending))
    }

    /// Shows a line that was not typed.
    pub(crate) fn show(&mut self, line: &str) -> io::Result<()> {
        match self.session.say(line).and_then(|()| self.session.flush()) {
            Err(Stop::Output(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// Forgets the lines of a statement that is not complete.
    pub(crate) fn cancel(&mut self) {
        self.pending.clear();
        self.missing_quote = None;
    }

    /// Takes a line and runs the statement if that completes it.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub(crate) fn feed(&mut self, line: &str) -> io::Result<State> {
        if self.pending.trim().is_empty() {
            self.first = self.line;
        }
        if statements::begins(&self.pending)
            && let Some(why) = statements::left_open(&self.pending, line)
        {
            let lines = self.pending_lines(self.line - 1);
            self.cancel();
            self.finish(Err(Stop::Problem(format!("the statement of {lines} has not run: {why}"))))?;
            return Ok(State::Again);
        }
        self.line += 1;
        self.pending.push_str(line);
        self.pending.push('\n');
        if statements::begins(&self.pending) {
            return self.feed_statement();
        }
        let variables = self.session.variables.keys().cloned().collect();
        match parser::parse(&self.pending, &variables) {
            Err(SyntaxProblem::Incomplete { quote }) => {
                self.missing_quote = quote;
                Ok(State::Unfinished)
            }
            Err(SyntaxProblem::Wrong { at, text }) => {
                let shown = self.point_at(at);
                self.cancel();
                self.finish(Err(Stop::Problem(format!("{text}\n{shown}"))))
            }
            Ok(statements) => {
                self.cancel();
                let outcome = eval::run(&mut self.session, &statements);
                self.finish(outcome)
            }
        }
    }

    /// Runs what is pending if its last line ends it.
    fn feed_statement(&mut self) -> io::Result<State> {
        let progress = progress(&self.pending);
        if progress != Progress::Ended {
            if progress == Progress::Complete && self.session.interactive {
                self.show("(';' ends the statement)")?;
            }
            return Ok(State::Unfinished);
        }
        let text = std::mem::take(&mut self.pending);
        let outcome = statements::run(&mut self.session, &text);
        self.finish(outcome)
    }

    /// `line 3` or `lines 3 to 5`, the lines of what is pending.
    fn pending_lines(&self, last: usize) -> String {
        if last > self.first { format!("lines {} to {last}", self.first) } else { format!("line {}", self.first) }
    }

    /// Says that the input has ended inside a statement, if it has.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub(crate) fn end(&mut self) -> io::Result<State> {
        if self.pending.trim().is_empty() {
            return Ok(State::Done { failed: false });
        }
        let lines = self.pending_lines(self.line - 1);
        let what = match self.missing_quote {
            Some(quote) => format!("inside a string; the closing {quote} is missing"),
            None if statements::begins(&self.pending) => format!("inside the statement of {lines}; its ';' is missing"),
            None => "inside a statement; a bracket, 'end' or value is missing".to_owned(),
        };
        if let (true, Progress::Wrong(error)) = (statements::begins(&self.pending), progress(&self.pending)) {
            let text = std::mem::take(&mut self.pending);
            return self.finish(Err(Stop::Problem(error.render(&text).trim_start_matches("error: ").to_owned())));
        }
        let first = self.pending.lines().next().unwrap_or_default().to_owned();
        self.cancel();
        self.finish(Err(Stop::Problem(format!("the input ends {what}\n  {first}"))))
    }

    /// The line that holds the byte `at`, with a mark below it.
    fn point_at(&self, at: usize) -> String {
        let at = self.pending.floor_char_boundary(at);
        let start = self.pending[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.pending[start..].lines().next().unwrap_or_default();
        format!("  {line}\n  {}^", " ".repeat(self.pending[start..at].chars().count()))
    }

    fn finish(&mut self, outcome: Result<Value, Stop>) -> io::Result<State> {
        let said = match outcome {
            Ok(Value::Nil) => Ok(State::Done { failed: false }),
            Ok(value) => self.session.say(format!("=> {}", value.inspect())).map(|()| State::Done { failed: false }),
            Err(Stop::Problem(text)) => self.session.say(format!("\nERROR: {text}\n")).map(|()| State::Done { failed: true }),
            Err(Stop::Reported) => Ok(State::Done { failed: true }),
            Err(Stop::Exit(code)) => Ok(State::Exit(code)),
            Err(stop) => Err(stop),
        };
        match said.and_then(|state| self.session.flush().map(|()| state)) {
            Ok(state) => Ok(state),
            Err(Stop::Output(error)) => Err(error),
            Err(_) => Ok(State::Done { failed: true }),
        }
    }
}
