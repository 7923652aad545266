//! Columns of system tables.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringViewArray};

/// Names of columns, their values, and whether these may be null.
pub(crate) type Columns = Vec<(&'static str, ArrayRef, bool)>;

/// Returns a column of text.
pub(super) fn text<'t>(values: impl IntoIterator<Item = &'t str>) -> ArrayRef {
    Arc::new(StringViewArray::from_iter_values(values))
}
