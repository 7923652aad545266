//! ANALYZE: statistics of a table from a sample of its rows.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher as _;
use std::sync::Arc;

use halite_rowkey::KeySchema;
use halite_rowkey::language::ROW_STATS;
use halite_types::{Filter, Row, Table, TableDescriptor, TableName};

use super::HaliteCatalog;
use super::key_sample::now_ms;
use super::shape::{Source, TableShape};
use super::statistics::{TableStatistics, key_fields};
use crate::error::Result;
use crate::scan::presence;
use crate::session::statement::StatementContext;

/// Rows of a sample, and of a table that is read as a whole.
const SAMPLE_ROWS: usize = 10_000;
/// Bytes of a row where a cluster does not tell how many rows its regions have.
const ROW_BYTES: u64 = 100;

/// Samples a table and sets the statistics in its descriptor. A table of up to 10,000 rows is read
/// as it is; of a larger one the regions return one row in n.
///
/// # Errors
/// Errors of the cluster; the guards of the statement.
pub(crate) async fn analyze(
    catalog: &HaliteCatalog,
    descriptor: &TableDescriptor,
    statement: &StatementContext,
) -> Result<()> {
    let name = descriptor.name();
    let table = catalog.cluster.table(name);
    let shape = TableShape::of(descriptor, false)?;
    let mut sample = Sample::new(&shape);
    sample.read(&table, &shape, None, statement).await?;
    let mut rows = sample.rows;
    if sample.rows >= SAMPLE_ROWS as u64 {
        let about = known_rows(catalog, name).await?.max(sample.rows);
        let one_in = (about / SAMPLE_ROWS as u64).max(1);
        let mut spread = Sample::new(&shape);
        spread.read(&table, &shape, Some(share_of(one_in)), statement).await?;
        // A share of few rows may be none of them.
        if spread.rows > 0 {
            rows = spread.rows.saturating_mul(one_in);
            sample = spread;
        } else {
            rows = about;
        }
    }
    let statistics = sample.statistics(rows);
    statement.notice(format!(
        "table {name} has about {rows} row(s), from a sample of {}",
        statistics.sampled
    ));
    // What has been altered meanwhile stays.
    let now = table.descriptor().await?;
    let described = now.as_ref().clone().set(ROW_STATS, &statistics);
    Ok(catalog.cluster.admin().alter_table(described).await?)
}

/// Returns about how many rows a table has, as its regions tell.
async fn known_rows(catalog: &HaliteCatalog, name: &TableName) -> Result<u64> {
    let status = catalog.cluster.admin().cluster_status().await?;
    let regions = status.regions.iter().filter(|load| load.region.table == *name);
    let rows = regions.map(|load| {
        let bytes = load.store_file_uncompressed_bytes + load.memstore_data_bytes;
        load.rows.unwrap_or(bytes / ROW_BYTES)
    });
    Ok(rows.sum())
}

/// Rows of a table, and what is counted of them.
struct Sample {
    rows: u64,
    /// For the first field of the key, the first two, and so on: rows by the hash of their values.
    groups: Vec<HashMap<u64, u32>>,
    /// Rows that have a cell, by column.
    present: Vec<u64>,
    /// Bytes of those cells, by column, and of the keys.
    bytes: Vec<u64>,
    key_bytes: u64,
}

impl Sample {
    fn new(shape: &TableShape) -> Self {
        Self {
            rows: 0,
            groups: vec![HashMap::new(); key_fields(&shape.key).len()],
            present: vec![0; shape.columns.len()],
            bytes: vec![0; shape.columns.len()],
            key_bytes: 0,
        }
    }

    /// Reads the first rows of the table, or this share of all.
    async fn read(
        &mut self,
        table: &Arc<dyn Table>,
        shape: &TableShape,
        share: Option<f32>,
        statement: &StatementContext,
    ) -> Result<()> {
        let scan = presence(shape, share.map(Filter::RandomRow));
        let scan = if share.is_none() { scan.limit(SAMPLE_ROWS) } else { scan };
        let mut stream = table.scan(scan);
        loop {
            let rows = stream.next_rows().await?;
            if rows.is_empty() {
                return Ok(());
            }
            let narrower =
                || format!("ANALYZE reads a share of the rows of table {}", table.name());
            statement.count_examined(rows.len() as u64, narrower)?;
            rows.iter().for_each(|row| self.add(shape, row));
        }
    }

