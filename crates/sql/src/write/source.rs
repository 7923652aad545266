//! Rows that INSERT and UPSERT write: those of VALUES, whose expressions are evaluated before the
//! first row is written, or those of a query.

use std::borrow::Cow;

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    self, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, UnaryOperator, Value as AstValue,
};
use halite_rowkey::value::{FieldType, Value};
use halite_types::Bytes;

use super::exprs::{Parameters, collect_parameters, constant, plan_one, typed_parameter};
use super::parsed::{has_query, named};
use super::row::{CellTimes, ColumnValue};
use super::running::Running;
use super::select;
use super::syntax::plain_values;
use super::target::{WriteColumn, WriteTarget};
use super::values::{assign, is_assignable, milliseconds};
use crate::catalog::HaliteCatalog;
use crate::error::{Result, SqlError, SqlState};
use crate::names::empty_query;
use crate::types::arrow_field;
use crate::types::literals::value_at;

/// Type of `_ts`.
const TS: FieldType = FieldType::Timestamp(halite_rowkey::TimeUnit::Millis);

/// Rows to write.
pub(super) enum RowSource {
    /// VALUES.
    Values(Vec<Vec<RowValue>>),
    /// Rows of a query.
    Query(Box<LogicalPlan>),
}

/// One value of VALUES or SET.
#[derive(Clone, Debug)]
pub(super) enum RowValue {
    /// DEFAULT.
    Default,
    /// Constant expression.
    Constant(Expr),
}

/// Values of one row, with the times of its cells.
#[derive(Clone, Debug)]
pub(super) struct InputRow<'v> {
    pub(super) values: Vec<ColumnValue<'v>>,
    pub(super) times: CellTimes,
}

impl RowSource {
    /// Plans the rows for `columns`.
    ///
    /// # Errors
    /// `Syntax` for another number of values, `WrongType`.
    pub(super) async fn plan(
        session: &SessionContext,
        catalog: &HaliteCatalog,
        target: &WriteTarget,
        columns: &mut Vec<WriteColumn>,
        is_named: bool,
        source: Option<Box<Query>>,
    ) -> Result<Self> {
        let Some(source) = source else {
            columns.clear();
            return Ok(Self::Values(vec![Vec::new()]));
        };
        let rows = plain_values(&source)
            .filter(|rows| !has_query(rows.iter().copied().flatten()))
            .map(|rows| rows.into_iter().map(<[ast::Expr]>::to_vec).collect::<Vec<_>>());
        if let Some(rows) = rows {
            let most = rows.iter().map(Vec::len).max().unwrap_or(0);
            fit(columns, most, is_named)?;
            if let Some(row) = rows.iter().find(|row| row.len() != columns.len()) {
                return Err(count_error(row.len(), columns.len()));
            }
            return Ok(Self::Values(plan_values(session, catalog, target, columns, rows).await?));
        }
        let plan = select::logical(session, catalog, as_select(source)).await?;
        let fields = plan.schema().fields();
        fit(columns, fields.len(), is_named)?;
        for (column, field) in columns.iter().zip(fields) {
            let (name, ty) = name_and_type(target, *column);
            if ty.is_some_and(|ty| !is_assignable(field.data_type(), ty)) {
                let text = format!(
                    "column {name} is not written from values of type {}; convert them by CAST",
                    field.data_type()
                );
                return Err(SqlError::new(SqlState::WrongType, text));
            }
        }
        Ok(Self::Query(Box::new(plan)))
    }

    /// Adds the parameters to those that are known.
    pub(super) fn parameters(&self, known: &mut Parameters) -> Result<()> {
        match self {
            Self::Query(plan) => select::collect_parameters(plan, known),
            Self::Values(rows) => rows.iter().flatten().try_for_each(|value| match value {
                RowValue::Constant(expr) => collect_parameters(expr, known),
                RowValue::Default => Ok(()),
            }),
        }
    }
}

/// Returns rows of VALUES with subqueries as a SELECT for each: DataFusion's VALUES has none.
fn as_select(mut source: Box<Query>) -> Box<Query> {
    let Some(rows) = plain_values(&source) else { return source };
    let one = |row: &[ast::Expr]| {
        let items = row.iter().cloned().map(SelectItem::UnnamedExpr);
        let mut select = *empty_query().body;
        if let SetExpr::Select(select) = &mut select {
            select.projection = items.collect();
        }
        select
    };
    let all = rows.into_iter().map(one).reduce(|rows, row| SetExpr::SetOperation {
        op: SetOperator::Union,
        set_quantifier: SetQuantifier::All,
        left: Box::new(rows),
        right: Box::new(row),
    });
    if let Some(all) = all {
        *source.body = all;
    }
    source
}

