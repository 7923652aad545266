//! UPDATE and DELETE: the rows are those of a SELECT of their keys, of the columns that the
//! statement names, and of the new values.

use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::{self, Ident, SelectItem, TableWithJoins};
use halite_rowkey::value::Value;

use super::apply::{Change, Changes};
use super::exprs::{Parameters, collect_parameters, constant};
use super::parsed::{CELL_TS_CALL, Names, empty_select, has_query, select_of, table_factor};
use super::returning::Returning;
use super::running::{Running, Written};
use super::select;
use super::sets::{SetColumn, SetValue, check_key_is_kept, plan_sets};
use super::source::{InputRow, RowValue};
use super::syntax::ChangeStatement;
use super::target::{WriteColumn, WriteTarget};
use super::values::assign;
use super::version;
use crate::catalog::HaliteCatalog;
use crate::catalog::shape::{Pseudo, ShapeColumn, Source};
use crate::direct::Template;
use crate::error::{Result, SqlError, SqlState};
use crate::session::parameters::{fields_of, types_of};

/// Planned UPDATE or DELETE.
pub(super) struct ChangePlan {
    pub(super) target: WriteTarget,
    /// `None` for DELETE.
    pub(super) sets: Option<Vec<SetColumn>>,
    /// Query of the key, the columns that are read, and the computed values.
    pub(super) select: LogicalPlan,
    /// The same query, if a scan alone answers it.
    pub(super) direct: Option<Arc<Template>>,
    /// Columns that are read, by position.
    pub(super) read: Vec<usize>,
    /// `true` if LIMIT says how many rows are changed.
    pub(super) has_limit: bool,
    /// `true` if other tables take part, so that a row may come more than once.
    pub(super) joins: bool,
    pub(super) returning: Option<Returning>,
    /// Time of the cells that DELETE deletes; `None` for the whole rows.
    pub(super) version: Option<RowValue>,
}

impl ChangePlan {
    pub(super) async fn new(
        session: &SessionContext,
        catalog: &HaliteCatalog,
        mut statement: ChangeStatement,
    ) -> Result<Self> {
        let alias = statement.alias.clone();
        let mut target = WriteTarget::find(catalog, &statement.table, alias).await?;
        target.name_entries(statement.columns_mut())?;
        let verb = if statement.assignments.is_some() { "UPDATE" } else { "DELETE" };
        target.check_changed(verb)?;
        check_key_is_kept(&target, &statement)?;
        let version = version::take(session, catalog, &target, &mut statement).await?;
        let returning = match &statement.returning {
            Some(items) => Some(Returning::plan(session, catalog, &target, items.clone()).await?),
            None => None,
        };
        let read = read_columns(&target, &statement, returning.as_ref())?;
        let mut computed = Vec::new();
        let sets = match statement.assignments.clone() {
            Some(list) => {
                let adds = returning.is_none();
                Some(plan_sets(session, catalog, &target, list, adds, &mut computed).await?)
            }
            None => None,
        };
        let joins = !statement.from.is_empty()
            || has_query(statement.selection.iter().chain(computed.iter()));
        let has_limit = statement.limit.is_some();
        let select = select_rows(session, catalog, &target, statement, &read, computed).await?;
        let parameters = fields_of(&types_of(&select)?);
        let direct = Template::with_parameters(&session.state(), catalog, &select, &parameters);
        let direct = direct.map(Arc::new);
        Ok(Self { target, sets, select, direct, read, has_limit, joins, returning, version })
    }

    pub(super) fn parameters(&self, known: &mut Parameters) -> Result<()> {
        for set in self.sets.iter().flatten() {
            match &set.value {
                SetValue::Constant(RowValue::Constant(expr))
                | SetValue::Added { amount: expr, .. } => collect_parameters(expr, known)?,
                SetValue::Constant(RowValue::Default) | SetValue::Computed => {}
            }
        }
        if let Some(RowValue::Constant(time)) = &self.version {
            collect_parameters(time, known)?;
        }
        select::collect_parameters(&self.select, known)?;
        self.returning.as_ref().map_or(Ok(()), |returning| returning.parameters(known))
    }

    /// Returns `true` if what is written or returned depends on the values of the row.
    pub(super) fn depends_on_rows(&self) -> bool {
        let is_computed = |set: &SetColumn| matches!(set.value, SetValue::Computed);
        self.sets.iter().flatten().any(is_computed) || self.returning.is_some() || self.joins
    }

