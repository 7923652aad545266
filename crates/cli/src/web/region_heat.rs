//! Heat of a cluster elsewhere: every ten seconds the requests of each region since the last time
//! become a column of its table's history, in memory. A region is one range of keys there.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use halite::heat::{Finding, HeatMap, HeatQuery, Metric};
use halite_engine::heat::{
    Activity, ActivityColumn, BASE_MS, Column, ColumnClock, ColumnEnd, ColumnLimits, History, Load,
    RegionActivity, diagnose,
};
use halite_types::{Error, ErrorKind, RegionLoad, Result, TableName};

/// Longest time between two looks whose requests become a column. After a longer one it is unknown
/// when in that time the requests were.
const MAX_COLUMN_MS: i64 = 3 * BASE_MS;

/// Memory of all histories.
const MAX_MEMORY_BYTES: usize = 256 << 20;

/// Requests of the regions of a cluster over time.
#[derive(Default)]
pub(super) struct RegionHeat(Mutex<Recorded>);

#[derive(Default)]
struct Recorded {
    clock: ColumnClock,
    /// Requests of each region at the end of the last column, by encoded name.
    totals: HashMap<String, Requests>,
    tables: HashMap<TableName, TableHeat>,
    /// Column for every time of which the requests are known.
    times: History,
}

/// Reads and writes of a region since it was opened.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Requests {
    reads: u64,
    writes: u64,
}

#[derive(Default)]
struct TableHeat {
    history: History,
    activity: Activity,
}

impl RegionHeat {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the statistics of all regions as of now, in milliseconds since 1970.
    pub(super) fn add(&self, now_ms: i64, loads: &[RegionLoad]) {
        let mut recorded = self.lock();
        let end = recorded.clock.close(now_ms);
        if end == ColumnEnd::TooEarly {
            return;
        }
        let totals = loads.iter().map(|load| (load.region.encoded_name.clone(), requests(load)));
        let before = std::mem::replace(&mut recorded.totals, totals.collect());
        let ColumnEnd::Closed(time) = end else { return };
        if time.recorded_ms > MAX_COLUMN_MS {
            return;
        }
        recorded.times.push(&Column::of_time(time));
        let loaded = loads_by_table(loads, &before, now_ms - time.recorded_ms);
        let limits = ColumnLimits::of_tables(loaded.len());
        for (name, mut regions) in loaded {
            let activity = ActivityColumn::new(time, &regions, limits);
            let regions: Vec<_> = regions.iter_mut().map(RegionActivity::take_region).collect();
            let heat = recorded.tables.entry(name).or_default();
            heat.activity.push(activity);
            heat.history.push(&Column::of_regions(time, &regions));
        }
        recorded.limit_memory();
    }

