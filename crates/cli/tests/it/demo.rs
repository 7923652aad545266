//! Answers of the demo compared with a plain sort of its data, and the state after a killed load.
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use halite::{Get, Scan, Store};
use halite_patience::Program;

use crate::program::{self, await_that, ended};

const FIELDS: [&str; 9] =
    ["temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"];
const ROWS: usize = 26_115;

/// One line of the data: station, time in ISO 8601, and the fields as the file has them.
pub(crate) struct Line {
    station: String,
    time: String,
    fields: BTreeMap<&'static str, String>,
}

impl Line {
    fn key(&self) -> String {
        let time: jiff::Timestamp = self.time.parse().unwrap();
        format!("{}_{:019}", self.station, i64::MAX - time.as_millisecond())
    }

    fn number(&self, field: &str) -> Option<f64> {
        self.fields.get(field).map(|text| text.parse().unwrap())
    }

    /// Formats the first columns of the demo's tables: date, hour, station, degrees Fahrenheit.
    fn format(&self) -> String {
        format!(
            "{} {} {} {:.1}",
            &self.time[..10],
            &self.time[11..16],
            self.station,
            self.number("temp").unwrap()
        )
    }
}

pub(crate) fn data() -> Vec<Line> {
    let packed = std::fs::read(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/data/weather.csv.gz"),
    )
    .unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    let lines = text.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split(',').collect();
        let fields = FIELDS
            .into_iter()
            .zip(&columns[5..14])
            .filter(|(_, value)| **value != "NA")
            .map(|(field, value)| (field, (*value).to_owned()));
        Line {
            station: columns[0].to_owned(),
            time: columns[14].to_owned(),
            fields: fields.collect(),
        }
    });
    let lines: Vec<Line> = lines.collect();
    assert_eq!(lines.len(), ROWS);
    lines
}

fn demo(data: &Path) -> Command {
    let mut command = program::halite();
    command.args(["demo", "--data"]).arg(data);
    command
}

fn output(data: &Path) -> String {
    let output = program::output(&mut demo(data));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the lines of a section that begin with a date, truncated to a number of words.
fn section(output: &str, number: &str, words: usize) -> Vec<String> {
    let start = output
        .find(&format!("\n{number}. "))
        .unwrap_or_else(|| panic!("no section {number}:\n{output}"));
    let lines = output[start + 1..]
        .lines()
        .skip(1)
        .take_while(|line| line.is_empty() || line.starts_with(' '));
    let lines = lines.filter(|line| line.trim_start().starts_with("2013-"));
    lines.map(|line| line.split_whitespace().take(words).collect::<Vec<_>>().join(" ")).collect()
}

/// Returns the file's rows of a time range, newest first, then by station.
fn newest_first(lines: &[Line], wanted: impl Fn(&Line) -> bool) -> Vec<&Line> {
    let mut found: Vec<&Line> = lines.iter().filter(|line| wanted(line)).collect();
    found.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.station.cmp(&b.station)));
    found
}

/// Observations, freezing and wet ones by station and day.
fn day_counts(lines: &[Line]) -> BTreeMap<String, [u64; 3]> {
    let mut days: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for line in lines {
        let counts = days.entry(format!("{}_{}", line.station, &line.time[..10])).or_default();
        counts[0] += 1;
        counts[1] += u64::from(line.number("temp").is_some_and(|degrees| degrees <= 32.0));
        counts[2] += u64::from(line.number("precip").is_some_and(|inches| inches > 0.0));
    }
    days
}

/// Cost of the reads, which a store reports and a cluster does not.
const COSTS: [&str; 3] = [
    "24 of the table's 26,115 examined, 24 returned",
    "6 of the table's 26,115 examined, 6 returned",
    "18 of the table's 26,115 examined, 18 returned",
];

