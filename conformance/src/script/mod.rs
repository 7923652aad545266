//! Case files as typed commands.
//!
//! A command is one line without indentation; the indented lines below it are its recorded result.
//! A value that the library's own types reject (a negative bound) becomes a command with an error,
//! because HBase rejects it too; a line that is not a command is a [`ParseError`].

use bytes::Bytes;
use halite_types::{Error, FamilyDescriptor, Get, RowOp, Scan};

mod error;
mod filter;
mod request;
pub(crate) mod text;
mod tokens;

use error::CommandError;
pub use error::ParseError;
use tokens::Tokens;

/// Case: a name and the steps on one new table.
#[derive(Clone, Debug)]
pub struct Case {
    /// Description as a sentence in `snake_case`.
    pub name: String,
    /// Commands in order.
    pub steps: Vec<ScriptStep>,
}

/// Command with HBase's result.
#[derive(Clone, Debug)]
pub struct ScriptStep {
    /// Line number, from 1.
    pub line: usize,
    /// Text of the line.
    pub text: String,
    /// Parsed command, or the error with which the library's own types reject it.
    pub command: Result<Command, Error>,
    /// Recorded lines, without their indentation.
    pub expected: Vec<String>,
}

/// Command of a line.
#[derive(Clone, Debug)]
pub enum Command {
    /// Creates a new table with these families; its regions start at the empty key and at these
    /// keys.
    Create(Vec<FamilyDescriptor>, Vec<Bytes>),
    /// Changes the table.
    Change(TableChange),
    /// Sets the clock, in milliseconds.
    Clock(i64),
    /// Moves the clock forward, or back, by this number of milliseconds.
    Advance(i64),
    /// Applies one operation on one row.
    Apply(RowOp),
    /// Applies operations on several rows.
    Batch(Vec<RowOp>),
    /// Reads one row.
    Get(Get),
    /// Checks the existence of one row.
    Exists(Get),
    /// Reads a range of rows.
    Scan(Scan),
    /// Flushes every memstore to a file.
    Flush,
    /// Merges files; delete markers stay.
    Minor,
    /// Compacts as the store does automatically.
    Compact,
    /// Rewrites all files; markers are dropped.
    Major,
    /// Counts the files of each family.
    Files,
}

/// Change of a table or its regions.
#[derive(Clone, Debug)]
pub enum TableChange {
    /// Adds or replaces these families.
    Alter(Vec<FamilyDescriptor>),
    /// Deletes all rows; the regions stay.
    Truncate,
    /// Splits the region that contains this row, at the row.
    Split(Bytes),
    /// Merges the region that contains this row with the next one.
    Merge(Bytes),
}

impl Case {
    /// Parses the cases of a file.
    ///
    /// # Errors
    /// Returns [`ParseError`] with the first line that is not in the format.
    pub fn parse_file(text: &str) -> Result<Vec<Self>, ParseError> {
        let mut cases: Vec<Self> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let malformed = |reason: String| ParseError { line: index + 1, reason };
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix("case ") {
                if cases.iter().any(|case| case.name == name) {
                    return Err(malformed(format!("duplicate case {name}")));
                }
                cases.push(Self { name: name.to_string(), steps: Vec::new() });
                continue;
            }
            let case =
                cases.last_mut().ok_or_else(|| malformed("a command before any case".into()))?;
            if line.starts_with(' ') {
                let step = case
                    .steps
                    .last_mut()
                    .ok_or_else(|| malformed("an answer before any command".into()))?;
                step.expected.push(line.trim().to_string());
                continue;
            }
            let command = match command(line) {
                Ok(command) => Ok(command),
                Err(CommandError::Rejected(error)) => Err(error),
                Err(CommandError::Malformed(reason)) => return Err(malformed(reason)),
            };
            case.steps.push(ScriptStep {
                line: index + 1,
                text: line.to_string(),
                command,
                expected: Vec::new(),
            });
        }
        Ok(cases)
    }
}

fn command(line: &str) -> Result<Command, CommandError> {
    let mut words = Tokens::new(line);
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
                Command::Change(TableChange::Alter(families))
            }
            "truncate" => Command::Change(TableChange::Truncate),
            "split" => Command::Change(TableChange::Split(words.bytes()?)),
            "merge" => Command::Change(TableChange::Merge(words.bytes()?)),
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
            verb => return Err(CommandError::malformed(format!("unknown command {verb:?}"))),
        }
    };
    words.finish()?;
    Ok(command)
}

#[cfg(test)]
mod tests;
