//! What came of damage: all is right, or it is told, or neither, which must not be.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use halite::{ErrorKind, Put, Store, WalRecovery};
use halite_engine::env::Env;
use halite_engine::inspect::{Certainty, Severity, check, repair};

use super::harm::{Deed, Harm};
use super::template::{Cell, Content, LOOK_AT, Template, cells, content, open, snapshots};
use crate::report::Fault;

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) outcomes: Vec<&'static str>,
    pub(super) findings: Vec<(Fault, String)>,
}

impl Verdict {
    /// One that is a finding.
    pub(super) fn finding(fault: Fault, text: String) -> Self {
        Self { outcomes: Vec::new(), findings: vec![(fault, text)] }
    }

    fn find(&mut self, fault: Fault, text: impl Into<String>) {
        self.findings.push((fault, text.into()));
    }
}

/// Who looks at one damaged store.
pub(super) struct Judge {
    template: Arc<Template>,
    harm: Harm,
    directory: PathBuf,
    rng: fastrand::Rng,
    verdict: Verdict,
}

/// What an opened store says that differs from what is right.
#[derive(Debug, Default, PartialEq, Eq)]
struct Difference {
    /// Cells that nobody wrote.
    strange: Vec<String>,
    /// Cells that are not there, or are there again.
    missing: Vec<String>,
}

impl Judge {
    pub(super) fn new(template: Arc<Template>, harm: Harm, directory: PathBuf, rng: fastrand::Rng) -> Self {
        Self { template, harm, directory, rng, verdict: Verdict::default() }
    }

    /// Checks, opens and reads the store in every way there is.
    pub(super) fn judge(mut self, command: Option<&Path>) -> Verdict {
        let checked = self.check();
        if let Some(program) = command {
            self.ask_the_command(program);
        }
        // A refused store is examined further; an opened one is not what it was any more.
        match open(&self.directory, self.template.options.clone(), 1) {
            Ok(store) => self.opened(store, checked),
            Err(error) => {
                self.refused(&error, checked);
                match self.rng.u32(..3) {
                    0 => self.skip_damage(),
                    1 => self.repair(),
                    _ => {}
                }
            }
        }
        self.verdict
    }

    /// What the check says: true if there is anything that a person has to look at.
    fn check(&mut self) -> bool {
        let report = match Env::os(&self.directory).and_then(|env| check(&env)) {
            Ok(report) => report,
            Err(error) => {
                self.expect_place(&error, "the check");
                return true;
            }
        };
        report.findings.iter().any(|finding| finding.severity > Severity::Note)
    }

