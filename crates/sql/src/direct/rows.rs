//! Rows of a scan as those of the answer.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use halite_types::Bytes;

use super::template::{Output, Template};
use crate::error::Result;
use crate::scan::exec::{Reader, ScanFigures};
use crate::scan::point::PointReader;
use crate::scan::spec::ScanSpec;
use crate::session::statement::StatementContext;

/// Rows after which a task of its own reads on, ahead of the reader of the answer.
const MAX_ROWS_AT_ONCE: usize = 1024;

/// Rows of the answer to a statement.
pub(crate) struct DirectRows {
    source: Source,
    template: Arc<Template>,
    rows: usize,
}

#[expect(clippy::large_enum_variant, reason = "the whole value is boxed")]
enum Source {
    Scan(Reader),
    Point(PointReader),
}

impl DirectRows {
    /// Begins to read one key, as `spec` reads another.
    pub(super) fn of_key(
        template: Arc<Template>,
        spec: Arc<ScanSpec>,
        key: Bytes,
        statement: &Arc<StatementContext>,
    ) -> Self {
        let reader = PointReader::new(spec, Arc::clone(statement), key);
        Self { source: Source::Point(reader), template, rows: 0 }
    }

    pub(super) fn open(
        template: Arc<Template>,
        spec: &Arc<ScanSpec>,
        statement: &Arc<StatementContext>,
    ) -> Result<Self> {
        let figures = Arc::new(ScanFigures::default());
        let reader = Reader::open(spec, &figures, Arc::clone(statement), 1)?;
        Ok(Self { source: Source::Scan(reader), template, rows: 0 })
    }

    /// Returns the columns.
    pub(crate) fn schema(&self) -> &datafusion::arrow::datatypes::SchemaRef {
        self.template.schema()
    }

    /// Returns the next rows; `None` at the end.
    ///
    /// # Errors
    /// What ended the scan.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let batch = match &mut self.source {
            Source::Scan(reader) => reader.next_batch().await?,
            Source::Point(reader) => reader.next_batch().await?,
        };
        let Some(batch) = batch else { return Ok(None) };
        self.rows += batch.num_rows();
        self.output(batch).map(Some)
    }

    /// Returns `true` once reading the rest of the rows is worth a task.
    pub(crate) fn is_long(&self) -> bool {
        self.rows >= MAX_ROWS_AT_ONCE
    }

    /// Returns the rest of the rows as a stream.
    pub(crate) fn into_stream(self) -> SendableRecordBatchStream {
        let schema = Arc::clone(self.schema());
        let rows = futures::stream::try_unfold(self, |mut rows| async move {
            let batch = rows.next().await.map_err(DataFusionError::from)?;
            Ok(batch.map(|batch| (batch, rows)))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }

    fn output(&self, read: RecordBatch) -> Result<RecordBatch> {
        if self.template.is_as_read {
            return Ok(read);
        }
        let rows = read.num_rows();
        let array = |output: &Output| match output {
            Output::Read(at) => Ok(ArrayRef::clone(read.column(*at))),
            Output::Computed(expr) => expr.evaluate(&read)?.into_array(rows),
        };
        let arrays = self.template.outputs.iter().map(array).collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(self.schema());
        RecordBatch::try_new_with_options(schema, arrays, &options)
            .map_err(|error| DataFusionError::from(error).into())
    }
}
