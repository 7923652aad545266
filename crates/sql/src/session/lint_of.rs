//! `halite_lint('SELECT ..')`: what lint says of a statement, from its plan. Nothing is run.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;

use super::planner::physical_plan;
use crate::catalog::HaliteCatalog;
use crate::catalog::lint::{LintLine, columns};
use crate::error::{Result, SqlError, SqlState};
use crate::explain::findings;
use crate::parse::{Kind, kind_of, tokens_of};

/// Name of the function.
const NAME: &str = "halite_lint";

/// The function.
#[derive(Debug)]
struct LintOf {
    catalog: Arc<HaliteCatalog>,
}

/// Registers the function with a session.
pub(super) fn register(session: &SessionContext, catalog: &Arc<HaliteCatalog>) {
    let function = LintOf { catalog: Arc::clone(catalog) };
    session.register_udtf(NAME, Arc::new(function));
}

impl TableFunctionImpl for LintOf {
    fn call_with_args(&self, args: TableFunctionArgs) -> DataFusionResult<Arc<dyn TableProvider>> {
        let text = match args.exprs() {
            [Expr::Literal(ScalarValue::Utf8(Some(text)), _)]
            | [Expr::Literal(ScalarValue::Utf8View(Some(text)), _)] => text.clone(),
            _ => {
                let text = format!("{NAME} takes the text of a query: {NAME}('SELECT ..')");
                return Err(SqlError::new(SqlState::InvalidParameter, text).into());
            }
        };
        let catalog = Arc::clone(&self.catalog);
        Ok(Arc::new(Findings { catalog, text, schema: batch(&[])?.schema() }))
    }
}

/// Findings about one statement.
struct Findings {
    catalog: Arc<HaliteCatalog>,
    text: String,
    schema: SchemaRef,
}

impl fmt::Debug for Findings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Findings").field("text", &self.text).finish_non_exhaustive()
    }
}

fn batch(lines: &[LintLine]) -> Result<RecordBatch> {
    RecordBatch::try_from_iter_with_nullable(columns(lines))
        .map_err(|error| DataFusionError::from(error).into())
}

impl Findings {
    async fn lines(&self, state: &SessionState) -> Result<Vec<LintLine>> {
        // Places in the text are none of the statement around it.
        let inside = |error: SqlError| SqlError {
            message: format!("{NAME}: {}", error.message),
            position: None,
            ..error
        };
        let Kind::Query(tokens) =
            kind_of(tokens_of(&self.text).map_err(inside)?).map_err(inside)?
        else {
            let text = format!("{NAME} is of a query: SELECT, VALUES or WITH");
            return Err(SqlError::unsupported(text));
        };
        let plan = physical_plan(state, &self.catalog, tokens).await.map_err(inside)?;
        Ok(findings(plan.as_ref()))
    }
}

#[async_trait]
impl TableProvider for Findings {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let Some(of) = state.as_any().downcast_ref::<SessionState>() else {
            let text = format!("{NAME} is planned in a session of another kind; please report it");
            return Err(SqlError::new(SqlState::Internal, text).into());
        };
        let batch = batch(&self.lines(of).await?)?;
        let table = MemTable::try_new(Arc::clone(&self.schema), vec![vec![batch]])?;
        table.scan(state, projection, filters, limit).await
    }
}
