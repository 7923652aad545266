//! Order to which the nodes above a scan sort its rows.

use std::any::Any;
use std::sync::Arc;

use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use halite_rowkey::Order;

/// Nodes that pass the rows of their input as they are.
const PASSES: [&str; 4] =
    ["CooperativeExec", "CoalesceBatchesExec", "CoalescePartitionsExec", "RepartitionExec"];

/// Order of rows, by the positions of their columns; empty for rows that are not sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sorted {
    /// Columns and their order.
    pub(crate) by: Vec<(usize, Order)>,
    /// `true` if only the first rows are used.
    pub(crate) is_limited: bool,
}

impl Sorted {
    /// Returns the order to which the rows of a node's input are sorted, if those of the node are
    /// sorted to this one.
    pub(super) fn below(&self, node: &dyn ExecutionPlan) -> Self {
        let any: &dyn Any = node;
        if let Some(sort) = any.downcast_ref::<SortExec>() {
            let term = |term: &datafusion::physical_expr::PhysicalSortExpr| {
                let order = if term.options.descending { Order::Desc } else { Order::Asc };
                Some((position(&term.expr)?, order))
            };
            let by: Option<Vec<_>> = sort.expr().iter().map(term).collect();
            return Self { by: by.unwrap_or_default(), is_limited: sort.fetch().is_some() };
        }
        if let Some(projection) = any.downcast_ref::<ProjectionExec>() {
            return self.renamed(|at| position(&projection.expr().get(at)?.expr));
        }
        if let Some(filter) = any.downcast_ref::<FilterExec>() {
            return self.renamed(|at| match filter.projection() {
                Some(columns) => columns.get(at).copied(),
                None => Some(at),
            });
        }
        if PASSES.contains(&node.name()) { self.clone() } else { Self::default() }
    }

    /// Returns the order of rows whose columns are at other positions; empty if one is none.
    fn renamed(&self, of: impl Fn(usize) -> Option<usize>) -> Self {
        let by: Option<Vec<_>> =
            self.by.iter().map(|(at, order)| Some((of(*at)?, *order))).collect();
        Self { by: by.unwrap_or_default(), is_limited: self.is_limited }
    }
}

fn position(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    let any: &dyn Any = expr.as_ref();
    any.downcast_ref::<Column>().map(Column::index)
}
