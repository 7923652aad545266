//! Registry of open scanners. An idle scanner is closed when its lease expires.
//!
//! A scanner id consists of a counter and a digest of it under a secret. A client therefore cannot
//! guess the scanner id of another client. The server can verify any id that it issued, without
//! retaining the ids of ended scanners. Closing an ended scanner succeeds, as in HBase while it
//! retains the id.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use halite_types::Cells;
use halite_wire::proto::Cell;

use crate::base::shutdown::Shutdown;
use crate::config::Limits;
use crate::outside::Instant;

/// Time that the scanners of an ended connection wait for their client to reconnect.
const ORPHAN_TIMEOUT: Duration = Duration::from_secs(10);
/// Fraction (1/n) of the memory for memstores and blocks available for replies to open scanners,
/// and its minimum in bytes.
///
/// The last reply to each scanner is retained for a client that requests the same rows again. The
/// oldest replies are evicted first; a client whose reply was evicted opens a new scanner after its
/// last row. A reply is dropped when the next rows are requested.
const REPLY_CACHE_SHARE: u64 = 32;
const MIN_REPLY_CACHE_BYTES: usize = 8 << 20;
/// Limit on last replies of ended scanners. They are retained for the time of a lease, and this
/// limit does not grow with memory because clients rarely request them again.
const ENDED_REPLY_CACHE_BYTES: usize = MIN_REPLY_CACHE_BYTES;
/// Maximum retained replies of either kind.
const MAX_CACHED_REPLIES: usize = 1 << 14;

/// Scanner that a registry holds between two calls. The registry is below the service whose
/// scanners it holds, and its tests hold scanners without a region.
pub(crate) trait HeldScanner {
    /// Updates the memory held for it, which grows with flushes.
    fn count_memory(&mut self);
}

/// Open scanners and their leases.
pub(crate) struct ScannerRegistry<S> {
    table: Mutex<Table<S>>,
    count: AtomicU32,
    secret: RandomState,
    lease: Duration,
    max_per_connection: usize,
}

struct Table<S> {
    entries: HashMap<u64, Entry<S>>,
    /// Open scanners by connection.
    by_connection: HashMap<u64, usize>,
    /// Last replies of open scanners, and of ended scanners.
    open_replies: ReplyCache,
    ended_replies: ReplyCache,
}

/// Size and limit of the retained last replies.
struct ReplyCache {
    bytes: usize,
    max_bytes: usize,
    /// Scanner ids and call numbers, oldest first. Some of the replies are no longer retained.
    queue: VecDeque<(u64, u64)>,
}

struct Entry<S> {
    connection: u64,
    expires: Instant,
    state: ScannerState<S>,
    /// Expected number of the client's next call.
    next_call: u64,
    cached_reply: Option<CachedReply>,
}

enum ScannerState<S> {
    Idle(Box<S>),
    /// In use by a call.
    Busy,
    /// Ended; only its last reply is left.
    Ended,
}

/// Reply to a `next` call, returned again if the client repeats the call.
#[derive(Clone)]
pub(crate) struct CachedReply {
    call: u64,
    /// Estimated bytes in memory.
    bytes: usize,
    /// `true` if the scanner ended with this reply.
    is_last: bool,
    /// The reply, to be encoded with the id of the repeated call.
    pub(crate) reply: CellReply,
}

/// Message with the cells after it, sent to the client and retained.
#[derive(Clone)]
pub(crate) struct CellReply {
    pub(crate) message: Arc<halite_wire::proto::ScanResponse>,
    pub(crate) cells: Arc<[Cells]>,
}

/// Result of a lookup of a scanner.
pub(crate) enum ScannerLookup<S> {
    /// The scanner, to be released by the caller.
    Scanner(Box<S>),
    /// The reply to an earlier call with the same number.
    CachedReply(Box<CellReply>),
    /// Wrong call number; contains the expected number.
    OutOfOrder(u64),
    /// In use by another call.
    Busy,
    /// No scanner has this id, or it no longer exists.
    Unknown,
}

impl CellReply {
    /// Returns the estimated bytes in memory, which for small rows are mostly overhead.
    fn bytes(&self) -> usize {
        let cell = |cell: &Cell| cell.value.as_ref().map_or(0, Bytes::len) + size_of::<Cell>();
        let inline = self
            .message
            .results
            .iter()
            .map(|result| result.cell.iter().map(cell).sum::<usize>() + size_of_val(result));
        let rows = self.cells.iter().map(|cells| cells.bytes().len() + size_of_val(cells));
        inline.sum::<usize>() + rows.sum::<usize>() + size_of::<Entry<()>>() + size_of_val(self)
    }
}

