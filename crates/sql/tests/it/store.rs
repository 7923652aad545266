//! Cluster with SQL, for one test: an embedded store, or an empty cluster that is there.

use std::sync::Arc;

use halite::{BlockingCluster, Bytes, Store};
use halite_engine::env::sim::SimEnv;
use halite_sql::{Answer, SqlContext, SqlError, cell_text};
use tokio::runtime::Runtime;

use crate::loader;

/// Cluster of a test.
pub(crate) struct TestStore {
    pub(crate) store: BlockingCluster,
    pub(crate) sql: Arc<SqlContext>,
    pub(crate) runtime: Runtime,
    _embedded: Option<(Store, tempfile::TempDir)>,
}

impl TestStore {
    /// Opens a store in a temporary directory, or connects to the cluster that `HALITE_SLT_CLUSTER`
    /// names and deletes its tables.
    pub(crate) fn new() -> Self {
        if let Some(uri) = std::env::var("HALITE_SLT_CLUSTER").ok().filter(|uri| !uri.is_empty()) {
            return Self::emptied(&uri);
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = halite::open(directory.path()).expect("an empty store");
        Self::of(BlockingCluster::clone(&store), Some((store, directory)))
    }

    /// Opens a store on a simulated disk and clock.
    pub(crate) fn simulated(sim: &SimEnv) -> (Self, Store) {
        let store = halite::Builder::new().open_with_env(sim.env()).expect("an empty store");
        (Self::of(BlockingCluster::clone(&store), None), store)
    }

    fn emptied(uri: &str) -> Self {
        let cluster = BlockingCluster::connect(uri).expect("a cluster");
        for table in cluster.list_tables().expect("its tables") {
            let name = table.name();
            if cluster.is_enabled(name).expect("a table") {
                cluster.disable_table(name).expect("a table");
            }
            cluster.drop_table(name).expect("a table");
        }
        Self::of(cluster, None)
    }

    fn of(store: BlockingCluster, embedded: Option<(Store, tempfile::TempDir)>) -> Self {
        let sql = Arc::new(SqlContext::new(Arc::clone(store.cluster())));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_stack_size(halite_sql::STACK_BYTES)
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        Self { store, sql, runtime, _embedded: embedded }
    }

    /// Runs a statement, or loads rows.
    pub(crate) fn run(&self, text: &str) -> Result<Rows, SqlError> {
        if loader::is_load(text) {
            let rows = loader::load(&self.store, text);
            return Ok(Rows { tag: Some(format!("{rows}")), ..Rows::default() });
        }
        self.run_text(text)
    }

    /// Runs a statement.
    pub(crate) fn run_text(&self, text: &str) -> Result<Rows, SqlError> {
        self.runtime.block_on(async {
            let mut answer = self.sql.run(text).await?;
            Rows::of(&mut answer).await
        })
    }

    /// Returns the rows of a query, columns separated by `|`.
    pub(crate) fn rows(&self, text: &str) -> Vec<String> {
        let rows = self.run(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        rows.rows.iter().map(|row| row.join("|")).collect()
    }

    /// Returns the first family of a table.
    pub(crate) fn family(&self, table: &str) -> Bytes {
        let descriptor = self.store.descriptor(table);
        let descriptor = descriptor.expect("a table");
        descriptor.families().next().expect("a family").name().clone()
    }

    /// Returns the number of rows that the regions of a table have examined so far.
    pub(crate) fn examined(&self, table: &str) -> u64 {
        let status = self.store.cluster_status().expect("a status");
        let of_table = status.regions.iter().filter(|load| load.region.table.to_string() == table);
        of_table.map(|load| load.rows_examined).sum()
    }
}

/// Answer of a statement as text.
#[expect(clippy::struct_field_names, reason = "an answer has rows")]
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) tag: Option<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) notices: Vec<String>,
}

impl Rows {
    pub(crate) async fn of(answer: &mut Answer) -> Result<Self, SqlError> {
        let schema = Arc::clone(answer.schema());
        let mut rows = Vec::new();
        for batch in answer.batches().await? {
            for row in 0..batch.num_rows() {
                let cells = schema.fields().iter().zip(batch.columns()).map(|(field, column)| {
                    cell_text(field, column.as_ref(), row)
                        .map(|text| text.unwrap_or_else(|| "NULL".to_owned()))
                });
                rows.push(cells.collect::<Result<Vec<_>, _>>()?);
            }
        }
        Ok(Self {
            tag: answer.tag().map(ToOwned::to_owned),
            columns: schema.fields().iter().map(|field| field.name().clone()).collect(),
            rows,
            notices: answer.take_notices(),
        })
    }
}
