//! `halite repair`: rebuilds the manifest of a store.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use halite_engine::inspect::{Certainty, RepairReport, Severity, repair};

use super::check::{existing, not_examined};

/// Rebuild the manifest of a store from the newest readable copy, the directories, the store files
/// and the log
///
/// Without --apply, only prints the steps, each with its certainty: certain (backed by durable
/// data), likely (no other explanation fits), lost (cannot be recovered). With --apply, executes
/// them. Replaced files are saved in a directory below halite/, and a second repair finds nothing
/// to do. Foreign files among the files of the store are reported and left alone. Exit code: 0 if
/// nothing was to be done or all was done, 1 if steps remain and --apply is missing, or foreign
/// files must be moved manually, 3 if the directory could not be examined.
#[derive(clap::Args)]
pub(crate) struct RepairArgs {
    /// Directory of the store
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Execute the steps
    #[arg(long)]
    apply: bool,
}

impl RepairArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let repaired = existing(&self.directory).and_then(|env| Ok(repair(&env, self.apply)?));
        match repaired {
            Ok(report) => print(&report),
            Err(error) => Ok(not_examined(&error)),
        }
    }
}

fn print(report: &RepairReport) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    for (severity, text) in &report.left {
        writeln!(out, "left alone, {severity}: {text}")?;
    }
    let is_whole = report.left.iter().all(|(severity, _)| *severity == Severity::Note);
    let done = if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if report.steps.is_empty() {
        writeln!(out, "nothing to repair")?;
        return Ok(done);
    }
    for (certainty, text) in &report.steps {
        writeln!(out, "{certainty}: {text}")?;
    }
    let lost = report.steps.iter().filter(|(certainty, _)| *certainty == Certainty::Lost).count();
    writeln!(out, "{} steps, {lost} of them about what cannot be recovered", report.steps.len())?;
    if let Some(kept) = &report.kept_in {
        writeln!(out, "done; what was replaced is in {kept}; verify the store with: halite check")?;
        return Ok(done);
    }
    writeln!(out, "nothing has been changed; carry it out with --apply")?;
    Ok(ExitCode::FAILURE)
}
