//! What is wrong with the load of a table, and whether splitting helps.
//!
//! ```text
//! mod.rs     the order of the checks, and what they find
//! phase.rs   which columns have the load of now, and whether they are enough
//! order.rs   do keys rise with time; does a series repeat itself
//! groups.rs  keys that begin alike and have too much of the load
//! period.rs  does the load rise and fall in equal times
//! words.rs   names, reasons and advice
//! ```
//!
//! Thresholds are those of the row-key adviser: a load is uneven if the most loaded region has
//! twice the mean.

mod groups;
mod order;
mod period;
mod phase;
#[cfg(test)]
mod tests;
mod words;

pub use words::ShapeWords;

use self::period::Bursts;
use self::phase::Phase;
use crate::activity::{Activity, ActivityColumn, hot_rows_of};
use crate::codec::PackedColumn;
use crate::metric::{Load, Metric};

/// Requests below which no shape is named.
const MIN_REQUESTS: u64 = 1000;
/// Sampled operations of one region below which their order means nothing.
const MIN_ORDERED: usize = 16;
/// Rank correlation from which keys rise with time.
pub const ORDERED: f64 = 0.8;
/// Share of the last bucket in the writes from which rising keys are new ones.
const AT_END: f64 = 0.2;
/// Share of the requests from which a row is hot.
const HOT_ROW_SHARE: f64 = 0.15;
/// Load of a row over the fair share of a row from which it is hot.
const HOT_ROW_RATIO: f64 = 8.0;
/// Share from which a row is hot however few rows there are, if it is not one of two.
const HOT_ROW_CERTAIN: f64 = 0.6;
/// Load of the most loaded region over the mean from which a table is uneven.
pub const UNEVEN: f64 = 2.0;
/// Rows examined per returned row from which reads are wasted on deleted rows.
const WASTED_READS: f64 = 5.0;
/// Share of deletes in writes from which a table is used as a queue.
const DELETE_SHARE: f64 = 0.2;
/// Doubt about a frontier whose keys need not be new.
const MAY_REWRITE: &str = "the keys may be those of existing rows, written again in their order";

/// Shape of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// No request in the time.
    Idle,
    /// Fewer than 1,000 requests, or fewer than three columns of the same load: the evidence says
    /// how much more it needs, `more_requests` and `more_s`.
    TooFew,
    /// No key has much more than its share.
    Even,
    /// Writes go to the end of the keys, or of one group of keys.
    Frontier,
    /// One row has much of the load.
    HotRow,
    /// Rows that begin alike have much of the load.
    HotPrefix,
    /// A range of rows has much of the load.
    HotRange,
    /// The load of all keys rises and falls together.
    Periodic,
    /// Reads go through all keys in order.
    Sweep,
    /// Values of the declared salt have different loads.
    SaltImbalance,
    /// Reads pass over many deleted rows.
    TombstoneHead,
}

impl Shape {
    /// Returns the name, as in the HTTP API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::TooFew => "too_few",
            Self::Even => "even",
            Self::Frontier => "frontier",
            Self::HotRow => "hot_row",
            Self::HotPrefix => "hot_prefix",
            Self::HotRange => "hot_range",
            Self::Periodic => "periodic",
            Self::Sweep => "sweep",
            Self::SaltImbalance => "salt_imbalance",
            Self::TombstoneHead => "tombstone_head",
        }
    }

    /// Returns whether a split of the loaded regions would distribute the load.
    #[must_use]
    pub fn split_helps(self) -> Option<bool> {
        match self {
            Self::Idle | Self::TooFew | Self::Even => None,
            Self::HotPrefix | Self::HotRange | Self::SaltImbalance => Some(true),
            Self::Frontier | Self::HotRow | Self::Periodic | Self::Sweep | Self::TombstoneHead => {
                Some(false)
            }
        }
    }
}

/// Shape of the load of a table, with what speaks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Shape.
    pub shape: Shape,
    /// Confidence, from 0 to 1: how far the evidence is from the threshold, in units of its error.
    pub confidence: f64,
    /// Key or prefix that the finding is about.
    pub key: Option<Vec<u8>>,
    /// Measurements by name.
    pub evidence: Vec<(&'static str, f64)>,
    /// What speaks against the finding, or limits it.
    pub doubts: Vec<&'static str>,
}

