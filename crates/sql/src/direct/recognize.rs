//! Queries of one table: which conditions, columns, order and limit they have.

use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::datasource::DefaultTableSource;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, LogicalPlan, SortExpr, TableScan, Volatility};
use datafusion::prelude::Column;

use crate::catalog::provider::HaliteTable;

/// Query of one table. Its expressions are over the columns of the table.
pub(super) struct Parts {
    pub(super) table: HaliteTable,
    /// Conditions, all of which hold.
    pub(super) conditions: Vec<Expr>,
    /// Values of a row of the answer.
    pub(super) outputs: Vec<Expr>,
    pub(super) order: Vec<SortExpr>,
    /// Number of rows, a literal or a parameter.
    pub(super) limit: Option<Expr>,
}

/// Returns the parts of a query; `None` if it is none of one table, or has other parts.
pub(super) fn parts(plan: &LogicalPlan) -> Option<Parts> {
    match plan {
        LogicalPlan::TableScan(scan) => of_scan(scan),
        LogicalPlan::SubqueryAlias(alias) => parts(&alias.input),
        LogicalPlan::Filter(filter) => {
            let mut found = parts(&filter.input).filter(Parts::is_unordered)?;
            let condition = found.over_table(&filter.predicate, &filter.input)?;
            found.conditions.push(condition);
            Some(found)
        }
        LogicalPlan::Projection(projection) => {
            let found = parts(&projection.input)?;
            let output = |expr: &Expr| {
                let expr = found.over_table(expr, &projection.input)?.unalias();
                is_value(&expr).then_some(expr)
            };
            let outputs = projection.expr.iter().map(output).collect::<Option<_>>()?;
            Some(Parts { outputs, ..found })
        }
        LogicalPlan::Sort(sort) => {
            let mut found = parts(&sort.input).filter(Parts::is_unordered)?;
            if sort.fetch.is_some() {
                return None;
            }
            let term = |term: &SortExpr| {
                let expr = found.over_table(&term.expr, &sort.input)?;
                Some(SortExpr { expr, ..term.clone() })
            };
            found.order = sort.expr.iter().map(term).collect::<Option<_>>()?;
            Some(found)
        }
        LogicalPlan::Limit(limit) => {
            let found = parts(&limit.input).filter(|found| found.limit.is_none())?;
            if limit.skip.as_deref().is_some_and(|skip| !is_zero(skip)) {
                return None;
            }
            let limit = limit.fetch.as_deref().cloned();
            Some(Parts { limit, ..found })
        }
        _ => None,
    }
}

fn of_scan(scan: &TableScan) -> Option<Parts> {
    let source = scan.source.downcast_ref::<DefaultTableSource>()?;
    let table = source.table_provider.downcast_ref::<HaliteTable>()?;
    if !scan.filters.is_empty()
        || scan.fetch.is_some()
        || !table.is_row_by_row()
        || !table.is_kept()
    {
        return None;
    }
    let column = |at: usize| Some(Expr::Column(column_of(&table.shape.columns.get(at)?.name)));
    let outputs = match &scan.projection {
        Some(projection) => projection.iter().map(|at| column(*at)).collect::<Option<_>>()?,
        None => (0..table.shape.columns.len()).map(column).collect::<Option<_>>()?,
    };
    Some(Parts {
        table: table.clone(),
        conditions: Vec::new(),
        outputs,
        order: Vec::new(),
        limit: None,
    })
}

/// Returns a column of the table. Names may have dots.
pub(super) fn column_of(name: &str) -> Column {
    Column::new_unqualified(name)
}

impl Parts {
    /// Returns `true` if what follows may drop rows: an order and a limit come last.
    fn is_unordered(&self) -> bool {
        self.order.is_empty() && self.limit.is_none()
    }

    /// Returns an expression over the rows of `input` as one over the columns of the table; `None`
    /// for one that depends on something else.
    fn over_table(&self, expr: &Expr, input: &LogicalPlan) -> Option<Expr> {
        let depends = |expr: &Expr| match expr {
            Expr::ScalarFunction(function) => {
                function.func.signature().volatility != Volatility::Immutable
            }
            Expr::ScalarSubquery(_)
            | Expr::InSubquery(_)
            | Expr::Exists(_)
            | Expr::SetComparison(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::ScalarVariable(..)
            | Expr::AggregateFunction(_)
            | Expr::WindowFunction(_)
            | Expr::Unnest(_)
            | Expr::GroupingSet(_) => true,
            _ => false,
        };
        if expr.exists(|expr| Ok(depends(expr))).unwrap_or(true) {
            return None;
        }
        let replaced = expr.clone().transform_up(|expr| {
            let Expr::Column(column) = &expr else { return Ok(Transformed::no(expr)) };
            let at = input.schema().index_of_column(column)?;
            let of_table = self.outputs.get(at).cloned();
            of_table.map(Transformed::yes).ok_or_else(|| {
                DataFusionError::Internal("a column is none of its input".to_owned())
            })
        });
        Some(replaced.ok()?.data)
    }
}

/// Returns `true` for columns, constants, and casts of them.
fn is_value(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::Cast(cast) => is_value(&cast.expr),
        Expr::Alias(alias) => is_value(&alias.expr),
        _ => false,
    }
}

fn is_zero(expr: &Expr) -> bool {
    use datafusion::scalar::ScalarValue;
    matches!(expr, Expr::Literal(ScalarValue::Int64(Some(0)), _))
}
