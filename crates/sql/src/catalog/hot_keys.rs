//! `halite.hot_keys`: the rows of each table with the most operations, where they are recorded.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BinaryViewBuilder, Int64Array, StringViewArray};
use halite_types::{Cluster, FrequentRow};

use super::key_sample::now_ms;
use super::regions::labels;
use super::system_columns::{Columns, text};
use crate::error::{Result, SqlError};

/// Spans of time before now, by name.
const WINDOWS: [(&str, i64); 3] = [("1m", 60_000), ("5m", 300_000), ("10m", 600_000)];
/// Rows of a table in each span.
const MAX_ROWS: usize = 50;

/// Frequent row of a table.
struct Line {
    namespace: String,
    table: String,
    window: &'static str,
    rank: i64,
    row: FrequentRow,
    fields: Option<String>,
}

/// Returns the columns of the table, and what the user should know.
pub(super) async fn hot_keys(cluster: &Arc<dyn Cluster>) -> Result<(Columns, Option<String>)> {
    let admin = cluster.admin();
    let tables = admin.list_tables().await.map_err(SqlError::from)?;
    let now = now_ms();
    let mut lines = Vec::new();
    let mut is_recorded = tables.is_empty();
    for table in &tables {
        let name = table.name();
        let labels = labels(cluster, table).await;
        for (window, ms) in WINDOWS {
            let span = (now.saturating_sub(ms), now);
            let found = admin.frequent_rows(name, span, MAX_ROWS).await;
            let Some(rows) = found.map_err(SqlError::from)? else { continue };
            is_recorded = true;
            let line = |(row, rank): (FrequentRow, i64)| Line {
                namespace: name.namespace().to_owned(),
                table: name.qualifier().to_owned(),
                window,
                rank,
                fields: labels.as_ref().and_then(|labels| labels.boundary_line(&row.row)),
                row,
            };
            lines.extend(rows.into_iter().zip(1..).map(line));
        }
    }
    let notice = (!is_recorded).then(|| {
        "halite.hot_keys is empty: the operations on single rows are recorded by a store of this \
         process that is opened with it, as by halite serve, and not told by other clusters"
            .to_owned()
    });
    Ok((columns(&lines), notice))
}

fn columns(lines: &[Line]) -> Columns {
    let mut keys = BinaryViewBuilder::new();
    lines.iter().for_each(|line| keys.append_value(&line.row.row));
    let fields: StringViewArray = lines.iter().map(|line| line.fields.as_deref()).collect();
    let number = |pick: fn(&Line) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(lines.iter().map(pick)))
    };
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let counts = lines.iter().map(|line| count(line.row.count));
    let errors = lines.iter().map(|line| count(line.row.error));
    vec![
        ("namespace", text(lines.iter().map(|line| line.namespace.as_str())), false),
        ("table_name", text(lines.iter().map(|line| line.table.as_str())), false),
        ("window", text(lines.iter().map(|line| line.window)), false),
        ("rank", number(|line| line.rank), false),
        ("key", Arc::new(keys.finish()), false),
        ("fields", Arc::new(fields), true),
        ("count", Arc::new(Int64Array::from_iter_values(counts)), false),
        ("error", Arc::new(Int64Array::from_iter_values(errors)), false),
    ]
}
