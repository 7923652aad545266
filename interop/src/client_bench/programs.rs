//! Three client programs with the same arguments and the same output format.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::ClientLoad;
use super::arguments::Arguments;
use crate::Result;
use crate::clients::programs::{ClientEnv, source};
use crate::clients::{child, java};

/// Maximum duration of a program: the table is filled in a minute or two, and a warm-up needs
/// seconds.
const LIMIT: Duration = Duration::from_mins(10);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Halite,
    Gohbase,
    Java,
}

impl Program {
    pub(super) const ALL: [Self; 3] = [Self::Halite, Self::Gohbase, Self::Java];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Halite => "halite",
            Self::Gohbase => "gohbase",
            Self::Java => "java",
        }
    }
}

/// Measurements of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RunMetrics {
    /// Rows per second, summed over all callers.
    pub(super) rate: f64,
    /// CPU time of the client per row, in microseconds.
    pub(super) cpu_us: f64,
}

impl fmt::Display for RunMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:9.0} rows/s  {:7.2} us of the client's CPU per row", self.rate, self.cpu_us)
    }
}

/// Paths of the built programs, and the server they connect to.
pub(super) struct Programs {
    ours: PathBuf,
    gohbase: PathBuf,
    class_path: String,
    client_env: ClientEnv,
    arguments: Arguments,
}

impl Programs {
    pub(super) fn build(ours: &Path, around: ClientEnv, arguments: &Arguments) -> Result<Self> {
        let gohbase = around.work.join("gohbase-load");
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(&gohbase).arg("./load").current_dir(source("gohbase"));
        child::run(&mut build, &around.work.join("gohbase-load.log"), LIMIT)
            .map_err(|error| format!("go build {error}"))?;
        let class_path = java::compile(
            &[source("java/load")],
            &around.jars.join("hbase-2.6.4"),
            &around.work.join("classes-load"),
        )?;
        Ok(Self {
            ours: ours.to_path_buf(),
            gohbase,
            class_path,
            client_env: around,
            arguments: arguments.clone(),
        })
    }

    fn uri(&self) -> String {
        format!("zk://127.0.0.1:{}/hbase", self.client_env.zookeeper)
    }

    /// Creates the table and fills it.
    pub(super) fn prepare(&self) -> Result<()> {
        let mut command = Command::new(&self.ours);
        command.args([&self.uri(), "prepare", &self.arguments.rows.to_string()]);
        child::run(&mut command, &self.client_env.work.join("prepare.log"), LIMIT)
            .map_err(|error| format!("filling the table {error}"))
    }

    pub(super) fn run(&self, program: Program, load: &ClientLoad) -> Result<RunMetrics> {
        let mut command = match program {
            Program::Halite => Command::new(&self.ours),
            Program::Gohbase => Command::new(&self.gohbase),
            Program::Java => java::steady(&self.class_path, "ERROR"),
        };
        match program {
            Program::Halite => command.arg(self.uri()),
            Program::Gohbase => command.arg(self.client_env.zookeeper.to_string()),
            Program::Java => command.args(["Load", &self.client_env.zookeeper.to_string()]),
        };
        let Arguments { warmup_seconds: warm, seconds, rows, .. } = self.arguments;
        command.args([
            load.workload.to_string(),
            load.callers.to_string(),
            warm.to_string(),
            seconds.to_string(),
            rows.to_string(),
        ]);
        let log = self.client_env.work.join(format!("{}.load.log", program.name()));
        child::run(&mut command, &log, LIMIT)
            .map_err(|error| format!("{} {error}", program.name()))?;
        parse_output(&child::text(&log)).ok_or_else(|| {
            format!("{} printed no measurements\n{}", program.name(), child::tail(&log))
        })
    }
}

/// Parses `rows N seconds S cpu_us N`, the last line.
fn parse_output(text: &str) -> Option<RunMetrics> {
    let words: Vec<&str> =
        text.lines().rfind(|line| line.starts_with("rows "))?.split(' ').collect();
    let ["rows", rows, "seconds", seconds, "cpu_us", cpu_us] = words[..] else { return None };
    let (rows, seconds, cpu_us) =
        (rows.parse::<f64>().ok()?, seconds.parse::<f64>().ok()?, cpu_us.parse::<f64>().ok()?);
    (rows > 0.0 && seconds > 0.0)
        .then(|| RunMetrics { rate: rows / seconds, cpu_us: cpu_us / rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_per_second_and_row_absent_without_work() {
        let metrics = parse_output("a warning\nrows 4000 seconds 2.000 cpu_us 100000\n").unwrap();
        assert_eq!(metrics, RunMetrics { rate: 2000.0, cpu_us: 25.0 });
        assert_eq!(parse_output("rows 0 seconds 2.000 cpu_us 5"), None);
        assert_eq!(parse_output("panic: no server"), None);
    }
}
