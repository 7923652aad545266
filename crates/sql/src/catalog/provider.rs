//! Table of a cluster as DataFusion's `TableProvider`: reads only; `write/` writes.
//!
//! Nothing is written through DataFusion: its planner loses conditions of DELETE and UPDATE on the
//! way to these hooks, so each of them is an error.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::DFSchemaRef;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::dml::{InsertOp, MergeIntoClause};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::scalar::ScalarValue;
use halite_rowkey::Dictionary;
use halite_types::{FamilyDescriptor, KeepDeletedCells, RegionInfo, Table, TableDescriptor};

use super::HaliteCatalog;
use super::shape::{Pseudo, ShapeColumn, Source, TableShape};
use super::statistics::TableStatistics;
use crate::error::{Result, SqlError};
use crate::pushdown::push;
use crate::scan::exec::ScanExec;
use crate::scan::history::History;
use crate::scan::spec::{Projection, ScanSpec, Target};
use crate::session::settings::{BadCells, Settings, UnreadableKeys};

/// Table of a cluster.
#[derive(Clone)]
pub(crate) struct HaliteTable {
    table: Arc<dyn Table>,
    /// What the shape was read from.
    descriptor: Arc<TableDescriptor>,
    pub(crate) shape: Arc<TableShape>,
    schema: SchemaRef,
    pub(crate) settings: Settings,
    history: History,
    /// Families that do not keep what was overwritten or deleted.
    forgetful: Arc<[String]>,
    /// Dictionaries of its key, as they were when it was opened.
    dictionary: Option<Arc<Dictionary>>,
    statistics: Option<Arc<TableStatistics>>,
}

impl fmt::Debug for HaliteTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "HaliteTable({})", self.table.name())
    }
}

impl HaliteTable {
    /// Opens a table: reads the dictionaries of its key, if it has some.
    ///
    /// # Errors
    /// As [`Self::new`]; errors of the cluster.
    pub(crate) async fn open(
        catalog: &HaliteCatalog,
        descriptor: &Arc<TableDescriptor>,
    ) -> Result<Self> {
        let table = Self::new(catalog, descriptor)?;
        let key = &table.shape.key;
        if !Dictionary::is_needed(key) {
            return Ok(table);
        }
        let cluster = catalog.cluster.as_ref();
        let dictionary = Dictionary::open_existing(cluster, descriptor.name(), key).await?;
        Ok(Self { dictionary: Some(Arc::new(dictionary)), ..table })
    }

    /// Creates the provider of a table, without dictionaries.
    ///
    /// # Errors
    /// `Corrupt` for a declaration that cannot be read.
    pub(crate) fn new(catalog: &HaliteCatalog, descriptor: &Arc<TableDescriptor>) -> Result<Self> {
        let settings = catalog.settings.read().unwrap_or_else(PoisonError::into_inner).clone();
        let null_keys = settings.unreadable_keys == UnreadableKeys::Null;
        let mut shape = TableShape::of(descriptor, null_keys)?;
        if settings.bad_cells == BadCells::Null {
            shape = shape.with_null_counters();
        }
        let table = catalog.cluster.table(descriptor.name());
        let forgets = |family: &&FamilyDescriptor| {
            family.max_versions() == 1 || family.keep_deleted_cells() == KeepDeletedCells::False
        };
        let name = |family: &FamilyDescriptor| String::from_utf8_lossy(family.name()).into_owned();
        Ok(Self {
            table,
            descriptor: Arc::clone(descriptor),
            schema: shape.arrow(),
            statistics: TableStatistics::of(descriptor, &shape.key).map(Arc::new),
            shape: Arc::new(shape),
            settings,
            history: History::default(),
            forgetful: descriptor.families().filter(forgets).map(name).collect(),
            dictionary: None,
        })
    }

    /// Returns the same table with columns that the statement makes, and with pseudo-columns.
    pub(crate) fn with_columns(&self, pseudo: &BTreeSet<Pseudo>, extras: &[ShapeColumn]) -> Self {
        let mut shape = self.shape.with_extras(extras).with_pseudo(pseudo);
        if self.settings.bad_cells == BadCells::Null {
            shape = shape.with_null_counters();
        }
        Self { schema: shape.arrow(), shape: Arc::new(shape), ..self.clone() }
    }

    /// Returns the cells of the table, each as a row.
    pub(crate) fn cells(&self) -> Self {
        let shape = self.shape.cells_of();
        Self { schema: shape.arrow(), shape: Arc::new(shape), ..self.clone() }
    }

    /// Returns the bucket rows of the table, with their points as lists.
    ///
    /// # Errors
    /// `NotSupported` for a table without a `SERIES`.
    pub(crate) fn buckets(&self) -> Result<Self> {
        let shape = self.shape.with_buckets().ok_or_else(|| {
            SqlError::unsupported(format!(
                "table {} has no SERIES whose points SQL reads, so WITH (BUCKETS) has no lists to \
                 show: leave it out",
                self.table.name()
            ))
        })?;
        Ok(Self { schema: shape.arrow(), shape: Arc::new(shape), ..self.clone() })
    }

