//! Rows of a few regions, as a sample of a table.

use halite_types::{RegionInfo, Result, Row, Scan, Table};

/// Returns at most `most` regions (at least 1), spread evenly over those of a table.
pub fn spread_regions(regions: &[RegionInfo], most: usize) -> Vec<&RegionInfo> {
    let step = regions.len().div_ceil(most.max(1)).max(1);
    regions.iter().step_by(step).collect()
}

/// Returns the rows of a scan of each of some regions, whose range `scan` is given and may restrict.
///
/// # Errors
/// As [`Table::scan`].
pub async fn rows_of_regions(
    table: &dyn Table,
    regions: &[&RegionInfo],
    scan: impl Fn(Scan) -> Scan,
) -> Result<Vec<Row>> {
    let mut sampled = Vec::new();
    for region in regions {
        let mut rows = table.scan(scan(Scan::range(region.start.clone(), region.end.clone())));
        while let Some(row) = rows.next().await? {
            sampled.push(row);
        }
    }
    Ok(sampled)
}
