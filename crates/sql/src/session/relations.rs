//! Tables of FROM: whatever follows a table and is not planned is refused, since DataFusion drops
//! some of it and answers as if it were not there.

use std::collections::BTreeSet;

use datafusion::common::TableReference;
use datafusion::datasource::{DefaultTableSource, provider_as_source};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::sql::sqlparser::ast::{ObjectName, TableAlias, TableFactor};

use crate::catalog::provider::HaliteTable;
use crate::catalog::shape::Pseudo;
use crate::error::SqlError;

/// Planner of the tables of one statement.
#[derive(Debug)]
pub(super) struct Relations {
    /// Pseudo-columns that the statement names.
    pub(super) pseudo: BTreeSet<Pseudo>,
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
        if let TableFactor::Table { name, alias, args: None, .. } = &relation
            && !self.pseudo.is_empty()
            && let Some(planned) = self.with_pseudo(name, alias.as_ref(), context)?
        {
            return Ok(RelationPlanning::Planned(Box::new(planned)));
        }
        Ok(RelationPlanning::Original(Box::new(relation)))
    }
}

impl Relations {
    /// Returns the scan of a table with its pseudo-columns; `None` for other tables.
    fn with_pseudo(
        &self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
        context: &mut dyn RelationPlannerContext,
    ) -> DataFusionResult<Option<PlannedRelation>> {
        let reference: TableReference = context.object_name_to_table_reference(name.clone())?;
        // A common table expression is no table of the catalog.
        let Ok(source) = context.context_provider().get_table_source(reference.clone()) else {
            return Ok(None);
        };
        let table = source
            .downcast_ref::<DefaultTableSource>()
            .and_then(|source| source.table_provider.downcast_ref::<HaliteTable>());
        let Some(table) = table else { return Ok(None) };
        let source = provider_as_source(std::sync::Arc::new(table.with_pseudo(&self.pseudo)));
        let plan = LogicalPlanBuilder::scan(reference, source, None)?.build()?;
        Ok(Some(PlannedRelation::new(plan, alias.cloned())))
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
            (!with_hints.is_empty(), "WITH (..) behind a table"),
            (version.is_some(), "a version of a table (FOR SYSTEM_TIME AS OF)"),
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
