//! Filters that the one side of a join makes for the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;

/// Moves the filters of joins to the scans, unless the name of one of their columns means several
/// further down.
///
/// `DataFusion` finds the columns of a filter by name in each plan that it passes, so that of
/// `a JOIN b` with an `id` each it may test the other one. Its rule that moves conditions of plans
/// in the same way is not used at all: they were moved before, with the tables of their names.
#[derive(Debug)]
pub(crate) struct JoinFilters(pub(crate) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for JoinFilters {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        options: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        if has_ambiguous_filter(&plan)? { Ok(plan) } else { self.0.optimize(plan, options) }
    }

    fn name(&self) -> &'static str {
        "JoinFilters"
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Returns `true` if a column of the condition of a join has a name that several columns of a plan
/// below have.
fn has_ambiguous_filter(plan: &Arc<dyn ExecutionPlan>) -> DataFusionResult<bool> {
    let mut found = false;
    plan.apply(|plan| {
        let Some(join) = plan.downcast_ref::<HashJoinExec>() else {
            return Ok(TreeNodeRecursion::Continue);
        };
        let names = |side: Vec<_>| {
            let columns = side.iter().flat_map(collect_columns);
            columns.map(|column: Column| column.name().to_owned()).collect::<BTreeSet<String>>()
        };
        let (left, right): (Vec<_>, Vec<_>) =
            join.on().iter().map(|(left, right)| (Arc::clone(left), Arc::clone(right))).unzip();
        found |=
            is_ambiguous(join.left(), &names(left))? || is_ambiguous(join.right(), &names(right))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Returns `true` if several columns of a plan, or of one below it, have one of the names.
fn is_ambiguous(plan: &Arc<dyn ExecutionPlan>, names: &BTreeSet<String>) -> DataFusionResult<bool> {
    let mut found = false;
    plan.apply(|plan| {
        let mut seen = BTreeSet::new();
        let schema = plan.schema();
        let of_filter = schema.fields().iter().filter(|field| names.contains(field.name()));
        found |= !of_filter.map(|field| field.name()).all(|name| seen.insert(name));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
