//! Live regions among the regions whose directories or manifests there are.
//!
//! HBase records in `hbase:meta` which regions are live; their directories do not tell. Without it,
//! in an exported snapshot for example, it can be derived. After a
//! split or a merge the old regions' directories remain for minutes. The new regions have greater
//! ids, and their ranges together are those of the old ones. So a region is live unless it overlaps
//! one with a greater id. If this leaves a gap, the importer refuses the table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use halite_types::{Error, RegionInfo, Result, TableName};

use crate::locate::directory_name;
use crate::messages::RegionInfoMessage;
use crate::meta::LiveRegions;
use crate::small_file::damaged;

/// Region that may be live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegionCandidate {
    pub(crate) start: Bytes,
    pub(crate) end: Bytes,
    pub(crate) id: u64,
    pub(crate) encoded_name: String,
}

impl RegionCandidate {
    /// Returns the region that a message describes; `None` if it is the parent of a finished split
    /// or another replica, which has no files.
    ///
    /// # Errors
    /// `Corrupt` if it is of another table, or ends before its start.
    pub(crate) fn new(
        message: &RegionInfoMessage,
        table: &TableName,
        path: &Path,
    ) -> Result<Option<Self>> {
        let of = message.table_name.decode_name().map_err(|why| damaged(path, why.message()))?;
        if of != *table {
            return Err(damaged(path, format_args!("the region is of table {of}, not {table}")));
        }
        let is_parent = message.offline.unwrap_or(false) && message.split.unwrap_or(false);
        if is_parent || message.replica_id.unwrap_or(0) != 0 {
            return Ok(None);
        }
        let key = |key: &Option<Vec<u8>>| Bytes::from(key.clone().unwrap_or_default());
        let (start, end) = (key(&message.start_key), key(&message.end_key));
        if !end.is_empty() && end <= start {
            return Err(damaged(path, "the region ends before its start"));
        }
        let encoded_name = encoded_name(message, table);
        Ok(Some(Self { start, end, id: message.region_id, encoded_name }))
    }

    fn overlaps(&self, other: &Self) -> bool {
        let is_before = |end: &Bytes, start: &Bytes| !end.is_empty() && end <= start;
        !is_before(&self.end, &other.start) && !is_before(&other.end, &self.start)
    }
}

/// Returns the name of a region's directory.
pub(crate) fn encoded_name(message: &RegionInfoMessage, table: &TableName) -> String {
    let key = |key: &Option<Vec<u8>>| Bytes::from(key.clone().unwrap_or_default());
    let info = RegionInfo {
        table: table.clone(),
        start: key(&message.start_key),
        end: key(&message.end_key),
        region_id: message.region_id,
        encoded_name: String::new(),
    };
    directory_name(&info)
}

/// Returns the live regions of a table by start key; every one of them must be a candidate.
///
/// # Errors
/// `Corrupt` with the region that is not.
pub(crate) fn listed_regions(
    mut candidates: Vec<RegionCandidate>,
    table: &TableName,
    directory: &Path,
    listed: &LiveRegions,
) -> Result<Vec<RegionCandidate>> {
    candidates.retain(|region| listed.contains_key(&(table.clone(), region.encoded_name.clone())));
    candidates.sort_by(|a, b| a.start.cmp(&b.start));
    let found: BTreeSet<&str> = candidates.iter().map(|region| &region.encoded_name[..]).collect();
    let from_table = listed.range((table.clone(), String::new())..).map(|(region, _)| region);
    let mut of_table = from_table.take_while(|(of, _)| of == table);
    match of_table.find(|(_, name)| !found.contains(&name[..])) {
        Some((_, name)) => Err(damaged(
            &directory.join(name),
            "hbase:meta lists this region, and its directory is missing; restore it",
        )),
        None => Ok(candidates),
    }
}

/// Returns the live regions by start key, as far as the regions themselves tell.
///
/// # Errors
/// `InvalidRequest` if a region overlaps newer ones and neither consists of them, as after a split,
/// nor is a part of one, as after a merge.
pub(crate) fn derived_regions(
    candidates: &[RegionCandidate],
    directory: &Path,
) -> Result<Vec<RegionCandidate>> {
    let live = live_regions(candidates.to_vec());
    for old in candidates {
        let over = overlapped(&live, old);
        let (Some(first), Some(last)) = (over.first(), over.last()) else { continue };
        if matches!(over, [only] if only == old) {
            continue;
        }
        let is_whole = first.start == old.start && last.end == old.end;
        let was_split = over.len() > 1 && is_whole;
        let was_merged = match over {
            [new] => {
                let ends_inside = new.end.is_empty() || (!old.end.is_empty() && old.end <= new.end);
                new.start <= old.start && ends_inside && !is_whole
            }
            _ => false,
        };
        if !was_split && !was_merged {
            return Err(Error::invalid(format!(
                "{}: its rows are also in newer regions, and without hbase:meta it is unknown \
                 which are live: copy data/hbase/meta, too, or move the region away",
                directory.join(&old.encoded_name).display()
            )));
        }
    }
    Ok(live)
}

