//! Temporary tables and views: statements about them, and CREATE TABLE .. AS.

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{ArrayRef, RecordBatch, new_null_array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::execute_stream;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};
use halite_rowkey::language::{Statement, TableDeclaration, statements};
use halite_types::{TableDescriptor, TableName};

use super::answer::{Answer, within};
use super::context::SqlContext;
use super::interrupt::Running;
use super::planner::Way;
use super::settings::Direct;
use super::statement::StatementContext;
use crate::catalog::ddl::described;
use crate::catalog::local::{Object, PG_TEMP, TempTable, View};
use crate::catalog::shape::{Source, TableShape};
use crate::error::{Result, SqlError, SqlState};
use crate::names::{by_case, query_of_view, with_plain_names};
use crate::parse::{CreateAs, Found, Local, TempRows, byte_at, of_local};
use crate::write::{WritePlan, bytes_of_batch};

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
                        let table = TempTable::new(schema, self.memory());
                        let table = Object::Table(Arc::new(table));
                        self.catalog.local.add(name, table, false)?;
                        "CREATE TABLE".to_owned()
                    }
                    TempRows::Query { columns, query } => {
                        self.check_free(name)?;
                        let run = self.rows_of(query, values, &statement);
                        let (schema, rows, memory) = within(deadline, run).await??;
                        let schema = named_columns(&schema, &columns)?;
                        let count = count(&rows);
                        let table = TempTable::new(Arc::clone(&schema), self.memory());
                        table.add(with_schema(rows, &schema)?, &memory);
                        let table = Object::Table(Arc::new(table));
                        self.catalog.local.add(name, table, false)?;
                        format!("SELECT {count}")
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

    fn memory(&self) -> MemoryReservation {
        let runtime = self.session.runtime_env();
        MemoryConsumer::new("temporary table").register(&runtime.memory_pool)
    }

    /// Runs a query and keeps its rows.
    async fn rows_of(
        &self,
        query: Vec<TokenWithSpan>,
        values: Vec<ScalarValue>,
        statement: &Arc<StatementContext>,
    ) -> Result<(SchemaRef, Vec<RecordBatch>, MemoryReservation)> {
        let way = self.planned(query, values, statement, Direct::Off).await?;
        let Way::Planned(planned) = way else {
            let text = "a query of rows to keep has a plan; please report it";
            return Err(SqlError::new(SqlState::Internal, text));
        };
        let rows = execute_stream(planned.physical, planned.context)?;
        let schema = with_plain_names(&rows.schema());
        let mut running = Running::new(rows, Arc::clone(statement));
        let (memory, mut kept) = (self.memory(), Vec::new());
        while let Some(batch) = running.next().await? {
            let bytes = bytes_of_batch(&batch);
            self.catalog.local.check_room(memory.size().saturating_add(bytes))?;
            memory.try_grow(bytes)?;
            if batch.num_rows() > 0 {
                kept.push(batch);
            }
        }
        Ok((schema, kept, memory))
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
        let (schema, rows, memory) = self.rows_of(query, values, statement).await?;
        let given = schema.fields().len();
        let places = places(&table.schema, columns, given)?;
        let assigned = rows.iter().map(|batch| assigned(&table.schema, &places, batch));
        let assigned: Vec<RecordBatch> = assigned.collect::<Result<_>>()?;
        let rows = count(&assigned);
        table.add(assigned, &memory);
        Ok(rows)
    }

    /// Checks a view, and returns it with its name.
    async fn view(
        &self,
        name: &Ident,
        columns: Vec<Ident>,
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
        let query = query_of_view(&self.catalog, query).await?;
        Ok((new, View { query, columns, schema }))
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

fn count(rows: &[RecordBatch]) -> usize {
    rows.iter().map(RecordBatch::num_rows).sum()
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

fn with_schema(rows: Vec<RecordBatch>, schema: &SchemaRef) -> Result<Vec<RecordBatch>> {
    let renamed = |batch: RecordBatch| {
        RecordBatch::try_new(Arc::clone(schema), batch.columns().to_vec())
            .map_err(|error| DataFusionError::from(error).into())
    };
    rows.into_iter().map(renamed).collect()
}

/// Returns for each column of a table the position among those that are given.
fn places(schema: &SchemaRef, columns: &[Ident], given: usize) -> Result<Vec<Option<usize>>> {
    let all = schema.fields().len();
    let mut places = vec![None; all];
    let count_error = |columns: usize| {
        let text = format!("{given} value(s) are given for {columns} column(s)");
        SqlError::new(SqlState::Syntax, text)
    };
    if columns.is_empty() {
        if given > all {
            return Err(count_error(all));
        }
        places.iter_mut().take(given).zip(0..).for_each(|(place, at)| *place = Some(at));
        return Ok(places);
    }
    if columns.len() != given {
        return Err(count_error(columns.len()));
    }
    for (at, column) in columns.iter().enumerate() {
        let mut names = schema.fields().iter().map(|field| field.name().as_str());
        let placed = |error: SqlError| error.at(column.span.start.line, column.span.start.column);
        let found = match column.quote_style {
            Some(_) => names.find(|name| *name == column.value),
            None => by_case(&column.value, names).map_err(placed)?,
        };
        let Some(found) = found.and_then(|name| schema.index_of(name).ok()) else {
            let text = format!("the temporary table has no column {}", column.value);
            return Err(placed(SqlError::new(SqlState::UndefinedColumn, text)));
        };
        places[found] = Some(at);
    }
    Ok(places)
}

/// Returns rows as those of a table.
fn assigned(
    schema: &SchemaRef,
    places: &[Option<usize>],
    batch: &RecordBatch,
) -> Result<RecordBatch> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let column = |(field, place): (&FieldRef, &Option<usize>)| -> Result<ArrayRef> {
        let array = match place {
            Some(at) => cast_with_options(batch.column(*at), field.data_type(), &options).map_err(
                |error| {
                    let text = format!("column {}: {error}", field.name());
                    SqlError::new(SqlState::WrongType, text)
                },
            )?,
            None => new_null_array(field.data_type(), batch.num_rows()),
        };
        if !field.is_nullable() && array.null_count() > 0 {
            let text = format!("column {} is NOT NULL, and a row has no value", field.name());
            return Err(SqlError::new(SqlState::NotNull, text));
        }
        Ok(array)
    };
    let columns = schema.fields().iter().zip(places).map(column).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
        .map_err(|error| DataFusionError::from(error).into())
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
