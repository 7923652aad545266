//! The built program, with every part in its own process.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::{Command, Output};

/// Runs the program with these words and an own directory.
fn run(words: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_halite-bench-stores"))
        .args(words)
        .arg("--dir")
        .arg(folder.path())
        .output()
        .unwrap()
}

/// Runs `large` with few rows on Halite and fjall and returns the report.
fn run_large(words: &[&str]) -> String {
    let common =
        ["--workloads", "large", "--large-rows", "3000", "--runs", "1", "--idle-seconds", "1"];
    let output = run(&[&common[..], &["--engines", "halite,fjall"], words].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the measurements of one line of the report, one per measured store.
fn cells<'a>(report: &'a str, name: &str, unit: &str) -> Vec<&'a str> {
    let line = report.lines().find_map(|line| line.strip_prefix(&format!("| {name} | {unit} | ")));
    let line = line.unwrap_or_else(|| panic!("no {name}, {unit} in {report}"));
    line.split(" | ").take_while(|cell| cell.contains('(')).collect()
}

fn assert_positive(report: &str, name: &str, unit: &str) {
    let cells = cells(report, name, unit);
    assert!(!cells.is_empty(), "{name}, {unit}");
    for cell in cells {
        let number: f64 = cell.split(' ').next().unwrap().parse().unwrap();
        assert!(number > 0.0, "{name}, {unit}: {cell}");
    }
}

#[test]
fn large_measures_every_part_of_both_stores() {
    let report = run_large(&[]);
    for name in [
        "large fill",
        "large mixed, put or delete",
        "large mixed, get",
        "large mixed, scan of 100",
        "large get, cold",
        "large scan of 100, cold",
        "large get, warm",
        "large scan of 100, warm",
    ] {
        for unit in ["ops/s", "p50 us", "p99 us", "p99.9 us", "max us"] {
            assert_positive(&report, name, unit);
        }
    }
    for name in ["large fill", "large mixed"] {
        for unit in [
            "cpu us/op",
            "bytes written per byte put",
            "bytes on disk per live byte",
            "MB resident",
            "MB resident, compacted",
        ] {
            assert_positive(&report, name, unit);
        }
    }
    assert_positive(&report, "large open after SIGKILL", "ms to first read");
    assert_positive(&report, "large full scan", "rows/s");
    assert!(report.contains("cold: the page cache of"), "{report}");
}

#[test]
fn store_without_codec_is_skipped() {
    let report = run_large(&["--engines", "fjall", "--compression", "zstd"]);
    assert!(report.contains("fjall is skipped: fjall has no zstd"), "{report}");
    assert!(!report.contains("large fill"), "{report}");
}

#[test]
fn store_with_codec_is_measured() {
    let report = run_large(&["--engines", "fjall", "--compression", "lz4"]);
    assert!(report.contains("compression lz4"), "{report}");
    assert_positive(&report, "large fill", "ops/s");
}
