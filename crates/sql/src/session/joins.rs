//! How joins are computed, as the settings say.

use std::sync::Arc;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::common::{JoinSide, JoinType, internal_err};
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::utils::ColumnIndex;
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use datafusion::prelude::SessionConfig;

use super::settings::Join;
use super::statement::StatementContext;
use crate::scan::exec::as_scan;

/// A side that is hashed may need the memory for all statements, divided by this.
const HASHED_SHARE: usize = 4;

/// Has joins computed as the settings say.
pub(crate) fn set_join(config: &mut SessionConfig, join: Join) {
    if join != Join::Merge {
        return;
    }
    let options = config.options_mut();
    options.optimizer.prefer_hash_join = false;
    options.optimizer.repartition_joins = true;
    // With one partition joins hash whatever is preferred.
    let partitions = &mut options.execution.target_partitions;
    *partitions = (*partitions).max(2);
}

/// Returns the plan that is executed. Joins that cannot be merged as the settings say hash one
/// side, and the statement tells so.
///
/// # Errors
/// What is wrong with the query.
pub(crate) async fn physical(
    state: &mut SessionState,
    plan: &LogicalPlan,
    statement: &StatementContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    let physical = state.query_planner().create_physical_plan(plan, state).await?;
    if statement.settings.join == Join::Auto && hashes_too_much(&physical, state)? {
        let mut merging = state.clone();
        set_join(merging.config_mut(), Join::Merge);
        let merged = merging.query_planner().create_physical_plan(plan, &merging).await?;
        let merged = merged.transform_up(filtered_behind)?.data;
        if !merges_by_condition(&merged)? {
            *state = merging;
            return Ok(merged);
        }
    }
    let physical = physical.transform_up(filtered_behind)?.data;
    if !merges_by_condition(&physical)? {
        return Ok(physical);
    }
    let text = "a join with a condition beside equality is not merged: it hashes one side, which \
                has to fit the memory";
    statement.notice(text.to_owned());
    state.config_mut().options_mut().optimizer.prefer_hash_join = true;
    state.query_planner().create_physical_plan(plan, state).await
}

/// Returns `true` if a join would hash a side that needs too much of the memory for statements, as
/// far as ANALYZE tells.
///
/// # Errors
/// None in practice.
fn hashes_too_much(plan: &Arc<dyn ExecutionPlan>, state: &SessionState) -> Result<bool> {
    let pool = &state.runtime_env().memory_pool;
    let MemoryLimit::Finite(limit) = pool.memory_limit() else { return Ok(false) };
    let most = (limit / HASHED_SHARE) as u64;
    let mut found = false;
    plan.apply(|plan| {
        if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
            found |= hashed_bytes(join.left())?.is_some_and(|bytes| bytes > most);
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Returns about how many bytes the rows of a plan need: those that it is expected to have, each as
/// wide as the rows of its scans together; `None` if a table was not analyzed.
///
/// # Errors
/// None in practice.
fn hashed_bytes(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<u64>> {
    let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new())?;
    let Some(rows) = statistics.num_rows.get_value().copied() else {
        return Ok(None);
    };
    let mut row_bytes = Some(0u64);
    plan.apply(|plan| {
        if let Some(scan) = as_scan(plan.as_ref()) {
            let more = scan.spec.known_row_bytes();
            row_bytes = row_bytes.zip(more).map(|(sum, more)| sum.saturating_add(more));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(row_bytes.map(|bytes| bytes.saturating_mul(rows as u64)))
}

/// Compares the condition of an inner merge join after it.
fn filtered_behind(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() else {
        return Ok(Transformed::no(plan));
    };
    let Some(filter) = join.filter().as_ref().filter(|_| join.join_type() == JoinType::Inner)
    else {
        return Ok(Transformed::no(plan));
    };
    let (left, right) = (join.left().schema(), join.right().schema());
    // DataFusion may have moved the columns of the sides without telling the condition.
    let is_there = |(place, field): (&ColumnIndex, &FieldRef)| {
        let side = if place.side == JoinSide::Left { &left } else { &right };
        let same = side.fields().iter().filter(|other| other.name() == field.name());
        same.count() == 1
            && side.fields().get(place.index).is_some_and(|other| other.name() == field.name())
    };
    if !filter.column_indices().iter().zip(filter.schema().fields()).all(is_there) {
        return Ok(Transformed::no(plan));
    }
    let columns_of_left = left.fields().len();
    let schema = plan.schema();
    let condition = Arc::clone(filter.expression()).transform_up(|expr| {
        let Some(column) = expr.downcast_ref::<Column>() else {
            return Ok(Transformed::no(expr));
        };
        let Some(place) = filter.column_indices().get(column.index()) else {
            return internal_err!("the condition of a join has columns of its sides");
        };
        let at = match place.side {
            JoinSide::Left => place.index,
            _ => columns_of_left + place.index,
        };
        let found = Column::new(schema.field(at).name(), at);
        Ok(Transformed::yes(Arc::new(found) as Arc<dyn PhysicalExpr>))
    })?;
    let merged = SortMergeJoinExec::try_new(
        Arc::clone(join.left()),
        Arc::clone(join.right()),
        join.on().to_vec(),
        None,
        JoinType::Inner,
        join.sort_options().to_vec(),
        join.null_equality(),
    )?;
    let filtered = FilterExec::try_new(condition.data, Arc::new(merged))?;
    Ok(Transformed::yes(Arc::new(filtered)))
}

/// Returns `true` if a plan merges two sides under a condition beside equality, which DataFusion's
/// merge join takes from wrong columns.
///
/// # Errors
/// None in practice.
fn merges_by_condition(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut found = false;
    plan.apply(|plan| {
        found |=
            plan.downcast_ref::<SortMergeJoinExec>().is_some_and(|join| join.filter().is_some());
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
