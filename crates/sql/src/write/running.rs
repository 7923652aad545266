//! Run of a plan, and its result.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::session_state::SessionState;
use datafusion::scalar::ScalarValue;

use crate::session::statement::StatementContext;

/// Run of a plan.
pub(super) struct Running {
    pub(super) state: SessionState,
    /// Values of the parameters.
    pub(super) values: Vec<ScalarValue>,
    pub(super) statement: Arc<StatementContext>,
}

/// What a statement wrote.
#[derive(Debug)]
pub(crate) struct Written {
    /// Command tag with the number of rows, such as `UPDATE 2`.
    pub(crate) tag: String,
    /// Rows of RETURNING.
    pub(crate) returned: Option<RecordBatch>,
}
