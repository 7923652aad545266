//! Values of the other side of a join: when that side has been read, they are keys to get, or
//! ranges to read. The join compares every row all the same, so what cannot be narrowed is read.

use std::any::Any;
use std::sync::{Arc, PoisonError};

use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, Column, DynamicFilterPhysicalExpr, InListExpr, Literal,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::scalar::ScalarValue;
use halite_rowkey::FieldId;
use halite_rowkey::plan::{Plan, Predicate};
use halite_rowkey::value::{FieldType, Value};

use super::exec::ScanFigures;
use super::spec::ScanSpec;
use crate::catalog::shape::Source;
use crate::types::literals::value_of;

/// What the values of the other side left of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Narrowed {
    Gets(usize),
    /// Keys that scans read.
    Scanned(usize),
    Ranges(usize),
}

impl Narrowed {
    fn count(self) -> usize {
        match self {
            Self::Gets(count) | Self::Scanned(count) | Self::Ranges(count) => count,
        }
    }

    /// Returns what is left of both of two parts of a scan.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Gets(one), Self::Gets(other)) => Self::Gets(one + other),
            (Self::Gets(one) | Self::Scanned(one), Self::Gets(other) | Self::Scanned(other)) => {
                Self::Scanned(one + other)
            }
            (one, other) => Self::Ranges(one.count() + other.count()),
        }
    }
}

impl ScanFigures {
    fn add_narrowed(&self, left: Narrowed) {
        let mut all = self.narrowed.lock().unwrap_or_else(PoisonError::into_inner);
        *all = Some(all.map_or(left, |all| all.and(left)));
    }

