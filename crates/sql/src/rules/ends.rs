//! Which row of a group an aggregate needs, of rows in the order of the key.

use std::sync::Arc;

use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use halite_rowkey::plan::{OrderTerm, OrderedBy};
use halite_rowkey::value::FieldType;
use halite_rowkey::{FieldId, Order};

use super::aggregates::{column_of, field_of};
use crate::scan::order::is_pinned;
use crate::scan::spec::ScanSpec;

/// Row that an aggregate needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// Any row.
    Any,
    /// The first one.
    First,
    /// The last one.
    Last,
}

impl End {
    fn opposite(self) -> Self {
        match self {
            Self::Any => Self::Any,
            Self::First => Self::Last,
            Self::Last => Self::First,
        }
    }
}

/// Groups of the rows of a scan: those with equal values of some fields.
pub(super) struct Ends<'s> {
    pub(super) spec: &'s ScanSpec,
    pub(super) grouped: &'s [FieldId],
}

impl Ends<'_> {
    /// Returns the row of each group from which an aggregate has its value; `None` if it needs more.
    pub(super) fn of(&self, aggregate: &AggregateFunctionExpr) -> Option<End> {
        let args = aggregate.expressions();
        let first = args.first()?;
        match aggregate.fun().name() {
            "min" => self.least(first),
            "max" => self.least(first).map(End::opposite),
            "first_value" | "last_value" if aggregate.ignore_nulls() || aggregate.is_reversed() => {
                None
            }
            "first_value" => self.in_order(aggregate.order_bys()),
            "last_value" => self.in_order(aggregate.order_bys()).map(End::opposite),
            _ => None,
        }
    }

    /// Returns the row with the least value of a field.
    fn least(&self, of: &Arc<dyn PhysicalExpr>) -> Option<End> {
        let field = field_of(self.spec, of)?;
        if self.is_constant(field) {
            return Some(End::Any);
        }
        // Null is in front of the least value; floats have several zeros and NaN.
        let column = column_of(self.spec, of)?;
        if column.field.is_nullable() || matches!(column.ty, FieldType::F32 | FieldType::F64) {
            return None;
        }
        let term = self.terms().next().filter(|term| term.field == field)?;
        let end = if term.order == Order::Asc { End::First } else { End::Last };
        (term.by == OrderedBy::Value).then_some(end)
    }

    /// Returns the first row in an order.
    fn in_order(&self, order: &[PhysicalSortExpr]) -> Option<End> {
        let mut end = End::Any;
        let mut terms = self.terms();
        for wanted in order {
            let field = field_of(self.spec, &wanted.expr)?;
            if self.is_constant(field) {
                continue;
            }
            let column = column_of(self.spec, &wanted.expr)?;
            let term = terms.next().filter(|term| term.field == field)?;
            let is_value = term.by == OrderedBy::Value
                && !matches!(column.ty, FieldType::F32 | FieldType::F64);
            // As the bytes lie: null is below every value.
            let nulls_fit = !column.field.is_nullable()
                || wanted.options.nulls_first != wanted.options.descending;
            if !is_value || !nulls_fit {
                return None;
            }
            let is_same = wanted.options.descending == (term.order == Order::Desc);
            let wanted = if is_same { End::First } else { End::Last };
            if end == End::Any {
                end = wanted;
            } else if end != wanted {
                return None;
            }
        }
        Some(end)
    }

    fn is_constant(&self, field: FieldId) -> bool {
        self.grouped.contains(&field) || is_pinned(self.spec, field)
    }

    /// Returns the order of the rows of a group.
    fn terms(&self) -> impl Iterator<Item = &OrderTerm> {
        self.spec.plan.order().iter().filter(|term| !self.is_constant(term.field))
    }
}
