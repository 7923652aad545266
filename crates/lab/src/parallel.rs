//! Concurrent work on every region of a table, one thread per region.

use anyhow::Context as _;
use halite::{RegionInfo, Row, Scan};

use crate::table::LabTable;

/// Runs `work` on the rows of each region, and returns the results in the order of the regions.
///
/// # Errors
/// Returns the error of the first region that fails, with its start key.
pub(crate) fn each_region<T: Send>(
    table: &LabTable,
    work: impl Fn(&RegionInfo, Vec<Row>) -> anyhow::Result<T> + Sync,
) -> anyhow::Result<Vec<T>> {
    let regions = table.inner().regions()?;
    let one = |region: &RegionInfo| -> anyhow::Result<T> {
        let rows = table
            .inner()
            .scan(Scan::range(region.start.clone(), region.end.clone()))
            .collect::<halite::Result<Vec<_>>>();
        let rows = rows.with_context(|| {
            format!("region from {:?}", halite::to_string_binary(&region.start))
        })?;
        work(region, rows)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = regions.iter().map(|region| scope.spawn(|| one(region))).collect();
        threads
            .into_iter()
            .map(|thread| {
                thread.join().unwrap_or_else(|_| anyhow::bail!("the thread of a region panicked"))
            })
            .collect()
    })
}
