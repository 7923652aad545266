//! Columns that are read of the first rows of an order only.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use halite_rowkey::UndecodableRows;

use crate::catalog::shape::{Pseudo, ShapeColumn, Source, TableShape};
use crate::scan::exec::{ScanExec, as_scan};
use crate::scan::late::{LateColumns, LateColumnsExec, Origin};
use crate::scan::spec::ScanSpec;

/// Rows of which columns are read late, at most.
const MAX_ROWS: usize = 1000;
/// Bytes of cells that a scan returns in about the time of a get.
const GET_BYTES: usize = 8192;
/// Rows of a scan for each of its first rows, as long as nothing is known of its table.
const UNKNOWN_ROWS: usize = 100;
/// Bytes of values and of maps whose types have no width.
const VALUE_BYTES: usize = 32;
const MAP_BYTES: usize = 256;

/// Has the scan below a sort of the first rows read only the columns that the sort and the
/// conditions need, where that saves more than the gets of the others cost. It runs behind all
/// other rules, which would move what it adds.
#[derive(Debug)]
pub(crate) struct LateColumnsRule;

impl PhysicalOptimizerRule for LateColumnsRule {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| {
            Ok(match late(&node)? {
                Some(changed) => Transformed::yes(changed),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "LateColumns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Nodes between a sort and its scan, as expressions over the columns of the scan.
struct Below<'p> {
    scan: &'p ScanExec,
    /// Columns of the input of the sort.
    outputs: Vec<ProjectionExpr>,
    /// Conditions, all of which hold.
    conditions: Vec<Arc<dyn PhysicalExpr>>,
}

/// Returns a sort of the first rows with late columns; `None` if it is none, or not worth it.
fn late(node: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let any: &dyn Any = node.as_ref();
    let Some(sort) = any.downcast_ref::<SortExec>() else { return Ok(None) };
    let Some(fetch) = sort.fetch().filter(|fetch| (1..=MAX_ROWS).contains(fetch)) else {
        return Ok(None);
    };
    let Some(below) = below(sort.input().as_ref())? else { return Ok(None) };
    if !below.scan.joined.is_empty() || !below.scan.parts.is_empty() {
        return Ok(None);
    }
    let spec = &below.scan.spec;
    let Some((shape, row)) = shape_with_row(spec) else { return Ok(None) };
    let mut order = Vec::new();
    for term in sort.expr().iter() {
        let Some(expr) = over_scan(&term.expr, &below.outputs)? else { return Ok(None) };
        order.push(PhysicalSortExpr::new(expr, term.options));
    }
    let exprs = order.iter().map(|term| &term.expr).chain(&below.conditions);
    let needed: BTreeSet<usize> =
        exprs.flat_map(collect_columns).map(|column| column.index()).collect();
    let is_early = |at: usize| needed.contains(&at) || is_of_key(&shape.columns[spec.columns[at]]);
    let (mut early, mut late) = (Vec::new(), Vec::new());
    let mut origins = Vec::new();
    for (at, column) in spec.columns.iter().enumerate() {
        let to = if is_early(at) { &mut early } else { &mut late };
        origins.push(if is_early(at) { Origin::Early(to.len()) } else { Origin::Late(to.len()) });
        to.push(*column);
    }
    if !is_worth_it(spec, &shape, &late, fetch) {
        return Ok(None);
    }
    let row = early.iter().position(|at| *at == row).unwrap_or_else(|| {
        early.push(row);
        early.len() - 1
    });
    let moved = |expr: &Arc<dyn PhysicalExpr>| moved(expr, &origins);
    let scan = spec.with_columns(&shape, early, true)?;
    let mut plan: Arc<dyn ExecutionPlan> =
        Arc::new(CooperativeExec::new(Arc::new(ScanExec::new(scan))));
    for condition in &below.conditions {
        plan = Arc::new(FilterExec::try_new(moved(condition)?, plan)?);
    }
    let order = order
        .iter()
        .map(|term| Ok(PhysicalSortExpr::new(moved(&term.expr)?, term.options)))
        .collect::<DataFusionResult<Vec<_>>>()?;
    let Some(order) = LexOrdering::new(order) else { return Ok(None) };
    let sorted = SortExec::new(order, plan).with_fetch(Some(fetch));
    let late = LateColumns {
        spec: Arc::new(spec.with_columns(&shape, late, false)?),
        origins,
        schema: Arc::clone(&spec.schema),
        row,
        fetch,
    };
    let plan: Arc<dyn ExecutionPlan> =
        Arc::new(LateColumnsExec::new(Arc::new(sorted), Arc::new(late)));
    if same_columns(&plan.schema(), &sort.schema()) && are_all(&below.outputs) {
        return Ok(Some(plan));
    }
    let plan = ProjectionExec::try_new(below.outputs, plan)?;
    // What the sort returned, to the letter.
    Ok(same_columns(&plan.schema(), &sort.schema()).then(|| Arc::new(plan) as _))
}

/// Returns `true` for the columns of a scan as they are.
fn are_all(outputs: &[ProjectionExpr]) -> bool {
    outputs.iter().enumerate().all(|(at, one)| {
        let any: &dyn Any = one.expr.as_ref();
        any.downcast_ref::<Column>().is_some_and(|column| column.index() == at)
    })
}

fn same_columns(one: &Schema, other: &Schema) -> bool {
    one.fields() == other.fields()
}

/// Reads the nodes between a sort and its scan; `None` if there are others.
fn below(mut node: &dyn ExecutionPlan) -> DataFusionResult<Option<Below<'_>>> {
    let mut nodes: Vec<&dyn ExecutionPlan> = Vec::new();
    let scan = loop {
        if let Some(scan) = as_scan(node) {
            break scan;
        }
        let [input] = node.children().into_iter().collect::<Vec<_>>()[..] else { return Ok(None) };
        nodes.push(node);
        node = input.as_ref();
    };
    let fields = scan.spec.schema.fields().iter().enumerate();
    let column = |at: usize, name: &str| ProjectionExpr {
        expr: Arc::new(Column::new(name, at)),
        alias: name.to_owned(),
    };
    let outputs = fields.map(|(at, field)| column(at, field.name())).collect();
    let mut below = Below { scan, outputs, conditions: Vec::new() };
    for node in nodes.into_iter().rev() {
        if node.fetch().is_some() {
            // A LIMIT of an inner query has moved into it.
            return Ok(None);
        }
        let any: &dyn Any = node;
        if let Some(filter) = any.downcast_ref::<FilterExec>() {
            let Some(condition) = over_scan(filter.predicate(), &below.outputs)? else {
                return Ok(None);
            };
            below.conditions.push(condition);
            if let Some(kept) = filter.projection() {
                below.outputs = kept.iter().map(|at| below.outputs[*at].clone()).collect();
            }
        } else if let Some(projection) = any.downcast_ref::<ProjectionExec>() {
            let mut outputs = Vec::new();
            for one in projection.expr() {
                let Some(expr) = over_scan(&one.expr, &below.outputs)? else { return Ok(None) };
                outputs.push(ProjectionExpr { expr, alias: one.alias.clone() });
            }
            below.outputs = outputs;
        } else if !any.is::<CooperativeExec>() {
            return Ok(None);
        }
    }
    Ok(Some(below))
}

/// Returns an expression over the columns of the scan; `None` if it depends on what is computed of
/// them, which may be another value each time.
fn over_scan(
    expr: &Arc<dyn PhysicalExpr>,
    outputs: &[ProjectionExpr],
) -> DataFusionResult<Option<Arc<dyn PhysicalExpr>>> {
    let column_at = |at: usize| {
        let of: &dyn Any = outputs.get(at)?.expr.as_ref();
        of.downcast_ref::<Column>().cloned()
    };
    if !collect_columns(expr).iter().all(|column| column_at(column.index()).is_some()) {
        return Ok(None);
    }
    replaced(expr, column_at).map(Some)
}

/// Returns an expression over the columns of the early scan.
fn moved(
    expr: &Arc<dyn PhysicalExpr>,
    origins: &[Origin],
) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
    let names: Vec<Column> = collect_columns(expr).into_iter().collect();
    replaced(expr, |at| match origins.get(at) {
        Some(Origin::Early(to)) => {
            let name = names.iter().find(|column| column.index() == at)?.name();
            Some(Column::new(name, *to))
        }
        _ => None,
    })
}

fn replaced(
    expr: &Arc<dyn PhysicalExpr>,
    column_at: impl Fn(usize) -> Option<Column>,
) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
    let changed = Arc::clone(expr).transform_up(|expr| {
        let any: &dyn Any = expr.as_ref();
        let Some(column) = any.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
        let column = column_at(column.index()).ok_or_else(|| {
            DataFusionError::Internal(format!("{column} is no column of its scan"))
        })?;
        Ok(Transformed::yes(Arc::new(column) as Arc<dyn PhysicalExpr>))
    })?;
    Ok(changed.data)
}

