//! Our client beside gohbase and HBase's own asynchronous client: the same work on the same server, Halite and a real HBase.
//!
//! Each measurement is a process of its own, which warms up, works for some seconds, and tells how many rows it went through
//! and what processor time it took. Client and server share the machine's cores, so rates are also the server's; the processor
//! time of a client is its own.

mod arguments;
mod programs;
mod table;

use std::path::Path;

use crate::Result;
use crate::bench::{HBASE_HEAP, machine, median};
use crate::clients::server::Server;
use crate::clients::surroundings;
use arguments::Arguments;
use programs::{Figures, Program, Programs};
use table::Row;

pub(crate) use arguments::HELP;

/// What the callers do, and how many there are.
pub(super) struct Load {
    pub(super) work: &'static str,
    pub(super) callers: u32,
    pub(super) title: &'static str,
}

pub(super) const LOADS: [Load; 9] = [
    Load { work: "get", callers: 1, title: "get, 1 caller" },
    Load { work: "get", callers: 8, title: "get, 8 callers" },
    Load { work: "get", callers: 64, title: "get, 64 callers" },
    Load { work: "put", callers: 1, title: "put, 1 caller" },
    Load { work: "put", callers: 8, title: "put, 8 callers" },
    Load { work: "put", callers: 64, title: "put, 64 callers" },
    Load { work: "gets", callers: 1, title: "100 gets at once" },
    Load { work: "puts", callers: 1, title: "100 puts at once" },
    Load { work: "scan", callers: 1, title: "scan of all rows" },
];

/// Runs every load with every client on both servers, in turn, and prints the medians.
///
/// # Errors
/// If a server does not start or a client fails.
pub(crate) fn run(halite: &Path, jars: &Path, work: &Path, rest: &[String]) -> Result<()> {
    let arguments = Arguments::read(rest)?;
    let ours = halite.parent().ok_or("the program is in no folder")?.join("examples/load");
    println!("{}", machine());
    for name in ["Halite", "HBase"].into_iter().filter(|name| arguments.wants_server(name)) {
        let server = match name {
            "Halite" => Server::ephemeral(halite, work)?,
            _ => Server::hbase(&jars.join("hbase-2.6.4"), work, HBASE_HEAP)?,
        };
        let programs = Programs::build(&ours, surroundings(jars, work, server.zookeeper)?, &arguments)?;
        println!("{name}: filling a table with {} rows", arguments.rows);
        programs.prepare()?;
        let rows = LOADS.iter().filter(|load| arguments.wants(load.work)).map(|load| measure(load, &programs, &arguments));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        println!("\non {name}, medians of {} runs of {} s\n\n{}", arguments.runs, arguments.seconds, table::markdown(&rows));
    }
    Ok(())
}

fn measure(load: &'static Load, programs: &Programs, arguments: &Arguments) -> Result<Row> {
    let mut runs: [Vec<Figures>; 3] = Default::default();
    for _ in 0..arguments.runs {
        for (program, runs) in Program::ALL.into_iter().zip(&mut runs) {
            let figures = programs.run(program, load)?;
            println!("  {:18} {:8} {figures}", load.title, program.name());
            runs.push(figures);
        }
    }
    let sides = runs.map(|runs| Figures { rate: median(runs.iter().map(|run| run.rate)), cpu_us: median(runs.iter().map(|run| run.cpu_us)) });
    Ok(Row { load, sides })
}
