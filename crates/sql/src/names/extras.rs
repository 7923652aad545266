//! Columns that a statement makes of single cells: `_cells['d:q']`, with a type by `decode`, entries
//! of a `MAP` as in `tags['color']`, and `cell_ts(c)`. Each becomes a column of its table, so that
//! only its cell is read, and conditions on it are those on a cell.
//!
//! An expression is of a table of the innermost SELECT around it that has one which fits. Where
//! several do, or where it may be of a subquery, it stays as it is, and the whole map is read.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    Query, Select, SetExpr, Statement, Subscript, TableFactor, TableWithJoins, Value, Visit,
    VisitMut, Visitor, VisitorMut,
};
use halite_types::Bytes;
use halite_types::key::to_bytes_binary;

use super::marks::{TableColumns, is_mark, mark_of};
use super::tables::FoundTables;
use super::wildcard::may_have_extras;
use crate::catalog::extra::{bytes_column, cell_column, declared, time_column};
use crate::catalog::shape::{Pseudo, ShapeColumn, Source, TableShape};
use crate::error::{Result, SqlError, SqlState};
use crate::session::functions::DECODE_CELL;
use crate::types::map_entry::{EntryKey, MapEntry};

/// Function of the time of a cell.
pub(super) const CELL_TS: &str = "cell_ts";
/// Function of a cell with a type.
const DECODE: &str = "decode";
/// What PostgreSQL's function of that name reads.
const TEXT_FORMATS: [&str; 3] = ["hex", "base64", "escape"];

/// Makes columns of the cells that a statement names.
///
/// # Errors
/// `cell_ts` of what has no cell of its own, `decode` to what is no type; each with its place.
pub(super) fn rewrite(
    statement: &mut Statement,
    found: &FoundTables,
    columns: &mut TableColumns,
) -> Result<()> {
    if Visit::visit(statement, &mut AnyCell).is_continue() {
        return Ok(());
    }
    let mut marks = Marks { found, columns: &mut *columns };
    let _ = VisitMut::visit(statement, &mut marks);
    let mut replace = Replace { found, columns: &mut *columns, scopes: Vec::new() };
    match VisitMut::visit(statement, &mut replace) {
        ControlFlow::Break(error) => return Err(error),
        ControlFlow::Continue(()) => {}
    }
    let _ = VisitMut::visit(statement, &mut Unmark { columns });
    Ok(())
}

/// Refuses the times of cells, and reads `decode` of what a statement has at hand.
///
/// # Errors
/// `NotSupported` with the place.
pub(super) fn without_cells(statement: &mut Statement) -> Result<()> {
    struct Calls;
    impl VisitorMut for Calls {
        type Break = SqlError;

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
            let Some(call) = Call::of(expr) else { return ControlFlow::Continue(()) };
            if call.name == CELL_TS {
                let text = format!("{expr} has no value here: select it, then write");
                return ControlFlow::Break(call.placed(SqlError::unsupported(text)));
            }
            if call.is_decode() {
                rename(expr);
            }
            ControlFlow::Continue(())
        }
    }
    match VisitMut::visit(statement, &mut Calls) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Looks for an expression that may be of a cell.
struct AnyCell;

impl Visitor for AnyCell {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::CompoundFieldAccess { .. }) || Call::of(expr).is_some() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Marks the tables of the cluster.
struct Marks<'f> {
    found: &'f FoundTables,
    columns: &'f mut TableColumns,
}

impl VisitorMut for Marks<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, args: None, with_hints, .. } = factor
            && alias.as_ref().is_none_or(|alias| alias.columns.is_empty())
            && self.found.shape_of(name).is_some()
            && !with_hints.iter().any(is_mark)
        {
            self.columns.mark(with_hints);
        }
        ControlFlow::Continue(())
    }
}

/// Removes the marks of tables without other columns.
struct Unmark<'c> {
    columns: &'c TableColumns,
}

impl VisitorMut for Unmark<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { with_hints, .. } = factor {
            let is_used = |hint: &Expr| match mark_of(hint) {
                Some(mark) => !self.columns.by_mark(mark).is_empty(),
                None => true,
            };
            with_hints.retain(is_used);
        }
        ControlFlow::Continue(())
    }
}

/// Tables of one FROM.
#[derive(Clone, Default)]
struct Scope {
    tables: Vec<ScopeTable>,
    /// `true` if it has other parts, whose columns are not known here.
    has_others: bool,
    /// `true` if `*` may leave out columns.
    is_extended: bool,
}

