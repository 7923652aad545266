//! `halite check`: verifies the directory of a store.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use halite_engine::env::Env;
use halite_engine::inspect::{CheckReport, Severity, check};

use crate::text_table::{grouped, size};

/// Exit code if the directory could not be checked; its state is unknown.
pub(super) const NOT_EXAMINED: u8 = 3;

/// Check the directory of a store: its manifest, every file with its checksums, the log, foreign
/// files
///
/// Changes nothing, and rejects a store that a process has open. Prints one line per finding: error
/// (the store does not open, or data is damaged or missing), warning (needs attention), note (the
/// next opening fixes it). Exit code: 0 without errors and warnings, 1 with any, 3 if the directory
/// could not be checked.
#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// Directory of the store
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl CheckArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let checked = existing(&self.directory).and_then(|env| Ok(check(&env)?));
        match checked {
            Ok(report) => print(&report),
            Err(error) => Ok(not_examined(&error)),
        }
    }
}

/// Returns the environment of a directory, which must exist.
///
/// # Errors
/// Returns an error if it does not exist.
pub(super) fn existing(directory: &std::path::Path) -> anyhow::Result<Env> {
    anyhow::ensure!(
        directory.is_dir(),
        "there is no directory {}; give that of a store",
        directory.display()
    );
    Ok(Env::os(directory)?)
}

#[expect(
    clippy::print_stderr,
    reason = "this is where an error reaches the person who typed the command"
)]
pub(super) fn not_examined(error: &anyhow::Error) -> ExitCode {
    eprintln!("halite: {error:#}");
    ExitCode::from(NOT_EXAMINED)
}

fn print(report: &CheckReport) -> anyhow::Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    for finding in &report.findings {
        writeln!(out, "{}: {}", finding.severity, finding.text)?;
    }
    let generation = report.generation.map_or_else(
        || "no readable manifest".to_owned(),
        |generation| format!("manifest of generation {generation}"),
    );
    writeln!(
        out,
        "{generation}; {} tables, {} regions, {} snapshots; {} store files with {} cells, {}; {} \
         log segments with {} writes; {} files in the quarantine",
        grouped(report.tables),
        grouped(report.regions),
        grouped(report.snapshots),
        grouped(report.files),
        grouped(report.cells),
        size(report.file_bytes),
        grouped(report.wal_segments),
        grouped(report.wal_writes),
        grouped(report.quarantined_files)
    )?;
    let count =
        |severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    writeln!(
        out,
        "{}",
        if errors + warnings == 0 {
            "sound".to_owned()
        } else {
            format!("{errors} errors, {warnings} warnings")
        }
    )?;
    Ok(if errors + warnings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
