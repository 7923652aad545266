//! Splitting a region in two and merging regions into one, without copying a cell.
//!
//! The new regions start with references to the old regions' files: small files in HBase's format
//! that name a file and the part of it to read. One change of the manifest replaces the old
//! regions. The next compaction of a new region rewrites its part, and the old file is deleted once
//! it has no references. A region that still has references is compacted first, so a reference
//! never points to a reference.

use std::sync::Arc;

use bytes::Bytes;
use halite_types::cell::{TYPE_MAXIMUM, key_row, make_key};
use halite_types::key::to_string_binary;
use halite_types::{Error, LATEST_TIMESTAMP, RegionInfo, Result, TableDescriptor};

use super::directory::remove_tree;
use super::small_file::write_small;
use super::{Engine, Table, region_not_found};
use crate::catalog::messages::{Reference, pbuf};
use crate::catalog::{Catalog, RegionEntry, layout};
use crate::compaction::Exclusion;
use crate::events::{EventKind, NewEvent};
use crate::region::Region;

/// Range of the cells at or after the split key.
pub(super) const TOP: i32 = 0;
/// Range of the cells before the split key.
pub(super) const BOTTOM: i32 = 1;

/// Treatment of the rows of replaced regions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Rows,
    Nothing,
}

impl Engine {
    /// Returns the open region with this encoded or full name. Regions of hidden tables are
    /// excluded.
    fn find_region(&self, name: &str) -> Result<(Arc<Table>, Arc<Region>)> {
        let of_whole_name = || {
            let region = self.regions.find(RegionInfo::encoded_name_in(name.as_bytes())?)?;
            (region.info().display_name() == name).then_some(region)
        };
        let region = self
            .regions
            .find(name)
            .or_else(of_whole_name)
            .filter(|region| !layout::is_hidden(&region.info().table));
        let found = region.and_then(|region| {
            Some((self.tables.load().get(&region.info().table).cloned()?, region))
        });
        found.ok_or_else(|| region_not_found(name))
    }

    /// Splits a region at `at`, or at the middle of its largest store. The table's split policy may
    /// shorten the split point, so that it keeps a group of rows together.
    ///
    /// # Errors
    /// `NoSuchRegion`, `InvalidRequest` (key outside the region or at its start, or too little data
    /// to find a middle), `DiskFull`.
    pub fn split_region(&self, name: &str, at: Option<Bytes>) -> Result<()> {
        let gone = self.split_locked(name, at)?;
        self.remove_regions_from_meta_overlay(&[gone]);
        Ok(())
    }

    /// Splits the region and returns it.
    fn split_locked(&self, name: &str, at: Option<Bytes>) -> Result<Arc<Region>> {
        let _ddl = self.lock_ddl()?;
        let began = self.shared.env.clock.monotonic_ns();
        let (table, region) = self.find_region(name)?;
        region.check_files()?;
        self.shared.disk.admit()?;
        let at = at.map(|at| region.split_policy().requested_split_point(&at));
        if let Some(at) = &at {
            check_split_row(region.info(), at)?;
        }
        let compaction = lock_to_replace(&region);
        region.flush()?;
        if region.has_references() {
            region.compact_excluded()?;
        }
        let at = match at {
            Some(at) => at,
            None => region.middle_row()?.ok_or_else(|| {
                let text = format!(
                    "region {} has no middle: it holds too little; give a split key",
                    region.info().display_name()
                );
                Error::invalid(text)
            })?,
        };
        let info = region.info();
        let id = self.new_region_id(&info.table);
        let daughters = [
            layout::new_region(&info.table, info.start.clone(), at.clone(), id),
            layout::new_region(&info.table, at, info.end.clone(), id),
        ];
        self.replace_regions(&table, std::slice::from_ref(&region), &daughters, Keep::Rows)?;
        drop(compaction);
        let [low, high] = &daughters;
        let text = format!(
            "region {} split into {} and {}",
            info.encoded_name, low.encoded_name, high.encoded_name
        );
        let event = NewEvent::of_region(EventKind::Split, info, text).at(&high.start);
        self.shared.record(event.took(self.ns_since(began)));
        Ok(region)
    }

