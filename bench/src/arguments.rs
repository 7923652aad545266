//! Command line.

use std::path::PathBuf;

use crate::Result;
use crate::data::KEY_BYTES;
use crate::engine::{self, CompactionPolicy, Compression, Durability, Settings};
use crate::usage;
use crate::workload::Workload;

pub(crate) const HELP: &str = "\
Run the same workloads on several embedded stores and print medians and ratios.

    --engines LIST      stores to compare, separated by commas (all of this build)
    --workloads LIST    workloads: single, batch, fsync, open, idle (these), large
    --rows N            rows of a fill; half as many random reads (2000000)
    --fsync-rows N      rows of the fill that syncs each put to the disk (5000)
    --value-bytes N     bytes per value; a key has 16 (100)
    --large-bytes N     workload open: bytes in the store whose open is timed (1000000000)
    --large-rows N      workload large: rows of the fill (50000000)
    --cache-bytes N     workload large: block cache of each store (a tenth of the rows' bytes)
    --compression NAME  workload large: none, lz4 or zstd in the files of each store (none)
    --compaction-policy NAME  workload large: exploring, date-tiered or stripe for the table of
                        Halite (exploring)
    --idle-seconds N    workload large: idle time of a store before it is measured (15)
    --runs N            runs per workload and store (5)
    --dir DIR           directory of the stores, on the measured disk (target/bench-stores)

One thread, no compression, a block cache of 512 MB per store, and otherwise each store's defaults;
`large` has its own threads, compression and cache.
`put` and `batch` pass each write to the operating system before acknowledging it (mode flush);
`put, fsync` syncs it to the disk. A rate includes all writes until the last acknowledgment.
Processor time (all threads of the process) and written bytes also include subsequent flushes and
compactions.

`large` is for more rows than memory holds. Its values can be compressed by half. It fills the
store, then overwrites a third of the rows and deletes a tenth in another random order, while one
thread gets random rows and another scans 100 rows at a time, both as fast as they can, so their
number depends on the store. A process puts up to 200000 more rows and is killed with SIGKILL; the
next one opens the store and verifies them. Fresh processes read with an empty page cache, then
after a full scan. Each get and short scan is compared with the last writes. A store that cannot
compress as asked is skipped.
";

/// Benchmark arguments.
pub(crate) struct Arguments {
    pub(crate) engines: Vec<String>,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) rows: u64,
    pub(crate) fsync_rows: u64,
    pub(crate) value_bytes: usize,
    pub(crate) large_bytes: u64,
    pub(crate) large: LargeArguments,
    pub(crate) runs: usize,
    pub(crate) folder: PathBuf,
}

/// Arguments of the workload `large`.
pub(crate) struct LargeArguments {
    pub(crate) rows: u64,
    /// Block cache in bytes; without a number, a tenth of the rows' bytes.
    pub(crate) cache_bytes: Option<u64>,
    pub(crate) compression: Compression,
    /// Compaction policy of Halite's table.
    pub(crate) compaction_policy: CompactionPolicy,
    /// Time in seconds without work after which flushes and compactions count as finished. Some
    /// compactions begin when a store has been idle for seconds.
    pub(crate) idle_seconds: u32,
}

impl LargeArguments {
    /// Returns the settings of every store.
    pub(crate) fn settings(&self, value_bytes: usize) -> Settings {
        let tenth = self.user_bytes(value_bytes) / 10;
        Settings {
            durability: Durability::Flush,
            cache_bytes: self.cache_bytes.unwrap_or(tenth),
            compression: self.compression,
            compaction_policy: self.compaction_policy,
        }
    }

