//! Aggregates that need few rows of their scan.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::union::UnionExec;
use halite_rowkey::FieldId;

use super::ends::{End, Ends};
use super::inputs::replace_inputs;
use crate::catalog::shape::{ShapeColumn, Source};
use crate::scan::exec::{ScanExec, as_scan};
use crate::scan::spec::{FirstRows, ScanSpec};

/// Aggregates that are null, or count nothing, for rows without a value.
const OF_VALUES: [&str; 5] = ["sum", "min", "max", "avg", "count"];

/// Replaces the scan below an aggregate by one of the rows that the aggregate needs; the aggregate
/// stays, and computes the same from them.
#[derive(Debug)]
pub(crate) struct KeyAggregates;

impl PhysicalOptimizerRule for KeyAggregates {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        replace_inputs(plan, |aggregate| {
            let scan = as_scan(aggregate.input().as_ref());
            Ok(scan.and_then(|scan| instead(aggregate, scan)))
        })
    }

    fn name(&self) -> &'static str {
        "KeyAggregates"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the input that an aggregate needs; `None` if that is all of the scan.
fn instead(aggregate: &AggregateExec, scan: &ScanExec) -> Option<Arc<dyn ExecutionPlan>> {
    let spec = &scan.spec;
    let is_filtered = aggregate.filter_expr().iter().any(Option::is_some);
    if !spec.is_plain()
        || is_filtered
        || aggregate.mode().input_mode() != AggregateInputMode::Raw
        || aggregate.group_expr().has_grouping_set()
    {
        return None;
    }
    let grouped: Option<Vec<FieldId>> =
        aggregate.group_expr().expr().iter().map(|(expr, _)| field_of(spec, expr)).collect();
    let grouped = grouped?;
    let ends = Ends { spec, grouped: &grouped };
    let wanted: Option<BTreeSet<End>> =
        aggregate.aggr_expr().iter().map(|one| ends.of(one)).collect();
    let has_rows = !(grouped.is_empty() && aggregate.aggr_expr().is_empty());
    match wanted.filter(|_| has_rows) {
        Some(wanted) => rows_at(spec, &grouped, wanted),
        None if aggregate.group_expr().expr().is_empty() => with_cells(spec, aggregate.aggr_expr()),
        None => None,
    }
}

/// Returns scans of the rows at the wanted ends of each group, or of the whole scan.
fn rows_at(
    spec: &ScanSpec,
    grouped: &[FieldId],
    mut wanted: BTreeSet<End>,
) -> Option<Arc<dyn ExecutionPlan>> {
    if wanted.len() > 1 {
        wanted.remove(&End::Any);
    }
    if wanted.is_empty() {
        wanted.insert(End::Any);
    }
    let reversed = spec.plan.query().reverse;
    let scans = wanted.into_iter().map(|end| {
        let reverse = reversed ^ (end == End::Last);
        let scan = if grouped.is_empty() {
            spec.replanned(Some(1), reverse).ok()?
        } else {
            let fields = spec.plan.schema().fields();
            if spec.has_small_groups(grouped) {
                return None;
            }
            let first_of = FirstRows {
                groups: spec.plan.groups(grouped)?,
                fields: grouped.iter().map(|field| fields[*field].name.clone()).collect(),
            };
            spec.first_rows(first_of, reverse).ok()?
        };
        Some(Arc::new(ScanExec::new(scan)) as Arc<dyn ExecutionPlan>)
    });
    UnionExec::try_new(scans.collect::<Option<_>>()?).ok()
}

/// Returns the scan of the rows that have a cell, if the aggregates ignore others.
fn with_cells(
    spec: &ScanSpec,
    aggregates: &[Arc<AggregateFunctionExpr>],
) -> Option<Arc<dyn ExecutionPlan>> {
    let is_cell =
        |column: &ShapeColumn| matches!(column.source, Source::Cell { .. }) && !column.is_counter();
    let ignores_null = |one: &Arc<AggregateFunctionExpr>| {
        let args = one.expressions();
        let [arg] = args.as_slice() else { return false };
        OF_VALUES.contains(&one.fun().name()) && column_of(spec, arg).is_some_and(is_cell)
    };
    let columns = spec.columns.iter().map(|at| &spec.target.shape.columns[*at]);
    if spec.skips_empty || aggregates.is_empty() || !columns.clone().all(is_cell) {
        return None;
    }
    if !aggregates.iter().all(ignores_null) {
        return None;
    }
    Some(Arc::new(ScanExec::new(spec.without_empty_rows().ok()?)))
}

/// Returns the column of a table that an expression over the rows of its scan is.
pub(super) fn column_of<'s>(
    spec: &'s ScanSpec,
    expr: &Arc<dyn PhysicalExpr>,
) -> Option<&'s ShapeColumn> {
    let any: &dyn Any = expr.as_ref();
    let column = any.downcast_ref::<Column>()?;
    spec.target.shape.columns.get(*spec.columns.get(column.index())?)
}

/// Returns the field of the key that an expression is, if the key has all of it.
pub(super) fn field_of(spec: &ScanSpec, expr: &Arc<dyn PhysicalExpr>) -> Option<FieldId> {
    match column_of(spec, expr)?.source {
        Source::Key(field) => spec.target.shape.is_whole(field).then_some(field),
        _ => None,
    }
}
