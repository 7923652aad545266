//! Tables of a statement.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::catalog::TableProvider as _;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Query, Statement, TableAlias, TableFactor, Visit, VisitMut,
    Visitor, VisitorMut,
};
use halite_types::TableName;
use halite_types::suggest::closest_match;

use super::by_case;
use super::cells::{cells_argument, set_argument};
use super::scope::Scope;
use crate::catalog::local::PG_TEMP;
use crate::catalog::provider::HaliteTable;
use crate::catalog::shape::TableShape;
use crate::catalog::{
    CATALOG, DEFAULT, HaliteCatalog, INFORMATION_SCHEMA, PG_CATALOG, PUBLIC, SYSTEM_SCHEMA,
    SYSTEM_TABLES, namespace_of,
};
use crate::error::{Result, SqlError, SqlState};

/// Table in the catalog.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TablePath {
    /// Schema, as the catalog spells it.
    pub(crate) schema: String,
    /// Table.
    pub(crate) table: String,
}

/// What a statement reads, by the text of the name in the statement.
#[derive(Default)]
pub(super) struct FoundTables {
    pub(super) paths: BTreeMap<String, TablePath>,
    /// Columns of all tables of the statement.
    pub(super) columns: Vec<String>,
    /// Names of the common table expressions.
    pub(super) ctes: Vec<String>,
    /// Tables of the cluster, which have the pseudo-columns.
    pub(super) shapes: BTreeMap<TablePath, Arc<TableShape>>,
    /// Tables of `cells(t)`, by the text of their rewritten names.
    pub(super) cells: BTreeMap<String, HaliteTable>,
}

impl FoundTables {
    /// Returns the table of the cluster that a rewritten name of FROM means.
    pub(super) fn shape_of(&self, name: &ObjectName) -> Option<&Arc<TableShape>> {
        let parts: Vec<String> = idents(name).ok()?.into_iter().map(|part| part.value).collect();
        let (schema, table) = match parts.as_slice() {
            [table] if self.ctes.contains(table) => return None,
            [table] => (DEFAULT.to_owned(), table.clone()),
            [schema, table] => (schema.clone(), table.clone()),
            _ => return None,
        };
        self.shapes.get(&TablePath { schema, table })
    }
}

/// Finds the tables of a statement and rewrites their names to schema and table, and those of
/// common table expressions to their spelling. A table that is called as one of these anywhere in
/// the statement is named with its schema, so that a name alone means the common table expression.
pub(super) async fn rewrite(
    catalog: &HaliteCatalog,
    statement: &mut Statement,
) -> Result<FoundTables> {
    let mut collected = Collect::default();
    if let ControlFlow::Break(error) = Visit::visit(statement, &mut collected) {
        return Err(error);
    }
    let mut found = FoundTables { ctes: collected.ctes, ..FoundTables::default() };
    for name in collected.relations {
        let key = name.to_string();
        if found.paths.contains_key(&key) {
            continue;
        }
        let path = resolve(catalog, &idents(&name)?).await?;
        if path.schema == INFORMATION_SCHEMA {
            catalog.list().await?;
        }
        describe(catalog, &path, &mut found).await?;
        found.paths.insert(key, path);
    }
    for name in collected.cells {
        let Some(path) = found.paths.get(&name.to_string()) else { continue };
        let table = TableName::new(path.schema.as_str(), path.table.as_str())?;
        if let Some(descriptor) = catalog.descriptor(&table).await? {
            let key = renamed(&name, path, &found.ctes).to_string();
            let table = HaliteTable::open(catalog, &descriptor).await?;
            let parts = table.cells().schema();
            let names = parts.fields().iter().map(|field| field.name());
            found.columns.extend(names.filter(|name| !name.starts_with('_')).cloned());
            found.cells.insert(key, table);
        }
    }
    let mut rename = Rename { paths: &found.paths, ctes: &found.ctes, scope: Scope::default() };
    match VisitMut::visit(statement, &mut rename) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(found),
    }
}

