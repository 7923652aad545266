//! What a row key does under load before there is a table: where writes go, at which moment, and how evenly.
//!
//! Traffic is drawn (`draw.rs`, `traffic.rs`) or read from a trace; `keys.rs` makes each design's keys of it. `skew.rs` counts
//! them by region, as a whole and in windows, `frontier.rs` looks where new keys land, `rows.rs` at hot rows, cardinalities
//! and partitions, `unique.rs` at keys that meet, `fanout.rs` at queries. `heat.rs` is the picture as numbers, `picture/`
//! paints it.

mod draw;
mod fanout;
mod figures;
mod frontier;
mod heat;
mod keys;
pub mod picture;
mod rows;
mod skew;
#[cfg(test)]
mod tests;
mod traffic;
mod unique;
mod values;

use std::fmt;

use bytes::Bytes;

use crate::language::Query;
use crate::schema::KeySchema;
use crate::split::{SplitError, Splits, region_of};

pub use draw::{Drawn, FieldSpec};
pub use fanout::QueryCost;
pub use frontier::Frontier;
pub use heat::Heat;
pub use rows::{Cardinality, EffectiveSpread, Hot, Partitions};
pub use skew::{Skew, SkewCounter};
pub use traffic::{Generator, OPERATIONS_MAX, Operation, RATE_PER_SECOND, Row, Traffic};
pub use unique::{DigestCollisions, Uniqueness};

use keys::Keys;

/// Columns of the picture, at least and at most; and rows, at most.
const COLUMNS_MIN: usize = 24;
const COLUMNS_MAX: usize = 240;
const ROWS_MAX: usize = 64;

/// Writes of a window for each region, or it is uneven by chance.
const WRITES_OF_REGION_MIN: u64 = 8;

/// A key on regions, to be looked at under traffic.
#[derive(Clone, Debug)]
pub struct Design {
    /// What it is called in reports.
    pub name: String,
    /// The key.
    pub key: KeySchema,
    /// How the table is split.
    pub regions: Regions,
    /// What will be asked.
    pub queries: Vec<Query>,
}

/// How a table is split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Regions {
    /// At these keys, ascending, the empty key of the first region left out.
    Borders(Vec<Bytes>),
    /// Into so many regions with as many writes each as can be: the best splits there are, once all is known.
    Even(u32),
}

/// How closely it is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulateOptions {
    /// Operations of one window by count.
    pub window: usize,
    /// Milliseconds of one window by time, at least: windows with fewer than eight writes for each region last longer.
    pub window_ms: u64,
    /// What chance (of drawn salts) begins with.
    pub seed: u64,
}

impl Default for SimulateOptions {
    fn default() -> Self {
        Self { window: 2_000, window_ms: 1_000, seed: 7 }
    }
}

/// What traffic does to a design.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The design.
    pub name: String,
    /// Its key.
    pub key: String,
    /// Where its regions begin, the empty key left out.
    pub borders: Vec<Bytes>,
    /// Keys of the trace that are no keys of the design, and still count as writes and reads; 0 for traffic of values.
    pub misfits: u64,
    /// Writes by region, in windows of so many writes.
    pub writes: Skew,
    /// Writes by region, in windows of time; these last longer where there are few writes.
    pub writes_by_time: Skew,
    /// Reads by region, in windows of so many reads; `None` if there are none.
    pub reads: Option<Skew>,
    /// The greatest region over the mean one by rows that are there at the end.
    pub rows_max_over_mean: f64,
    /// Where new keys land.
    pub frontier: Frontier,
    /// The busiest rows, of all operations.
    pub hot_rows: Hot,
    /// The busiest beginnings up to the end of the first field, of all operations.
    pub hot_prefixes: Hot,
    /// How many values fields have.
    pub cardinalities: Vec<Cardinality>,
    /// How widely salts and digests can spread.
    pub spreads: Vec<EffectiveSpread>,
    /// What lies under one value of the first field.
    pub partitions: Partitions,
    /// Whether rows replace each other.
    pub uniqueness: Uniqueness,
    /// What queries cost.
    pub queries: Vec<QueryCost>,
    /// The picture, as numbers.
    pub heat: Heat,
}

