//! The tables and the key.

use halite::RowKey;
use halite::rowkey::typed::TsMillis;

/// Time that readings are kept, in milliseconds: 365 days.
pub const RETENTION_MS: i64 = 365 * 24 * 3_600_000;

/// The table: a row for each device and hour, the newest hour first, and its points in one column.
pub const TABLES: &[&str] = &[SensorKey::CREATE_TABLE];

/// The tutorial's table: a row for each point, its key as text.
pub const POINT_TABLES: &str = "
CREATE TABLE sensor_points (
  value DOUBLE FAMILY d QUALIFIER v,
  ROW KEY TEXT '{device_id}_{rev(ts):19}' WHERE device_id MATCHES '[^_]+'
) WITH (TTL = 31536000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD');
";

/// Key of `sensor_data`: the device, and its hours newest first.
#[derive(Clone, Debug, PartialEq, RowKey)]
#[row_key(
    table = "sensor_data",
    salt(16, by = "device_id"),
    columns = "p SERIES(DOUBLE) FAMILY d OFFSET OF ts",
    options = "WITH (TTL = 31536000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')
      WITH QUERIES (
      recent: device_id = ? AND ts IN RANGE ORDER BY ts DESC,
      latest: device_id = ? ORDER BY ts DESC LIMIT 1
      )
      SPLIT BY SALT"
)]
pub struct SensorKey<'a> {
    pub device_id: &'a str,
    /// Start of the hour when decoded; any time in it when encoded.
    #[key(bucket = "1h", desc)]
    pub ts: TsMillis,
}
