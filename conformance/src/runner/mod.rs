//! Runner that executes a case on an implementation and returns the differences from HBase's
//! results.

use std::fmt;

use bytes::Bytes;
use halite_types::{Error, ErrorKind, FamilyDescriptor, Get, OpResult, Result, Row, RowOp, Scan};

use crate::script::{Case, Command, ScriptStep, TableChange};

pub(crate) mod result_format;

/// Initial time of the clock in a case, in milliseconds.
pub const CLOCK_START_MS: i64 = 1_000_000;

/// Kind of merge of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// All files of each family that has two or more; delete markers stay, as if another file had
    /// been left out.
    Minor,
    /// All files of each family that has two or more, as the store itself decides.
    Automatic,
    /// All files of each family into one; cells that no read can return are dropped.
    Major,
}

/// Implementation under test: one table at a time and a clock that only the script moves.
pub trait SystemUnderTest {
    /// Sets the clock, in milliseconds since 1970; it may go back.
    fn set_clock(&mut self, now_ms: i64);
    /// Replaces the previous table by a new one; its regions start at the empty key and at each of
    /// `splits`.
    ///
    /// # Errors
    /// Returns an error of the implementation; `InvalidRequest` for a rejected descriptor.
    fn create(&mut self, families: Vec<FamilyDescriptor>, splits: Vec<Bytes>) -> Result<()>;
    /// Changes the table.
    ///
    /// # Errors
    /// Returns an error of the implementation; `Unsupported` if it does not support the change.
    fn change(&mut self, change: &TableChange) -> Result<()>;
    /// Applies operations, each with its own result.
    ///
    /// # Errors
    /// Returns an error if no operation was attempted.
    fn apply(&mut self, ops: Vec<RowOp>) -> Result<Vec<Result<OpResult>>>;
    /// Reads a row; the result is empty if it does not exist.
    ///
    /// # Errors
    /// Returns an error of the implementation.
    fn get(&mut self, get: Get) -> Result<Row>;
    /// Reads rows, or partial rows if the scan has a batch limit.
    ///
    /// # Errors
    /// Returns an error of the implementation.
    fn scan(&mut self, scan: Scan) -> Result<Vec<Row>>;
    /// Flushes every memstore to a file.
    ///
    /// # Errors
    /// Returns an error of the implementation.
    fn flush(&mut self) -> Result<()>;
    /// Merges files.
    ///
    /// # Errors
    /// Returns an error of the implementation; `Unsupported` if it does not support this kind.
    fn merge(&mut self, how: MergeKind) -> Result<()>;
    /// Returns the family names, sorted, with the number of files of each.
    ///
    /// # Errors
    /// Returns `Unsupported` if the number is not available.
    fn files(&mut self) -> Result<Vec<(String, usize)>>;
}

/// Step whose result differs from the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Line number of the command in its file.
    pub line: usize,
    /// Command text.
    pub command: String,
    /// HBase's result.
    pub expected: Vec<String>,
    /// Actual result.
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
            writeln!(
                out,
                "    + the same lines in another order or number: {}",
                self.found.join(" | ")
            )?;
        }
        Ok(())
    }
}

/// Runs all steps of a case, including those after a difference. Returns an empty list if every
/// result equals HBase's.
pub fn run(case: &Case, subject: &mut dyn SystemUnderTest) -> Vec<Difference> {
    let mut clock = CLOCK_START_MS;
    subject.set_clock(clock);
    let mut differences = Vec::new();
    for step in &case.steps {
        let found = execute(step, subject, &mut clock);
        if !result_format::agrees(&step.expected, &found) {
            let found = found.unwrap_or_else(|error| vec![result_format::error_line(&error)]);
            differences.push(Difference {
                line: step.line,
                command: step.text.clone(),
                expected: step.expected.clone(),
                found,
            });
        }
    }
    differences
}

/// Executes a step and returns the lines of the result; `clock` is the time of the script's clock.
pub(crate) fn execute(
    step: &ScriptStep,
    subject: &mut dyn SystemUnderTest,
    clock: &mut i64,
) -> Result<Vec<String>> {
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
            let shape = result_format::ResultFormat::for_op(&op);
            let result = subject
                .apply(vec![op])?
                .pop()
                .unwrap_or_else(|| Err(Error::new(ErrorKind::Io, "an operation has no result")))?;
            Ok(shape.lines(&result))
        }
        Command::Batch(ops) => {
            Ok(subject.apply(ops)?.iter().map(result_format::batch_line).collect())
        }
        Command::Get(get) => subject.get(get).map(|row| result_format::cells(&[row])),
        Command::Exists(get) => subject.get(get).map(|row| vec![(!row.is_empty()).to_string()]),
        Command::Scan(scan) => subject.scan(scan).map(|rows| result_format::cells(&rows)),
        Command::Flush => subject.flush().and(silent),
        Command::Minor => subject.merge(MergeKind::Minor).and(silent),
        Command::Compact => subject.merge(MergeKind::Automatic).and(silent),
        Command::Major => subject.merge(MergeKind::Major).and(silent),
        Command::Files => {
            Ok(subject.files()?.iter().map(|(family, files)| format!("{family} {files}")).collect())
        }
    }
}

#[cfg(test)]
mod tests;