/// Without a list of columns, the first ones are meant.
fn fit(columns: &mut Vec<WriteColumn>, values: usize, is_named: bool) -> Result<()> {
    if !is_named && values <= columns.len() {
        columns.truncate(values);
    }
    if columns.len() == values { Ok(()) } else { Err(count_error(values, columns.len())) }
}

fn count_error(values: usize, columns: usize) -> SqlError {
    let text = format!("{values} value(s) are given for {columns} column(s)");
    SqlError::new(SqlState::Syntax, text)
}

async fn plan_values(
    session: &SessionContext,
    catalog: &HaliteCatalog,
    target: &WriteTarget,
    columns: &[WriteColumn],
    rows: Vec<Vec<ast::Expr>>,
) -> Result<Vec<Vec<RowValue>>> {
    let width = columns.len();
    let flat: Vec<ast::Expr> = rows.into_iter().flatten().collect();
    let has_names = !flat.iter().all(|expr| matches!(expr, ast::Expr::Value(_)));
    let flat = if has_names { named(catalog, flat, Vec::new()).await? } else { flat };
    let state = session.state();
    let mut values = Vec::new();
    let mut row = Vec::with_capacity(width);
    for expr in flat {
        row.push(plan_value(&state, target, columns[row.len()], expr)?);
        if row.len() == width {
            values.push(std::mem::replace(&mut row, Vec::with_capacity(width)));
        }
    }
    Ok(values)
}

/// Plans one value for a column.
pub(super) fn plan_value(
    state: &SessionState,
    target: &WriteTarget,
    column: WriteColumn,
    expr: ast::Expr,
) -> Result<RowValue> {
    if is_default(&expr) {
        return Ok(RowValue::Default);
    }
    let (_, ty) = name_and_type(target, column);
    // A literal is read as a double otherwise, which has fewer digits.
    if ty == Some(FieldType::Decimal)
        && let Some(digits) = number_text(&expr)
    {
        return Ok(RowValue::Constant(Expr::Literal(ScalarValue::Utf8(Some(digits)), None)));
    }
    let expr = plan_one(state, expr, &datafusion::common::DFSchema::empty())?;
    let expr = match column {
        WriteColumn::Column(at) => typed_parameter(expr, &target.shape.columns[at].field),
        WriteColumn::Ts => typed_parameter(expr, &arrow_field("_ts", TS, true)),
        WriteColumn::Ttl => expr,
    };
    Ok(RowValue::Constant(expr))
}

/// Returns `true` for the word DEFAULT.
pub(super) fn is_default(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(ident)
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("DEFAULT"))
}

fn number_text(expr: &ast::Expr) -> Option<String> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            AstValue::Number(digits, _) => Some(digits.clone()),
            _ => None,
        },
        ast::Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            number_text(expr).map(|digits| format!("-{digits}"))
        }
        _ => None,
    }
}

/// Returns name and type of what is written; no type for `_ttl`, an interval.
fn name_and_type(target: &WriteTarget, column: WriteColumn) -> (&str, Option<FieldType>) {
    match column {
        WriteColumn::Column(at) => {
            let column = &target.shape.columns[at];
            (&column.name, Some(column.ty))
        }
        WriteColumn::Ts => ("_ts", Some(TS)),
        WriteColumn::Ttl => ("_ttl", None),
    }
}

impl RowValue {
    /// Returns the value for a column.
    pub(super) fn value<'v>(
        &'v self,
        running: &'v Running,
        target: &WriteTarget,
        column: WriteColumn,
    ) -> Result<Assigned<'v>> {
        match (self, column) {
            (Self::Constant(expr), _) => match constant(running, expr)? {
                Cow::Borrowed(scalar) => Assigned::of(target, column, scalar),
                Cow::Owned(scalar) => Ok(Assigned::of(target, column, &scalar)?.into_owned()),
            },
            (Self::Default, WriteColumn::Column(at)) => {
                let cell = target.shape.columns[at].cell.as_ref();
                let default = cell.and_then(|cell| cell.default.clone());
                Ok(Assigned::Value(at, default.unwrap_or(Value::Null)))
            }
            (Self::Default, WriteColumn::Ts | WriteColumn::Ttl) => Ok(Assigned::Nothing),
        }
    }
}

/// Value that was assigned.
#[derive(Clone, Debug)]
pub(super) enum Assigned<'v> {
    Value(usize, Value<'v>),
    Ts(i64),
    Ttl(u64),
    Nothing,
}

