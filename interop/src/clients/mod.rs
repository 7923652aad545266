//! Third-party clients on `halite serve`: their output must equal their output on HBase.
//!
//! The output on HBase is stored in `testdata/clients`. `--record` rewrites it, from an HBase that
//! is started for it; `--verify` compares that HBase with the stored output.

pub(crate) mod child;
pub(crate) mod cluster;
pub(crate) mod java;
mod normalize;
pub(crate) mod programs;
pub(crate) mod server;
mod tools;
mod transcript;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use crate::Result;
use programs::{CONCURRENT, ClientEnv, Program, SEQUENTIAL};
use server::Server;

/// Server to run on, and use of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Compares Halite's output with the stored one.
    Compare,
    /// Compares HBase's output with the stored one.
    Verify,
    /// Stores HBase's output.
    Record,
}

impl Mode {
    /// Parses the mode from the command line; the default is to compare.
    pub(crate) fn from_name(name: Option<&str>) -> Result<Self> {
        match name {
            None => Ok(Self::Compare),
            Some("--verify") => Ok(Self::Verify),
            Some("--record") => Ok(Self::Record),
            Some(other) => Err(format!("unknown option {other:?}: expected --verify or --record")),
        }
    }
}

/// Runs every client against one server.
///
/// # Errors
/// Returns an error if a client fails, or its output differs from that on HBase.
pub(crate) fn check(
    halite: &Path,
    jars: &Path,
    work: &Path,
    mode: Mode,
    only: &[String],
) -> Result<()> {
    let names = || SEQUENTIAL.iter().chain(&CONCURRENT).map(|program| program.name);
    if let Some(unknown) = only.iter().find(|name| !names().any(|known| known == *name)) {
        return Err(format!(
            "unknown client {unknown:?}; expected one of {}",
            names().collect::<Vec<_>>().join(", ")
        ));
    }
    let server = start_server(halite, jars, work, mode)?;
    let around = |directory: &str| client_env(jars, &work.join(directory), server.zookeeper);
    let (first, second) = (around("in-turn")?, around("apart")?);
    let mut problems = thread::scope(|scope| {
        let apart = scope.spawn(|| run_clients(&CONCURRENT, &second, mode, only));
        let mut problems = run_clients(&SEQUENTIAL, &first, mode, only);
        problems
            .extend(apart.join().unwrap_or_else(|_| vec!["a client thread panicked".to_string()]));
        problems
    });
    if mode == Mode::Compare {
        problems.extend(server.stop().err());
    }
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(format!("{} clients failed; their output is above", problems.len()))
    }
}

/// Runs HBase's tools on a server, and, for Halite, checks the data after a crash.
pub(crate) fn check_tools(halite: &Path, jars: &Path, work: &Path, mode: Mode) -> Result<()> {
    let server = start_server(halite, jars, work, mode)?;
    let around = client_env(jars, work, server.zookeeper)?;
    tools::row_counter(&around)?;
    tools::load_test(&around)?;
    if mode != Mode::Compare {
        return Ok(());
    }
    server.stop()?;
    tools::crash(halite, jars, work)
}

fn start_server(halite: &Path, jars: &Path, work: &Path, mode: Mode) -> Result<Server> {
    match mode {
        Mode::Compare => Server::ephemeral(halite, work),
        Mode::Verify | Mode::Record => Server::hbase(&jars.join("hbase-2.6.4"), work, "1g"),
    }
}

pub(crate) fn client_env(jars: &Path, work: &Path, zookeeper: u16) -> Result<ClientEnv> {
    fs::create_dir_all(work).map_err(|error| format!("{}: {error}", work.display()))?;
    Ok(ClientEnv { jars: jars.to_path_buf(), work: PathBuf::from(work), zookeeper })
}

/// Runs some clients one after the other. Returns the failures.
fn run_clients(
    programs: &[Program],
    around: &ClientEnv,
    mode: Mode,
    only: &[String],
) -> Vec<String> {
    let wanted = programs
        .iter()
        .filter(|program| only.is_empty() || only.iter().any(|name| name == program.name));
    wanted
        .filter_map(|program| {
            run_client(program, around, mode)
                .err()
                .map(|error| format!("{}: {error}", program.name))
        })
        .collect()
}

fn run_client(program: &Program, around: &ClientEnv, mode: Mode) -> Result<()> {
    let start = Instant::now();
    let said = (program.run)(around, program.name)?;
    let lines = said.lines().count();
    if mode == Mode::Record {
        transcript::record(program.name, &said)?;
    } else {
        let known =
            if mode == Mode::Compare { transcript::known_differences()? } else { Vec::new() };
        transcript::compare(program.name, &said, &known)?;
    }
    println!(
        "{}: {lines} lines {} ({:.1} s)",
        program.name,
        if mode == Mode::Record { "recorded" } else { "as with HBase" },
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
