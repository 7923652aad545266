//! Rows as formats of bytes, which other programs read: Arrow's stream and Parquet.

use std::io;
use std::sync::Arc;

use halite::sql::datafusion::arrow::ipc::writer::StreamWriter;
use halite::sql::{Answer, SqlError, SqlState};

use super::runner::Failure;

/// Writes rows as a stream of Arrow's IPC format.
///
/// # Errors
/// The error of the statement or of the output.
pub(super) async fn write_arrow(
    answer: &mut Answer,
    out: &mut dyn io::Write,
) -> Result<(), Failure> {
    let schema = Arc::clone(answer.schema());
    let failed = |error| Failure::Output(anyhow::Error::new(error).context("writing Arrow"));
    let mut writer = StreamWriter::try_new(out, &schema).map_err(failed)?;
    while let Some(batch) = answer.next_batch().await? {
        writer.write(&batch).map_err(failed)?;
    }
    writer.finish().map_err(failed)?;
    writer.get_mut().flush().map_err(|error| Failure::Output(error.into()))
}

/// Returns the error of bytes for a terminal.
pub(super) fn is_terminal(format: &str) -> Failure {
    let text = format!(
        "the format {format} is bytes, and this is a terminal: send them to a file, by > or \\o"
    );
    SqlError::new(SqlState::InvalidParameter, text).into()
}

/// Returns the error of rows for a file that has its end already.
pub(super) fn second_answer() -> Failure {
    let text = "a file of Parquet has the rows of one statement, and these are of a second: write \
                them to another file, by \\o or a command of its own, or use the format arrow";
    SqlError::new(SqlState::InvalidParameter, text).into()
}

/// Writes rows as a file of Parquet, compressed by ZSTD. A statement that fails leaves a file
/// without its end, which no reader takes for a whole one.
///
/// # Errors
/// The error of the statement or of the output.
#[cfg(feature = "sql-files")]
pub(super) async fn write_parquet(
    answer: &mut Answer,
    out: &mut dyn io::Write,
) -> Result<(), Failure> {
    use halite::sql::datafusion::parquet::arrow::ArrowWriter;
    use halite::sql::datafusion::parquet::basic::{Compression, ZstdLevel};
    use halite::sql::datafusion::parquet::file::properties::WriterProperties;

    /// Bytes of a group of rows, which is in memory until it is written.
    const GROUP_BYTES: usize = 64 << 20;

    let failed = |error| Failure::Output(anyhow::Error::new(error).context("writing Parquet"));
    let mut written = |bytes: &mut Vec<u8>| {
        out.write_all(bytes).map_err(|error| Failure::Output(error.into()))?;
        bytes.clear();
        out.flush().map_err(|error| Failure::Output(error.into()))
    };
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .build();
    let schema = Arc::clone(answer.schema());
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).map_err(failed)?;
    while let Some(batch) = answer.next_batch().await? {
        writer.write(&batch).map_err(failed)?;
        writer.sync().map_err(|error| Failure::Output(error.into()))?;
        if !writer.inner().is_empty() {
            written(writer.inner_mut())?;
        }
    }
    written(&mut writer.into_inner().map_err(failed)?)
}

/// Returns the error of a build without Parquet.
#[cfg(not(feature = "sql-files"))]
pub(super) async fn write_parquet(_: &mut Answer, _: &mut dyn io::Write) -> Result<(), Failure> {
    let text = "this program is built without Parquet: build it with \
                cargo build --release --features sql-files, or use the format arrow";
    Err(SqlError::new(SqlState::NotSupported, text).into())
}
