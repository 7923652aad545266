//! Halite beside HBase under HBase's own `PerformanceEvaluation`: the same command on each in turn, one client on one machine.
//!
//! A server's processor time per operation is the steady figure, because the client, a JVM on the same cores, takes most
//! of the time that rates and latencies are made of.

mod arguments;
mod evaluation;
mod process;
mod start;
mod table;

use std::path::Path;

use crate::Result;
use crate::clients::server::{Server, free_ports};
use crate::clients::surroundings;
use arguments::Arguments;
use evaluation::{COMMANDS, Command, Figures, evaluate};
use process::resident_mb;
use table::{Row, Side};

pub(crate) use arguments::HELP;
pub(crate) use process::machine;
pub(crate) use table::median;

/// HBase's memory, as its own start script and the figures people quote would have it.
pub(crate) const HBASE_HEAP: &str = "4g";

/// One of the two, with what its client needs.
struct Rival {
    name: &'static str,
    server: Server,
    around: crate::clients::programs::Surroundings,
    /// What each run of each command gave.
    figures: Vec<Vec<Figures>>,
}

impl Rival {
    fn new(name: &'static str, server: Server, jars: &Path, work: &Path) -> Result<Self> {
        let around = surroundings(jars, &work.join(name), server.zookeeper)?;
        Ok(Self { name, server, around, figures: vec![Vec::new(); COMMANDS.len()] })
    }

    fn run(&self, command: &Command, arguments: &Arguments) -> Result<Figures> {
        let figures = evaluate(command, &self.around, self.server.process(), arguments.scale)?;
        println!("  {:8} {:16} {figures}", self.name, command.name);
        Ok(figures)
    }
}

/// Runs every command on both servers, alternating, and prints medians and ratios.
///
/// # Errors
/// If a server does not start or a command fails.
pub(crate) fn run(halite: &Path, jars: &Path, work: &Path, rest: &[String]) -> Result<()> {
    let arguments = Arguments::read(rest)?;
    let data = work.join("data");
    let wal_sync = ["--wal-sync", arguments.wal_sync.as_str()];
    let ours = Server::lasting(halite, &data, free_ports()?, &work.join("halite.log"), &wal_sync)?;
    let theirs = Server::hbase(&jars.join("hbase-2.6.4"), work, HBASE_HEAP)?;
    let mut rivals = [Rival::new("hbase", theirs, jars, work)?, Rival::new("halite", ours, jars, work)?];
    println!("{}", machine());
    println!("a pass that is not counted: HBase's JVM compiles what is called often");
    each(&mut rivals, &arguments, false)?;
    for run in 1..=arguments.runs {
        println!("run {run} of {}", arguments.runs);
        each(&mut rivals, &arguments, true)?;
    }
    report(&rivals, &arguments)?;
    let [theirs, ours] = rivals;
    drop(theirs);
    ours.server.stop()?;
    start::report(halite, &data, work, arguments.runs)
}

fn each(rivals: &mut [Rival; 2], arguments: &Arguments, counts: bool) -> Result<()> {
    for (index, command) in COMMANDS.iter().enumerate().filter(|(_, command)| arguments.wants(command.name)) {
        for rival in rivals.iter_mut() {
            let figures = rival.run(command, arguments)?;
            if counts {
                rival.figures[index].push(figures);
            }
        }
    }
    Ok(())
}

fn report(rivals: &[Rival; 2], arguments: &Arguments) -> Result<()> {
    let side = |rival: &Rival, index: usize| {
        let of = |figure: fn(&Figures) -> f64| median(rival.figures[index].iter().map(figure));
        Side { rate: of(|run| run.rate), p50_us: of(|run| run.p50_us), p99_us: of(|run| run.p99_us), cpu_us: of(|run| run.cpu_us) }
    };
    let wanted = COMMANDS.iter().enumerate().filter(|(_, command)| arguments.wants(command.name));
    let rows: Vec<Row> =
        wanted.map(|(index, command)| Row { command: command.name, hbase: side(&rivals[0], index), halite: side(&rivals[1], index) }).collect();
    println!("\nmedians of {} runs, log handed to the operating system by HBase, {} by Halite\n", arguments.runs, arguments.wal_sync.sentence());
    print!("{}", table::markdown(&rows));
    let [hbase, halite] = [resident_mb(rivals[0].server.process())?, resident_mb(rivals[1].server.process())?];
    println!("| memory afterwards | {hbase:.0} MB | {halite:.0} MB | {:.2} (at most 0.10) | | | | | | |", halite / hbase);
    Ok(())
}
