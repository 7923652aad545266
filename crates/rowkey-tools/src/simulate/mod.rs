//! Simulation of load on a row key before a table exists: the regions, times and distribution of
//! writes.
//!
//! Traffic is generated (`generators.rs`, `traffic.rs`) or read from a trace; `keys.rs` encodes it
//! as keys of each design. `skew.rs` counts them by region, in total and in windows,
//! `insert_pattern.rs` examines the positions of new keys, `rows.rs` hot rows, cardinalities and
//! partitions, `unique.rs` colliding keys, and `fanout.rs` queries. `panel.rs` makes the panel of a
//! [`Picture`](crate::picture::Picture).

mod design;
mod error;
mod fanout;
mod generators;
mod insert_pattern;
mod keys;
mod panel;
mod rows;
mod skew;
pub(crate) mod stats;
#[cfg(test)]
mod tests;
mod traffic;
mod unique;
mod values;

use bytes::Bytes;
use halite_rowkey::split::Splits;

pub use design::{Design, RegionLayout};
pub use error::SimulateError;
pub use fanout::QueryCost;
pub use generators::{FieldSpec, GeneratedValue};
pub use insert_pattern::InsertPattern;
pub use panel::panel_of_keys;
pub use rows::{Cardinality, EffectiveSpread, HotKeys, Partitions};
pub use skew::{Skew, SkewCounter};
pub use traffic::{
    DEFAULT_RATE_PER_SECOND, MAX_OPERATIONS, Operation, RowSpec, Traffic, TrafficSpec,
};
pub use unique::{DigestCollisions, Uniqueness};

use crate::picture::{KeyedOperation, Panel};
use crate::split_sample;
pub(crate) use insert_pattern::correlation;
use keys::Keys;
pub(crate) use keys::TrafficResolver;
use panel::{Source, panel};

/// Minimum writes per region in a window; with fewer, random variation dominates.
const MIN_WRITES_PER_REGION: u64 = 8;

/// Resolution of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulateOptions {
    /// Operations per window by count.
    pub window: usize,
    /// Minimum milliseconds per window by time: windows with fewer than eight writes per region
    /// last longer.
    pub window_ms: u64,
    /// Random seed of generated salts.
    pub seed: u64,
}

impl Default for SimulateOptions {
    fn default() -> Self {
        Self { window: 2_000, window_ms: 1_000, seed: 7 }
    }
}

/// Result of simulating traffic on a design.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// Name of the design.
    pub name: String,
    /// Key of the design.
    pub key: String,
    /// Start keys of its regions, without the empty key.
    pub boundaries: Vec<Bytes>,
    /// Keys of the trace that are not keys of the design, and still count as writes and reads; 0
    /// for traffic of values.
    pub misfits: u64,
    /// Writes by region, in windows by count.
    pub writes: Skew,
    /// Writes by region, in windows by time; these last longer if there are few writes.
    pub writes_by_time: Skew,
    /// Reads by region, in windows by count; `None` if there are none.
    pub reads: Option<Skew>,
    /// Rows of the largest region at the end, divided by the mean.
    pub rows_max_over_mean: f64,
    /// Positions of new keys.
    pub insert_pattern: InsertPattern,
    /// Busiest rows of all operations.
    pub hot_rows: HotKeys,
    /// Busiest prefixes up to the end of the first field, of all operations.
    pub hot_prefixes: HotKeys,
    /// Numbers of values of the fields.
    pub cardinalities: Vec<Cardinality>,
    /// Effective spreads of salts and digests.
    pub spreads: Vec<EffectiveSpread>,
    /// Partitions by the value of the first field.
    pub partitions: Partitions,
    /// Collisions of rows.
    pub uniqueness: Uniqueness,
    /// Costs of the queries.
    pub queries: Vec<QueryCost>,
    /// Writes by key and time, with the shape of their load.
    pub panel: Panel,
}