    /// Returns the same table as it was, or with its versions.
    pub(crate) fn with_history(&self, history: History) -> Self {
        if history.versions.is_none() {
            return Self { history, ..self.clone() };
        }
        let shape = self.shape.with_null_counters();
        Self { history, schema: shape.arrow(), shape: Arc::new(shape), ..self.clone() }
    }

    /// Returns what is not shown of an earlier state.
    pub(crate) fn past_notice(&self) -> Option<String> {
        (!self.forgetful.is_empty()).then(|| {
            format!(
                "AS OF: table {} does not keep all that was overwritten or deleted since (VERSIONS \
                 and KEEP_DELETED_CELLS of family {}), so some of it is not shown",
                self.table.name(),
                self.forgetful.join(", ")
            )
        })
    }

    /// Returns `true` if each row of the table is at most one row of the answer: it has no versions,
    /// cells or points as rows, and is as it is now.
    pub(crate) fn is_row_by_row(&self) -> bool {
        let shape = &self.shape;
        self.history == History::default() && !shape.is_cells() && !shape.is_points()
    }

    /// Returns `true` if a query of it may be kept: what values stand for in a dictionary changes.
    pub(crate) fn is_kept(&self) -> bool {
        self.dictionary.is_none()
    }

    /// Returns `true` if the table has not been altered since.
    ///
    /// # Errors
    /// An error of the cluster; that there is no such table any more.
    pub(crate) async fn is_current(&self) -> Result<bool> {
        let now = self.table.descriptor().await?;
        Ok(Arc::ptr_eq(&now, &self.descriptor) || now == self.descriptor)
    }

    /// Returns what a scan for `columns` reads, whose schema is `schema`, with conditions that all
    /// hold.
    ///
    /// # Errors
    /// As [`ScanSpec::new`].
    pub(crate) async fn spec(
        &self,
        columns: &Vec<usize>,
        schema: &SchemaRef,
        conditions: &[Expr],
        limit: Option<usize>,
    ) -> Result<ScanSpec> {
        // Only EXPLAIN and `_region` show them.
        let is_region = |at: &usize| {
            let column = self.shape.columns.get(*at);
            column.is_some_and(|column| column.source == Source::Pseudo(Pseudo::Region))
        };
        let needs_regions = columns.iter().any(is_region);
        let regions = if needs_regions { self.table.regions().await? } else { Vec::new() };
        let projection = Projection { columns: Some(columns), schema: Some(schema) };
        self.spec_of(regions, projection, conditions, limit)
    }

    fn spec_of(
        &self,
        regions: Vec<RegionInfo>,
        projection: Projection<'_>,
        conditions: &[Expr],
        limit: Option<usize>,
    ) -> Result<ScanSpec> {
        let target = Target {
            table: Arc::clone(&self.table),
            shape: Arc::clone(&self.shape),
            regions: Arc::new(regions),
            dictionary: self.dictionary.clone(),
            statistics: self.statistics.clone(),
        };
        let (settings, history) = (&self.settings, self.history);
        ScanSpec::new(target, projection, conditions, limit, history, settings)
    }

    fn refused<T>(&self, verb: &str) -> DataFusionResult<T> {
        let name = self.table.name();
        Err(SqlError::unsupported(format!(
            "{verb} of table {name} through DataFusion loses conditions; run it by SqlContext::run"
        ))
        .into())
    }
}

/// Returns `true` for a condition that no row satisfies.
fn is_never(filter: &Expr) -> bool {
    matches!(filter, Expr::Literal(ScalarValue::Boolean(None | Some(false)) | ScalarValue::Null, _))
}

#[async_trait]
impl TableProvider for HaliteTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| {
            let pushed = push(&self.shape, self.history, filter);
            // What narrows nothing is passed on too, for EXPLAIN.
            if pushed.is_exact {
                TableProviderFilterPushDown::Exact
            } else {
                TableProviderFilterPushDown::Inexact
            }
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        // A filter that was pushed here as it was written, and of which nothing was left later.
        if filters.iter().any(is_never) {
            let schema = match projection {
                Some(columns) => Arc::new(self.schema.project(columns)?),
                None => Arc::clone(&self.schema),
            };
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let regions = self.table.regions().await.map_err(SqlError::from)?;
        let projection = Projection { columns: projection, schema: None };
        Ok(Arc::new(ScanExec::new(self.spec_of(regions, projection, filters, limit)?)))
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        self.refused("INSERT")
    }

    async fn delete_from(
        &self,
        _: &dyn Session,
        _: Vec<Expr>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        self.refused("DELETE")
    }

    async fn update(
        &self,
        _: &dyn Session,
        _: Vec<(String, Expr)>,
        _: Vec<Expr>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        self.refused("UPDATE")
    }

    async fn truncate(&self, _: &dyn Session) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        self.refused("TRUNCATE")
    }

    async fn merge_into(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: DFSchemaRef,
        _: Expr,
        _: Vec<MergeIntoClause>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        self.refused("MERGE")
    }
}
