//! Series in a table: random writes, deletes, packings, flushes and compactions, with reads
//! compared with a map.
#![expect(clippy::unwrap_used, reason = "a test ends where something fails")]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made-up data is small"
)]

use std::collections::BTreeMap;

use halite::rowkey::language::Statement;
use halite::rowkey::series::{Measurement, Series};
use halite::rowkey::{KeyQuery, Value};
use halite::{BlockingCluster, CompactionKind, TableName, block_on};
use halite_engine::env::sim::SimEnv;

/// Earliest time of the points.
const T0: i64 = 1_710_460_800_000;
const MINUTE: i64 = 60_000;
const DEVICES: [&str; 3] = ["a", "b", "b\0"];

struct SeriesTest {
    cluster: BlockingCluster,
    name: TableName,
    series: Series,
    /// Expected points.
    expected: BTreeMap<(&'static str, i64), f64>,
    rng: fastrand::Rng,
    is_descending: bool,
    /// `true` if the store may also compact the table automatically, between any two steps.
    is_compacted: bool,
}

/// Table with random points, newly created.
impl SeriesTest {
    fn new(cluster: &BlockingCluster, table: &str, key: &str, seed: u64) -> Self {
        let text = format!(
            "CREATE TABLE {table} (p SERIES(DOUBLE) FAMILY t, other STRING FAMILY t, ROW KEY {key})"
        );
        let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
        let is_compacted = seed % 4 < 2;
        let described = declaration.described().set("COMPACTION_ENABLED", is_compacted);
        cluster.create_table(described, &[b"b"]).unwrap();
        let name: TableName = table.parse().unwrap();
        let series = block_on(Series::for_table(&**cluster.cluster(), &name, Some("p"))).unwrap();
        let is_descending = series.column().is_descending();
        Self {
            cluster: cluster.clone(),
            name,
            series,
            expected: BTreeMap::new(),
            rng: fastrand::Rng::with_seed(seed),
            is_descending,
            is_compacted,
        }
    }

    fn fields(device: &str, time: i64) -> Vec<Value<'static>> {
        vec![Value::Text(device.to_owned().into()), Value::Signed(time)]
    }

    fn time(&mut self) -> (&'static str, i64) {
        let device = DEVICES[self.rng.usize(..DEVICES.len())];
        (device, T0 + self.rng.i64(0..4) * MINUTE + self.rng.i64(0..60) * 1000 + self.rng.i64(0..2))
    }

    fn step(&mut self) {
        match self.rng.u32(0..20) {
            0..=9 => self.write(),
            10..=11 => self.remove(),
            12 => self.cluster.flush(&self.name).unwrap(),
            13..=14 => self.compact(),
            15..=16 => self.pack(),
            _ => self.read(),
        }
    }

    fn write(&mut self) {
        let count = self.rng.usize(1..40);
        let points: Vec<_> =
            (0..count).map(|_| (self.time(), self.rng.i64(-50..50) as f64 / 10.0)).collect();
        let measured = |&((device, time), value): &((&str, i64), f64)| Measurement {
            fields: Self::fields(device, time),
            value,
        };
        block_on(self.series.write(&points.iter().map(measured).collect::<Vec<_>>())).unwrap();
        self.expected.extend(points);
    }

    fn remove(&mut self) {
        let known: Vec<_> = self.expected.keys().copied().collect();
        let mut gone = vec![self.time()];
        gone.extend((0..self.rng.usize(..5)).filter_map(|_| self.rng.choice(&known).copied()));
        block_on(self.series.remove(
            &gone.iter().map(|&(device, time)| Self::fields(device, time)).collect::<Vec<_>>(),
        ))
        .unwrap();
        self.expected.retain(|point, _| !gone.contains(point));
    }

    fn compact(&mut self) {
        let kind = if self.rng.bool() { CompactionKind::Major } else { CompactionKind::Minor };
        self.cluster.flush(&self.name).unwrap();
        block_on(self.cluster.cluster().admin().compact(&self.name, None, kind)).unwrap();
    }

    fn pack(&mut self) {
        // Points of this millisecond stay loose.
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()
                as i64;
        // A compaction also packs. A row that it packed first has changed, and the next run reads
        // its new state.
        for _ in 0..20 {
            let packed = block_on(self.series.pack(&KeyQuery::all(), now)).unwrap();
            if packed.changed == 0 {
                return;
            }
            assert!(self.is_compacted, "no compaction has run: {packed:?}");
        }
        panic!("rows keep changing, and nothing writes");
    }

    fn read(&mut self) {
        let (key, device) = (self.series.key().clone(), DEVICES[self.rng.usize(..DEVICES.len())]);
        let (one, other) = (self.time().1, self.time().1);
        let (from, to) = (one.min(other), one.max(other) + 1);
        let mut query = KeyQuery::all().with_condition(&key, &format!("ts={from}..{to}")).unwrap();
        if self.rng.bool() {
            query = query
                .equals(key.field_id("device").unwrap(), Value::Text(device.to_owned().into()));
        }
        query = query.reverse(self.rng.bool());
        let limit = self.rng.bool().then(|| self.rng.usize(0..30));
        query.limit = limit;
        let one_device = query.conditions.len() == 2;
        let mut wanted: Vec<_> = self
            .expected
            .iter()
            .map(|(&(device, time), &value)| (device.to_owned(), time, value))
            .collect();
        wanted.retain(|(of, time, _)| (!one_device || of == device) && (from..to).contains(time));
        let mut found = Vec::new();
        let mut points = self.series.read(&query).unwrap();
        while let Some(point) = block_on(points.next()).unwrap() {
            let [Value::Text(device), Value::Signed(time)] = &point.fields[..] else {
                panic!("{point:?}")
            };
            found.push((device.to_string(), *time, point.value));
        }
        if let Some(rows) = limit {
            assert_eq!(found.len(), rows.min(wanted.len()));
            assert!(found.iter().all(|point| wanted.contains(point)));
            return;
        }
        if one_device {
            let is_backward = self.is_descending != query.reverse;
            assert!(
                found.is_sorted_by(|a, b| if is_backward { a.1 > b.1 } else { a.1 < b.1 }),
                "{found:?}"
            );
        }
        found.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        assert_eq!(found, wanted);
    }

