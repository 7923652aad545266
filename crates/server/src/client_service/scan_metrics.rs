//! Scan metrics returned to a client that requests them (Java's `ScanMetrics`).

use halite_engine::scan::ReadStats;
use halite_wire::proto as pb;

use crate::base::call::Call;
use crate::outside::Instant;

/// Counters of the scanner before this call.
pub(super) struct ScanCounters {
    before: Counts,
    block_bytes: u64,
    block_read_ns: u64,
    queued_ms: u128,
}

/// Counters by the names that Java uses.
type Counts = [(&'static str, u64); 7];

impl ScanCounters {
    pub(super) fn new(stats: &ReadStats, call: &Call) -> Self {
        Self {
            before: counts(stats),
            block_bytes: stats.data_block_bytes(),
            block_read_ns: stats.block_read_ns(),
            queued_ms: call.received.elapsed().as_millis(),
        }
    }

    /// Returns the bytes of blocks that this call has scanned so far.
    pub(super) fn block_bytes(&self, stats: &ReadStats) -> u64 {
        stats.data_block_bytes().saturating_sub(self.block_bytes)
    }

    /// Returns the counts of this call and its duration.
    pub(super) fn message(&self, stats: &ReadStats, began: Instant) -> pb::ScanMetrics {
        let pair = |name: &str, value: i64| pb::NameInt64Pair {
            name: Some(name.to_string()),
            value: Some(value),
        };
        let added = counts(stats).into_iter().zip(self.before).map(|((name, now), (_, before))| {
            pair(name, signed(now.saturating_sub(before).into()))
        });
        let took = began.elapsed().as_millis();
        // HBase counts whole milliseconds per block, including checksum verification.
        let read_ms = stats.block_read_ns().saturating_sub(self.block_read_ns) / 1_000_000;
        let times = [
            ("FS_READ_TIME", read_ms.into()),
            ("RPC_SCAN_PROCESSING_TIME", took),
            ("RPC_SCAN_QUEUE_WAIT_TIME", self.queued_ms),
        ];
        pb::ScanMetrics {
            metrics: added.chain(times.map(|(name, ms)| pair(name, signed(ms)))).collect(),
        }
    }
}

fn signed(number: u128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn counts(stats: &ReadStats) -> Counts {
    [
        ("ROWS_SCANNED", stats.rows_examined()),
        ("ROWS_FILTERED", stats.rows_filtered()),
        ("BLOCK_BYTES_SCANNED", stats.data_block_bytes()),
        ("BLOCK_READ_OPS_COUNT", stats.blocks_read()),
        ("BYTES_READ_FROM_FS", stats.block_bytes_read()),
        ("BYTES_READ_FROM_BLOCK_CACHE", stats.block_bytes_cached()),
        ("BYTES_READ_FROM_MEMSTORE", stats.memstore_bytes_read()),
    ]
}
