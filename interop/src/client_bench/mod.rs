//! Comparison of the Rust client with gohbase and HBase's own asynchronous client: the same work on
//! the same server, Halite and a real HBase.
//!
//! Each measurement runs in a separate process, which warms up, works for some seconds, and prints
//! the number of rows and the CPU time. Client and server share the machine's cores, so rates also
//! depend on the server; the CPU time of a client does not.

mod arguments;
mod programs;
mod table;

use std::path::Path;

use crate::Result;
use crate::bench::{HBASE_HEAP, machine, median};
use crate::clients::client_env;
use crate::clients::server::Server;
use arguments::Arguments;
use programs::{Program, Programs, RunMetrics};
use table::Row;

pub(crate) use arguments::HELP;

/// Workload and number of callers.
pub(super) struct ClientLoad {
    pub(super) workload: &'static str,
    pub(super) callers: u32,
    pub(super) title: &'static str,
}

pub(super) const LOADS: [ClientLoad; 9] = [
    ClientLoad { workload: "get", callers: 1, title: "get, 1 caller" },
    ClientLoad { workload: "get", callers: 8, title: "get, 8 callers" },
    ClientLoad { workload: "get", callers: 64, title: "get, 64 callers" },
    ClientLoad { workload: "put", callers: 1, title: "put, 1 caller" },
    ClientLoad { workload: "put", callers: 8, title: "put, 8 callers" },
    ClientLoad { workload: "put", callers: 64, title: "put, 64 callers" },
    ClientLoad { workload: "gets", callers: 1, title: "100 gets at once" },
    ClientLoad { workload: "puts", callers: 1, title: "100 puts at once" },
    ClientLoad { workload: "scan", callers: 1, title: "scan of all rows" },
];

/// Runs every load with every client on both servers, in turn, and prints the medians.
///
/// # Errors
/// Returns an error if a server does not start or a client fails.
pub(crate) fn run(halite: &Path, jars: &Path, work: &Path, rest: &[String]) -> Result<()> {
    let arguments = Arguments::read(rest)?;
    let ours =
        halite.parent().ok_or("the program path has no parent directory")?.join("examples/load");
    println!("{}", machine());
    for name in ["Halite", "HBase"].into_iter().filter(|name| arguments.should_run_server(name)) {
        let server = match name {
            "Halite" => Server::ephemeral(halite, work)?,
            _ => Server::hbase(&jars.join("hbase-2.6.4"), work, HBASE_HEAP)?,
        };
        let programs =
            Programs::build(&ours, client_env(jars, work, server.zookeeper)?, &arguments)?;
        println!("{name}: filling a table with {} rows", arguments.rows);
        programs.prepare()?;
        let rows = LOADS
            .iter()
            .filter(|load| arguments.should_run(load.workload))
            .map(|load| measure(load, &programs, &arguments));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        println!(
            "\non {name}, medians of {} runs of {} s\n\n{}",
            arguments.runs,
            arguments.seconds,
            table::markdown(&rows)
        );
    }
    Ok(())
}

fn measure(load: &'static ClientLoad, programs: &Programs, arguments: &Arguments) -> Result<Row> {
    let mut runs: [Vec<RunMetrics>; 3] = Default::default();
    for _ in 0..arguments.runs {
        for (program, runs) in Program::ALL.into_iter().zip(&mut runs) {
            let metrics = programs.run(program, load)?;
            println!("  {:18} {:8} {metrics}", load.title, program.name());
            runs.push(metrics);
        }
    }
    let sides = runs.map(|runs| RunMetrics {
        rate: median(runs.iter().map(|run| run.rate)),
        cpu_us: median(runs.iter().map(|run| run.cpu_us)),
    });
    Ok(Row { load, metrics: sides })
}
