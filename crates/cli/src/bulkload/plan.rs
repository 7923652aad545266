//! Assignment of files to the regions that contain their rows.

use std::collections::BTreeSet;
use std::path::PathBuf;

use halite::{Bytes, RegionInfo};

use super::files::LoadFile;

/// Rows of a file that belong to a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePart {
    /// Index of the file.
    pub(super) file: usize,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    /// `false` if the file has rows of other regions too.
    pub(crate) is_whole: bool,
}

/// Files of one region.
#[derive(Debug)]
pub(crate) struct RegionLoad {
    pub(crate) region: RegionInfo,
    pub(crate) parts: Vec<FilePart>,
}

/// Returns the regions that get files, in key order. A file whose region is missing, because it is
/// being split, is in none.
pub(super) fn assign(files: &[LoadFile], regions: &[RegionInfo]) -> Vec<RegionLoad> {
    let mut loads = Vec::new();
    for region in regions {
        let parts: Vec<FilePart> = files
            .iter()
            .enumerate()
            .filter(|(_, file)| overlaps(region, &file.first, &file.last))
            .map(|(at, file)| FilePart {
                file: at,
                path: file.path.clone(),
                bytes: file.bytes,
                is_whole: region.contains(&file.first) && region.contains(&file.last),
            })
            .collect();
        if !parts.is_empty() {
            loads.push(RegionLoad { region: region.clone(), parts });
        }
    }
    loads
}

/// Returns `true` if the regions have every row. While a region is split or merged, the list may
/// have neither it nor its successors.
pub(super) fn is_complete(regions: &[RegionInfo]) -> bool {
    regions.first().is_some_and(|first| first.start.is_empty())
        && regions.last().is_some_and(|last| last.end.is_empty())
        && regions.windows(2).all(|pair| pair[0].end == pair[1].start)
}

/// Returns the number of files that have to be cut.
pub(super) fn cut_files(loads: &[RegionLoad]) -> u64 {
    let parts = loads.iter().flat_map(|load| &load.parts);
    let cut: BTreeSet<usize> = parts.filter(|part| !part.is_whole).map(|part| part.file).collect();
    cut.len() as u64
}

/// Returns `true` if a region may have rows from `first` to `last`.
fn overlaps(region: &RegionInfo, first: &Bytes, last: &Bytes) -> bool {
    (region.end.is_empty() || *first < region.end) && *last >= region.start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(first: &'static str, last: &'static str) -> LoadFile {
        LoadFile {
            family: "f".into(),
            path: first.into(),
            bytes: 1,
            cells: 1,
            first: first.into(),
            last: last.into(),
            is_protected: false,
        }
    }

    #[test]
    fn files_are_assigned_to_regions_of_their_rows() {
        let region = |start: &'static str, end: &'static str| RegionInfo {
            table: "t".parse().unwrap(),
            start: start.into(),
            end: end.into(),
            region_id: 1,
            encoded_name: format!("from {start}"),
        };
        let regions = [region("", "h"), region("h", "p"), region("p", "")];
        let files = [file("a", "g"), file("h", "h"), file("c", "z"), file("p", "q")];
        let loads = assign(&files, &regions);
        let parts: Vec<Vec<(usize, bool)>> = loads
            .iter()
            .map(|load| load.parts.iter().map(|part| (part.file, part.is_whole)).collect())
            .collect();
        assert_eq!(
            parts,
            [vec![(0, true), (2, false)], vec![(1, true), (2, false)], vec![(2, false), (3, true)]]
        );
        assert_eq!(cut_files(&loads), 1);
        assert_eq!(assign(&files[..1], &regions).len(), 1);
        assert_eq!(assign(&files, &[]).len(), 0);
        assert!(is_complete(&regions) && !is_complete(&regions[1..]) && !is_complete(&[]));
        assert!(!is_complete(&[regions[0].clone(), regions[2].clone()]));
    }
}
