//! Repair plan: the manifest that matches the directory's contents. It is based on the newest
//! readable generation. If something in the directory is newer, the directories, the store files
//! and the log determine the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use halite_types::schema::{DEFAULT_NAMESPACE, SYSTEM_NAMESPACE};
use halite_types::{
    Bytes, Error, FamilyDescriptor, RegionInfo, Result, TableDescriptor, TableName,
};

use super::metadata_files::{self, FileMismatch};
use super::regions::{ChosenRegion, choose};
use super::scan::{DiskFile, DiskFileKind, DiskScan, DiskTable, FileLocation, FileProperties};
use super::state::ManifestState;
use super::{Severity, apply, expect_store, lock};
use crate::catalog::{
    Catalog, FileEntry, FileOrigin, NamespaceEntry, RegionEntry, TableEntry, layout,
};
use crate::engine::obsolete_files::SequenceCoverage;
use crate::engine::{obsolete_files, quarantine};
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

/// Writes of one region in the log.
struct LoggedWrites {
    writes: u64,
    covered: SequenceCoverage,
}

struct Planner<'a> {
    env: &'a Env,
    scan: &'a DiskScan,
    store_id: [u8; 16],
    base: Option<&'a Catalog>,
    logged: BTreeMap<u64, LoggedWrites>,
    plan: RepairPlan,
}

