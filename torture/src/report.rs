//! Report of trials, outcomes and findings: counted by all parts, printed once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FindingKind {
    /// An acknowledged write is missing, or data exists that was never written.
    Lost,
    /// Rows are incorrect or missing, or there is damage, without an error.
    Silent,
    /// A wait timed out.
    Hung,
    /// A process exited, or a thread panicked.
    Died,
    /// Any other incorrect behavior.
    Wrong,
}

impl FindingKind {
    const ALL: [Self; 5] = [Self::Lost, Self::Silent, Self::Hung, Self::Died, Self::Wrong];

    fn name(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Silent => "silent",
            Self::Hung => "hung",
            Self::Died => "died",
            Self::Wrong => "wrong",
        }
    }
}

/// Incorrect behavior that was observed.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    part: &'static str,
    kind: FindingKind,
    text: String,
    seed: u64,
    saved_dir: Option<PathBuf>,
}

/// Report shared by all parts.
pub(crate) struct Report {
    begun: Instant,
    seed: u64,
    findings_dir: PathBuf,
    state: Mutex<ReportState>,
}

#[derive(Default)]
struct ReportState {
    counts: BTreeMap<&'static str, BTreeMap<String, u64>>,
    findings: Vec<Finding>,
    skipped: BTreeMap<&'static str, String>,
}

/// Maximum number of findings that are printed; further ones are only counted.
const MAX_SHOWN_FINDINGS: usize = 40;

impl Report {
    /// Creates an empty report. The directories of findings are copied below `findings_dir`.
    pub(crate) fn new(seed: u64, findings_dir: PathBuf) -> Self {
        Self { begun: Instant::now(), seed, findings_dir, state: Mutex::default() }
    }

    /// Adds `several` to the counter `description`.
    pub(crate) fn count(&self, part: &'static str, description: impl Into<String>, several: u64) {
        *self.state().counts.entry(part).or_default().entry(description.into()).or_default() +=
            several;
    }

    /// Records the maximum of a measured value.
    pub(crate) fn largest(&self, part: &'static str, description: &str, value: u64) {
        let mut state = self.state();
        let largest =
            state.counts.entry(part).or_default().entry(description.to_owned()).or_default();
        *largest = value.max(*largest);
    }

    /// Records that a part, or some of it, cannot run here.
    pub(crate) fn skip(&self, part: &'static str, why: String) {
        self.state().skipped.insert(part, why);
    }

    /// Records a finding. `directory` is copied, so that the part can continue.
    pub(crate) fn find(
        &self,
        part: &'static str,
        fault: FindingKind,
        seed: u64,
        directory: Option<&Path>,
        text: impl Into<String>,
    ) {
        let number = self.findings();
        let to = self.findings_dir.join(format!("{part}-{number}"));
        let kept = directory
            .filter(|_| number < MAX_SHOWN_FINDINGS)
            .and_then(|from| copy(from, &to).ok().map(|()| to));
        let finding = Finding { part, kind: fault, text: text.into(), seed, saved_dir: kept };
        println!("FOUND {}", format_finding(&finding));
        self.state().findings.push(finding);
    }

    /// Returns the number of findings.
    pub(crate) fn findings(&self) -> usize {
        self.state().findings.len()
    }

    fn state(&self) -> MutexGuard<'_, ReportState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Formats the report as Markdown.
    pub(crate) fn text(&self) -> String {
        let state = self.state();
        let mut out =
            format!("# Torture\n\nSeed {:#x}, {}.\n\n", self.seed, minutes(self.begun.elapsed()));
        let count = |fault| state.findings.iter().filter(|finding| finding.kind == fault).count();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {} |", FindingKind::ALL.map(FindingKind::name).join(" | "));
        let _ = writeln!(out, "|{}", "---|".repeat(FindingKind::ALL.len()));
        let _ = writeln!(
            out,
            "| {} |\n",
            FindingKind::ALL.map(|fault| count(fault).to_string()).join(" | ")
        );
        for (part, counts) in &state.counts {
            let _ = writeln!(out, "## {part}\n\n| event | count |\n|---|---|");
            for (description, count) in counts {
                let _ = writeln!(out, "| {description} | {count} |");
            }
            out.push('\n');
        }
        for (part, why) in &state.skipped {
            let _ = writeln!(out, "Skipped of {part}: {why}\n");
        }
        if !state.findings.is_empty() {
            out.push_str("## Found\n\n");
            for finding in state.findings.iter().take(MAX_SHOWN_FINDINGS) {
                let _ = writeln!(out, "- {}", format_finding(finding));
            }
            let more = state.findings.len().saturating_sub(MAX_SHOWN_FINDINGS);
            if more > 0 {
                let _ = writeln!(out, "- and {more} more");
            }
        }
        out
    }
}

fn format_finding(finding: &Finding) -> String {
    let Finding { part, kind: fault, text, seed, saved_dir: kept } = finding;
    let kept = kept
        .as_ref()
        .map_or_else(String::new, |path| format!("; the directory is kept in {}", path.display()));
    format!(
        "**{}** ({part}): {}\n  Reproduce with `cargo xtask torture --part {part} --seed \
         {seed:#x}`{kept}",
        fault.name(),
        text.trim_end()
    )
}

fn minutes(time: Duration) -> String {
    format!("{:.1} minutes", time.as_secs_f64() / 60.0)
}

/// Copies a directory recursively.
pub(crate) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else {
            std::fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_contains_counts_findings_and_repeat_command() {
        let report = Report::new(0x2a, PathBuf::from("/no/such/place"));
        report.count("kills", "kills", 2);
        report.count("kills", "kills", 1);
        report.largest("kills", "slowest start, ms", 70);
        report.largest("kills", "slowest start, ms", 30);
        report.skip("full", "no tmpfs".to_owned());
        report.find("kills", FindingKind::Lost, 7, None, "row r is missing\n");
        let text = report.text();
        for part in [
            "Seed 0x2a",
            "| lost | silent | hung | died | wrong |",
            "| 1 | 0 | 0 | 0 | 0 |",
            "| kills | 3 |",
            "| slowest start, ms | 70 |",
            "Skipped of full: no tmpfs",
            "**lost** (kills): row r is missing\n  Reproduce with `cargo xtask torture --part \
             kills --seed 0x7`",
        ] {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
    }
}