/// Returns the shape with the key of the row, and its position; `None` if the rows of the scan are
/// not such of the table, each once, or cannot be found by their keys.
fn shape_with_row(spec: &ScanSpec) -> Option<(Arc<TableShape>, usize)> {
    let is_of_rows = spec.is_row_by_row()
        && spec.is_plain_scan()
        && spec.unreadable != UndecodableRows::Return
        && !spec.skips_empty;
    if !is_of_rows {
        return None;
    }
    let shape = spec.target.shape.with_pseudo(&BTreeSet::from([Pseudo::Row]));
    let row = shape.position(Pseudo::Row.name())?;
    let is_row = match shape.columns[row].source {
        Source::Pseudo(Pseudo::Row) => true,
        Source::Key(_) => !shape.is_declared,
        _ => false,
    };
    is_row.then(|| (Arc::new(shape), row))
}

/// Returns `true` for what the key of the row tells.
fn is_of_key(column: &ShapeColumn) -> bool {
    matches!(
        column.source,
        Source::Key(_) | Source::Pseudo(Pseudo::Row | Pseudo::Salt | Pseudo::Region)
    )
}

/// Returns `true` if not reading the late columns of the rows that are not among the first saves
/// more than the gets of these cost.
fn is_worth_it(spec: &ScanSpec, shape: &TableShape, late: &[usize], fetch: usize) -> bool {
    let is_known = spec.plan.is_points() || spec.target.statistics.is_some();
    let rows = if is_known { spec.estimated_rows() } else { fetch.saturating_mul(UNKNOWN_ROWS) };
    let bytes: usize = late.iter().map(|at| width(&shape.columns[*at])).sum();
    let saved = rows.saturating_sub(fetch).saturating_mul(bytes);
    saved > fetch.saturating_mul(GET_BYTES)
}

/// Returns about how many bytes a column has in each row, by its declaration.
fn width(column: &ShapeColumn) -> usize {
    match column.source {
        Source::Map { .. } | Source::Series(_) | Source::Pseudo(Pseudo::Cells) => MAP_BYTES,
        _ => match column.ty {
            halite_rowkey::FieldType::Char(bytes) | halite_rowkey::FieldType::Fixed(bytes) => {
                usize::from(bytes)
            }
            ty => ty.fixed_bytes().unwrap_or(VALUE_BYTES),
        },
    }
}
