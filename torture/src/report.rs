//! What was tried, what came of it, and what was found: counted by all parts, printed once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What kind of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Something acknowledged is not there, or something is there that nobody wrote.
    Lost,
    /// Rows are wrong or missing, or damage is there, and nothing tells of it.
    Silent,
    /// A wait came to its limit.
    Hung,
    /// A process ended, or a thread panicked.
    Died,
    /// Anything else that must not be.
    Wrong,
}

impl Fault {
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

/// Something that must not be.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    part: &'static str,
    fault: Fault,
    text: String,
    seed: u64,
    kept: Option<PathBuf>,
}

/// Where all parts tell what they do.
pub(crate) struct Report {
    begun: Instant,
    seed: u64,
    found_in: PathBuf,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    counts: BTreeMap<&'static str, BTreeMap<String, u64>>,
    findings: Vec<Finding>,
    skipped: BTreeMap<&'static str, String>,
}

/// Findings that are written out; more are only counted.
const SHOWN_FINDINGS_MAX: usize = 40;

impl Report {
    /// Nothing yet. The directories of findings go below `found_in`.
    pub(crate) fn new(seed: u64, found_in: PathBuf) -> Self {
        Self { begun: Instant::now(), seed, found_in, told: Mutex::default() }
    }

    /// One of what `what` names, or several.
    pub(crate) fn count(&self, part: &'static str, what: impl Into<String>, several: u64) {
        *self.told().counts.entry(part).or_default().entry(what.into()).or_default() += several;
    }

    /// The largest of what has been measured.
    pub(crate) fn largest(&self, part: &'static str, what: &str, value: u64) {
        let mut told = self.told();
        let largest = told.counts.entry(part).or_default().entry(what.to_owned()).or_default();
        *largest = value.max(*largest);
    }

    /// A part, or some of it, cannot run here.
    pub(crate) fn skip(&self, part: &'static str, why: String) {
        self.told().skipped.insert(part, why);
    }

    /// Something that must not be. `directory` is kept; it is copied, so that the part can go on.
    pub(crate) fn find(&self, part: &'static str, fault: Fault, seed: u64, directory: Option<&Path>, text: impl Into<String>) {
        let number = self.findings();
        let to = self.found_in.join(format!("{part}-{number}"));
        let kept = directory.filter(|_| number < SHOWN_FINDINGS_MAX).and_then(|from| copy(from, &to).ok().map(|()| to));
        let finding = Finding { part, fault, text: text.into(), seed, kept };
        println!("FOUND {}", shown(&finding));
        self.told().findings.push(finding);
    }

    /// How many have been found.
    pub(crate) fn findings(&self) -> usize {
        self.told().findings.len()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The whole as Markdown.
    pub(crate) fn text(&self) -> String {
        let told = self.told();
        let mut out = format!("# Torture\n\nSeed {:#x}, {}.\n\n", self.seed, minutes(self.begun.elapsed()));
        let count = |fault| told.findings.iter().filter(|finding| finding.fault == fault).count();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {} |", Fault::ALL.map(Fault::name).join(" | "));
        let _ = writeln!(out, "|{}", "---|".repeat(Fault::ALL.len()));
        let _ = writeln!(out, "| {} |\n", Fault::ALL.map(|fault| count(fault).to_string()).join(" | "));
        for (part, counts) in &told.counts {
            let _ = writeln!(out, "## {part}\n\n| what | how many |\n|---|---|");
            for (what, count) in counts {
                let _ = writeln!(out, "| {what} | {count} |");
            }
            out.push('\n');
        }
        for (part, why) in &told.skipped {
            let _ = writeln!(out, "Skipped of {part}: {why}\n");
        }
        if !told.findings.is_empty() {
            out.push_str("## Found\n\n");
            for finding in told.findings.iter().take(SHOWN_FINDINGS_MAX) {
                let _ = writeln!(out, "- {}", shown(finding));
            }
            let more = told.findings.len().saturating_sub(SHOWN_FINDINGS_MAX);
            if more > 0 {
                let _ = writeln!(out, "- and {more} more");
            }
        }
        out
    }
}

fn shown(finding: &Finding) -> String {
    let Finding { part, fault, text, seed, kept } = finding;
    let kept = kept.as_ref().map_or_else(String::new, |path| format!("; the directory is kept in {}", path.display()));
    format!("**{}** ({part}): {}\n  Repeat with `cargo xtask torture --part {part} --seed {seed:#x}`{kept}", fault.name(), text.trim_end())
}

fn minutes(time: Duration) -> String {
    format!("{:.1} minutes", time.as_secs_f64() / 60.0)
}

/// Copies a directory with all that is in it.
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
    fn a_report_has_what_was_counted_what_was_found_and_how_to_repeat_it() {
        let report = Report::new(0x2a, PathBuf::from("/no/such/place"));
        report.count("kills", "kills", 2);
        report.count("kills", "kills", 1);
        report.largest("kills", "slowest start, ms", 70);
        report.largest("kills", "slowest start, ms", 30);
        report.skip("full", "no tmpfs".to_owned());
        report.find("kills", Fault::Lost, 7, None, "row r is gone\n");
        let text = report.text();
        for part in [
            "Seed 0x2a",
            "| lost | silent | hung | died | wrong |",
            "| 1 | 0 | 0 | 0 | 0 |",
            "| kills | 3 |",
            "| slowest start, ms | 70 |",
            "Skipped of full: no tmpfs",
            "**lost** (kills): row r is gone\n  Repeat with `cargo xtask torture --part kills --seed 0x7`",
        ] {
            assert!(text.contains(part), "{part:?} is not in:\n{text}");
        }
    }
}