    /// Deletes all rows of a region by replacing it with an empty region of the same range, which
    /// has a new name.
    ///
    /// # Errors
    /// `NoSuchRegion`, a full disk or failed write.
    pub fn truncate_region(&self, name: &str) -> Result<()> {
        let gone = self.truncate_locked(name)?;
        self.remove_regions_from_meta_overlay(&[gone]);
        Ok(())
    }

    /// Truncates the region and returns it.
    fn truncate_locked(&self, name: &str) -> Result<Arc<Region>> {
        let _ddl = self.lock_ddl()?;
        let (table, region) = self.find_region(name)?;
        let compaction = region.stop_compaction();
        let info = region.info();
        let empty = layout::new_region(
            &info.table,
            info.start.clone(),
            info.end.clone(),
            self.new_region_id(&info.table),
        );
        self.replace_regions(&table, std::slice::from_ref(&region), &[empty], Keep::Nothing)?;
        drop(compaction);
        let text = format!("region {} truncated", info.encoded_name);
        self.shared.record(NewEvent::of_region(EventKind::Schema, info, text));
        Ok(region)
    }

    /// Clears the merge parents of regions that no longer reference the parents' files, and returns
    /// the number of these regions. Corresponds to HBase's catalog janitor; the owner of the engine
    /// calls it periodically.
    ///
    /// # Errors
    /// A failed write; nothing is cleared then.
    pub fn clear_merge_parents(&self) -> Result<u32> {
        let _ddl = self.lock_ddl()?;
        let count = |catalog: &Catalog| {
            catalog
                .tables
                .values()
                .flat_map(|table| &table.regions)
                .filter(|region| region.can_clear_parents())
                .count()
        };
        let found = count(&self.shared.manifest.current());
        if found > 0 {
            self.shared.manifest.change(|catalog| {
                let regions = catalog.tables.values_mut().flat_map(|table| &mut table.regions);
                regions
                    .filter(|region| region.can_clear_parents())
                    .for_each(|region| region.parents.clear());
                Ok(())
            })?;
        }
        Ok(u32::try_from(found).unwrap_or(u32::MAX))
    }

    /// Merges two regions of a table. They must be adjacent unless `forcible`, which also merges
    /// the regions between them.
    ///
    /// # Errors
    /// `NoSuchRegion`, `InvalidRequest`.
    pub fn merge_regions(&self, first: &str, second: &str, forcible: bool) -> Result<()> {
        let gone = self.merge_locked(first, second, forcible)?;
        self.remove_regions_from_meta_overlay(&gone);
        Ok(())
    }

    /// Merges the regions and returns them.
    fn merge_locked(&self, first: &str, second: &str, forcible: bool) -> Result<Vec<Arc<Region>>> {
        let _ddl = self.lock_ddl()?;
        let began = self.shared.env.clock.monotonic_ns();
        let (table, a) = self.find_region(first)?;
        let (other, b) = self.find_region(second)?;
        if Arc::ptr_eq(&a, &b) {
            return Err(Error::invalid(format!(
                "region {first} cannot be merged with itself; name two regions"
            )));
        }
        if !Arc::ptr_eq(&table, &other) {
            let text = format!(
                "regions {first} and {second} belong to the tables {} and {}; name two of one \
                 table",
                a.info().table,
                b.info().table
            );
            return Err(Error::invalid(text));
        }
        let (low, high) = if a.info().start <= b.info().start { (a, b) } else { (b, a) };
        let between: Vec<Arc<Region>> = table
            .regions()
            .iter()
            .filter(|region| {
                region.info().start >= low.info().start && region.info().start <= high.info().start
            })
            .cloned()
            .collect();
        if between.len() > 2 && !forcible {
            let text = format!(
                "regions {first} and {second} are not neighbours; merge neighbours, or force it to \
                 take those between along"
            );
            return Err(Error::invalid(text));
        }
        between.iter().try_for_each(|region| region.check_files())?;
        let locks: Vec<_> = between.iter().map(|region| lock_to_replace(region)).collect();
        for region in &between {
            region.flush()?;
            if region.has_references() {
                region.compact_excluded()?;
            }
        }
        let id = self.new_region_id(&low.info().table);
        let merged = layout::new_region(
            &low.info().table,
            low.info().start.clone(),
            high.info().end.clone(),
            id,
        );
        let new = std::slice::from_ref(&merged);
        let result = self.replace_regions(&table, &between, new, Keep::Rows);
        drop(locks);
        result?;
        let text = format!("{} regions merged into {}", between.len(), merged.encoded_name);
        let event = NewEvent::of_region(EventKind::Merge, &merged, text).at(&high.info().start);
        self.shared.record(event.took(self.ns_since(began)));
        Ok(between)
    }