/// Known files of a family of a region.
struct FamilyInput<'a> {
    /// True if the manifest does not contain the region.
    is_new: bool,
    /// True if files may be newer than the manifest.
    is_outdated: bool,
    /// Files in the manifest.
    known: Vec<FileEntry>,
    /// Files on the disk.
    files: &'a [&'a DiskFile],
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
        let flushed =
            base.as_ref().map(|(_, catalog)| catalog.flushed_sequences()).unwrap_or_default();
        let covered = |number: u64| SequenceCoverage {
            flushed: flushed.get(&number).copied().unwrap_or(0),
            logged: None,
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

impl Planner<'_> {
    fn add_step(&mut self, certainty: Certainty, text: String) {
        self.plan.report.steps.push((certainty, text));
    }

    /// Adds the step for the manifest itself.
    fn begin(&mut self, state: &ManifestState, based_on: Option<&str>) {
        let is_sound = matches!(&state.manifest, Some(Ok(_))) && based_on == Some(layout::MANIFEST);
        match (based_on, self.base) {
            _ if is_sound => {}
            (Some(path), Some(base)) => {
                let certainty = if base.generation >= state.highest(self.store_id) {
                    Certainty::Certain
                } else {
                    Certainty::Likely
                };
                self.add_step(
                    certainty,
                    format!("the manifest is rebuilt from {path}, generation {}", base.generation),
                );
            }
            _ => {
                let text = "no generation of the manifest can be read: tables, regions and files \
                            are read from the directories; snapshots, settings and the properties \
                            of namespaces are lost";
                self.add_step(Certainty::Lost, text.to_owned());
            }
        }
    }

    /// Returns `true` if something in the directory is newer than the base.
    fn is_outdated(&self, state: &ManifestState) -> bool {
        let Some(base) = self.base else { return true };
        let newest_region = self.logged.keys().next_back().copied().unwrap_or(0);
        let newer_file = || {
            self.scan
                .files()
                .filter(|file| file.location != FileLocation::Quarantine)
                .filter_map(|file| file.own(self.store_id))
                .any(|facts| facts.generation > base.generation)
        };
        state.highest(self.store_id) > base.generation
            || newest_region > base.next_region
            || newer_file()
    }

    fn files_and_tables(&mut self, state: &ManifestState) {
        let is_outdated = self.is_outdated(state);
        if is_outdated && self.base.is_some() {
            self.add_step(
                Certainty::Likely,
                "the directory contains newer changes than that manifest: snapshots, settings and \
                 namespaces may be older than the rest"
                    .into(),
            );
        }
        for namespace in self.scan.namespaces.iter().filter(|_| is_outdated) {
            self.plan.catalog.namespaces.entry(namespace.clone()).or_default();
        }
        let names: BTreeSet<TableName> = self
            .plan
            .catalog
            .tables
            .keys()
            .chain(self.scan.tables.keys().filter(|_| is_outdated))
            .cloned()
            .collect();
        let mut unnumbered = Vec::new();
        for name in names {
            let known = self.plan.catalog.tables.remove(&name);
            let disk = self.scan.tables.get(&name);
            if let Some(entry) = self.table(&name, known, disk, is_outdated, &mut unnumbered) {
                self.plan.catalog.tables.insert(name, entry);
            }
        }
        self.make_way();
        self.number(&unnumbered);
    }

    fn table(
        &mut self,
        name: &TableName,
        known: Option<TableEntry>,
        disk: Option<&DiskTable>,
        is_outdated: bool,
        unnumbered: &mut Vec<String>,
    ) -> Option<TableEntry> {
        let is_there = disk.is_some_and(|disk| disk.is_there);
        if is_outdated && !is_there {
            if known.is_some() {
                self.add_step(
                    Certainty::Likely,
                    format!(
                        "table {name} has no directory: it was dropped after that manifest was \
                         written, and is omitted"
                    ),
                );
            }
            return None;
        }
        let on_disk = disk
            .and_then(|disk| disk.descriptor.clone())
            .filter(|(descriptor, _)| descriptor.name() == name);
        let (descriptor, version) = match (&known, on_disk) {
            (Some(entry), Some((descriptor, version)))
                if is_outdated && version > entry.version =>
            {
                self.add_step(
                    Certainty::Likely,
                    format!(
                        "table {name} is restored from its descriptor of version {version} in \
                         .tabledesc"
                    ),
                );
                (Arc::new(descriptor), version)
            }
            (Some(entry), _) => (Arc::clone(&entry.descriptor), entry.version),
            (None, Some((descriptor, version))) => {
                self.add_step(
                    Certainty::Likely,
                    format!("table {name} is restored from its directory"),
                );
                (Arc::new(descriptor), version)
            }
            (None, None) => {
                let descriptor = descriptor_of_directories(name, disk?)?;
                self.add_step(
                    Certainty::Lost,
                    format!(
                        "table {name} has no readable descriptor: its families are restored from \
                         their directories, with default attributes"
                    ),
                );
                (Arc::new(descriptor), 1)
            }
        };
        let enabled = known.as_ref().is_none_or(|entry| entry.enabled);
        let disabled_for =
            known.as_ref().map(|entry| entry.disabled_for.clone()).unwrap_or_default();
        let known = known.map(|entry| entry.regions).unwrap_or_default();
        let chosen = if is_outdated {
            self.choose(name, &known, disk)
        } else {
            known
                .into_iter()
                .map(|entry| ChosenRegion { info: Arc::clone(&entry.info), known: Some(entry) })
                .collect()
        };
        let regions = chosen
            .into_iter()
            .map(|chosen| self.region(chosen, disk, &descriptor, is_outdated, unnumbered))
            .collect();
        Some(TableEntry { descriptor, enabled, disabled_for, version, regions })
    }

    fn choose(
        &mut self,
        name: &TableName,
        known: &[RegionEntry],
        disk: Option<&DiskTable>,
    ) -> Vec<ChosenRegion> {
        let choice = choose(known, disk, self.store_id);
        for info in &choice.replaced {
            self.add_step(
                Certainty::Likely,
                format!(
                    "region {} is replaced by newer regions: it was split, merged or truncated",
                    info.display_name()
                ),
            );
        }
        let mut regions = choice.regions;
        for (start, end) in choice.gaps {
            let newest = regions.iter().map(|region| region.info.region_id).max().unwrap_or(0);
            let info = layout::new_region(name, start, end, newest + 1);
            self.add_step(
                Certainty::Lost,
                format!(
                    "table {name} has no region for the rows of {}: an empty region is created",
                    info.display_name()
                ),
            );
            self.plan.new_regions.push(info.clone());
            regions.push(ChosenRegion { info: Arc::new(info), known: None });
        }
        regions.sort_by(|a, b| a.info.start.cmp(&b.info.start));
        regions
    }

    /// Returns the entry of a region with its files.
    fn region(
        &mut self,
        chosen: ChosenRegion,
        disk: Option<&DiskTable>,
        descriptor: &TableDescriptor,
        is_outdated: bool,
        unnumbered: &mut Vec<String>,
    ) -> RegionEntry {
        let ChosenRegion { info, known } = chosen;
        let on_disk = disk.and_then(|disk| disk.regions.get(&info.encoded_name));
        let own = on_disk.map(|region| &region.files[..]).unwrap_or_default();
        let is_new = known.is_none();
        if is_new && !self.plan.new_regions.contains(&info) {
            self.add_step(
                Certainty::Likely,
                format!("region {} is restored from its directory", info.display_name()),
            );
        }
        let mut entry = known.unwrap_or_else(|| RegionEntry {
            info: Arc::clone(&info),
            number: own
                .iter()
                .filter_map(|file| file.own(self.store_id)?.number)
                .max()
                .or(on_disk.and_then(|region| region.number))
                .unwrap_or(0),
            flushed_sequence: 0,
            families: BTreeMap::new(),
            parents: Vec::new(),
        });
        if entry.number == 0 {
            unnumbered.push(info.encoded_name.clone());
        }
        let elsewhere = in_other_regions(self.scan, self.store_id, entry.number, own);
        for family in descriptor.families() {
            let directory = layout::family_directory_name(family.name());
            let files: Vec<&DiskFile> = own
                .iter()
                .chain(elsewhere.iter().copied())
                .filter(|file| file.family == directory)
                .collect();
            let known = entry.families.remove(family.name()).unwrap_or_default();
            let found = self.family(
                &entry,
                family.name(),
                FamilyInput { is_new, is_outdated, known, files: &files },
            );
            if !found.is_empty() {
                entry.families.insert(family.name().clone(), found);
            }
        }
        entry.families.retain(|family, _| descriptor.find_family(family).is_some());
        entry
    }

    /// Returns the files of a family: existing files of the manifest, and newer files, except those
    /// that were merged into others.
    fn family(
        &mut self,
        region: &RegionEntry,
        family: &Bytes,
        given: FamilyInput<'_>,
    ) -> Vec<FileEntry> {
        let FamilyInput { is_new, is_outdated, known, files } = given;
        let is_named = |name: &str| known.iter().any(|entry| entry.name == name);
        let mut more: Vec<(FileEntry, &DiskFile, bool)> = Vec::new();
        for file in files.iter().filter(|file| !is_named(&file.name)) {
            if let Some((entry, from_quarantine)) = self.newer(region, is_new, file, is_outdated)
                && !more.iter().any(|(other, _, _)| other.name == entry.name)
            {
                more.push((entry, file, from_quarantine));
            }
        }
        let merged: BTreeSet<String> = {
            let named = files
                .iter()
                .filter(|file| file.location != FileLocation::Quarantine && is_named(&file.name));
            let own = named
                .copied()
                .chain(more.iter().map(|(_, file, _)| *file))
                .filter_map(|file| file.own(self.store_id));
            own.flat_map(|facts| facts.compacted_from.iter().cloned()).collect()
        };
        let mut kept: Vec<FileEntry> = Vec::new();
        for entry in known {
            // A manifest references both only if nothing is outdated.
            if is_outdated && merged.contains(&entry.name) {
                self.add_step(
                    Certainty::Likely,
                    format!(
                        "{} was merged into a newer file",
                        entry.local_origin(&region.info, family).path()
                    ),
                );
            } else if self.is_usable(region, family, &entry) {
                kept.push(entry);
            }
        }
        for (entry, file, from_quarantine) in
            more.into_iter().filter(|(entry, _, _)| !merged.contains(&entry.name))
        {
            let home = entry.local_origin(&region.info, family).path();
            let why = if from_quarantine {
                "is restored from the quarantine: neither the log nor another file contains its \
                 cells"
            } else {
                "is newer than the manifest"
            };
            self.add_step(Certainty::Likely, format!("{home} {why}"));
            if file.path != home {
                self.plan.moves.push((file.path.clone(), home));
            }
            kept.push(entry);
        }
        kept
    }

    /// Returns the entry of a file that belongs to the region and is not in the manifest. The flag
    /// is `true` if the file is in the quarantine.
    fn newer(
        &self,
        region: &RegionEntry,
        is_new: bool,
        file: &DiskFile,
        is_outdated: bool,
    ) -> Option<(FileEntry, bool)> {
        let own = FileEntry::local(file.name.clone());
        match (&file.kind, file.location) {
            (DiskFileKind::Own(facts), place)
                if facts.store_id == self.store_id && place != FileLocation::Archive =>
            {
                let is_newer = place == FileLocation::Data
                    && is_outdated
                    && (is_new || self.base.is_none_or(|base| facts.generation >= base.generation));
                let is_alone = self.is_nowhere_else(region, file, facts);
                (is_newer || is_alone).then_some((own, place == FileLocation::Quarantine))
            }
            (DiskFileKind::Loaded(sequence), FileLocation::Quarantine)
                if quarantine::is_unlogged(&file.path) =>
            {
                Some((FileEntry { loaded_sequence: Some(*sequence), ..own }, true))
            }
            (DiskFileKind::Loaded(sequence), FileLocation::Data) if is_outdated => {
                Some((FileEntry { loaded_sequence: Some(*sequence), ..own }, false))
            }
            (DiskFileKind::Linked(target), FileLocation::Data) if is_outdated && is_new => {
                let of = FileEntry {
                    loaded_sequence: layout::loaded_sequence_of(&target.name),
                    ..FileEntry::local(target.name.clone())
                };
                Some((of.linked(file.name.clone(), target.clone()), false))
            }
            _ => None,
        }
    }

    /// Returns `true` if a flush wrote the file and neither the manifest nor the log covers all of
    /// its cells. Also `true` if an opening has determined this.
    fn is_nowhere_else(
        &self,
        region: &RegionEntry,
        file: &DiskFile,
        facts: &FileProperties,
    ) -> bool {
        let covered = self.logged.get(&region.number).map_or(
            SequenceCoverage { flushed: region.flushed_sequence, logged: None },
            |logged| logged.covered,
        );
        let is_alone = || {
            facts.compacted_from.is_empty()
                && covered.lacks(self.env, &file.path, facts.newest_cell)
        };
        quarantine::is_unlogged(&file.path) || is_alone()
    }

    /// Returns `true` if the file of a manifest entry can be used; searches the archive and the
    /// quarantine, too.
    fn is_usable(&mut self, region: &RegionEntry, family: &Bytes, entry: &FileEntry) -> bool {
        let home = entry.origin(&region.info, family);
        let directory = layout::family_directory_name(family);
        let files = self
            .scan
            .tables
            .get(&home.table)
            .and_then(|table| table.regions.get(&home.region))
            .map(|region| &region.files);
        let mut found: Vec<&DiskFile> = files
            .into_iter()
            .flatten()
            .filter(|file| file.family == directory && file.name == home.name)
            .collect();
        found.sort_by_key(|file| file.location);
        let stood_for = if entry.target.is_some() {
            format!(", referenced by {}", entry.local_origin(&region.info, family).path())
        } else {
            String::new()
        };
        let Some(file) = found.iter().find(|file| !matches!(file.kind, DiskFileKind::Damaged(_)))
        else {
            if self.is_elsewhere(&home) {
                return true;
            }
            match found.first() {
                Some(DiskFile {
                    kind: DiskFileKind::Damaged(why), path, location: place, ..
                }) => {
                    self.add_step(
                        Certainty::Lost,
                        format!(
                            "store file {path}{stood_for} cannot be opened ({why}): it is moved \
                             aside, and its cells are lost"
                        ),
                    );
                    if *place != FileLocation::Quarantine && !self.plan.aside.contains(path) {
                        self.plan.aside.push(path.clone());
                    }
                }
                _ => self.add_step(
                    Certainty::Lost,
                    format!(
                        "store file {}{stood_for} is missing: its cells are lost unless the file \
                         is restored from a copy",
                        home.path()
                    ),
                ),
            }
            return false;
        };
        let belongs_here = entry.target.is_none();
        let is_at_home =
            file.path == home.path() || (file.location == FileLocation::Archive && !belongs_here);
        if !is_at_home {
            let step = (file.path.clone(), home.path());
            if !self.plan.moves.contains(&step) {
                self.add_step(
                    Certainty::Certain,
                    format!("{} is moved back to {}: the manifest references it", step.0, step.1),
                );
                self.plan.moves.push(step);
            }
        }
        true
    }

    /// Returns `true` if a file with this origin is at another path, in a renamed directory or
    /// under another file's name. Adds a step that moves it back.
    fn is_elsewhere(&mut self, home: &FileOrigin) -> bool {
        let scan = self.scan;
        let found = scan.files().filter(|file| {
            file.location != FileLocation::Archive && file.was_written_as(self.store_id, &home.name)
        });
        let Some(file) = found.min_by_key(|file| (file.location, &file.path)) else { return false };
        let step = (file.path.clone(), home.path());
        if !self.plan.moves.contains(&step) {
            self.add_step(
                Certainty::Certain,
                format!(
                    "{} is moved back to {}: it was written under that name, and the manifest \
                     references it",
                    step.0, step.1
                ),
            );
            self.plan.moves.push(step);
        }
        true
    }

    /// Adds steps that move files aside that are at the destination of a move and are not moved
    /// themselves.
    fn make_way(&mut self) {
        let moves = &self.plan.moves;
        let is_in_the_way = |file: &&DiskFile| {
            moves.iter().any(|(_, to)| *to == file.path)
                && !moves.iter().any(|(from, _)| *from == file.path)
        };
        let aside: Vec<String> =
            self.scan.files().filter(is_in_the_way).map(|file| file.path.clone()).collect();
        for path in
            aside.into_iter().filter(|path| !self.plan.aside.contains(path)).collect::<Vec<_>>()
        {
            self.add_step(
                Certainty::Certain,
                format!("{path} replaces another file and is moved aside"),
            );
            self.plan.aside.push(path);
        }
        let moves = &self.plan.moves;
        self.plan.aside.retain(|path| !moves.iter().any(|(from, _)| from == path));
    }

    /// Allocates numbers for regions without a known number, and reports writes in the log of
    /// regions that do not exist.
    fn number(&mut self, unnumbered: &[String]) {
        let known: BTreeSet<u64> = self
            .plan
            .catalog
            .tables
            .values()
            .flat_map(|table| &table.regions)
            .map(|region| region.number)
            .collect();
        let newest = self.base.map_or(0, |base| base.next_region);
        // A removed region has left its directory, or files in regions derived from it. The older
        // manifest itself shows which regions up to its newest number are removed.
        let on_disk: BTreeSet<u64> = self
            .scan
            .regions()
            .filter_map(|region| region.number)
            .chain(self.scan.files().filter_map(|file| file.own(self.store_id)?.number))
            .collect();
        let is_stray = |number: &u64| !known.contains(number) && *number > newest;
        let strays: Vec<u64> = self.logged.keys().copied().filter(is_stray).collect();
        for number in strays {
            let writes = self.logged[&number].writes;
            let text = format!(
                "{writes} writes of region {number} in the log belong to no existing region: it \
                 was split, merged or dropped, or the writes are lost; the log is moved aside"
            );
            self.add_step(Certainty::Lost, text);
            self.plan.keeps_wal = true;
        }
        let highest = known
            .iter()
            .chain(self.logged.keys())
            .chain(&on_disk)
            .copied()
            .max()
            .unwrap_or(0)
            .max(newest);
        self.plan.catalog.next_region = self.plan.catalog.next_region.max(highest);
        for encoded in unnumbered {
            let number = self.plan.catalog.allocate_region_number();
            let regions =
                self.plan.catalog.tables.values_mut().flat_map(|table| &mut table.regions);
            regions
                .filter(|region| region.info.encoded_name == *encoded)
                .for_each(|region| region.number = number);
        }
    }
}