/// Returns those of disjoint regions by start key that a region overlaps.
fn overlapped<'a>(live: &'a [RegionCandidate], region: &RegionCandidate) -> &'a [RegionCandidate] {
    let is_before = |other: &RegionCandidate| !other.end.is_empty() && other.end <= region.start;
    let first = live.partition_point(is_before);
    let rest = live.get(first..).unwrap_or_default();
    let count = rest.partition_point(|other| region.end.is_empty() || other.start < region.end);
    rest.get(..count).unwrap_or_default()
}

/// Returns the newest of regions that overlap, by start key.
fn live_regions(mut candidates: Vec<RegionCandidate>) -> Vec<RegionCandidate> {
    candidates.sort_by(|a, b| (b.id, &b.encoded_name).cmp(&(a.id, &a.encoded_name)));
    let mut live: BTreeMap<Bytes, RegionCandidate> = BTreeMap::new();
    for candidate in candidates {
        // The regions so far are disjoint: only its neighbors can overlap it.
        let before = live.range(..=candidate.start.clone()).next_back();
        let after = live.range(candidate.start.clone()..).next();
        let mut neighbors = before.into_iter().chain(after);
        if !neighbors.any(|(_, region)| region.overlaps(&candidate)) {
            live.insert(candidate.start.clone(), candidate);
        }
    }
    live.into_values().collect()
}

/// Returns the directory of a table.
pub(crate) fn table_directory(root: &Path, table: &TableName) -> PathBuf {
    root.join("data").join(table.namespace()).join(table.qualifier())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::LiveRegion;

    fn region(id: u64, start: &'static str, end: &'static str) -> RegionCandidate {
        let encoded_name = format!("{id:x}");
        RegionCandidate { start: start.into(), end: end.into(), id, encoded_name }
    }

    fn ids(regions: &[RegionCandidate]) -> Vec<u64> {
        regions.iter().map(|region| region.id).collect()
    }

    #[test]
    fn ambiguous_regions_are_refused_without_a_list() {
        let derived = |regions: &[RegionCandidate]| {
            derived_regions(regions, Path::new("t")).map(|regions| ids(&regions)).ok()
        };
        let split = [region(1, "", ""), region(2, "", "m"), region(3, "m", "")];
        assert_eq!(derived(&split), Some(vec![2, 3]));
        let merged = [region(1, "", "m"), region(2, "m", ""), region(3, "", "")];
        assert_eq!(derived(&merged), Some(vec![3]));
        for regions in [
            // One of two of the same range, a part of a split, and two that cross.
            &[region(1, "", ""), region(2, "", "")][..],
            &[region(1, "", ""), region(2, "", "m")],
            &[region(1, "", "m"), region(2, "c", "")],
        ] {
            assert_eq!(derived(regions), None, "{regions:?}");
        }
    }

    #[test]
    fn listed_regions_must_have_directories() {
        let table: TableName = "t".parse().unwrap();
        let all = vec![region(3, "m", ""), region(1, "", ""), region(2, "", "m")];
        let listed = |names: &[&str]| {
            let rows = LiveRegion { start: Bytes::new(), end: Bytes::new(), id: 1 };
            let name = |name: &&str| ((table.clone(), (*name).to_owned()), rows.clone());
            let listed = names.iter().map(name).collect();
            let regions = listed_regions(all.clone(), &table, Path::new("t"), &listed);
            regions.map(|regions| ids(&regions))
        };
        // The split of region 1 was not finished, or it was.
        assert_eq!(listed(&["1"]), Ok(vec![1]));
        assert_eq!(listed(&["3", "2"]), Ok(vec![2, 3]));
        let error = listed(&["2", "3", "4"]).unwrap_err();
        assert!(error.message().starts_with("t/4: hbase:meta lists this region"), "{error}");
    }

    #[test]
    fn two_hundred_thousand_regions_are_a_quick_choice() {
        let key = |number: u64| Bytes::from(format!("{number:08}"));
        let region = |id: u64, start: u64, end: u64| RegionCandidate {
            start: key(start),
            end: key(end),
            id,
            encoded_name: format!("{id:x}"),
        };
        let count = 100_000;
        // Each was split, in an order that is none of their keys.
        let mut all: Vec<_> = (0..count).map(|at| region(1 + at, 2 * at, 2 * at + 2)).collect();
        for at in 0..count {
            let place = at * 7919 % count;
            all.push(region(count + 2 * at + 1, 2 * place, 2 * place + 1));
            all.push(region(count + 2 * at + 2, 2 * place + 1, 2 * place + 2));
        }
        let live = derived_regions(&all, Path::new("t")).unwrap();
        assert_eq!(live.len() as u64, 2 * count);
        assert!(live.windows(2).all(|pair| pair[0].end == pair[1].start));
    }

    #[test]
    fn newer_regions_replace_the_older_ones() {
        // Region 1 was split into 3 and 4, regions 2 and 5 were merged to 6.
        let all = vec![
            region(1, "", "f"),
            region(3, "", "c"),
            region(4, "c", "f"),
            region(2, "f", "k"),
            region(5, "k", ""),
            region(6, "f", ""),
        ];
        assert_eq!(ids(&live_regions(all)), [3, 4, 6]);
    }
}
