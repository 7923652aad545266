//! Writes whose keys rise or fall with time.

use super::evidence::{Evidence, MIN_ORDERED, mean_correlation, share, uneven_limit};
use super::finding::{Finding, MAY_REWRITE, NO_KEYS, ORDERED, Shape, order_confidence};
use super::order::rank_correlation;
use crate::activity::{ActivityColumn, keys_by_region};
use crate::codec::PackedColumn;
use crate::metric::Metric;

/// Share of the writes beyond other rows from which rising keys are new ones.
const AT_END: f64 = 0.2;
/// Share of the writes that the last region has at least if it is a frontier whose keys are not
/// recorded.
const LAST_REGION_SHARE: f64 = 0.6;
/// Share of the writes in the requests of a load that can be a frontier.
const WRITES_SHARE: f64 = 0.1;
/// Limit of an order that shows over several columns only: of several clients, some late.
const SLOW: &str = "keys rise or fall over a longer time than a column, and less within one";

pub(super) fn frontier(evidence: &Evidence<'_>, columns: &[PackedColumn]) -> Option<Finding> {
    let writes = share(evidence.load.get(Metric::Writes), evidence.load.requests());
    if writes < WRITES_SHARE {
        return None;
    }
    if !evidence.has_keys() {
        return of_last_region(evidence, columns);
    }
    let within = mean_correlation(evidence.ordered(|key| key.key.is_write));
    let (order, samples) = within
        .filter(|(order, _)| order.abs() >= ORDERED)
        .or_else(|| over_time(&evidence.columns).filter(|_| within.is_some()))?;
    let skews: Vec<_> = evidence.columns.iter().filter_map(|column| column.writes).collect();
    #[expect(clippy::cast_precision_loss, reason = "a number of columns")]
    let effective =
        skews.iter().map(|skew| skew.effective).sum::<f64>() / skews.len().max(1) as f64;
    let regions = skews.iter().map(|skew| skew.regions).max().unwrap_or(1);
    let mut uneven: Vec<f64> = skews.iter().map(|skew| skew.max_over_mean).collect();
    uneven.sort_by(f64::total_cmp);
    let uneven = uneven.get(uneven.len() / 2).copied().unwrap_or(1.0);
    #[expect(clippy::cast_precision_loss, reason = "a number of regions")]
    let limit = uneven_limit(regions as f64);
    // Rising keys in every region at once are the frontiers of salts: they share the load.
    if order.abs() < ORDERED || regions > 1 && uneven < limit {
        return None;
    }
    let mut finding = evidence.finding(Shape::Frontier, order_confidence(order));
    let figures = [("order", order), ("frontiers", effective), ("writes_share", writes)];
    finding.evidence.extend(figures);
    if writes_at_end(columns, order > 0.0) < AT_END {
        finding.confidence = finding.confidence.min(0.6);
        finding.doubts.push(MAY_REWRITE);
    }
    if within.is_none_or(|(order, _)| order.abs() < ORDERED) {
        finding.doubts.push(SLOW);
    } else if samples < 3 {
        finding.doubts.push("seen in less than half a minute");
    }
    if regions == 1 {
        finding.doubts.push("the table has one region, which takes every load alone");
    }
    Some(finding)
}

/// Returns the order of the written keys of each region over all columns, with the number of
/// regions. Clients of which some are late write keys without order within a column. Regions that
/// changed have none.
fn over_time(columns: &[&ActivityColumn]) -> Option<(f64, usize)> {
    let regions = |column: &ActivityColumn| Some(column.writes?.regions);
    let first = columns.first().and_then(|column| regions(column))?;
    if columns.iter().any(|column| regions(column) != Some(first)) {
        return None;
    }
    let written = keys_by_region(columns, |key| key.key.is_write);
    mean_correlation(written.into_values().filter_map(|keys| {
        let rows: Vec<&[u8]> = keys.iter().map(|key| &*key.key.row).collect();
        let weight = keys.iter().map(|key| key.weight).sum();
        Some((rank_correlation(&rows, MIN_ORDERED)?, weight))
    }))
}

/// Returns the share of the writes that is after the last bound of the column before, or before its
/// first one: no other rows are known there.
fn writes_at_end(columns: &[PackedColumn], is_last: bool) -> f64 {
    let (mut at_end, mut all) = (0, 0);
    for pair in columns.windows(2) {
        let (before, bounds) = (&pair[0].bounds, &pair[1].bounds);
        let end = if is_last { before.last() } else { before.get(1) };
        let is_at_end = |at: usize| match end {
            Some(end) if is_last => bounds[at] >= *end,
            Some(end) => bounds.get(at + 1).is_some_and(|next| next <= end),
            None => true,
        };
        let (writes, _) = pair[1].values(Metric::Writes);
        all += writes.iter().sum::<u64>();
        let of_end = writes.iter().enumerate().filter(|(at, _)| is_at_end(*at));
        at_end += of_end.map(|(_, writes)| writes).sum::<u64>();
    }
    share(at_end, all)
}

/// Finds a last region with most of the writes, if nothing is known of their keys.
fn of_last_region(evidence: &Evidence<'_>, columns: &[PackedColumn]) -> Option<Finding> {
    #[expect(clippy::cast_precision_loss, reason = "a number of regions")]
    let regions = evidence.regions()? as f64;
    let at_end = writes_at_end(columns, true);
    let is_uneven = evidence.uneven? >= uneven_limit(regions);
    if evidence.is_read || regions < 2.0 || !is_uneven || at_end < LAST_REGION_SHARE {
        return None;
    }
    let mut finding = evidence.finding(Shape::Frontier, 0.6);
    finding.evidence.push(("share_at_end", at_end));
    finding.doubts.push(NO_KEYS);
    Some(finding)
}