/// Table of the cluster in FROM.
#[derive(Clone)]
struct ScopeTable {
    mark: usize,
    /// Name that qualifies its columns.
    name: String,
    shape: Arc<TableShape>,
}

struct Replace<'f> {
    found: &'f FoundTables,
    columns: &'f mut TableColumns,
    scopes: Vec<Scope>,
}

impl VisitorMut for Replace<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        // ORDER BY sees the FROM of its SELECT.
        let scope = match query.body.as_ref() {
            SetExpr::Select(select) => self.scope(select),
            _ => Scope::default(),
        };
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        let scope = self.scope(select);
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<SqlError> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        let replaced = match Call::of(expr) {
            Some(call) if call.name == CELL_TS => self.time(&call).map(Some),
            Some(call) if call.is_decode() => self.typed(&call),
            Some(_) => Ok(None),
            None => self.cell(expr),
        };
        match replaced {
            Ok(Some(column)) => *expr = column,
            Ok(None) if Call::of(expr).is_some_and(|call| call.is_decode()) => rename(expr),
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

/// Cell that an expression names.
struct Named {
    /// What is in front of the column: schema, table.
    qualifier: Vec<Ident>,
    /// Column, or the map.
    column: Ident,
    key: Option<EntryKey>,
}

impl Replace<'_> {
    fn scope(&self, select: &Select) -> Scope {
        let mut scope = Scope { is_extended: may_have_extras(select), ..Scope::default() };
        select.from.iter().for_each(|from| self.add_tables(from, &mut scope));
        scope
    }

    fn add_tables(&self, from: &TableWithJoins, scope: &mut Scope) {
        let joined = from.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&from.relation).chain(joined) {
            match factor {
                TableFactor::NestedJoin { table_with_joins, alias: None } => {
                    self.add_tables(table_with_joins, scope);
                }
                TableFactor::Table { name, alias, with_hints, .. } => {
                    let mark = with_hints.iter().find_map(mark_of);
                    let shape = self.found.shape_of(name);
                    let alias = alias.as_ref().map(|alias| alias.name.value.clone());
                    let last = || Some(name.0.last()?.as_ident()?.value.clone());
                    match (mark, shape, alias.or_else(last)) {
                        (Some(mark), Some(shape), Some(name)) => {
                            let shape = shape.with_extras(self.columns.by_mark(mark));
                            scope.tables.push(ScopeTable { mark, name, shape: Arc::new(shape) });
                        }
                        _ => scope.has_others = true,
                    }
                }
                _ => scope.has_others = true,
            }
        }
    }

    /// Returns the tables that a name may be of: those that `fits` of the innermost scope that has
    /// any.
    fn tables(&self, named: &Named, fits: impl Fn(&TableShape) -> bool) -> Found<'_> {
        let qualifier = named.qualifier.last().map(|ident| ident.value.as_str());
        for scope in self.scopes.iter().rev() {
            let is_meant = |table: &&ScopeTable| qualifier.is_none_or(|name| table.name == name);
            let mut fitting =
                scope.tables.iter().filter(is_meant).filter(|table| fits(&table.shape));
            match (fitting.next(), fitting.next()) {
                (Some(table), None) => return Found::One(table, scope.is_extended),
                (Some(_), Some(_)) => return Found::Several,
                (None, _) if scope.has_others && qualifier.is_none() => return Found::None,
                (None, _) => {}
            }
        }
        Found::None
    }

    /// Returns the column of `_cells['d:q']` or of an entry of a `MAP`; `None` for other expressions.
    fn cell(&mut self, expr: &Expr) -> Result<Option<Expr>> {
        let Some(named) = named_entry(expr) else { return Ok(None) };
        let Some((mark, family, qualifier, map)) = self.place(&named)? else { return Ok(None) };
        let name = named.text();
        let column = match map {
            None => bytes_column(&name, &family, &qualifier)?,
            Some(entry) => ShapeColumn { name, ..entry },
        };
        Ok(Some(self.replaced(&named, mark, column)))
    }

    /// Returns the mark, family and qualifier of an entry, with the column that it is if the map is
    /// a declared one. `None` where it stays an expression over a map.
    fn place(&self, named: &Named) -> Result<Option<(usize, Bytes, Bytes, Option<ShapeColumn>)>> {
        let Some(key) = &named.key else { return Ok(None) };
        if named.column.value == Pseudo::Cells.name() {
            let EntryKey::Text(key) = key else { return Ok(None) };
            let Some((family, qualifier)) = key.split_once(':') else { return Ok(None) };
            let (family, qualifier) =
                (Bytes::from(to_bytes_binary(family)), Bytes::from(to_bytes_binary(qualifier)));
            // Declared cells are not among them.
            let fits = |shape: &TableShape| shape.families.contains(&family);
            let Found::One(table, true) = self.tables(named, fits) else { return Ok(None) };
            if table.shape.is_declared_cell(&family, &qualifier) {
                return Ok(None);
            }
            return Ok(Some((table.mark, family, qualifier, None)));
        }
        let entry = MapEntry { map: named.column.value.clone(), key: key.clone() };
        let wanted = BTreeSet::from([entry.clone()]);
        let as_column = |shape: &TableShape| {
            let with = shape.with_entries(&wanted);
            let at =
                with.position(&entry.column()).filter(|_| shape.position(&entry.map).is_some());
            at.map(|at| with.columns[at].clone())
        };
        let fits = |shape: &TableShape| as_column(shape).is_some();
        let Found::One(table, true) = self.tables(named, fits) else { return Ok(None) };
        let Some(column) = as_column(&table.shape) else { return Ok(None) };
        let Source::Cell { family, qualifier } = column.source.clone() else { return Ok(None) };
        Ok(Some((table.mark, family, qualifier, Some(column))))
    }

    /// Returns the column of `decode(_cells['d:q'], 'I64', 'TEXT')`; `None` for `decode` of other
    /// bytes.
    fn typed(&mut self, call: &Call) -> Result<Option<Expr>> {
        let Some(named) = call.argument().and_then(named_entry) else { return Ok(None) };
        let Some((mark, family, qualifier, None)) = self.place(&named)? else { return Ok(None) };
        let (ty, encoding) = call.ty().unwrap_or_default();
        let text = match &encoding {
            Some(encoding) => format!("{ty} ENCODING {encoding}"),
            None => ty.clone(),
        };
        let declared = declared("c", &text).map_err(|error| call.placed(error))?;
        let shown = match &encoding {
            Some(encoding) => format!("decode({}, '{ty}', '{encoding}')", named.text()),
            None => format!("decode({}, '{ty}')", named.text()),
        };
        let column = cell_column(&shown, &family, &qualifier, &declared)
            .map_err(|error| call.placed(error))?;
        let column = ShapeColumn { is_extra: true, is_guessed: true, ..column };
        Ok(Some(self.replaced(&named, mark, column)))
    }

    /// Returns the column of `cell_ts(c)`.
    fn time(&mut self, call: &Call) -> Result<Expr> {
        let wrong = |text: String| call.placed(SqlError::new(SqlState::WrongType, text));
        let form = || {
            wrong(
                "cell_ts(column) is the time of a column's newest cell; it takes one column".into(),
            )
        };
        let argument = call.argument().filter(|_| call.args.len() == 1).ok_or_else(form)?;
        let named = match named_entry(argument) {
            Some(named) => named,
            None => named_column(argument).ok_or_else(form)?,
        };
        let of_entry = self.place(&named)?;
        let (mark, family, qualifier) = match of_entry {
            Some((mark, family, qualifier, _)) => (mark, family, qualifier),
            None if named.key.is_some() => {
                return Err(wrong(format!(
                    "cell_ts({argument}): name a cell of one table that it does not declare, or an \
                     entry of a MAP"
                )));
            }
            None => self.column_of(call, &named)?,
        };
        let column = time_column(&format!("cell_ts({})", named.text()), &family, &qualifier);
        Ok(self.replaced(&named, mark, column))
    }

    /// Returns the mark, family and qualifier of a column.
    fn column_of(&self, call: &Call, named: &Named) -> Result<(usize, Bytes, Bytes)> {
        let name = &named.column.value;
        let has = |shape: &TableShape| shape.position(name).is_some();
        let error = |state, text: String| Err(call.placed(SqlError::new(state, text)));
        let table = match self.tables(named, has) {
            Found::One(table, _) => table,
            Found::Several => {
                return error(
                    SqlState::Ambiguous,
                    format!("{name} may be a column of several tables; write t.{name}"),
                );
            }
            Found::None => {
                return error(
                    SqlState::UndefinedColumn,
                    format!(
                        "cell_ts({name}): {name} is no column of a table of FROM; columns of \
                         subqueries have no cells"
                    ),
                );
            }
        };
        let column = table.shape.position(name).map(|at| &table.shape.columns[at]);
        match column.map(|column| &column.source) {
            Some(Source::Cell { family, qualifier }) => {
                Ok((table.mark, family.clone(), qualifier.clone()))
            }
            Some(Source::Key(_)) => error(
                SqlState::WrongType,
                format!("cell_ts({name}): {name} is a field of the key, which is in no cell"),
            ),
            _ => error(
                SqlState::WrongType,
                format!(
                    "cell_ts({name}): {name} has several cells; name one, as in \
                     cell_ts({name}['key']), or read cells(t)"
                ),
            ),
        }
    }

    /// Adds a column to its table, and returns its name.
    fn replaced(&mut self, named: &Named, mark: usize, column: ShapeColumn) -> Expr {
        let mut ident = Ident::with_quote('"', &column.name);
        ident.span = named.column.span;
        self.columns.add(mark, column);
        if named.qualifier.is_empty() {
            return Expr::Identifier(ident);
        }
        let mut parts = named.qualifier.clone();
        parts.push(ident);
        Expr::CompoundIdentifier(parts)
    }
}