/// Why nothing was simulated.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SimulateError {
    /// A number of operations that is not possible.
    Operations(usize),
    /// A field of a key that the traffic says nothing of.
    Field {
        /// The design.
        design: String,
        /// The field.
        field: String,
        /// Fields that the traffic has.
        there: Vec<String>,
    },
    /// Values that a key does not take.
    Key {
        /// The design.
        design: String,
        /// Why not.
        message: String,
    },
    /// A line of a trace.
    Trace {
        /// Its number, from 1 on.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A trace of whole keys, none of which is a key of the design.
    NoKeys {
        /// The design.
        design: String,
        /// Keys of the trace.
        keys: usize,
    },
    /// How many operations there are in a second, said more than once.
    Rates(Vec<String>),
    /// A window without width.
    Window,
    /// Traffic that only reads.
    NoWrites,
    /// Splits that are not possible.
    Splits(SplitError),
}

impl fmt::Display for SimulateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operations(count) => write!(out, "{count} operations are not possible: 1 to {OPERATIONS_MAX} can be simulated"),
            Self::Field { design, field, there } => {
                write!(
                    out,
                    "{design}: nothing says what values {field} has; the traffic has {}: give --field {field}=..., or {field}=value in each line of a trace",
                    there.join(", ")
                )
            }
            Self::Key { design, message } => write!(out, "{design}: {message}"),
            Self::Trace { line, message } => write!(out, "line {line} of the trace: {message}"),
            Self::NoKeys { design, keys } => {
                write!(out, "{design}: none of the {keys} keys of the trace is a key of it; nothing is said of rows it cannot have")
            }
            Self::Rates(said) => write!(out, "operations in a second are said more than once: {}; say them in one place", said.join(", ")),
            Self::Window => out.write_str("a window holds at least one operation, and lasts at least one millisecond"),
            Self::NoWrites => out.write_str("the traffic has reads only; without writes there are no rows"),
            Self::Splits(error) => write!(out, "{error}"),
        }
    }
}

impl std::error::Error for SimulateError {}

/// Simulates traffic on a design.
///
/// # Errors
/// Traffic without values for a field or with values the key does not take, without writes, or of too many operations;
/// splits that are not possible.
pub fn simulate(design: &Design, traffic: &Traffic, options: &SimulateOptions) -> Result<Simulation, SimulateError> {
    let count = traffic.operations.len();
    if !(1..=OPERATIONS_MAX).contains(&count) {
        return Err(SimulateError::Operations(count));
    }
    if options.window == 0 || options.window_ms == 0 {
        return Err(SimulateError::Window);
    }
    let keys = Keys::of(design, traffic, options.seed)?;
    let places = |reads: bool| -> Vec<u32> {
        (0_u32..).zip(&traffic.operations).filter(|(_, operation)| operation.is_read == reads).map(|(at, _)| at).collect()
    };
    let (writes, reads) = (places(false), places(true));
    if writes.is_empty() {
        return Err(SimulateError::NoWrites);
    }
    let borders = borders(&design.regions, &keys, &writes)?;
    let all = rows::sorted(&keys, (0_u32..).take(count).collect());
    let written = rows::sorted(&keys, writes.clone());
    let distinct: Vec<u32> = written.chunk_by(|&a, &b| keys.get(a as usize) == keys.get(b as usize)).map(|run| run[0]).collect();
    let key = |at: &u32| keys.get(*at as usize);
    let time_of = |at: u32| traffic.operations[at as usize].time_ms;
    let ends = rows::first_field_ends(&design.key, &keys, count);
    let first_field = |at: u32| usize::from(ends[at as usize]);
    let span_ms = time_of(writes[writes.len() - 1]) - time_of(writes[0]);
    Ok(Simulation {
        name: design.name.clone(),
        key: design.key.to_text(),
        misfits: keys.misfits,
        writes: Skew::of(writes.iter().map(key), &borders, options.window),
        writes_by_time: by_time(&keys, &writes, time_of, &borders, options.window_ms),
        reads: (!reads.is_empty()).then(|| Skew::of(reads.iter().map(key), &borders, options.window)),
        rows_max_over_mean: Skew::of(distinct.iter().map(key), &borders, 0).max_over_mean,
        frontier: Frontier::of(&ranks(&keys, &writes, &written)),
        hot_rows: rows::hot(&keys, &all, |at| keys.get(at as usize).len()),
        hot_prefixes: rows::hot(&keys, &all, first_field),
        spreads: rows::effective_spread(&design.key, &keys, traffic, &writes),
        cardinalities: rows::cardinalities(&design.key, &keys, traffic, &writes),
        partitions: rows::partitions(&keys, &written, first_field),
        uniqueness: unique::uniqueness(&design.key, &keys, traffic, &writes, distinct.len() as u64, span_ms),
        queries: fanout::costs(design, &keys, traffic, &distinct, &borders),
        heat: heat(&keys, &writes, time_of, &borders),
        borders,
    })
}

