//! `halite advise` as a process: whether a store fits, and what a load takes.

use std::path::Path;

use crate::program::{halite, output};

fn advise(arguments: &[&str]) -> (bool, String) {
    let output = output(halite().arg("advise").args(arguments));
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let success = output.status.success();
    (success, if success { text(output.stdout) } else { text(output.stderr) })
}

/// Returns the number after a name at the beginning of a line, without what follows it.
fn number(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
    let word = line.split_whitespace().next().unwrap();
    word.replace(',', "").parse().unwrap_or_else(|_| panic!("{name}: {line}"))
}

/// Returns bytes that are printed with a unit.
fn bytes(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
    let unit = line.split_whitespace().nth(1).unwrap().trim_matches(',');
    let power =
        ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].iter().position(|known| *known == unit);
    number(text, name) * 1024_f64.powi(i32::try_from(power.expect(line)).unwrap())
}

/// The branches of the tutorial's figure, each on the program.
#[test]
fn w02_fit_prints_branch_verdict_and_measured_limits() {
    let branches: &[(&[&str], &str, &str)] = &[
        (
            &["--size", "50TB", "--query", "pk"],
            "50.0 TB, 1 to 100 TB, queries by key: HBase",
            "Halite",
        ),
        (&["--size", "500GB", "--query", "range"], "0.5 TB, less than 1 TB: MySQL", "Halite"),
        (
            &["--size", "5TB", "--query", "ad-hoc"],
            "queries by other columns: a sharded SQL database",
            "a relational database",
        ),
        (&["--size", "5TB", "--query", "analytics"], "analytics: a column store", "a column store"),
        (&["--size", "101TB", "--query", "pk"], "more than 100 TB: HBase", "HBase, on several"),
        (
            &["--size", "5TB", "--query", "range", "--data", "time-series"],
            "time series: HBase",
            "Halite",
        ),
        (&["--size", "5TB", "--query", "range", "--data", "messages"], "messages: HBase", "Halite"),
        (
            &["--size", "5TB", "--query", "pk", "--data", "objects"],
            "HBase for the metadata, object storage for the contents",
            "object storage for the contents, and Halite",
        ),
        (
            &["--size", "5TB", "--query", "range", "--data", "monitoring"],
            "monitoring: OpenTSDB or InfluxDB",
            "Halite",
        ),
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (arguments, verdict, advice) in branches {
        let (done, text) = advise(&[&["fit"], *arguments].concat());
        assert!(done, "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("tutorial  ") && lines[0].ends_with(verdict), "{text}");
        let advised = lines[1].strip_prefix("advice    ").unwrap();
        assert!(advised.starts_with(advice), "{text}");
        // A better store and a measured limit are named for each.
        let against: Vec<&&str> =
            lines.iter().filter(|line| line.starts_with("  against ")).collect();
        assert!(!against.is_empty() && lines[2].starts_with("  for     "), "{text}");
        let cited = lines.iter().filter(|line| line.starts_with("          measured: "));
        for line in cited.clone() {
            assert!(line.ends_with(".md)"), "{line}");
        }
        assert!(cited.count() > 0, "{text}");
        let at = |heading: &str| lines.iter().position(|line| *line == heading).expect(&text);
        let (measured, limits) = (at("measured on two cores"), at("limits of Halite, by default"));
        assert!(measured + 1 < limits && limits + 3 < lines.len(), "{text}");
        for figure in &lines[measured + 1..limits] {
            let document = figure.rsplit_once(" (").unwrap().1.trim_end_matches(')');
            assert!(root.join(document).exists(), "{figure}");
        }
    }
}

#[test]
fn w02_fit_uses_every_answer_and_reads_usual_units() {
    let advised = |arguments: &[&str]| {
        let (done, text) = advise(&[&["fit"], arguments].concat());
        assert!(done, "{text}");
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        (line("tutorial  ").to_owned(), line("advice    ").to_owned())
    };
    let (verdict, advice) = advised(&["--size", "1PB", "--query", "pk"]);
    assert_eq!(verdict, "1.0 PB, more than 100 TB: HBase");
    assert_eq!(advice, "HBase, on several machines");
    let (verdict, _) = advised(&["--size", "1.5TB", "--query", "pk"]);
    assert!(verdict.starts_with("1.5 TB, 1 to 100 TB"), "{verdict}");
    let objects = ["--data", "objects", "--query", "pk", "--size", "10TB"];
    let (_, one) = advised(&objects);
    let (_, safe) = advised(&[&objects[..], &["--replicas"]].concat());
    let (_, many) = advised(&[&objects[..], &["--object-size", "30"]].concat());
    assert!(one.ends_with("and Halite for their metadata"), "{one}");
    assert!(safe.ends_with("and HBase, on several machines for their metadata"), "{safe}");
    assert_eq!(safe, many);
    let (_, small) = advised(&["--size", "1TB", "--query", "ad-hoc"]);
    let (_, large) = advised(&["--size", "60TB", "--query", "ad-hoc"]);
    assert!(small.starts_with("a relational") && large.starts_with("a distributed SQL"), "{large}");
    for (size, expected) in [("0", "above 0"), ("1.5", "as in 128m or 1.5TB"), ("20EB", "16 EiB")] {
        let (done, text) = advise(&["fit", "--query", "pk", "--size", size]);
        assert!(!done && text.contains(expected), "{size}: {text}");
    }
}

#[test]
fn p13_key_of_five_times_the_length_is_not_ten_times_the_capacity() {
    let sized = |key: &str| {
        let (done, text) = advise(
            &[&["capacity", "--rows", "1000000000", "--columns", "3"], &["--key-bytes", key][..]]
                .concat(),
        );
        assert!(done, "{text}");
        bytes(&text, "disk  ")
    };
    let (short, long) = (sized("10"), sized("50"));
    assert!((1.2..3.0).contains(&(long / short)), "{short} {long}");
}

#[test]
fn p13_capacity_of_declared_tables_has_its_doubts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tables.sql");
    let text_of_tables = "CREATE TABLE readings (v F64 FAMILY d, ROW KEY (SALT(16 BY device), device STRING, \
                ts TIMESTAMP DESC)) WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD') \
                SPLIT BY SALT;\n\
                CREATE TABLE devices (name STRING FAMILY i, place STRING FAMILY i, ROW KEY (device \
                STRING));";
    std::fs::write(&file, text_of_tables).unwrap();
    let schema = format!("@{}", file.display());
    let load = ["capacity", "--rows", "1000000000", "--writes", "100000", "--schema", &schema];
    let fields = ["--field", "device=sensor_{uniform(5000):06}", "--field", "v=20.{uniform(10)}"];
    let (done, text) = advise(&[&load[..], &fields[..]].concat());
    assert!(done, "{text}");
    let (readings, devices) = text.split_once("table devices").unwrap();
    for line in [
        "regions",
        "memory",
        "log",
        "flushes",
        "written",
        "sustained",
        "how certain",
        "what speaks",
    ] {
        let has = |text: &str| text.lines().any(|found| found.starts_with(line));
        assert!(has(readings) && has(devices), "no {line}: {text}");
    }
    assert!(readings.contains("measured with FAST_DIFF, ZSTD"), "{readings}");
    assert!(readings.contains("4 samples of 10000 rows differ by "), "{readings}");
    assert!(!readings.contains("device is assumed"), "{readings}");
    assert!(devices.contains("name is assumed to be text of 16 random letters"), "{devices}");
    assert!(devices.contains("different keys for"), "there are 5000 devices: {devices}");
    let all = text.lines().last().unwrap();
    assert!(all.ends_with("on disk for all 2 tables"), "{all}");
    // The declaration decides: without its encoding and compression a cell takes more.
    let options = "WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD') ";
    assert!(text_of_tables.contains(options));
    std::fs::write(&file, text_of_tables.replace(options, "")).unwrap();
    let (_, plain) = advise(&[&load[..], &fields[..]].concat());
    assert!(bytes(&plain, "disk  ") > 3.0 * bytes(readings, "disk  "), "{plain}{readings}");
}

#[test]
fn regions_of_a_schema_are_those_of_its_splits() {
    let schema = "CREATE TABLE a (v U64, ROW KEY (SALT(32 BY id), id U64)) SPLIT BY SALT;\
                  CREATE TABLE b (v U64, ROW KEY (SALT(32 BY id), id U64)) SPLIT LIKE a;\
                  CREATE TABLE c (v U64, ROW KEY (id U64)) SPLIT LIKE elsewhere;\
                  CREATE TABLE d (v U64, ROW KEY (ts TIMESTAMP, id U64)) SPLIT ROLLING '1d';\
                  CREATE TABLE e (v U64, ROW KEY (id U64))";
    let (done, text) = advise(&["capacity", "--rows", "1000", "--schema", schema]);
    assert!(done, "{text}");
    let tables: Vec<&str> = text.split("\ntable ").collect();
    let regions: Vec<f64> = tables.iter().map(|table| number(table, "regions  ")).collect();
    assert_eq!(regions, [32.0, 32.0, 1.0, 4.0, 1.0], "{text}");
    assert!(tables[0].contains("32 of them from SPLIT"), "{text}");
    assert!(tables[2].contains("SPLIT LIKE elsewhere: the schema does not declare"), "{text}");
}

#[test]
fn samples_are_bounded_and_say_how_certain_they_are() {
    let large = "CREATE TABLE t (v MAP(U32, BYTES(32767)), ROW KEY (id U64))";
    for arguments in [
        &["--columns", "10", "--value-bytes", "1000000"][..],
        &["--schema", large, "--map-cells", "320"],
    ] {
        let load = ["capacity", "--rows", "1000000"];
        let (done, text) = advise(&[&load[..], arguments].concat());
        assert!(done, "{text}");
        let sample = text.lines().find(|line| line.starts_with("sample  ")).unwrap();
        let (rows, bytes) =
            sample.trim_start_matches("sample").trim().split_once(" rows, ").unwrap();
        assert!(rows.parse::<u64>().unwrap() < 10, "{sample}");
        let mib: f64 = bytes.split_once(" MiB of cells").unwrap().0.parse().unwrap();
        assert!(mib < 48.0, "{sample}");
        assert!(text.contains(" %, with 95 % confidence"), "{text}");
        assert!(bytes_on_disk_are(&text, 10e12), "{text}");
    }
}

/// Returns `true` if the table takes about this many bytes.
fn bytes_on_disk_are(text: &str, expected: f64) -> bool {
    (0.9..1.1).contains(&(bytes(text, "disk  ") / expected))
}

#[test]
fn absurd_loads_are_refused_or_doubted() {
    let most = u64::MAX.to_string();
    let table = "CREATE TABLE t (v U64, ROW KEY (id U64)) WITH (MAX_FILESIZE = '1', \
                 MEMSTORE_FLUSHSIZE = '1')";
    for arguments in [
        &["--rows", &most][..],
        &["--rows", "1000000000000000000", "--columns", "100", "--value-bytes", "1024"],
        &["--rows", "1", "--writes", &most],
        &["--rows", &most, "--schema", table],
        &["--rows", "1000", "--writes", &most, "--schema", table],
    ] {
        let (done, said) = advise(&[&["capacity"], arguments].concat());
        assert!(!done, "{arguments:?}: {said}");
        assert!(said.contains("and no table "), "{arguments:?}: {said}");
        assert!(said.contains("; specify fewer ") && !said.contains("panicked"), "{said}");
    }
    let load = ["capacity", "--rows", "1000000000", "--writes", "100000000", "--schema", table];
    let (done, text) = advise(&load);
    assert!(done, "{text}");
    assert!(text.contains("regions are more than the 10000 that a new table"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("flushes") && line.contains(" per second")));
    let plain = "CREATE TABLE t (v U64, ROW KEY (id U64))";
    let (done, text) = advise(&[&load[..6], &[plain]].concat());
    assert!(done, "{text}");
    assert!(text.contains("files pile up while the load lasts"), "{text}");
    let (done, text) = advise(&["capacity", "--rows", "100000000000000"]);
    assert!(done && text.contains("PB are more than one machine usually has"), "{text}");
}

#[test]
fn bad_schemas_and_fields_are_refused() {
    let load = |more: &[&str]| {
        let (done, text) = advise(&[&["capacity", "--rows", "1000"], more].concat());
        assert!(!done, "{text}");
        text
    };
    let table = "CREATE TABLE t (value U8, ROW KEY (id U64))";
    let twice = format!("{table}; CREATE TABLE default:t (v U8, ROW KEY (k STRING))");
    let series = "CREATE TABLE t (p SERIES(DOUBLE), ROW KEY (id U64, BUCKET(ts, '1h')))";
    for (arguments, expected) in [
        (&["--schema", "CREATE TABEL t"][..], "the schema cannot be read"),
        (&["--schema", "@/nowhere.sql"], "file /nowhere.sql"),
        (&["--schema", "SHOW CREATE TABLE t"], "no CREATE TABLE"),
        (&["--schema", table, "--field", "vlaue=random"], "field or column vlaue (did you mean"),
        (&["--schema", table, "--field", "value=uniform(1000)"], "--field value: "),
        (&["--schema", table, "--field", "value=nothing(1)"], "there is no nothing(1)"),
        (&["--schema", &twice], "declares table t twice"),
        (&["--schema", series], "specify how many with --points"),
        (&["--schema", table, "--key-bytes", "9"], "cannot be used with"),
        (&["--field", "v=random"], "--schema"),
    ] {
        let said = load(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}
