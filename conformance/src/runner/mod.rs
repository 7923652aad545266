//! Runs a case on an implementation and says where its answers differ from HBase's.

use std::fmt;

use bytes::Bytes;
use halite_types::{Error, ErrorKind, FamilyDescriptor, Get, OpResult, Result, Row, RowOp, Scan};

use crate::script::{Case, Change, Command, Step};

pub(crate) mod answer;

/// Where the clock stands when a case begins, milliseconds.
pub const CLOCK_START_MS: i64 = 1_000_000;

/// How files are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// All files of each family that has two or more; delete markers stay, as if another file had been left out.
    Minor,
    /// All files of each family that has two or more, as the store itself decides.
    Unasked,
    /// All files of each family into one; what no read can see goes.
    Major,
}

/// An implementation that cases are run on: one table at a time and a clock that stands still.
pub trait Subject {
    /// Sets the clock, milliseconds since 1970; it may go back.
    fn set_clock(&mut self, now_ms: i64);
    /// Puts a fresh table in the place of the one before; its regions begin at the empty key and at each of `splits`.
    ///
    /// # Errors
    /// As the implementation's; a descriptor it refuses is `InvalidRequest`.
    fn create(&mut self, families: Vec<FamilyDescriptor>, splits: Vec<Bytes>) -> Result<()>;
    /// Changes the table.
    ///
    /// # Errors
    /// As the implementation's; `Unsupported` if it cannot be told to.
    fn change(&mut self, change: &Change) -> Result<()>;
    /// Applies operations, each with its own result.
    ///
    /// # Errors
    /// If nothing was tried.
    fn apply(&mut self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>>;
    /// Reads a row; empty if it does not exist.
    ///
    /// # Errors
    /// As the implementation's.
    fn get(&mut self, get: Get) -> Result<Row>;
    /// Reads rows, or pieces of rows if the scan has a batch limit.
    ///
    /// # Errors
    /// As the implementation's.
    fn scan(&mut self, scan: Scan) -> Result<Vec<Row>>;
    /// Writes every memstore to a file.
    ///
    /// # Errors
    /// As the implementation's.
    fn flush(&mut self) -> Result<()>;
    /// Merges files.
    ///
    /// # Errors
    /// As the implementation's; `Unsupported` if it cannot be told to.
    fn merge(&mut self, how: Merge) -> Result<()>;
    /// Family names and the number of files each has, by name.
    ///
    /// # Errors
    /// `Unsupported` if that cannot be seen.
    fn files(&mut self) -> Result<Vec<(String, usize)>>;
}

/// A step whose answer is not the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the command's line in its file.
    pub line: usize,
    /// The command.
    pub command: String,
    /// HBase's answer.
    pub expected: Vec<String>,
    /// The answer that came.
    pub found: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "  line {}: {}", self.line, self.command)?;
        let both = |line: &String| self.expected.contains(line) && self.found.contains(line);
        for line in &self.expected {
            writeln!(out, "    {} {line}", if both(line) { ' ' } else { '-' })?;
        }
        if self.expected.is_empty() {
            writeln!(out, "    - (no answer)")?;
        }
        for line in self.found.iter().filter(|line| !both(line)) {
            writeln!(out, "    + {line}")?;
        }
        if self.found.is_empty() {
            writeln!(out, "    + (no answer)")?;
        } else if self.expected.iter().all(both) && self.found.iter().all(both) {
            writeln!(out, "    + the same lines in another order or number: {}", self.found.join(" | "))?;
        }
        Ok(())
    }
}

/// Runs all steps of a case, those behind a difference too; empty if every answer is HBase's.
pub fn run(case: &Case, subject: &mut dyn Subject) -> Vec<Difference> {
    let mut clock = CLOCK_START_MS;
    subject.set_clock(clock);
    let mut differences = Vec::new();
    for step in &case.steps {
        let found = execute(step, subject, &mut clock);
        if !answer::agrees(&step.answer, &found) {
            let found = found.unwrap_or_else(|error| vec![answer::error_line(&error)]);
            differences.push(Difference { line: step.line, command: step.text.clone(), expected: step.answer.clone(), found });
        }
    }
    differences
}

/// The lines of the answer; `clock` is what the script's clock shows.
pub(crate) fn execute(step: &Step, subject: &mut dyn Subject, clock: &mut i64) -> Result<Vec<String>> {
    let silent = Ok(Vec::new());
    match step.command.clone()? {
        Command::Create(families, splits) => subject.create(families, splits).and(silent),
        Command::Change(change) => subject.change(&change).and(silent),
        Command::Clock(now_ms) => {
            *clock = now_ms;
            subject.set_clock(now_ms);
            silent
        }
        Command::Advance(milliseconds) => {
            *clock += milliseconds;
            subject.set_clock(*clock);
            silent
        }
        Command::Apply(op) => {
            let shape = answer::Shape::of(&op);
            let result = subject.apply(vec![op])?.pop().unwrap_or_else(|| Err(Error::new(ErrorKind::Io, "an operation has no result")))?;
            Ok(shape.lines(&result))
        }
        Command::Batch(ops) => Ok(subject.apply(ops)?.iter().map(answer::batch_line).collect()),
        Command::Get(get) => subject.get(get).map(|row| answer::cells(&[row])),
        Command::Exists(get) => subject.get(get).map(|row| vec![(!row.is_empty()).to_string()]),
        Command::Scan(scan) => subject.scan(scan).map(|rows| answer::cells(&rows)),
        Command::Flush => subject.flush().and(silent),
        Command::Minor => subject.merge(Merge::Minor).and(silent),
        Command::Compact => subject.merge(Merge::Unasked).and(silent),
        Command::Major => subject.merge(Merge::Major).and(silent),
        Command::Files => Ok(subject.files()?.iter().map(|(family, files)| format!("{family} {files}")).collect()),
    }
}

#[cfg(test)]
mod tests;
