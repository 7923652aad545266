//! Statements with parameters: `$1`, `$2` .. wherever a value may stand.
//!
//! A query is planned again for each run with its values bound, since the ranges, salts and filters
//! of its scans follow from them, and so that it sees tables and settings as they are then. What
//! stays is the promise of `parameters` and `schema`. The plan of a query that a scan alone answers,
//! and of a write of values, is kept, and used while the table and the settings are those of then.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::ScalarValue;

use super::access::Access;
use super::answer::{Answer, deadline, within};
use super::context::SqlContext;
use super::queries::QueryState;
use super::query_shape::{Kept, QueryShape};
use super::settings::Direct;
use super::statement::StatementContext;
use crate::error::{Result, SqlError, SqlState};
use crate::parse::{CreateAs, Kind, Local, TempRows, kind_of, tokens_of};

/// Statement of a session, ready to run with values for its parameters.
///
/// ```
/// # use halite_sql::datafusion::common::ScalarValue;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let store = halite::open(directory.path())?;
/// let sql = halite_sql::SqlContext::new(store.cluster().clone());
/// sql.run("CREATE TABLE readings (v DOUBLE, ROW KEY (device STRING, ts TIMESTAMP DESC))").await?;
/// let latest = sql.prepare("SELECT v FROM readings WHERE device = $1 LIMIT $2").await?;
/// let values = [ScalarValue::from("d1"), ScalarValue::from(10i64)];
/// assert!(sql.run_prepared(&latest, &values).await?.batches().await?.is_empty());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Prepared {
    text: Arc<str>,
    parameters: Vec<FieldRef>,
    schema: SchemaRef,
    kept: Arc<Mutex<Kept>>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Prepared").field("text", &self.text).finish_non_exhaustive()
    }
}

impl Prepared {
    /// Returns the text of the statement.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the parameters in the order of their numbers, named `$1`, `$2` .. . Each has the type
    /// of the column that it meets, with its metadata, or else text.
    pub fn parameters(&self) -> &[FieldRef] {
        &self.parameters
    }

    /// Returns the columns of the rows; none for a command.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn kept(&self) -> Kept {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the error of a result whose columns are no longer those that were promised.
    pub(super) fn check_schema(&self, schema: &Schema) -> Result<()> {
        let types = |schema: &Schema| -> Vec<DataType> {
            schema.fields().iter().map(|field| field.data_type().clone()).collect()
        };
        if types(&self.schema) == types(schema) {
            return Ok(());
        }
        Err(SqlError::unsupported(
            "the table has changed, and the statement now has other columns; prepare it again",
        ))
    }
}

impl SqlContext {
    /// Prepares one statement.
    ///
    /// # Errors
    /// What is wrong with the statement, with its place in the text.
    pub async fn prepare(&self, text: &str) -> Result<Prepared> {
        self.prepare_typed(text, &[]).await
    }