/// Returns the files written by a region with this number that were moved to the directory of
/// another region.
fn in_other_regions<'a>(
    scan: &'a DiskScan,
    store_id: [u8; 16],
    number: u64,
    own: &[DiskFile],
) -> Vec<&'a DiskFile> {
    let is_elsewhere = |file: &&DiskFile| {
        let wrote = file.own(store_id).and_then(|facts| facts.number);
        file.location != FileLocation::Archive
            && wrote == Some(number)
            && number != 0
            && !own.iter().any(|other| other.path == file.path)
    };
    scan.files().filter(is_elsewhere).collect()
}

/// Returns a descriptor with a family for each region subdirectory that contains store files.
fn descriptor_of_directories(name: &TableName, disk: &DiskTable) -> Option<TableDescriptor> {
    let files = disk
        .regions
        .values()
        .flat_map(|region| &region.files)
        .filter(|file| file.location == FileLocation::Data);
    let families: BTreeSet<&str> = files.map(|file| file.family.as_str()).collect();
    let family = |table: TableDescriptor, family: &&str| {
        table.family(FamilyDescriptor::new((*family).to_owned()))
    };
    Some(families.iter().fold(TableDescriptor::new(name.clone()), family))
        .filter(|descriptor| descriptor.check().is_ok())
}