    fn ns_since(&self, began_ns: u64) -> u64 {
        self.shared.env.clock.monotonic_ns().saturating_sub(began_ns)
    }

    /// Deletes the rows that clients wrote about removed regions. Failures are ignored, because the
    /// regions are removed in any case. The caller holds no lock.
    fn remove_regions_from_meta_overlay(&self, gone: &[Arc<Region>]) {
        let _ = self.remove_from_meta_overlay(LATEST_TIMESTAMP, |row| {
            gone.iter().any(|region| region.info().full_name() == row)
        });
    }

    /// Replaces `old` regions, whose compactions the caller excludes, with `new` ones.
    fn replace_regions(
        &self,
        table: &Arc<Table>,
        old: &[Arc<Region>],
        new: &[RegionInfo],
        keep: Keep,
    ) -> Result<()> {
        assert_same_range(old, new);
        let descriptor = table.descriptor();
        let name = descriptor.name().clone();
        let maintenance: Vec<_> = old.iter().map(|region| region.lock_maintenance()).collect();
        for (number, info) in (self.next_region_number()..).zip(new) {
            self.make_region_directory(info, number, &descriptor)
                .inspect_err(|_| self.abort_replacement(new))?;
        }
        // From here until the table is changed writers wait and reads continue, for as long as it
        // takes to write a few small files.
        let _changing = table.lock_regions();
        for region in old {
            region.close();
        }
        let give_up = |_: &Error| {
            old.iter().for_each(|region| region.reopen());
            self.abort_replacement(new);
        };
        let entries = self.write_replacement(&descriptor, old, new, keep).inspect_err(give_up)?;
        let open = |entry| Region::open(&self.shared, Arc::clone(&descriptor), entry);
        let opened = entries.iter().map(open).collect::<Result<Vec<_>>>();
        let changed = opened.and_then(|opened| {
            let changed = self.shared.manifest.change(|catalog| {
                let regions = &mut catalog.table_mut(&name)?.regions;
                regions.retain(|entry| !old.iter().any(|region| region.number == entry.number));
                regions.extend(entries.iter().cloned());
                regions.sort_by(|a, b| a.info.start.cmp(&b.info.start));
                Ok(())
            });
            if changed.is_err() {
                self.shared.archive_or_delete(opened.iter().flat_map(|region| region.origins()));
            }
            changed.map(|()| opened)
        });
        let opened = changed.inspect_err(give_up)?;
        opened.iter().for_each(|region| self.shared.scheduler.add_region(region));
        table.replace_regions(old, opened.clone());
        for region in old {
            region.stop_serving();
            self.shared.wal.mark_flushed(region.number, u64::MAX);
            self.shared.scheduler.record_memstore_bytes(region);
        }
        #[cfg(feature = "heat")]
        self.keep_closed_heat(old);
        drop(maintenance);
        self.retire_regions(
            old.iter().map(|region| &**region.info()),
            old.iter().flat_map(|region| region.origins()),
        );
        opened
            .iter()
            .filter(|region| region.needs_compaction())
            .for_each(|region| self.shared.scheduler.request_compaction(region));
        Ok(())
    }