fn borders(regions: &Regions, keys: &Keys, writes: &[u32]) -> Result<Vec<Bytes>, SimulateError> {
    match regions {
        Regions::Borders(borders) => Splits::at(borders.clone()).map(|splits| splits.keys),
        Regions::Even(1) => Ok(Vec::new()),
        Regions::Even(count) => Splits::from_sample(writes.iter().map(|&at| keys.shared(at as usize)).collect(), *count).map(|splits| splits.keys),
    }
    .map_err(SimulateError::Splits)
}

/// In windows of time: each begins at a multiple of its width, and lasts until it has enough writes for every region.
fn by_time(keys: &Keys, writes: &[u32], time_of: impl Fn(u32) -> i64, borders: &[Bytes], window_ms: u64) -> Skew {
    let width = i64::try_from(window_ms.max(1)).unwrap_or(i64::MAX);
    let mut counter = SkewCounter::new(borders);
    let mut window = None;
    let enough = WRITES_OF_REGION_MIN * (borders.len() as u64 + 1);
    for &at in writes {
        let now = time_of(at).div_euclid(width);
        if window.is_some_and(|window| window != now) && counter.in_window() >= enough {
            counter.close_window();
        }
        window = Some(now);
        counter.add(keys.get(at as usize));
    }
    if counter.windows() == 0 || counter.in_window() >= enough {
        counter.close_window();
    }
    counter.skew()
}

/// For each write, the place of its key among all different keys.
fn ranks(keys: &Keys, writes: &[u32], sorted: &[u32]) -> Vec<u32> {
    let mut rank_of = vec![0_u32; sorted.iter().max().map_or(0, |most| *most as usize + 1)];
    for (rank, run) in (0_u32..).zip(sorted.chunk_by(|&a, &b| keys.get(a as usize) == keys.get(b as usize))) {
        run.iter().for_each(|&at| rank_of[at as usize] = rank);
    }
    writes.iter().map(|&at| rank_of[at as usize]).collect()
}

fn heat(keys: &Keys, writes: &[u32], time_of: impl Fn(u32) -> i64, borders: &[Bytes]) -> Heat {
    let region = |at: u32| u32::try_from(region_of(keys.get(at as usize), borders)).unwrap_or(u32::MAX);
    let operations: Vec<(i64, u32)> = writes.iter().map(|&at| (time_of(at), region(at))).collect();
    // Columns of fewer writes would show chance.
    let filled = operations.len() as u64 / (WRITES_OF_REGION_MIN * (borders.len() as u64 + 1));
    let columns = usize::try_from(filled).unwrap_or(COLUMNS_MAX).clamp(COLUMNS_MIN, COLUMNS_MAX);
    Heat::of(&operations, borders.len() + 1, columns, ROWS_MAX)
}
