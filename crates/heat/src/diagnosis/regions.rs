//! Regions with too much of the load, which no key explains.
//!
//! The loads of regions are exact, so that few of them tell as much as many. Those of the columns
//! are added: a region that has the most by accident in one column has less in the others.

use std::collections::BTreeMap;

use super::evidence::{Evidence, mean_correlation, uneven_limit};
use super::finding::{Finding, NO_KEYS, ORDERED, Shape, confidence, order_confidence};
use crate::activity::{WeightedKey, hot_rows_of};
use crate::busy_regions::BusyRegion;

/// Share of the load of a region from which a row is the cause of it.
const ROW_PART: f64 = 0.5;
/// Frequent rows among which that row is.
const MAX_ROWS: usize = 16;
/// Part of the load of an uneven region that it has in most columns if it is the same one.
const STEADY_PART: f64 = 0.75;
/// Doubt about a load that no region has for long.
const MOVES: &str = "other regions are loaded at other times, and the keys have no order";

/// Finds a region with much of the load in the whole time: the row that has most of it, or a hot
/// range.
#[expect(clippy::cast_precision_loss, reason = "numbers of requests and regions")]
pub(super) fn hot_region(evidence: &Evidence<'_>) -> Option<Finding> {
    let total = evidence.load.get(evidence.metric()) as f64;
    let regions = evidence.regions()? as f64;
    let region = most_loaded(evidence)?;
    let share = region.amount as f64 / total.max(1.0);
    let (ratio, limit) = (share * regions, uneven_limit(regions));
    let error = evidence.accidental(regions);
    if regions < 2.0 || ratio < limit.max(error) {
        return None;
    }
    let mut finding = of_row(evidence, &region).unwrap_or_else(|| {
        let mut range =
            evidence.finding(Shape::HotRange, confidence(ratio - limit, (error - 1.0) / 3.0));
        range.key = Some(region.start.to_vec());
        range.evidence.push(("share", share));
        range
    });
    finding.evidence.push(("region_over_mean", ratio));
    if !evidence.has_keys() {
        finding.confidence = finding.confidence.min(0.6);
        finding.doubts.push(NO_KEYS);
    }
    Some(finding)
}

/// Returns the region with the largest load of all columns, of those that have much in most of
/// them.
#[expect(clippy::cast_precision_loss, reason = "numbers of requests and regions")]
fn most_loaded(evidence: &Evidence<'_>) -> Option<BusyRegion> {
    let mut sums: BTreeMap<&[u8], (BusyRegion, usize)> = BTreeMap::new();
    let regions = evidence.regions()? as f64;
    let limit = STEADY_PART * uneven_limit(regions);
    for column in &evidence.columns {
        let mean = column.load.get(evidence.metric()) as f64 / regions;
        for region in &column.busiest[usize::from(!evidence.is_read)] {
            let (sum, steady) = sums
                .entry(&region.start)
                .or_insert_with(|| (BusyRegion { amount: 0, ..region.clone() }, 0));
            sum.amount = sum.amount.saturating_add(region.amount);
            // The newest end: the region may have been split.
            sum.end.clone_from(&region.end);
            *steady += usize::from(region.amount as f64 >= limit * mean);
        }
    }
    let is_steady = |(_, steady): &(BusyRegion, usize)| steady * 2 > evidence.columns.len();
    let steady = sums.into_values().filter(is_steady).map(|(region, _)| region);
    steady.max_by_key(|region| region.amount)
}

/// Finds a row with most of the load of a region, which no split divides.
#[expect(clippy::cast_precision_loss, reason = "numbers of requests")]
fn of_row(evidence: &Evidence<'_>, region: &BusyRegion) -> Option<Finding> {
    let (rows, total) = hot_rows_of(&evidence.columns, MAX_ROWS);
    let row = rows.into_iter().find(|row| region.contains(&row.row))?;
    let of_metric =
        if evidence.is_read { row.count.saturating_sub(row.writes) } else { row.writes };
    let least = of_metric.saturating_sub(row.error) as f64;
    let part = least / region.amount.max(1) as f64;
    if part < ROW_PART {
        return None;
    }
    let mut finding = evidence.finding(Shape::HotRow, confidence(part - ROW_PART, 0.1));
    finding.key = Some(row.row);
    let share = row.count.saturating_sub(row.error) as f64 / total.max(1) as f64;
    finding.evidence.extend([("share", share), ("share_of_region", part.min(1.0))]);
    Some(finding)
}

/// Names a load that is in few regions at a time, and in others at other times.
pub(super) fn moving(evidence: &Evidence<'_>) -> Option<Finding> {
    #[expect(clippy::cast_precision_loss, reason = "a number of regions")]
    let regions = evidence.regions()? as f64;
    if regions < 2.0 || evidence.uneven? < uneven_limit(regions) {
        return None;
    }
    let is_got = |key: &WeightedKey| !key.key.is_write && !key.key.is_scan;
    let order = mean_correlation(evidence.ordered(is_got)).map_or(0.0, |(order, _)| order);
    if evidence.is_read && order.abs() >= ORDERED {
        let mut finding = evidence.finding(Shape::Sweep, order_confidence(order));
        finding.evidence.extend([("order", order), ("gets_in_order", 1.0)]);
        return Some(finding);
    }
    let mut finding = evidence.finding(Shape::HotRange, 0.5);
    finding.doubts.push(MOVES);
    Some(finding)
}