/// Adds the columns of a table to what is found.
async fn describe(
    catalog: &HaliteCatalog,
    path: &TablePath,
    found: &mut FoundTables,
) -> Result<()> {
    let mut add = |schema: datafusion::arrow::datatypes::SchemaRef| {
        found.columns.extend(schema.fields().iter().map(|field| field.name().clone()));
    };
    if let Some(table) = catalog.registered(&path.schema, &path.table) {
        add(table.schema());
        return Ok(());
    }
    let Ok(name) = TableName::new(path.schema.as_str(), path.table.as_str()) else {
        return Ok(());
    };
    if path.schema == SYSTEM_SCHEMA || path.schema == INFORMATION_SCHEMA {
        return Ok(());
    }
    if let Some(descriptor) = catalog.descriptor(&name).await? {
        let table = HaliteTable::new(catalog, &descriptor)?;
        add(table.schema());
        found.shapes.insert(path.clone(), Arc::clone(&table.shape));
    }
    Ok(())
}

/// Returns the table that a name of one to three parts means.
///
/// # Errors
/// `UndefinedTable` with the nearest name, `Ambiguous`.
pub(crate) async fn resolve(catalog: &HaliteCatalog, parts: &[Ident]) -> Result<TablePath> {
    let (schema, table) = match parts {
        [table] => (None, table),
        [schema, table] => (Some(schema), table),
        [first, schema, table] if first.value.eq_ignore_ascii_case(CATALOG) => {
            (Some(schema), table)
        }
        _ => {
            let name: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
            return Err(missing_table(&name.join("."), parts, None));
        }
    };
    if let Some(table) = catalog.local_name(parts)? {
        return Ok(TablePath { schema: PG_TEMP.to_owned(), table });
    }
    let schema_name = schema.map_or(DEFAULT, |schema| schema.value.as_str());
    let is_schema = |name: &str| schema_name.eq_ignore_ascii_case(name);
    // A namespace that is called so has no names here.
    if is_schema(PG_TEMP) {
        return Err(missing_table(&table.value, parts, None));
    }
    if is_schema(INFORMATION_SCHEMA) {
        let table = table.value.to_ascii_lowercase();
        return Ok(TablePath { schema: INFORMATION_SCHEMA.to_owned(), table });
    }
    if is_schema(SYSTEM_SCHEMA) {
        return match by_case(&table.value, SYSTEM_TABLES.into_iter())? {
            Some(name) => {
                Ok(TablePath { schema: SYSTEM_SCHEMA.to_owned(), table: name.to_owned() })
            }
            None => Err(missing_table(&table.value, parts, Some(SYSTEM_TABLES.join(", ")))),
        };
    }
    if let Some(path) = of_pg_catalog(catalog, schema, table) {
        return Ok(path);
    }
    let schema_name = if is_schema(PUBLIC) { DEFAULT } else { namespace_of(schema_name) };
    let exact = TablePath { schema: schema_name.to_owned(), table: table.value.clone() };
    if catalog.registered(&exact.schema, &exact.table).is_some() {
        return Ok(exact);
    }
    if let Ok(name) = TableName::new(schema_name, table.value.as_str())
        && catalog.descriptor(&name).await?.is_some()
    {
        return Ok(exact);
    }
    let may_fold = |part: &Ident| part.quote_style.is_none();
    let names = catalog.list().await?;
    let namespaces = || names.namespaces.iter().map(String::as_str);
    let namespace = match schema {
        Some(schema) if may_fold(schema) => by_case(schema_name, namespaces())?,
        _ => namespaces().find(|known| *known == schema_name),
    };
    let Some(namespace) = namespace else {
        let near = closest_match(schema_name, namespaces());
        return Err(missing_table(&table.value, parts, near.map(ToOwned::to_owned)));
    };
    let of_namespace = || {
        let tables = names.tables.iter().filter(|name| name.namespace() == namespace);
        tables.map(TableName::qualifier)
    };
    let known = if may_fold(table) {
        by_case(&table.value, of_namespace())?
    } else {
        of_namespace().find(|known| *known == table.value)
    };
    if let Some(known) = known {
        return Ok(TablePath { schema: namespace.to_owned(), table: known.to_owned() });
    }
    let near = closest_match(&table.value, of_namespace()).map(ToOwned::to_owned);
    Err(missing_table(&table.value, parts, near))
}

/// Returns a table of `pg_catalog`, which is also looked for where no schema is named.
fn of_pg_catalog(
    catalog: &HaliteCatalog,
    schema: Option<&Ident>,
    table: &Ident,
) -> Option<TablePath> {
    if schema.is_some_and(|schema| !schema.value.eq_ignore_ascii_case(PG_CATALOG)) {
        return None;
    }
    let name = match table.quote_style {
        None => table.value.to_ascii_lowercase(),
        Some(_) => table.value.clone(),
    };
    catalog.registered(PG_CATALOG, &name)?;
    Some(TablePath { schema: PG_CATALOG.to_owned(), table: name })
}

