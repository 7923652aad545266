//! Catalog `halite`: namespaces as schemas, with their tables.
//!
//! Descriptors are read for each statement, so a statement sees the tables as they are. Schema
//! `halite` has the system tables of `system.rs`; namespace `default` is also called `public`.
//! `ddl.rs` runs statements of the row-key language, `describe.rs` answers DESCRIBE and SHOW,
//! `listing.rs` lists the tables for programs, `extra.rs` makes columns of cells that a statement
//! names. `analyze.rs` samples a table, `statistics.rs` is what it leaves in the descriptor.

pub(crate) mod analyze;
pub(crate) mod ddl;
pub(crate) mod describe;
pub(crate) mod extra;
mod hot_keys;
mod key_sample;
pub(crate) mod lint;
pub(crate) mod listing;
pub(crate) mod local;
pub(crate) mod provider;
mod regions;
pub(crate) mod shape;
pub(crate) mod statistics;
mod system;
mod system_columns;
pub(crate) mod table_info;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::sql::sqlparser::ast::Ident;
use halite_rowkey::table_lint::TableLint;
use halite_types::{Cluster, ErrorKind, TableDescriptor, TableName};

use crate::error::{Result, SqlError};
use crate::names::by_case;
use crate::session::queries::Queries;
use crate::session::settings::Settings;
use local::{PG_TEMP, SessionTables};
use provider::HaliteTable;
pub(crate) use system::{SYSTEM_SCHEMA, SYSTEM_TABLES};

/// Name of the catalog.
pub(crate) const CATALOG: &str = "halite";
/// Second name of the namespace `default`.
pub(crate) const PUBLIC: &str = "public";
/// Namespace of tables without one.
pub(crate) const DEFAULT: &str = "default";
/// Schema of the tables that clients of PostgreSQL ask, where a door has registered them.
pub(crate) const PG_CATALOG: &str = "pg_catalog";
/// Schema of the standard's views.
pub(crate) const INFORMATION_SCHEMA: &str = "information_schema";

/// Tables that a program registered, by schema and name.
#[derive(Default)]
struct Registered {
    tables: Mutex<HashMap<(String, String), Arc<dyn TableProvider>>>,
    changes: AtomicU64,
}

/// Tables of a cluster, as DataFusion looks them up.
pub(crate) struct HaliteCatalog {
    pub(crate) cluster: Arc<dyn Cluster>,
    pub(crate) settings: Arc<RwLock<Settings>>,
    /// Statements of all sessions.
    pub(crate) queries: Arc<Queries>,
    /// Rules of lint, where the program has given them.
    pub(crate) lint: Arc<OnceLock<Arc<dyn TableLint>>>,
    /// Temporary tables and views of the session.
    pub(crate) local: Arc<SessionTables>,
    /// Tables that a program registered with the session.
    registered: Arc<Registered>,
    /// Names of namespaces and tables, for the calls that cannot wait for the cluster.
    names: RwLock<Arc<Names>>,
}

/// Names of namespaces and tables.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) namespaces: Vec<String>,
    pub(crate) tables: Vec<TableName>,
}

impl fmt::Debug for HaliteCatalog {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HaliteCatalog").finish_non_exhaustive()
    }
}

impl HaliteCatalog {
    pub(crate) fn new(cluster: Arc<dyn Cluster>, settings: Arc<RwLock<Settings>>) -> Self {
        Self {
            cluster,
            settings,
            queries: Arc::default(),
            lint: Arc::default(),
            local: Arc::default(),
            registered: Arc::default(),
            names: RwLock::default(),
        }
    }

    /// Creates the catalog of another session, with the same registered tables.
    pub(crate) fn another(&self, settings: Arc<RwLock<Settings>>) -> Self {
        Self {
            cluster: Arc::clone(&self.cluster),
            settings,
            queries: Arc::clone(&self.queries),
            lint: Arc::clone(&self.lint),
            local: Arc::default(),
            registered: Arc::clone(&self.registered),
            names: RwLock::default(),
        }
    }

