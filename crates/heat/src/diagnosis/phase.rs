//! Which columns have the load of now: a table that was filled a minute ago had another one then.

use super::evidence::{MIN_REQUESTS, share as share_of};
use crate::activity::{Activity, ActivityColumn};
use crate::column::BASE_MS;
use crate::metric::{Load, Metric};

/// Columns of one load below which it has no name: one is often cut by its begin, and two may be
/// accidental.
pub(super) const MIN_COLUMNS: usize = 3;
/// Time that decides about every shape but a period, in milliseconds, if it has enough requests.
const RECENT_MS: i64 = 120_000;
/// Difference of the shares of writes, or of deletes, from which two columns have different loads.
const OTHER_LOAD: f64 = 0.25;

/// Columns of one load.
pub(super) struct Phase<'a> {
    pub(super) columns: Vec<&'a ActivityColumn>,
    /// `true` if the newest columns have another load, which is too young to be judged.
    pub(super) is_past: bool,
}

/// What is missing for a judgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Seconds with the same load, at least.
    pub(super) seconds: u64,
    /// Requests.
    pub(super) requests: u64,
}

impl<'a> Phase<'a> {
    /// Returns the newest load that can be judged, in two minutes or else in the whole time; or
    /// what the newest load needs.
    pub(super) fn newest(
        activity: &'a Activity,
        (from_ms, to_ms): (i64, i64),
    ) -> Result<Self, Wanted> {
        let loaded = |column: &&ActivityColumn| column.load.requests() > 0;
        let all: Vec<_> = activity.columns(from_ms, to_ms).filter(loaded).collect();
        let last_ms = all.last().map_or(to_ms, |column| column.to_ms);
        let recent = all.iter().position(|column| column.to_ms > last_ms - RECENT_MS).unwrap_or(0);
        for columns in [&all[recent..], &all[..]] {
            let phases = (0..columns.len()).rev().map(|newest| Self::of(columns, newest));
            if let Some(found) = phases.into_iter().find(Self::is_enough) {
                return Ok(found);
            }
        }
        let newest = all.len().checked_sub(1).map(|newest| Self::of(&all, newest));
        Err(newest.map_or_else(Wanted::default, |newest| newest.wanted()))
    }

    /// Returns the columns up to one that have the same load as that.
    fn of(columns: &[&'a ActivityColumn], newest: usize) -> Self {
        let is_past = newest + 1 < columns.len();
        Self { columns: alike(&columns[..=newest], &columns[newest].load), is_past }
    }

    fn requests(&self) -> u64 {
        self.columns.iter().map(|column| column.load.requests()).sum()
    }

    fn is_enough(&self) -> bool {
        self.columns.len() >= MIN_COLUMNS && self.requests() >= MIN_REQUESTS
    }

    fn wanted(&self) -> Wanted {
        let columns = MIN_COLUMNS.saturating_sub(self.columns.len()) as u64;
        Wanted {
            seconds: columns * u64::try_from(BASE_MS / 1000).unwrap_or(0),
            requests: MIN_REQUESTS.saturating_sub(self.requests()),
        }
    }

    /// Returns `true` if a time is in one of the columns.
    pub(super) fn overlaps(&self, from_ms: i64, to_ms: i64) -> bool {
        self.columns.iter().any(|column| column.from_ms < to_ms && column.to_ms > from_ms)
    }
}

/// Returns the columns with about the same load as another.
pub(super) fn alike<'a>(columns: &[&'a ActivityColumn], other: &Load) -> Vec<&'a ActivityColumn> {
    let alike = columns.iter().filter(|column| is_alike(&column.load, other));
    alike.copied().collect()
}

/// Returns the newest columns, back to the last one with another load than `load`.
pub(super) fn since_other<'a, 'b>(
    columns: &'b [&'a ActivityColumn],
    load: &Load,
) -> &'b [&'a ActivityColumn] {
    let other = columns.iter().rposition(|column| !is_alike(&column.load, load));
    &columns[other.map_or(0, |other| other + 1)..]
}

/// Returns `true` if two loads have about the same shares of reads, writes and deletes.
fn is_alike(one: &Load, other: &Load) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "requests of 10 seconds")]
    let accident = 1.0 / (one.requests().min(other.requests()).max(1) as f64).sqrt();
    let share = |load: &Load, metric| share_of(load.get(metric), load.requests());
    let difference = |metric| (share(one, metric) - share(other, metric)).abs();
    [Metric::Writes, Metric::Deletes]
        .into_iter()
        .all(|metric| difference(metric) <= OTHER_LOAD + accident)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity(loads: &[(u64, u64)]) -> Activity {
        let mut activity = Activity::default();
        for (at, (reads, writes)) in (0..).zip(loads) {
            activity.push(ActivityColumn {
                from_ms: at * BASE_MS,
                recorded_ms: BASE_MS,
                to_ms: (at + 1) * BASE_MS,
                load: Load::new([*reads, *writes, 0, 0, 0, 0]),
                ..ActivityColumn::default()
            });
        }
        activity
    }

    fn newest(loads: &[(u64, u64)]) -> Result<(Vec<i64>, bool), Wanted> {
        let activity = activity(loads);
        let found = Phase::newest(&activity, (i64::MIN, i64::MAX))?;
        let times = found.columns.iter().map(|column| column.from_ms / BASE_MS);
        Ok((times.collect(), found.is_past))
    }

    #[test]
    fn columns_of_another_load_are_left_out() {
        let filled = [(0, 9000), (500, 500), (900, 100), (950, 50), (900, 120)];
        assert_eq!(newest(&filled), Ok((vec![2, 3, 4], false)));
        assert_eq!(newest(&[(900, 0), (900, 0), (0, 800), (900, 0)]), Ok((vec![0, 1, 3], false)));
    }

    #[test]
    fn young_load_leaves_that_before() {
        let changed = [(900, 0), (900, 0), (900, 0), (0, 900), (0, 900)];
        assert_eq!(newest(&changed), Ok((vec![0, 1, 2], true)));
        assert_eq!(newest(&changed[2..]), Err(Wanted { seconds: 10, requests: 0 }));
        assert_eq!(newest(&[(100, 0), (0, 300)]), Err(Wanted { seconds: 20, requests: 700 }));
        assert_eq!(newest(&[]), Err(Wanted::default()));
    }

    #[test]
    fn few_requests_are_searched_in_the_whole_time() {
        let slow = vec![(40, 0); 30];
        assert_eq!(newest(&slow).unwrap().0.len(), 30);
        assert_eq!(newest(&slow[..20]), Err(Wanted { seconds: 0, requests: 200 }));
        assert_eq!(newest(&vec![(400, 0); 30]).unwrap().0.len(), 12);
    }
}
