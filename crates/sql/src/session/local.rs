//! Temporary tables and views: statements about them, and CREATE TABLE .. AS.

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::execute_stream;
use datafusion::sql::sqlparser::ast::{self, Ident};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use halite_rowkey::language::{Statement, TableDeclaration, statements};
use halite_types::{TableDescriptor, TableName};

use super::answer::{Answer, within};
use super::context::SqlContext;
use super::interrupt::Running;
use super::kept_rows::{KeptRows, places};
use super::large_stack::on_large_stack;
use super::planner::Way;
use super::settings::Direct;
use super::statement::StatementContext;
use crate::catalog::ddl::described;
use crate::catalog::local::{Object, PG_TEMP, TempTable, TextSize, View};
use crate::catalog::shape::{Source, TableShape};
use crate::error::{Result, SqlError, SqlState};
use crate::names::{by_case, query_of_view, with_plain_names};
use crate::parse::{CreateAs, Found, Local, TempRows, byte_at, of_local};
use crate::scan::full_scan::check_plan;
use crate::write::WritePlan;

/// Columns of a table, and the place of each among those of a query.
type Assignment = (SchemaRef, Vec<Option<usize>>);

/// What memory is held for.
const TABLE: &str = "temporary table";
/// Key that a declaration of columns alone gets, to be read by the row-key language.
const NO_KEY: &str = "halite_no_key";

impl SqlContext {
    /// Returns a statement about a temporary table or view that is named as if it were a table of
    /// the cluster.
    pub(super) fn local_statement(&self, tokens: &[TokenWithSpan]) -> Result<Option<Local>> {
        if self.catalog.local.is_empty() {
            return Ok(None);
        }
        of_local(tokens, |name| {
            let name = self.catalog.local_name(std::slice::from_ref(name)).ok().flatten()?;
            let is_view = matches!(self.catalog.local.get(&name)?, Object::View(_));
            Some(Found { name, is_view })
        })
    }

    /// Runs a statement about tables and views of the session.
    pub(super) async fn run_local(
        &self,
        local: Local,
        text: &str,
        values: Vec<ScalarValue>,
        statement: Arc<StatementContext>,
        deadline: Option<Instant>,
    ) -> Result<Answer> {
        let tag = match local {
            Local::CreateTable { name, if_not_exists, rows } => {
                let name = &self.new_name(&name)?;
                if if_not_exists && self.catalog.local.get(name).is_some() {
                    statement.notice(format!("{name} exists already in this session"));
                    return Ok(Answer::command("CREATE TABLE", statement));
                }
                match rows {
                    TempRows::Declared { temp, end } => {
                        let schema = declared_columns(text, name, temp, end)?;
                        let table = TempTable::new(schema, self.memory(TABLE));
                        let table = Object::Table(Arc::new(table));
                        self.catalog.local.add(name, table, false)?;
                        "CREATE TABLE".to_owned()
                    }
                    TempRows::Query { columns, query } => {
                        self.check_free(name)?;
                        let as_named = |given: &SchemaRef| -> Result<Assignment> {
                            let schema = named_columns(given, &columns)?;
                            let places = (0..schema.fields().len()).map(Some).collect();
                            Ok((schema, places))
                        };
                        let run = self.rows_of(query, values, &statement, as_named);
                        let kept = within(deadline, run).await??;
                        let table = TempTable::new(Arc::clone(&kept.schema), self.memory(TABLE));
                        let rows = kept.add_to(&table);
                        let table = Object::Table(Arc::new(table));
                        self.catalog.local.add(name, table, false)?;
                        format!("SELECT {rows}")
                    }
                }
            }
            Local::CreateView { name, replaces, columns, query } => {
                let view = self.view(&name, columns, query, replaces);
                let (name, view) = within(deadline, view).await??;
                self.catalog.local.add(&name, Object::View(Arc::new(view)), replaces)?;
                "CREATE VIEW".to_owned()
            }
            Local::DropView { names, if_exists } => {
                for name in &names {
                    self.drop_view(name, if_exists, &statement)?;
                }
                "DROP VIEW".to_owned()
            }
            Local::DropTable(names) => {
                for name in &names {
                    self.catalog.local.remove(&name.value);
                }
                "DROP TABLE".to_owned()
            }
            Local::Truncate(name) => {
                self.temp_table(&name)?.clear();
                "TRUNCATE TABLE".to_owned()
            }
            Local::Insert { name, columns, query } => {
                let run = self.insert_local(&name, &columns, query, values, &statement);
                format!("INSERT 0 {}", within(deadline, run).await??)
            }
            Local::Discard { views } => {
                self.discard_tables(views);
                if views {
                    self.reset_settings()?;
                    "DISCARD ALL".to_owned()
                } else {
                    "DISCARD TEMP".to_owned()
                }
            }
        };
        Ok(Answer::command(tag, statement))
    }

