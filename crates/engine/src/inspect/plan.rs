//! Repair plan: the manifest that matches the directory's contents. It is based on the newest
//! readable generation. If something in the directory is newer, the directories, the store files
//! and the log determine the rest.

use std::collections::BTreeMap;
use std::fmt;

use halite_types::schema::{DEFAULT_NAMESPACE, SYSTEM_NAMESPACE};
use halite_types::{Error, RegionInfo, Result};

use super::metadata_files::{self, FileMismatch};
use super::planner::{LoggedWrites, Planner};
use super::scan::DiskScan;
use super::state::ManifestState;
use super::{Severity, apply, expect_store, lock};
use crate::catalog::{Catalog, NamespaceEntry, RegionEntry, layout};
use crate::engine::coverage::RegionCoverage;
use crate::engine::obsolete_files;
use crate::env::{Env, FileKind};
use crate::wal;

/// Certainty of a repair step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Proven by durable data.
    Certain,
    /// The only interpretation that matches the directory, without proof.
    Likely,
    /// Something cannot be recovered, or not by a repair.
    Lost,
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Lost => "lost",
        })
    }
}

/// Report of a repair, executed or planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Steps with their certainty; empty if there is nothing to repair.
    pub steps: Vec<(Certainty, String)>,
    /// Path and generation of the manifest that the new one is based on.
    pub based_on: Option<(String, u64)>,
    /// Foreign entries among the store's files that are left unchanged, with their severity.
    pub left: Vec<(Severity, String)>,
    /// Directory with the replaced files.
    pub kept_in: Option<String>,
    /// True if the repair was executed.
    pub is_applied: bool,
}

/// Rebuilds the manifest if it or the files it references are damaged, from the newest readable
/// generation, the directories, the store files and the log. With `apply` the repair is executed,
/// and replaced files are retained.
///
/// # Errors
/// Nothing has been changed in these cases. `Locked` if a process has the store open;
/// `NewerFormat`, `Unsupported` for a manifest or store file of a newer program, which is not
/// damaged; `InvalidRequest` for a directory without a store; `Corrupt` if there is nothing to
/// start from; the file system's error.
pub fn repair(env: &Env, apply: bool) -> Result<RepairReport> {
    expect_store(env)?;
    let held = lock(env)?;
    let plan = RepairPlan::make(env)?;
    let mut report = plan.report.clone();
    // Checked before the lock file is created; afterwards the entry is a file.
    let lock = metadata_files::kind(env, layout::LOCK)?.filter(|kind| *kind != FileKind::File);
    if let Some(kind) = lock {
        report.steps.insert(
            0,
            (
                Certainty::Certain,
                format!("{} is {kind}, expected a file: it is moved aside", layout::LOCK),
            ),
        );
    }
    if apply && !report.steps.is_empty() {
        report.kept_in = Some(apply::apply_plan(env, held, &plan, lock.is_some())?);
        report.is_applied = true;
    }
    Ok(report)
}

/// Repair plan.
pub(super) struct RepairPlan {
    pub(super) report: RepairReport,
    pub(super) catalog: Catalog,
    /// Files to move to the paths in the manifest.
    pub(super) moves: Vec<(String, String)>,
    /// Files to move out of the way.
    pub(super) aside: Vec<String>,
    /// Regions created to fill gaps.
    pub(super) new_regions: Vec<RegionInfo>,
    /// Small files to rewrite.
    pub(super) small: Vec<FileMismatch>,
    /// True if some writes of the log belong to no region.
    pub(super) keeps_wal: bool,
}