/// Tables that a name may be of.
enum Found<'s> {
    /// One, and whether `*` may leave out columns of it.
    One(&'s ScopeTable, bool),
    Several,
    None,
}

impl Named {
    /// Returns the name without that of its table.
    fn text(&self) -> String {
        match &self.key {
            Some(key) => MapEntry { map: self.column.value.clone(), key: key.clone() }.column(),
            None => self.column.value.clone(),
        }
    }
}

/// Call of a function with its arguments.
struct Call {
    name: String,
    ident: Ident,
    args: Vec<Expr>,
}

impl Call {
    fn of(expr: &Expr) -> Option<Self> {
        let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr
        else {
            return None;
        };
        let [part] = name.0.as_slice() else { return None };
        let ident = part.as_ident()?.clone();
        if ident.value != CELL_TS && ident.value != DECODE {
            return None;
        }
        let argument = |argument: &FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        };
        let args = list.args.iter().map(argument).collect::<Option<_>>()?;
        Some(Self { name: ident.value.clone(), ident, args })
    }

    fn argument(&self) -> Option<&Expr> {
        self.args.first()
    }

    /// Returns the type and the encoding that `decode` is given.
    fn ty(&self) -> Option<(String, Option<String>)> {
        match self.args.as_slice() {
            [_, ty] => Some((text_of(ty)?, None)),
            [_, ty, encoding] => Some((text_of(ty)?, Some(text_of(encoding)?))),
            _ => None,
        }
    }

    /// Returns `true` for `decode` of a cell, and not for that of PostgreSQL.
    fn is_decode(&self) -> bool {
        self.name == DECODE
            && self.ty().is_some_and(|(ty, encoding)| {
                let is_text = TEXT_FORMATS.iter().any(|format| ty.eq_ignore_ascii_case(format));
                encoding.is_some() || !is_text
            })
    }

    fn placed(&self, error: SqlError) -> SqlError {
        error.at(self.ident.span.start.line, self.ident.span.start.column)
    }
}

