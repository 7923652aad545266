//! What SET does: constants, values computed from rows, sums of counters.

use datafusion::common::DFSchema;
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::{self, Ident};

use super::counters::counter_operand;
use super::exprs::{plan_one, typed_parameter};
use super::parsed::{is_constant, named};
use super::source::{RowValue, is_default, plan_value};
use super::syntax::{ChangeStatement, placed};
use super::target::{WriteColumn, WriteTarget};
use crate::catalog::HaliteCatalog;
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError, SqlState};
use crate::types::arrow_field;

/// What SET does to one column.
pub(super) struct SetColumn {
    pub(super) column: WriteColumn,
    pub(super) value: SetValue,
}

pub(super) enum SetValue {
    Constant(RowValue),
    /// Next column of the query behind those that are read.
    Computed,
    /// Constant that is added to a counter.
    Added {
        amount: Expr,
        is_minus: bool,
    },
}

/// Returns the error of a column that is set before.
pub(super) fn set_twice(name: &Ident) -> SqlError {
    let text = format!("column {} is set twice; leave one out", name.value);
    placed(SqlError::new(SqlState::Syntax, text), name)
}

/// Checks that a statement sets columns of cells, not only their times.
pub(super) fn check_sets_cells(mut columns: impl Iterator<Item = WriteColumn>) -> Result<()> {
    if columns.any(|column| matches!(column, WriteColumn::Column(_))) {
        return Ok(());
    }
    Err(SqlError::unsupported(
        "SET of _ts and _ttl alone: they are those of the columns that are set too; set a column, \
         if only to its own value",
    ))
}

/// Checks that SET may write a column.
pub(super) fn check_set(target: &WriteTarget, column: WriteColumn, name: &Ident) -> Result<()> {
    let WriteColumn::Column(at) = column else { return Ok(()) };
    if let Source::Key(_) = target.shape.columns[at].source {
        let text = format!(
            "{} is a field of the key of table {}, and the key of a row does not change",
            target.shape.columns[at].name,
            target.table.name()
        );
        return Err(placed(SqlError::unsupported(text), name));
    }
    target.check_written(at)
}

/// The key of a row does not change: the error prints the statement that moves the row.
pub(super) fn check_key_is_kept(target: &WriteTarget, statement: &ChangeStatement) -> Result<()> {
    let Some(assignments) = &statement.assignments else { return Ok(()) };
    for (name, _) in assignments {
        let column = target.column(name)?;
        let Err(mut error) = check_set(target, column, name) else { continue };
        if let WriteColumn::Column(at) = column
            && matches!(target.shape.columns[at].source, Source::Key(_))
        {
            error.message =
                format!("{}: {}", error.message, moved_text(target, statement, assignments));
        }
        return Err(error);
    }
    Ok(())
}

fn moved_text(
    target: &WriteTarget,
    statement: &ChangeStatement,
    assignments: &[(Ident, ast::Expr)],
) -> String {
    let mut known: Vec<(String, String)> = Vec::new();
    let mut terms: Vec<&ast::Expr> = statement.selection.iter().collect();
    while let Some(term) = terms.pop() {
        match term {
            ast::Expr::Nested(inner) => terms.push(inner),
            ast::Expr::BinaryOp { left, op: ast::BinaryOperator::And, right } => {
                terms.extend([left.as_ref(), right.as_ref()]);
            }
            ast::Expr::BinaryOp { left, op: ast::BinaryOperator::Eq, right } => {
                if let ast::Expr::Identifier(name) = left.as_ref() {
                    known.push((name.value.to_lowercase(), right.to_string()));
                }
            }
            _ => {}
        }
    }
    let value = |name: &str| {
        let found = known.iter().find(|(known, _)| *known == name.to_lowercase());
        found.map_or_else(|| "..".to_owned(), |(_, value)| value.clone())
    };
    let set = |name: &str| {
        let found = assignments.iter().find(|(set, _)| set.value.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_string())
    };
    let fields = target.shape.key.fields();
    let list = |of: &dyn Fn(&str) -> String| {
        let pairs = fields.iter().map(|field| format!("{} = {}", field.name, of(&field.name)));
        pairs.collect::<Vec<_>>().join(", ")
    };
    format!(
        "MOVE ROW IN {} ({}) TO ({}) copies the row and deletes the old one",
        target.table.name(),
        list(&value),
        list(&|name| set(name).unwrap_or_else(|| value(name)))
    )
}

/// Plans what SET does. What depends on rows is added to `computed`.
pub(super) async fn plan_sets(
    session: &SessionContext,
    catalog: &HaliteCatalog,
    target: &WriteTarget,
    assignments: Vec<(Ident, ast::Expr)>,
    adds: bool,
    computed: &mut Vec<ast::Expr>,
) -> Result<Vec<SetColumn>> {
    let state = session.state();
    let mut sets = Vec::with_capacity(assignments.len());
    for (name, expr) in assignments {
        let column = target.column(&name)?;
        if sets.iter().any(|set: &SetColumn| set.column == column) {
            return Err(set_twice(&name));
        }
        let value = match added(target, column, &expr).filter(|_| adds) {
            Some((amount, is_minus)) => {
                let amount = named_one(catalog, amount.clone()).await?;
                let amount = plan_one(&state, amount, &DFSchema::empty())?;
                check_fixed(&amount)?;
                let field = arrow_field("", halite_rowkey::FieldType::I64, true);
                SetValue::Added { amount: typed_parameter(amount, &field), is_minus }
            }
            None if is_default(&expr) => SetValue::Constant(RowValue::Default),
            None if is_constant(&expr) => {
                let planned = named_one(catalog, expr.clone()).await?;
                match plan_value(&state, target, column, planned)? {
                    // Each row has another value.
                    RowValue::Constant(planned) if planned.is_volatile() => {
                        computed.push(expr);
                        SetValue::Computed
                    }
                    value => SetValue::Constant(value),
                }
            }
            None => {
                computed.push(expr);
                SetValue::Computed
            }
        };
        sets.push(SetColumn { column, value });
    }
    check_sets_cells(sets.iter().map(|set| set.column))?;
    check_times(&sets)?;
    Ok(sets)
}

/// An increment of HBase is the same for all rows.
fn check_fixed(amount: &Expr) -> Result<()> {
    if !amount.is_volatile() {
        return Ok(());
    }
    Err(SqlError::unsupported(
        "an amount that is another one for each row, added to a COUNTER: add a constant or a \
         parameter",
    ))
}

/// Increments have the times of the store.
fn check_times(sets: &[SetColumn]) -> Result<()> {
    let adds = sets.iter().any(|set| matches!(set.value, SetValue::Added { .. }));
    let has_times = sets.iter().any(|set| !matches!(set.column, WriteColumn::Column(_)));
    if !(adds && has_times) {
        return Ok(());
    }
    Err(SqlError::unsupported(
        "_ts or _ttl with a sum of a COUNTER, which has the time of the store: add to the counter \
         in a statement of its own",
    ))
}

/// Returns the constant that SET adds to a counter.
fn added<'e>(
    target: &WriteTarget,
    column: WriteColumn,
    expr: &'e ast::Expr,
) -> Option<(&'e ast::Expr, bool)> {
    let WriteColumn::Column(at) = column else { return None };
    counter_operand(target, at, expr).filter(|(amount, _)| is_constant(amount))
}

async fn named_one(catalog: &HaliteCatalog, expr: ast::Expr) -> Result<ast::Expr> {
    let mut named = named(catalog, vec![expr], Vec::new()).await?;
    named.pop().ok_or_else(|| SqlError::new(SqlState::Internal, "an expression was lost"))
}