fn missing_table(name: &str, parts: &[Ident], near: Option<String>) -> SqlError {
    let near = near.map_or_else(
        || "SHOW TABLES lists the tables".to_owned(),
        |near| format!("did you mean {near}?"),
    );
    let error =
        SqlError::new(SqlState::UndefinedTable, format!("there is no table {name}; {near}"));
    match parts.first() {
        Some(first) => error.at(first.span.start.line, first.span.start.column),
        None => error,
    }
}

/// Returns the parts of a name.
pub(super) fn idents(name: &ObjectName) -> Result<Vec<Ident>> {
    let parts = name.0.iter().map(|part| part.as_ident().cloned());
    parts
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| SqlError::unsupported(format!("{name} is no name of a table")))
}

/// Names of tables and of common table expressions.
#[derive(Default)]
struct Collect {
    scope: Scope,
    /// Tables of the catalog.
    relations: Vec<ObjectName>,
    /// Those of `cells(t)`.
    cells: Vec<ObjectName>,
    ctes: Vec<String>,
}

impl Collect {
    fn add(&mut self, factor: &TableFactor) -> Result<()> {
        let TableFactor::Table { name, args, .. } = factor else { return Ok(()) };
        // With arguments it is a function.
        let of_cells = args.as_ref().and_then(|args| cells_argument(name, args));
        let read = of_cells.clone().or_else(|| args.is_none().then(|| name.clone()));
        if let Some(read) = read
            && self.scope.cte(&read)?.is_none()
        {
            self.relations.push(read);
            self.cells.extend(of_cells);
        }
        Ok(())
    }
}

impl Visitor for Collect {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.ctes.extend(tables.map(|cte| cte.alias.name.value.clone()));
        flow(self.scope.enter(query))
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<SqlError> {
        self.scope.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<SqlError> {
        flow(self.add(factor))
    }
}

/// Sets the names that the catalog has, and those of common table expressions.
struct Rename<'p> {
    paths: &'p BTreeMap<String, TablePath>,
    ctes: &'p [String],
    scope: Scope,
}

impl Rename<'_> {
    /// Renames what a name of FROM means. Returns the name that its rows keep if they had that of
    /// the table.
    fn rename(&self, name: &mut ObjectName) -> Result<Option<Ident>> {
        if let Some(cte) = self.scope.cte(name)? {
            if let Some(ObjectNamePart::Identifier(ident)) = name.0.first_mut() {
                cte.clone_into(&mut ident.value);
            }
            return Ok(None);
        }
        let Some(path) = self.paths.get(&name.to_string()) else { return Ok(None) };
        let new = renamed(name, path, self.ctes);
        let is_qualified = name.0.len() == 1 && new.0.len() == 2 && path.schema != PG_CATALOG;
        *name = new;
        Ok(is_qualified.then(|| Ident::with_quote('"', &path.table)))
    }

    fn rename_factor(&self, factor: &mut TableFactor) -> Result<()> {
        let TableFactor::Table { name, alias, args, .. } = factor else { return Ok(()) };
        if let Some(args) = args {
            if let Some(mut table) = cells_argument(name, args) {
                self.rename(&mut table)?;
                set_argument(args, &table);
            }
            return Ok(());
        }
        if let Some(kept) = self.rename(name)?
            && alias.is_none()
        {
            *alias = Some(TableAlias { explicit: true, name: kept, columns: Vec::new(), at: None });
        }
        Ok(())
    }
}

/// Returns the name of a table as the catalog spells it. Columns are qualified by as much of it as
/// the statement gives.
fn renamed(name: &ObjectName, path: &TablePath, ctes: &[String]) -> ObjectName {
    let part = |text: &str| ObjectNamePart::Identifier(Ident::with_quote('"', text));
    let is_cte = || ctes.iter().any(|cte| cte.to_lowercase() == path.table.to_lowercase());
    ObjectName(match name.0.len() {
        1 if ![PG_CATALOG, PG_TEMP].contains(&&*path.schema) && !is_cte() => {
            vec![part(&path.table)]
        }
        _ => vec![part(&path.schema), part(&path.table)],
    })
}

pub(super) fn flow(result: Result<()>) -> ControlFlow<SqlError> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}

impl VisitorMut for Rename<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        flow(self.scope.enter(query))
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.scope.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        flow(self.rename_factor(factor))
    }
}
