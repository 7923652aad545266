//! Cluster whose batches of writes a test watches, and whose answers it replaces.

use std::sync::Arc;

use halite::{
    Admin, BoxFuture, Cluster, Error, Get, OpResult, RegionInfo, Result, Row, RowOp, RowSource,
    RowStream, Scan, Table, TableDescriptor, TableName,
};
use halite_sql::SqlContext;

use crate::store::TestStore;

/// Answers of a batch.
pub(crate) type Answers = Result<Vec<Result<OpResult>>>;

/// What a test does with batches.
pub(crate) trait Hook: Send + Sync {
    /// Runs before a batch is applied to the table.
    fn before<'a>(&'a self, _table: &'a dyn Table) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Runs before rows are got.
    fn before_gets<'a>(&'a self, _table: &'a dyn Table) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// Returns the error of reads, if they fail.
    fn read_error(&self) -> Option<Error> {
        None
    }

    /// Returns `true` if the batch does not reach the table.
    fn is_lost(&self) -> bool {
        false
    }

    /// Returns the answers that the caller sees.
    fn answers(&self, answers: Vec<Result<OpResult>>) -> Answers {
        Ok(answers)
    }
}

struct Interposed {
    inner: Arc<dyn Cluster>,
    hook: Arc<dyn Hook>,
}

/// Rows whose first is an error.
struct FailedSource(Error);

impl RowSource for FailedSource {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        let error = self.0.clone();
        Box::pin(async { Err(error) })
    }
}

struct InterposedTable {
    inner: Arc<dyn Table>,
    hook: Arc<dyn Hook>,
}

impl Cluster for Interposed {
    fn table(&self, name: &TableName) -> Arc<dyn Table> {
        Arc::new(InterposedTable { inner: self.inner.table(name), hook: Arc::clone(&self.hook) })
    }

    fn admin(&self) -> Arc<dyn Admin> {
        self.inner.admin()
    }
}

impl Table for InterposedTable {
    fn name(&self) -> &TableName {
        self.inner.name()
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        self.inner.descriptor()
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        self.inner.regions()
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        match self.hook.read_error() {
            Some(error) => Box::pin(async { Err(error) }),
            None => Box::pin(async move {
                self.hook.before_gets(self.inner.as_ref()).await;
                self.inner.get_all(gets).await
            }),
        }
    }

    fn batch(&self, ops: Vec<RowOp>) -> BoxFuture<'_, Answers> {
        Box::pin(async move {
            self.hook.before(self.inner.as_ref()).await;
            if self.hook.is_lost() {
                return self.hook.answers(Vec::new());
            }
            self.hook.answers(self.inner.batch(ops).await?)
        })
    }

    fn scan(&self, scan: Scan) -> RowStream {
        match self.hook.read_error() {
            Some(error) => RowStream::new(FailedSource(error)),
            None => self.inner.scan(scan),
        }
    }
}

/// Returns a session on the cluster of a store whose batches meet a hook.
pub(crate) fn session(store: &TestStore, hook: impl Hook + 'static) -> SqlContext {
    let inner = Arc::clone(store.store.cluster());
    SqlContext::new(Arc::new(Interposed { inner, hook: Arc::new(hook) }))
}
