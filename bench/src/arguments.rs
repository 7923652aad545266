//! Command line.

use std::path::PathBuf;

use crate::Result;
use crate::engine;
use crate::workload::Workload;

pub(crate) const HELP: &str = "\
Runs the same workloads on several embedded stores and prints medians and ratios.

    --engines LIST      stores to compare, with commas between; all that are in this build
    --workloads LIST    of single, batch, fsync, open, idle; all
    --rows N            rows of a fill (2000000); half as many random reads
    --fsync-rows N      rows of the fill where each put is on the disk before the next (5000)
    --value-bytes N     bytes of a value (100); a key has 16
    --large-bytes N     bytes put into the store whose opening is timed (1000000000)
    --runs N            how often each workload runs on each store (5)
    --dir DIR           where the stores are made, on the disk to be measured (target/bench-stores)

One thread, nothing compressed, 512 MB of block cache each, and otherwise each store's own defaults. `put` and `batch` hand each write to
the operating system before it is acknowledged (mode flush); `put, fsync` has it on the disk. A rate counts until the last write is
acknowledged; processor time (all threads of the process) and bytes written count until flushes and compactions behind it are done.
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
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value; see --help"));
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
            _ => return Err(format!("{word:?} is no option; see --help")),
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
                "{unknown:?} is not in this build, which has {}; RocksDB needs librocksdb-dev and clang",
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
            "{} rows of 16-byte keys and {}-byte values in random order, {} for fsync; medians of {} runs (lowest to highest); {cores} cores",
            self.rows, self.value_bytes, self.fsync_rows, self.runs
        )
    }
}

fn workload(name: &str) -> Result<Workload> {
    Workload::find(name).ok_or_else(|| format!("there is no workload {name:?}; see --help"))
}

fn number<T: std::str::FromStr>(option: &str, text: &str) -> Result<T> {
    text.replace('_', "").parse().map_err(|_| format!("{option} wants a number, not {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &[&str]) -> Result<Task> {
        read(words.iter().map(|word| (*word).to_string()))
    }

    #[test]
    fn a_child_is_told_everything_it_measures_with() {
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
            panic!("these are good words");
        };
        let mut words =
            vec!["--child".to_string(), "fjall".to_string(), "reopen".to_string(), "x".to_string()];
        words.extend(parent.for_children());
        let Ok(Task::Child { workload, arguments, .. }) = read(words.into_iter()) else {
            panic!("a child understands its parent");
        };
        assert_eq!(workload, Workload::Reopen);
        assert_eq!(
            (arguments.rows, arguments.value_bytes, arguments.large_bytes, arguments.fsync_rows),
            (1000, 7, 5, 3)
        );
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
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
