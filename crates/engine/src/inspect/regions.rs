//! Selection of a table's regions if the manifest and the directories disagree.

use std::collections::BTreeSet;
use std::sync::Arc;

use halite_types::{Bytes, RegionInfo};

use super::scan::{DiskFileKind, DiskRegion, DiskTable};
use crate::catalog::RegionEntry;

/// Selected region of a table, with its entry in an older manifest.
pub(super) struct ChosenRegion {
    pub(super) info: Arc<RegionInfo>,
    pub(super) known: Option<RegionEntry>,
}

/// Selected regions by start key, and the ranges that none of them covers.
#[derive(Default)]
pub(super) struct RegionChoice {
    pub(super) regions: Vec<ChosenRegion>,
    pub(super) gaps: Vec<(Bytes, Bytes)>,
    /// Regions of the older manifest that newer ones replace.
    pub(super) replaced: Vec<Arc<RegionInfo>>,
}

/// Selects the regions of a table. Newer regions take precedence over older ones that overlap them,
/// unless their creation was not completed. In that case they have no cells of their own, and the
/// older ones have files that they do not link to.
pub(super) fn choose(
    known: &[RegionEntry],
    disk: Option<&DiskTable>,
    store_id: [u8; 16],
) -> RegionChoice {
    let find = |encoded: &str| disk.and_then(|table| table.regions.get(encoded));
    let is_there =
        |entry: &&RegionEntry| find(&entry.info.encoded_name).is_some_and(|region| region.is_there);
    let mut candidates: Vec<ChosenRegion> = known
        .iter()
        .filter(is_there)
        .map(|entry| ChosenRegion { info: Arc::clone(&entry.info), known: Some(entry.clone()) })
        .collect();
    for info in disk
        .iter()
        .flat_map(|table| table.regions.values())
        .filter(|region| region.is_there)
        .filter_map(|region| region.info.as_ref())
    {
        if !candidates.iter().any(|candidate| candidate.info.encoded_name == info.encoded_name) {
            candidates.push(ChosenRegion { info: Arc::new(info.clone()), known: None });
        }
    }
    candidates.sort_by(|a, b| {
        b.info.region_id.cmp(&a.info.region_id).then_with(|| a.info.start.cmp(&b.info.start))
    });
    let never_finished: BTreeSet<String> = candidates
        .iter()
        .filter(|newer| {
            newer.known.is_none() && !has_cells(find(&newer.info.encoded_name), store_id)
        })
        .filter(|newer| {
            let older = candidates.iter().filter(|older| {
                older.info.region_id < newer.info.region_id && overlap(&older.info, &newer.info)
            });
            let mut older = older
                .filter(|older| has_cells(find(&older.info.encoded_name), store_id))
                .peekable();
            older.peek().is_some()
                && older.any(|older| {
                    !links_to_all_of(
                        find(&newer.info.encoded_name),
                        find(&older.info.encoded_name),
                        store_id,
                    )
                })
        })
        .map(|newer| newer.info.encoded_name.clone())
        .collect();
    let mut choice = RegionChoice::default();
    for candidate in candidates
        .into_iter()
        .filter(|candidate| !never_finished.contains(&candidate.info.encoded_name))
    {
        if choice.regions.iter().any(|chosen| overlap(&chosen.info, &candidate.info)) {
            choice.replaced.extend(candidate.known.map(|known| known.info));
        } else {
            choice.regions.push(candidate);
        }
    }
    choice.regions.sort_by(|a, b| a.info.start.cmp(&b.info.start));
    choice.gaps = gaps(&choice.regions);
    choice
}

fn has_cells(region: Option<&DiskRegion>, store_id: [u8; 16]) -> bool {
    region.is_some_and(|region| region.files.iter().any(|file| file.has_cells(store_id)))
}

/// Returns `true` if the links and references of one region cover all files of another.
fn links_to_all_of(
    newer: Option<&DiskRegion>,
    older: Option<&DiskRegion>,
    store_id: [u8; 16],
) -> bool {
    let targets: BTreeSet<&str> = newer
        .iter()
        .flat_map(|region| &region.files)
        .filter_map(|file| match &file.kind {
            DiskFileKind::Linked(target) => Some(target.name.as_str()),
            _ => None,
        })
        .collect();
    older
        .iter()
        .flat_map(|region| &region.files)
        .filter(|file| file.has_cells(store_id))
        .all(|file| targets.contains(file.name.as_str()))
}

fn overlap(a: &RegionInfo, b: &RegionInfo) -> bool {
    (a.end.is_empty() || b.start < a.end) && (b.end.is_empty() || a.start < b.end)
}

fn gaps(regions: &[ChosenRegion]) -> Vec<(Bytes, Bytes)> {
    let mut gaps = Vec::new();
    let mut gap_start = Some(Bytes::new());
    for region in regions {
        if let Some(gap_start) = gap_start.filter(|gap_start| *gap_start < region.info.start) {
            gaps.push((gap_start, region.info.start.clone()));
        }
        gap_start = (!region.info.end.is_empty()).then(|| region.info.end.clone());
    }
    gaps.extend(gap_start.map(|gap_start| (gap_start, Bytes::new())));
    gaps
}
