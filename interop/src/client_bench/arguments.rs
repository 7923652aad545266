//! Command line of the client benchmark.

use super::LOADS;
use crate::Result;

pub(crate) const HELP: &str = "\
Run the same workloads with Halite's client, gohbase and HBase's asynchronous Java client, on Halite
and on a real HBase, and print rows per second and the client's processor time per row.

    --runs N            measured runs per workload (3)
    --seconds N         duration of a run, after a warm-up (4)
    --warmup-seconds N  duration of the warm-up (3)
    --rows N            rows in the table (1000000)
    --workloads LIST    workloads, separated by commas: get, put, gets, puts, scan (all)
    --server NAME       run only on halite or only on hbase
";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) runs: usize,
    pub(super) seconds: u64,
    pub(super) warmup_seconds: u64,
    pub(super) rows: u64,
    workloads: Vec<String>,
    server: Option<String>,
}

impl Arguments {
    pub(super) fn read(rest: &[String]) -> Result<Self> {
        let mut arguments = Self {
            runs: 3,
            seconds: 4,
            warmup_seconds: 3,
            rows: 1_000_000,
            workloads: Vec::new(),
            server: None,
        };
        let mut rest = rest.iter();
        while let Some(name) = rest.next() {
            let value = rest.next().ok_or_else(|| format!("missing value for {name}\n{HELP}"))?;
            let wrong = || format!("{name} {value} cannot be\n{HELP}");
            let positive = || value.parse().ok().filter(|number| *number > 0).ok_or_else(wrong);
            match name.as_str() {
                "--runs" => arguments.runs = usize::try_from(positive()?).map_err(|_| wrong())?,
                "--seconds" => arguments.seconds = positive()?,
                "--warmup-seconds" => arguments.warmup_seconds = positive()?,
                "--rows" => arguments.rows = positive()?,
                "--workloads" => arguments.workloads = parse_workloads(value)?,
                "--server" if ["halite", "hbase"].contains(&value.as_str()) => {
                    arguments.server = Some(value.clone());
                }
                _ => return Err(wrong()),
            }
        }
        Ok(arguments)
    }

    pub(super) fn should_run(&self, work: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|wanted| wanted == work)
    }

    pub(super) fn should_run_server(&self, name: &str) -> bool {
        self.server.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(name))
    }
}

fn parse_workloads(list: &str) -> Result<Vec<String>> {
    match list.split(',').find(|name| !LOADS.iter().any(|load| load.workload == *name)) {
        Some(unknown) => Err(format!("unknown workload {unknown:?}\n{HELP}")),
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
    fn options_are_parsed_and_unknown_words_rejected() {
        let arguments = read("--workloads scan,get --server hbase --runs 5").unwrap();
        assert!(
            arguments.should_run("scan") && !arguments.should_run("put") && arguments.runs == 5
        );
        assert!(arguments.should_run_server("HBase") && !arguments.should_run_server("Halite"));
        for wrong in ["--workloads nothing", "--runs 0", "--rows", "--server other", "--faster yes"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