    fn refused(&mut self, error: &halite::Error, checked: bool) {
        self.verdict.outcomes.push("told: refused to open");
        self.expect_place(error, "opening");
        if !checked {
            self.verdict.find(Fault::Silent, format!("the check found nothing, and opening fails: {error}"));
        }
        if !matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NewerFormat | ErrorKind::InvalidRequest | ErrorKind::Unsupported) {
            self.verdict.find(Fault::Wrong, format!("opening fails with {:?}: {error}", error.kind()));
        }
    }

    /// A clear error names a file or directory of the store.
    fn expect_place(&mut self, error: &halite::Error, what: &str) {
        if !error.message().contains(&*self.directory.to_string_lossy()) && !error.message().contains(self.name()) {
            self.verdict.find(Fault::Wrong, format!("{what} fails and names no file: {error}"));
        }
    }

    fn name(&self) -> &str {
        self.harm.file.rsplit('/').next().unwrap_or(&self.harm.file)
    }

    fn opened(&mut self, store: Store, checked: bool) {
        let report = store.report();
        let told = !report.cuts.is_empty() || report.unlogged_files > 0;
        let nonces: BTreeSet<u64> = store.engine().take_replayed_nonces().into_iter().map(|nonce| nonce.number).collect();
        let read = match content(&store) {
            Ok(read) => read,
            Err(error) => return self.failed_to_read(&store, &error, checked),
        };
        let difference = self.compare(&read);
        self.weigh(&difference, told, "");
        if nonces != self.template.nonces && !told {
            let lost: Vec<_> = self.template.nonces.difference(&nonces).collect();
            if self.may_lose_nonces() {
                self.verdict.outcomes.push("not knowable: nonces in a file that is gone");
            } else {
                self.verdict.find(Fault::Silent, format!("nonces are not as they were; {} are lost", lost.len()));
            }
        }
        if difference != Difference::default() {
            return;
        }
        if self.rng.u32(..3) == 0 {
            self.look_at_snapshots(&store);
        }
        if self.rng.u32(..3) == 0 {
            self.go_on(store);
        }
    }

    /// A read failed. What can be read besides has to be right.
    fn failed_to_read(&mut self, store: &Store, error: &halite::Error, checked: bool) {
        self.verdict.outcomes.push("told: a read failed");
        self.expect_place(error, "reading");
        if error.kind() != ErrorKind::Corrupt && error.kind() != ErrorKind::NewerFormat {
            self.verdict.find(Fault::Wrong, format!("reading fails with {:?}: {error}", error.kind()));
        }
        if !checked {
            self.verdict.find(Fault::Silent, format!("the check found nothing, and reading fails: {error}"));
        }
        for (table, right) in &self.template.content {
            if let Ok(cells) = cells(store, table, halite::Scan::all().all_versions())
                && &cells != right
            {
                self.verdict.find(Fault::Silent, format!("table {table}, whose reading succeeds beside a failed one, is not right"));
            }
        }
    }

    /// What of the store's content is not what it should be.
    fn compare(&self, read: &Content) -> Difference {
        let mut difference = Difference::default();
        let template = &self.template;
        let shown = |table: &str, (row, family, qualifier, timestamp, value): &Cell| {
            let of = |bytes: &[u8]| halite::print_bytes(&bytes[..bytes.len().min(40)]);
            format!("{table} {}/{}:{}@{timestamp}={}", of(row), of(family), of(qualifier), of(value))
        };
        // Clones of snapshots that were looked at do not count.
        for (table, cells) in read.iter().filter(|(table, _)| !table.starts_with(LOOK_AT)) {
            let right = template.content.get(table).map(|cells| cells.iter().collect::<BTreeSet<_>>()).unwrap_or_default();
            for cell in cells.iter().filter(|cell| !right.contains(cell)) {
                let was_written = template.written.contains(&(table.clone(), cell.0.clone(), cell.1.clone(), cell.2.clone(), cell.4.clone()));
                let list = if was_written { &mut difference.missing } else { &mut difference.strange };
                list.push(format!("{}{}", if was_written { "again " } else { "" }, shown(table, cell)));
            }
        }
        for (table, right) in &template.content {
            let cells = read.get(table).map(|cells| cells.iter().collect::<BTreeSet<_>>()).unwrap_or_default();
            difference.missing.extend(right.iter().filter(|cell| !cells.contains(cell)).map(|cell| shown(table, cell)));
            if !read.contains_key(table) && right.is_empty() {
                difference.missing.push(format!("table {table}"));
            }
        }
        difference
    }

    /// Whether a difference may be.
    fn weigh(&mut self, difference: &Difference, told: bool, how: &str) {
        let Difference { strange, missing } = difference;
        if !strange.is_empty() {
            self.verdict.find(Fault::Lost, format!("{how}{} cells that nobody wrote: {}", strange.len(), strange[0]));
        } else if missing.is_empty() {
            self.verdict.outcomes.push(if told { "told, and nothing is missing" } else { "harmless: all rows are right" });
        } else if told {
            self.verdict.outcomes.push("told: cells are missing");
        } else if self.is_not_knowable() {
            self.verdict.outcomes.push("not knowable: an end of the log is gone as a whole");
        } else {
            let how_many = missing.len();
            self.verdict.find(Fault::Silent, format!("{how}{how_many} cells are missing or there again, and nothing says so: {}", missing[0]));
        }
    }

    /// The limits that docs/formats/wal.md names: the oldest or the newest segments are missing as whole files, or the newest groups read as the
    /// room behind them does.
    fn is_not_knowable(&self) -> bool {
        let [oldest, newest] = self.template.outer_segments.each_ref().map(|segment| segment.as_deref() == Some(self.name()));
        match &self.harm.deed {
            Deed::Remove | Deed::Rename { .. } => oldest || newest,
            Deed::Fill { with: 0, .. } => newest,
            _ => false,
        }
    }

    fn may_lose_nonces(&self) -> bool {
        matches!(self.harm.class(), "nonces") && matches!(self.harm.deed, Deed::Remove | Deed::Rename { .. }) || self.is_not_knowable()
    }

    fn look_at_snapshots(&mut self, store: &Store) {
        match snapshots(store) {
            Ok(snapshots) if snapshots == self.template.snapshots => {}
            Ok(_) => self.verdict.find(Fault::Silent, "a snapshot does not contain what it did, and nothing says so"),
            Err(error) => {
                self.verdict.outcomes.push("told: a snapshot cannot be read");
                self.expect_place(&error, "cloning a snapshot");
            }
        }
    }

    /// The store is written to, closed and opened again; what was right stays right.
    fn go_on(&mut self, store: Store) {
        let Some(table) = self.template.content.keys().find(|name| store.table(name).is_ok()).cloned() else { return };
        let written = store.table(&table).and_then(|table| {
            let family = table.descriptor().families().next().map(|family| family.name().clone()).unwrap_or_default();
            table.put(Put::new("zz-later").add(family, "q", "later"))
        });
        let closed = written.and_then(|()| store.close());
        let again = closed.and_then(|()| open(&self.directory, self.template.options.clone(), 2)).and_then(|store| content(&store));
        match again {
            Ok(mut read) => {
                if let Some(cells) = read.get_mut(&table) {
                    let before = cells.len();
                    cells.retain(|(row, ..)| row != "zz-later");
                    if cells.len() == before {
                        self.verdict.find(Fault::Lost, "what was written after the damage is gone after a clean end");
                    }
                }
                let difference = self.compare(&read);
                if difference != Difference::default() {
                    self.verdict.find(Fault::Silent, format!("all was right, and is not any more after a clean end: {difference:?}"));
                }
            }
            Err(error) => {
                self.verdict.outcomes.push("told: a write, a clean end or the next opening failed");
                self.expect_place(&error, "going on");
            }
        }
    }

    /// Opening as one who prefers what is left to nothing.
    fn skip_damage(&mut self) {
        let mut options = self.template.options.clone();
        options.wal_recovery = WalRecovery::SkipDamaged;
        let Ok(store) = open(&self.directory, options, 3) else { return };
        let told = !store.report().cuts.is_empty() || store.report().unlogged_files > 0;
        self.verdict.outcomes.push("opened without the damaged bytes");
        if let Ok(read) = content(&store) {
            let difference = self.compare(&read);
            self.weigh(&difference, told, "with skip-damaged: ");
        }
    }

    /// A repair, and what it promises.
    fn repair(&mut self) {
        let Ok(env) = Env::os(&self.directory) else { return };
        let planned = match repair(&env, false) {
            Ok(planned) => planned,
            Err(error) => return self.expect_place(&error, "the repair"),
        };
        let done = match repair(&env, true) {
            Ok(done) => done,
            Err(error) => return self.verdict.find(Fault::Wrong, format!("a repair that could be planned fails: {error}")),
        };
        if planned.steps != done.steps {
            self.verdict.find(Fault::Wrong, format!("a repair does something else than it said: {:?}, {:?}", planned.steps, done.steps));
        }
        self.verdict.outcomes.push("repaired");
        let is_sure = done.steps.iter().all(|(certainty, _)| *certainty == Certainty::Certain);
        // A damaged log stays as it is.
        let Ok(store) = open(&self.directory, self.template.options.clone(), 4) else { return };
        self.verdict.outcomes.push("opened after a repair");
        let told = !is_sure || !store.report().cuts.is_empty() || store.report().unlogged_files > 0;
        if let Ok(read) = content(&store) {
            let difference = self.compare(&read);
            self.weigh(&difference, told, "after a repair: ");
        }
    }

    /// The same through the built command, on a copy.
    fn ask_the_command(&mut self, program: &Path) {
        let copy = self.directory.with_extension("asked");
        if let Err(error) = crate::report::copy(&self.directory, &copy) {
            return self.verdict.find(Fault::Wrong, format!("copying: {error}"));
        }
        self.verdict.outcomes.push("asked the built command as well");
        match crate::served::run(program, "check", &copy) {
            Ok(output) if !matches!(output.status.code(), Some(0 | 1 | 3)) => {
                self.verdict.find(Fault::Died, format!("halite check ended with {}", output.status));
            }
            Ok(_) => {}
            Err(text) => self.verdict.find(Fault::Hung, text),
        }
        let right = &self.template.content;
        let script = right.keys().map(|name| format!("count '{name}'")).collect::<Vec<_>>().join("\n") + "\n";
        let mut shell = Command::new(program);
        shell.args(["shell", "-n", "--data"]).arg(&copy).env_remove("HALITE_DATA");
        let output = halite_patience::Program::start_with(&mut shell, script).and_then(|shell| shell.wait(crate::served::END_LIMIT));
        match output {
            Ok(output) if output.status.success() && output.stderr.is_empty() => {
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                let counts: Vec<usize> = said.lines().filter_map(|line| line.strip_suffix(" row(s)")?.parse().ok()).collect();
                let rows = |cells: &Vec<Cell>| cells.iter().map(|cell| &cell.0).collect::<BTreeSet<_>>().len();
                let wanted: Vec<usize> = right.values().map(rows).collect();
                if counts != wanted && !self.is_not_knowable() {
                    self.verdict.find(Fault::Silent, format!("halite shell counts {counts:?} rows of {wanted:?} and says nothing:\n{said}"));
                }
            }
            Ok(output) if output.status.code().is_none_or(|code| code > 2) => {
                self.verdict.find(Fault::Died, format!("halite shell ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
            }
            Ok(_) => {}
            Err(text) => self.verdict.find(Fault::Hung, text),
        }
        // It goes with the directory of the turn if it cannot be removed now.
        let _ = std::fs::remove_dir_all(&copy);
    }
}
