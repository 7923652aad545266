//! One minute of load in a picture of five weeks.

use std::path::Path;
use std::time::SystemTime;

use halite::{Builder, FamilyDescriptor, Get, Put, RowOp, Scan, Store, TableDescriptor};
use halite_engine::env::Env;
use halite_engine::env::sim::SimEnv;

use crate::chromium::browser;
use crate::heat_answer::column_sums;
use crate::lab::{COLUMN_MS, Lab, folder};
use crate::map::{Picture, await_map, heat_of};
use crate::program::LIMIT;
use crate::tab::Tab;

const TABLE: &str = "spiky";
const FAMILY: &str = "f";
const REGIONS: usize = 4;
const ROWS: usize = 360;
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
/// Time between two scans of all rows, each of which is one column.
const SCAN_PERIOD_MS: i64 = 30 * MINUTE_MS;
const SPAN_MS: i64 = 34 * DAY_MS;
/// Time from the spike to the end.
const SPIKE_AGE_MS: i64 = 21 * DAY_MS + 7 * MINUTE_MS;
/// Region of the spike.
const SPIKE_REGION: usize = 2;
/// Gets of 10 seconds of the spike: those of its minute are fewer than the other reads of its
/// region in the four hours of a column.
const SPIKE_GETS: usize = 100;

fn row(number: usize) -> String {
    format!("{}{:03}", number * REGIONS / ROWS, number)
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

/// Store in a directory, whose clock the test advances.
struct OldStore {
    sim: SimEnv,
    store: Store,
}

impl OldStore {
    fn open(directory: &Path, begin_ms: i64) -> Self {
        let sim = SimEnv::new(1);
        let simulated = sim.env();
        sim.clock.jump_ms(begin_ms - simulated.clock.now_ms());
        let Env { fs, rng, .. } = Env::os(directory).unwrap();
        let env = Env { fs, rng, clock: simulated.clock, threads: simulated.threads };
        let store = Builder::new().open_with_env(env).unwrap();
        let table =
            TableDescriptor::new(TABLE.parse().unwrap()).family(FamilyDescriptor::new(FAMILY));
        store.create_table(table, &[b"1", b"2", b"3"]).unwrap();
        let put = |number| RowOp::Put(Put::new(row(number)).add(FAMILY, "q", "value"));
        store.table(TABLE).unwrap().batch((0..ROWS).map(put).collect()).unwrap();
        let old = Self { sim, store };
        old.advance(COLUMN_MS);
        old
    }

    fn now_ms(&self) -> i64 {
        i64::try_from(self.store.engine().now_ms()).unwrap()
    }

    fn advance(&self, milliseconds: i64) {
        self.sim.clock.advance_ms(u32::try_from(milliseconds).unwrap());
        self.store.engine().record_heat();
        while self.store.engine().run_one_job().unwrap() {}
    }

    /// Scans all rows at equal times, up to a time.
    fn scan_until(&self, end_ms: i64) {
        let table = self.store.table(TABLE).unwrap();
        while self.now_ms() + SCAN_PERIOD_MS <= end_ms {
            assert_eq!(table.scan(Scan::all()).count(), ROWS);
            self.advance(SCAN_PERIOD_MS);
        }
    }

    fn spike(&self) {
        let table = self.store.table(TABLE).unwrap();
        for _ in 0..6 {
            for _ in 0..SPIKE_GETS {
                table.get(Get::new(row(SPIKE_REGION * ROWS / REGIONS + 1))).unwrap();
            }
            self.advance(COLUMN_MS);
        }
    }
}

/// Makes a store with the history; returns the time of its spike.
fn five_weeks_in(directory: &Path) -> i64 {
    let end_ms = now_ms() / COLUMN_MS * COLUMN_MS;
    let old = OldStore::open(directory, end_ms - SPAN_MS);
    old.scan_until(end_ms - SPIKE_AGE_MS);
    let spike_ms = old.now_ms();
    old.spike();
    old.scan_until(end_ms);
    let OldStore { store, .. } = old;
    store.close().unwrap();
    spike_ms
}

/// Waits until the server has read the history of the earlier process, which it does while it
/// serves.
fn await_history(lab: &Lab) {
    let to = now_ms();
    let path = format!("/api/tables/{TABLE}/heat?metric=reads&from={}&to={to}", to - SPAN_MS);
    let is_read = || {
        let heat = lab.json(&path);
        column_sums(&heat).iter().any(|sum| *sum > 0.0).then_some(())
    };
    assert!(halite_patience::poll_until(LIMIT, is_read).is_some(), "there is no history");
}

#[test]
fn spike_of_a_minute_is_visible_at_five_weeks() {
    let Some(browser) = browser() else { return };
    let folder = folder("spike");
    let data = folder.join("data");
    std::fs::create_dir_all(&data).unwrap();
    let spike_ms = five_weeks_in(&data);
    let lab = Lab::serve(&["--data", data.to_str().unwrap()], &folder);
    await_history(&lab);
    let mut tab = Tab::open(browser, &lab.origin());
    tab.goto(&format!("/t/{TABLE}/heat?range=35d&metric=reads&theme=light"));
    await_map(&mut tab);
    let heat = heat_of(&lab, &tab);
    let number = |name: &str| heat[name].as_i64().unwrap();
    assert_eq!((number("dt_ms"), &heat["layer"]), (4 * 60 * MINUTE_MS, &"4h".into()), "{heat}");
    tab.screenshot("heat-spike-five-weeks");
    // The marks of events are dark lines, in or between columns by the time of day.
    tab.click("[title$='marks (b)']");
    tab.await_value(
        "the marks to be hidden",
        "document.querySelector('[title$=\"marks (b)\"]')?.ariaPressed === 'false'",
    );
    tab.settle();
    let picture = Picture::of(&mut tab, u64::try_from(number("cols")).unwrap());
    let expected = u64::try_from((spike_ms - number("from")) / number("dt_ms")).unwrap();
    assert!(picture.columns.len() > 195, "{} columns", picture.columns.len());
    for (column, steps) in &picture.columns {
        for (region, band) in steps.chunks(steps.len().div_ceil(REGIONS)).enumerate() {
            let darkest = band.iter().copied().max().unwrap_or(0);
            let is_spike = *column == expected && region == SPIKE_REGION;
            assert_eq!(darkest > 128, is_spike, "column {column}, region {region}: {darkest}");
        }
    }
    assert_eq!(tab.take_problems(), [""; 0]);
}
