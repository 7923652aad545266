//! The scanners that are open, under leases: whoever asks for nothing for too long loses his.
//!
//! A scanner's id is a count and a digest of it under a secret. So nobody guesses another client's scanner, and of any
//! id the server knows whether it ever gave it out, without remembering those that have ended: to close such a one does
//! no harm, as it does none in HBase while that remembers it.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use halite_types::Cells;
use halite_wire::proto::Cell;

use crate::client_service::scan::OpenScanner;
use crate::config::Limits;
use crate::outside::Instant;
use crate::shutdown::Shutdown;

/// How long the scanners of a connection that has ended wait for their client to come back.
const ORPHAN: Duration = Duration::from_secs(10);
/// The last reply to each scanner is kept for a client that asks for the same rows again, as many as fit; the oldest go, and
/// whose reply has gone begins a new scanner behind the last row it has. Replies to open scanners may take this share of
/// the memory for memstores and blocks, and at least so many bytes; each goes when the next rows are asked for.
const KEPT_SHARE: u64 = 32;
const KEPT_BYTES_MIN: usize = 8 << 20;
/// Those that ended a scanner stay for the time of a lease, though hardly anybody asks for them again: they get no more.
const KEPT_BYTES_OF_ENDED: usize = KEPT_BYTES_MIN;
/// Replies of either kind.
const KEPT_REPLIES_MAX: usize = 1 << 14;

/// The table of scanners.
pub(crate) struct Scanners {
    table: Mutex<Table>,
    count: AtomicU32,
    secret: RandomState,
    lease: Duration,
    connection_max: usize,
}

struct Table {
    entries: HashMap<u64, Entry>,
    /// Open scanners by connection.
    by_connection: HashMap<u64, usize>,
    /// The last replies to scanners that are open, and to those that have come to their end.
    kept_of_open: KeptReplies,
    kept_of_ended: KeptReplies,
}

/// What last replies take, and may.
struct KeptReplies {
    bytes: usize,
    bytes_max: usize,
    /// Their scanners with the numbers of the calls, the oldest first. Some are not kept any more.
    queue: VecDeque<(u64, u64)>,
}

struct Entry {
    connection: u64,
    expires: Instant,
    state: State,
    /// The number the client gives to its next call.
    next_call: u64,
    kept: Option<Kept>,
}

enum State {
    Idle(Box<OpenScanner>),
    /// A call is using it.
    Busy,
    /// It has come to its end, and only its last reply is left.
    Ended,
}

/// The answer to a `next`, to be given again if it is asked for again.
#[derive(Clone)]
pub(crate) struct Kept {
    call: u64,
    /// What it takes in memory.
    bytes: usize,
    /// Whether the scanner had come to its end with it.
    is_last: bool,
    /// The frame, which still has to be given the id of the call.
    pub(crate) reply: KeptReply,
}

/// A message and the cells behind it, on their way to the client and kept.
#[derive(Clone)]
pub(crate) struct KeptReply {
    pub(crate) message: Arc<halite_wire::proto::ScanResponse>,
    pub(crate) cells: Arc<[Cells]>,
}

/// What a client gets that asks for a scanner.
pub(crate) enum Found {
    /// The scanner, to be given back.
    Scanner(Box<OpenScanner>),
    /// What the same call was answered before.
    Again(Box<KeptReply>),
    /// Another number was expected: this one.
    OutOfOrder(u64),
    /// Another call is using it.
    Busy,
    /// There is none of this id, or no longer.
    Unknown,
}

impl KeptReply {
    /// What it takes in memory, about: of small rows their bytes are the lesser part.
    fn bytes(&self) -> usize {
        let cell = |cell: &Cell| cell.value.as_ref().map_or(0, Bytes::len) + size_of::<Cell>();
        let inline = self.message.results.iter().map(|result| result.cell.iter().map(cell).sum::<usize>() + size_of_val(result));
        let rows = self.cells.iter().map(|cells| cells.bytes().len() + size_of_val(cells));
        inline.sum::<usize>() + rows.sum::<usize>() + size_of::<Entry>() + size_of_val(self)
    }
}