impl<'v> Assigned<'v> {
    /// Assigns a value of an expression.
    pub(super) fn of(
        target: &WriteTarget,
        column: WriteColumn,
        scalar: &'v ScalarValue,
    ) -> Result<Self> {
        let invalid = |text: String| SqlError::new(SqlState::InvalidValue, text);
        match column {
            WriteColumn::Column(at) => {
                let column = &target.shape.columns[at];
                Ok(Self::Value(at, assign(&column.name, column.ty, scalar)?))
            }
            WriteColumn::Ts => match assign("_ts", TS, scalar)? {
                Value::Signed(ts) if ts >= 0 => Ok(Self::Ts(ts)),
                Value::Null => Ok(Self::Nothing),
                _ => Err(invalid(format!("_ts: {scalar} is before 1970; cells have no such time"))),
            },
            WriteColumn::Ttl if scalar.is_null() => Ok(Self::Nothing),
            WriteColumn::Ttl => milliseconds(scalar).map(Self::Ttl).ok_or_else(|| {
                let text = "_ttl is an interval of days, hours, minutes or seconds above 0, as in \
                            INTERVAL '1 day'";
                invalid(format!("{text}; it is {scalar}"))
            }),
        }
    }

    /// Returns what was assigned, apart from the expression.
    pub(super) fn into_owned(self) -> Assigned<'static> {
        match self {
            Self::Value(at, value) => Assigned::Value(at, value.into_owned()),
            Self::Ts(ts) => Assigned::Ts(ts),
            Self::Ttl(milliseconds) => Assigned::Ttl(milliseconds),
            Self::Nothing => Assigned::Nothing,
        }
    }
}

impl<'v> InputRow<'v> {
    /// Returns a row without values, with room for some.
    pub(super) fn with_capacity(values: usize) -> Self {
        Self { values: Vec::with_capacity(values), times: CellTimes::default() }
    }

    /// Collects what was assigned.
    pub(super) fn of(assigned: impl IntoIterator<Item = Assigned<'v>>) -> Self {
        let assigned = assigned.into_iter();
        let mut row = Self::with_capacity(assigned.size_hint().0);
        assigned.for_each(|one| row.assign(one));
        row
    }

    /// Adds what was assigned.
    pub(super) fn assign(&mut self, assigned: Assigned<'v>) {
        match assigned {
            Assigned::Value(at, value) => self.values.push((at, value)),
            Assigned::Ts(ts) => self.times.ts = Some(ts),
            Assigned::Ttl(milliseconds) => self.times.ttl_ms = Some(milliseconds),
            Assigned::Nothing => {}
        }
    }

    /// Returns the row, apart from the statement and from the rows that it was read of.
    pub(super) fn into_owned(self) -> InputRow<'static> {
        let values = self.values.into_iter().map(|(at, value)| (at, value.into_owned()));
        InputRow { values: values.collect(), times: self.times }
    }
}

/// Returns the rows of VALUES.
pub(super) fn evaluated<'v>(
    running: &'v Running,
    target: &WriteTarget,
    columns: &[WriteColumn],
    rows: &'v [Vec<RowValue>],
) -> Result<Vec<InputRow<'v>>> {
    let row = |values: &'v Vec<RowValue>| {
        let mut row = InputRow::with_capacity(values.len());
        for (value, column) in values.iter().zip(columns) {
            row.assign(value.value(running, target, *column)?);
        }
        Ok(row)
    };
    rows.iter().map(row).collect()
}

/// Returns one row of a query.
pub(super) fn row_of<'v>(
    target: &WriteTarget,
    columns: &[WriteColumn],
    batch: &'v RecordBatch,
    at: usize,
) -> Result<InputRow<'v>> {
    let mut row = InputRow::with_capacity(columns.len());
    for (array, column) in batch.columns().iter().zip(columns) {
        if let WriteColumn::Column(position) = *column
            && let Some(value) = value_at(target.shape.columns[position].ty, array, at)
        {
            row.assign(Assigned::Value(position, value));
            continue;
        }
        let scalar = ScalarValue::try_from_array(array, at)?;
        row.assign(Assigned::of(target, *column, &scalar)?.into_owned());
    }
    Ok(row)
}

/// Row that was sent.
pub(super) struct SentRow {
    /// Place among the rows of the statement.
    pub(super) at: usize,
    pub(super) row: Bytes,
    /// Its values, where they are needed again.
    pub(super) input: Option<Box<InputRow<'static>>>,
}

/// Returns a value of a row by its column; null if it is not given.
pub(super) fn value_in<'r, 'v>(values: &'r [ColumnValue<'v>], at: usize) -> &'r Value<'v> {
    values.iter().find(|(column, _)| *column == at).map_or(&Value::Null, |(_, value)| value)
}
