//! Row of one key, by a get.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use halite_types::{Bytes, Get, TableExt as _};

use super::decode::RowDecoder;
use super::spec::ScanSpec;
use crate::error::Result;
use crate::session::statement::StatementContext;

/// Read of one key.
pub(crate) struct PointReader {
    spec: Arc<ScanSpec>,
    statement: Arc<StatementContext>,
    /// `None` once it has been read.
    key: Option<Bytes>,
}

impl PointReader {
    /// Creates the read of a key. `spec` is the scan of a key of the same table, for the same columns.
    pub(crate) fn new(spec: Arc<ScanSpec>, statement: Arc<StatementContext>, key: Bytes) -> Self {
        Self { spec, statement, key: Some(key) }
    }

    /// Returns the row; `None` if there is none, and after it.
    ///
    /// # Errors
    /// An error of the table; a cell that is none of its type; a guard of the statement.
    pub(crate) async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(key) = self.key.clone() else { return Ok(None) };
        let mut get = Get::new(key);
        get.selection = self.spec.template.selection.clone();
        let table = &self.spec.target.table;
        let row = table.get(get).await?;
        self.key = None;
        if row.is_empty() {
            return Ok(None);
        }
        self.statement.count(1, &self.spec)?;
        let mut decoder =
            RowDecoder::new(Arc::clone(&self.spec), self.statement.settings.bad_cells);
        decoder.push(&row)?;
        self.statement.notice_bad_cells(decoder.bad(), table.name());
        decoder.finish().map(Some)
    }
}