impl Scanners {
    /// None yet, in a process that has so many bytes for memstores and blocks.
    pub(crate) fn new(limits: &Limits, memory_bytes: u64) -> Self {
        let kept_bytes_max = usize::try_from(memory_bytes / KEPT_SHARE).unwrap_or(usize::MAX).max(KEPT_BYTES_MIN);
        Self {
            table: Mutex::new(Table::new(kept_bytes_max)),
            count: AtomicU32::new(1),
            secret: RandomState::new(),
            lease: Duration::from_millis(limits.scanner_lease_ms),
            connection_max: limits.connection_scanners_max,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An id that no scanner had yet, positive for Java.
    pub(crate) fn new_id(&self) -> u64 {
        self.id_of(self.count.fetch_add(1, Ordering::Relaxed) & 0x7fff_ffff)
    }

    fn id_of(&self, count: u32) -> u64 {
        u64::from(count) << 32 | self.secret.hash_one(count) & 0xffff_ffff
    }

    /// Whether this server gave out that id.
    pub(crate) fn is_own(&self, id: u64) -> bool {
        u32::try_from(id >> 32).is_ok_and(|count| count > 0 && self.id_of(count) == id)
    }

    /// Scanners that are open.
    pub(crate) fn len(&self) -> usize {
        self.lock().by_connection.values().sum()
    }

    /// Whether the connection has all the scanners it may have.
    pub(crate) fn is_full(&self, connection: u64) -> bool {
        self.lock().by_connection.get(&connection).is_some_and(|count| *count >= self.connection_max)
    }

    /// Puts a new scanner under a lease.
    pub(crate) fn open(&self, id: u64, connection: u64, scanner: Box<OpenScanner>) {
        let mut table = self.lock();
        *table.by_connection.entry(connection).or_default() += 1;
        let state = State::Idle(scanner);
        table.entries.insert(id, Entry { connection, expires: Instant::now() + self.lease, state, next_call: 0, kept: None });
    }

    /// Takes a scanner for the call with this number, if the client numbers its calls. Its lease rests meanwhile.
    pub(crate) fn take(&self, id: u64, connection: u64, call: Option<u64>) -> Found {
        let mut table = self.lock();
        let lease = self.lease;
        let Some(entry) = table.entries.get_mut(&id) else { return Found::Unknown };
        if let (Some(call), Some(kept)) = (call, &entry.kept)
            && kept.call == call
            && !matches!(entry.state, State::Busy)
        {
            entry.expires = Instant::now() + lease;
            return Found::Again(Box::new(kept.reply.clone()));
        }
        match std::mem::replace(&mut entry.state, State::Busy) {
            State::Idle(scanner) if call.is_none_or(|call| call == entry.next_call) => {
                entry.next_call += u64::from(call.is_some());
                let before = std::mem::replace(&mut entry.connection, connection);
                let kept = entry.kept.take();
                table.forget(kept);
                table.moved(before, connection);
                Found::Scanner(scanner)
            }
            State::Idle(scanner) => {
                entry.state = State::Idle(scanner);
                Found::OutOfOrder(entry.next_call)
            }
            State::Busy => Found::Busy,
            State::Ended => {
                entry.state = State::Ended;
                Found::Unknown
            }
        }
    }

    /// Gives a scanner back, with the reply that goes to the client, if that should be kept. `None` for a scanner that has
    /// come to its end.
    pub(crate) fn give_back(&self, id: u64, scanner: Option<Box<OpenScanner>>, reply: Option<(u64, KeptReply)>) {
        let mut table = self.lock();
        // It may have been closed meanwhile; then it goes.
        let Some(entry) = table.entries.get_mut(&id) else { return };
        entry.expires = Instant::now() + self.lease;
        let ended = scanner.is_none();
        entry.state = scanner.map_or(State::Ended, State::Idle);
        let connection = entry.connection;
        if ended {
            table.left(connection);
        }
        let kept = reply.map(|(call, reply)| Kept { call, bytes: reply.bytes(), is_last: ended, reply });
        match kept.filter(|kept| kept.bytes <= table.kept(ended).bytes_max) {
            Some(kept) => table.keep(id, kept),
            None if ended => drop(table.entries.remove(&id)),
            None => {}
        }
    }

    /// Gives a scanner back as if the call with this number had not been: it may come again.
    pub(crate) fn put_back(&self, id: u64, scanner: Box<OpenScanner>, call: Option<u64>) {
        if let Some(entry) = self.lock().entries.get_mut(&id) {
            entry.expires = Instant::now() + self.lease;
            entry.next_call = call.unwrap_or(entry.next_call);
            entry.state = State::Idle(scanner);
        }
    }

    /// Extends the lease of a scanner; false if there is none of this id.
    pub(crate) fn renew(&self, id: u64) -> bool {
        let mut table = self.lock();
        match table.entries.get_mut(&id) {
            Some(entry) if !matches!(entry.state, State::Ended) => {
                entry.expires = Instant::now() + self.lease;
                true
            }
            _ => false,
        }
    }

    /// Closes a scanner; false if there was none of this id.
    pub(crate) fn close_one(&self, id: u64) -> bool {
        // What it holds goes after the table is free again.
        let removed = self.lock().remove(id);
        removed.is_some_and(|entry| !matches!(entry.state, State::Ended))
    }

    /// The client of a connection has gone; its scanners wait a little for it to come back with another.
    pub(crate) fn connection_ended(&self, connection: u64) {
        let mut table = self.lock();
        if !table.by_connection.contains_key(&connection) {
            return;
        }
        let latest = Instant::now() + ORPHAN;
        let of_connection = table.entries.values_mut().filter(|entry| entry.connection == connection);
        of_connection.for_each(|entry| entry.expires = entry.expires.min(latest));
    }

    /// Takes away what has expired; how many scanners that were. What is kept for the others is counted anew: it grows by flushes, whether
    /// or not anybody asks the scanner.
    pub(crate) fn expire(&self, now: Instant) -> usize {
        let mut table = self.lock();
        let is_over = |entry: &Entry| entry.expires <= now && !matches!(entry.state, State::Busy);
        let over: Vec<u64> = table.entries.iter().filter(|(_, entry)| is_over(entry)).map(|(id, _)| *id).collect();
        let removed: Vec<Entry> = over.into_iter().filter_map(|id| table.remove(id)).collect();
        for entry in table.entries.values_mut() {
            if let State::Idle(scanner) = &mut entry.state {
                scanner.count_memory();
            }
        }
        drop(table);
        removed.iter().filter(|entry| matches!(entry.state, State::Idle(_))).count()
    }

    /// Looks for expired leases until everything is to end.
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
        *table = Table::new(table.kept_of_open.bytes_max);
    }
}

impl KeptReplies {
    fn is_over(&self) -> bool {
        self.bytes > self.bytes_max || self.queue.len() > KEPT_REPLIES_MAX
    }
}

impl Table {
    fn new(kept_bytes_max: usize) -> Self {
        Self {
            entries: HashMap::new(),
            by_connection: HashMap::new(),
            kept_of_open: KeptReplies { bytes: 0, bytes_max: kept_bytes_max, queue: VecDeque::new() },
            kept_of_ended: KeptReplies { bytes: 0, bytes_max: KEPT_BYTES_OF_ENDED, queue: VecDeque::new() },
        }
    }

