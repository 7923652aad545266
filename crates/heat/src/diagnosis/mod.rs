//! What is wrong with the load of a table, and whether splitting helps.
//!
//! ```text
//! mod.rs       the order of the checks, and what they find
//! evidence.rs  what the checks look at
//! finding.rs   shapes, and what speaks for one
//! frontier.rs  do written keys rise or fall with time
//! regions.rs   regions with too much of the load
//! phase.rs     which columns have the load of now, and whether they are enough
//! order.rs     do keys rise with time; does a series repeat itself
//! passes.rs    do scans read all keys, or some here and some there
//! groups.rs    keys that begin alike and have too much of the load
//! period.rs    does the load rise and fall in equal times
//! words.rs     names, reasons and advice
//! ```
//!
//! Thresholds are those of the row-key adviser: a load is uneven if the most loaded region has
//! twice the mean.

mod evidence;
mod finding;
mod frontier;
mod groups;
mod order;
mod passes;
mod period;
mod phase;
mod regions;
#[cfg(test)]
mod tests;
mod words;

pub use evidence::UNEVEN;
pub use finding::{Finding, ORDERED, Shape};
pub use words::ShapeWords;

use self::evidence::{Evidence, MIN_REQUESTS, mean_correlation, share, uneven_limit};
use self::finding::{confidence, order_confidence};
use self::period::Bursts;
use self::phase::Phase;
use crate::activity::{Activity, ActivityColumn, hot_rows_of};
use crate::codec::PackedColumn;
use crate::metric::Metric;

/// Share of the requests from which a row is hot.
const HOT_ROW_SHARE: f64 = 0.15;
/// Load of a row over the fair share of a row from which it is hot.
const HOT_ROW_RATIO: f64 = 8.0;
/// Share from which a row is hot however few rows there are, if it is not one of two.
const HOT_ROW_CERTAIN: f64 = 0.6;
/// Rows examined per returned row from which reads are wasted on deleted rows.
const WASTED_READS: f64 = 5.0;
/// Share of deletes in writes from which a table is used as a queue.
const DELETE_SHARE: f64 = 0.2;
/// Share of the scanned keys of a region that a pass covers if the scans are those of a sweep.
const WHOLE_PASS: f64 = 0.9;
/// Share of the scanned rows that follow others in time and keys if the scans are those of a sweep.
const ON_PATH: f64 = 0.75;

/// Declared salt at the beginning of rows.
#[derive(Clone, Copy)]
pub struct Salt<'a> {
    /// Number of values.
    pub count: u32,
    /// Returns the length of the salt of a row in bytes, if the row has one.
    pub length: &'a dyn Fn(&[u8]) -> Option<usize>,
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
    let checks: [&dyn Fn() -> Option<Finding>; 8] = [
        &|| tombstone_head(&evidence),
        &|| hot_row(&evidence),
        &|| frontier::frontier(&evidence, columns),
        &|| sweep(&evidence),
        &|| groups::salt_imbalance(&evidence, salt?),
        &|| groups::hot_keys(&evidence, columns),
        &|| regions::hot_region(&evidence),
        &|| regions::moving(&evidence),
    ];
    let found = checks.iter().find_map(|check| check());
    // A period shows over a longer time: over all of it if a job is of another load than what is
    // between its runs, or since the table was filled, which is a burst of its own.
    let before: Vec<&ActivityColumn> = activity.columns(i64::MIN, to_ms).collect();
    let period = || {
        let spans = [&before[..], phase::since_other(&before, &evidence.load)];
        spans.iter().find_map(|columns| Bursts::of(columns, to_ms)?.period(&evidence))
    };
    let mut found = found.or_else(period).unwrap_or_else(|| {
        let bursts = Bursts::of(&phase::alike(&before, &evidence.load), to_ms);
        even(&evidence, bursts.as_ref())
    });
    if is_past {
        found.confidence = found.confidence.min(0.6);
        found.doubts.push("the load has changed since, and the new one is too young to be judged");
    }
    found
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
    let span = passes::mean_span(&evidence.columns, correlation < 0.0)?;
    let on_path = passes::path_share(&evidence.columns);
    if correlation.abs() < ORDERED || span < WHOLE_PASS || on_path < ON_PATH {
        return None;
    }
    let certain = order_confidence(correlation).min(confidence(span - WHOLE_PASS, 0.03));
    let mut finding = evidence.finding(Shape::Sweep, certain);
    finding.evidence.extend([("order", correlation), ("scans_share", scans), ("pass_share", span)]);
    Some(finding)
}

fn even(evidence: &Evidence<'_>, bursts: Option<&Bursts>) -> Finding {
    #[expect(clippy::cast_precision_loss, reason = "a number of regions")]
    let limit = uneven_limit(evidence.regions().filter(|all| *all > 1).unwrap_or(4) as f64);
    let beyond = limit - evidence.uneven.unwrap_or(limit);
    let mut finding = evidence.finding(Shape::Even, confidence(beyond, 0.5));
    if evidence.uneven.is_none() {
        finding.doubts.push("too few requests for each region to compare them");
    }
    if bursts.is_some_and(|bursts| bursts.count() > 1) {
        let text = "the load comes in bursts: whether they have a period shows after the next one";
        finding.doubts.push(text);
    }
    finding
}
