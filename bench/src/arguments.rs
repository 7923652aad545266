//! Command line.

use std::path::PathBuf;

use crate::Result;
use crate::engine;
use crate::workload::Workload;

pub(crate) const HELP: &str = "\
Run the same workloads on several embedded stores and print medians and ratios.

    --engines LIST      stores to compare, separated by commas (all of this build)
    --workloads LIST    workloads: single, batch, fsync, open, idle (all)
    --rows N            rows of a fill; half as many random reads (2000000)
    --fsync-rows N      rows of the fill that syncs each put to the disk (5000)
    --value-bytes N     bytes per value; a key has 16 (100)
    --large-bytes N     bytes in the store whose open is timed (1000000000)
    --runs N            runs per workload and store (5)
    --dir DIR           directory of the stores, on the measured disk (target/bench-stores)

One thread, no compression, a block cache of 512 MB per store, and otherwise each store's defaults.
`put` and `batch` pass each write to the operating system before acknowledging it (mode flush);
`put, fsync` syncs it to the disk. A rate includes all writes until the last acknowledgment.
Processor time (all threads of the process) and written bytes also include subsequent flushes and
compactions.
";

/// Benchmark arguments.
pub(crate) struct Arguments {
    pub(crate) engines: Vec<String>,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) rows: u64,
    pub(crate) fsync_rows: u64,
    pub(crate) value_bytes: usize,
    pub(crate) large_bytes: u64,
    pub(crate) runs: usize,
    pub(crate) folder: PathBuf,
}

/// Task of this process.
pub(crate) enum Task {
    Help,
    Compare(Arguments),
    Child { engine: String, workload: Workload, folder: PathBuf, arguments: Arguments },
}

/// Parses the words after the program's name.
pub(crate) fn read(mut words: impl Iterator<Item = String>) -> Result<Task> {
    let mut arguments = Arguments {
        engines: engine::names().into_iter().map(str::to_string).collect(),
        workloads: Workload::ALL.to_vec(),
        rows: 2_000_000,
        fsync_rows: 5_000,
        value_bytes: 100,
        large_bytes: 1_000_000_000,
        runs: 5,
        folder: PathBuf::from("target/bench-stores"),
    };
    let mut child = None;
    while let Some(word) = words.next() {
        if word == "--help" || word == "-h" {
            return Ok(Task::Help);
        }
        let mut value =
            || words.next().ok_or_else(|| format!("missing value for {word}; see --help"));
        match word.as_str() {
            "--engines" => arguments.engines = value()?.split(',').map(str::to_string).collect(),
            "--workloads" => {
                arguments.workloads = value()?.split(',').map(workload).collect::<Result<_>>()?;
            }
            "--rows" => arguments.rows = number(&word, &value()?)?,
            "--fsync-rows" => arguments.fsync_rows = number(&word, &value()?)?,
            "--value-bytes" => arguments.value_bytes = number(&word, &value()?)?,
            "--large-bytes" => arguments.large_bytes = number(&word, &value()?)?,
            "--runs" => arguments.runs = number(&word, &value()?)?,
            "--dir" => arguments.folder = value()?.into(),
            "--child" => child = Some((value()?, workload(&value()?)?, PathBuf::from(value()?))),
            _ => return Err(format!("unknown option {word:?}; see --help")),
        }
    }
    arguments.check()?;
    Ok(match child {
        Some((engine, workload, folder)) => Task::Child { engine, workload, folder, arguments },
        None => Task::Compare(arguments),
    })
}

impl Arguments {
    fn check(&self) -> Result<()> {
        let known = engine::names();
        if let Some(unknown) = self.engines.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(format!(
                "engine {unknown:?} is not in this build, which contains {}; RocksDB needs \
                 librocksdb-dev and clang",
                known.join(", ")
            ));
        }
        let positive = [
            ("--rows", self.rows),
            ("--fsync-rows", self.fsync_rows),
            ("--large-bytes", self.large_bytes),
            ("--runs", self.runs as u64),
        ];
        match positive.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(format!("{name} must be at least 1")),
            None => Ok(()),
        }
    }

    /// Returns the arguments for child processes.
    pub(crate) fn for_children(&self) -> Vec<String> {
        let pairs = [
            ("--rows", self.rows.to_string()),
            ("--fsync-rows", self.fsync_rows.to_string()),
            ("--value-bytes", self.value_bytes.to_string()),
            ("--large-bytes", self.large_bytes.to_string()),
        ];
        pairs.into_iter().flat_map(|(name, value)| [name.to_string(), value]).collect()
    }

    /// Returns the first line of the report.
    pub(crate) fn headline(&self) -> String {
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        format!(
            "{} rows of 16-byte keys and {}-byte values in random order, {} for fsync; medians of \
             {} runs (lowest to highest); {cores} cores",
            self.rows, self.value_bytes, self.fsync_rows, self.runs
        )
    }
}

fn workload(name: &str) -> Result<Workload> {
    Workload::find(name).ok_or_else(|| format!("unknown workload {name:?}; see --help"))
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T> {
    text.replace('_', "")
        .parse()
        .map_err(|_| format!("invalid value {text:?} for {option}: expected a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &[&str]) -> Result<Task> {
        read(words.iter().map(|word| (*word).to_string()))
    }

    #[test]
    fn child_arguments_contain_every_measurement_option() {
        let Ok(Task::Compare(parent)) = read_words(&[
            "--rows",
            "1_000",
            "--value-bytes",
            "7",
            "--large-bytes",
            "5",
            "--fsync-rows",
            "3",
        ]) else {
            panic!("the arguments are valid");
        };
        let mut words =
            vec!["--child".to_string(), "fjall".to_string(), "reopen".to_string(), "x".to_string()];
        words.extend(parent.for_children());
        let Ok(Task::Child { workload, arguments, .. }) = read(words.into_iter()) else {
            panic!("a child parses the arguments of its parent");
        };
        assert_eq!(workload, Workload::Reopen);
        assert_eq!(
            (arguments.rows, arguments.value_bytes, arguments.large_bytes, arguments.fsync_rows),
            (1000, 7, 5, 3)
        );
    }

    #[test]
    fn unmeasurable_configurations_are_rejected() {
        for words in [
            &["--rows", "0"][..],
            &["--rows"],
            &["--engines", "leveldb"],
            &["--workloads", "all"],
            &["--fast"],
        ] {
            assert!(read_words(words).is_err(), "{words:?}");
        }
    }
}
