//! What is known of a statement before it runs.

use std::sync::Arc;

use datafusion::arrow::datatypes::{FieldRef, SchemaRef};

use crate::direct::Template;
use crate::write::WritePlan;

/// Parameters and columns of a statement.
pub(super) struct QueryShape {
    pub(super) parameters: Vec<FieldRef>,
    pub(super) schema: SchemaRef,
    pub(super) kept: Kept,
}

/// Plan of a prepared statement that is kept for its runs.
#[derive(Clone)]
pub(super) enum Kept {
    /// None: it depends on values, or on more than one table.
    Nothing,
    Query(Arc<Template>),
    Write(Arc<WritePlan>),
}
