//! Comparison of Halite and HBase with HBase's own `PerformanceEvaluation`: the same command on
//! each in turn, one client on one machine.
//!
//! A server's CPU time per operation is the most stable metric, because the client, a JVM on the
//! same cores, dominates rates and latencies.

mod arguments;
mod evaluation;
mod process;
mod startup_time;
mod table;

use std::path::Path;

use crate::Result;
use crate::clients::client_env;
use crate::clients::server::{Server, free_ports};
use arguments::Arguments;
use evaluation::{COMMANDS, Command, RunMetrics, evaluate};
use process::resident_mb;
use table::{Row, ServerMedians};

pub(crate) use arguments::HELP;
pub(crate) use process::machine;
pub(crate) use table::median;

/// HBase's heap size, as commonly configured and quoted.
pub(crate) const HBASE_HEAP: &str = "4g";

/// Server under test, with the environment of its client.
struct BenchServer {
    name: &'static str,
    server: Server,
    client_env: crate::clients::programs::ClientEnv,
    /// Measurements of each run of each command.
    metrics: Vec<Vec<RunMetrics>>,
}

impl BenchServer {
    fn new(name: &'static str, server: Server, jars: &Path, work: &Path) -> Result<Self> {
        let around = client_env(jars, &work.join(name), server.zookeeper)?;
        Ok(Self { name, server, client_env: around, metrics: vec![Vec::new(); COMMANDS.len()] })
    }

    fn run(&self, command: &Command, arguments: &Arguments) -> Result<RunMetrics> {
        let metrics = evaluate(command, &self.client_env, self.server.process(), arguments.scale)?;
        println!("  {:8} {:16} {metrics}", self.name, command.name);
        Ok(metrics)
    }
}

/// Runs every command on both servers, alternating, and prints medians and ratios.
///
/// # Errors
/// Returns an error if a server does not start or a command fails.
pub(crate) fn run(halite: &Path, jars: &Path, work: &Path, rest: &[String]) -> Result<()> {
    let arguments = Arguments::read(rest)?;
    let data = work.join("data");
    let wal_sync = ["--wal-sync", arguments.wal_sync.as_str()];
    let ours =
        Server::persistent(halite, &data, free_ports()?, &work.join("halite.log"), &wal_sync)?;
    let theirs = Server::hbase(&jars.join("hbase-2.6.4"), work, HBASE_HEAP)?;
    let mut rivals = [
        BenchServer::new("hbase", theirs, jars, work)?,
        BenchServer::new("halite", ours, jars, work)?,
    ];
    println!("{}", machine());
    println!("warm-up run, not measured: HBase's JVM compiles frequently called code");
    run_each(&mut rivals, &arguments, false)?;
    for run in 1..=arguments.runs {
        println!("run {run} of {}", arguments.runs);
        run_each(&mut rivals, &arguments, true)?;
    }
    report(&rivals, &arguments)?;
    let [theirs, ours] = rivals;
    drop(theirs);
    ours.server.stop()?;
    startup_time::report(halite, &data, work, arguments.runs)
}

fn run_each(rivals: &mut [BenchServer; 2], arguments: &Arguments, counts: bool) -> Result<()> {
    for (index, command) in
        COMMANDS.iter().enumerate().filter(|(_, command)| arguments.should_run(command.name))
    {
        for rival in rivals.iter_mut() {
            let metrics = rival.run(command, arguments)?;
            if counts {
                rival.metrics[index].push(metrics);
            }
        }
    }
    Ok(())
}

fn report(rivals: &[BenchServer; 2], arguments: &Arguments) -> Result<()> {
    let side = |rival: &BenchServer, index: usize| {
        let of = |figure: fn(&RunMetrics) -> f64| median(rival.metrics[index].iter().map(figure));
        ServerMedians {
            rate: of(|run| run.rate),
            p50_us: of(|run| run.p50_us),
            p99_us: of(|run| run.p99_us),
            cpu_us: of(|run| run.cpu_us),
        }
    };
    let wanted =
        COMMANDS.iter().enumerate().filter(|(_, command)| arguments.should_run(command.name));
    let rows: Vec<Row> = wanted
        .map(|(index, command)| Row {
            command: command.name,
            hbase: side(&rivals[0], index),
            halite: side(&rivals[1], index),
        })
        .collect();
    println!(
        "\nmedians of {} runs, log handed to the operating system by HBase, {} by Halite\n",
        arguments.runs,
        arguments.wal_sync.sentence()
    );
    print!("{}", table::markdown(&rows));
    let [hbase, halite] =
        [resident_mb(rivals[0].server.process())?, resident_mb(rivals[1].server.process())?];
    println!(
        "| memory afterwards | {hbase:.0} MB | {halite:.0} MB | {:.2} (at most 0.10) | | | | | | |",
        halite / hbase
    );
    Ok(())
}
