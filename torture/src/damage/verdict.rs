//! Outcome of damage: all data is correct, or the damage is reported, or neither, which is a
//! finding.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use halite::{ErrorKind, Put, Store, WalRecovery};
use halite_engine::env::Env;
use halite_engine::inspect::{Certainty, Severity, check, repair};

use super::file_damage::{DamageKind, FileDamage};
use super::template::{CLONE_PREFIX, Cell, Content, Template, cells, content, open, snapshots};
use crate::report::FindingKind;

/// Outcome of one trial.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) outcomes: Vec<&'static str>,
    pub(super) findings: Vec<(FindingKind, String)>,
}

impl Verdict {
    /// Returns a verdict with one finding.
    pub(super) fn finding(fault: FindingKind, text: String) -> Self {
        Self { outcomes: Vec::new(), findings: vec![(fault, text)] }
    }

    fn find(&mut self, fault: FindingKind, text: impl Into<String>) {
        self.findings.push((fault, text.into()));
    }
}

/// Judge of one damaged store.
pub(super) struct Judge {
    template: Arc<Template>,
    damage: FileDamage,
    directory: PathBuf,
    rng: fastrand::Rng,
    verdict: Verdict,
}

/// Difference between an opened store and the expected contents.
#[derive(Debug, Default, PartialEq, Eq)]
struct Difference {
    /// Cells that were never written.
    unexpected: Vec<String>,
    /// Missing cells, and deleted ones that reappeared.
    missing: Vec<String>,
}

impl Judge {
    pub(super) fn new(
        template: Arc<Template>,
        damage: FileDamage,
        directory: PathBuf,
        rng: fastrand::Rng,
    ) -> Self {
        Self { template, damage, directory, rng, verdict: Verdict::default() }
    }

    /// Checks, opens and reads the store in every available way.
    pub(super) fn judge(mut self, command: Option<&Path>) -> Verdict {
        let checked = self.check();
        if let Some(program) = command {
            self.run_command(program);
        }
        // A rejected store is examined further; opening changes a store.
        match open(&self.directory, self.template.options.clone(), 1) {
            Ok(store) => self.check_opened(store, checked),
            Err(error) => {
                self.check_refusal(&error, checked);
                match self.rng.u32(..3) {
                    0 => self.skip_damage(),
                    1 => self.repair(),
                    _ => {}
                }
            }
        }
        self.verdict
    }

    /// Runs the check. Returns `true` if a finding needs an operator.
    fn check(&mut self) -> bool {
        let report = match Env::os(&self.directory).and_then(|env| check(&env)) {
            Ok(report) => report,
            Err(error) => {
                self.expect_location(&error, "the check");
                return true;
            }
        };
        report.findings.iter().any(|finding| finding.severity > Severity::Note)
    }

    fn check_refusal(&mut self, error: &halite::Error, checked: bool) {
        self.verdict.outcomes.push("reported: open rejected");
        self.expect_location(error, "opening");
        if !checked {
            self.verdict.find(
                FindingKind::Silent,
                format!("the check found nothing, but opening fails: {error}"),
            );
        }
        if !matches!(
            error.kind(),
            ErrorKind::Corrupt
                | ErrorKind::NewerFormat
                | ErrorKind::InvalidRequest
                | ErrorKind::Unsupported
        ) {
            self.verdict.find(
                FindingKind::Wrong,
                format!("opening fails with {:?}: {error}", error.kind()),
            );
        }
    }

    /// Verifies that an error names a file or directory of the store.
    fn expect_location(&mut self, error: &halite::Error, what: &str) {
        if !error.message().contains(&*self.directory.to_string_lossy())
            && !error.message().contains(self.name())
        {
            self.verdict
                .find(FindingKind::Wrong, format!("{what} fails without naming a file: {error}"));
        }
    }

    fn name(&self) -> &str {
        self.damage.file.rsplit('/').next().unwrap_or(&self.damage.file)
    }

