//! Order of the rows of a scan, as DataFusion describes it.

use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    AcrossPartitions, ConstExpr, EquivalenceProperties, PhysicalExpr, PhysicalSortExpr,
};
use halite_rowkey::plan::{OrderTerm, OrderedBy, Predicate};
use halite_rowkey::{FieldId, Order, UndecodableRows};

use super::spec::ScanSpec;
use crate::catalog::shape::Source;

/// Returns what is known of the rows: their order, and the fields with a single value.
pub(super) fn properties(spec: &ScanSpec) -> EquivalenceProperties {
    let mut known = EquivalenceProperties::new(Arc::clone(&spec.schema));
    // Rows whose keys are none of the schema are anywhere, with null fields.
    if spec.unreadable == UndecodableRows::Return {
        return known;
    }
    let mut terms = Vec::new();
    for term in spec.plan.order() {
        if is_pinned(spec, term.field) {
            continue;
        }
        let is_in_row = is_last_time(spec, term);
        let Some(column) =
            column_of(spec, term.field).filter(|_| term.by == OrderedBy::Value || is_in_row)
        else {
            break;
        };
        let descending = term.order == Order::Desc;
        // As the bytes lie: null is below every value.
        let options = SortOptions { descending, nulls_first: !descending };
        terms.push(PhysicalSortExpr::new(column, options));
    }
    // First rows of groups come salt by salt.
    let is_merged = spec.first_of.is_none() || spec.plan.fan_out() <= 1;
    if !terms.is_empty() && is_merged {
        known.add_ordering(terms);
    }
    let fields = 0..spec.plan.schema().fields().len();
    let pinned = fields.filter(|field| is_pinned(spec, *field));
    let constants: Vec<ConstExpr> = pinned
        .filter_map(|field| column_of(spec, field))
        .map(|column| ConstExpr::new(column, AcrossPartitions::Uniform(None)))
        .collect();
    // What fails here are expressions that are not of the schema.
    let _ = known.add_constants(constants);
    known
}

/// Returns `true` for the time of points in whose order the rows are: the points of a row are in
/// order, and no later field distinguishes rows of one bucket.
fn is_last_time(spec: &ScanSpec, term: &OrderTerm) -> bool {
    spec.target.shape.point_time() == Some(term.field)
        && term.by == OrderedBy::Part
        // Salts might part the rows of one bucket.
        && spec.plan.fan_out() <= 1
        && spec.plan.order().last().is_some_and(|last| last == term)
}

/// Returns `true` if all rows have the same value of a field.
pub(crate) fn is_pinned(spec: &ScanSpec, field: FieldId) -> bool {
    let plan = &spec.plan;
    let is_equal = plan.query().conditions.iter().any(|condition| {
        condition.field == field && matches!(condition.predicate, Predicate::Equals(_))
    });
    // All of several queries may have it.
    let is_single = is_equal || plan.pins(field);
    // Of a field in parts, the rows of one bucket are read, which have the same start.
    is_single && spec.target.shape.is_whole(field)
}

fn column_of(spec: &ScanSpec, field: FieldId) -> Option<Arc<dyn PhysicalExpr>> {
    let shape = &spec.target.shape;
    let at = spec.columns.iter().position(|at| shape.columns[*at].source == Source::Key(field))?;
    Some(Arc::new(Column::new(&shape.columns[spec.columns[at]].name, at)))
}