    /// Removes the temporary tables of the session, and its views too if `views` says so.
    pub fn discard_tables(&self, views: bool) {
        self.catalog.local.discard(views);
    }

    /// Returns the temporary tables and the views of the session.
    pub fn session_tables(&self) -> Vec<crate::TableInfo> {
        self.catalog.local.list()
    }

    /// Returns the name of a table or view to create.
    fn new_name(&self, name: &Ident) -> Result<String> {
        let at = name.span.start;
        let wrong = |error: halite_types::Error| {
            SqlError::new(SqlState::InvalidParameter, error.to_string()).at(at.line, at.column)
        };
        TableName::new(PG_TEMP, name.value.as_str()).map_err(wrong)?;
        Ok(name.value.clone())
    }

    fn check_free(&self, name: &str) -> Result<()> {
        match self.catalog.local.get(name) {
            None => Ok(()),
            Some(old) => {
                let text = format!("{} {name} exists already in this session", old.what());
                Err(SqlError::new(SqlState::DuplicateTable, text))
            }
        }
    }

    fn temp_table(&self, name: &Ident) -> Result<Arc<TempTable>> {
        match self.catalog.local.get(&name.value) {
            Some(Object::Table(table)) => Ok(table),
            _ => {
                let text = format!("there is no temporary table {}", name.value);
                let error = SqlError::new(SqlState::UndefinedTable, text);
                Err(error.at(name.span.start.line, name.span.start.column))
            }
        }
    }

    fn memory(&self, of: &str) -> MemoryReservation {
        let runtime = self.session.runtime_env();
        MemoryConsumer::new(of).register(&runtime.memory_pool)
    }