impl RepairPlan {
    pub(super) fn make(env: &Env) -> Result<Self> {
        let state = ManifestState::read(env)?;
        state.expect_damage_only()?;
        let scan = DiskScan::read(env)?;
        let written = scan.most_common_store();
        let is_known = |id: &[u8; 16]| {
            state.readable().any(|(_, catalog)| catalog.store_id == *id) || written == Some(*id)
        };
        let store_id = state
            .named_id
            .filter(is_known)
            .or(written)
            .or_else(|| Some(state.newest(None)?.1.store_id))
            .or(state.named_id);
        let Some(store_id) = store_id else {
            let text = format!(
                "{} contains no readable manifest, store file or hbase.id, so no manifest can be \
                 rebuilt; restore the directory from a copy",
                env.fs.root()
            );
            return Err(Error::corrupt(text));
        };
        let base = state.newest(Some(store_id));
        let known = base.iter().flat_map(|(_, catalog)| catalog.tables.values());
        let known: BTreeMap<u64, &RegionEntry> =
            known.flat_map(|table| &table.regions).map(|region| (region.number, region)).collect();
        let covered = |number: u64| {
            known.get(&number).map(|region| RegionCoverage::of_files(region)).unwrap_or_default()
        };
        let mut logged: BTreeMap<u64, LoggedWrites> = BTreeMap::new();
        let segments = wal::inspect(env, store_id, |write| {
            let region = logged
                .entry(write.region)
                .or_insert_with(|| LoggedWrites { writes: 0, covered: covered(write.region) });
            region.writes += 1;
            region.covered.record(write.sequence);
        })?;
        let report = RepairReport {
            based_on: base.as_ref().map(|(path, catalog)| (path.clone(), catalog.generation)),
            ..RepairReport::default()
        };
        let catalog =
            base.as_ref().map_or_else(|| empty(store_id), |(_, catalog)| (*catalog).clone());
        let plan = Self {
            report,
            catalog,
            moves: Vec::new(),
            aside: Vec::new(),
            new_regions: Vec::new(),
            small: Vec::new(),
            keeps_wal: false,
        };
        let mut planner = Planner {
            env,
            scan: &scan,
            store_id,
            base: base.as_ref().map(|(_, catalog)| *catalog),
            logged,
            plan,
        };
        planner.begin(&state, base.as_ref().map(|(path, _)| path.as_str()));
        planner.files_and_tables(&state);
        for segment in segments.iter().filter(|segment| segment.damage.is_some()) {
            let text = format!(
                "log segment {}: {}; the repair does not change it; the next open reports the \
                 options",
                segment.path,
                segment.damage.as_deref().unwrap_or("")
            );
            planner.add_step(Certainty::Lost, text);
        }
        let mut plan = planner.plan;
        plan.add_metadata_steps(env)?;
        let highest = scan
            .files()
            .filter_map(|file| file.own(store_id))
            .map(|facts| facts.generation)
            .max()
            .unwrap_or(0);
        let of_store = state.newest(Some(store_id)).map_or(0, |(_, catalog)| catalog.generation);
        plan.catalog.generation = state.highest(store_id).max(highest).max(of_store) + 1;
        // Quarantined files stay until the repaired store has been closed.
        plan.catalog.checkpoint = 0;
        plan.left(env)?;
        Ok(plan)
    }

    /// Adds the steps other than those for the manifest and the store files.
    fn add_metadata_steps(&mut self, env: &Env) -> Result<()> {
        for odd in metadata_files::unexpected_entries(env, &self.catalog)?
            .into_iter()
            .filter(|odd| odd.path != layout::HALITE)
        {
            self.report.steps.push((
                Certainty::Certain,
                format!(
                    "{} is {}, expected {}: it is moved aside",
                    odd.path, odd.actual, odd.expected
                ),
            ));
            self.aside.push(odd.path);
        }
        let log = metadata_files::kind(env, wal::DIRECTORY)?;
        if log.is_none() || self.aside.iter().any(|path| path == wal::DIRECTORY) {
            let text = format!(
                "{} is recreated: writes stored only in the log are lost, none after a clean close",
                wal::DIRECTORY
            );
            self.report.steps.push((Certainty::Lost, text));
        }
        self.small = metadata_files::mismatches(env, &self.catalog)?;
        self.report.steps.extend(self.small.iter().map(|fault| {
            (Certainty::Certain, format!("{} is recreated: {}", fault.path, fault.why))
        }));
        Ok(())
    }

    /// Reports entries that a repair does not move, because they may be foreign.
    fn left(&mut self, env: &Env) -> Result<()> {
        let is_there = env.fs.exists(layout::DATA).map_err(|error| {
            Error::io(format!("checking for {}/{}", env.fs.root(), layout::DATA), error)
        })?;
        let is_dealt_with = |path: &String| {
            self.aside.contains(path) || self.moves.iter().any(|(from, _)| from == path)
        };
        let foreign = if is_there && !self.aside.iter().any(|path| path == layout::DATA) {
            obsolete_files::find_obsolete_files(env, &self.catalog)?.foreign
        } else {
            Vec::new()
        };
        let in_data = foreign
            .into_iter()
            .filter(|path| !is_dealt_with(path))
            .map(|path| format!("{path} is not a file of this store; move it away"));
        let nameless = metadata_files::nameless(env)
            .into_iter()
            .map(|path| format!("{path} has a name that is not UTF-8"));
        let in_log = if self.aside.iter().any(|path| path == wal::DIRECTORY) {
            Vec::new()
        } else {
            wal::inspect_foreign(env)?
        };
        let in_the_way = in_data
            .chain(in_log.into_iter().map(|(_, text)| text))
            .map(|text| (Severity::Error, text));
        self.report.left = in_the_way.chain(nameless.map(|text| (Severity::Note, text))).collect();
        Ok(())
    }
}

/// Returns a catalog without tables.
fn empty(store_id: [u8; 16]) -> Catalog {
    let namespaces = [DEFAULT_NAMESPACE, SYSTEM_NAMESPACE]
        .map(|name| (name.to_owned(), NamespaceEntry::default()));
    Catalog { store_id, namespaces: BTreeMap::from(namespaces), ..Catalog::default() }
}
