//! The `halite` command: reads its arguments, runs a subcommand and turns failure into an exit code.
#![forbid(unsafe_code)]

mod bench;
mod cmd;
mod copy;
mod demo;
mod hfile;
mod key;
mod place;
mod series;
mod serve;
mod shell;
mod text_table;
mod units;

use std::io;
use std::process::ExitCode;

use clap::Parser;

/// A store with HBase's data model on a local disk.
#[derive(Parser)]
#[command(name = "halite", version, about, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: cmd::Command,
}

fn main() -> ExitCode {
    match cmd::run(Arguments::parse().command) {
        Ok(code) => code,
        // Who read our output has seen enough, as `head` has: nobody is left to tell.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) => ExitCode::FAILURE,
        Err(error) => report(&error),
    }
}

#[expect(clippy::print_stderr, reason = "this is where an error reaches the person who typed the command")]
fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("halite: {error:#}");
    ExitCode::FAILURE
}
