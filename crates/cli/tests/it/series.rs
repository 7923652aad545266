//! `halite series`: points are written from CSV, read back, packed and deleted.

use std::path::Path;

use crate::program::{self, output_of};

/// Runs a command on the store in `data`: its exit code, output and errors.
fn halite(data: &Path, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let output = output_of(program::halite().args(arguments).env("HALITE_DATA", data), input);
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn points_are_written_read_packed_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| halite(folder.path(), arguments, input);
    let (code, stdout, _) = run(
        &["shell"],
        "CREATE TABLE m (p SERIES(DOUBLE) FAMILY t, ROW KEY (device STRING, BUCKET(ts, '1h') \
         DESC));\n",
    );
    assert_eq!(code, Some(0), "{stdout}");
    let point = |at: i64| format!("{}.5,s{},{}", at % 50, at % 2, 1_710_460_800_000 + at * 10_000);
    let points: Vec<_> =
        std::iter::once("value,device,ts".to_owned()).chain((0..500).map(point)).collect();
    assert_eq!(
        run(&["series", "write", "m"], &points.join("\n")).1,
        "500 points written, 0 removals requested\n"
    );
    let newest = "device,ts,value\ns1,2024-03-15T01:23:10Z,49.5\ns1,2024-03-15T01:22:50Z,47.5\n";
    assert_eq!(run(&["series", "read", "m", "device=s1", "--limit", "2"], "").1, newest);
    let all = run(&["series", "read", "m"], "").1;
    assert_eq!(all.lines().count(), 501);

    let output = run(&["series", "pack", "m"], "").1;
    assert!(
        output.starts_with(
            "0 points packed in 0 rows\n500 points are younger than 1min and stay loose"
        ),
        "{output}"
    );
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(
        run(&["series", "pack", "m", "device=s1", "--min-age", "1s"], "").1,
        "250 points packed in 2 rows\n"
    );
    assert_eq!(run(&["series", "read", "m"], "").1, all);
    assert_eq!(
        run(&["series", "write", "m"], "device,ts,value\ns1,2024-03-15T01:23:10Z,\n").1,
        "0 points written, 1 removals requested\n"
    );
    let (_, stdout, _) = run(&["series", "read", "m", "device=s1", "--limit", "1"], "");
    assert_eq!(stdout, "device,ts,value\ns1,2024-03-15T01:22:50Z,47.5\n");

    let twice = "device,ts,value\ns9,2024-03-15T01:00:00Z,\ns9,2024-03-15T01:00:00Z,7\n";
    assert_eq!(run(&["series", "write", "m"], twice).1, "1 points written, 1 removals requested\n");
    assert_eq!(
        run(&["series", "read", "m", "device=s9"], "").1,
        "device,ts,value\ns9,2024-03-15T01:00:00Z,7\n",
        "the later line counts"
    );
    let (code, _, output) =
        run(&["series", "write", "m"], "device,ts,value\ns9,2024-03-15T01:00:00Z,1e999\n");
    assert!(
        code == Some(1)
            && output.contains("line 2")
            && output.contains("1e999 is beyond what a DOUBLE holds"),
        "{output}"
    );
}

/// Reading made the table of dictionaries.
#[test]
fn only_writing_creates_dictionaries() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| halite(folder.path(), arguments, input);
    let tables = || run(&["shell", "-n"], "list\n").1;
    run(
        &["shell"],
        "CREATE TABLE m (p SERIES(DOUBLE) FAMILY t, ROW KEY (DICT(device, 2), BUCKET(ts, \
         '1h')));\n",
    );
    assert_eq!(run(&["series", "read", "m"], "").1, "device,ts,value\n");
    assert_eq!(run(&["series", "pack", "m"], "").1, "0 points packed in 0 rows\n");
    assert!(!tables().contains("m.dictionary"), "{}", tables());
    let (_, stdout, errors) =
        run(&["series", "write", "m"], "device,ts,value\na,2024-03-15,1\nb,2024-03-15,2\n");
    assert_eq!(stdout, "2 points written, 0 removals requested\n", "{errors}");
    assert!(tables().contains("m.dictionary"), "{}", tables());
    assert_eq!(
        run(&["series", "read", "m", "device=b"], "").1,
        "device,ts,value\nb,2024-03-15T00:00:00Z,2\n"
    );
}

#[test]
fn series_write_reports_progress_and_timestamps_in_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| halite(folder.path(), arguments, input);
    run(&["shell"], "CREATE TABLE m (p SERIES(INT), ROW KEY (device STRING, BUCKET(ts, '1h')));\n");
    let line = |at: i64| format!("a,{},{}", 1_710_460_800_000 + at, if at == 0 { "" } else { "1" });
    let lines = (0..10_001).map(line).collect::<Vec<_>>().join("\n");
    let (code, stdout, errors) =
        run(&["series", "write", "m"], &format!("device,ts,value\n{lines}\na,soon,1\n"));
    assert!(code == Some(1) && stdout.is_empty(), "{stdout}");
    assert!(
        errors.contains("9999 points written, 1 removals requested before this")
            && errors.contains("line 10003: ts"),
        "{errors}"
    );
    let (code, stdout, errors) =
        run(&["series", "write", "m"], "device,ts,value\na,1710460800,1\na,1710460801,1\n");
    assert!(code == Some(0) && stdout.starts_with("2 points written"), "{stdout}");
    assert!(
        errors.lines().count() == 1 && errors.contains("line 2: ts 1710460800 is in 1970"),
        "{errors}"
    );
}

#[test]
fn invalid_point_is_reported_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| halite(folder.path(), arguments, input);
    run(
        &["shell"],
        "CREATE TABLE m (p SERIES(INT), ROW KEY (device STRING, BUCKET(ts, '1h')));\n\
         create 'plain', 'f'\n",
    );
    for (table, input, wanted) in [
        ("m", "device,ts\n", "no column value; its columns have to be device, ts, value"),
        ("m", "device,ts,value,unit\n", "a column unit, which the key has not"),
        (
            "m",
            "device,ts,value\na,2024-03-15,1\na,soon,2\n",
            "line 3: ts: \"soon\" is no TIMESTAMP",
        ),
        ("m", "device,ts,value\na,2024-03-15,much\n", "line 2: value: much is no number"),
        ("m", "device,ts,value\na,2024-03-15,1.5\n", "line 2: value: 1.5 is no I32"),
        (
            "m",
            "device,ts,value\na,2024-03-15,9007199254740993\n",
            "line 2: value: 9007199254740993 is no I32",
        ),
        ("m", "device,ts,value, ts\n", "the column ts twice"),
        ("m", "device,ts,value\na,2024-03-15,1\na,-5,1\n", "line 3: "),
        ("plain", "", "table plain declares no row key, so it has no SERIES"),
        ("none", "", "table none does not exist"),
    ] {
        let (code, _, errors) = run(&["series", "write", table], input);
        assert!(code == Some(1) && errors.contains(wanted), "{wanted}: {errors}");
    }
}