    /// Verifies that all points are in packed cells after a compaction, and that cells of other
    /// writers in the same rows are unchanged.
    fn check_packed(&mut self) {
        self.cluster.flush(&self.name).unwrap();
        block_on(self.cluster.cluster().admin().compact(&self.name, None, CompactionKind::Major))
            .unwrap();
        let rows: Vec<_> = self
            .cluster
            .table(&self.name.to_string())
            .unwrap()
            .scan(halite::Scan::all())
            .map(Result::unwrap)
            .collect();
        let cells: usize = rows.iter().map(halite::Row::len).sum();
        assert!(
            rows.is_empty() == self.expected.is_empty() && cells == rows.len(),
            "{cells} cells in {} rows",
            rows.len()
        );
        self.read();
    }
}

fn run_seeds(cluster: &BlockingCluster, seeds: std::ops::Range<u64>, steps: usize) {
    for seed in seeds {
        let key = if seed % 2 == 0 {
            "(device STRING, BUCKET(ts, '1m') DESC)"
        } else {
            "(SALT(4 BY device), device STRING, BUCKET(ts, 1m))"
        };
        let mut bench = SeriesTest::new(cluster, &format!("series_{seed}"), key, seed);
        (0..steps).for_each(|_| bench.step());
        bench.check_packed();
    }
}

#[test]
fn series_reads_match_map_model() {
    run_seeds(&crate::backends::Embedded::open().cluster, 0..20, 60);
}

#[test]
fn series_reads_over_server_match_map_model() {
    run_seeds(&crate::backends::served().cluster, 0..6, 40);
}

/// Runs a store on a simulated disk that crashes at each of its calls once, while points are
/// written, deleted, flushed and packed by compactions. Every acknowledged point is there
/// afterwards, once, and no deleted point is.
#[test]
fn crash_at_any_call_loses_no_point() {
    let mut at = 1;
    loop {
        let sim = SimEnv::new(at);
        let key = "(device STRING, BUCKET(ts, '1m') DESC)";
        let (store, mut bench) = {
            let store = halite::Builder::new().open_with_env(sim.env()).unwrap();
            let cluster = BlockingCluster::clone(&store);
            let bench = SeriesTest::new(&cluster, "series", key, at);
            (store, bench)
        };
        sim.fs.crash_at_call(sim.fs.calls() + at);
        let unsure = bench.small_work();
        let is_over = !sim.fs.is_gone();
        let SeriesTest { expected: shadow, rng: chance, is_descending, is_compacted, name, .. } =
            bench;
        drop(store);
        sim.fs.crash(at);
        let store = halite::Builder::new().open_with_env(sim.env()).unwrap();
        let cluster = BlockingCluster::clone(&store);
        let series = block_on(Series::for_table(&**cluster.cluster(), &name, None)).unwrap();
        let mut bench = SeriesTest {
            cluster,
            name,
            series,
            expected: shadow,
            rng: chance,
            is_descending,
            is_compacted,
        };
        bench.resolve_uncertain(&unsure);
        bench.check_packed();
        if is_over {
            assert!(at > 60, "only {at} calls were made");
            return;
        }
        at += 1;
    }
}

impl SeriesTest {
    /// Writes a few points with flushes and major compactions between them until a call fails, and
    /// returns the points of that call.
    fn small_work(&mut self) -> Vec<(&'static str, i64)> {
        for round in 0..3 {
            let points: Vec<_> = (0..6_i64)
                .map(|at| (DEVICES[at as usize % 3], T0 + round * 7000 + at * 1000))
                .collect();
            let measured = points.iter().map(|&(device, time)| Measurement {
                fields: Self::fields(device, time),
                value: round as f64,
            });
            if block_on(self.series.write(&measured.collect::<Vec<_>>())).is_err() {
                return points;
            }
            self.expected.extend(points.iter().map(|&point| (point, round as f64)));
            let gone = points[1];
            if block_on(self.series.remove(&[Self::fields(gone.0, gone.1)])).is_err() {
                return vec![gone];
            }
            self.expected.remove(&gone);
            let kept = self.cluster.flush(&self.name).and_then(|()| {
                let admin = self.cluster.cluster().admin();
                block_on(admin.compact(&self.name, None, CompactionKind::Major))
            });
            if kept.is_err() {
                return Vec::new();
            }
        }
        Vec::new()
    }

    /// Resolves points of unacknowledged calls: the stored state becomes the expected one.
    fn resolve_uncertain(&mut self, unsure: &[(&'static str, i64)]) {
        let mut points = self.series.read(&KeyQuery::all()).unwrap();
        let mut found = BTreeMap::new();
        while let Some(point) = block_on(points.next()).unwrap() {
            let [Value::Text(device), Value::Signed(time)] = &point.fields[..] else {
                panic!("{point:?}")
            };
            let device = DEVICES.into_iter().find(|known| *known == device).unwrap();
            assert_eq!(found.insert((device, *time), point.value), None, "a point came twice");
        }
        for point in unsure {
            match found.get(point) {
                Some(value) => self.expected.insert(*point, *value),
                None => self.expected.remove(point),
            };
        }
        assert_eq!(found, self.expected);
    }
}
