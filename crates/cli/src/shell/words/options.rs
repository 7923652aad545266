//! The `{NAME => value}` options of a command: taken one by one, and what is left over is an error.

use halite_types::TimeRange;

use crate::shell::session::{Outcome, Stop};
use crate::shell::value::Value;
use halite_types::nearest::{nearest, suggestion};

/// Constants that are values, or keys of more than one command.
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

/// Options that remain to be taken.
pub(crate) struct Options {
    word: &'static str,
    pairs: Vec<(String, Value)>,
    known: Vec<&'static str>,
}

impl Options {
    /// Keys may be strings, constants or symbols (`LIMIT: 1`); `nil` values count as left out.
    pub(crate) fn new(word: &'static str, pairs: &[(Value, Value)]) -> Self {
        let pairs = pairs.iter().filter(|(_, value)| *value != Value::Nil).map(|(key, value)| (key.to_text(), value.clone())).collect();
        Self { word, pairs, known: Vec::new() }
    }

    /// Takes an option.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        let at = self.pairs.iter().position(|(key, _)| key == name)?;
        Some(self.pairs.remove(at).1)
    }

    /// Takes the option whether or not it means anything here.
    pub(crate) fn ignore(&mut self, names: &[&'static str]) {
        names.iter().for_each(|name| drop(self.take(name)));
    }

    fn wrong(&self, name: &str, value: &Value, wanted: &str) -> Stop {
        Stop::Problem(format!("{}: {name} is {}; give {wanted}", self.word, value.inspect()))
    }

    /// Takes an option that is a whole number, or text of one.
    pub(crate) fn integer(&mut self, name: &'static str) -> Outcome<Option<i64>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let number = match &value {
            Value::Integer(number) => Some(*number),
            Value::Text(_) => value.to_text().trim().parse().ok(),
            _ => None,
        };
        number.map(Some).ok_or_else(|| self.wrong(name, &value, "a whole number"))
    }

    /// Takes an option that is a number of at least 1; less means no limit, as in HBase.
    pub(crate) fn limit(&mut self, name: &'static str) -> Outcome<Option<usize>> {
        Ok(self.integer(name)?.and_then(|number| usize::try_from(number).ok()).filter(|&number| number > 0))
    }

    /// Takes an option that is true or false, or text of either.
    pub(crate) fn flag(&mut self, name: &'static str) -> Outcome<Option<bool>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.to_text().to_lowercase().as_str() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(self.wrong(name, &value, "true or false")),
        }
    }

    /// Takes an option that is text; a number is written out.
    pub(crate) fn bytes(&mut self, name: &'static str) -> Outcome<Option<Vec<u8>>> {
        match self.take(name) {
            None => Ok(None),
            Some(value @ (Value::Array(_) | Value::Hash(_))) => Err(self.wrong(name, &value, "a string")),
            Some(value) => Ok(Some(value.to_bytes())),
        }
    }

    /// As [`Options::bytes`], as text.
    pub(crate) fn text(&mut self, name: &'static str) -> Outcome<Option<String>> {
        Ok(self.bytes(name)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Takes an option that is one string or an array of them.
    pub(crate) fn list(&mut self, name: &'static str) -> Outcome<Option<Vec<Vec<u8>>>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.iter().map(Value::to_bytes).collect())),
            Some(value @ (Value::Text(_) | Value::Symbol(_))) => Ok(Some(vec![value.to_bytes()])),
            Some(value) => Err(self.wrong(name, &value, "a string or an array of strings")),
        }
    }

    /// Takes TIMERANGE or TIMESTAMP.
    pub(crate) fn time_range(&mut self) -> Outcome<Option<TimeRange>> {
        let range = match self.take("TIMERANGE") {
            None => None,
            Some(Value::Array(bounds)) => match bounds[..] {
                [Value::Integer(min), Value::Integer(max)] => Some(TimeRange::new(min, max)?),
                _ => return Err(self.wrong("TIMERANGE", &Value::Array(bounds), "[from, to] in milliseconds, the end exclusive")),
            },
            Some(value) => return Err(self.wrong("TIMERANGE", &value, "[from, to] in milliseconds, the end exclusive")),
        };
        Ok(self.integer("TIMESTAMP")?.map(TimeRange::at).transpose()?.or(range))
    }

    /// Takes an option that is a hash of texts.
    pub(crate) fn pairs(&mut self, name: &'static str) -> Outcome<Vec<(String, Option<String>)>> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Hash(pairs)) => {
                Ok(pairs.iter().map(|(key, value)| (key.to_text(), (*value != Value::Nil).then(|| value.to_text()))).collect())
            }
            Some(value) => Err(self.wrong(name, &value, "a hash: {'name' => 'value'}")),
        }
    }

    /// What has not been taken, as texts.
    pub(crate) fn rest(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.pairs).into_iter().map(|(key, value)| (key, value.to_text())).collect()
    }

    /// Ends the taking.
    ///
    /// # Errors
    /// An option that nobody took is named, with what it may have meant.
    pub(crate) fn finish(self) -> Outcome<()> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        let suggestion = suggestion(nearest(name, self.known.iter().copied()));
        let mut known = self.known;
        known.sort_unstable();
        known.dedup();
        Err(Stop::Problem(format!("{} has no option {name}{suggestion}; it takes {}", self.word, known.join(", "))))
    }
}
