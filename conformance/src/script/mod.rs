//! Case files as typed commands.
//!
//! A command is one line at the margin; the indented lines below it are its recorded answer. What the library's own
//! types refuse (a negative bound) is a command with an error in it, for HBase refuses it too; what is no command at all is
//! [`Malformed`].

use std::fmt;

use bytes::Bytes;
use halite_types::{Error, FamilyDescriptor, Get, RowOp, Scan};

mod filter;
mod request;
pub(crate) mod text;
mod words;

use words::Words;

/// One case: a name and the steps of one fresh table.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it shows, as a sentence of `snake_case`.
    pub name: String,
    /// Its commands in order.
    pub steps: Vec<Step>,
}

/// A command and what HBase answered.
#[derive(Clone, Debug)]
pub struct Step {
    /// Number of its line, from 1.
    pub line: usize,
    /// The line itself.
    pub text: String,
    /// What it asks for, or why the library's own types refuse to say it.
    pub command: Result<Command, Error>,
    /// The recorded lines, without their indent.
    pub answer: Vec<String>,
}

/// What a line asks for.
#[derive(Clone, Debug)]
pub enum Command {
    /// A fresh table with these families; its regions begin at the empty key and at these.
    Create(Vec<FamilyDescriptor>, Vec<Bytes>),
    /// The table is changed.
    Change(Change),
    /// The clock is set, milliseconds.
    Clock(i64),
    /// The clock goes on, or back, by so many milliseconds.
    Advance(i64),
    /// One operation on one row.
    Apply(RowOp),
    /// Operations on several rows.
    Batch(Vec<RowOp>),
    /// One row is read.
    Get(Get),
    /// One row is asked for its existence.
    Exists(Get),
    /// A range of rows is read.
    Scan(Scan),
    /// Every memstore becomes a file.
    Flush,
    /// Files are merged, delete markers stay.
    Minor,
    /// The store compacts as it does by itself.
    Compact,
    /// Files are rewritten, markers go.
    Major,
    /// The files of each family are counted.
    Files,
}

/// What is done to a table beside its rows.
#[derive(Clone, Debug)]
pub enum Change {
    /// These families are added or replaced.
    Alter(Vec<FamilyDescriptor>),
    /// All rows go, the regions stay.
    Truncate,
    /// The region that holds this row is split at it.
    Split(Bytes),
    /// The region that holds this row is merged with the next one.
    Merge(Bytes),
}

/// A line that is neither a command nor an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: {}; conformance/README.md has the format", self.line, self.reason)
    }
}

impl std::error::Error for Malformed {}

/// Why a line gives no command.
#[derive(Debug)]
enum Fault {
    /// It is not in the format.
    Malformed(String),
    /// It is, but the types refuse what it says.
    Refused(Error),
}

impl Fault {
    fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed(reason.into())
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Case {
    /// The cases of a file.
    ///
    /// # Errors
    /// [`Malformed`] with the first line that is not in the format.
    pub fn parse_file(text: &str) -> Result<Vec<Self>, Malformed> {
        let mut cases: Vec<Self> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let malformed = |reason: String| Malformed { line: index + 1, reason };
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix("case ") {
                if cases.iter().any(|case| case.name == name) {
                    return Err(malformed(format!("there is a case {name} already")));
                }
                cases.push(Self { name: name.to_string(), steps: Vec::new() });
                continue;
            }
            let case = cases.last_mut().ok_or_else(|| malformed("no case has begun".into()))?;
            if line.starts_with(' ') {
                let step = case.steps.last_mut().ok_or_else(|| malformed("an answer before any command".into()))?;
                step.answer.push(line.trim().to_string());
                continue;
            }
            let command = match command(line) {
                Ok(command) => Ok(command),
                Err(Fault::Refused(error)) => Err(error),
                Err(Fault::Malformed(reason)) => return Err(malformed(reason)),
            };
            case.steps.push(Step { line: index + 1, text: line.to_string(), command, answer: Vec::new() });
        }
        Ok(cases)
    }
}

fn command(line: &str) -> Result<Command, Fault> {
    let mut words = Words::new(line);
    let command = if words.peek().is_some_and(request::is_mutation) {
        Command::Apply(request::mutation(&mut words)?)
    } else {
        match words.next()? {
            "create" => {
                let (mut families, mut splits) = (Vec::new(), Vec::new());
                while !words.at_end() {
                    match words.option("split") {
                        Some(row) => splits.push(text::bytes(row)?),
                        None => families.push(request::family(words.next()?)?),
                    }
                }
                Command::Create(families, splits)
            }
            "alter" => {
                let mut families = Vec::new();
                while !words.at_end() {
                    families.push(request::family(words.next()?)?);
                }
                Command::Change(Change::Alter(families))
            }
            "truncate" => Command::Change(Change::Truncate),
            "split" => Command::Change(Change::Split(words.bytes()?)),
            "merge" => Command::Change(Change::Merge(words.bytes()?)),
            "clock" => Command::Clock(words.number()?),
            "advance" => Command::Advance(words.number()?),
            "batch" => Command::Batch(request::block(&mut words)?),
            "get" => match request::get(&mut words)? {
                (get, false) => Command::Get(get),
                (get, true) => Command::Exists(get),
            },
            "scan" => Command::Scan(request::scan(&mut words)?),
            "flush" => Command::Flush,
            "minor" => Command::Minor,
            "compact" => Command::Compact,
            "major" => Command::Major,
            "files" => Command::Files,
            verb => return Err(Fault::malformed(format!("{verb:?} is no command"))),
        }
    };
    words.finish()?;
    Ok(command)
}

#[cfg(test)]
mod tests;