    fn user_bytes(&self, value_bytes: usize) -> u64 {
        self.rows.saturating_mul((KEY_BYTES + value_bytes) as u64)
    }
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
        workloads: Workload::DEFAULT.to_vec(),
        rows: 2_000_000,
        fsync_rows: 5_000,
        value_bytes: 100,
        large_bytes: 1_000_000_000,
        large: LargeArguments {
            rows: 50_000_000,
            cache_bytes: None,
            compression: Compression::None,
            compaction_policy: CompactionPolicy::Exploring,
            idle_seconds: 15,
        },
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
            "--large-rows" => arguments.large.rows = number(&word, &value()?)?,
            "--cache-bytes" => arguments.large.cache_bytes = Some(number(&word, &value()?)?),
            "--compression" => arguments.large.compression = compression(&value()?)?,
            "--compaction-policy" => {
                arguments.large.compaction_policy = compaction_policy(&value()?)?;
            }
            "--idle-seconds" => arguments.large.idle_seconds = number(&word, &value()?)?,
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
            ("--large-rows", self.large.rows),
            ("--cache-bytes", self.large.cache_bytes.unwrap_or(1)),
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
            ("--large-rows", self.large.rows.to_string()),
            ("--compression", self.large.compression.name().to_string()),
            ("--idle-seconds", self.large.idle_seconds.to_string()),
            ("--compaction-policy", self.large.compaction_policy.name().to_string()),
        ];
        let cache = self.large.cache_bytes.map(|bytes| ("--cache-bytes", bytes.to_string()));
        pairs.into_iter().chain(cache).flat_map(|(name, value)| [name.to_string(), value]).collect()
    }

    /// Returns the first lines of the report.
    ///
    /// # Errors
    /// An unreadable size of the machine's memory, for the workload `large`.
    pub(crate) fn headline(&self) -> Result<String> {
        let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
        let mut text = format!(
            "16-byte keys and {}-byte values in random order; medians of {} runs (lowest to \
             highest); {cores} cores",
            self.value_bytes, self.runs
        );
        if self.workloads.iter().any(|workload| *workload != Workload::Large) {
            let rows = format!("\n{} rows, {} for fsync", self.rows, self.fsync_rows);
            text.push_str(&rows);
        }
        if self.workloads.contains(&Workload::Large) {
            text.push('\n');
            text.push_str(&self.large_headline(usage::machine_memory_bytes()?));
        }
        Ok(text)
    }

    fn large_headline(&self, memory_bytes: u64) -> String {
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let bytes = self.large.user_bytes(self.value_bytes);
        let fits = if bytes < memory_bytes { "fit in" } else { "are more than" };
        format!(
            "large: {} rows, whose {:.0} MB {fits} the memory of {:.0} MB; block caches of {:.0} \
             MB; compression {}; compaction policy {}",
            self.large.rows,
            megabytes(bytes),
            megabytes(memory_bytes),
            megabytes(self.large.settings(self.value_bytes).cache_bytes),
            self.large.compression.name(),
            self.large.compaction_policy.name()
        )
    }
}

fn compression(name: &str) -> Result<Compression> {
    Compression::find(name).ok_or_else(|| format!("unknown compression {name:?}; see --help"))
}

fn compaction_policy(name: &str) -> Result<CompactionPolicy> {
    CompactionPolicy::find(name)
        .ok_or_else(|| format!("unknown compaction policy {name:?}; see --help"))
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
            "--large-rows",
            "9",
            "--cache-bytes",
            "11",
            "--compression",
            "lz4",
            "--compaction-policy",
            "stripe",
            "--idle-seconds",
            "2",
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
        assert_eq!(
            (arguments.large.rows, arguments.large.cache_bytes, arguments.large.compression),
            (9, Some(11), Compression::Lz4)
        );
        assert_eq!(arguments.large.compaction_policy, CompactionPolicy::Stripe);
        assert_eq!(arguments.large.idle_seconds, 2);
    }

    #[test]
    fn large_cache_is_tenth_of_rows_by_default() {
        let Ok(Task::Compare(arguments)) = read_words(&["--large-rows", "1000"]) else {
            panic!("the arguments are valid");
        };
        assert_eq!(arguments.large.settings(100).cache_bytes, 11_600);
        assert!(!arguments.workloads.contains(&Workload::Large));
        let headline = arguments.large_headline(1_000_000_000);
        assert!(headline.contains("0 MB fit in the memory of 1000 MB"), "{headline}");
    }

    #[test]
    fn large_part_is_found_by_name() {
        for part in Workload::Large.parts() {
            assert_eq!(workload(part.name()), Ok(*part));
        }
    }

    #[test]
    fn unmeasurable_configurations_are_rejected() {
        for words in [
            &["--rows", "0"][..],
            &["--rows"],
            &["--engines", "leveldb"],
            &["--workloads", "all"],
            &["--large-rows", "0"],
            &["--compression", "gz"],
            &["--compaction-policy", "fifo"],
            &["--fast"],
        ] {
            assert!(read_words(words).is_err(), "{words:?}");
        }
    }
}
