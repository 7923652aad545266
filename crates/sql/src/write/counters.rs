//! Sums of counters, which become increments: nothing is read, and nothing is lost between writers.

use datafusion::common::DFSchema;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::sql::sqlparser::ast::{self, BinaryOperator};
use halite_rowkey::value::Value;
use halite_types::Bytes;
use halite_types::op::{Increment, RowOp};

use super::excluded::EXCLUDED;
use super::exprs::{Parameters, collect_parameters, constant, plan_one};
use super::parsed::is_constant;
use super::row::CellTimes;
use super::running::Running;
use super::source::{InputRow, value_in};
use super::target::{WriteColumn, WriteTarget};
use super::values::assign;
use crate::catalog::shape::Source;
use crate::error::Result;

/// What is added to the counters of a row that may be there.
pub(super) struct CounterSteps(Vec<CounterStep>);

/// Amount that is added to a counter.
struct CounterStep {
    at: usize,
    amount: Amount,
    is_minus: bool,
}

enum Amount {
    /// Value of a column of the row that is given.
    Excluded(usize),
    Constant(Expr),
}

impl CounterSteps {
    /// Adds the parameters to those that are known.
    pub(super) fn parameters(&self, known: &mut Parameters) -> Result<()> {
        self.0.iter().try_for_each(|step| match &step.amount {
            Amount::Constant(expr) => collect_parameters(expr, known),
            Amount::Excluded(_) => Ok(()),
        })
    }

    /// Returns the increment that a row is, if it is the same for a row that is there and for one
    /// that is not.
    pub(super) fn increment(
        &self,
        running: &Running,
        target: &WriteTarget,
        row: &Bytes,
        input: &InputRow<'_>,
    ) -> Result<Option<RowOp>> {
        let steps = &self.0;
        // A new row would have more than the counters, such as DEFAULT values.
        let is_step = |at: usize| steps.iter().any(|step| step.at == at);
        let has_others = input
            .values
            .iter()
            .any(|(at, _)| target.shape.columns[*at].cell.is_some() && !is_step(*at));
        if has_others || input.times != CellTimes::default() {
            return Ok(None);
        }
        let mut increment = Increment::new(row.clone());
        increment.return_results = false;
        for step in steps {
            let amount = match &step.amount {
                Amount::Excluded(at) => signed(value_in(&input.values, *at)),
                Amount::Constant(expr) => {
                    let column = &target.shape.columns[step.at];
                    let amount = constant(running, expr)?;
                    signed(&assign(&column.name, column.ty, &amount)?)
                }
            };
            let Some(amount) = amount else { return Ok(None) };
            let Some(amount) = (if step.is_minus { amount.checked_neg() } else { Some(amount) })
            else {
                return Ok(None);
            };
            if *value_in(&input.values, step.at) != Value::Signed(amount) {
                return Ok(None);
            }
            let Source::Cell { family, qualifier } = &target.shape.columns[step.at].source else {
                return Ok(None);
            };
            increment = increment.add(family, qualifier, amount);
        }
        target.with_marker(row, Some(increment.into()), input.times, false).map(Some)
    }
}

fn signed(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Signed(number) => Some(*number),
        _ => None,
    }
}

/// Returns what is added to counters, if all sets are that, and the given row has nothing else.
pub(super) fn steps(
    state: &SessionState,
    target: &WriteTarget,
    sets: &[WriteColumn],
    texts: &[ast::Expr],
    given: &[WriteColumn],
) -> Result<Option<CounterSteps>> {
    let given_cells = given.iter().filter(|column| match column {
        WriteColumn::Column(at) => target.shape.columns[*at].cell.is_some(),
        WriteColumn::Ts | WriteColumn::Ttl => true,
    });
    if !given_cells.clone().all(|column| sets.contains(column)) || given_cells.count() != sets.len()
    {
        return Ok(None);
    }
    let mut steps = Vec::with_capacity(sets.len());
    for (column, text) in sets.iter().zip(texts) {
        let WriteColumn::Column(at) = *column else { return Ok(None) };
        let Some((operand, is_minus)) = counter_operand(target, at, text) else {
            return Ok(None);
        };
        let amount = match operand {
            ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [qualifier, name] if qualifier.value == EXCLUDED => {
                    match target.shape.position(&name.value) {
                        Some(at) => Amount::Excluded(at),
                        None => return Ok(None),
                    }
                }
                _ => return Ok(None),
            },
            other if is_constant(other) => {
                Amount::Constant(plan_one(state, other.clone(), &DFSchema::empty())?)
            }
            _ => return Ok(None),
        };
        steps.push(CounterStep { at, amount, is_minus });
    }
    Ok(Some(CounterSteps(steps)))
}

/// Returns what `c + x`, `x + c` or `c - x` adds to the counter `c`, and whether it is subtracted.
pub(super) fn counter_operand<'e>(
    target: &WriteTarget,
    at: usize,
    expr: &'e ast::Expr,
) -> Option<(&'e ast::Expr, bool)> {
    if !target.shape.columns[at].is_counter() {
        return None;
    }
    let is_counter = |expr: &ast::Expr| {
        let (qualifier, name) = match expr {
            ast::Expr::Identifier(name) => (None, name),
            ast::Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., qualifier, name] => (Some(qualifier), name),
                _ => return false,
            },
            _ => return false,
        };
        qualifier.is_none_or(|ident| ident.value.eq_ignore_ascii_case(&target.alias.value))
            && target.column(name).is_ok_and(|column| column == WriteColumn::Column(at))
    };
    match expr {
        ast::Expr::Nested(inner) => counter_operand(target, at, inner),
        ast::Expr::BinaryOp { left, op: BinaryOperator::Plus, right } if is_counter(left) => {
            Some((right, false))
        }
        ast::Expr::BinaryOp { left, op: BinaryOperator::Plus, right } if is_counter(right) => {
            Some((left, false))
        }
        ast::Expr::BinaryOp { left, op: BinaryOperator::Minus, right } if is_counter(left) => {
            Some((right, true))
        }
        _ => None,
    }
}
