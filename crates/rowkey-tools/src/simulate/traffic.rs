//! Operations on a table, generated from distributions or read from a trace.

use std::collections::HashMap;

use bytes::Bytes;
use fastrand::Rng;
use halite_rowkey::literal::read_bytes;
use halite_types::suggest::{closest_match, did_you_mean};

use super::error::SimulateError;
use super::generators::{FieldSpec, GeneratedValue};

/// Maximum operations of a simulation: their keys are held in memory.
pub const MAX_OPERATIONS: usize = 5_000_000;

/// Default operations per second.
pub const DEFAULT_RATE_PER_SECOND: f64 = 1_000.0;

/// Prefix of a key in a trace.
const KEY_MARK: &str = "KEY\t";

/// Operations in the order of their times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Names of the fields whose values operations have; empty if they have keys.
    pub fields: Vec<String>,
    /// The operations.
    pub operations: Vec<Operation>,
}

/// Read or write of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Time in milliseconds since 1970.
    pub time_ms: i64,
    /// `true` for a read.
    pub is_read: bool,
    /// Row of the operation.
    pub row: RowSpec,
    /// Operations of which it is the sample, at least 1: it counts as all of them.
    pub weight: u64,
}

/// Row of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum RowSpec {
    /// Values of [`Traffic::fields`], in that order.
    Values(Vec<GeneratedValue>),
    /// Key of the row.
    Key(Bytes),
}

/// Specification of generated traffic; equal seeds give equal traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficSpec {
    /// Generators of the values of each field.
    pub fields: Vec<(String, FieldSpec)>,
    /// Number of operations.
    pub operations: usize,
    /// Operations per second; `None` to use a field's `now(n/s)`, or [`DEFAULT_RATE_PER_SECOND`]
    /// without one.
    pub rate_per_second: Option<f64>,
    /// Start time in milliseconds since 1970.
    pub start_ms: i64,
    /// Ratio of reads to all operations, 0 to 1.
    pub reads: f64,
    /// Random seed.
    pub seed: u64,
}

impl TrafficSpec {
    /// Generates the traffic.
    ///
    /// # Errors
    /// More operations than [`MAX_OPERATIONS`], or none; rates in more than one field.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "a few million operations"
    )]
    pub fn generate(&self) -> Result<Traffic, SimulateError> {
        if !(1..=MAX_OPERATIONS).contains(&self.operations) {
            return Err(SimulateError::Operations(self.operations));
        }
        let mut rng = Rng::with_seed(self.seed);
        let of_fields =
            self.fields.iter().filter_map(|(name, spec)| Some((Some(name), spec.rate?)));
        let rates: Vec<_> =
            of_fields.chain(self.rate_per_second.map(|rate| (None, rate))).collect();
        if rates.len() > 1 {
            let said = |(name, rate): &(Option<&String>, f64)| {
                name.map_or(format!("{rate} for all"), |name| format!("{rate} by {name}"))
            };
            return Err(SimulateError::Rates(rates.iter().map(said).collect()));
        }
        let rate = rates.first().map_or(DEFAULT_RATE_PER_SECOND, |(_, rate)| *rate).max(1e-6);
        let operation = |at: u64| {
            let time_ms = self.start_ms.saturating_add((at as f64 * 1000.0 / rate) as i64);
            let is_read = self.reads > 0.0 && rng.f64() < self.reads;
            let row = RowSpec::Values(
                self.fields.iter().map(|(_, spec)| spec.generate(&mut rng, at, time_ms)).collect(),
            );
            Operation { time_ms, is_read, row, weight: 1 }
        };
        let operations = (0..self.operations as u64).map(operation).collect();
        Ok(Traffic {
            fields: self.fields.iter().map(|(name, _)| name.clone()).collect(),
            operations,
        })
    }
}

impl Traffic {
    /// Parses a trace: a line for each operation with its time in milliseconds, `R` or `W`, and its
    /// row, separated by tabs. The row is `field=value` for each field, separated by blanks, or
    /// `KEY`, a tab and the key as [`read_bytes`] parses it. `fields` are the permitted names.
    ///
    /// # Errors
    /// The number of an invalid line; an empty trace; more than [`MAX_OPERATIONS`].
    pub fn from_trace(text: &str, fields: &[&str]) -> Result<Self, SimulateError> {
        let mut traffic = Self::default();
        let mut names: HashMap<&str, usize> = HashMap::new();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let wrong = |message: String| SimulateError::Trace { line: at + 1, message };
            if traffic.operations.len() == MAX_OPERATIONS {
                return Err(SimulateError::Operations(MAX_OPERATIONS + 1));
            }
            let parts: Vec<&str> = line.splitn(3, '\t').collect();
            let [time, kind, row] = parts[..] else {
                return Err(wrong("time_ms<TAB>R|W<TAB>row is wanted".to_owned()));
            };
            let time_ms =
                time.parse().map_err(|_| wrong(format!("{time:?} is no time in milliseconds")))?;
            let is_read = match kind {
                "R" => true,
                "W" => false,
                _ => return Err(wrong(format!("{kind:?} is neither R nor W"))),
            };
            let row = match row.strip_prefix(KEY_MARK) {
                Some(key) => RowSpec::Key(read_bytes(key).map_err(wrong)?.into()),
                None => values(row, fields, &mut names, &mut traffic.fields).map_err(wrong)?,
            };
            traffic.operations.push(Operation { time_ms, is_read, row, weight: 1 });
        }
        if traffic.operations.is_empty() {
            return Err(SimulateError::Operations(0));
        }
        traffic.operations.sort_by_key(|operation| operation.time_ms);
        Ok(traffic)
    }
}

/// Parses `a=1 b=x`: the first line determines the fields, and all others must have the same.
fn values<'f>(
    row: &str,
    fields: &[&'f str],
    places: &mut HashMap<&'f str, usize>,
    named: &mut Vec<String>,
) -> Result<RowSpec, String> {
    let is_first = named.is_empty();
    let mut drawn: Vec<Option<GeneratedValue>> = vec![None; named.len()];
    for pair in row.split_ascii_whitespace() {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            format!(
                "{pair:?} is not field=value; a whole key is written as KEY, a tab, and the key"
            )
        })?;
        let known = fields.iter().find(|field| **field == name);
        let near = || did_you_mean(closest_match(name, fields.iter().copied()));
        let known = known.ok_or_else(|| {
            format!("there is no field {name}{}; there are {}", near(), fields.join(", "))
        })?;
        if is_first && !places.contains_key(known) {
            places.insert(known, named.len());
            named.push((*known).to_owned());
            drawn.push(None);
        }
        let place =
            places.get(known).ok_or_else(|| format!("field {name} is not in the lines before"))?;
        if drawn[*place].replace(GeneratedValue::Text(value.to_owned())).is_some() {
            return Err(format!("field {name} is given twice"));
        }
    }
    let missing = drawn.iter().position(Option::is_none);
    match missing {
        Some(place) => {
            Err(format!("field {} has no value here, and lines before have one", named[place]))
        }
        None => Ok(RowSpec::Values(drawn.into_iter().flatten().collect())),
    }
}