/// Declared salt at the beginning of rows.
#[derive(Clone, Copy)]
pub struct Salt<'a> {
    /// Number of values.
    pub count: u32,
    /// Returns the length of the salt of a row in bytes, if the row has one.
    pub length: &'a dyn Fn(&[u8]) -> Option<usize>,
}

/// What the checks look at.
struct Evidence<'a> {
    columns: Vec<&'a ActivityColumn>,
    load: Load,
    /// Measurements that every finding has.
    figures: Vec<(&'static str, f64)>,
    /// Load of the most loaded region over the mean, at the median of the columns; `None` if they
    /// have too few requests for each region.
    uneven: Option<f64>,
}

/// Names the shape of the load in a span of time.
///
/// `columns` are the base columns of that time, in order. `salt` is the declared salt
/// of the rows.
#[must_use]
pub fn diagnose(
    activity: &Activity,
    columns: &[PackedColumn],
    (from_ms, to_ms): (i64, i64),
    salt: Option<Salt<'_>>,
) -> Finding {
    let all: Vec<&ActivityColumn> = activity.columns(from_ms, to_ms).collect();
    if all.iter().all(|column| column.load.requests() == 0) {
        return Evidence::gather(all).finding(Shape::Idle, 1.0);
    }
    let phase = match Phase::newest(activity, (from_ms, to_ms)) {
        Ok(phase) => phase,
        Err(wanted) => return too_few(&Evidence::gather(all), wanted),
    };
    let is_of_phase = |column: &&PackedColumn| phase.overlaps(column.from_ms, column.to_ms);
    let columns: Vec<PackedColumn> = columns.iter().filter(is_of_phase).cloned().collect();
    let columns = &columns[..];
    let is_past = phase.is_past;
    let evidence = Evidence::gather(phase.columns);
    let checks: [&dyn Fn() -> Option<Finding>; 6] = [
        &|| tombstone_head(&evidence),
        &|| hot_row(&evidence),
        &|| frontier(&evidence, columns),
        &|| sweep(&evidence),
        &|| groups::salt_imbalance(&evidence, salt?),
        &|| groups::hot_keys(&evidence, columns),
    ];
    let found = checks.iter().find_map(|check| check());
    // A period shows over a longer time.
    let before: Vec<&ActivityColumn> = activity.columns(i64::MIN, to_ms).collect();
    let period = || Bursts::of(&before, to_ms)?.period(&evidence);
    let mut found = found.or_else(period).unwrap_or_else(|| {
        let newest = evidence.columns.last().map(|column| column.load).unwrap_or_default();
        let bursts = Bursts::of(&phase::alike(&before, &newest), to_ms);
        even(&evidence, bursts.as_ref())
    });
    if is_past {
        found.confidence = found.confidence.min(0.6);
        found.doubts.push("the load has changed since, and the new one is too young to be judged");
    }
    found
}

impl<'a> Evidence<'a> {
    fn gather(columns: Vec<&'a ActivityColumn>) -> Self {
        let load = columns.iter().fold(Load::default(), |sum, column| sum + column.load);
        // The metric that has most of the requests decides which regions are loaded.
        let is_read = load.get(Metric::Reads) > load.get(Metric::Writes);
        let mut skews: Vec<_> =
            columns.iter().filter_map(|column| column.sound_skew(is_read)).collect();
        skews.sort_by(|one, other| one.max_over_mean.total_cmp(&other.max_over_mean));
        let median = skews.get(skews.len() / 2);
        let figures = median.map_or_else(Vec::new, |median| {
            #[expect(clippy::cast_precision_loss, reason = "a number of regions")]
            let regions = median.regions as f64;
            vec![("d1", median.max_over_mean), ("d2", median.effective), ("regions", regions)]
        });
        let uneven = median.map(|median| median.max_over_mean);
        Self { columns, load, figures, uneven }
    }

    fn finding(&self, shape: Shape, confidence: f64) -> Finding {
        let evidence = self.figures.clone();
        Finding { shape, confidence, key: None, evidence, doubts: Vec::new() }
    }

