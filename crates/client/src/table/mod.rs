//! A table of a cluster, behind the seam.
//!
//! ```text
//! action.rs   what is asked of one row, as messages           one.rs    one action: a call of its own
//! multi.rs    many actions as one call, and its answer        batch.rs  many actions: by region and server, what failed again
//! ```

mod action;
mod batch;
mod multi;
mod one;

use std::sync::Arc;

use halite_types::{Error, ErrorKind, Fut, Get, OpResult, RegionInfo, Result, Row, RowOp, RowStream, Scan, Table, TableDescriptor, TableName};
use halite_wire::convert::meta::{self, RegionRow};
use halite_wire::convert::region;

use crate::meta::{TableRegions, region_location};
use crate::retry;
use crate::scanner;
use crate::shared::Shared;
use action::Action;
use batch::Batch;
use one::One;

/// The handle on a table.
pub(crate) struct RemoteTable {
    shared: Arc<Shared>,
    regions: Arc<TableRegions>,
}

impl RemoteTable {
    pub(crate) fn new(shared: Arc<Shared>, name: &TableName) -> Self {
        Self { regions: shared.locations.table(name), shared }
    }

    /// Does what is asked and gives what became of each action; fails if nothing was tried.
    async fn run(&self, mut actions: Vec<Result<Action>>) -> Result<Vec<Result<OpResult>>> {
        let deadline = self.shared.deadline();
        if actions.len() != 1 {
            return Batch::new(&self.shared, &self.regions, actions).run(&deadline).await;
        }
        let Some(Ok(action)) = actions.pop_if(|action| action.is_ok()) else {
            return Ok(actions.into_iter().map(|action| action.map(|_| OpResult::default())).collect());
        };
        let mut one = One::new(&self.shared, &self.regions, action);
        match retry::run(&self.shared.config, &deadline, &mut one).await {
            Ok(result) => Ok(vec![Ok(result)]),
            Err(failure) if failure.is_answer() => Ok(vec![Err(failure.into_error())]),
            Err(failure) => Err(failure.into_error()),
        }
    }
}

/// Rows of `hbase:meta` that are of regions, all of a scan.
///
/// # Errors
/// As any scan.
pub(crate) async fn region_rows(shared: &Arc<Shared>, scan: Scan) -> Result<Vec<RegionRow>> {
    let mut stream = RemoteTable::new(Arc::clone(shared), &region::meta().table).scan(scan);
    let mut rows = Vec::new();
    while let Some(row) = stream.next().await? {
        // What cannot be read, as a replica's row, hides no other.
        rows.extend(meta::region_row(&row).ok().flatten());
    }
    Ok(rows)
}

impl RemoteTable {
    async fn check_exists(&self) -> Result<()> {
        let meta = RemoteTable::new(Arc::clone(&self.shared), &region::meta().table);
        let found = meta.get(vec![meta::table_get(self.name())]).await?;
        if found.iter().all(Row::is_empty) { Err(no_such_table(self.name())) } else { Ok(()) }
    }
}

/// What is said of a table that is not there.
pub(crate) fn no_such_table(name: &TableName) -> Error {
    Error::new(ErrorKind::NoSuchTable, format!("table {name} does not exist; create it first, or look at list for its name"))
}

impl Table for RemoteTable {
    fn name(&self) -> &TableName {
        self.regions.name()
    }

    fn descriptor(&self) -> Fut<'_, Arc<TableDescriptor>> {
        self.shared.runtime.run(crate::admin::descriptor(&self.shared, self.regions.name()))
    }

    fn regions(&self) -> Fut<'_, Vec<RegionInfo>> {
        self.shared.runtime.run(async {
            let meta = region::meta();
            if *self.regions.name() == meta.table {
                return Ok(vec![meta]);
            }
            let rows = region_rows(&self.shared, meta::regions_of(self.regions.name())).await?;
            let regions: Vec<RegionInfo> = rows.iter().filter(|row| !row.is_offline).map(|row| row.region.clone()).collect();
            if regions.is_empty() {
                self.check_exists().await?;
            }
            rows.into_iter().filter_map(|row| region_location(&self.shared, row)).for_each(|location| self.regions.learn(location));
            Ok(regions)
        })
    }

    fn get(&self, gets: Vec<Get>) -> Fut<'_, Vec<Row>> {
        self.shared.runtime.run(async move {
            let actions = gets.iter().map(Action::get).collect();
            let results = self.run(actions).await?;
            results.into_iter().map(|result| result.map(|result| result.row)).collect()
        })
    }

    fn apply(&self, ops: Vec<RowOp>) -> Fut<'_, Vec<Result<OpResult>>> {
        self.shared.runtime.run(async move {
            let actions = ops.into_iter().map(|op| Action::operation(op, &self.shared)).collect();
            self.run(actions).await
        })
    }

    fn scan(&self, scan: Scan) -> RowStream {
        scanner::scan(&self.shared, &self.regions, scan)
    }
}
