//! Command line of the server benchmark.

use crate::Result;

pub(crate) const HELP: &str = "\
Run HBase's PerformanceEvaluation alternately on Halite and a real HBase, and print medians and
ratios.

    --runs N          measured runs per command and server, after one warm-up run (3)
    --scale F         factor of the default number of rows (1.0)
    --only LIST       commands, separated by commas: sequentialWrite, randomWrite, randomRead,
                      scanRange100, scan, increment, checkAndPut (all)
    --wal-sync MODE   durability of Halite's log before it acknowledges: flush, as in HBase, or
                      fsync (flush)
";

/// Point at which Halite acknowledges a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WalSync {
    Flush,
    Fsync,
}

impl WalSync {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Flush => "flush",
            Self::Fsync => "fsync",
        }
    }

    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Flush => "and likewise",
            Self::Fsync => "and synced to the disk",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arguments {
    pub(super) runs: usize,
    pub(super) scale: f64,
    pub(super) wal_sync: WalSync,
    commands: Vec<String>,
}

impl Arguments {
    pub(super) fn read(rest: &[String]) -> Result<Self> {
        let mut arguments =
            Self { runs: 3, scale: 1.0, wal_sync: WalSync::Flush, commands: Vec::new() };
        let mut rest = rest.iter();
        while let Some(name) = rest.next() {
            let value = rest.next().ok_or_else(|| format!("missing value for {name}\n{HELP}"))?;
            let wrong = || format!("{name} {value} cannot be\n{HELP}");
            match name.as_str() {
                "--runs" => {
                    arguments.runs =
                        value.parse().ok().filter(|runs| *runs > 0).ok_or_else(wrong)?;
                }
                "--scale" => {
                    arguments.scale = value
                        .parse()
                        .ok()
                        .filter(|scale| *scale > 0.0 && *scale <= 100.0)
                        .ok_or_else(wrong)?;
                }
                "--only" => arguments.commands = commands(value)?,
                "--wal-sync" if value == "flush" => arguments.wal_sync = WalSync::Flush,
                "--wal-sync" if value == "fsync" => arguments.wal_sync = WalSync::Fsync,
                _ => return Err(wrong()),
            }
        }
        Ok(arguments)
    }

    /// Returns `true` if a command is selected.
    pub(super) fn should_run(&self, name: &str) -> bool {
        self.commands.is_empty() || self.commands.iter().any(|wanted| wanted == name)
    }
}

fn commands(list: &str) -> Result<Vec<String>> {
    let known = |name: &&str| super::COMMANDS.iter().any(|command| command.name == *name);
    match list.split(',').find(|name| !known(name)) {
        Some(unknown) => Err(format!("unknown command {unknown:?}\n{HELP}")),
        None => Ok(list.split(',').map(str::to_string).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Arguments> {
        Arguments::read(&words.split_whitespace().map(str::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn chosen_commands_are_parsed_and_unknown_words_rejected() {
        let arguments = read("--runs 5 --only scan,increment --wal-sync fsync").unwrap();
        assert_eq!((arguments.runs, arguments.wal_sync), (5, WalSync::Fsync));
        assert!(arguments.should_run("scan") && !arguments.should_run("randomRead"));
        assert!(read("").unwrap().should_run("randomRead"));
        for wrong in [
            "--only nothing",
            "--runs 0",
            "--scale nan",
            "--runs",
            "--wal-sync sometimes",
            "--faster yes",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
