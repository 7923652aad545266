//! What is known of a statement before it runs.

use datafusion::arrow::datatypes::{FieldRef, SchemaRef};

/// Parameters and columns of a query.
pub(super) struct QueryShape {
    pub(super) parameters: Vec<FieldRef>,
    pub(super) schema: SchemaRef,
}
