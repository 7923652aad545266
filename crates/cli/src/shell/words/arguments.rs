//! The arguments of a command, by position.

use halite_types::{Bytes, TableName};

use super::Word;
use super::options::Options;
use crate::shell::session::{Outcome, Stop};
use crate::shell::value::Value;

/// What a command was called with.
pub(crate) struct Arguments {
    word: &'static Word,
    values: Vec<Value>,
}

impl Arguments {
    pub(crate) fn new(word: &'static Word, values: Vec<Value>) -> Self {
        Self { word, values }
    }

    /// An argument; `nil` counts as left out.
    pub(crate) fn get(&self, at: usize) -> Option<&Value> {
        self.values.get(at).filter(|value| **value != Value::Nil)
    }

    /// The arguments from `at` on, with arrays taken apart.
    pub(crate) fn flattened(&self, at: usize) -> Vec<&Value> {
        fn flatten<'a>(value: &'a Value, out: &mut Vec<&'a Value>) {
            match value {
                Value::Nil => {}
                Value::Array(items) => items.iter().for_each(|item| flatten(item, out)),
                other => out.push(other),
            }
        }
        let mut out = Vec::new();
        self.values.iter().skip(at).for_each(|value| flatten(value, &mut out));
        out
    }

    /// The table the first argument names.
    pub(crate) fn table(&self) -> Outcome<TableName> {
        self.table_at(0)
    }

    pub(crate) fn table_at(&self, at: usize) -> Outcome<TableName> {
        match self.values.get(at) {
            Some(Value::Table(name)) => Ok(name.clone()),
            Some(value) => match value.as_name() {
                Some(name) => Ok(name.parse()?),
                None => Err(Stop::Problem(format!("the table name is {}; give a string, as in {}", value.kind(), self.word.synopsis))),
            },
            None => Err(Stop::Problem(format!("the table name is missing: {}", self.word.synopsis))),
        }
    }

    /// A name: a string.
    pub(crate) fn name(&self, at: usize, what: &str) -> Outcome<String> {
        match self.values.get(at) {
            Some(value) => value.as_name().ok_or_else(|| Stop::Problem(format!("the {what} is {}; give a string", value.kind()))),
            None => Err(Stop::Problem(format!("the {what} is missing: {}", self.word.synopsis))),
        }
    }

    /// The bytes of an argument as text: a number is written out.
    pub(crate) fn bytes(&self, at: usize) -> Bytes {
        self.values.get(at).map(Value::to_bytes).unwrap_or_default().into()
    }

    /// A timestamp, or nothing if the argument is missing or is the hash of options.
    pub(crate) fn timestamp(&self, at: usize) -> Outcome<Option<i64>> {
        match self.get(at) {
            None | Some(Value::Hash(_)) => Ok(None),
            Some(Value::Integer(timestamp)) => Ok(Some(*timestamp)),
            Some(other) => Err(Stop::Problem(format!(
                "the timestamp is {}; give milliseconds since 1970 as a whole number: {}",
                other.inspect(),
                self.word.synopsis
            ))),
        }
    }

    /// The options: the last argument, if it is a hash at `least` or behind it.
    pub(crate) fn options(&self, least: usize) -> Options {
        match self.values.iter().skip(least).rev().find(|value| **value != Value::Nil) {
            Some(Value::Hash(pairs)) => Options::new(self.word.name, pairs),
            _ => Options::new(self.word.name, &[]),
        }
    }

    /// The regular expression that table names must match as a whole; all of them if the argument is missing.
    pub(crate) fn pattern(&self, at: usize) -> Outcome<regex::Regex> {
        let text = self.get(at).map_or_else(|| ".*".to_owned(), Value::to_text);
        regex::Regex::new(&format!("^(?:{text})$")).map_err(|error| {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Stop::Problem(format!("the pattern '{text}' is not a regular expression: {reason}"))
        })
    }
}
