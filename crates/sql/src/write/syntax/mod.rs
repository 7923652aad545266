//! Statements that write, from tokens: what each clause asks for. Clauses of other dialects are
//! refused, since a clause that is dropped would write other rows.

mod change;
mod entries;
mod insert;
mod moved;

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Ident, LimitClause, ObjectName, OrderBy, Query, SelectItem,
    SetExpr, Statement, TableWithJoins,
};
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;

use crate::error::{Result, SqlError, SqlState};
use crate::parse::{is_word, parse_query};

pub(super) use entries::entry_of;

impl InsertStatement {
    /// Returns the names of columns that it gives values to.
    pub(super) fn columns_mut(&mut self) -> impl Iterator<Item = &mut Ident> {
        let set = match &mut self.on_conflict {
            OnConflict::Update(update) => update.assignments.as_mut_slice(),
            OnConflict::Fail | OnConflict::Nothing { .. } => &mut [],
        };
        self.columns.iter_mut().chain(set.iter_mut().map(|(name, _)| name))
    }
}

impl ChangeStatement {
    /// Returns the names of columns that it gives values to.
    pub(super) fn columns_mut(&mut self) -> impl Iterator<Item = &mut Ident> {
        self.assignments.iter_mut().flatten().map(|(name, _)| name)
    }
}

/// Statement that writes.
#[derive(Clone, Debug)]
pub(crate) enum WriteStatement {
    /// INSERT, UPSERT.
    Insert(Box<InsertStatement>),
    /// UPDATE, DELETE.
    Change(Box<ChangeStatement>),
    /// MOVE ROW.
    Move(MoveStatement),
}

/// INSERT or UPSERT.
#[derive(Clone, Debug)]
pub(crate) struct InsertStatement {
    /// `true` for UPSERT, which does not look whether the row is there.
    pub(crate) is_upsert: bool,
    pub(crate) table: Vec<Ident>,
    pub(crate) alias: Option<Ident>,
    /// Columns that are given; empty for all.
    pub(crate) columns: Vec<Ident>,
    /// Rows; `None` for DEFAULT VALUES.
    pub(crate) source: Option<Box<Query>>,
    pub(crate) on_conflict: OnConflict,
    pub(crate) returning: Option<Vec<SelectItem>>,
}

/// What happens to a row that is there already.
#[derive(Clone, Debug)]
pub(crate) enum OnConflict {
    /// The statement fails.
    Fail,
    /// Nothing.
    Nothing {
        /// Columns that name the conflict; empty if none are given.
        key: Vec<Ident>,
    },
    /// It is changed.
    Update(Box<ConflictUpdate>),
}

/// ON CONFLICT DO UPDATE.
#[derive(Clone, Debug)]
pub(crate) struct ConflictUpdate {
    /// Columns that name the conflict; empty if none are given.
    pub(crate) key: Vec<Ident>,
    pub(crate) assignments: Vec<(Ident, Expr)>,
    pub(crate) selection: Option<Expr>,
    /// `true` if a row that is not there stays so (Phoenix: `UPDATE_ONLY`).
    pub(crate) is_only: bool,
}

/// UPDATE or DELETE.
#[derive(Clone, Debug)]
pub(crate) struct ChangeStatement {
    pub(crate) table: Vec<Ident>,
    pub(crate) alias: Option<Ident>,
    /// FROM of UPDATE, USING of DELETE.
    pub(crate) from: Vec<TableWithJoins>,
    /// Columns to set; `None` for DELETE.
    pub(crate) assignments: Option<Vec<(Ident, Expr)>>,
    pub(crate) selection: Option<Expr>,
    pub(crate) order_by: Option<OrderBy>,
    pub(crate) limit: Option<LimitClause>,
    pub(crate) returning: Option<Vec<SelectItem>>,
}

/// `MOVE ROW IN t (a = 1) TO (a = 2)`.
#[derive(Clone, Debug)]
pub(crate) struct MoveStatement {
    pub(crate) table: Vec<Ident>,
    pub(crate) from: Vec<(Ident, Expr)>,
    pub(crate) to: Vec<(Ident, Expr)>,
}

/// Reads a statement.
///
/// # Errors
/// `Syntax` with the place, `NotSupported` for clauses that this dialect does not have.
pub(crate) fn write_statement(mut tokens: Vec<TokenWithSpan>) -> Result<WriteStatement> {
    entries::name_entries(&mut tokens);
    match tokens.first().map(|token| &token.token) {
        Some(first) if is_word(first, "MOVE") => moved::move_row(&tokens).map(WriteStatement::Move),
        Some(first) if is_word(first, "UPSERT") => insert::insert(tokens, true),
        Some(first) if is_word(first, "INSERT") => insert::insert(tokens, false),
        _ => change::change(tokens),
    }
}

fn parsed(tokens: Vec<TokenWithSpan>) -> Result<Statement> {
    match parse_query(tokens)? {
        DfStatement::Statement(statement) => Ok(*statement),
        _ => Err(SqlError::unsupported("this statement is none of this dialect")),
    }
}

/// Returns the tokens of a text of ours.
pub(super) fn parse_tokens(text: &str) -> Result<Vec<TokenWithSpan>> {
    crate::parse::tokens_of(text)
}

fn refuse(clauses: &[(bool, &str)]) -> Result<()> {
    match clauses.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => {
            Err(SqlError::unsupported(format!("{what} is not part of this dialect")))
        }
        None => Ok(()),
    }
}

/// Returns columns with the expressions that they are set to.
fn assignments(list: Vec<Assignment>) -> Result<Vec<(Ident, Expr)>> {
    let mut pairs: Vec<(Ident, Expr)> = Vec::with_capacity(list.len());
    for one in list {
        match (one.target, one.value) {
            (AssignmentTarget::ColumnName(name), value) => pairs.push((last_part(&name)?, value)),
            (AssignmentTarget::Tuple(names), Expr::Tuple(values))
                if names.len() == values.len() =>
            {
                for (name, value) in names.iter().zip(values) {
                    pairs.push((last_part(name)?, value));
                }
            }
            (AssignmentTarget::Tuple(_), _) => {
                let text = "SET (a, b) = (1, 2) takes a list of as many values; set the columns \
                            one by one, or join in FROM";
                return Err(SqlError::unsupported(text));
            }
        }
    }
    Ok(pairs)
}

/// Adds the place of a name to an error.
pub(super) fn placed(error: SqlError, name: &Ident) -> SqlError {
    error.at(name.span.start.line, name.span.start.column)
}

fn parts(name: &ObjectName) -> Result<Vec<Ident>> {
    let parts: Option<Vec<Ident>> = name.0.iter().map(|part| part.as_ident().cloned()).collect();
    parts.ok_or_else(|| SqlError::unsupported(format!("{name} is no name of a table")))
}

/// Returns the column of a name that may be qualified by its table.
fn last_part(name: &ObjectName) -> Result<Ident> {
    parts(name)?
        .pop()
        .ok_or_else(|| SqlError::new(SqlState::Syntax, "the name of a column is expected"))
}

/// Returns the rows of VALUES, if the source is nothing else.
pub(super) fn plain_values(query: &Query) -> Option<Vec<&[Expr]>> {
    match query.body.as_ref() {
        SetExpr::Values(values)
            if query.with.is_none()
                && query.order_by.is_none()
                && query.limit_clause.is_none()
                && query.fetch.is_none()
                && query.locks.is_empty() =>
        {
            Some(values.rows.iter().map(|row| row.content.as_slice()).collect())
        }
        _ => None,
    }
}