pub(crate) fn check_answers(output: &str, lines: &[Line]) {
    let shown = |lines: Vec<&Line>| lines.into_iter().map(Line::format).collect::<Vec<_>>();
    let newest = newest_first(lines, |line| line.station == "JFK");
    assert_eq!(section(output, "1", 4), shown(newest[..24].to_vec()));
    let is_stormy = |line: &Line| ("2013-02-08T22".."2013-02-09T04").contains(&&line.time[..13]);
    assert_eq!(
        section(output, "2", 4),
        shown(newest_first(lines, |line| line.station == "JFK" && is_stormy(line)))
    );
    let evening = newest_first(lines, is_stormy);
    assert_eq!(evening.len(), 18);
    assert_eq!(section(output, "3", 4), shown(evening));
    let counts = day_counts(lines);
    let days = (6..=11).map(|day| {
        let day = format!("2013-02-{day:02}");
        let counts = ["EWR", "JFK", "LGA"]
            .iter()
            .flat_map(|station| counts[&format!("{station}_{day}")])
            .map(|count| count.to_string());
        std::iter::once(day.clone()).chain(counts).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(section(output, "5", 10), days.collect::<Vec<_>>());
    for stdout in [
        "[JFK_9223370676475975807, JFK_9223370676493975808)",
        "add up to 26,115 observations",
        "3        2013-02-14 15:00    16.7 mph",
        "1        2013-02-12 08:00  1048.4 mph",
        "returns 104.8 mph",
    ] {
        assert!(output.contains(stdout), "{stdout}:\n{output}");
    }
    let longest = output.lines().max_by_key(|line| line.chars().count()).unwrap();
    assert!(longest.chars().count() <= 100, "wider than 100 columns: {longest}");
}

/// Compares every row, column, version and counter of the store with the file.
fn check_store(store: &Store, lines: &[Line]) {
    let sensors = store.table("sensor_data").unwrap();
    let mut sorted: Vec<&Line> = lines.iter().collect();
    sorted.sort_by_key(|line| line.key());
    let mut rows = sensors.scan(Scan::all().versions(5));
    for line in sorted {
        let row =
            rows.next().unwrap_or_else(|| panic!("the table ends before {}", line.key())).unwrap();
        assert_eq!(String::from_utf8_lossy(row.key()), line.key());
        let is_corrected = line.station == "EWR" && line.time == "2013-02-12T08:00:00Z";
        assert_eq!(
            row.len(),
            line.fields.len() + if is_corrected { 2 } else { 0 },
            "{}",
            line.key()
        );
        // The oldest version is the one in the file.
        for cell in &row {
            let text = String::from_utf8_lossy(cell.value());
            let as_published =
                cell.timestamp() == i64::MAX - line.key()[4..].parse::<i64>().unwrap();
            assert!(
                !as_published || *text == line.fields[&*String::from_utf8_lossy(cell.qualifier())],
                "{}: {text}",
                line.key()
            );
            assert!(
                as_published || is_corrected && cell.qualifier() == b"wind_speed",
                "{}",
                line.key()
            );
        }
    }
    assert!(rows.next().is_none());
    let daily = store.table("sensor_daily").unwrap();
    let stored = daily.scan(Scan::all().family("count")).map(|row| {
        let row = row.unwrap();
        let count = |name: &str| {
            row.value("count", name)
                .map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap()))
        };
        (
            String::from_utf8_lossy(row.key()).into_owned(),
            ["observations", "freezing", "wet"].map(count),
        )
    });
    assert_eq!(stored.collect::<BTreeMap<_, _>>(), day_counts(lines));
}

#[test]
fn demo_answers_match_sorted_file_on_repeated_runs() {
    let lines = data();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("store");
    let first = output(&data);
    check_answers(&first, &lines);
    COSTS.iter().for_each(|stdout| assert!(first.contains(stdout), "{stdout}:\n{first}"));
    assert!(first.contains("26,115 rows, 211,061 cells written in"), "{first}");
    assert!(first.contains("the two corrections were entered by this run"), "{first}");
    let second = output(&data);
    check_answers(&second, &lines);
    assert!(second.contains("nothing to do: all 26,115 rows were found in the store"), "{second}");
    assert!(
        second.contains("the two corrections were found; an earlier run entered them"),
        "{second}"
    );
    let store = halite::open(&data).unwrap();
    check_store(&store, &lines);
    // As after a load that was killed before it recorded the rows it had written.
    store
        .table("halite_demo")
        .unwrap()
        .put(halite::Put::new("weather").add("load", "rows", "20000"))
        .unwrap();
    store.close().unwrap();
    let third = output(&data);
    assert!(
        third.contains("an earlier load was interrupted after 20,000 rows; 6,115 rows"),
        "{third}"
    );
    check_answers(&third, &lines);
    check_store(&halite::open(&data).unwrap(), &lines);
}

