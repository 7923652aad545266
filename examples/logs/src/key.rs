//! The tables: one log under five keys.

/// Family of the tables.
pub(crate) const FAMILY: &str = "l";
/// Column of the text, where a line is a row.
pub(crate) const MESSAGE: &str = "m";
/// Width of a row of `by_quarter`.
pub(crate) const QUARTER_MS: i64 = 900_000;

/// The tables. An application has one of them, or two.
pub const TABLES: &str = "
CREATE TABLE by_time (
  message STRING FAMILY l QUALIFIER m NOT NULL,
  ROW KEY (ts TIMESTAMP DESC, host STRING, event STRING, sequence U32)
) WITH (TTL = 7776000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')
  WITH QUERIES (time: ts IN RANGE)
  -- lint:allow K-MONO it shows what the other keys avoid
  -- lint:allow P-ROLL it shows what the other keys avoid
;

CREATE TABLE by_salt (
  message STRING FAMILY l QUALIFIER m NOT NULL,
  ROW KEY (SALT(16), ts TIMESTAMP DESC, host STRING, event STRING, sequence U32)
) WITH (TTL = 7776000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')
  WITH QUERIES (time: ts IN RANGE)
  SPLIT BY SALT;

CREATE TABLE by_host (
  message STRING FAMILY l QUALIFIER m NOT NULL,
  ROW KEY (host STRING, event STRING, ts TIMESTAMP DESC, sequence U32)
) WITH (TTL = 7776000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')
  WITH QUERIES (host: host = ? AND event = ? AND ts IN RANGE ORDER BY ts DESC);

CREATE TABLE by_code (
  message STRING FAMILY l QUALIFIER m NOT NULL,
  ROW KEY (DICT(host, 3), DICT(event, 2), ts TIMESTAMP DESC, sequence U32)
) WITH (TTL = 7776000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')
  WITH QUERIES (host: host = ? AND event = ? AND ts IN RANGE ORDER BY ts DESC);

CREATE TABLE by_quarter (
  message MAP(U64, STRING) FAMILY l,
  ROW KEY (host STRING, event STRING, BUCKET(ts, '15m') DESC)
) WITH (TTL = 7776000, DATA_BLOCK_ENCODING = 'FAST_DIFF', COMPRESSION = 'ZSTD')
  WITH QUERIES (host: host = ? AND event = ? AND ts IN RANGE);
";

/// One of the five keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    /// Time first: a time is one range, and all lines are written into its beginning.
    Time,
    /// A salt before the time: a time is one range of each salt, and writes are spread.
    Salt,
    /// Host and event first: a host and event is one range within a time.
    Host,
    /// As [`Self::Host`], with the numbers of a dictionary instead of names.
    Code,
    /// As [`Self::Host`], with a row for a quarter of an hour; a line is a column of it.
    Quarter,
}

impl Layout {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Time, Self::Salt, Self::Host, Self::Code, Self::Quarter];

    /// Returns the name of its table, without the namespace.
    pub fn table(self) -> &'static str {
        match self {
            Self::Time => "by_time",
            Self::Salt => "by_salt",
            Self::Host => "by_host",
            Self::Code => "by_code",
            Self::Quarter => "by_quarter",
        }
    }
}