    /// Removes what was created for regions whose creation failed: directories and references,
    /// never cells. If the manifest of the next opening may reference them, they stay for that
    /// opening.
    pub(super) fn abort_replacement(&self, regions: &[RegionInfo]) {
        if self.shared.manifest.sync_state().check().is_ok() {
            for info in regions {
                let _ = remove_tree(
                    &*self.shared.env.fs,
                    &layout::region_directory(&info.table, &info.encoded_name),
                    &|| false,
                );
            }
        }
    }

    /// Flushes the rest of the old regions and writes the references of the new ones.
    fn write_replacement(
        &self,
        descriptor: &TableDescriptor,
        old: &[Arc<Region>],
        new: &[RegionInfo],
        keep: Keep,
    ) -> Result<Vec<RegionEntry>> {
        for region in old {
            region.flush_maintained()?;
            assert!(region.is_in_files(), "the cells of a replaced region are in its files");
        }
        // The manifest allocates the numbers. Those of a failed attempt are lost, which is
        // harmless.
        let numbers: Vec<u64> = self
            .shared
            .manifest
            .change(|catalog| Ok(new.iter().map(|_| catalog.allocate_region_number()).collect()))?;
        let mut entries = Vec::new();
        for (info, number) in new.iter().zip(numbers) {
            let is_merged = old.len() > 1 && keep == Keep::Rows;
            let parents =
                old.iter().filter(|_| is_merged).map(|region| Arc::clone(region.info())).collect();
            let mut entry =
                RegionEntry { parents, ..RegionEntry::new(Arc::new(info.clone()), number) };
            for region in old {
                entry.flushed_sequence = entry.flushed_sequence.max(region.flushed_sequence());
                if keep == Keep::Rows {
                    self.write_references(region, info, old.len() == 1, &mut entry)?;
                }
            }
            for family in descriptor.families() {
                let directory =
                    layout::family_directory(&info.table, &info.encoded_name, family.name());
                self.shared
                    .env
                    .fs
                    .sync_dir(&directory)
                    .map_err(|error| Error::io(format!("syncing {directory}"), error))?;
            }
            entries.push(entry);
        }
        self.shared
            .env
            .fs
            .sync_dir(&layout::table_directory(descriptor.name()))
            .map_err(|error| Error::io("syncing the table's directory", error))?;
        Ok(entries)
    }

    /// Writes references in `info` to the files of `region` that have rows there.
    fn write_references(
        &self,
        region: &Region,
        info: &RegionInfo,
        is_split: bool,
        entry: &mut RegionEntry,
    ) -> Result<()> {
        region.check_files()?;
        let snapshot = region.snapshot();
        let parent = &region.info().encoded_name;
        for (family, store) in snapshot.families.iter().zip(&snapshot.stores) {
            let directory = layout::family_directory(&info.table, &info.encoded_name, &family.name);
            for file in &store.files {
                assert!(!file.is_reference(), "a reference never points to a reference");
                let reader = file.reader();
                let outside = reader.is_empty()
                    || reader
                        .first_key()
                        .map(key_row)
                        .is_some_and(|first| !info.end.is_empty() && first >= &info.end[..])
                    || reader.last_key().map(key_row).is_some_and(|last| last < &info.start[..]);
                if outside {
                    continue;
                }
                // The split row determines a daughter's half; the start of the old region
                // determines a merged region's part.
                let is_bottom = is_split && info.start == region.info().start;
                let row = match (is_split, is_bottom) {
                    (true, true) => &info.end,
                    (true, false) => &info.start,
                    (false, _) => &region.info().start,
                };
                let name = format!("{}.{parent}", file.entry.name);
                let target = file.entry.as_target(region.info(), false);
                write_small(
                    &self.shared.env,
                    &format!("{directory}/{name}"),
                    &reference(row, if is_bottom { BOTTOM } else { TOP }),
                )?;
                entry
                    .families
                    .entry(family.name.clone())
                    .or_default()
                    .push(file.entry.linked(name, target));
            }
        }
        Ok(())
    }
}

