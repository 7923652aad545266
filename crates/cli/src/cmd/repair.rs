//! `halite repair`: a manifest made anew of what there is.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use halite_engine::inspect::{Certainty, RepairReport, Severity, repair};

use super::check::{existing, not_examined};

/// Make the manifest of a store anew, from the newest copy that can be read, the directories, the store files and the log
///
/// Without --apply only the steps are printed, each with how sure it is: certain (something durable says so), likely (it fits nothing else), lost (it
/// cannot be recovered). With --apply they are carried out. What is replaced is kept in a directory below halite/, and a second repair finds nothing to do. What
/// lies among the files of the store and is not its own is left alone and named. Exit code: 0 if nothing was to be done or it was done, 1 if there is something
/// to do and --apply is missing, or something is left for a person to move, 3 if the directory could not be examined.
#[derive(clap::Args)]
pub(crate) struct Repair {
    /// Directory of the store
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Carry the steps out
    #[arg(long)]
    apply: bool,
}

impl Repair {
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