    fn add(&mut self, shape: &TableShape, row: &Row) {
        self.rows += 1;
        self.key_bytes += row.key().len() as u64;
        let counted = self.present.iter_mut().zip(&mut self.bytes);
        for (column, (present, bytes)) in shape.columns.iter().zip(counted) {
            let value_bytes = match &column.source {
                Source::Cell { family, qualifier } => {
                    row.cell(family, qualifier).map(|cell| cell.value().len())
                }
                _ => Some(0),
            };
            *present += u64::from(value_bytes.is_some());
            *bytes += value_bytes.unwrap_or(0) as u64;
        }
        for (hash, groups) in leading_hashes(&shape.key, row.key()).zip(&mut self.groups) {
            *groups.entry(hash).or_default() += 1;
        }
    }

    fn statistics(&self, rows: u64) -> TableStatistics {
        let distinct = self.groups.iter().map(|groups| {
            let once = groups.values().filter(|count| **count == 1).count() as u64;
            distinct_of(self.rows, rows, groups.len() as u64, once)
        });
        let widths = self.bytes.iter().zip(&self.present);
        let widths = widths.map(|(bytes, present)| bytes / (*present).max(1));
        TableStatistics {
            rows,
            sampled: self.rows,
            analyzed_ms: now_ms(),
            distinct: distinct.collect(),
            present: self.present.clone(),
            key_bytes: self.key_bytes / self.rows.max(1),
            widths: widths.collect(),
        }
    }
}

/// Returns a hash of the first field of a key, of the first two, and so on; none of a key that is
/// not of the schema.
fn leading_hashes(key: &KeySchema, row: &[u8]) -> impl Iterator<Item = u64> {
    let (mut hasher, mut seen, mut hashes) = (DefaultHasher::new(), Vec::new(), Vec::new());
    let bounds = key.split_segments(row).unwrap_or_default();
    for (segment, bounds) in key.segments().iter().zip(bounds) {
        let Some(field) = segment.kind.field() else { continue };
        let bytes = row.get(bounds).unwrap_or_default();
        hasher.write_usize(bytes.len());
        hasher.write(bytes);
        if !seen.contains(&field) {
            seen.push(field);
            hashes.push(hasher.finish());
        }
    }
    hashes.into_iter()
}

/// Returns about how many distinct values all rows have: the estimator of Haas and Stokes that
/// PostgreSQL uses, from the values of the sample, and those of them that came once.
fn distinct_of(sampled: u64, rows: u64, values: u64, once: u64) -> u64 {
    if sampled >= rows || values == 0 {
        return values;
    }
    let [sample, all, found, single] = [sampled, rows, values, once].map(u128::from);
    let estimate = sample * found * all / ((sample - single) * all + single * sample);
    u64::try_from(estimate).unwrap_or(rows).clamp(values, rows)
}

#[expect(clippy::cast_precision_loss, reason = "a sample may have a few rows more or less")]
fn share_of(one_in: u64) -> f32 {
    1.0 / one_in as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_values_are_estimated_from_those_that_came_once() {
        assert_eq!(distinct_of(100, 100, 40, 3), 40, "the whole table");
        assert_eq!(distinct_of(10_000, 1_000_000, 50, 0), 50, "each came often");
        assert_eq!(distinct_of(10_000, 1_000_000, 10_000, 10_000), 1_000_000, "each came once");
        let some = distinct_of(10_000, 1_000_000, 5000, 2500);
        assert!((5000..10_000).contains(&some), "{some}");
        assert_eq!(distinct_of(0, 0, 0, 0), 0);
    }

    #[test]
    fn keys_are_divided_at_their_fields() {
        let key: KeySchema = "ROW KEY (SALT(4 BY a), a STRING, b I32)".parse().expect("a key");
        let hashes = |a: &str, b: i64| -> Vec<u64> {
            let row = key.encode(&[a.into(), halite_rowkey::Value::Signed(b)]).expect("a row");
            leading_hashes(&key, &row).collect()
        };
        let (one, other) = (hashes("x", 1), hashes("x", 2));
        assert_eq!(one.len(), 2);
        assert_eq!(one[0], other[0]);
        assert_ne!(one[1], other[1]);
        assert!(leading_hashes(&key, b"").next().is_none());
    }
}