/// Verifies that `new` regions cover the range of the `old` ones, without gaps or overlaps. Regions
/// that a repaired manifest lists with a gap may be merged, which closes it.
fn assert_same_range(old: &[Arc<Region>], new: &[RegionInfo]) {
    let are_adjacent = |regions: &[&RegionInfo]| {
        regions.windows(2).all(|pair| pair[0].end == pair[1].start && !pair[0].end.is_empty())
    };
    let old: Vec<&RegionInfo> = old.iter().map(|region| &**region.info()).collect();
    let new: Vec<&RegionInfo> = new.iter().collect();
    assert!(are_adjacent(&new), "regions are replaced as a whole range");
    let is_range_kept = || {
        (old.first().map(|info| &info.start), old.last().map(|info| &info.end))
            == (new.first().map(|info| &info.start), new.last().map(|info| &info.end))
    };
    assert!(!are_adjacent(&old) || is_range_kept(), "replaced regions keep their range");
}

/// Excludes the compactions of a region to be replaced. If the region has references, running ones
/// finish first, because they do required work.
fn lock_to_replace(region: &Region) -> Exclusion<'_> {
    if region.has_references() { region.lock_compaction() } else { region.stop_compaction() }
}

/// Returns the content of a reference file.
pub(super) fn reference(row: &[u8], range: i32) -> Vec<u8> {
    pbuf(&reference_message(row, range))
}

/// Returns the reference to one side of a row.
pub(super) fn reference_message(row: &[u8], range: i32) -> Reference {
    Reference { splitkey: make_key(row, b"", b"", LATEST_TIMESTAMP, TYPE_MAXIMUM), range }
}

fn check_split_row(info: &RegionInfo, at: &[u8]) -> Result<()> {
    layout::check_region_start(&info.table, at)?;
    if !info.contains(at) {
        let text = format!(
            "split key {} lies outside region {} (from '{}' to '{}')",
            to_string_binary(at),
            info.display_name(),
            to_string_binary(&info.start),
            to_string_binary(&info.end)
        );
        return Err(Error::invalid(text));
    }
    if at == &info.start[..] {
        return Err(Error::invalid(format!(
            "split key {} is where region {} begins; give a later one",
            to_string_binary(at),
            info.display_name()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use halite_types::{FamilyDescriptor, Put, RowOp};

    use super::*;
    use crate::Options;
    use crate::env::sim::SimEnv;

    #[test]
    fn references_of_a_split_specify_their_half() {
        let sim = SimEnv::new(1);
        let engine = Engine::open(sim.env(), Options::default()).unwrap();
        let name: halite_types::TableName = "t".parse().unwrap();
        engine
            .create_table(
                TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f")),
                Vec::new(),
            )
            .unwrap();
        let ops = ["a", "z"].map(|row| RowOp::Put(Put::new(row).add("f", "q", "value")));
        engine.table(&name).unwrap().batch(ops.to_vec()).unwrap();
        let parent = engine.regions(&name).unwrap()[0].encoded_name.clone();
        engine.split_region(&parent, Some("m".into())).unwrap();
        for (region, half) in engine.regions(&name).unwrap().iter().zip([BOTTOM, TOP]) {
            let of_region =
                |path: &str| path.contains(&*region.encoded_name) && path.ends_with(&*parent);
            let files: Vec<_> = sim
                .fs
                .files()
                .into_iter()
                .filter(|(path, _)| of_region(path))
                .map(|(_, bytes)| bytes)
                .collect();
            assert_eq!(files, [reference(b"m", half)]);
        }
    }
}
