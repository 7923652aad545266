//! The subcommands, one file each.

mod bench;
mod check;
mod copy;
mod demo;
mod hfile;
pub(crate) mod key;
mod lab;
mod repair;
pub(crate) mod series;
mod serve;
mod shell;

use std::process::ExitCode;

/// What `halite` can do.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Bench(bench::BenchCommand),
    Check(check::Check),
    Copy(copy::Copy),
    Demo(demo::Demo),
    Hfile(hfile::Hfile),
    Key(key::Key),
    Lab(lab::LabCommand),
    Repair(repair::Repair),
    Series(series::SeriesCommand),
    Serve(serve::Serve),
    Shell(shell::Shell),
}

/// Runs a subcommand; the code is the process's own.
///
/// # Errors
/// Whatever stopped it, in words for the person at the terminal.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Bench(bench) => bench.run(),
        Command::Check(check) => check.run(),
        Command::Copy(copy) => copy.run(),
        Command::Demo(demo) => demo.run(),
        Command::Hfile(hfile) => hfile.run(),
        Command::Key(key) => key.run(),
        Command::Lab(lab) => lab.run(),
        Command::Repair(repair) => repair.run(),
        Command::Series(series) => series.run(),
        Command::Serve(serve) => serve.run(),
        Command::Shell(shell) => shell.run(),
    }
}
