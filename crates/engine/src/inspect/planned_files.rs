//! Store files of a repair plan: those that each family keeps, their moves, and what is in the way.

use std::collections::BTreeSet;

use halite_types::Bytes;

use super::plan::Certainty;
use super::planner::Planner;
use super::scan::{DiskFile, DiskFileKind, DiskScan, FileLocation, FileProperties};
use crate::catalog::{FileEntry, FileOrigin, RegionEntry, layout};
use crate::engine::coverage::RegionCoverage;
use crate::engine::quarantine;

/// Known files of a family of a region.
pub(super) struct FamilyInput<'a> {
    /// True if the manifest does not contain the region.
    pub(super) is_new: bool,
    /// True if files may be newer than the manifest.
    pub(super) is_outdated: bool,
    /// Files in the manifest.
    pub(super) known: Vec<FileEntry>,
    /// Files on the disk.
    pub(super) files: &'a [&'a DiskFile],
}

impl Planner<'_> {
    /// Returns the files of a family: existing files of the manifest, and newer files, except those
    /// that were merged into others.
    pub(super) fn family(
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
        let of_files = || RegionCoverage::of_files(region);
        let covered =
            self.logged.get(&region.number).map_or_else(of_files, |logged| logged.covered.clone());
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
        // A damaged manifest may name a region for the directory of another one.
        if step.0 != step.1 && !self.plan.moves.contains(&step) {
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
    pub(super) fn make_way(&mut self) {
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
}

/// Returns the files written by a region with this number that were moved to the directory of
/// another region.
pub(super) fn in_other_regions<'a>(
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
