//! What a program can tell and do about a cluster beyond the traits of `halite-types`.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use halite_heat::operations::LoggedCalls;
use halite_heat::{Finding, HeatMap, HeatQuery, HotRow, PrefixLevel, WeightedKey};
use halite_types::{Bytes, Cluster, Error, ErrorKind, RegionInfo, Result, TableName};
use serde::Serialize;
use utoipa::ToSchema;

/// What the page shows.
#[derive(Clone)]
pub struct WebSources {
    /// Store or cluster. Its blocking calls are made on threads that may block.
    pub cluster: Arc<dyn Cluster>,
    /// What the cluster cannot tell or do by its traits.
    pub extension: Arc<dyn Extension>,
}

/// Relation of the page to its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The page is part of the process that serves the store.
    #[default]
    Standalone,
    /// The page asks a cluster elsewhere.
    Attached,
}

/// Identity of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Relation of the page to its cluster.
    pub mode: Mode,
    /// Version of the software; empty if it is not known.
    pub version: String,
    /// Id of the cluster.
    pub cluster_id: Option<String>,
    /// Level of the recorded heat; `None` if none is recorded.
    pub heat_level: Option<String>,
}

/// Part of a list that grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// Items, newest first.
    pub items: Vec<T>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<String>,
}

/// Selection of events. Times are in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// Earliest time.
    pub from: Option<u64>,
    /// Time after the latest.
    pub to: Option<u64>,
    /// Table.
    pub table: Option<TableName>,
    /// With a table, also events of the whole store.
    pub with_store: bool,
    /// Kinds; all if there are none.
    pub kinds: Vec<String>,
    /// Maximum number of events, 1 to 1000.
    pub limit: usize,
    /// [`Page::next`] of the part before.
    pub next: Option<String>,
}

/// Event: a split, merge, move, flush, compaction, deployment, restart, change of a schema, or
/// failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time in milliseconds since 1970.
    pub at: u64,
    /// Kind: `split`, `merge`, `move`, `flush`, `compaction`, `deploy`, `restart`, `schema` or
    /// `error`.
    pub kind: String,
    /// Table, if it is about one.
    pub table: Option<TableName>,
    /// Encoded name of the region, if it is about one.
    pub region: Option<String>,
    /// Row key, if it is about one.
    pub key: Option<Bytes>,
    /// Description.
    pub text: String,
    /// Duration in milliseconds, if it was measured.
    pub duration_ms: Option<u64>,
    /// Bytes that were written to files.
    pub bytes: Option<u64>,
}

/// Selection of slow calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlowCallQuery {
    /// Table.
    pub table: Option<TableName>,
    /// Least duration in milliseconds.
    pub min_ms: Option<u64>,
    /// Maximum number of calls, 1 to 1000.
    pub limit: usize,
    /// [`Page::next`] of the part before.
    pub next: Option<String>,
}

/// Slow call, with the names of HBase's slow log (`SlowLogPayload`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct SlowCall {
    /// Time in milliseconds since 1970.
    pub start_time: u64,
    /// Duration in milliseconds.
    pub processing_ms: f64,
    /// Time before the call began, in milliseconds.
    pub queue_ms: f64,
    /// Bytes of the response.
    pub response_bytes: u64,
    /// Bytes of the blocks that were read.
    pub block_bytes_scanned: Option<u64>,
    /// Address of the client.
    pub client_address: String,
    /// Method.
    pub method_name: String,
    /// What was asked.
    pub call_details: String,
    /// Full name of the region.
    pub region_name: Option<String>,
    /// User.
    pub user_name: Option<String>,
    /// Fingerprint of the kind of call.
    pub fingerprint: Option<String>,
}

/// Work in progress. Times are in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunningTask {
    /// What is done.
    pub description: String,
    /// How far it is.
    pub status: String,
    /// Part that is done, 0 to 1.
    pub progress: Option<f64>,
    /// Start time.
    pub started: Option<u64>,
    /// Estimate of the time left, in seconds.
    pub left_s: Option<u64>,
}

/// Store file of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct StoreFile {
    /// Family.
    pub family: String,
    /// Name.
    pub name: String,
    /// Size on disk.
    pub size_bytes: u64,
    /// Number of cells.
    pub cells: Option<u64>,
    /// Creation time in milliseconds since 1970.
    pub created: Option<u64>,
}

fn unknown<T>(what: &str) -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, format!("{what} not reported here")))
}

/// What a program can tell and do beyond the traits of a cluster. Every method has a default that
/// says that it is not known, with an error of the kind `Unsupported` where there is an error.
/// Methods may block.
pub trait Extension: Send + Sync {
    /// Returns the identity of the cluster.
    fn about(&self) -> About {
        About::default()
    }

    /// Returns the time in milliseconds since 1970.
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the servers, `host,port,startcode`, as far as they are known without the regions on
    /// them.
    fn servers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the server of a region, `host,port,startcode`.
    fn server_of(&self, _region: &RegionInfo) -> Option<String> {
        None
    }

    /// Returns the part of a region's bytes on the disks of its server, 0 to 1.
    fn locality_of(&self, _region: &RegionInfo) -> Option<f64> {
        None
    }

    /// Returns the memory that the memstores of a server may take, in bytes.
    fn memstore_limit_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns work in progress other than compactions, which the cluster reports.
    fn tasks(&self) -> Vec<RunningTask> {
        Vec::new()
    }

