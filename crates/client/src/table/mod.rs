//! Remote table, an implementation of the `Table` trait.
//!
//! ```text
//! action.rs   operations on one row, as messages         single.rs   one action: a separate call
//! multi.rs    many actions in one call, its response     batch.rs    many actions: grouping and retries
//! aggregate.rs    aggregates, by the endpoints of regions
//! ```

mod action;
mod aggregate;
mod batch;
mod multi;
mod single;

use std::sync::Arc;

use halite_types::{
    Aggregates, Aggregation, BoxFuture, Get, OpResult, RegionInfo, Result, Row, RowOp, RowStream,
    Scan, Table, TableDescriptor, TableName,
};
use halite_wire::convert::meta::{self, RegionRow};
use halite_wire::convert::region;

use crate::error::no_such_table;
use crate::meta::{TableLocations, region_location};
use crate::retry;
use crate::scanner;
use crate::shared::ClientInner;
use action::Action;
use batch::Batch;
use single::SingleAction;

/// Handle of a table.
pub(crate) struct RemoteTable {
    shared: Arc<ClientInner>,
    locations: Arc<TableLocations>,
}

impl RemoteTable {
    pub(crate) fn new(shared: Arc<ClientInner>, name: &TableName) -> Self {
        Self { locations: shared.meta_cache.table(name), shared }
    }

    /// Runs the actions and returns their results. Returns an error if none was attempted.
    async fn run(&self, mut actions: Vec<Result<Action>>) -> Result<Vec<Result<OpResult>>> {
        let deadline = self.shared.deadline();
        if actions.len() != 1 {
            return Batch::new(&self.shared, &self.locations, actions).run(&deadline).await;
        }
        let Some(Ok(action)) = actions.pop_if(|action| action.is_ok()) else {
            return Ok(actions
                .into_iter()
                .map(|action| action.map(|_| OpResult::default()))
                .collect());
        };
        let mut one = SingleAction::new(&self.shared, &self.locations, action);
        match retry::retry(&self.shared.config, &deadline, &mut one).await {
            Ok(result) => Ok(vec![Ok(result)]),
            Err(failure) if failure.is_server_response() => Ok(vec![Err(failure.into_error())]),
            Err(failure) => Err(failure.into_error()),
        }
    }
}

/// Returns all region rows of a scan of `hbase:meta`.
///
/// # Errors
/// As any scan.
pub(crate) async fn region_rows(shared: &Arc<ClientInner>, scan: Scan) -> Result<Vec<RegionRow>> {
    let mut stream = RemoteTable::new(Arc::clone(shared), &region::meta().table).scan(scan);
    let mut rows = Vec::new();
    while let Some(row) = stream.next().await? {
        // Rows that cannot be parsed, such as those of replicas, are skipped.
        rows.extend(meta::region_row(&row).ok().flatten());
    }
    Ok(rows)
}

impl RemoteTable {
    async fn check_exists(&self) -> Result<()> {
        let meta = RemoteTable::new(Arc::clone(&self.shared), &region::meta().table);
        let found = meta.get_all(vec![meta::table_get(self.name())]).await?;
        if found.iter().all(Row::is_empty) { Err(no_such_table(self.name())) } else { Ok(()) }
    }
}

impl Table for RemoteTable {
    fn name(&self) -> &TableName {
        self.locations.name()
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        self.shared.runtime.run(crate::admin::descriptor(&self.shared, self.locations.name()))
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        self.shared.runtime.run(async {
            let meta = region::meta();
            if *self.locations.name() == meta.table {
                return Ok(vec![meta]);
            }
            let rows =
                region_rows(&self.shared, meta::table_regions(self.locations.name())).await?;
            let regions: Vec<RegionInfo> =
                rows.iter().filter(|row| !row.is_offline).map(|row| row.region.clone()).collect();
            if regions.is_empty() {
                self.check_exists().await?;
            }
            rows.into_iter()
                .filter_map(|row| region_location(&self.shared, row))
                .for_each(|location| self.locations.insert(location));
            Ok(regions)
        })
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        self.shared.runtime.run(async move {
            let actions = gets.iter().map(Action::get).collect();
            let results = self.run(actions).await?;
            results.into_iter().map(|result| result.map(|result| result.row)).collect()
        })
    }

    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        self.shared.runtime.run(async move {
            let actions = ops.into_iter().map(|op| Action::operation(op, &self.shared)).collect();
            self.run(actions).await
        })
    }

    fn scan(&self, scan: Scan) -> RowStream {
        scanner::scan(&self.shared, &self.locations, scan)
    }

    fn aggregate(&self, aggregation: Aggregation) -> BoxFuture<'_, Result<Option<Aggregates>>> {
        self.shared.runtime.run(aggregate::aggregate(self, aggregation))
    }
}