    /// Sampled rows of each region and column with at least 16 of them, in the order of arrival,
    /// with their weight.
    fn ordered<'b>(
        &'b self,
        is_wanted: impl Fn(&crate::activity::WeightedKey) -> bool + 'b,
    ) -> impl Iterator<Item = (f64, f64)> + 'b {
        self.columns.iter().flat_map(move |column| {
            let mut results = Vec::new();
            for region in column.keys.chunk_by(|one, next| one.region == next.region) {
                let wanted: Vec<_> = region.iter().filter(|key| is_wanted(key)).collect();
                let rows: Vec<&[u8]> = wanted.iter().map(|key| &*key.key.row).collect();
                let weight: f64 = wanted.iter().map(|key| key.weight).sum();
                if let Some(correlation) = order::rank_correlation(&rows, MIN_ORDERED) {
                    results.push((correlation, weight));
                }
            }
            results
        })
    }
}

/// Weighted mean of the correlations, and their number.
fn mean_correlation(correlations: impl Iterator<Item = (f64, f64)>) -> Option<(f64, usize)> {
    let (mut sum, mut total, mut count) = (0.0, 0.0, 0);
    for (correlation, weight) in correlations {
        sum += correlation * weight;
        total += weight;
        count += 1;
    }
    (total > 0.0).then(|| (sum / total, count))
}

/// Confidence of a figure beyond its threshold, with the error of the figure.
fn confidence(beyond: f64, error: f64) -> f64 {
    (1.0 - 0.5 * (-beyond.max(0.0) / error.max(1e-6)).exp()).clamp(0.5, 0.99)
}

/// Confidence that keys with a rank correlation rise or fall with time.
fn order_confidence(correlation: f64) -> f64 {
    confidence(correlation.abs() - ORDERED, 0.05)
}

