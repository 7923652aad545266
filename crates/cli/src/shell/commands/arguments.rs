//! Positional arguments of a command.

use halite_types::{Bytes, TableName};

use super::ShellCommand;
use super::options::Options;
use crate::shell::session::{EvalResult, Interrupt};
use crate::shell::value::Value;

/// Arguments of a command call.
pub(crate) struct Arguments {
    command: &'static ShellCommand,
    values: Vec<Value>,
}

impl Arguments {
    pub(crate) fn new(command: &'static ShellCommand, values: Vec<Value>) -> Self {
        Self { command, values }
    }

    /// Returns an argument; `nil` counts as omitted.
    pub(crate) fn get(&self, at: usize) -> Option<&Value> {
        self.values.get(at).filter(|value| **value != Value::Nil)
    }

    /// Returns the arguments from `at` on, with arrays flattened.
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

    /// Returns the table named by the first argument.
    pub(crate) fn table(&self) -> EvalResult<TableName> {
        self.table_at(0)
    }

    pub(crate) fn table_at(&self, at: usize) -> EvalResult<TableName> {
        match self.values.get(at) {
            Some(Value::Table(name)) => Ok(name.clone()),
            Some(value) => match value.as_name() {
                Some(name) => Ok(name.parse()?),
                None => Err(Interrupt::Problem(format!(
                    "the table name is {}; give a string, as in {}",
                    value.kind(),
                    self.command.synopsis
                ))),
            },
            None => Err(Interrupt::Problem(format!(
                "the table name is missing: {}",
                self.command.synopsis
            ))),
        }
    }

    /// Returns a name, which must be a string.
    pub(crate) fn name(&self, at: usize, role: &str) -> EvalResult<String> {
        match self.values.get(at) {
            Some(value) => value.as_name().ok_or_else(|| {
                Interrupt::Problem(format!("the {role} is {}; give a string", value.kind()))
            }),
            None => {
                Err(Interrupt::Problem(format!("the {role} is missing: {}", self.command.synopsis)))
            }
        }
    }

    /// Returns the bytes of an argument as text; a number is formatted.
    pub(crate) fn bytes(&self, at: usize) -> Bytes {
        self.values.get(at).map(Value::to_bytes).unwrap_or_default().into()
    }

    /// Returns a timestamp, or `None` if the argument is missing or is the options hash.
    pub(crate) fn timestamp(&self, at: usize) -> EvalResult<Option<i64>> {
        match self.get(at) {
            None | Some(Value::Hash(_)) => Ok(None),
            Some(Value::Integer(timestamp)) => Ok(Some(*timestamp)),
            Some(other) => Err(Interrupt::Problem(format!(
                "the timestamp is {}; give milliseconds since 1970 as a whole number: {}",
                other.inspect(),
                self.command.synopsis
            ))),
        }
    }

    /// Returns the options: the last argument, if it is a hash at or after index `least`.
    pub(crate) fn options(&self, least: usize) -> Options {
        match self.values.iter().skip(least).rev().find(|value| **value != Value::Nil) {
            Some(Value::Hash(pairs)) => Options::new(self.command.name, pairs),
            _ => Options::new(self.command.name, &[]),
        }
    }

    /// Returns the regular expression that must match the whole table name; without the argument,
    /// it matches all names.
    pub(crate) fn pattern(&self, at: usize) -> EvalResult<regex::Regex> {
        let text = self.get(at).map_or_else(|| ".*".to_owned(), Value::to_text);
        regex::Regex::new(&format!("^(?:{text})$")).map_err(|error| {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Interrupt::Problem(format!(
                "the pattern '{text}' is not a regular expression: {reason}"
            ))
        })
    }
}
