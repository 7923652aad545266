//! Subcommands, one module each.

mod advise;
mod bench;
mod bulkload;
mod check;
mod copy;
mod demo;
mod explain;
mod export;
mod hfile;
mod import;
pub(crate) mod key;
mod lab;
#[cfg(feature = "pg")]
mod pg_user;
mod recipe;
mod repair;
pub(crate) mod series;
mod serve;
mod shell;
#[cfg(feature = "sql")]
mod sql;
mod traffic;
mod ui;

use std::process::ExitCode;

/// Subcommand of `halite`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Advise(advise::AdviseArgs),
    Bench(bench::BenchArgs),
    Bulkload(bulkload::BulkloadArgs),
    Check(check::CheckArgs),
    Copy(copy::CopyArgs),
    Demo(demo::DemoArgs),
    Explain(explain::ExplainArgs),
    Export(export::ExportArgs),
    Hfile(hfile::HfileArgs),
    Import(import::ImportArgs),
    Key(key::KeyArgs),
    Lab(lab::LabArgs),
    Recipe(recipe::RecipeArgs),
    #[cfg(feature = "pg")]
    PgUser(pg_user::PgUserArgs),
    Repair(repair::RepairArgs),
    Series(series::SeriesArgs),
    Serve(serve::ServeArgs),
    Shell(shell::ShellArgs),
    #[cfg(feature = "sql")]
    Sql(sql::SqlArgs),
    Traffic(traffic::TrafficArgs),
    Ui(ui::UiArgs),
}

/// Runs a subcommand and returns the exit code of the process.
///
/// # Errors
/// Returns a human-readable error if the subcommand fails.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Advise(advise) => advise.run(),
        Command::Bench(bench) => bench.run(),
        Command::Bulkload(bulkload) => bulkload.run(),
        Command::Check(check) => check.run(),
        Command::Copy(copy) => copy.run(),
        Command::Demo(demo) => demo.run(),
        Command::Explain(explain) => explain.run(),
        Command::Export(export) => export.run(),
        Command::Hfile(hfile) => hfile.run(),
        Command::Import(import) => import.run(),
        Command::Key(key) => key.run(),
        Command::Lab(lab) => lab.run(),
        Command::Recipe(recipe) => recipe.run(),
        #[cfg(feature = "pg")]
        Command::PgUser(user) => user.run(),
        Command::Repair(repair) => repair.run(),
        Command::Series(series) => series.run(),
        Command::Serve(serve) => serve.run(),
        Command::Shell(shell) => shell.run(),
        #[cfg(feature = "sql")]
        Command::Sql(sql) => sql.run(),
        Command::Traffic(traffic) => traffic.run(),
        Command::Ui(ui) => ui.run(),
    }
}
