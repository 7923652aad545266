//! Aggregates that the regions of a table compute.

use std::any::Any;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{CastExpr, Literal};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use halite_rowkey::UndecodableRows;
use halite_rowkey::value::FieldType;
use halite_types::{AggregatedColumn, CellValues};

use super::aggregates::column_of;
use crate::catalog::shape::{ShapeColumn, Source};
use crate::scan::aggregated::{AggregatedExec, NumberColumn, RegionAggregates, State};
use crate::scan::exec::as_scan;
use crate::scan::spec::ScanSpec;

/// Has the regions compute `count`, `sum`, `min` and `max` of the rows of a scan without groups,
/// where they do so exactly. Runs behind the rules that choose the rows and the parts of scans.
#[derive(Debug)]
pub(crate) struct AggregatesInRegions;

impl PhysicalOptimizerRule for AggregatesInRegions {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let changed = plan.transform_up(|node| {
            let any: &dyn Any = node.as_ref();
            let aggregate = any.downcast_ref::<AggregateExec>();
            let computed =
                aggregate.and_then(|one| Some((computed(one)?, Arc::clone(one.input()))));
            Ok(match computed {
                Some((computed, scan)) => {
                    Transformed::yes(Arc::new(AggregatedExec::new(node, scan, computed)))
                }
                None => Transformed::no(node),
            })
        })?;
        Ok(changed.data)
    }

    fn name(&self) -> &'static str {
        "AggregatesInRegions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns what regions compute in place of a partial aggregate; `None` if they cannot.
fn computed(aggregate: &AggregateExec) -> Option<RegionAggregates> {
    let is_plain = *aggregate.mode() == AggregateMode::Partial
        && aggregate.group_expr().expr().is_empty()
        && !aggregate.group_expr().has_grouping_set()
        && aggregate.filter_expr().iter().all(Option::is_none);
    let spec = &as_scan(aggregate.input().as_ref())?.spec;
    if !is_plain || aggregate.aggr_expr().is_empty() || !spec.is_whole_ranges() {
        return None;
    }
    let mut columns = Columns { spec, read: Vec::new(), counters: Vec::new() };
    let states: Option<Vec<State>> =
        aggregate.aggr_expr().iter().map(|one| columns.state(one)).collect();
    let (states, columns, counters) = (states?, columns.read, columns.counters);
    // A cell that is none of its type has to be noticed, and a key has only its declaration.
    let is_added_up = |at: &usize| match &spec.target.shape.columns[*at].source {
        Source::Cell { family, qualifier } => {
            columns.iter().any(|one| one.family == *family && one.qualifier == *qualifier)
        }
        _ => false,
    };
    let fields = aggregate.schema();
    let fits = fields.fields().len() == states.len()
        && states.iter().zip(fields.fields()).all(|(state, field)| fits(*state, field.data_type()));
    if !fits || !spec.columns.iter().all(is_added_up) {
        return None;
    }
    let keys =
        if spec.target.shape.is_declared { Some(spec.plan.schema().counted_keys()?) } else { None };
    let shown: Vec<&str> = aggregate.aggr_expr().iter().map(|one| one.name()).collect();
    // So DataFusion calls count(*).
    let shown = shown.join(", ").replace("count(Int64(1))", "count(*)");
    Some(RegionAggregates { states, columns, counters, keys, shown })
}

/// Returns `true` if a state is one of this type.
fn fits(state: State, ty: &DataType) -> bool {
    match state {
        State::Rows | State::Values(_) => *ty == DataType::Int64,
        State::Sum(_) => *ty == DataType::Decimal128(38, 0),
        State::Min(_) | State::Max(_) => ty.is_signed_integer(),
    }
}

/// Columns that are added up for the aggregates so far.
struct Columns<'s> {
    spec: &'s ScanSpec,
    read: Vec<AggregatedColumn>,
    /// Positions of counters among them.
    counters: Vec<usize>,
}

impl Columns<'_> {
    /// Returns the state of an aggregate; `None` if regions do not compute it.
    fn state(&mut self, aggregate: &AggregateFunctionExpr) -> Option<State> {
        let args = aggregate.expressions();
        let [arg] = args.as_slice() else { return None };
        if aggregate.is_distinct() || !aggregate.order_bys().is_empty() {
            return None;
        }
        let name = aggregate.fun().name();
        if name == "count" {
            let any: &dyn Any = arg.as_ref();
            let literal = any.downcast_ref::<Literal>();
            if let Some(literal) = literal {
                return (!literal.value().is_null()).then_some(State::Rows);
            }
            let column = column_of(self.spec, arg)?;
            let at = self.added_up(column)?;
            return Some(if column.is_counter() { State::Rows } else { State::Values(at) });
        }
        let column = column_of(self.spec, without_widening(arg))?;
        let at = self.added_up(column)?;
        if !matches!(self.read[at].values, CellValues::Signed(_)) {
            return None;
        }
        let of = NumberColumn { at, is_counter: column.is_counter() };
        match name {
            "sum" => Some(State::Sum(of)),
            "min" => Some(State::Min(of)),
            "max" => Some(State::Max(of)),
            _ => None,
        }
    }

    /// Returns the position of a column among those that are added up.
    fn added_up(&mut self, column: &ShapeColumn) -> Option<usize> {
        let Source::Cell { family, qualifier } = &column.source else { return None };
        let is_java = column.cell.as_ref().is_some_and(|cell| cell.is_java());
        let values = values_of(column.ty).filter(|_| is_java)?;
        let (family, qualifier) = (family.clone(), qualifier.clone());
        let wanted = AggregatedColumn { family, qualifier, values };
        let known = self.read.iter().position(|one| *one == wanted);
        Some(known.unwrap_or_else(|| {
            let at = self.read.len();
            self.read.push(wanted);
            self.counters.extend(column.is_counter().then_some(at));
            at
        }))
    }
}

/// Returns the values of the cells of a type; `None` if more than their bytes has to be checked.
fn values_of(ty: FieldType) -> Option<CellValues> {
    Some(match ty {
        FieldType::I8 => CellValues::Signed(1),
        FieldType::I16 => CellValues::Signed(2),
        FieldType::I32 => CellValues::Signed(4),
        FieldType::I64 => CellValues::Signed(8),
        FieldType::String => CellValues::Text,
        FieldType::Bytes => CellValues::Bytes,
        _ => return None,
    })
}

/// Returns what is cast to the type in which whole numbers are added.
fn without_widening(expr: &Arc<dyn PhysicalExpr>) -> &Arc<dyn PhysicalExpr> {
    let any: &dyn Any = expr.as_ref();
    match any.downcast_ref::<CastExpr>() {
        Some(cast) if *cast.cast_type() == DataType::Int64 => cast.expr(),
        _ => expr,
    }
}

impl ScanSpec {
    /// Returns `true` if the rows of the scan are all those of its ranges that its filter includes
    /// and whose keys can be decoded.
    fn is_whole_ranges(&self) -> bool {
        self.is_plain()
            && self.unreadable != UndecodableRows::Return
            && !self.plan.has_residual()
            && !self.plan.is_skip_scan()
            && !self.plan.is_points()
            && self.target.dictionary.is_none()
            && self.given.is_empty()
    }
}