    pub(super) async fn run(&self, running: &Running) -> Result<Written> {
        if let Some(time) = &self.version {
            return Box::pin(self.delete_version(running, time)).await;
        }
        let change = self.bound(running)?;
        let verb = if self.sets.is_some() { "UPDATE" } else { "DELETE" };
        let changes = Changes { plan: self, change, running, memory: running.memory() };
        let (count, images) = changes.run(self.select.clone()).await?;
        let returned = match &self.returning {
            Some(returning) => Some(returning.rows(running, &self.target, &images)?),
            None => None,
        };
        Ok(Written { tag: format!("{verb} {count}"), returned })
    }

    /// Evaluates what does not depend on rows.
    fn bound(&self, running: &Running) -> Result<Change> {
        let Some(sets) = &self.sets else { return Ok(Change::Delete) };
        let (mut constants, mut computed, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for set in sets {
            match &set.value {
                SetValue::Constant(value) => {
                    let value = value.value(running, &self.target, set.column)?;
                    constants.push(value.into_owned());
                }
                SetValue::Computed => computed.push(set.column),
                SetValue::Added { amount, is_minus } => {
                    let WriteColumn::Column(at) = set.column else { continue };
                    let column = &self.target.shape.columns[at];
                    let amount = constant(running, amount)?;
                    let amount = assign(&column.name, column.ty, &amount)?;
                    let signed = match (amount, is_minus) {
                        (Value::Signed(amount), false) => Some(amount),
                        (Value::Signed(amount), true) => amount.checked_neg(),
                        _ => return Err(self.target.null_error(at)),
                    };
                    let outside = || {
                        let text = format!("column {}: the amount is outside of I64", column.name);
                        SqlError::new(SqlState::OutOfRange, text)
                    };
                    added.push((at, signed.ok_or_else(outside)?));
                }
            }
        }
        Ok(Change::Update { constants: InputRow::of(constants), computed, added })
    }
}

/// Returns the columns whose values the statement depends on or returns.
fn read_columns(
    target: &WriteTarget,
    statement: &ChangeStatement,
    returning: Option<&Returning>,
) -> Result<Vec<usize>> {
    let mut names = Names::default();
    statement.selection.iter().for_each(|expr| names.add(expr));
    statement.from.iter().for_each(|table| names.add(table));
    statement.order_by.iter().for_each(|order| names.add(order));
    for (_, value) in statement.assignments.iter().flatten() {
        names.add(value);
    }
    for name in [Pseudo::Cells.name(), Pseudo::Ts.name(), CELL_TS_CALL] {
        if names.0.contains(name) {
            return Err(SqlError::unsupported(format!(
                "{name} in UPDATE or DELETE: nothing tells, when a row is written, that it still \
                 holds; name columns",
            )));
        }
    }
    let shape = &target.shape;
    let is_map = |column: &&ShapeColumn| {
        column.map_key.is_some() && names.0.contains(&column.name.to_lowercase())
    };
    if let Some(map) = shape.columns.iter().find(is_map) {
        return Err(SqlError::unsupported(format!(
            "the MAP {} in UPDATE or DELETE: nothing tells, when a row is written, that it still \
             holds; select the keys, then change their rows",
            map.name
        )));
    }
    let is_read = |at: &usize| {
        let column = &shape.columns[*at];
        let is_cell = matches!(column.source, Source::Cell { .. });
        let is_returned = returning.is_some_and(|one| one.columns.contains(at));
        match column.source {
            Source::Key(_) => is_returned,
            _ => is_cell && (is_returned || names.0.contains(&column.name.to_lowercase())),
        }
    };
    Ok((0..shape.columns.len()).filter(is_read).collect())
}

async fn select_rows(
    session: &SessionContext,
    catalog: &HaliteCatalog,
    target: &WriteTarget,
    statement: ChangeStatement,
    read: &[usize],
    computed: Vec<ast::Expr>,
) -> Result<LogicalPlan> {
    let item = |expr: ast::Expr, alias: String| SelectItem::ExprWithAlias {
        expr,
        alias: Ident::with_quote('"', alias),
    };
    let own = |name: &str| {
        let column = Ident::with_quote('"', name);
        ast::Expr::CompoundIdentifier(vec![target.alias.clone(), column])
    };
    let mut projection = vec![item(own("_row"), "__row".to_owned())];
    for at in read {
        projection.push(item(own(&target.shape.columns[*at].name), format!("__c{at}")));
    }
    for (at, expr) in computed.into_iter().enumerate() {
        projection.push(item(expr, format!("__s{at}")));
    }
    let mut from: Vec<TableWithJoins> = vec![table_factor(&target.name, &target.alias)?];
    from.extend(statement.from);
    let mut query = empty_select()?;
    (query.order_by, query.limit_clause) = (statement.order_by, statement.limit);
    let select = select_of(&mut query)?;
    (select.projection, select.from, select.selection) = (projection, from, statement.selection);
    select::logical(session, catalog, query).await
}