    /// Prepares one statement whose first parameters have the types that are given; `None` where the
    /// statement decides.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    pub async fn prepare_typed(&self, text: &str, types: &[Option<DataType>]) -> Result<Prepared> {
        if let Some(known) = self.recent.find(text, types)
            && self.is_current(&known).await
        {
            return Ok(known);
        }
        let tokens = tokens_of(text)?;
        let kind = match self.local_statement(&tokens)? {
            Some(local) => Kind::Local(local),
            None => kind_of(tokens)?,
        };
        self.access.check(&kind, text)?;
        let shape = match kind {
            Kind::Query(tokens) => self.query_shape(tokens, types).await?,
            Kind::Write(tokens) => self.write_shape(tokens, types).await?,
            Kind::Explain(explain) => {
                let shape = if explain.writes {
                    self.write_shape(explain.of, types).await?
                } else {
                    self.query_shape(explain.of, types).await?
                };
                let parameters = shape.parameters;
                QueryShape { parameters, schema: plan_lines(), kept: Kept::Nothing }
            }
            // They only read the catalog and the settings, so running one tells its columns.
            Kind::ShowTables(_) | Kind::Describe(_) | Kind::Show(_) => {
                self.shape_by_run(text).await?
            }
            Kind::Language if crate::parse::is_show_create(text) => self.shape_by_run(text).await?,
            // Its rows are those of a query, which has the parameters.
            Kind::Local(Local::Insert { query, .. })
            | Kind::Local(Local::CreateTable { rows: TempRows::Query { query, .. }, .. })
            | Kind::CreateAs(CreateAs { query, .. }) => {
                let shape = self.query_shape(query, types).await?;
                let schema = Arc::new(Schema::empty());
                QueryShape { parameters: shape.parameters, schema, kept: Kept::Nothing }
            }
            Kind::Language
            | Kind::Local(_)
            | Kind::Comment(_)
            | Kind::Analyze(_)
            | Kind::Nothing
            | Kind::Set { .. }
            | Kind::Reset(_)
            | Kind::Transaction(_) => QueryShape {
                parameters: Vec::new(),
                schema: Arc::new(Schema::empty()),
                kept: Kept::Nothing,
            },
        };
        let QueryShape { parameters, schema, kept } = shape;
        let is_kept = !matches!(kept, Kept::Nothing);
        let kept = Arc::new(Mutex::new(kept));
        let prepared = Prepared { text: text.into(), parameters, schema, kept };
        if is_kept {
            self.recent.add(types, &prepared);
        }
        Ok(prepared)
    }

    /// Returns `true` if preparing a statement again would give the same.
    async fn is_current(&self, prepared: &Prepared) -> bool {
        let settings = self.settings();
        match prepared.kept() {
            Kept::Nothing => false,
            Kept::Query(template) => template.is_current(&self.catalog, &settings).await,
            Kept::Write(plan) => {
                self.access >= Access::Write && plan.is_current(&self.catalog, &settings).await
            }
        }
    }

    async fn shape_by_run(&self, text: &str) -> Result<QueryShape> {
        let schema = Arc::clone(self.run(text).await?.schema());
        Ok(QueryShape { parameters: Vec::new(), schema, kept: Kept::Nothing })
    }

    /// Runs one statement with a value for each of its parameters `$1`, `$2` .. .
    ///
    /// # Errors
    /// As [`Self::prepare`] and [`Self::run_prepared`].
    pub async fn query(&self, text: &str, values: &[ScalarValue]) -> Result<Answer> {
        let prepared = self.prepare(text).await?;
        self.run_prepared(&prepared, values).await
    }

    /// Runs a prepared statement with a value for each parameter.
    ///
    /// # Errors
    /// As [`Self::run`]. `UndefinedParameter` unless each parameter has a value, `NotSupported` if
    /// the columns have changed meanwhile.
    pub async fn run_prepared(
        &self,
        prepared: &Prepared,
        values: &[ScalarValue],
    ) -> Result<Answer> {
        let wanted = prepared.parameters.len();
        if values.len() != wanted {
            return Err(SqlError::new(
                SqlState::UndefinedParameter,
                format!("the statement has {wanted} parameters, and {} values came", values.len()),
            ));
        }
        let values = values.iter().zip(&prepared.parameters);
        let values: Arc<[ScalarValue]> =
            values.map(|(value, field)| fitting(value, field.data_type())).collect();
        if let Some(answer) = self.run_kept(prepared, &values).await? {
            return Ok(answer);
        }
        let answer = self.run_with(&prepared.text, values.to_vec()).await?;
        prepared.check_schema(answer.schema())?;
        Ok(answer)
    }

    /// Runs the plan that is kept. `None` if there is none, or if it is not for these values.
    async fn run_kept(
        &self,
        prepared: &Prepared,
        values: &Arc<[ScalarValue]>,
    ) -> Result<Option<Answer>> {
        let settings = self.settings();
        if settings.direct == Direct::Off {
            return Ok(None);
        }
        let kept = prepared.kept();
        if matches!(kept, Kept::Nothing) {
            return Ok(None);
        }
        let statement = Arc::new(StatementContext::new(settings));
        let query = self.begin(&prepared.text, &statement);
        match self.run_plan(prepared, kept, values, statement).await {
            Ok(Some(answer)) => Ok(Some(answer.with_query(query))),
            Ok(None) => {
                // It runs again, as another one.
                query.forget();
                Ok(None)
            }
            Err(error) => {
                query.end(QueryState::Failed(error.state));
                Err(error)
            }
        }
    }

    async fn run_plan(
        &self,
        prepared: &Prepared,
        kept: Kept,
        values: &Arc<[ScalarValue]>,
        statement: Arc<StatementContext>,
    ) -> Result<Option<Answer>> {
        let deadline = deadline(statement.settings.statement_timeout);
        match kept {
            Kept::Nothing => Ok(None),
            Kept::Query(template) => {
                let current = template.is_current(&self.catalog, &statement.settings);
                if !within(deadline, current).await? {
                    self.keep_again(prepared).await;
                    return Ok(None);
                }
                let Some(bound) = within(deadline, template.bind_run(values)).await? else {
                    return Ok(None);
                };
                let rows = bound.open(&statement)?;
                Ok(Some(Answer::direct(rows, statement, deadline)))
            }
            Kept::Write(plan) => {
                self.access.require(Access::Write)?;
                self.block.check(statement.settings.transactions)?;
                let current = plan.is_current(&self.catalog, &statement.settings);
                if !within(deadline, current).await? {
                    self.keep_again(prepared).await;
                    return Ok(None);
                }
                self.written(&plan, Arc::clone(values), statement, deadline).await.map(Some)
            }
        }
    }

    /// Plans a statement again, for its next run.
    async fn keep_again(&self, prepared: &Prepared) {
        let types = prepared.parameters.iter().map(|field| Some(field.data_type().clone()));
        let types: Vec<Option<DataType>> = types.collect();
        // What is wrong with it, the run that follows says.
        let Ok(again) = Box::pin(self.prepare_typed(&prepared.text, &types)).await else { return };
        let is_same = prepared.check_schema(&again.schema).is_ok();
        let kept = if is_same { again.kept() } else { Kept::Nothing };
        *prepared.kept.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }
}

/// Returns a value as the type of its parameter where that loses nothing; a value beyond the type
/// is compared as it is, and matches nothing.
pub(super) fn fitting(value: &ScalarValue, ty: &DataType) -> ScalarValue {
    if value.data_type() == *ty {
        return value.clone();
    }
    match value.cast_to(ty) {
        Ok(cast) if value.is_null() => cast,
        Ok(cast) if cast.cast_to(&value.data_type()).is_ok_and(|back| back == *value) => cast,
        _ => value.clone(),
    }
}

/// Columns of EXPLAIN.
fn plan_lines() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("plan", DataType::Utf8View, false)]))
}