#[test]
fn demo_keeps_foreign_table_of_same_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = halite::open(folder.path()).unwrap();
    let table = halite::TableDescriptor::new("sensor_data".parse().unwrap())
        .family(halite::FamilyDescriptor::new("data"));
    store.create_table(table, &[]).unwrap();
    store.close().unwrap();
    let output = program::output(&mut demo(folder.path()));
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("table sensor_data is there already and was not made by the demo")
            && stderr.contains("--data"),
        "{stderr}"
    );
    let store = halite::open(folder.path()).unwrap();
    assert_eq!(
        (
            store.list_tables().unwrap().len(),
            store.table("sensor_data").unwrap().scan(Scan::all()).count()
        ),
        (1, 0)
    );
}

/// Returns the keys that a run has recorded as acknowledged, without a line truncated by the kill.
fn acknowledged(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        .map(str::to_owned)
        .collect()
}

/// Kills the load when it has acknowledged `rows` rows since it was started; false if it ended
/// before.
fn kill_after(mut load: Program, log: &Path, rows: usize) -> bool {
    let before = acknowledged(log).len();
    let has_come = || acknowledged(log).len() >= before + rows;
    await_that("rows are acknowledged", || {
        has_come() || load.child().try_wait().unwrap().is_some()
    });
    // The test needs a kill, not a clean shutdown. A kill has no effect on a process that has
    // exited.
    load.child().kill().unwrap();
    ended(load).status.code().is_none()
}

fn check_acknowledged(data: &Path, log: &Path, lines: &BTreeMap<String, &Line>) {
    let store = halite::open(data).unwrap();
    let sensors = store.table("sensor_data").unwrap();
    for key in acknowledged(log) {
        let row = sensors.get(Get::new(key.clone())).unwrap();
        let stored: BTreeMap<String, String> = row
            .iter()
            .map(|cell| {
                (
                    String::from_utf8_lossy(cell.qualifier()).into_owned(),
                    String::from_utf8_lossy(cell.value()).into_owned(),
                )
            })
            .collect();
        let published: BTreeMap<String, String> = lines[&key]
            .fields
            .iter()
            .map(|(field, value)| ((*field).to_owned(), value.clone()))
            .collect();
        assert_eq!(stored, published, "acknowledged row {key}");
    }
}

#[test]
fn killed_load_keeps_acknowledged_rows_and_next_run_completes() {
    let lines = data();
    let by_key: BTreeMap<String, &Line> = lines.iter().map(|line| (line.key(), line)).collect();
    let seed = std::env::var("HALITE_TEST_SEED")
        .map_or_else(|_| RandomState::new().hash_one(0), |seed| seed.parse().unwrap());
    println!("HALITE_TEST_SEED={seed}");
    let mut state = seed;
    let mut below = |limit: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % limit
    };
    let mut kills = 0;
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let (data, log): (PathBuf, PathBuf) =
            (folder.path().join("store"), folder.path().join("acknowledged"));
        for _ in 0..2 {
            let load = Program::start(demo(&data).arg("--ack-log").arg(&log)).unwrap();
            let was_killed = kill_after(load, &log, below(ROWS / 2));
            kills += usize::from(was_killed);
            if !acknowledged(&log).is_empty() {
                check_acknowledged(&data, &log, &by_key);
            }
        }
        let done = acknowledged(&log).len();
        let stdout = output(&data);
        assert!(
            done == 0
                || stdout.contains("an earlier load was interrupted after ")
                || stdout.contains("nothing to do"),
            "seed {seed}:\n{stdout}"
        );
        check_answers(&stdout, &lines);
        check_store(&halite::open(&data).unwrap(), &lines);
    }
    assert!(
        kills >= 4,
        "seed {seed}: only {kills} of 6 loads were still running when they were to be killed"
    );
}