    fn check_opened(&mut self, store: Store, checked: bool) {
        let report = store.open_report();
        let is_reported = !report.wal_truncations.is_empty() || report.unlogged_files > 0;
        let nonces: BTreeSet<u64> =
            store.engine().take_replayed_nonces().into_iter().map(|nonce| nonce.number).collect();
        let read = match content(&store) {
            Ok(read) => read,
            Err(error) => return self.check_read_failure(&store, &error, checked),
        };
        let difference = self.compare(&read);
        self.judge_difference(&difference, is_reported, "");
        if nonces != self.template.nonces && !is_reported {
            let lost: Vec<_> = self.template.nonces.difference(&nonces).collect();
            if self.may_lose_nonces() {
                self.verdict.outcomes.push("undetectable: nonces in a missing file");
            } else {
                self.verdict
                    .find(FindingKind::Silent, format!("nonces changed; {} are lost", lost.len()));
            }
        }
        if difference != Difference::default() {
            return;
        }
        if self.rng.u32(..3) == 0 {
            self.check_snapshots(&store);
        }
        if self.rng.u32(..3) == 0 {
            self.continue_after_opening(store);
        }
    }

    /// Handles a failed read. All other readable data must be correct.
    fn check_read_failure(&mut self, store: &Store, error: &halite::Error, checked: bool) {
        self.verdict.outcomes.push("reported: a read failed");
        self.expect_location(error, "reading");
        if error.kind() != ErrorKind::Corrupt && error.kind() != ErrorKind::NewerFormat {
            self.verdict.find(
                FindingKind::Wrong,
                format!("reading fails with {:?}: {error}", error.kind()),
            );
        }
        if !checked {
            self.verdict.find(
                FindingKind::Silent,
                format!("the check found nothing, but reading fails: {error}"),
            );
        }
        for (table, right) in &self.template.content {
            if let Ok(cells) = cells(store, table, halite::Scan::all().all_versions())
                && &cells != right
            {
                self.verdict.find(
                    FindingKind::Silent,
                    format!(
                        "table {table}, which is read successfully next to a failed table, has \
                         wrong rows"
                    ),
                );
            }
        }
    }

    /// Returns the difference between the contents of the store and the expected ones.
    fn compare(&self, read: &Content) -> Difference {
        let mut difference = Difference::default();
        let template = &self.template;
        let shown = |table: &str, (row, family, qualifier, timestamp, value): &Cell| {
            let of = |bytes: &[u8]| halite::to_string_binary(&bytes[..bytes.len().min(40)]);
            format!(
                "{table} {}/{}:{}@{timestamp}={}",
                of(row),
                of(family),
                of(qualifier),
                of(value)
            )
        };
        // Clones that were created to read snapshots do not count.
        for (table, cells) in read.iter().filter(|(table, _)| !table.starts_with(CLONE_PREFIX)) {
            let right = template
                .content
                .get(table)
                .map(|cells| cells.iter().collect::<BTreeSet<_>>())
                .unwrap_or_default();
            for cell in cells.iter().filter(|cell| !right.contains(cell)) {
                let was_written = template.written.contains(&(
                    table.clone(),
                    cell.0.clone(),
                    cell.1.clone(),
                    cell.2.clone(),
                    cell.4.clone(),
                ));
                let list =
                    if was_written { &mut difference.missing } else { &mut difference.unexpected };
                list.push(format!(
                    "{}{}",
                    if was_written { "again " } else { "" },
                    shown(table, cell)
                ));
            }
        }
        for (table, right) in &template.content {
            let cells = read
                .get(table)
                .map(|cells| cells.iter().collect::<BTreeSet<_>>())
                .unwrap_or_default();
            difference.missing.extend(
                right.iter().filter(|cell| !cells.contains(cell)).map(|cell| shown(table, cell)),
            );
            if !read.contains_key(table) && right.is_empty() {
                difference.missing.push(format!("table {table}"));
            }
        }
        difference
    }