impl Finding {
    /// Returns a measurement by its name.
    #[must_use]
    pub fn evidence(&self, name: &str) -> Option<f64> {
        self.evidence.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Returns the finding for writes that are known to be of new rows: rising keys are then no
    /// rows that are written again, wherever in the table they are.
    #[must_use]
    pub fn of_new_rows(mut self) -> Self {
        if let (Shape::Frontier, Some(order)) = (self.shape, self.evidence("order")) {
            self.doubts.retain(|doubt| *doubt != MAY_REWRITE);
            self.confidence = order_confidence(order);
        }
        self
    }
}

#[expect(clippy::cast_precision_loss, reason = "shares")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "a number of requests or seconds")]
fn too_few(evidence: &Evidence<'_>, wanted: phase::Wanted) -> Finding {
    let mut finding = evidence.finding(Shape::TooFew, 1.0);
    finding.evidence.extend([
        ("requests", evidence.load.requests() as f64),
        ("more_requests", wanted.requests as f64),
        ("more_s", wanted.seconds as f64),
    ]);
    finding
}

fn tombstone_head(evidence: &Evidence<'_>) -> Option<Finding> {
    let load = &evidence.load;
    let deletes = share(load.get(Metric::Deletes), load.get(Metric::Writes));
    let wasted = share(load.get(Metric::RowsExamined), load.get(Metric::Reads));
    let is_read = load.get(Metric::RowsExamined) >= MIN_REQUESTS;
    if !is_read || deletes < DELETE_SHARE || wasted < WASTED_READS {
        return None;
    }
    let mut finding =
        evidence.finding(Shape::TombstoneHead, confidence(wasted - WASTED_READS, WASTED_READS));
    finding.evidence.extend([("deletes_share", deletes), ("examined_per_row", wasted)]);
    finding.doubts.push("rows that a filter excludes count as those that are deleted");
    Some(finding)
}

fn hot_row(evidence: &Evidence<'_>) -> Option<Finding> {
    let (rows, total) = hot_rows_of(&evidence.columns, 2);
    let top = rows.first()?;
    let (least, error) =
        (share(top.count.saturating_sub(top.error), total), share(top.error, total));
    let fair = 1.0 / groups::distinct_rows(&evidence.columns);
    let is_only = rows.len() == 1 && fair >= 1.0;
    if least < HOT_ROW_SHARE || !is_only && least < (HOT_ROW_RATIO * fair).min(HOT_ROW_CERTAIN) {
        return None;
    }
    // The share of a small sample varies.
    let sampled: usize = evidence.columns.iter().map(|column| column.keys.len()).sum();
    #[expect(clippy::cast_precision_loss, reason = "a number of samples")]
    let deviation = (least * (1.0 - least) / sampled.max(1) as f64).sqrt() + error;
    let mut finding =
        evidence.finding(Shape::HotRow, confidence(least - HOT_ROW_SHARE, deviation.max(0.01)));
    finding.key = Some(top.row.clone());
    finding.evidence.extend([("share", least), ("share_error", error)]);
    Some(finding)
}

fn frontier(evidence: &Evidence<'_>, columns: &[PackedColumn]) -> Option<Finding> {
    let writes = share(evidence.load.get(Metric::Writes), evidence.load.requests());
    let (correlation, samples) =
        mean_correlation(evidence.ordered(|key| key.key.is_write)).filter(|_| writes >= 0.1)?;
    let skew = |column: &&ActivityColumn| column.writes;
    let skews: Vec<_> = evidence.columns.iter().filter_map(skew).collect();
    #[expect(clippy::cast_precision_loss, reason = "a number of columns")]
    let effective =
        skews.iter().map(|skew| skew.effective).sum::<f64>() / skews.len().max(1) as f64;
    let regions = skews.iter().map(|skew| skew.regions).max().unwrap_or(1);
    let mut uneven: Vec<f64> = skews.iter().map(|skew| skew.max_over_mean).collect();
    uneven.sort_by(f64::total_cmp);
    let uneven = uneven.get(uneven.len() / 2).copied().unwrap_or(1.0);
    #[expect(clippy::cast_precision_loss, reason = "a number of regions")]
    let limit = UNEVEN.min(regions as f64 * 0.9);
    // Rising keys in every region at once are the frontiers of salts: they share the load.
    if correlation.abs() < ORDERED || regions > 1 && uneven < limit {
        return None;
    }
    let mut finding = evidence.finding(Shape::Frontier, order_confidence(correlation));
    finding.evidence.extend([
        ("order", correlation),
        ("frontiers", effective),
        ("writes_share", writes),
    ]);
    if writes_at_end(columns) < AT_END && correlation > 0.0 {
        finding.confidence = finding.confidence.min(0.6);
        finding.doubts.push(MAY_REWRITE);
    }
    if samples < 3 {
        finding.doubts.push("seen in less than half a minute");
    }
    if regions == 1 {
        finding.doubts.push("the table has one region, which takes every load alone");
    }
    Some(finding)
}

/// Returns the share of the last bucket in the writes.
fn writes_at_end(columns: &[PackedColumn]) -> f64 {
    let (mut last, mut all) = (0, 0);
    for column in columns {
        let (writes, _) = column.values(Metric::Writes);
        last += writes.last().copied().unwrap_or(0);
        all += writes.iter().sum::<u64>();
    }
    share(last, all)
}

fn sweep(evidence: &Evidence<'_>) -> Option<Finding> {
    let scanned: f64 = evidence
        .columns
        .iter()
        .flat_map(|column| &column.keys)
        .filter(|key| key.key.is_scan)
        .map(|key| key.weight)
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let scans = scanned / evidence.load.requests() as f64;
    let (correlation, _) =
        mean_correlation(evidence.ordered(|key| key.key.is_scan)).filter(|_| scans >= 0.5)?;
    if correlation.abs() < ORDERED {
        return None;
    }
    let mut finding = evidence.finding(Shape::Sweep, order_confidence(correlation));
    finding.evidence.extend([("order", correlation), ("scans_share", scans)]);
    Some(finding)
}

fn even(evidence: &Evidence<'_>, bursts: Option<&Bursts>) -> Finding {
    let beyond = UNEVEN - evidence.uneven.unwrap_or(UNEVEN);
    let mut finding = evidence.finding(Shape::Even, confidence(beyond, 0.5));
    match evidence.uneven {
        None => finding.doubts.push("too few requests for each region to compare them"),
        Some(uneven) if uneven >= UNEVEN => {
            finding.doubts.push("regions have different loads, and no key explains it");
        }
        Some(_) => {}
    }
    if bursts.is_some_and(|bursts| bursts.count() > 1) {
        let text = "the load comes in bursts: whether they have a period shows after the next one";
        finding.doubts.push(text);
    }
    finding
}
