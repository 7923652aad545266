//! Statements that write, in a session.

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;

use super::answer::{Answer, within};
use super::context::SqlContext;
use super::left::WriteRun;
use super::parameters::with_known;
use super::query_shape::{Kept, QueryShape};
use super::statement::StatementContext;
use crate::error::Result;
use crate::write::{WritePlan, Written, with_count};

impl SqlContext {
    /// Returns the parameters and the columns of a statement that writes. `known` are types that the
    /// caller gives.
    pub(super) async fn write_shape(
        &self,
        tokens: Vec<TokenWithSpan>,
        known: &[Option<DataType>],
    ) -> Result<QueryShape> {
        let plan = WritePlan::prepare(&self.session, &self.catalog, tokens).await?;
        let kept = if plan.is_kept() { Kept::Write(Arc::new(plan.clone())) } else { Kept::Nothing };
        let parameters = with_known(plan.parameters()?, known);
        let schema = plan.returning_schema().unwrap_or_else(|| Arc::new(Schema::empty()));
        Ok(QueryShape { parameters, schema, kept })
    }

    /// Runs a planned statement that writes.
    pub(super) async fn written(
        &self,
        plan: &WritePlan,
        values: Arc<[ScalarValue]>,
        statement: Arc<StatementContext>,
        deadline: Option<Instant>,
    ) -> Result<Answer> {
        let run = WriteRun::new(self, &statement);
        let ran = within(deadline, Box::pin(plan.run(values, &statement))).await;
        run.end();
        let Written { tag, returned } = match ran {
            Ok(ran) => ran?,
            Err(timeout) => return Err(with_count(timeout, &statement)),
        };
        Ok(Answer::written(tag, returned, statement))
    }

    /// Plans and runs a statement that writes.
    pub(super) async fn write(
        &self,
        tokens: Vec<TokenWithSpan>,
        values: Vec<ScalarValue>,
        statement: Arc<StatementContext>,
        deadline: Option<Instant>,
    ) -> Result<Answer> {
        let plan = WritePlan::prepare(&self.session, &self.catalog, tokens);
        let plan = within(deadline, plan).await??;
        self.written(&plan, values.into(), statement, deadline).await
    }
}