    /// Judges if a difference is allowed.
    fn judge_difference(&mut self, difference: &Difference, is_reported: bool, how: &str) {
        let Difference { unexpected: strange, missing } = difference;
        if !strange.is_empty() {
            self.verdict.find(
                FindingKind::Lost,
                format!("{how}{} cells that were never written: {}", strange.len(), strange[0]),
            );
        } else if missing.is_empty() {
            self.verdict.outcomes.push(if is_reported {
                "reported, and no cell is missing"
            } else {
                "harmless: all rows are correct"
            });
        } else if is_reported {
            self.verdict.outcomes.push("reported: cells are missing");
        } else if self.is_undetectable() {
            self.verdict.outcomes.push("undetectable: the end of the log is missing completely");
        } else {
            let how_many = missing.len();
            self.verdict.find(
                FindingKind::Silent,
                format!(
                    "{how}{how_many} cells are missing or reappeared without a report: {}",
                    missing[0]
                ),
            );
        }
    }

    /// Returns `true` for the limits stated in docs/formats/wal.md: the oldest or the newest
    /// segments are missing as whole files, or the newest groups read like the preallocated space
    /// after them.
    fn is_undetectable(&self) -> bool {
        let [oldest, newest] = self
            .template
            .outer_segments
            .each_ref()
            .map(|segment| segment.as_deref() == Some(self.name()));
        match &self.damage.kind {
            DamageKind::Remove | DamageKind::Rename { .. } => oldest || newest,
            DamageKind::Fill { with: 0, .. } => newest,
            _ => false,
        }
    }

    fn may_lose_nonces(&self) -> bool {
        matches!(self.damage.class(), "nonces")
            && matches!(self.damage.kind, DamageKind::Remove | DamageKind::Rename { .. })
            || self.is_undetectable()
    }

    fn check_snapshots(&mut self, store: &Store) {
        match snapshots(store) {
            Ok(snapshots) if snapshots == self.template.snapshots => {}
            Ok(_) => self
                .verdict
                .find(FindingKind::Silent, "the content of a snapshot changed without a report"),
            Err(error) => {
                self.verdict.outcomes.push("reported: a snapshot cannot be read");
                self.expect_location(&error, "cloning a snapshot");
            }
        }
    }

    /// Writes to the store, closes it and opens it again; correct data must stay correct.
    fn continue_after_opening(&mut self, store: Store) {
        let Some(table) =
            self.template.content.keys().find(|name| store.table(name.as_str()).is_ok()).cloned()
        else {
            return;
        };
        let written = store.table(&table).and_then(|table| {
            let family = table
                .descriptor()?
                .families()
                .next()
                .map(|family| family.name().clone())
                .unwrap_or_default();
            table.put(Put::new("zz-later").add(family, "q", "later"))
        });
        let closed = written.and_then(|()| store.close());
        let again = closed
            .and_then(|()| open(&self.directory, self.template.options.clone(), 2))
            .and_then(|store| content(&store));
        match again {
            Ok(mut read) => {
                if let Some(cells) = read.get_mut(&table) {
                    let before = cells.len();
                    cells.retain(|(row, ..)| row != "zz-later");
                    if cells.len() == before {
                        self.verdict.find(
                            FindingKind::Lost,
                            "writes after the damage are missing after a clean shutdown",
                        );
                    }
                }
                let difference = self.compare(&read);
                if difference != Difference::default() {
                    self.verdict.find(
                        FindingKind::Silent,
                        format!("correct rows changed after a clean shutdown: {difference:?}"),
                    );
                }
            }
            Err(error) => {
                self.verdict
                    .outcomes
                    .push("reported: a write, a clean shutdown or the next open failed");
                self.expect_location(&error, "going on");
            }
        }
    }

    /// Opens the store in the mode that skips damage.
    fn skip_damage(&mut self) {
        let mut options = self.template.options.clone();
        options.wal_recovery = WalRecovery::SkipDamaged;
        let Ok(store) = open(&self.directory, options, 3) else { return };
        let is_reported = !store.open_report().wal_truncations.is_empty()
            || store.open_report().unlogged_files > 0;
        self.verdict.outcomes.push("opened without the damaged bytes");
        if let Ok(read) = content(&store) {
            let difference = self.compare(&read);
            self.judge_difference(&difference, is_reported, "with skip-damaged: ");
        }
    }