    /// Runs a query and keeps its rows as those of a table: `table` returns its columns, and the
    /// place of each among the columns of the query.
    async fn rows_of(
        &self,
        query: Vec<TokenWithSpan>,
        values: Vec<ScalarValue>,
        statement: &Arc<StatementContext>,
        table: impl FnOnce(&SchemaRef) -> Result<Assignment>,
    ) -> Result<KeptRows<'_>> {
        let way = self.planned(query, values, statement, Direct::Off).await?;
        let Way::Planned(planned) = way else {
            let text = "a query of rows to keep has a plan; please report it";
            return Err(SqlError::new(SqlState::Internal, text));
        };
        check_plan(planned.physical.as_ref(), statement)?;
        let rows = execute_stream(planned.physical, planned.context)?;
        let (schema, places) = table(&with_plain_names(&rows.schema()))?;
        let mut running = Running::new(rows, Arc::clone(statement));
        let mut kept = KeptRows::new(&self.catalog.local, self.memory(TABLE), schema, places);
        while let Some(batch) = running.next().await? {
            kept.push(&batch)?;
        }
        Ok(kept)
    }

    /// Adds rows of a query to a temporary table, all or none.
    async fn insert_local(
        &self,
        name: &Ident,
        columns: &[Ident],
        query: Vec<TokenWithSpan>,
        values: Vec<ScalarValue>,
        statement: &Arc<StatementContext>,
    ) -> Result<usize> {
        let table = self.temp_table(name)?;
        let as_table = |given: &SchemaRef| -> Result<Assignment> {
            let places = places(&table.schema, columns, given.fields().len())?;
            Ok((Arc::clone(&table.schema), places))
        };
        let kept = self.rows_of(query, values, statement, as_table).await?;
        Ok(kept.add_to(&table))
    }

    /// Checks a view, and returns it with its name.
    async fn view(
        &self,
        name: &Ident,
        mut columns: Vec<Ident>,
        query: Vec<TokenWithSpan>,
        replaces: bool,
    ) -> Result<(String, View)> {
        let new = self.new_name(name)?;
        if !replaces {
            self.check_free(&new)?;
        }
        let shape = self.query_shape(query.clone(), &[]).await?;
        if let Some(parameter) = shape.parameters.first() {
            let text = format!("a view has no parameters, such as {}", parameter.name());
            return Err(SqlError::new(SqlState::UndefinedParameter, text));
        }
        let schema = named_columns(&shape.schema, &columns)?;
        if !columns.is_empty() {
            // Those behind the named ones have the names of the query.
            let others = schema.fields().iter().skip(columns.len());
            columns.extend(others.map(|field| Ident::with_quote('"', field.name())));
        }
        let size = TextSize::of(&query);
        self.catalog.local.check_room(size.kept_bytes())?;
        let memory = self.memory("view");
        memory.try_grow(size.kept_bytes())?;
        let (catalog, rewrite) = (Arc::clone(&self.catalog), self.rewrite.clone());
        let query = on_large_stack(move |handle| {
            let rewrite = |statement: &mut ast::Statement| match rewrite {
                Some(change) => change(statement),
                None => Ok(()),
            };
            handle.block_on(query_of_view(&catalog, query, rewrite))
        });
        let query = query.await??;
        Ok((new, View { query, columns, schema, size, memory }))
    }

    fn drop_view(&self, name: &Ident, if_exists: bool, statement: &StatementContext) -> Result<()> {
        let at = name.span.start;
        let found = self.catalog.local_name(std::slice::from_ref(name))?;
        let object = found.as_deref().and_then(|found| self.catalog.local.get(found));
        match (found, object) {
            (Some(found), Some(Object::View(_))) => {
                self.catalog.local.remove(&found);
                Ok(())
            }
            (_, Some(Object::Table(_))) => {
                let text = format!("{} is a temporary table: DROP TABLE drops it", name.value);
                Err(SqlError::new(SqlState::WrongObject, text).at(at.line, at.column))
            }
            _ if if_exists => {
                statement.notice(format!("view {} does not exist", name.value));
                Ok(())
            }
            _ => {
                let text = format!("this session has no view {}", name.value);
                Err(SqlError::new(SqlState::UndefinedTable, text).at(at.line, at.column))
            }
        }
    }

    /// Creates a table, and writes the rows of a query into it.
    pub(super) async fn create_as(
        &self,
        create: CreateAs,
        text: &str,
        values: Vec<ScalarValue>,
        statement: Arc<StatementContext>,
        deadline: Option<Instant>,
    ) -> Result<Answer> {
        let end = byte_at(text, create.at).unwrap_or(text.len());
        let declares = &text[..end];
        let declaration = declaration_of(declares)?;
        let name = declaration.descriptor.name().clone();
        // What is wrong with the query leaves no table.
        let shape = within(deadline, self.query_shape(create.query.clone(), &[])).await??;
        let columns = written_columns(&declaration, &shape.schema)?;
        let tokens = insert_tokens(&name, &columns, create.query);
        if self.catalog.descriptor(&name).await?.is_some() {
            if !declaration.if_not_exists {
                let text = format!("table {name} exists already");
                return Err(SqlError::new(SqlState::DuplicateTable, text));
            }
            statement.notice(format!("table {name} exists already, and no row is written"));
            return Ok(Answer::command("CREATE TABLE AS", statement));
        }
        let descriptor = described(&declaration)?;
        let check = WritePlan::check_declared(
            &self.session,
            &self.catalog,
            descriptor,
            (tokens.clone(), values.clone()),
            &statement,
        );
        within(deadline, Box::pin(check)).await??;
        let created = self.run_language(declares, Arc::clone(&statement));
        within(deadline, created).await??;
        self.block.add(1);
        let written = self.write(tokens, values, Arc::clone(&statement), deadline).await;
        let stays = |mut error: SqlError| {
            let stays = format!(
                "; table {name} was created and stays: DROP TABLE {name}, or write the rows by \
                 INSERT INTO {name} .. SELECT"
            );
            error.message.push_str(&stays);
            error
        };
        written.map_err(stays)?;
        let rows = statement.rows_written().certain;
        Ok(Answer::command(format!("SELECT {rows}"), statement))
    }
}

