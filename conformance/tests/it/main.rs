//! Every case on the embedded store and through client and server, on a simulated disk and clock.

mod differential;
mod embedded;
mod remote;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use halite_conformance::runner::{self, Difference};
use halite_conformance::script::Case;

use embedded::Embedded;
use remote::Remote;

/// Runs the cases of one file. Reports every result that differs from HBase's, and every known
/// difference that no longer exists.
fn agrees_with_hbase(file: &str, known: &str, mut run: impl FnMut(&Case) -> Vec<Difference>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(format!("{file}.txt"));
    let text = std::fs::read_to_string(&path).expect("a case file");
    let cases = Case::parse_file(&text)
        .unwrap_or_else(|malformed| panic!("{}: {malformed}", path.display()));
    let mut known = known_differences(file, known);
    let mut report = String::new();
    let mut say =
        |text: std::fmt::Arguments<'_>| report.write_fmt(text).expect("writing to a string");
    for case in &cases {
        let differences = run(case);
        let is_known = known.remove(&case.name);
        if is_known && differences.is_empty() {
            say(format_args!(
                "{file}: {} no longer differs: remove it from known_differences.txt\n",
                case.name
            ));
        } else if !is_known && !differences.is_empty() {
            say(format_args!("{file}: {}\n", case.name));
            differences.iter().for_each(|difference| say(format_args!("{difference}")));
        }
    }
    known.iter().for_each(|name| {
        say(format_args!("{file}: known_differences.txt contains the unknown case {name}\n"));
    });
    assert!(report.is_empty(), "different from the record (- HBase, + here)\n{report}");
}

/// Cases that differ in the store itself, and cases that differ only through client and server.
const KNOWN_DIFFERENCES: &str = include_str!("../../known_differences.txt");
const KNOWN_CLIENT_DIFFERENCES: &str = include_str!("../../known_client_differences.txt");

fn known_client_differences() -> String {
    [KNOWN_DIFFERENCES, KNOWN_CLIENT_DIFFERENCES].concat()
}

/// Returns the names of the cases of a file that are known to differ.
fn known_differences(file: &str, text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .filter(|(of, _)| *of == file)
        .map(|(_, name)| name.to_string())
        .collect()
}

macro_rules! case_files {
    ($($file:ident),* $(,)?) => {
        mod embedded_store {
            $(#[test]
            fn $file() {
                super::agrees_with_hbase(stringify!($file), super::KNOWN_DIFFERENCES, |case| super::runner::run(case, &mut super::Embedded::new()));
            })*
        }

        mod client_and_server {
            $(#[test]
            fn $file() {
                let mut remote = super::Remote::new();
                super::agrees_with_hbase(stringify!($file), &super::known_client_differences(), |case| super::runner::run(case, &mut remote));
            })*
        }

        #[test]
        fn every_case_file_is_run() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
            let mut found: Vec<String> =
                std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().replace(".txt", "")).collect();
            found.sort();
            assert_eq!(found, [$(stringify!($file)),*], "name each file of conformance/cases here, \
                                                         in order");
        }
    };
}

case_files!(
    append,
    cell_ttl,
    check_and_mutate,
    delete_interplay,
    deletes,
    errors,
    families,
    filters,
    increment,
    keep_deleted,
    limits,
    min_versions,
    mutate_row,
    random_deletes,
    random_filters,
    random_times,
    raw_scan,
    time_range,
    timestamps,
    ttl,
    versions,
    wide_rows,
);
