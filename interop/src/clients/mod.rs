//! Clients that others wrote, let loose on `halite serve`: what they say of it must be what they say of HBase.
//!
//! What they say of HBase is kept in `testdata/clients`. `--record` writes it anew, from an HBase that is started for it; `--verify`
//! compares that HBase with what is kept.

pub(crate) mod child;
pub(crate) mod cluster;
pub(crate) mod java;
mod masks;
pub(crate) mod programs;
pub(crate) mod server;
mod tools;
mod transcript;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use crate::Result;
use programs::{APART, IN_TURN, Program, Surroundings};
use server::Server;

/// Which server is asked, and what becomes of the answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Halite's are compared with those kept.
    Compare,
    /// HBase's are compared with those kept.
    Control,
    /// HBase's are kept.
    Record,
}

impl Mode {
    /// From the command line; nothing means to compare.
    pub(crate) fn named(name: Option<&str>) -> Result<Self> {
        match name {
            None => Ok(Self::Compare),
            Some("--verify") => Ok(Self::Control),
            Some("--record") => Ok(Self::Record),
            Some(other) => Err(format!("{other:?} is neither --verify nor --record")),
        }
    }
}

/// Runs every client against one server.
///
/// # Errors
/// If a client fails, or says something else than it said of HBase.
pub(crate) fn check(halite: &Path, jars: &Path, work: &Path, mode: Mode, only: &[String]) -> Result<()> {
    let names = || IN_TURN.iter().chain(&APART).map(|program| program.name);
    if let Some(unknown) = only.iter().find(|name| !names().any(|known| known == *name)) {
        return Err(format!("there is no client {unknown:?}; there are {}", names().collect::<Vec<_>>().join(", ")));
    }
    let server = started(halite, jars, work, mode)?;
    let around = |lane: &str| surroundings(jars, &work.join(lane), server.zookeeper);
    let (first, second) = (around("in-turn")?, around("apart")?);
    let mut problems = thread::scope(|scope| {
        let apart = scope.spawn(|| lane(&APART, &second, mode, only));
        let mut problems = lane(&IN_TURN, &first, mode, only);
        problems.extend(apart.join().unwrap_or_else(|_| vec!["a thread that ran clients broke off".to_string()]));
        problems
    });
    if mode == Mode::Compare {
        problems.extend(server.stop().err());
    }
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() { Ok(()) } else { Err(format!("{} of the clients are not content; what they said stands above", problems.len())) }
}

/// What tools of HBase do with a server, and, if it is Halite, what is left after a crash.
pub(crate) fn check_tools(halite: &Path, jars: &Path, work: &Path, mode: Mode) -> Result<()> {
    let server = started(halite, jars, work, mode)?;
    let around = surroundings(jars, work, server.zookeeper)?;
    tools::row_counter(&around)?;
    tools::load_test(&around)?;
    if mode != Mode::Compare {
        return Ok(());
    }
    server.stop()?;
    tools::crash(halite, jars, work)
}

fn started(halite: &Path, jars: &Path, work: &Path, mode: Mode) -> Result<Server> {
    match mode {
        Mode::Compare => Server::ephemeral(halite, work),
        Mode::Control | Mode::Record => Server::hbase(&jars.join("hbase-2.6.4"), work, "1g"),
    }
}

pub(crate) fn surroundings(jars: &Path, work: &Path, zookeeper: u16) -> Result<Surroundings> {
    fs::create_dir_all(work).map_err(|error| format!("{}: {error}", work.display()))?;
    Ok(Surroundings { jars: jars.to_path_buf(), work: PathBuf::from(work), zookeeper })
}

/// Runs some clients one after the other; returns what is wrong with each that is not content.
fn lane(programs: &[Program], around: &Surroundings, mode: Mode, only: &[String]) -> Vec<String> {
    let wanted = programs.iter().filter(|program| only.is_empty() || only.iter().any(|name| name == program.name));
    wanted.filter_map(|program| one(program, around, mode).err().map(|error| format!("{}: {error}", program.name))).collect()
}

fn one(program: &Program, around: &Surroundings, mode: Mode) -> Result<()> {
    let start = Instant::now();
    let said = (program.run)(around, program.name)?;
    let lines = said.lines().count();
    if mode == Mode::Record {
        transcript::record(program.name, &said)?;
    } else {
        let known = if mode == Mode::Compare { transcript::known()? } else { Vec::new() };
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
