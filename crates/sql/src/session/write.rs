//! Statements that write, in a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;

use super::answer::{Answer, within};
use super::context::SqlContext;
use super::query_shape::QueryShape;
use super::settings::Transactions;
use super::statement::StatementContext;
use crate::error::{Result, SqlError};
use crate::write::{WritePlan, Written, with_count};

/// Block between BEGIN and COMMIT. There are no transactions: reads are permitted in it, and writes
/// where the session says that it does not mind.
#[derive(Debug, Default)]
pub(super) struct Block {
    is_open: AtomicBool,
    /// Rows that were written since BEGIN.
    written: AtomicU64,
}

impl Block {
    /// Begins or ends a block; returns what the user should know.
    pub(super) fn change(&self, tag: &str) -> Option<String> {
        let was_open = self.is_open.swap(tag == "BEGIN", Ordering::Relaxed);
        let written = self.written.swap(0, Ordering::Relaxed);
        (tag == "ROLLBACK" && was_open && written > 0).then(|| {
            format!("WARNING: {written} row(s) written since BEGIN stay: every statement is final")
        })
    }

    fn check(&self, transactions: Transactions) -> Result<()> {
        if transactions == Transactions::Statement || !self.is_open.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(SqlError::unsupported(
            "a write between BEGIN and COMMIT: there are no transactions, each row is written at \
             once; use autocommit, or SET halite.transactions = 'statement' to have every statement \
             final",
        ))
    }
}

impl SqlContext {
    /// Returns the parameters and the columns of a statement that writes. `known` are types that the
    /// caller gives.
    pub(super) async fn write_shape(
        &self,
        tokens: Vec<TokenWithSpan>,
        known: &[Option<DataType>],
    ) -> Result<QueryShape> {
        let plan = WritePlan::prepare(&self.session, &self.catalog, tokens).await?;
        let mut parameters = plan.parameters()?;
        for (at, given) in known.iter().enumerate() {
            let Some(given) = given else { continue };
            let name = format!("${}", at + 1);
            match parameters.get_mut(at) {
                Some(parameter) => *parameter = Arc::new(Field::new(name, given.clone(), true)),
                None => parameters.push(Arc::new(Field::new(name, given.clone(), true))),
            }
        }
        let schema = plan.returning_schema().unwrap_or_else(|| Arc::new(Schema::empty()));
        Ok(QueryShape { parameters, schema })
    }

    async fn written(
        &self,
        plan: &WritePlan,
        values: Vec<ScalarValue>,
        statement: Arc<StatementContext>,
        deadline: Option<Instant>,
    ) -> Result<Answer> {
        self.block.check(statement.settings.transactions)?;
        let ran = within(deadline, Box::pin(plan.run(values, &statement))).await;
        self.block.written.fetch_add(statement.written.load(Ordering::Relaxed), Ordering::Relaxed);
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
        self.block.check(statement.settings.transactions)?;
        let plan = WritePlan::prepare(&self.session, &self.catalog, tokens);
        let plan = within(deadline, plan).await??;
        self.written(&plan, values, statement, deadline).await
    }
}
