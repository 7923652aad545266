//! Rows and bytes of the ranges of keys of a heat map.

use halite_heat::HeatMap;
use halite_types::{RegionLoad, TableName};

use super::heat::HeatRow;
use crate::call::Call;
use crate::problem::Answered;
use crate::site::KnownTable;

/// Adds estimates of the rows and bytes of each range: those of a region are divided evenly over
/// the ranges in it, which have about equal numbers of rows. Returns the names of what is not
/// known.
pub(crate) fn add_sizes(
    call: &Call,
    table: &KnownTable,
    map: &HeatMap,
    end: Option<&[u8]>,
    rows: &mut [HeatRow],
) -> Answered<Vec<&'static str>> {
    let name: &TableName = table.name();
    let status = call.site.status()?;
    let (loads, _) = status.of_table(name);
    Ok(add(loads, map, end, rows))
}

fn add(
    loads: &[RegionLoad],
    map: &HeatMap,
    end: Option<&[u8]>,
    rows: &mut [HeatRow],
) -> Vec<&'static str> {
    let Some(start) = map.bounds.first() else { return Vec::new() };
    let mut has_rows = !loads.is_empty();
    for load in loads {
        let region = &load.region;
        let is_before = !region.end.is_empty() && *region.end <= **start;
        if is_before || end.is_some_and(|end| *region.start >= *end) {
            continue;
        }
        let first = map.bounds.partition_point(|bound| **bound <= *region.start).saturating_sub(1);
        let last =
            map.bounds.partition_point(|bound| region.end.is_empty() || **bound < *region.end);
        let part = rows.get_mut(first..last.max(first + 1)).unwrap_or_default();
        let count = part.len().max(1) as u64;
        has_rows &= load.rows.is_some();
        let bytes = load.store_file_bytes + load.memstore_data_bytes;
        for row in part {
            row.rows_est = load.rows.map(|all| row.rows_est.unwrap_or(0) + all / count);
            row.bytes = Some(row.bytes.unwrap_or(0) + bytes / count);
        }
    }
    let missing = [("rows_est", has_rows), ("bytes", !loads.is_empty())];
    missing.iter().filter(|(_, is_known)| !is_known).map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use halite_types::{Bytes, RegionInfo};

    use super::*;

    fn load(start: &'static str, end: &'static str, rows: u64) -> RegionLoad {
        let region = RegionInfo {
            table: "t".parse().unwrap(),
            start: Bytes::from_static(start.as_bytes()),
            end: Bytes::from_static(end.as_bytes()),
            region_id: 1,
            encoded_name: start.to_owned(),
        };
        RegionLoad { rows: Some(rows), store_file_bytes: rows * 10, ..RegionLoad::new(region) }
    }

    #[test]
    fn sizes_of_regions_are_divided_over_ranges() {
        let bounds = ["", "b", "m", "p"].map(|bound| bound.as_bytes().into()).into();
        let map = HeatMap { bounds, columns: 1, ..HeatMap::default() };
        let mut rows: Vec<HeatRow> = (0..4).map(|_| HeatRow::default()).collect();
        let loads = [load("", "m", 100), load("m", "n", 7), load("n", "", 60)];
        assert!(add(&loads, &map, None, &mut rows).is_empty());
        let sizes: Vec<_> = rows.iter().map(|row| (row.rows_est, row.bytes)).collect();
        let expected = [(50, 500), (50, 500), (37, 370), (30, 300)];
        assert_eq!(sizes, expected.map(|(rows, bytes)| (Some(rows), Some(bytes))));
        assert_eq!(add(&[], &map, None, &mut rows), ["rows_est", "bytes"]);
    }
}
