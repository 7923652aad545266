//! `halite` command: parses its arguments, runs a subcommand and maps errors to exit codes.
#![forbid(unsafe_code)]

mod advise;
mod backend;
mod bench;
mod bulkload;
mod cell_sorter;
mod cmd;
mod copy;
mod demo;
mod export;
mod hfile;
mod import;
mod key;
mod open_files;
mod recipe;
mod series;
mod serve;
mod shell;
#[cfg(feature = "sql")]
mod sql;
mod store_place;
mod text_source;
mod text_table;
mod traffic;
mod units;
mod unknown_name;
mod web;
mod wrong_arguments;

use std::io;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};
use wrong_arguments::WrongArguments;

/// Store with HBase's data model on a local disk
#[derive(Parser)]
#[command(name = "halite", version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: cmd::Command,
}

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let cli = Cli::try_parse()
        .unwrap_or_else(|error| unknown_name::suggest(error, Cli::command(), &arguments).exit());
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    });
    match unknown_name::check_variables(variables).and_then(|()| cmd::run(cli.command)) {
        Ok(code) => code,
        // The reader closed the pipe, as `head` does; nothing more can be printed.
        Err(error)
            if error
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) =>
        {
            ExitCode::FAILURE
        }
        Err(error) => report(&error),
    }
}

#[expect(
    clippy::print_stderr,
    reason = "this is where an error reaches the person who typed the command"
)]
fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("halite: {error:#}");
    if error.is::<WrongArguments>() { ExitCode::from(2) } else { ExitCode::FAILURE }
}
