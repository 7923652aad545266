//! Detection of numbers with a few first digits and random digits after them. They are in clusters
//! whose ends are round numbers; clusters of times, such as busy hours or bursts, end anywhere.

use std::collections::BTreeMap;

/// Minimum mean numbers per block; with fewer, a block may be empty randomly.
const MIN_BLOCK_NUMBERS: usize = 8;
/// Maximum mean blocks per cluster. Hours and minutes are round numbers too, but have more and
/// smaller blocks.
const MAX_BLOCKS: u64 = 20;
/// Minimum numbers of a cluster; smaller ones are ignored if they contain at most a tenth of all
/// numbers.
const MIN_CLUSTER_NUMBERS: usize = 4;
/// Maximum mean distance of cluster ends from round numbers, in mean distances of the cluster's
/// numbers. The expected distance of random numbers is one.
const DISTANCES: f64 = 4.0;
/// Maximum probability that ends are this near to round numbers randomly.
const MAX_PROBABILITY: f64 = 1e-3;

/// Numbers in adjacent blocks.
struct Cluster {
    first_block: u64,
    last_block: u64,
    count: usize,
    min: u64,
    max: u64,
}

impl Cluster {
    #[expect(clippy::cast_precision_loss, reason = "shares of a block")]
    fn after_start(&self, block: u64) -> f64 {
        (self.min - self.first_block * block) as f64 / block as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "shares of a block")]
    fn before_end(&self, block: u64) -> f64 {
        (block - 1 - (self.max - self.last_block * block)) as f64 / block as f64
    }

    /// Returns the mean distance of the cluster's numbers, in blocks.
    #[expect(clippy::cast_precision_loss, reason = "numbers in a sample")]
    fn distance(&self) -> f64 {
        self.blocks() as f64 / self.count as f64
    }

    fn blocks(&self) -> u64 {
        self.last_block - self.first_block + 1
    }
}

/// Returns `true` if numbers are in clusters that start and end at decimal or binary block
/// boundaries.
pub(super) fn fill_blocks(numbers: &[u64]) -> bool {
    blocks().any(|block| are_round(numbers, block, true))
}

/// Returns `true` if numbers are in clusters that start at decimal block boundaries.
pub(super) fn begin_with_blocks(numbers: &[u64]) -> bool {
    decimal().any(|block| are_round(numbers, block, false))
}

fn decimal() -> impl Iterator<Item = u64> {
    (2..19).map(|digits| 10_u64.pow(digits))
}

fn blocks() -> impl Iterator<Item = u64> {
    decimal().chain((6..62).map(|bits| 1 << bits))
}

fn are_round(numbers: &[u64], block: u64, with_ends: bool) -> bool {
    let clusters = clusters(numbers, block);
    let kept: Vec<&Cluster> =
        clusters.iter().filter(|cluster| cluster.count >= MIN_CLUSTER_NUMBERS).collect();
    let (count, wide) = (
        kept.iter().map(|cluster| cluster.count).sum::<usize>(),
        kept.iter().map(|cluster| cluster.blocks()).sum::<u64>(),
    );
    let is_full = usize::try_from(wide).is_ok_and(|wide| wide * MIN_BLOCK_NUMBERS <= count);
    if kept.is_empty()
        || clusters.len() < 2
        || wide > MAX_BLOCKS * kept.len() as u64
        || !is_full
        || count * 10 < numbers.len() * 9
    {
        return false;
    }
    let starts = kept.iter().map(|cluster| (cluster.after_start(block), cluster.distance()));
    // A limit may cut the last cluster.
    let whole = if clusters.last().is_some_and(|last| last.count >= MIN_CLUSTER_NUMBERS) {
        kept.len() - 1
    } else {
        kept.len()
    };
    let ends = kept[..whole]
        .iter()
        .filter(|_| with_ends)
        .map(|cluster| (cluster.before_end(block), cluster.distance()));
    are_near(&starts.chain(ends).collect::<Vec<_>>())
}

/// Returns `true` if ends are nearer to block boundaries than random ones. Each end has the mean
/// distance of its cluster.
#[expect(clippy::cast_precision_loss, reason = "few ends")]
fn are_near(ends: &[(f64, f64)]) -> bool {
    let distances: f64 = ends.iter().map(|(end, distance)| end / distance).sum();
    let sum: f64 = ends.iter().map(|(end, _)| end).sum();
    // Probability that the sum of as many random shares is at most this.
    let chance = (1..=ends.len()).fold(1.0, |chance, at| chance * sum / at as f64);
    distances <= DISTANCES * ends.len() as f64 && chance <= MAX_PROBABILITY
}

fn clusters(numbers: &[u64], block: u64) -> Vec<Cluster> {
    let mut of: BTreeMap<u64, Cluster> = BTreeMap::new();
    for &number in numbers {
        let at = number / block;
        let one = of.entry(at).or_insert(Cluster {
            first_block: at,
            last_block: at,
            count: 0,
            min: number,
            max: number,
        });
        (one.count, one.min, one.max) = (one.count + 1, one.min.min(number), one.max.max(number));
    }
    let mut found: Vec<Cluster> = Vec::new();
    for next in of.into_values() {
        match found.last_mut().filter(|last| last.last_block + 1 == next.first_block) {
            Some(last) => {
                (last.last_block, last.count, last.max) =
                    (next.last_block, last.count + next.count, next.max);
            }
            None => found.push(next),
        }
    }
    found
}