/// Simulates traffic on a design.
///
/// # Errors
/// Traffic without values for a field, with values that are invalid for the key, without writes, or
/// with too many operations; invalid splits.
pub fn simulate(
    design: &Design,
    traffic: &Traffic,
    options: &SimulateOptions,
) -> Result<Simulation, SimulateError> {
    let count = traffic.operations.len();
    if !(1..=MAX_OPERATIONS).contains(&count) {
        return Err(SimulateError::Operations(count));
    }
    if options.window == 0 || options.window_ms == 0 {
        return Err(SimulateError::Window);
    }
    let keys = Keys::from_traffic(design, traffic, options.seed)?;
    let places = |reads: bool| -> Vec<u32> {
        (0_u32..)
            .zip(&traffic.operations)
            .filter(|(_, operation)| operation.is_read == reads)
            .map(|(at, _)| at)
            .collect()
    };
    let (writes, reads) = (places(false), places(true));
    if writes.is_empty() {
        return Err(SimulateError::NoWrites);
    }
    let boundaries = boundaries(&design.regions, &keys, &writes)?;
    let all = rows::sorted(&keys, (0_u32..).take(count).collect());
    let written = rows::sorted(&keys, writes.clone());
    let distinct: Vec<u32> = written
        .chunk_by(|&a, &b| keys.get(a as usize) == keys.get(b as usize))
        .map(|run| run[0])
        .collect();
    let key = |at: &u32| keys.get(*at as usize);
    let weighted = |at: &u32| (key(at), traffic.operations[*at as usize].weight);
    let time_of = |at: u32| traffic.operations[at as usize].time_ms;
    let ends = rows::first_field_ends(&design.key, &keys, count);
    let first_field = |at: u32| usize::from(ends[at as usize]);
    let span_ms = time_of(writes[writes.len() - 1]) - time_of(writes[0]);
    let skew = Skew::from_weighted(writes.iter().map(weighted), &boundaries, options.window);
    let queries = fanout::costs(design, &keys, traffic, &distinct, &boundaries);
    let count = distinct.len() as u64;
    let uniqueness = unique::uniqueness(&design.key, &keys, traffic, &writes, count, span_ms);
    let keyed = |&at: &u32| {
        let Operation { time_ms, weight, .. } = traffic.operations[at as usize];
        KeyedOperation { key: keys.get(at as usize), time_ms, is_read: false, weight }
    };
    let keyed: Vec<KeyedOperation<'_>> = writes.iter().map(keyed).collect();
    let source = Source { design, keys: &keys, boundaries: &boundaries, writes: &keyed };
    Ok(Simulation {
        name: design.name.clone(),
        key: design.key.to_text(),
        misfits: keys.misfits,
        panel: panel(&source, &skew, &queries, &uniqueness),
        writes: skew,
        writes_by_time: by_time(&keyed, &boundaries, options.window_ms),
        reads: (!reads.is_empty())
            .then(|| Skew::from_weighted(reads.iter().map(weighted), &boundaries, options.window)),
        rows_max_over_mean: Skew::from_keys(distinct.iter().map(key), &boundaries, 0).max_over_mean,
        insert_pattern: InsertPattern::from_ranks(&ranks(&keys, &writes, &written)),
        hot_rows: rows::hot_keys(&keys, traffic, &all, |at| keys.get(at as usize).len()),
        hot_prefixes: rows::hot_keys(&keys, traffic, &all, first_field),
        spreads: rows::effective_spread(&design.key, &keys, traffic, &writes),
        cardinalities: rows::cardinalities(&design.key, &keys, traffic, &writes),
        partitions: rows::partitions(&keys, &written, first_field),
        uniqueness,
        queries,
        boundaries,
    })
}

fn boundaries(
    regions: &RegionLayout,
    keys: &Keys,
    writes: &[u32],
) -> Result<Vec<Bytes>, SimulateError> {
    match regions {
        RegionLayout::Boundaries(boundaries) => {
            Splits::at(boundaries.clone()).map(|splits| splits.keys)
        }
        RegionLayout::Even(1) => Ok(Vec::new()),
        RegionLayout::Even(count) => {
            split_sample(writes.iter().map(|&at| keys.shared(at as usize)).collect(), *count)
                .map(|splits| splits.keys)
        }
    }
    .map_err(SimulateError::Splits)
}

/// Counts in windows of time: each begins at a multiple of its width, and lasts until it has enough
/// writes for every region.
fn by_time(writes: &[KeyedOperation<'_>], boundaries: &[Bytes], window_ms: u64) -> Skew {
    let width = i64::try_from(window_ms.max(1)).unwrap_or(i64::MAX);
    let mut counter = SkewCounter::new(boundaries);
    let mut window = None;
    let enough = MIN_WRITES_PER_REGION * (boundaries.len() as u64 + 1);
    for write in writes {
        let now = write.time_ms.div_euclid(width);
        if window.is_some_and(|window| window != now) && counter.in_window() >= enough {
            counter.close_window();
        }
        window = Some(now);
        counter.add_weighted(write.key, write.weight);
    }
    if counter.windows() == 0 || counter.in_window() >= enough {
        counter.close_window();
    }
    counter.skew()
}

/// Returns, for each write, the rank of its key among all distinct keys.
fn ranks(keys: &Keys, writes: &[u32], sorted: &[u32]) -> Vec<u32> {
    let mut rank_of = vec![0_u32; sorted.iter().max().map_or(0, |most| *most as usize + 1)];
    for (rank, run) in
        (0_u32..).zip(sorted.chunk_by(|&a, &b| keys.get(a as usize) == keys.get(b as usize)))
    {
        run.iter().for_each(|&at| rank_of[at as usize] = rank);
    }
    writes.iter().map(|&at| rank_of[at as usize]).collect()
}
