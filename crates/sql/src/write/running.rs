//! Run of a plan, and its result.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::session_state::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;

use super::memory::KeptMemory;
use crate::session::statement::StatementContext;

/// Run of a plan.
pub(super) struct Running {
    session: SessionContext,
    state: OnceLock<SessionState>,
    /// Values of the parameters.
    pub(super) values: Arc<[ScalarValue]>,
    pub(super) statement: Arc<StatementContext>,
    /// Plans of the queries that it runs, if they are explained.
    plans: Option<Mutex<Vec<Arc<dyn ExecutionPlan>>>>,
}

impl Running {
    pub(super) fn new(
        session: &SessionContext,
        values: Arc<[ScalarValue]>,
        statement: &Arc<StatementContext>,
    ) -> Self {
        let (session, statement) = (session.clone(), Arc::clone(statement));
        Self { session, state: OnceLock::new(), values, statement, plans: None }
    }

    /// Keeps the plans of its queries, which are explained after it has run.
    pub(super) fn keeping_plans(self) -> Self {
        Self { plans: Some(Mutex::default()), ..self }
    }

    /// Keeps the plan of a query, if it is explained.
    pub(super) fn keep(&self, plan: &Arc<dyn ExecutionPlan>) {
        if let Some(plans) = &self.plans {
            plans.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(plan));
        }
    }

    /// Returns the plans that were kept, one for each run of the query.
    pub(super) fn kept(&self) -> Vec<Arc<dyn ExecutionPlan>> {
        let kept =
            |plans: &Mutex<Vec<_>>| plans.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.plans.as_ref().map_or_else(Vec::new, kept)
    }

    /// Returns the memory of the rows that the statement keeps.
    pub(super) fn memory(&self) -> KeptMemory {
        let consumer = MemoryConsumer::new("rows of a statement that writes");
        KeptMemory(consumer.register(&self.session.runtime_env().memory_pool))
    }

    /// Returns what plans and evaluates expressions. Making it takes longer than writing a row, and
    /// constants need none.
    pub(super) fn state(&self) -> &SessionState {
        self.state.get_or_init(|| {
            let mut state = self.session.state();
            state.config_mut().set_extension(Arc::clone(&self.statement));
            state.mark_start_execution();
            state
        })
    }
}

/// What a statement wrote.
#[derive(Debug)]
pub(crate) struct Written {
    /// Command tag with the number of rows, such as `UPDATE 2`.
    pub(crate) tag: String,
    /// Rows of RETURNING.
    pub(crate) returned: Option<RecordBatch>,
}