/// Has a call of `decode` be that of cells.
fn rename(expr: &mut Expr) {
    if let Expr::Function(function) = expr {
        function.name = ObjectName::from(vec![Ident::new(DECODE_CELL)]);
    }
}

fn text_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the column that an expression is.
fn named_column(expr: &Expr) -> Option<Named> {
    match expr {
        Expr::Identifier(column) => {
            Some(Named { qualifier: Vec::new(), column: column.clone(), key: None })
        }
        Expr::CompoundIdentifier(parts) => {
            let (column, qualifier) = parts.split_last()?;
            Some(Named { qualifier: qualifier.to_vec(), column: column.clone(), key: None })
        }
        Expr::Nested(inner) => named_column(inner),
        _ => None,
    }
}

/// Returns the name in front of a constant in brackets, and that constant.
fn named_entry(expr: &Expr) -> Option<Named> {
    let Expr::CompoundFieldAccess { root, access_chain } = expr else { return None };
    let (last, between) = access_chain.split_last()?;
    let AccessExpr::Subscript(Subscript::Index { index: Expr::Value(value) }) = last else {
        return None;
    };
    let key = match &value.value {
        Value::SingleQuotedString(text) => EntryKey::Text(text.clone()),
        Value::Number(digits, _) => EntryKey::Number(digits.parse().ok()?),
        _ => return None,
    };
    let mut qualifier = match root.as_ref() {
        Expr::Identifier(ident) => vec![ident.clone()],
        Expr::CompoundIdentifier(parts) => parts.clone(),
        _ => return None,
    };
    for access in between {
        let AccessExpr::Dot(Expr::Identifier(ident)) = access else { return None };
        qualifier.push(ident.clone());
    }
    let column = qualifier.pop()?;
    Some(Named { qualifier, column, key: Some(key) })
}