    fn kept(&mut self, of_ended: bool) -> &mut KeptReplies {
        if of_ended { &mut self.kept_of_ended } else { &mut self.kept_of_open }
    }

    fn remove(&mut self, id: u64) -> Option<Entry> {
        let mut entry = self.entries.remove(&id)?;
        let kept = entry.kept.take();
        self.forget(kept);
        if !matches!(entry.state, State::Ended) {
            self.left(entry.connection);
        }
        Some(entry)
    }

    /// Keeps the last reply of a scanner, and no more than fits of the older ones.
    fn keep(&mut self, id: u64, kept: Kept) {
        let of_ended = kept.is_last;
        let replies = self.kept(of_ended);
        replies.bytes += kept.bytes;
        replies.queue.push_back((id, kept.call));
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.kept = Some(kept);
        }
        while self.kept(of_ended).is_over() {
            let Some((id, call)) = self.kept(of_ended).queue.pop_front() else { return };
            let Some(entry) = self.entries.get_mut(&id).filter(|entry| entry.kept.as_ref().is_some_and(|kept| kept.call == call)) else { continue };
            let (kept, is_over) = (entry.kept.take(), matches!(entry.state, State::Ended));
            self.forget(kept);
            if is_over {
                self.entries.remove(&id);
            }
        }
    }

    fn forget(&mut self, kept: Option<Kept>) {
        if let Some(kept) = kept {
            self.kept(kept.is_last).bytes -= kept.bytes;
        }
    }

    /// A connection has one scanner less.
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