    /// Returns the descriptor of a table; `None` if there is none.
    pub(crate) async fn descriptor(
        &self,
        name: &TableName,
    ) -> Result<Option<Arc<TableDescriptor>>> {
        match self.cluster.table(name).descriptor().await {
            Ok(descriptor) => Ok(Some(descriptor)),
            Err(error)
                if matches!(error.kind(), ErrorKind::NoSuchTable | ErrorKind::NoSuchNamespace) =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the names of all namespaces and tables.
    pub(crate) async fn list(&self) -> Result<Arc<Names>> {
        let admin = self.cluster.admin();
        let namespaces = admin.list_namespaces().await.map_err(SqlError::from)?;
        let tables = admin.list_tables().await.map_err(SqlError::from)?;
        let names = Arc::new(Names {
            namespaces: namespaces.into_iter().map(|(name, _)| name).collect(),
            tables: tables.iter().map(|table| table.name().clone()).collect(),
        });
        *self.names.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&names);
        Ok(names)
    }

    fn names(&self) -> Arc<Names> {
        Arc::clone(&self.names.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns how often tables were registered and removed: names may mean others since.
    pub(crate) fn registrations(&self) -> u64 {
        self.registered.changes.load(Ordering::Relaxed) + self.local.changes()
    }

    /// Returns the temporary table or view that a name of one part, or in `pg_temp`, means.
    ///
    /// # Errors
    /// `Ambiguous`.
    pub(crate) fn local_name(&self, parts: &[Ident]) -> Result<Option<String>> {
        let name = match parts {
            [name] => name,
            [schema, name] if schema.value.eq_ignore_ascii_case(PG_TEMP) => name,
            _ => return Ok(None),
        };
        let names = self.local.names();
        let mut names = names.iter().map(String::as_str);
        let found = match name.quote_style {
            Some(_) => names.find(|known| *known == name.value),
            None => by_case(&name.value, names)?,
        };
        Ok(found.map(ToOwned::to_owned))
    }

    /// Returns a table that a program registered, or a temporary one of the session.
    pub(crate) fn registered(&self, schema: &str, name: &str) -> Option<Arc<dyn TableProvider>> {
        if schema == PG_TEMP {
            return self.local.provider(name);
        }
        let registered = self.registered.tables.lock().unwrap_or_else(PoisonError::into_inner);
        registered.get(&(schema.to_owned(), name.to_owned())).map(Arc::clone)
    }
}

/// Returns the namespace that a schema is.
pub(crate) fn namespace_of(schema: &str) -> &str {
    if schema == PUBLIC { DEFAULT } else { schema }
}

/// The catalog behind DataFusion's trait.
#[derive(Debug)]
pub(crate) struct CatalogHandle(pub(crate) Arc<HaliteCatalog>);

impl CatalogProvider for CatalogHandle {
    fn schema_names(&self) -> Vec<String> {
        let mut names = self.0.names().namespaces.clone();
        names.push(SYSTEM_SCHEMA.to_owned());
        names
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let catalog = Arc::clone(&self.0);
        Some(Arc::new(Namespace { catalog, name: namespace_of(name).to_owned() }))
    }
}

/// Schema: the tables of a namespace, or the system tables.
#[derive(Debug)]
struct Namespace {
    catalog: Arc<HaliteCatalog>,
    name: String,
}

#[async_trait]
impl SchemaProvider for Namespace {
    fn table_names(&self) -> Vec<String> {
        if self.name == SYSTEM_SCHEMA {
            return SYSTEM_TABLES.iter().map(|name| (*name).to_owned()).collect();
        }
        let names = self.catalog.names();
        let of_namespace = names.tables.iter().filter(|name| name.namespace() == self.name);
        of_namespace.map(|name| name.qualifier().to_owned()).collect()
    }

    async fn table(&self, name: &str) -> DataFusionResult<Option<Arc<dyn TableProvider>>> {
        if let Some(table) = self.catalog.registered(&self.name, name) {
            return Ok(Some(table));
        }
        if self.name == SYSTEM_SCHEMA {
            return Ok(system::table(&self.catalog, name).await?);
        }
        let Ok(name) = TableName::new(self.name.as_str(), name) else { return Ok(None) };
        let Some(descriptor) = self.catalog.descriptor(&name).await? else { return Ok(None) };
        let table = HaliteTable::open(&self.catalog, &descriptor).await;
        let table = table.map_err(DataFusionError::from)?;
        Ok(Some(Arc::new(table)))
    }

    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> DataFusionResult<Option<Arc<dyn TableProvider>>> {
        let registered = &self.catalog.registered;
        let mut tables = registered.tables.lock().unwrap_or_else(PoisonError::into_inner);
        registered.changes.fetch_add(1, Ordering::Relaxed);
        Ok(tables.insert((self.name.clone(), name), table))
    }

    fn deregister_table(&self, name: &str) -> DataFusionResult<Option<Arc<dyn TableProvider>>> {
        let registered = &self.catalog.registered;
        let mut tables = registered.tables.lock().unwrap_or_else(PoisonError::into_inner);
        registered.changes.fetch_add(1, Ordering::Relaxed);
        Ok(tables.remove(&(self.name.clone(), name.to_owned())))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.table_names().iter().any(|known| known == name)
    }
}
