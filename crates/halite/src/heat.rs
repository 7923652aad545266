//! Load of the tables of a store by key and time.

use halite_engine::Engine;
pub use halite_engine::HeatLevel;
use halite_engine::heat::Salt;
pub use halite_engine::heat::operations::{
    Call, CallKind, Causes, Client, LoggedCalls, fingerprint,
};
pub use halite_engine::heat::{
    Finding, HeatMap, HeatQuery, HotRow, LAYERS, Layer, Metric, PrefixLevel, Shape, WeightedKey,
};
use halite_rowkey::KeySchema;
use halite_rowkey::schema::SegmentKind;
use halite_types::{Result, TableName};

/// Recorded load of a store, from [`Store::heat`](crate::Store::heat).
///
/// # Examples
/// ```
/// # fn main() -> halite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// use halite::heat::{HeatQuery, Metric};
/// use halite::{FamilyDescriptor, TableDescriptor, TableName};
///
/// let store = halite::open(directory.path())?;
/// let events: TableName = "events".parse()?;
/// store.create_table(TableDescriptor::new(events.clone()).family(FamilyDescriptor::new("e")), &[])?;
///
/// // The writes of the last ten minutes, as 60 columns of up to 256 ranges of keys.
/// let to_ms = store.engine().now_ms() as i64;
/// let query = HeatQuery {
///     from_ms: to_ms - 600_000,
///     to_ms,
///     metric: Metric::Writes,
///     start: Box::default(),
///     end: None,
///     max_rows: 256,
///     max_columns: 60,
/// };
/// let map = store.heat().map(&events, &query)?;
/// assert_eq!(map.mean.len(), map.bounds.len() * map.columns);
/// # store.close()
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct Heat<'a> {
    engine: &'a Engine,
}

impl<'a> Heat<'a> {
    pub(crate) fn of(engine: &'a Engine) -> Self {
        Self { engine }
    }

    /// Draws the load of a table.
    ///
    /// # Errors
    /// `NoSuchTable`; `InvalidRequest` if the store was opened with
    /// [`HeatLevel::Off`].
    pub fn map(&self, table: &TableName, query: &HeatQuery) -> Result<HeatMap> {
        self.engine.heat_map(table, query)
    }

    /// Draws several parts of the load of a table as of one moment: parts of equal times have equal
    /// columns.
    ///
    /// # Errors
    /// As [`Heat::map`].
    pub fn maps(&self, table: &TableName, queries: &[HeatQuery]) -> Result<Vec<HeatMap>> {
        self.engine.heat_maps(table, queries)
    }

    /// Returns the most frequent rows of a table in a span of time of the last ten minutes, in
    /// falling order, and the number of its operations in that time. Times are in milliseconds
    /// since 1970.
    ///
    /// # Errors
    /// As [`Heat::map`].
    pub fn hot_rows(
        &self,
        table: &TableName,
        span_ms: (i64, i64),
        limit: usize,
    ) -> Result<(Vec<HotRow>, u64)> {
        self.engine.hot_rows(table, span_ms, limit)
    }

    /// As [`Heat::hot_rows`], for prefixes of rows that end after a field of the declared key, or
    /// have a number of bytes ([`Heat::prefix_levels`]).
    ///
    /// # Errors
    /// As [`Heat::map`].
    pub fn hot_prefixes(
        &self,
        table: &TableName,
        level: PrefixLevel,
        span_ms: (i64, i64),
        limit: usize,
    ) -> Result<(Vec<HotRow>, u64)> {
        self.engine.hot_prefixes(table, level, span_ms, limit)
    }

    /// Returns the lengths of the prefixes that were counted in a span of time of the last ten
    /// minutes, in milliseconds since 1970.
    ///
    /// # Errors
    /// As [`Heat::map`].
    pub fn prefix_levels(
        &self,
        table: &TableName,
        span_ms: (i64, i64),
    ) -> Result<Vec<PrefixLevel>> {
        self.engine.prefix_levels(table, span_ms)
    }

    /// Returns the sampled operations of a table in a span of time of the last ten minutes, in
    /// milliseconds since 1970: at most about 500 for each ten seconds.
    ///
    /// # Errors
    /// As [`Heat::map`].
    pub fn sampled_keys(&self, table: &TableName, span_ms: (i64, i64)) -> Result<Vec<WeightedKey>> {
        self.engine.sampled_keys(table, span_ms)
    }

    /// Returns the load of the most loaded region divided by the mean in windows of ten seconds, at
    /// the 99th percentile of the windows of a span of time of the last ten minutes; `None` if none
    /// has enough requests.
    ///
    /// # Errors
    /// As [`Heat::map`].
    pub fn window_skew(&self, table: &TableName, span_ms: (i64, i64)) -> Result<Option<f64>> {
        self.engine.window_skew(table, span_ms)
    }

    /// Returns the logged operations of a table in a span of time in milliseconds since 1970, the
    /// newest `limit` of them: who called what on which rows.
    ///
    /// # Errors
    /// As [`Heat::map`]; `InvalidRequest` at [`HeatLevel::Region`].
    pub fn calls(
        &self,
        table: &TableName,
        span_ms: (i64, i64),
        limit: usize,
    ) -> Result<LoggedCalls> {
        self.engine.logged_calls(table, span_ms, limit)
    }

    /// Names the shape of the load of a table in a span of time of the last ten minutes, in
    /// milliseconds since 1970, with its evidence. The declared row key of the table tells which
    /// bytes are a salt.
    ///
    /// # Errors
    /// As [`Heat::map`].
    pub fn diagnose(&self, table: &TableName, span_ms: (i64, i64)) -> Result<Finding> {
        let descriptor = self.engine.descriptor(table)?;
        let schema = KeySchema::from_descriptor(&descriptor).and_then(std::result::Result::ok);
        let salted = schema.filter(|schema| {
            let first = schema.segments().first().map(|segment| &segment.kind);
            matches!(first, Some(SegmentKind::Salt { .. }))
        });
        let length = |row: &[u8]| {
            let ranges = salted.as_ref()?.split_segments(row).ok()?;
            ranges.first().map(ExactSizeIterator::len)
        };
        let count = salted.as_ref().and_then(|schema| schema.salt_count(0));
        let salt = count.map(|count| Salt { count, length: &length });
        self.engine.diagnose_load(table, span_ms, salt)
    }
}