    /// Returns what the values of the other side left, as far as it has run.
    pub(crate) fn narrowed(&self) -> Option<Narrowed> {
        *self.narrowed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Combinations of values of fields.
struct Combinations {
    fields: Vec<FieldId>,
    rows: Vec<Vec<Value<'static>>>,
}

/// Returns `true` for the filter of a join that compares a field of the key.
pub(super) fn names_key(spec: &ScanSpec, filter: &Arc<dyn PhysicalExpr>) -> bool {
    let any: &dyn Any = filter.as_ref();
    any.is::<DynamicFilterPhysicalExpr>()
        && filter.children().into_iter().any(|column| field_of(spec, column).is_some())
}

/// Waits for the values of the other sides, and returns the scan of what they leave.
pub(super) async fn narrowed(
    mut spec: Arc<ScanSpec>,
    filters: &[Arc<dyn PhysicalExpr>],
    figures: &ScanFigures,
) -> Arc<ScanSpec> {
    for filter in filters {
        let any: &dyn Any = filter.as_ref();
        let Some(filter) = any.downcast_ref::<DynamicFilterPhysicalExpr>() else { continue };
        filter.wait_complete().await;
        let Some(plan) = filter.current().ok().and_then(|filter| narrower(&spec, &filter)) else {
            continue;
        };
        let narrower = spec.with_plan(plan);
        let ranges = narrower.plan.ranges().map(|range| &range.range);
        // Where the ranges stay, rows would be compared twice.
        if ranges.eq(spec.plan.ranges().map(|of| &of.range)) {
            continue;
        }
        spec = Arc::new(narrower);
    }
    let ranges = spec.plan.ranges().count();
    let left = if !spec.plan.is_points() {
        Narrowed::Ranges(ranges)
    } else if spec.point_runs().is_some() {
        Narrowed::Scanned(ranges)
    } else {
        Narrowed::Gets(ranges)
    };
    figures.add_narrowed(left);
    spec
}

/// Returns the plan of the rows that satisfy a filter, and maybe of others.
fn narrower(spec: &ScanSpec, filter: &Arc<dyn PhysicalExpr>) -> Option<Plan> {
    if let Some(Combinations { fields, rows }) = combinations(spec, filter) {
        return spec.plan.for_rows(&fields, &rows).ok();
    }
    let mut bounds = Vec::new();
    add_bounds(spec, filter, &mut bounds);
    if bounds.is_empty() {
        return None;
    }
    spec.plan.and(&bounds).ok()
}

/// Returns the combinations of values of key fields that a filter lists.
fn combinations(spec: &ScanSpec, filter: &Arc<dyn PhysicalExpr>) -> Option<Combinations> {
    let any: &dyn Any = filter.as_ref();
    if let Some(binary) = any.downcast_ref::<BinaryExpr>() {
        return match binary.op() {
            Operator::And => {
                combinations(spec, binary.right()).or_else(|| combinations(spec, binary.left()))
            }
            _ => None,
        };
    }
    if let Some(list) = any.downcast_ref::<InListExpr>() {
        return of_list(spec, list);
    }
    // Each partition of the other side has its values.
    let case = any.downcast_ref::<CaseExpr>()?;
    let cases = case.when_then_expr().iter().map(|(_, then)| then);
    let mut all: Option<Combinations> = None;
    for then in cases.chain(case.else_expr()) {
        if is_false(then) {
            continue;
        }
        let found = combinations(spec, then)?;
        match &mut all {
            None => all = Some(found),
            Some(all) if all.fields == found.fields => all.rows.extend(found.rows),
            Some(_) => return None,
        }
    }
    all
}

fn of_list(spec: &ScanSpec, list: &InListExpr) -> Option<Combinations> {
    if list.negated() {
        return None;
    }
    let any: &dyn Any = list.expr().as_ref();
    let columns: Vec<Arc<dyn PhysicalExpr>> = match any.downcast_ref::<ScalarFunctionExpr>() {
        Some(row) if row.fun().name() == "struct" => row.args().to_vec(),
        Some(_) => return None,
        None => vec![Arc::clone(list.expr())],
    };
    let fields = columns.iter().map(|column| field_of(spec, column));
    let placed: Vec<(usize, FieldId)> =
        fields.enumerate().filter_map(|(at, field)| Some((at, field?))).collect();
    if placed.is_empty() {
        return None;
    }
    let mut rows = Vec::with_capacity(list.list().len());
    for item in list.list() {
        let any: &dyn Any = item.as_ref();
        let item = any.downcast_ref::<Literal>()?.value();
        let values: Vec<ScalarValue> = match item {
            ScalarValue::Struct(row) if columns.len() > 1 => row
                .columns()
                .iter()
                .map(|column| ScalarValue::try_from_array(column, 0).ok())
                .collect::<Option<_>>()?,
            one => vec![one.clone()],
        };
        // Null is equal to nothing.
        if values.iter().any(ScalarValue::is_null) {
            continue;
        }
        let value = |&(at, field): &(usize, FieldId)| {
            let ty = spec.plan.schema().fields()[field].ty;
            Some(value_of(ty, values.get(at)?)?.into_owned())
        };
        rows.push(placed.iter().map(value).collect::<Option<Vec<_>>>()?);
    }
    Some(Combinations { fields: placed.into_iter().map(|(_, field)| field).collect(), rows })
}

/// Adds the bounds of fields that all rows of a filter keep.
fn add_bounds(
    spec: &ScanSpec,
    filter: &Arc<dyn PhysicalExpr>,
    conditions: &mut Vec<halite_rowkey::plan::Condition>,
) {
    use std::ops::Bound::{Included, Unbounded};
    let any: &dyn Any = filter.as_ref();
    let Some(binary) = any.downcast_ref::<BinaryExpr>() else { return };
    if *binary.op() == Operator::And {
        add_bounds(spec, binary.left(), conditions);
        add_bounds(spec, binary.right(), conditions);
        return;
    }
    let constant: &dyn Any = binary.right().as_ref();
    let (Some(field), Some(constant)) =
        (field_of(spec, binary.left()), constant.downcast_ref::<Literal>())
    else {
        return;
    };
    let ty = spec.plan.schema().fields()[field].ty;
    let Some(value) = value_of(ty, constant.value()).map(Value::into_owned) else { return };
    let (low, high) = match binary.op() {
        Operator::GtEq => (Included(value), Unbounded),
        Operator::LtEq => (Unbounded, Included(value)),
        _ => return,
    };
    let predicate = Predicate::Range { low, high };
    conditions.push(halite_rowkey::plan::Condition { field, predicate });
}

/// Returns the field of the key that an expression over the rows of the scan is, if the key has all
/// of it, and equal values have equal bytes.
fn field_of(spec: &ScanSpec, expr: &Arc<dyn PhysicalExpr>) -> Option<FieldId> {
    let any: &dyn Any = expr.as_ref();
    let column = any.downcast_ref::<Column>()?;
    let shape = &spec.target.shape;
    let column = shape.columns.get(*spec.columns.get(column.index())?)?;
    match column.source {
        Source::Key(field) if !matches!(column.ty, FieldType::F32 | FieldType::F64) => {
            shape.is_whole(field).then_some(field)
        }
        _ => None,
    }
}

fn is_false(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let any: &dyn Any = expr.as_ref();
    any.downcast_ref::<Literal>()
        .is_some_and(|literal| *literal.value() == ScalarValue::Boolean(Some(false)))
}
