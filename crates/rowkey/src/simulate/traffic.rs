//! What is done to a table, operation by operation: drawn from distributions, or read from a trace.

use std::collections::HashMap;

use bytes::Bytes;
use fastrand::Rng;
use halite_types::nearest::{nearest, suggestion};

use crate::literal::read_bytes;

use super::SimulateError;
use super::draw::{Drawn, FieldSpec};

/// Operations of one simulation, at most: their keys are kept in memory.
pub const OPERATIONS_MAX: usize = 5_000_000;

/// Operations in a second where nobody says how many.
pub const RATE_PER_SECOND: f64 = 1_000.0;

/// What stands in front of a key in a trace.
const KEY_MARK: &str = "KEY\t";

/// Operations in the order of their times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// The fields whose values operations have, by name; none if they have keys.
    pub fields: Vec<String>,
    /// The operations.
    pub operations: Vec<Operation>,
}

/// One read or write of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// When, in milliseconds since 1970.
    pub time_ms: i64,
    /// Whether it reads.
    pub is_read: bool,
    /// Of which row.
    pub row: Row,
}

/// What says which row it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// Values of [`Traffic::fields`], as many.
    Values(Vec<Drawn>),
    /// Its key.
    Key(Bytes),
}

/// Traffic that is drawn; the same for the same seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// How the values of each field are drawn.
    pub fields: Vec<(String, FieldSpec)>,
    /// How many operations.
    pub operations: usize,
    /// Operations in a second; `None` where a field's `now(n/s)` says so, or [`RATE_PER_SECOND`] if none does.
    pub rate_per_second: Option<f64>,
    /// When they begin, in milliseconds since 1970.
    pub start_ms: i64,
    /// The share of operations that read, 0 to 1.
    pub reads: f64,
    /// What chance begins with.
    pub seed: u64,
}

impl Generator {
    /// Draws it.
    ///
    /// # Errors
    /// More operations than [`OPERATIONS_MAX`], or none; rates of more than one place.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a few million operations")]
    pub fn traffic(&self) -> Result<Traffic, SimulateError> {
        if !(1..=OPERATIONS_MAX).contains(&self.operations) {
            return Err(SimulateError::Operations(self.operations));
        }
        let mut rng = Rng::with_seed(self.seed);
        let of_fields = self.fields.iter().filter_map(|(name, spec)| Some((Some(name), spec.rate?)));
        let rates: Vec<_> = of_fields.chain(self.rate_per_second.map(|rate| (None, rate))).collect();
        if rates.len() > 1 {
            let said = |(name, rate): &(Option<&String>, f64)| name.map_or(format!("{rate} for all"), |name| format!("{rate} by {name}"));
            return Err(SimulateError::Rates(rates.iter().map(said).collect()));
        }
        let rate = rates.first().map_or(RATE_PER_SECOND, |(_, rate)| *rate).max(1e-6);
        let operation = |at: u64| {
            let time_ms = self.start_ms.saturating_add((at as f64 * 1000.0 / rate) as i64);
            let is_read = self.reads > 0.0 && rng.f64() < self.reads;
            let row = Row::Values(self.fields.iter().map(|(_, spec)| spec.draw(&mut rng, at, time_ms)).collect());
            Operation { time_ms, is_read, row }
        };
        let operations = (0..self.operations as u64).map(operation).collect();
        Ok(Traffic { fields: self.fields.iter().map(|(name, _)| name.clone()).collect(), operations })
    }
}

impl Traffic {
    /// Reads a trace: a line for each operation, its time in milliseconds, `R` or `W`, and its row, with tabs between
    /// them. The row is `field=value` for each field with blanks between, or `KEY`, a tab and the key as [`read_bytes`] reads it. `fields`
    /// are the names that may stand there.
    ///
    /// # Errors
    /// A line that is none of these, by its number; no line at all; more than [`OPERATIONS_MAX`].
    pub fn of_trace(text: &str, fields: &[&str]) -> Result<Self, SimulateError> {
        let mut traffic = Self::default();
        let mut names: HashMap<&str, usize> = HashMap::new();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let wrong = |message: String| SimulateError::Trace { line: at + 1, message };
            if traffic.operations.len() == OPERATIONS_MAX {
                return Err(SimulateError::Operations(OPERATIONS_MAX + 1));
            }
            let parts: Vec<&str> = line.splitn(3, '\t').collect();
            let [time, what, row] = parts[..] else { return Err(wrong("time_ms<TAB>R|W<TAB>row is wanted".to_owned())) };
            let time_ms = time.parse().map_err(|_| wrong(format!("{time:?} is no time in milliseconds")))?;
            let is_read = match what {
                "R" => true,
                "W" => false,
                _ => return Err(wrong(format!("{what:?} is neither R nor W"))),
            };
            let row = match row.strip_prefix(KEY_MARK) {
                Some(key) => Row::Key(read_bytes(key).map_err(wrong)?.into()),
                None => values(row, fields, &mut names, &mut traffic.fields).map_err(wrong)?,
            };
            traffic.operations.push(Operation { time_ms, is_read, row });
        }
        if traffic.operations.is_empty() {
            return Err(SimulateError::Operations(0));
        }
        traffic.operations.sort_by_key(|operation| operation.time_ms);
        Ok(traffic)
    }
}

/// `a=1 b=x`: the first line says which fields there are, and all others have the same.
fn values<'f>(row: &str, fields: &[&'f str], places: &mut HashMap<&'f str, usize>, named: &mut Vec<String>) -> Result<Row, String> {
    let is_first = named.is_empty();
    let mut drawn: Vec<Option<Drawn>> = vec![None; named.len()];
    for pair in row.split_ascii_whitespace() {
        let (name, value) = pair.split_once('=').ok_or_else(|| format!("{pair:?} is not field=value; a whole key stands behind KEY and a tab"))?;
        let known = fields.iter().find(|field| **field == name);
        let near = || suggestion(nearest(name, fields.iter().copied()));
        let known = known.ok_or_else(|| format!("there is no field {name}{}; there are {}", near(), fields.join(", ")))?;
        if is_first && !places.contains_key(known) {
            places.insert(known, named.len());
            named.push((*known).to_owned());
            drawn.push(None);
        }
        let place = places.get(known).ok_or_else(|| format!("field {name} is not in the lines before"))?;
        if drawn[*place].replace(Drawn::Text(value.to_owned())).is_some() {
            return Err(format!("field {name} stands there twice"));
        }
    }
    let missing = drawn.iter().position(Option::is_none);
    match missing {
        Some(place) => Err(format!("field {} has no value here, and lines before have one", named[place])),
        None => Ok(Row::Values(drawn.into_iter().flatten().collect())),
    }
}
