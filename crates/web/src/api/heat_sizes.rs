//! Rows and bytes of the ranges of keys of a heat map.

use halite_heat::{HeatMap, HeatQuery, MAX_BUCKETS};
use halite_types::{RegionInfo, RegionLoad, TableName};

use super::heat_answer::HeatRow;
use crate::call::Call;
use crate::problem::Answered;
use crate::site::KnownTable;

/// Adds estimates of the rows and bytes of each range: those of a region are divided evenly over
/// the ranges in it, which have about equal numbers of rows, also over those outside of the map.
/// Returns the names of what is not known. Blocks.
pub(crate) fn add_sizes(
    call: &Call,
    table: &KnownTable,
    map: &HeatMap,
    query: &HeatQuery,
    rows: &mut [HeatRow],
) -> Answered<Vec<&'static str>> {
    let name: &TableName = table.name();
    let status = call.site.statuses.recent(name)?;
    let (loads, _) = status.of_table(name);
    let ranges_of = |region: &RegionInfo| {
        let whole = HeatQuery {
            start: region.start.as_ref().into(),
            end: (!region.end.is_empty()).then(|| region.end.as_ref().into()),
            max_rows: MAX_BUCKETS,
            max_columns: 1,
            ..query.clone()
        };
        let maps = call.site.extension().heat_maps(name, &[whole]).unwrap_or_default();
        maps.first().map_or(1, |map| map.bounds.len())
    };
    Ok(add(loads, map, query.end.as_deref(), rows, ranges_of))
}

fn add(
    loads: &[RegionLoad],
    map: &HeatMap,
    end: Option<&[u8]>,
    rows: &mut [HeatRow],
    ranges_of: impl Fn(&RegionInfo) -> usize,
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
        let is_cut = *region.start < **start
            || end.is_some_and(|end| region.end.is_empty() || *region.end > *end);
        let outside = if is_cut { ranges_of(region) } else { 1 };
        let count = part.len().max(outside).max(1) as u64;
        has_rows &= load.rows.is_some();
        let bytes = load.store_file_bytes.saturating_add(load.memstore_data_bytes);
        for row in part {
            row.rows_est =
                load.rows.map(|all| row.rows_est.unwrap_or(0).saturating_add(all / count));
            row.bytes = Some(row.bytes.unwrap_or(0).saturating_add(bytes / count));
        }
    }
    let missing = [("rows_est", has_rows), ("bytes", !loads.is_empty())];
    missing.iter().filter(|(_, is_known)| !is_known).map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use halite_types::Bytes;

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
        let none = |_: &RegionInfo| panic!("all regions are whole");
        assert!(add(&loads, &map, None, &mut rows, none).is_empty());
        let sizes: Vec<_> = rows.iter().map(|row| (row.rows_est, row.bytes)).collect();
        let expected = [(50, 500), (50, 500), (37, 370), (30, 300)];
        assert_eq!(sizes, expected.map(|(rows, bytes)| (Some(rows), Some(bytes))));
        assert_eq!(add(&[], &map, None, &mut rows, none), ["rows_est", "bytes"]);
        // A part of the table, with one of four ranges of the first region, and two of three of the
        // last one.
        let bounds = ["b", "m", "n", "p"].map(|bound| bound.as_bytes().into()).into();
        let map = HeatMap { bounds, ..map };
        let mut rows: Vec<HeatRow> = (0..4).map(|_| HeatRow::default()).collect();
        let ranges_of = |region: &RegionInfo| if region.start.is_empty() { 4 } else { 3 };
        assert!(add(&loads, &map, Some(b"x"), &mut rows, ranges_of).is_empty());
        let sizes: Vec<_> = rows.iter().map(|row| row.rows_est).collect();
        assert_eq!(sizes, [Some(25), Some(7), Some(20), Some(20)]);
    }
}
