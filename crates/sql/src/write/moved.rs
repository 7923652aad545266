//! MOVE ROW.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::{self, Ident};
use halite_rowkey::move_row::move_row;
use halite_types::{Bytes, ErrorKind, Filter, Get, TableExt as _};

use super::exprs::{Parameters, collect_parameters};
use super::parsed::named;
use super::running::{Running, Written};
use super::sets::set_twice;
use super::source::{InputRow, RowValue, plan_value};
use super::syntax::{MoveStatement, placed};
use super::target::{WriteColumn, WriteTarget};
use crate::catalog::HaliteCatalog;
use crate::catalog::shape::Source;
use crate::error::{Result, SqlError, SqlState};
use crate::session::tally::Does;

/// Planned MOVE ROW.
pub(super) struct MovePlan {
    pub(super) target: WriteTarget,
    from: Vec<(WriteColumn, RowValue)>,
    to: Vec<(WriteColumn, RowValue)>,
}

impl MovePlan {
    pub(super) async fn new(
        session: &SessionContext,
        catalog: &HaliteCatalog,
        statement: MoveStatement,
    ) -> Result<Self> {
        let target = WriteTarget::find(catalog, &statement.table, None).await?;
        target.check_changed("MOVE ROW")?;
        target.check_found("MOVE ROW")?;
        let from = key_of(session, catalog, &target, statement.from).await?;
        let to = key_of(session, catalog, &target, statement.to).await?;
        Ok(Self { target, from, to })
    }

    pub(super) fn parameters(&self, known: &mut Parameters) -> Result<()> {
        self.from.iter().chain(&self.to).try_for_each(|(_, value)| match value {
            RowValue::Constant(expr) => collect_parameters(expr, known),
            RowValue::Default => Ok(()),
        })
    }

    pub(super) async fn run(&self, running: &Running) -> Result<Written> {
        let row = |pairs: &[(WriteColumn, RowValue)]| -> Result<InputRow<'static>> {
            let assigned = pairs
                .iter()
                .map(|(column, value)| {
                    Ok(value.value(running, &self.target, *column)?.into_owned())
                })
                .collect::<Result<Vec<_>>>()?;
            Ok(InputRow::of(assigned))
        };
        let (from, to) = (row(&self.from)?, row(&self.to)?);
        let nothing = || Written { tag: "MOVE ROW 0".to_owned(), returned: None };
        let Some(from) = self.target.known_key(&from.values)? else { return Ok(nothing()) };
        let table = self.target.table.as_ref();
        let first_cell = |row: &Bytes| Get::new(row.clone()).filter(Filter::FirstKeyOnly);
        let moved = !table.get(first_cell(&from)).await?.is_empty();
        if self.target.dictionary.is_none() {
            // What is wrong with the new key is an error whether there is a row or not.
            self.target.key(&to.values)?;
        }
        if moved {
            self.target.assign_numbers(&to.values).await?;
            let to = self.target.key(&to.values)?;
            let is_free = table.get(first_cell(&to)).await?.is_empty();
            let result = move_row(table, from.clone(), to.clone(), false).await;
            let result = result.map_err(|error| {
                let is_occupied = error.kind() == ErrorKind::InvalidRequest && from != to;
                if is_free || !is_occupied { error.into() } else { self.occupied(&to) }
            })?;
            running.statement.written.fetch_add(1, Ordering::Relaxed);
            running.statement.tally.add(Does::of_move());
            if result.remaining > 0 {
                running.statement.notice(format!(
                    "{} cell(s) that were written meanwhile are still under the old key",
                    result.remaining
                ));
            }
        }
        Ok(Written { tag: format!("MOVE ROW {}", u8::from(moved)), returned: None })
    }

    fn occupied(&self, row: &[u8]) -> SqlError {
        let target = &self.target;
        let text = format!(
            "table {} has the row {} already, and nothing was moved: DELETE it first, or choose \
             another key",
            target.table.name(),
            target.row_text(row)
        );
        SqlError::new(SqlState::RowExists, text)
    }
}

/// Plans the fields of a key, each of which is given.
async fn key_of(
    session: &SessionContext,
    catalog: &HaliteCatalog,
    target: &WriteTarget,
    pairs: Vec<(Ident, ast::Expr)>,
) -> Result<Vec<(WriteColumn, RowValue)>> {
    let (names, exprs): (Vec<Ident>, Vec<ast::Expr>) = pairs.into_iter().unzip();
    let is_key = |at: usize| matches!(target.shape.columns[at].source, Source::Key(_));
    let mut fields = Vec::with_capacity(names.len());
    let mut given = BTreeSet::new();
    for name in &names {
        match target.column(name)? {
            WriteColumn::Column(at) if is_key(at) => {
                if !given.insert(at) {
                    return Err(set_twice(name));
                }
                fields.push(WriteColumn::Column(at));
            }
            _ => {
                let text = format!("MOVE ROW: {name} is no field of the key");
                return Err(placed(SqlError::new(SqlState::Syntax, text), name));
            }
        }
    }
    let missing = (0..target.shape.columns.len()).find(|at| is_key(*at) && !given.contains(at));
    if let Some(at) = missing {
        let text = format!("MOVE ROW: field {} is not given", target.shape.columns[at].name);
        return Err(SqlError::new(SqlState::Syntax, text));
    }
    let state = session.state();
    let exprs = named(catalog, exprs, Vec::new()).await?;
    fields
        .into_iter()
        .zip(exprs)
        .map(|(field, expr)| Ok((field, plan_value(&state, target, field, expr)?)))
        .collect()
}