    /// Repairs the store and verifies the promises of the repair.
    fn repair(&mut self) {
        let Ok(env) = Env::os(&self.directory) else { return };
        let planned = match repair(&env, false) {
            Ok(planned) => planned,
            Err(error) => return self.expect_location(&error, "the repair"),
        };
        let done = match repair(&env, true) {
            Ok(done) => done,
            Err(error) => {
                return self
                    .verdict
                    .find(FindingKind::Wrong, format!("a planned repair fails: {error}"));
            }
        };
        if planned.steps != done.steps {
            self.verdict.find(
                FindingKind::Wrong,
                format!("a repair differs from its plan: {:?}, {:?}", planned.steps, done.steps),
            );
        }
        self.verdict.outcomes.push("repaired");
        let is_sure = done.steps.iter().all(|(certainty, _)| *certainty == Certainty::Certain);
        // A damaged log stays as it is.
        let Ok(store) = open(&self.directory, self.template.options.clone(), 4) else { return };
        self.verdict.outcomes.push("opened after a repair");
        let is_reported = !is_sure
            || !store.open_report().wal_truncations.is_empty()
            || store.open_report().unlogged_files > 0;
        if let Ok(read) = content(&store) {
            let difference = self.compare(&read);
            self.judge_difference(&difference, is_reported, "after a repair: ");
        }
    }

    /// Runs the built command on a copy.
    fn run_command(&mut self, program: &Path) {
        let copy = self.directory.with_extension("asked");
        if let Err(error) = crate::report::copy(&self.directory, &copy) {
            return self.verdict.find(FindingKind::Wrong, format!("copying: {error}"));
        }
        self.verdict.outcomes.push("also checked with the built command");
        match crate::served::run(program, "check", &copy) {
            Ok(output) if !matches!(output.status.code(), Some(0 | 1 | 3)) => {
                self.verdict
                    .find(FindingKind::Died, format!("halite check exited with {}", output.status));
            }
            Ok(_) => {}
            Err(text) => self.verdict.find(FindingKind::Hung, text),
        }
        let right = &self.template.content;
        let script =
            right.keys().map(|name| format!("count '{name}'")).collect::<Vec<_>>().join("\n")
                + "\n";
        let mut shell = Command::new(program);
        shell.args(["shell", "-n", "--data"]).arg(&copy).env_remove("HALITE_DATA");
        let output = halite_patience::Program::start_with(&mut shell, script)
            .and_then(|shell| shell.wait(crate::served::END_LIMIT));
        match output {
            Ok(output) if output.status.success() && output.stderr.is_empty() => {
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                let counts: Vec<usize> = said
                    .lines()
                    .filter_map(|line| line.strip_suffix(" row(s)")?.parse().ok())
                    .collect();
                let rows = |cells: &Vec<Cell>| {
                    cells.iter().map(|cell| &cell.0).collect::<BTreeSet<_>>().len()
                };
                let wanted: Vec<usize> = right.values().map(rows).collect();
                if counts != wanted && !self.is_undetectable() {
                    self.verdict.find(
                        FindingKind::Silent,
                        format!(
                            "halite shell counts {counts:?} rows of {wanted:?} without a report:\n\
                             {said}"
                        ),
                    );
                }
            }
            Ok(output) if output.status.code().is_none_or(|code| code > 2) => {
                self.verdict.find(
                    FindingKind::Died,
                    format!(
                        "halite shell exited with {}: {}",
                        output.status,
                        String::from_utf8_lossy(&output.stderr)
                    ),
                );
            }
            Ok(_) => {}
            Err(text) => self.verdict.find(FindingKind::Hung, text),
        }
        // If it cannot be removed now, it is removed with the directory of the turn.
        let _ = std::fs::remove_dir_all(&copy);
    }
}