    /// Draws parts of the requests of a table as of one moment.
    ///
    /// # Errors
    /// `Unsupported` for what HBase does not report by region.
    pub(super) fn maps(&self, table: &TableName, queries: &[HeatQuery]) -> Result<Vec<HeatMap>> {
        let is_known = |query: &HeatQuery| matches!(query.metric, Metric::Reads | Metric::Writes);
        if let Some(other) = queries.iter().find(|query| !is_known(query)) {
            let text = format!(
                "{} by key are not reported by HBase, which reports reads and writes of regions",
                other.metric.name().replace('_', " ")
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let recorded = self.lock();
        let history = recorded.tables.get(table).map(|heat| heat.history.clone());
        let (history, times) = (history.unwrap_or_default(), recorded.times.clone());
        drop(recorded);
        Ok(queries.iter().map(|query| HeatMap::new(&history, &times, query)).collect())
    }

    /// Names the shape of the load of a table, as far as it shows in the requests of regions.
    pub(super) fn diagnose(&self, table: &TableName, (from_ms, to_ms): (i64, i64)) -> Finding {
        let recorded = self.lock();
        let (activity, columns) =
            recorded.tables.get(table).map_or_else(Default::default, |heat| {
                (heat.activity.clone(), heat.history.columns(0, from_ms, to_ms))
            });
        drop(recorded);
        diagnose(&activity, &columns, (from_ms, to_ms), None)
    }
}

impl Recorded {
    /// Forgets the tables without load for the longest time while all take too much memory.
    fn limit_memory(&mut self) {
        let newest = |heat: &TableHeat| heat.history.newest(1).first().map(|column| column.to_ms);
        while self.tables.values().map(|heat| heat.history.memory_bytes()).sum::<usize>()
            > MAX_MEMORY_BYTES
        {
            let oldest = self.tables.iter().min_by_key(|(_, heat)| newest(heat));
            let Some(name) = oldest.map(|(name, _)| name.clone()) else { return };
            self.tables.remove(&name);
        }
    }
}

fn requests(load: &RegionLoad) -> Requests {
    Requests { reads: load.read_requests, writes: load.write_requests }
}

/// Returns the requests since `before`, at a time, of the regions of each table with any, in key
/// order.
fn loads_by_table(
    loads: &[RegionLoad],
    before: &HashMap<String, Requests>,
    since_ms: i64,
) -> HashMap<TableName, Vec<RegionActivity>> {
    let mut tables: HashMap<TableName, Vec<RegionActivity>> = HashMap::new();
    for load in loads {
        let known = before.get(&load.region.encoded_name).copied();
        let regions = match tables.get_mut(&load.region.table) {
            Some(regions) => regions,
            None => tables.entry(load.region.table.clone()).or_default(),
        };
        regions.push(RegionActivity {
            start: load.region.start.as_ref().into(),
            load: increase(load, known, since_ms),
            ..RegionActivity::default()
        });
    }
    tables.retain(|_, regions| regions.iter().any(|region| !region.load.is_zero()));
    tables.values_mut().for_each(|regions| regions.sort_by(|a, b| a.start.cmp(&b.start)));
    tables
}

/// Returns the requests of a region since the last look. Lower totals than before are those of a
/// region that was opened again and counts from zero. One that was not there before counts if it is
/// a new region; else its requests may be those of days.
fn increase(load: &RegionLoad, known: Option<Requests>, since_ms: i64) -> Load {
    let now = requests(load);
    let is_new = || i64::try_from(load.region.region_id).unwrap_or(i64::MAX) >= since_ms;
    let before = known.unwrap_or_else(|| if is_new() { Requests::default() } else { now });
    let mut increase = Load::default();
    increase.add(Metric::Reads, now.reads.checked_sub(before.reads).unwrap_or(now.reads));
    increase.add(Metric::Writes, now.writes.checked_sub(before.writes).unwrap_or(now.writes));
    increase
}

#[cfg(test)]
mod tests {
    use halite_types::{Bytes, RegionInfo};

    use super::*;

    const START: i64 = 1_000_000_000_000;

    fn load(start: &'static str, region_id: u64, reads: u64, writes: u64) -> RegionLoad {
        let info = RegionInfo {
            table: "t".parse().unwrap(),
            start: Bytes::from(start),
            end: Bytes::new(),
            region_id,
            encoded_name: format!("{start}-{region_id}"),
        };
        RegionLoad { read_requests: reads, write_requests: writes, ..RegionLoad::new(info) }
    }

    fn query(metric: Metric) -> HeatQuery {
        HeatQuery {
            from_ms: START,
            to_ms: START + 60_000,
            metric,
            start: Box::default(),
            end: None,
            max_rows: 16,
            max_columns: 6,
        }
    }

    /// Writes per second by row and column, rounded; `None` where nothing was recorded.
    fn writes(heat: &RegionHeat) -> Vec<Vec<Option<i64>>> {
        let map = heat.maps(&"t".parse().unwrap(), &[query(Metric::Writes)]).unwrap().remove(0);
        let is_known = |column: &usize| !map.gaps.iter().any(|gap| gap.contains(column));
        #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
        let rate = |(column, mean): (usize, &f32)| {
            Some(column).filter(is_known).map(|_| mean.round() as i64)
        };
        let rows = map.mean.chunks(map.columns);
        rows.map(|row| row.iter().enumerate().map(rate).collect()).collect()
    }

    #[test]
    fn columns_are_increases_of_requests() {
        let heat = RegionHeat::default();
        let look = |at_ms: i64, loads: &[RegionLoad]| heat.add(START + at_ms, loads);
        look(2_000, &[load("", 1, 0, 900), load("m", 1, 5, 70)]);
        look(12_000, &[load("", 1, 0, 1000), load("m", 1, 5, 70)]);
        // Opened again; a new region of a split; an old one that was moved.
        let id = u64::try_from(START).unwrap() + 15_000;
        look(22_000, &[load("", 1, 0, 20), load("m", id, 0, 50), load("x", 1, 9, 9000)]);
        let shown = writes(&heat);
        assert_eq!(shown[0][..2], [Some(10), Some(2)]);
        assert_eq!(shown.iter().map(|row| row[1].unwrap()).collect::<Vec<_>>(), [2, 5, 0]);
    }

    #[test]
    fn time_without_answer_is_gap() {
        let heat = RegionHeat::default();
        for (at, total) in [(0, 0), (10_000, 100), (50_000, 9_000), (60_000, 9_100)] {
            heat.add(START + at, &[load("", 1, 0, total)]);
        }
        let shown = writes(&heat);
        assert_eq!(shown, [[Some(10), None, None, None, None, Some(10)]]);
    }

    /// A look shortly after another one loses nothing, and a late one has the rate of its time.
    #[test]
    fn looks_need_no_equal_intervals() {
        let heat = RegionHeat::default();
        for (at, total) in [(0, 0), (10_000, 100), (12_000, 120), (24_000, 240), (30_000, 300)] {
            heat.add(START + at, &[load("", 1, 0, total)]);
        }
        assert_eq!(writes(&heat), [[Some(10), Some(10), Some(10), None, None, None]]);
    }

    #[test]
    fn metric_that_regions_lack_is_unsupported() {
        let heat = RegionHeat::default();
        let error = heat.maps(&"t".parse().unwrap(), &[query(Metric::Deletes)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().starts_with("deletes by key are not reported by HBase"), "{error}");
    }
}