/// Returns the columns of a temporary table that declares them, as the row-key language reads them.
fn declared_columns(
    text: &str,
    name: &str,
    (from, to): (Location, Location),
    end: Location,
) -> Result<SchemaRef> {
    let at = |place: Location| byte_at(text, (place.line, place.column)).unwrap_or(text.len());
    // The word is replaced by as many blanks, so that places stay.
    let blanks = " ".repeat(at(to) - at(from));
    let declares = format!(
        "{}{blanks}{}, ROW KEY ({NO_KEY} BYTES))",
        &text[..at(from)],
        &text[at(to)..at(end)]
    );
    let declaration = declaration_of(&declares)?;
    if let Some(column) = declaration.columns.iter().find(|column| column.default.is_some()) {
        let text = format!(
            "DEFAULT of column {} of the temporary table {name}: a column that is not given is \
             NULL; give its value",
            column.name
        );
        return Err(SqlError::unsupported(text));
    }
    let shape = TableShape::of(&declaration.described(), false)?;
    let mut fields: Vec<FieldRef> = Vec::new();
    for column in &shape.columns {
        match &column.source {
            Source::Key(_) => {}
            Source::Cell { .. } if !column.is_counter() => {
                let nullable = column.cell.as_ref().is_none_or(|cell| !cell.not_null);
                fields.push(Arc::new(column.field.clone().with_nullable(nullable)));
            }
            _ => {
                let text = format!(
                    "column {} of the temporary table {name} is a COUNTER, MAP or SERIES, which \
                     are cells of HBase; declare a number, or a table with a ROW KEY",
                    column.name
                );
                return Err(SqlError::unsupported(text));
            }
        }
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// Reads a CREATE TABLE of the row-key language.
fn declaration_of(text: &str) -> Result<TableDeclaration> {
    let parsed = statements(text).map_err(|error| SqlError::of_language(&error, text))?;
    match <[Statement; 1]>::try_from(parsed) {
        Ok([Statement::CreateTable(declaration)]) => Ok(declaration),
        _ => Err(SqlError::new(SqlState::Syntax, "CREATE TABLE is expected in front of AS")),
    }
}

/// Returns a schema with other names, no two of them equal.
fn named_columns(schema: &SchemaRef, names: &[Ident]) -> Result<SchemaRef> {
    if names.len() > schema.fields().len() {
        let text = format!(
            "{} columns are named, and the query has {}",
            names.len(),
            schema.fields().len()
        );
        return Err(SqlError::new(SqlState::Syntax, text));
    }
    let mut fields: Vec<Field> = Vec::with_capacity(schema.fields().len());
    for (at, field) in schema.fields().iter().enumerate() {
        let name = names.get(at).map_or(field.name(), |name| &name.value);
        if fields.iter().any(|other| other.name() == name) {
            let text = format!("two columns are called {name}: name one of them by AS");
            return Err(SqlError::new(SqlState::Ambiguous, text));
        }
        fields.push(field.as_ref().clone().with_name(name).with_nullable(true));
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// Returns the columns of a new table that the columns of a query are written to, by their names.
fn written_columns(declaration: &TableDeclaration, query: &SchemaRef) -> Result<Vec<String>> {
    let descriptor: TableDescriptor = declaration.described();
    let shape = TableShape::of(&descriptor, false)?;
    let known = || shape.columns.iter().map(|column| column.name.as_str());
    let mut columns: Vec<String> = Vec::new();
    for field in query.fields() {
        let Some(found) = by_case(field.name(), known())? else {
            let names: Vec<&str> = known().collect();
            let text = format!(
                "the query has a column {}, and the table has none of that name: its columns are \
                 {}; name those of the query by AS",
                field.name(),
                names.join(", ")
            );
            return Err(SqlError::new(SqlState::UndefinedColumn, text));
        };
        if columns.iter().any(|column| column == found) {
            let text = format!("two columns of the query are called {found}");
            return Err(SqlError::new(SqlState::Ambiguous, text));
        }
        columns.push(found.to_owned());
    }
    Ok(columns)
}

/// Returns `INSERT INTO name (columns) query`.
fn insert_tokens(
    name: &TableName,
    columns: &[String],
    query: Vec<TokenWithSpan>,
) -> Vec<TokenWithSpan> {
    let name_of = |text: &str| Token::make_word(text, Some('"'));
    let mut tokens = vec![
        Token::make_keyword("INSERT"),
        Token::make_keyword("INTO"),
        name_of(name.namespace()),
        Token::Period,
        name_of(name.qualifier()),
        Token::LParen,
    ];
    for (at, column) in columns.iter().enumerate() {
        if at > 0 {
            tokens.push(Token::Comma);
        }
        tokens.push(name_of(column));
    }
    tokens.push(Token::RParen);
    let own = tokens.into_iter().map(TokenWithSpan::wrap);
    own.chain(query).collect()
}
