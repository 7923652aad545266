//! Tables and regions of a repair plan. `planned_files.rs` selects the files of each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use halite_types::{FamilyDescriptor, TableDescriptor, TableName};

use super::plan::{Certainty, RepairPlan};
use super::planned_files::{FamilyInput, in_other_regions};
use super::regions::{ChosenRegion, choose};
use super::scan::{DiskFile, DiskScan, DiskTable, FileLocation};
use super::state::ManifestState;
use crate::catalog::{Catalog, RegionEntry, TableEntry, layout};
use crate::engine::coverage::RegionCoverage;
use crate::env::Env;

/// Writes of one region in the log.
pub(super) struct LoggedWrites {
    pub(super) writes: u64,
    pub(super) covered: RegionCoverage,
}

/// Planner of the tables and regions of a repair.
pub(super) struct Planner<'a> {
    pub(super) env: &'a Env,
    pub(super) scan: &'a DiskScan,
    pub(super) store_id: [u8; 16],
    pub(super) base: Option<&'a Catalog>,
    pub(super) logged: BTreeMap<u64, LoggedWrites>,
    pub(super) plan: RepairPlan,
}

impl Planner<'_> {
    pub(super) fn add_step(&mut self, certainty: Certainty, text: String) {
        self.plan.report.steps.push((certainty, text));
    }

    /// Adds the step for the manifest itself.
    pub(super) fn begin(&mut self, state: &ManifestState, based_on: Option<&str>) {
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

    pub(super) fn files_and_tables(&mut self, state: &ManifestState) {
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
        let number = || {
            let of_files = own.iter().filter_map(|file| file.own(self.store_id)?.number);
            of_files.max().or(on_disk.and_then(|region| region.number)).unwrap_or(0)
        };
        let mut entry = known.unwrap_or_else(|| RegionEntry::new(Arc::clone(&info), number()));
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
            if !found.is_empty() || entry.family_flushed.contains_key(family.name()) {
                entry.families.insert(family.name().clone(), found);
            }
        }
        entry.families.retain(|family, _| descriptor.find_family(family).is_some());
        entry.family_flushed.retain(|family, _| descriptor.find_family(family).is_some());
        entry
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
        let tables = self.plan.catalog.tables.values();
        assert!(
            tables.flat_map(|table| &table.regions).all(|region| region.number > 0),
            "each region of a repaired manifest has a number"
        );
    }
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
