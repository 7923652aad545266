//! `{NAME => value}` options of a command, taken one by one; a remaining option is an error.

use halite_types::TimeRange;

use crate::shell::session::{EvalResult, Interrupt};
use crate::shell::value::Value;
use halite_types::suggest::{closest_match, did_you_mean};

/// Constants that are values, or keys of several commands.
pub(crate) const OTHER_CONSTANTS: &[&str] = &[
    "NAME",
    "METHOD",
    "SPLITS",
    "SPLITS_FILE",
    "NUMREGIONS",
    "SPLITALGO",
    "METADATA",
    "CONFIGURATION",
    "NONE",
    "SERVER_NAME",
    "LOCALITY_THRESHOLD",
    "TABLE",
    "TABLE_NAME",
    "NAMESPACE",
    "REGEX",
    "VALUE",
    "TYPE",
    "STATE",
    "POLICY",
    "CONFIG",
    "DATA",
    "USER",
    "ALL_METRICS",
    "METRICS",
    "AUTHORIZATIONS",
    "VISIBILITY",
    "SERIAL",
    "RESTORE_ACL",
    "SKIP_FLUSH",
    "CLUSTER_KEY",
    "TABLE_NAMES",
    "NAMESPACES",
    "TABLE_CFS",
    "ENDPOINT_CLASSNAME",
];

/// Options not yet taken.
pub(crate) struct Options {
    command: &'static str,
    pairs: Vec<(String, Value)>,
    known: Vec<&'static str>,
}

impl Options {
    /// Creates the options. Keys may be strings, constants or symbols (`LIMIT: 1`); `nil` values
    /// count as omitted.
    pub(crate) fn new(command: &'static str, pairs: &[(Value, Value)]) -> Self {
        let pairs = pairs
            .iter()
            .filter(|(_, value)| *value != Value::Nil)
            .map(|(key, value)| (key.to_text(), value.clone()))
            .collect();
        Self { command, pairs, known: Vec::new() }
    }

    /// Takes an option.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        let at = self.pairs.iter().position(|(key, _)| key == name)?;
        Some(self.pairs.remove(at).1)
    }

    /// Takes options that have no effect here.
    pub(crate) fn ignore(&mut self, names: &[&'static str]) {
        names.iter().for_each(|name| drop(self.take(name)));
    }

    fn wrong(&self, name: &str, value: &Value, expected: &str) -> Interrupt {
        Interrupt::Problem(format!(
            "{}: {name} is {}; give {expected}",
            self.command,
            value.inspect()
        ))
    }

    /// Takes an integer option, as a number or as text.
    pub(crate) fn integer(&mut self, name: &'static str) -> EvalResult<Option<i64>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = match &value {
            Value::Integer(number) => Some(*number),
            Value::Text(_) => value.to_text().trim().parse().ok(),
            _ => None,
        };
        number.map(Some).ok_or_else(|| self.wrong(name, &value, "a whole number"))
    }

    /// Takes an option that is a number of at least 1; a lower number means unlimited, as in HBase.
    pub(crate) fn limit(&mut self, name: &'static str) -> EvalResult<Option<usize>> {
        Ok(self
            .integer(name)?
            .and_then(|number| usize::try_from(number).ok())
            .filter(|&number| number > 0))
    }

    /// Takes a Boolean option, as a value or as text.
    pub(crate) fn flag(&mut self, name: &'static str) -> EvalResult<Option<bool>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.to_text().to_lowercase().as_str() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(self.wrong(name, &value, "true or false")),
        }
    }

    /// Takes a text option; a number is formatted.
    pub(crate) fn bytes(&mut self, name: &'static str) -> EvalResult<Option<Vec<u8>>> {
        match self.take(name) {
            None => Ok(None),
            Some(value @ (Value::Array(_) | Value::Hash(_))) => {
                Err(self.wrong(name, &value, "a string"))
            }
            Some(value) => Ok(Some(value.to_bytes())),
        }
    }

    /// As [`Options::bytes`], as text.
    pub(crate) fn text(&mut self, name: &'static str) -> EvalResult<Option<String>> {
        Ok(self.bytes(name)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Takes an option that is one string or an array of them.
    pub(crate) fn list(&mut self, name: &'static str) -> EvalResult<Option<Vec<Vec<u8>>>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.iter().map(Value::to_bytes).collect())),
            Some(value @ (Value::Text(_) | Value::Symbol(_))) => Ok(Some(vec![value.to_bytes()])),
            Some(value) => Err(self.wrong(name, &value, "a string or an array of strings")),
        }
    }

    /// Takes TIMERANGE or TIMESTAMP.
    pub(crate) fn time_range(&mut self) -> EvalResult<Option<TimeRange>> {
        let range = match self.take("TIMERANGE") {
            None => None,
            Some(Value::Array(bounds)) => match bounds[..] {
                [Value::Integer(min), Value::Integer(max)] => Some(TimeRange::new(min, max)?),
                _ => {
                    return Err(self.wrong(
                        "TIMERANGE",
                        &Value::Array(bounds),
                        "[from, to] in milliseconds, the end exclusive",
                    ));
                }
            },
            Some(value) => {
                return Err(self.wrong(
                    "TIMERANGE",
                    &value,
                    "[from, to] in milliseconds, the end exclusive",
                ));
            }
        };
        Ok(self.integer("TIMESTAMP")?.map(TimeRange::at).transpose()?.or(range))
    }

    /// Takes an option that is a hash of texts.
    pub(crate) fn pairs(
        &mut self,
        name: &'static str,
    ) -> EvalResult<Vec<(String, Option<String>)>> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Hash(pairs)) => Ok(pairs
                .iter()
                .map(|(key, value)| {
                    (key.to_text(), (*value != Value::Nil).then(|| value.to_text()))
                })
                .collect()),
            Some(value) => Err(self.wrong(name, &value, "a hash: {'name' => 'value'}")),
        }
    }

    /// Returns the remaining options as texts.
    pub(crate) fn rest(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.pairs)
            .into_iter()
            .map(|(key, value)| (key, value.to_text()))
            .collect()
    }

    /// Checks that all options are taken.
    ///
    /// # Errors
    /// Returns an error that names the first remaining option, with the closest known name.
    pub(crate) fn finish(self) -> EvalResult<()> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        let suggestion = did_you_mean(closest_match(name, self.known.iter().copied()));
        let mut known = self.known;
        known.sort_unstable();
        known.dedup();
        Err(Interrupt::Problem(format!(
            "{} has no option {name}{suggestion}; it takes {}",
            self.command,
            known.join(", ")
        )))
    }
}
