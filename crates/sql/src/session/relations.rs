//! Tables of FROM: whatever follows a table and is not planned is refused, since DataFusion drops
//! some of it and answers as if it were not there.

use std::sync::Arc;

use datafusion::common::TableReference;
use datafusion::datasource::{DefaultTableSource, provider_as_source};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::sql::sqlparser::ast::{ObjectName, TableFactor};

use super::history;
use super::statement::StatementContext;
use crate::catalog::provider::HaliteTable;
use crate::error::SqlError;
use crate::names::{CELLS, Named, RangeTables, cells_argument, ranges_argument};
use crate::scan::history::History;

/// Planner of the tables of one statement.
#[derive(Debug)]
pub(crate) struct Relations {
    /// Pseudo-columns that the statement names, and tables of which it reads the cells.
    pub(crate) named: Named,
    /// Tables of `halite_ranges`.
    pub(crate) ranges: RangeTables,
    /// The statement, for a notice about what is not kept of the past.
    pub(crate) statement: Arc<StatementContext>,
}

impl RelationPlanner for Relations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> DataFusionResult<RelationPlanning> {
        if let Some(what) = unplanned(&relation) {
            let text = format!("{what} is not part of this dialect: {relation}");
            return Err(SqlError::unsupported(text).into());
        }
        let TableFactor::Table { name, alias, args, with_hints, .. } = &relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        if let Some(args) = args
            && let Some(text) = ranges_argument(name, args)?
            && let Some(table) = self.ranges.get(&text)
        {
            let source = provider_as_source(Arc::clone(table));
            let reference = TableReference::bare(name.to_string());
            let plan = LogicalPlanBuilder::scan(reference, source, None)?.build()?;
            let planned = PlannedRelation::new(plan, alias.clone());
            return Ok(RelationPlanning::Planned(Box::new(planned)));
        }
        let history = history::of_hints(with_hints, context)?;
        let is_buckets = with_hints.iter().any(history::is_buckets);
        let has_columns = !self.named.columns.of(with_hints).is_empty();
        let is_changed = history != History::default() || is_buckets;
        let (table, reference) = match args {
            None => {
                let reference = context.object_name_to_table_reference(name.clone())?;
                (self.table(&reference, is_changed || has_columns, context), reference)
            }
            Some(args) => match cells_argument(name, args) {
                Some(table) if is_buckets => {
                    return Err(SqlError::unsupported(format!(
                        "cells({table}) has the cells of its rows, and no lists of points: write \
                         {table} WITH (BUCKETS)"
                    ))
                    .into());
                }
                Some(table) => (Some(self.cells(&table)?), TableReference::bare(CELLS)),
                None => (None, TableReference::bare(name.to_string())),
            },
        };
        let Some(table) = table else {
            if is_changed {
                return Err(SqlError::unsupported(format!(
                    "{name} is no table of the cluster, so it has no VERSIONS, no earlier state and \
                     no bucket rows"
                ))
                .into());
            }
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        if history.times.is_some() && history.versions.is_none() {
            table.past_notice().into_iter().for_each(|notice| self.statement.notice(notice));
        }
        let table = if is_buckets { table.buckets()? } else { table };
        let table = table.with_columns(&self.named.pseudo, self.named.columns.of(with_hints));
        let table = table.with_history(history);
        let source = provider_as_source(Arc::new(table));
        let plan = LogicalPlanBuilder::scan(reference, source, None)?.build()?;
        let planned = PlannedRelation::new(plan, alias.clone());
        Ok(RelationPlanning::Planned(Box::new(planned)))
    }
}

impl Relations {
    /// Returns a table of the cluster, if it is one and DataFusion would not read it alike: where
    /// the statement changes what its rows are, or has more columns than the table lists.
    fn table(
        &self,
        reference: &TableReference,
        is_changed: bool,
        context: &mut dyn RelationPlannerContext,
    ) -> Option<HaliteTable> {
        let named = &self.named;
        if named.pseudo.is_empty() && !is_changed {
            return None;
        }
        // A common table expression is no table of the catalog, also where one is called so.
        if let TableReference::Bare { table } = reference
            && named.ctes.contains(&**table)
        {
            return None;
        }
        let source = context.context_provider().get_table_source(reference.clone()).ok()?;
        let source = source.downcast_ref::<DefaultTableSource>()?;
        source.table_provider.downcast_ref::<HaliteTable>().cloned()
    }

    /// Returns the cells of a table.
    fn cells(&self, table: &ObjectName) -> DataFusionResult<HaliteTable> {
        let found = self.named.cells.get(&table.to_string()).map(HaliteTable::cells);
        found.ok_or_else(|| {
            SqlError::unsupported(format!("cells({table}): {table} is no table of the cluster"))
                .into()
        })
    }
}

/// Returns the part of a relation that is not planned.
fn unplanned(relation: &TableFactor) -> Option<&'static str> {
    match relation {
        TableFactor::Table {
            name: _,
            alias: _,
            args: _,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
        } => [
            (!with_hints.iter().all(history::is_hint), "WITH (..) behind a table"),
            (version.is_some(), "this version of a table"),
            (*with_ordinality, "WITH ORDINALITY"),
            (!partitions.is_empty(), "PARTITION"),
            (json_path.is_some(), "a path into a table"),
            (sample.is_some(), "TABLESAMPLE"),
            (!index_hints.is_empty(), "an index hint"),
        ]
        .into_iter()
        .find_map(|(is_there, what)| is_there.then_some(what)),
        TableFactor::Derived { sample: Some(_), .. } => Some("TABLESAMPLE"),
        TableFactor::Function { with_ordinality: true, .. } => Some("WITH ORDINALITY"),
        TableFactor::UNNEST { with_offset, with_ordinality, with_offset_alias, .. }
            if *with_offset || *with_ordinality || with_offset_alias.is_some() =>
        {
            Some("WITH ORDINALITY")
        }
        TableFactor::Derived { .. }
        | TableFactor::Function { .. }
        | TableFactor::UNNEST { .. }
        | TableFactor::TableFunction { .. }
        | TableFactor::NestedJoin { .. } => None,
        _ => Some("this kind of relation"),
    }
}