impl<S: HeldScanner> ScannerRegistry<S> {
    /// Returns an empty registry. `memory_bytes` is the memory for memstores and blocks.
    pub(crate) fn new(limits: &Limits, memory_bytes: u64) -> Self {
        let max_cache_bytes = usize::try_from(memory_bytes / REPLY_CACHE_SHARE)
            .unwrap_or(usize::MAX)
            .max(MIN_REPLY_CACHE_BYTES);
        Self {
            table: Mutex::new(Table::new(max_cache_bytes)),
            count: AtomicU32::new(1),
            secret: RandomState::new(),
            lease: Duration::from_millis(limits.scanner_timeout_ms),
            max_per_connection: limits.max_scanners_per_connection,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table<S>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an unused id, positive in Java.
    pub(crate) fn new_id(&self) -> u64 {
        self.id_for(self.count.fetch_add(1, Ordering::Relaxed) & 0x7fff_ffff)
    }

    fn id_for(&self, count: u32) -> u64 {
        u64::from(count) << 32 | self.secret.hash_one(count) & 0xffff_ffff
    }

    /// Returns `true` if this server issued the id.
    pub(crate) fn is_own(&self, id: u64) -> bool {
        u32::try_from(id >> 32).is_ok_and(|count| count > 0 && self.id_for(count) == id)
    }

    /// Returns the number of open scanners.
    pub(crate) fn len(&self) -> usize {
        self.lock().by_connection.values().sum()
    }

    /// Returns `true` if the connection has the maximum number of scanners.
    pub(crate) fn is_full(&self, connection: u64) -> bool {
        self.lock()
            .by_connection
            .get(&connection)
            .is_some_and(|count| *count >= self.max_per_connection)
    }

    /// Adds a new scanner and starts its lease.
    pub(crate) fn open(&self, id: u64, connection: u64, scanner: Box<S>) {
        let mut table = self.lock();
        *table.by_connection.entry(connection).or_default() += 1;
        let state = ScannerState::Idle(scanner);
        table.entries.insert(
            id,
            Entry {
                connection,
                expires: Instant::now() + self.lease,
                state,
                next_call: 0,
                cached_reply: None,
            },
        );
    }

    /// Takes a scanner for the call with this number, if the client numbers its calls. The lease
    /// cannot expire until the scanner is released.
    pub(crate) fn take(&self, id: u64, connection: u64, call: Option<u64>) -> ScannerLookup<S> {
        let mut table = self.lock();
        let lease = self.lease;
        let Some(entry) = table.entries.get_mut(&id) else { return ScannerLookup::Unknown };
        if let (Some(call), Some(kept)) = (call, &entry.cached_reply)
            && kept.call == call
            && !matches!(entry.state, ScannerState::Busy)
        {
            entry.expires = Instant::now() + lease;
            return ScannerLookup::CachedReply(Box::new(kept.reply.clone()));
        }
        match std::mem::replace(&mut entry.state, ScannerState::Busy) {
            ScannerState::Idle(scanner) if call.is_none_or(|call| call == entry.next_call) => {
                entry.next_call += u64::from(call.is_some());
                let before = std::mem::replace(&mut entry.connection, connection);
                let kept = entry.cached_reply.take();
                table.remove_reply(kept);
                table.moved(before, connection);
                ScannerLookup::Scanner(scanner)
            }
            ScannerState::Idle(scanner) => {
                entry.state = ScannerState::Idle(scanner);
                ScannerLookup::OutOfOrder(entry.next_call)
            }
            ScannerState::Busy => ScannerLookup::Busy,
            ScannerState::Ended => {
                entry.state = ScannerState::Ended;
                ScannerLookup::Unknown
            }
        }
    }

    /// Releases a scanner, with the reply to retain if any. `scanner` is `None` if the scanner has
    /// ended.
    pub(crate) fn release(
        &self,
        id: u64,
        scanner: Option<Box<S>>,
        reply: Option<(u64, CellReply)>,
    ) {
        let mut table = self.lock();
        // A scanner closed during the call is dropped.
        let Some(entry) = table.entries.get_mut(&id) else { return };
        entry.expires = Instant::now() + self.lease;
        let ended = scanner.is_none();
        entry.state = scanner.map_or(ScannerState::Ended, ScannerState::Idle);
        let connection = entry.connection;
        if ended {
            table.left(connection);
        }
        let kept = reply.map(|(call, reply)| CachedReply {
            call,
            bytes: reply.bytes(),
            is_last: ended,
            reply,
        });
        match kept.filter(|kept| kept.bytes <= table.reply_cache(ended).max_bytes) {
            Some(kept) => table.cache_reply(id, kept),
            None if ended => drop(table.entries.remove(&id)),
            None => {}
        }
    }

    /// Releases a scanner as if the call with this number had not happened; the client may repeat
    /// it.
    pub(crate) fn restore(&self, id: u64, scanner: Box<S>, call: Option<u64>) {
        if let Some(entry) = self.lock().entries.get_mut(&id) {
            entry.expires = Instant::now() + self.lease;
            entry.next_call = call.unwrap_or(entry.next_call);
            entry.state = ScannerState::Idle(scanner);
        }
    }

    /// Extends the lease of a scanner. Returns `false` if no open scanner has this id.
    pub(crate) fn renew(&self, id: u64) -> bool {
        let mut table = self.lock();
        match table.entries.get_mut(&id) {
            Some(entry) if !matches!(entry.state, ScannerState::Ended) => {
                entry.expires = Instant::now() + self.lease;
                true
            }
            _ => false,
        }
    }

    /// Closes a scanner. Returns `false` if no open scanner has this id.
    pub(crate) fn close_one(&self, id: u64) -> bool {
        // The entry is dropped after the lock is released.
        let removed = self.lock().remove(id);
        removed.is_some_and(|entry| !matches!(entry.state, ScannerState::Ended))
    }

    /// Shortens the leases of the scanners of an ended connection, so that the client can reconnect
    /// for a short time.
    pub(crate) fn connection_ended(&self, connection: u64) {
        let mut table = self.lock();
        if !table.by_connection.contains_key(&connection) {
            return;
        }
        let latest = Instant::now() + ORPHAN_TIMEOUT;
        let of_connection =
            table.entries.values_mut().filter(|entry| entry.connection == connection);
        of_connection.for_each(|entry| entry.expires = entry.expires.min(latest));
    }

    /// Removes expired entries and returns the number of scanners among them. Measures the memory
    /// of the other scanners again: it grows with flushes, even without calls.
    pub(crate) fn expire(&self, now: Instant) -> usize {
        let mut table = self.lock();
        let is_over =
            |entry: &Entry<S>| entry.expires <= now && !matches!(entry.state, ScannerState::Busy);
        let over: Vec<u64> =
            table.entries.iter().filter(|(_, entry)| is_over(entry)).map(|(id, _)| *id).collect();
        let removed: Vec<Entry<S>> = over.into_iter().filter_map(|id| table.remove(id)).collect();
        for entry in table.entries.values_mut() {
            if let ScannerState::Idle(scanner) = &mut entry.state {
                scanner.count_memory();
            }
        }
        drop(table);
        removed.iter().filter(|entry| matches!(entry.state, ScannerState::Idle(_))).count()
    }

    /// Closes expired scanners periodically until shutdown.
    pub(crate) async fn expire_until(&self, shutdown: &mut Shutdown) {
        let period = (self.lease / 4).clamp(Duration::from_millis(10), Duration::from_secs(5));
        loop {
            tokio::select! {
                biased;
                () = tokio::time::sleep(period) => {
                    let expired = self.expire(Instant::now());
                    if expired > 0 {
                        tracing::info!(scanners = expired, "leases have expired");
                    }
                }
                () = shutdown.requested() => return,
            }
        }
    }

    /// Closes all scanners.
    pub(crate) fn close(&self) {
        let mut table = self.lock();
        *table = Table::new(table.open_replies.max_bytes);
    }
}

impl ReplyCache {
    fn is_over(&self) -> bool {
        self.bytes > self.max_bytes || self.queue.len() > MAX_CACHED_REPLIES
    }
}

impl<S> Table<S> {
    fn new(max_cache_bytes: usize) -> Self {
        Self {
            entries: HashMap::new(),
            by_connection: HashMap::new(),
            open_replies: ReplyCache {
                bytes: 0,
                max_bytes: max_cache_bytes,
                queue: VecDeque::new(),
            },
            ended_replies: ReplyCache {
                bytes: 0,
                max_bytes: ENDED_REPLY_CACHE_BYTES,
                queue: VecDeque::new(),
            },
        }
    }

    fn reply_cache(&mut self, of_ended: bool) -> &mut ReplyCache {
        if of_ended { &mut self.ended_replies } else { &mut self.open_replies }
    }

    fn remove(&mut self, id: u64) -> Option<Entry<S>> {
        let mut entry = self.entries.remove(&id)?;
        let kept = entry.cached_reply.take();
        self.remove_reply(kept);
        if !matches!(entry.state, ScannerState::Ended) {
            self.left(entry.connection);
        }
        Some(entry)
    }

    /// Retains the last reply of a scanner, and evicts the oldest replies over the limit.
    fn cache_reply(&mut self, id: u64, kept: CachedReply) {
        let of_ended = kept.is_last;
        let replies = self.reply_cache(of_ended);
        replies.bytes += kept.bytes;
        replies.queue.push_back((id, kept.call));
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.cached_reply = Some(kept);
        }
        while self.reply_cache(of_ended).is_over() {
            let Some((id, call)) = self.reply_cache(of_ended).queue.pop_front() else { return };
            let Some(entry) = self
                .entries
                .get_mut(&id)
                .filter(|entry| entry.cached_reply.as_ref().is_some_and(|kept| kept.call == call))
            else {
                continue;
            };
            let (kept, is_over) =
                (entry.cached_reply.take(), matches!(entry.state, ScannerState::Ended));
            self.remove_reply(kept);
            if is_over {
                self.entries.remove(&id);
            }
        }
    }

    fn remove_reply(&mut self, kept: Option<CachedReply>) {
        if let Some(kept) = kept {
            self.reply_cache(kept.is_last).bytes -= kept.bytes;
        }
    }

    /// Records that a connection has one scanner less.
    fn left(&mut self, connection: u64) {
        if let Some(count) = self.by_connection.get_mut(&connection) {
            *count -= 1;
            if *count == 0 {
                self.by_connection.remove(&connection);
            }
        }
    }

    fn moved(&mut self, from: u64, to: u64) {
        if from != to {
            self.left(from);
            *self.by_connection.entry(to).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scanner that does nothing.
    struct Idle;

    impl HeldScanner for Idle {
        fn count_memory(&mut self) {}
    }

    fn reply(id: u64) -> CellReply {
        let message =
            halite_wire::proto::ScanResponse { scanner_id: Some(id), ..Default::default() };
        CellReply { message: Arc::new(message), cells: Arc::default() }
    }

    #[test]
    fn repeated_scanner_call_receives_cached_reply() {
        let registry = ScannerRegistry::new(&Limits::default(), 0);
        let id = registry.new_id();
        registry.open(id, 1, Box::new(Idle));
        let ScannerLookup::Scanner(scanner) = registry.take(id, 1, Some(0)) else {
            panic!("the scanner is not idle")
        };
        assert!(matches!(registry.take(id, 1, Some(1)), ScannerLookup::Busy));
        registry.release(id, Some(scanner), Some((0, reply(id))));
        let ScannerLookup::CachedReply(kept) = registry.take(id, 1, Some(0)) else {
            panic!("the reply is not retained")
        };
        assert_eq!(kept.message.scanner_id, Some(id));
        assert!(matches!(registry.take(id, 1, Some(5)), ScannerLookup::OutOfOrder(1)));

        // A call that did not happen may be repeated, and has no reply.
        let ScannerLookup::Scanner(scanner) = registry.take(id, 1, Some(1)) else {
            panic!("the scanner is not idle")
        };
        registry.restore(id, scanner, Some(1));
        assert!(matches!(registry.take(id, 1, Some(1)), ScannerLookup::Scanner(_)));

        // The last reply of an ended scanner is retained too, and it is no longer open.
        registry.release(id, None, Some((1, reply(id))));
        assert_eq!(registry.len(), 0);
        assert!(matches!(registry.take(id, 1, Some(1)), ScannerLookup::CachedReply(_)));
        assert!(matches!(registry.take(id, 1, Some(2)), ScannerLookup::Unknown));
        assert!(registry.is_own(id) && !registry.is_own(id + 1) && !registry.close_one(id));
    }

    #[test]
    fn lease_expires_unless_call_uses_scanner() {
        let registry = ScannerRegistry::new(&Limits::default(), 0);
        let (used, idle) = (registry.new_id(), registry.new_id());
        for id in [used, idle] {
            registry.open(id, 7, Box::new(Idle));
        }
        let taken = registry.take(used, 7, None);
        let late = Instant::now() + registry.lease * 2;
        assert_eq!((registry.expire(Instant::now()), registry.expire(late)), (0, 1));
        assert!(matches!(registry.take(idle, 7, None), ScannerLookup::Unknown));
        let ScannerLookup::Scanner(scanner) = taken else { panic!("the scanner is not idle") };
        registry.release(used, Some(scanner), None);
        assert_eq!(registry.len(), 1);
    }
}
