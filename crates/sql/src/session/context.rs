//! SQL on one cluster.

use std::sync::{Arc, PoisonError, RwLock};

use datafusion::arrow::array::{RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionContext;
use datafusion::sql::sqlparser::ast::Ident;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use halite_rowkey::language::{Statement, set_comment, statements};
use halite_rowkey::table_lint::TableLint;
use halite_types::{Cluster, TableDescriptor, TableName};

use super::access::Access;
use super::answer::{Answer, deadline, within};
use super::block::Block;
use super::left::{Left, WriteRun};
use super::lint_of;
use super::planner::{self, Rewrite, Way};
use super::progress::{Current, Progress};
use super::queries::{Query, QueryState, Who};
use super::query_shape::QueryShape;
use super::recent::Recent;
use super::resources::Resources;
use super::settings::{Direct, Settings};
use super::statement::{RowsWritten, StatementContext};
use crate::catalog::analyze::analyze;
use crate::catalog::listing::list_tables;
use crate::catalog::local::{Object, PG_TEMP};
use crate::catalog::table_info::TableInfo;
use crate::catalog::{DEFAULT, HaliteCatalog, PUBLIC, ddl, describe, lint, namespace_of};
use crate::error::{Result, SqlError, SqlState};
use crate::explain::{self, DataFusionPlans, ExplainedQuery, Part};
use crate::names::resolve;
use crate::parse::{
    Comment, Explain, ExplainFormat, Kind, TransactionStatement, kind_of, tokens_of,
};
use crate::scan::full_scan::check_plan;
use crate::write::{WritePlan, with_count};

/// SQL session on a cluster: an embedded store, a Halite server or an HBase cluster.
///
/// Its calls need a runtime of `tokio` with a timer. Expressions are evaluated by recursion: for
/// statements of hundreds of operators its threads need [`STACK_BYTES`](crate::STACK_BYTES). Statements that run at the same time share
/// the settings.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let store = halite::open(directory.path())?;
/// let sql = halite_sql::SqlContext::new(store.cluster().clone());
/// sql.run("CREATE TABLE readings (v DOUBLE, ROW KEY (device STRING, ts TIMESTAMP DESC))").await?;
/// let mut answer = sql.run("SELECT ts, v FROM readings WHERE device = 'd1' LIMIT 10").await?;
/// assert!(answer.batches().await?.is_empty());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok(())
/// # }
/// ```
pub struct SqlContext {
    pub(super) catalog: Arc<HaliteCatalog>,
    settings: Arc<RwLock<Settings>>,
    pub(super) session: SessionContext,
    pub(super) access: Access,
    pub(super) block: Block,
    pub(super) left: Left,
    pub(super) rewrite: Option<Arc<Rewrite>>,
    pub(super) recent: Recent,
    pub(super) current: Current,
    pub(super) who: Who,
}

impl SqlContext {
    /// Creates a session with default settings, whose sorts, groups and joins may hold 1 GiB before
    /// they spill to temporary files of the system, at most 10 GiB.
    pub fn new(cluster: Arc<dyn Cluster>) -> Self {
        Self::with_memory(cluster, Resources::default().memory_bytes)
    }

    /// Creates a session with default settings, whose sorts, groups and joins, with those of the
    /// sessions that [`Self::another`] creates, may hold `memory_bytes` before they spill to
    /// temporary files. Joins by hashing do not spill: one that needs more fails.
    pub fn with_memory(cluster: Arc<dyn Cluster>, memory_bytes: usize) -> Self {
        let resources = Resources { memory_bytes, ..Resources::default() };
        // A directory of the system is made when the first file is.
        Self::of_runtime(cluster, resources.runtime().ok())
    }

    /// Creates a session with default settings, whose statements share memory and temporary files
    /// with those of the sessions that [`Self::another`] creates.
    ///
    /// # Errors
    /// An error of the directory of the temporary files.
    pub fn with_resources(cluster: Arc<dyn Cluster>, resources: &Resources) -> Result<Self> {
        Ok(Self::of_runtime(cluster, Some(resources.runtime()?)))
    }

    fn of_runtime(cluster: Arc<dyn Cluster>, runtime: Option<Arc<RuntimeEnv>>) -> Self {
        let settings = Arc::new(RwLock::new(Settings::default()));
        let catalog = Arc::new(HaliteCatalog::new(cluster, Arc::clone(&settings)));
        let session = planner::session(&catalog, runtime);
        lint_of::register(&session, &catalog);
        Self {
            catalog,
            settings,
            session,
            access: Access::Admin,
            block: Block::default(),
            left: Left::default(),
            rewrite: None,
            recent: Recent::default(),
            current: Current::default(),
            who: Who::default(),
        }
    }

    /// Creates another session on the same cluster, as for another connection. It has settings and
    /// functions of its own, and shares the memory for statements and the tables that a program
    /// registered.
    #[must_use]
    pub fn another(&self) -> Self {
        let settings = Arc::new(RwLock::new(Settings::default()));
        let catalog = Arc::new(self.catalog.another(Arc::clone(&settings)));
        let session = planner::session(&catalog, Some(self.session.runtime_env()));
        lint_of::register(&session, &catalog);
        let (access, rewrite) = (self.access, self.rewrite.clone());
        let (block, recent) = (Block::default(), Recent::default());
        let who = self.who.clone();
        let (left, current) = (Left::default(), Current::default());
        Self { catalog, settings, session, access, block, left, rewrite, recent, current, who }
    }

    /// Restricts what the session may run; by default it may run everything.
    #[must_use]
    pub fn with_access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Names the session and its user in `halite.queries`: `session` is a number, as that of a
    /// process.
    #[must_use]
    pub fn with_name(mut self, session: u32, user: &str) -> Self {
        self.who = Who { session, user: Arc::from(user) };
        self
    }

    /// Gives this session, and those made from it, rules of lint: `halite.lint` shows what they find,
    /// and statements that declare tables tell it. `halite-rowkey-tools` has them.
    #[must_use]
    pub fn with_lint(self, rules: Arc<dyn TableLint>) -> Self {
        // Those that were given first stay.
        let _ = self.catalog.lint.set(rules);
        self
    }

    /// Changes each parsed query before its names are looked up, as a door does for the queries of
    /// its clients.
    #[must_use]
    pub fn with_rewrite(mut self, rewrite: Arc<Rewrite>) -> Self {
        self.rewrite = Some(rewrite);
        self
    }

    /// Returns the tables of the cluster with their columns.
    ///
    /// # Errors
    /// An error of the cluster. Tables whose declaration cannot be read are left out.
    pub async fn tables(&self) -> Result<Vec<TableInfo>> {
        list_tables(&self.catalog.cluster).await
    }

    /// Returns DataFusion's session with the tables of the cluster as catalog `halite`: files, tables
    /// and functions that a program registers there can be joined with them.
    ///
    /// ```
    /// # use halite_sql::datafusion::prelude::CsvReadOptions;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    /// # runtime.block_on(async {
    /// # let store = halite::open(directory.path())?;
    /// # let sql = halite_sql::SqlContext::new(store.cluster().clone());
    /// # sql.run("CREATE TABLE readings (v DOUBLE, ROW KEY (device STRING, at I64))").await?;
    /// # sql.run("UPSERT INTO readings (device, at, v) VALUES ('d1', 1, 1.5), ('d2', 1, 2)").await?;
    /// # let path = directory.path().join("places.csv");
    /// # std::fs::write(&path, "id,place\nd1,north\n")?;
    /// # let path = path.to_str().expect("a path");
    /// sql.session().register_csv("places", path, CsvReadOptions::new()).await?;
    /// let text = "SELECT p.place, r.v FROM places p JOIN readings r ON r.device = p.id";
    /// let rows = sql.run(text).await?.batches().await?;
    /// assert_eq!(rows.iter().map(|batch| batch.num_rows()).sum::<usize>(), 1);
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn session(&self) -> &SessionContext {
        &self.session
    }

    /// Returns the settings.
    pub fn settings(&self) -> Settings {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the settings.
    ///
    /// # Errors
    /// That of the change, which must leave them as they were then.
    pub fn change(&self, change: impl FnOnce(&mut Settings) -> Result<()>) -> Result<()> {
        change(&mut self.settings.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins or ends a block by hand, as a door does that reads BEGIN and COMMIT by itself.
    /// Between them, statements that change something are refused, or final at once if the settings
    /// say so. Returns the changes since BEGIN, each a row or a table: there are no transactions,
    /// so they stay.
    pub fn change_block(&self, change: TransactionStatement) -> u64 {
        let changes = self.block.changes();
        self.block.change(change);
        changes
    }

    /// Returns the changes since BEGIN, each a row or a table.
    pub fn changes(&self) -> u64 {
        self.block.changes()
    }

    /// Refuses statements that change something, or permits them again: outside of blocks, or in
    /// the one that is open.
    pub fn set_read_only(&self, is_read_only: bool) {
        self.block.set_read_only(is_read_only);
    }

    /// Returns `true` if statements that change something are refused.
    pub fn is_read_only(&self) -> bool {
        self.block.is_read_only()
    }

    /// Returns what the statement that the session began last has done so far; `None` once it and
    /// its answer are gone.
    pub fn progress(&self) -> Option<Progress> {
        self.current.progress()
    }

    /// Runs one statement. Rows are read as the answer is.
    ///
    /// # Errors
    /// What is wrong with the statement, with its place in the text.
    pub async fn run(&self, text: &str) -> Result<Answer> {
        self.run_with(text, Vec::new()).await
    }

    pub(super) async fn run_with(&self, text: &str, values: Vec<ScalarValue>) -> Result<Answer> {
        let statement = Arc::new(StatementContext::new(self.settings()));
        let query = self.begin(text, &statement);
        match Box::pin(self.run_statement(text, values, statement)).await {
            Ok(answer) => Ok(answer.with_query(query)),
            Err(error) => {
                query.end(QueryState::Failed(error.state));
                Err(error)
            }
        }
    }

    /// Begins a statement, in the list of those that run.
    pub(super) fn begin(&self, text: &str, statement: &Arc<StatementContext>) -> Query {
        self.left.set(RowsWritten::default());
        self.current.set(statement);
        self.catalog.queries.begin(&self.who, text, statement)
    }

    async fn run_statement(
        &self,
        text: &str,
        values: Vec<ScalarValue>,
        statement: Arc<StatementContext>,
    ) -> Result<Answer> {
        let deadline = deadline(statement.settings.statement_timeout);
        let tokens = tokens_of(text)?;
        let kind = match self.local_statement(&tokens)? {
            Some(local) => Kind::Local(local),
            None => kind_of(tokens)?,
        };
        self.access.check(&kind, text)?;
        let is_change = kind.is_change(text);
        if is_change {
            self.block.check(statement.settings.transactions)?;
        }
        match kind {
            Kind::Nothing => Ok(Answer::command("", statement)),
            Kind::Language => {
                let answer = within(deadline, self.run_language(text, statement)).await??;
                self.block.add(u64::from(is_change));
                Ok(answer)
            }
            Kind::ShowTables(schema) => {
                let namespace = schema.as_deref().map(namespace_of);
                let tables = describe::show_tables(&self.catalog, namespace).await?;
                Ok(Answer::known(tables, statement))
            }
            Kind::Describe(name) => {
                if let Some(object) = self.local_object(&name)? {
                    return Ok(Answer::known(describe::describe_local(&object)?, statement));
                }
                let descriptor = self.named(&name).await?;
                Ok(Answer::known(describe::describe(&descriptor)?, statement))
            }
            Kind::Analyze(name) => {
                let run = async {
                    let descriptor = self.named(&name).await?;
                    analyze(&self.catalog, &descriptor, &statement).await
                };
                within(deadline, run).await??;
                self.block.add(1);
                Ok(Answer::command("ANALYZE", statement))
            }
            Kind::Show(name) => Ok(Answer::known(self.shown(name.as_deref())?, statement)),
            Kind::Set { name, value } => {
                self.change(|settings| settings.set(&name, &value))?;
                Ok(Answer::command("SET", statement))
            }
            Kind::Reset(name) => {
                self.change(|settings| settings.reset(&name))?;
                Ok(Answer::command("RESET", statement))
            }
            Kind::Transaction(change) => {
                self.block.change(change).into_iter().for_each(|text| statement.notice(text));
                Ok(Answer::command(change.tag(), statement))
            }
            Kind::Write(tokens) => self.write(tokens, values, statement, deadline).await,
            Kind::Comment(comment) => {
                within(deadline, self.comment(&comment)).await??;
                self.block.add(1);
                Ok(Answer::command("COMMENT", statement))
            }
            Kind::CreateAs(create) => {
                self.create_as(create, text, values, statement, deadline).await
            }
            Kind::Local(local) => self.run_local(local, text, values, statement, deadline).await,
            Kind::Query(tokens) => {
                let way = self.planned(tokens, values, &statement, statement.settings.direct);
                match within(deadline, way).await?? {
                    Way::Direct(bound) => {
                        let rows = bound.open(&statement)?;
                        Ok(Answer::direct(rows, statement, deadline))
                    }
                    Way::Planned(planned) => {
                        check_plan(planned.physical.as_ref(), &statement)?;
                        let rows = execute_stream(planned.physical, planned.context)?;
                        Ok(Answer::stream(rows, statement, deadline))
                    }
                }
            }
            Kind::Explain(explain) => {
                let run = explain.is_write().then(|| WriteRun::new(self, &statement));
                let format = explain.options.format;
                let explained = self.explained(explain, values, &statement);
                let explained = within(deadline, Box::pin(explained)).await;
                run.into_iter().for_each(WriteRun::end);
                let text = explained.map_err(|timeout| with_count(timeout, &statement))??;
                let rows = match format {
                    ExplainFormat::Text => describe::lines("plan", &text)?,
                    ExplainFormat::Json => describe::one_text("plan", &text)?,
                };
                Ok(Answer::known(rows, statement))
            }
        }
    }

    pub(super) async fn planned(
        &self,
        tokens: Vec<TokenWithSpan>,
        values: Vec<ScalarValue>,
        statement: &Arc<StatementContext>,
        direct: Direct,
    ) -> Result<Way> {
        let query = planner::Query { tokens, values, rewrite: self.rewrite.clone() };
        planner::plan(&self.session, &self.catalog, query, Arc::clone(statement), direct).await
    }

    pub(super) async fn query_shape(
        &self,
        tokens: Vec<TokenWithSpan>,
        types: &[Option<DataType>],
    ) -> Result<QueryShape> {
        let query = planner::Query { tokens, values: Vec::new(), rewrite: self.rewrite.clone() };
        planner::shape(&self.session, &self.catalog, query, types.to_vec()).await
    }

    async fn explained(
        &self,
        explain: Explain,
        values: Vec<ScalarValue>,
        statement: &Arc<StatementContext>,
    ) -> Result<String> {
        let Explain { options, writes, of } = explain;
        if writes {
            let plan = WritePlan::prepare(&self.session, &self.catalog, of).await?;
            let explained = plan.explain(values, statement, options.analyze).await?;
            return Ok(match options.format {
                ExplainFormat::Text => explained.text(),
                ExplainFormat::Json => explained.json().to_string(),
            });
        }
        let as_run = statement.settings.direct;
        let is_direct = as_run == Direct::On
            && matches!(
                self.planned(of.clone(), values.clone(), statement, as_run).await?,
                Way::Direct(_)
            );
        let way = self.planned(of, values, statement, Direct::Off).await?;
        let Way::Planned(planned) = way else {
            return Err(SqlError::new(
                SqlState::Internal,
                "EXPLAIN is of a plan; please report it",
            ));
        };
        let ran = if options.analyze {
            check_plan(planned.physical.as_ref(), statement)?;
            Some(explain::run(&planned.physical, &planned.context).await?)
        } else {
            None
        };
        let physical = planned.physical.as_ref();
        let plans = options.verbose.then(|| DataFusionPlans::of(planned.logical, physical));
        let plan = Part::of(physical, ran.is_some());
        let explained = ExplainedQuery { plan, is_direct, ran, plans };
        Ok(match options.format {
            ExplainFormat::Text => explained.text(),
            ExplainFormat::Json => explained.json().to_string(),
        })
    }

    /// Runs a statement of the row-key language.
    pub(super) async fn run_language(
        &self,
        text: &str,
        statement: Arc<StatementContext>,
    ) -> Result<Answer> {
        let parsed = statements(text).map_err(|error| SqlError::of_language(&error, text))?;
        let mut parsed = parsed.into_iter();
        let (Some(mut one), None) = (parsed.next(), parsed.next()) else {
            return Err(SqlError::new(SqlState::Syntax, "one statement is expected here"));
        };
        if let Statement::Schema(schema) = &mut one
            && let Some(table) = schema.table_mut()
        {
            self.find(table).await?;
        }
        if let Statement::ShowCreateTable(name) = &one {
            let descriptor = self.descriptor(name).await?;
            return Ok(Answer::known(describe::show_create(&descriptor)?, statement));
        }
        let mut notices = Vec::new();
        let declared = ddl::declared_table(&one);
        let tag = ddl::run(&self.catalog, one, &mut notices).await?;
        if let (Some(table), Some(rules)) = (declared, self.catalog.lint.get()) {
            notices.extend(lint::notices(&self.catalog.cluster, rules, &table).await);
        }
        notices.into_iter().for_each(|notice| statement.notice(notice));
        Ok(Answer::command(tag, statement))
    }

    /// Replaces the name of a table by that of the table it means: `public` is `default`, and a name
    /// may differ by case.
    async fn find(&self, table: &mut TableName) -> Result<()> {
        if table.namespace().eq_ignore_ascii_case(PG_TEMP) {
            let text = format!("there is no table {}", table.qualifier());
            return Err(SqlError::new(SqlState::UndefinedTable, text));
        }
        if table.namespace() == PUBLIC {
            *table = TableName::new(DEFAULT, table.qualifier())?;
        }
        if let Ok(found) = self.descriptor(table).await {
            found.name().clone_into(table);
        }
        Ok(())
    }

    /// Sets or removes a comment.
    async fn comment(&self, comment: &Comment) -> Result<()> {
        let path = resolve(&self.catalog, &comment.table).await?;
        if path.schema == PG_TEMP {
            let text = "COMMENT ON a temporary table or view, which is gone with the session";
            return Err(SqlError::unsupported(text));
        }
        let name = TableName::new(path.schema, path.table)?;
        let table = self.catalog.cluster.table(&name);
        let mut descriptor = table.descriptor().await?.as_ref().clone();
        let column = match &comment.column {
            Some(column) => Some(describe::column_of(&descriptor, column)?),
            None => None,
        };
        set_comment(&mut descriptor, column.as_deref(), comment.text.as_deref())?;
        Ok(self.catalog.cluster.admin().alter_table(descriptor).await?)
    }

    /// Sets all settings to their defaults.
    pub(super) fn reset_settings(&self) -> Result<()> {
        self.change(|settings| {
            *settings = Settings::default();
            Ok(())
        })
    }

    /// Returns the temporary table or view that the tokens of a name mean.
    fn local_object(&self, tokens: &[TokenWithSpan]) -> Result<Option<Object>> {
        let found = self.catalog.local_name(&name_parts(tokens))?;
        Ok(found.and_then(|found| self.catalog.local.get(&found)))
    }

    /// Returns the table that the tokens of a name mean.
    async fn named(&self, tokens: &[TokenWithSpan]) -> Result<Arc<TableDescriptor>> {
        let parts = name_parts(tokens);
        if parts.is_empty() {
            return Err(SqlError::new(SqlState::Syntax, "DESCRIBE is followed by a table"));
        }
        let path = resolve(&self.catalog, &parts).await?;
        self.descriptor(&TableName::new(path.schema, path.table)?).await
    }

    async fn descriptor(&self, name: &TableName) -> Result<Arc<TableDescriptor>> {
        if let Some(descriptor) = self.catalog.descriptor(name).await? {
            return Ok(descriptor);
        }
        // A name that differs by case.
        let ident = |part: &str| Ident::new(part);
        let parts = match name.namespace() {
            DEFAULT => vec![ident(name.qualifier())],
            namespace => vec![ident(namespace), ident(name.qualifier())],
        };
        let path = resolve(&self.catalog, &parts).await?;
        let found = TableName::new(path.schema, path.table)?;
        Ok(self.catalog.cluster.table(&found).descriptor().await?)
    }

    fn shown(&self, name: Option<&str>) -> Result<RecordBatch> {
        let settings = self.settings();
        let described = settings.described();
        let column = |values: Vec<&str>| -> datafusion::arrow::array::ArrayRef {
            Arc::new(StringViewArray::from_iter_values(values))
        };
        let columns = match name {
            Some(name) => vec![("value", column(vec![settings.get(name)?.as_str()]))],
            None => vec![
                ("name", column(described.iter().map(|one| one.name).collect())),
                ("value", column(described.iter().map(|one| one.value.as_str()).collect())),
                ("meaning", column(described.iter().map(|one| one.meaning).collect())),
            ],
        };
        RecordBatch::try_from_iter(columns).map_err(|error| DataFusionError::from(error).into())
    }
}

fn name_parts(tokens: &[TokenWithSpan]) -> Vec<Ident> {
    let part = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => Some(word.clone().into_ident(token.span)),
        _ => None,
    };
    tokens.iter().filter_map(part).collect()
}
