//! The tables and their keys.

use halite::RowKey;
use halite::rowkey::typed::TsMillis;

/// The tables: one with the host first, one with the metric first. Both are salted by the host, so
/// a metric that all hosts send is in all regions.
pub const TABLES: &str = "
CREATE TABLE by_host (
  p SERIES(DOUBLE) FAMILY m OFFSET OF ts,
  ROW KEY (SALT(16 BY host), host STRING, metric STRING, BUCKET(ts, '15m') DESC)
) WITH (TTL = 7776000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')
  WITH QUERIES (host: host = ? AND metric = ? AND ts IN RANGE ORDER BY ts DESC)
  SPLIT BY SALT;

CREATE TABLE by_metric (
  p SERIES(DOUBLE) FAMILY m OFFSET OF ts,
  ROW KEY (SALT(16 BY host), metric STRING, BUCKET(ts, '15m') DESC, host STRING)
) WITH (TTL = 7776000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')
  WITH QUERIES (metric: metric = ? AND ts IN RANGE)
  SPLIT BY SALT;
";

/// Key of `by_host`: a host, its metrics, and their quarters of an hour, newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "by_host", salt(16, by = "host"))]
pub struct HostKey<'a> {
    /// Host.
    pub host: &'a str,
    /// Metric.
    pub metric: &'a str,
    /// Start of the quarter when decoded; any time in it when encoded.
    #[key(bucket = "15m", desc)]
    pub ts: TsMillis,
}

/// Key of `by_metric`: a metric, its quarters of an hour, newest first, and their hosts.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(table = "by_metric", salt(16, by = "host"))]
pub struct MetricKey<'a> {
    /// Metric.
    pub metric: &'a str,
    /// Start of the quarter when decoded; any time in it when encoded.
    #[key(bucket = "15m", desc)]
    pub ts: TsMillis,
    /// Host.
    pub host: &'a str,
}

#[cfg(test)]
mod tests {
    use halite::rowkey::language::{Statement, statements};

    use super::*;

    #[test]
    fn derived_keys_are_those_of_the_tables() {
        let keys: Vec<_> = statements(TABLES)
            .unwrap()
            .into_iter()
            .map(|statement| match statement {
                Statement::CreateTable(table) => {
                    (table.descriptor.name().to_string(), table.key.to_string())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let key = |table: &str, schema: &str| (table.to_owned(), schema.to_owned());
        assert_eq!(
            keys,
            [key(HostKey::TABLE, HostKey::SCHEMA), key(MetricKey::TABLE, MetricKey::SCHEMA)]
        );
    }
}
