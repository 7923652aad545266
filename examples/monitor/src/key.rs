//! The tables and their keys.

use halite::RowKey;
use halite::rowkey::typed::TsMillis;

/// The tables: one with the host first, one with the metric first. Both are salted by the host, so
/// a metric that all hosts send is in all regions.
pub const TABLES: &[&str] = &[HostKey::CREATE_TABLE, MetricKey::CREATE_TABLE];

/// Key of `by_host`: a host, its metrics, and their quarters of an hour, newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "by_host",
    salt(16, by = "host"),
    columns = "p SERIES(DOUBLE) FAMILY m OFFSET OF ts",
    options = "WITH (TTL = 7776000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')
      WITH QUERIES (host: host = ? AND metric = ? AND ts IN RANGE ORDER BY ts DESC)
      SPLIT BY SALT"
)]
pub struct HostKey<'a> {
    pub host: &'a str,
    pub metric: &'a str,
    /// Start of the quarter when decoded; any time in it when encoded.
    #[key(bucket = "15m", desc)]
    pub ts: TsMillis,
}

/// Key of `by_metric`: a metric, its quarters of an hour, newest first, and their hosts.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "by_metric",
    salt(16, by = "host"),
    columns = "p SERIES(DOUBLE) FAMILY m OFFSET OF ts",
    options = "WITH (TTL = 7776000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')
      WITH QUERIES (metric: metric = ? AND ts IN RANGE)
      SPLIT BY SALT"
)]
pub struct MetricKey<'a> {
    pub metric: &'a str,
    /// Start of the quarter when decoded; any time in it when encoded.
    #[key(bucket = "15m", desc)]
    pub ts: TsMillis,
    pub host: &'a str,
}