    /// Returns events, newest first.
    ///
    /// # Errors
    /// `Unsupported`.
    fn events(&self, _query: &EventQuery) -> Result<Page<Event>> {
        unknown("events are")
    }

    /// Records a mark that a new version of a program runs; returns its time.
    ///
    /// # Errors
    /// `Unsupported`.
    fn mark_deploy(&self, _table: Option<&TableName>, _text: &str) -> Result<u64> {
        unknown("events are")
    }

    /// Returns slow calls, newest first.
    ///
    /// # Errors
    /// `Unsupported`.
    fn slow_calls(&self, _query: &SlowCallQuery) -> Result<Page<SlowCall>> {
        unknown("slow calls are")
    }

    /// Returns the store files of a region.
    ///
    /// # Errors
    /// `Unsupported`; `NoSuchRegion`.
    fn store_files(&self, _encoded_name: &str) -> Result<Vec<StoreFile>> {
        unknown("the store files of a region are")
    }

    /// Returns parts of the load of a table by key range and time as of one moment: parts of equal
    /// times have equal columns.
    ///
    /// # Errors
    /// `Unsupported`; `NoSuchTable`; `InvalidRequest` if the load is not recorded.
    fn heat_maps(&self, _table: &TableName, _queries: &[HeatQuery]) -> Result<Vec<HeatMap>> {
        unknown("loads by key and time are")
    }

    /// Returns the most frequent rows of a table in a span of time in milliseconds since 1970, in
    /// falling order, and the number of all operations in it.
    ///
    /// # Errors
    /// As [`Extension::heat_maps`].
    fn hot_rows(&self, _table: &TableName, _span_ms: (i64, i64)) -> Result<(Vec<HotRow>, u64)> {
        unknown("loads by row are")
    }

    /// As [`Extension::hot_rows`], for prefixes of rows of one length.
    ///
    /// # Errors
    /// As [`Extension::heat_maps`].
    fn hot_prefixes(
        &self,
        _table: &TableName,
        _level: PrefixLevel,
        _span_ms: (i64, i64),
    ) -> Result<(Vec<HotRow>, u64)> {
        unknown("loads by prefix are")
    }

    /// Returns the lengths of the prefixes that were counted in a span of time in milliseconds
    /// since 1970.
    ///
    /// # Errors
    /// As [`Extension::heat_maps`].
    fn prefix_levels(&self, _table: &TableName, _span_ms: (i64, i64)) -> Result<Vec<PrefixLevel>> {
        unknown("loads by prefix are")
    }

    /// Returns a sample of the operations of a table in a span of time in milliseconds since 1970.
    ///
    /// # Errors
    /// As [`Extension::heat_maps`].
    fn sampled_keys(&self, _table: &TableName, _span_ms: (i64, i64)) -> Result<Vec<WeightedKey>> {
        unknown("sampled operations are")
    }

    /// Returns the load of the most loaded region divided by the mean in short windows, at the 99th
    /// percentile of those of a span of time in milliseconds since 1970; `None` if none has enough
    /// requests.
    ///
    /// # Errors
    /// As [`Extension::heat_maps`].
    fn window_skew(&self, _table: &TableName, _span_ms: (i64, i64)) -> Result<Option<f64>> {
        unknown("loads of regions by time are")
    }

    /// Returns the row at which a split of a region at `row` would divide it by the split policy
    /// of its table; `None` if that is not inside of the region.
    ///
    /// # Errors
    /// `Unsupported`; `NoSuchRegion`.
    fn split_point(&self, _encoded_name: &str, _row: &Bytes) -> Result<Option<Bytes>> {
        unknown("split points of policies are")
    }

    /// Returns the logged operations of a table in a span of time in milliseconds since 1970, the
    /// newest `limit` of them.
    ///
    /// # Errors
    /// As [`Extension::heat_maps`].
    fn logged_calls(
        &self,
        _table: &TableName,
        _span_ms: (i64, i64),
        _limit: usize,
    ) -> Result<LoggedCalls> {
        unknown("single operations are")
    }

    /// Names the shape of the load of a table in a span of time in milliseconds since 1970.
    ///
    /// # Errors
    /// As [`Extension::heat_maps`].
    fn diagnose_load(&self, _table: &TableName, _span_ms: (i64, i64)) -> Result<Finding> {
        unknown("shapes of loads are")
    }

    /// Returns the row at which a region would be split into halves of equal size; `None` if it
    /// cannot be split.
    ///
    /// # Errors
    /// `Unsupported`; `NoSuchRegion`.
    fn middle_row(&self, _encoded_name: &str) -> Result<Option<Bytes>> {
        unknown("the middle of a region is")
    }

    /// Writes the memstores of one region to store files.
    ///
    /// # Errors
    /// `Unsupported`; `NoSuchRegion`.
    fn flush_region(&self, _encoded_name: &str) -> Result<()> {
        unknown("calls that flush a single region are")
    }

    /// Compacts one region and returns after completion.
    ///
    /// # Errors
    /// `Unsupported`; `NoSuchRegion`.
    fn compact_region(&self, _encoded_name: &str, _is_major: bool) -> Result<()> {
        unknown("calls that compact a single region are")
    }

    /// Moves a region to another server.
    ///
    /// # Errors
    /// `Unsupported`; `NoSuchRegion`.
    fn move_region(&self, _encoded_name: &str, _server: &str) -> Result<()> {
        unknown("servers to which a region can be moved are")
    }
}

/// Extension that knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExtension;

impl Extension for NoExtension {}
