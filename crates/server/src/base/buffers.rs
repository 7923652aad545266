//! Limits on memory held for clients: one for the partially received requests and unsent responses
//! of all connections (network buffers), and one for open scanners.
//!
//! Memory is shared by dynamic thresholds. An address may hold at most half of the memory that the
//! other addresses leave free. A connection may hold half of the part of it that the other
//! connections of its address leave free. The buffers of a client that does not read its responses
//! therefore stop growing while memory remains for the next client. Ten such addresses leave about
//! a twentieth of the memory for the next address. The first [`FLOOR_BYTES`] of each connection are
//! not counted, so small calls are always served.
//!
//! Limits are checked before each unit of work, so they are exceeded by at most one unit per
//! thread.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering, Ordering::Relaxed, fence};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::config::Limits;

/// Bytes of each connection that are not counted.
pub(crate) const FLOOR_BYTES: usize = 64 << 10;

/// Network buffers of all connections.
#[derive(Debug)]
pub(crate) struct Buffers {
    max_bytes: usize,
    max_address_bytes: usize,
    max_address_connections: usize,
    used: AtomicUsize,
    addresses: Mutex<HashMap<IpAddr, Arc<Address>>>,
    waiters: Mutex<Waiters>,
    /// Number of waiters.
    waiting: AtomicUsize,
    /// Permit to exceed a share; one connection holds it at a time.
    turn: Arc<Semaphore>,
}

/// Connections of one address.
#[derive(Debug, Default)]
struct Address {
    /// Changed only while the map of addresses is locked.
    connections: AtomicUsize,
    used: AtomicUsize,
}

/// Buffers of one connection.
#[derive(Debug)]
pub(crate) struct Account {
    buffers: Arc<Buffers>,
    key: IpAddr,
    address: Arc<Address>,
    used: AtomicUsize,
    /// Bytes of `used` that were received and not parsed.
    received: AtomicUsize,
}

/// Condition that a connection or call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitReason {
    /// [`Account::has_room`].
    Room,
    /// [`Account::share_left`] is above zero.
    Share,
    /// [`Account::has_room_in_turn`].
    Turn,
}

#[derive(Debug)]
struct Waiter {
    account: Arc<Account>,
    reason: WaitReason,
    /// Notified when the waiter may continue.
    woken: Notify,
}

/// Waiters for released bytes, by address. The key `None` is for the holder of the turn, which
/// waits for the memory shared by all connections.
#[derive(Debug, Default)]
struct Waiters {
    made: u64,
    groups: HashMap<Option<IpAddr>, BTreeMap<u64, Arc<Waiter>>>,
}

/// Bytes held by one buffer, released when dropped.
#[derive(Debug)]
pub(crate) struct MemoryReservation {
    account: Arc<Account>,
    bytes: usize,
}

impl Buffers {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Self::with_limits(
            limits.max_network_buffer_bytes,
            limits.max_address_buffer_bytes,
            limits.max_connections_per_address,
        )
    }

    /// Returns the limit on memory for open scanners.
    pub(crate) fn for_scanners(limits: &Limits) -> Arc<Self> {
        Self::with_limits(limits.max_scanner_bytes, usize::MAX, usize::MAX)
    }

    /// Returns a limit on connections per address only, without a limit on memory.
    pub(crate) fn for_connections(max_address_connections: usize) -> Arc<Self> {
        Self::with_limits(usize::MAX, usize::MAX, max_address_connections)
    }

    fn with_limits(
        max_bytes: usize,
        max_address_bytes: usize,
        max_address_connections: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            max_bytes,
            max_address_bytes,
            max_address_connections,
            used: AtomicUsize::new(0),
            addresses: Mutex::default(),
            waiters: Mutex::default(),
            waiting: AtomicUsize::new(0),
            turn: Arc::new(Semaphore::new(1)),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Arc<Address>>> {
        self.addresses.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Opens the account of a new connection. Returns `None` if its address already has the maximum
    /// number of connections.
    pub(crate) fn connect(self: &Arc<Self>, address: IpAddr) -> Option<Arc<Account>> {
        let key = network(address);
        let mut addresses = self.lock();
        let address = Arc::clone(addresses.entry(key).or_default());
        if address.connections.load(Relaxed) >= self.max_address_connections {
            return None;
        }
        address.connections.fetch_add(1, Relaxed);
        drop(addresses);
        Some(Arc::new(Account {
            buffers: Arc::clone(self),
            key,
            address,
            used: AtomicUsize::new(0),
            received: AtomicUsize::new(0),
        }))
    }

    /// Returns the counted bytes of all connections.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    fn is_full(&self) -> bool {
        self.used() >= self.max_bytes
    }

    /// Returns the number of connections and calls that wait for released bytes.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Wakes only the waiters that may continue after `released` has released bytes. An address
    /// over its share may have thousands of waiters.
    fn wake(&self, released: &Account) {
        let waiters = self.waiters();
        for (key, group) in &waiters.groups {
            let may_be = match (key, group.values().next()) {
                (None, _) => !self.is_full(),
                (Some(key), Some(first)) => {
                    first.account.address_has_room()
                        || *key == released.key && released.used() < FLOOR_BYTES
                }
                (Some(_), None) => false,
            };
            if may_be {
                group
                    .values()
                    .filter(|waiter| waiter.may_continue())
                    .for_each(|waiter| waiter.woken.notify_one());
            }
        }
    }
}

impl Waiter {
    fn may_continue(&self) -> bool {
        match self.reason {
            WaitReason::Room => self.account.has_room(),
            WaitReason::Share => self.account.share_left() > 0,
            WaitReason::Turn => self.account.has_room_in_turn(),
        }
    }
}

/// Returns the unit that address limits apply to: an IPv4 address, or the /64 network of an IPv6
/// address, which may belong to one host.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) & !u128::from(u64::MAX)).into()),
        address @ IpAddr::V4(_) => address,
    }
}

impl Account {
    /// Returns the bytes held by the connection.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// Records the number of held bytes that were received and not parsed.
    pub(crate) fn record_received(&self, bytes: usize) {
        self.received.store(bytes, Relaxed);
    }

    /// Returns the bytes of responses.
    pub(crate) fn unsent(&self) -> usize {
        self.used().saturating_sub(self.received.load(Relaxed))
    }

    /// Returns the bytes that the connection may still take without exceeding its share.
    pub(crate) fn share_left(&self) -> usize {
        let (of_address, of_address_max) = self.address_usage();
        let own = counted(self.used());
        let own_max = of_address_max.saturating_sub(of_address.saturating_sub(own)) / 2;
        own_max.saturating_sub(own)
    }

    /// Returns the counted bytes of the address and its limit.
    fn address_usage(&self) -> (usize, usize) {
        let buffers = &self.buffers;
        let (all, of_address) = (buffers.used(), self.address.used.load(Relaxed));
        (
            of_address,
            (buffers.max_bytes.saturating_sub(all.saturating_sub(of_address)) / 2)
                .min(buffers.max_address_bytes),
        )
    }

    /// Returns `true` if a connection of the address can have a share left.
    fn address_has_room(&self) -> bool {
        let (of_address, of_address_max) = self.address_usage();
        of_address < of_address_max
    }

    /// Returns `true` if the connection may start a call that is answered from memory, or receive
    /// more of a request.
    pub(crate) fn has_room(&self) -> bool {
        self.used() < FLOOR_BYTES || self.share_left() > 0
    }

    /// Returns `true` if the connection may take `bytes` more: within its share, or as its first
    /// bytes while the memory shared by all connections suffices.
    pub(crate) fn may_take(&self, bytes: usize) -> bool {
        let floor_left = FLOOR_BYTES.saturating_sub(self.used());
        let is_first =
            floor_left > 0 && self.buffers.used().saturating_add(bytes) <= self.buffers.max_bytes;
        is_first || bytes <= self.share_left().saturating_add(floor_left)
    }

    /// Waits for the permit to receive one request beyond the share. Large requests that together
    /// exceed their shares are received one at a time. Returns `None` when the server shuts down.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.buffers.turn).acquire_owned().await.ok()
    }

    /// Returns `true` if the connection that holds the turn may receive more.
    pub(crate) fn has_room_in_turn(&self) -> bool {
        !self.buffers.is_full()
    }

    /// Waits until [`Account::has_room`].
    pub(crate) async fn room(self: &Arc<Self>) {
        self.wait(WaitReason::Room).await;
    }

    /// Waits until [`Account::has_room_in_turn`].
    pub(crate) async fn room_in_turn(self: &Arc<Self>) {
        self.wait(WaitReason::Turn).await;
    }

    /// Waits until the connection has a share left.
    pub(crate) async fn share(self: &Arc<Self>) {
        self.wait(WaitReason::Share).await;
    }

    async fn wait(self: &Arc<Self>, need: WaitReason) {
        let waiter =
            Arc::new(Waiter { account: Arc::clone(self), reason: need, woken: Notify::new() });
        if waiter.may_continue() {
            return;
        }
        let waiting = WaiterGuard::new(waiter);
        while !waiting.waiter.may_continue() {
            waiting.waiter.woken.notified().await;
        }
    }

    fn add(&self, bytes: usize) {
        let before = self.used.fetch_add(bytes, Relaxed);
        let more = counted(before + bytes) - counted(before);
        if more > 0 {
            self.address.used.fetch_add(more, Relaxed);
            self.buffers.used.fetch_add(more, Relaxed);
        }
    }

    fn release(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Relaxed);
        let less = counted(before) - counted(before - bytes);
        if less > 0 {
            self.address.used.fetch_sub(less, Relaxed);
            self.buffers.used.fetch_sub(less, Relaxed);
        }
        // Bytes below the floor are not part of a share, so their release wakes no waiter.
        if bytes > 0 && before >= FLOOR_BYTES {
            // Pairs with the fence in `WaiterGuard::new`.
            fence(Ordering::SeqCst);
            if self.buffers.waiting() > 0 {
                self.buffers.wake(self);
            }
        }
    }
}

fn counted(bytes: usize) -> usize {
    bytes.saturating_sub(FLOOR_BYTES)
}

impl Drop for Account {
    fn drop(&mut self) {
        let mut addresses = self.buffers.lock();
        if self.address.connections.fetch_sub(1, Relaxed) == 1 {
            addresses.remove(&self.key);
        }
    }
}

/// Registration of a waiter, removed when dropped.
struct WaiterGuard {
    waiter: Arc<Waiter>,
    number: u64,
}

impl WaiterGuard {
    fn new(waiter: Arc<Waiter>) -> Self {
        let buffers = Arc::clone(&waiter.account.buffers);
        let mut waiters = buffers.waiters();
        waiters.made += 1;
        let number = waiters.made;
        let waiting = Self { waiter, number };
        waiters
            .groups
            .entry(waiting.group())
            .or_default()
            .insert(number, Arc::clone(&waiting.waiter));
        buffers.waiting.fetch_add(1, Relaxed);
        drop(waiters);
        // Orders the registration before the check of used bytes: either the check sees a release,
        // or the release sees this waiter.
        fence(Ordering::SeqCst);
        waiting
    }

    fn group(&self) -> Option<IpAddr> {
        (self.waiter.reason != WaitReason::Turn).then_some(self.waiter.account.key)
    }
}

impl Drop for WaiterGuard {
    fn drop(&mut self) {
        let buffers = &self.waiter.account.buffers;
        let (mut waiters, group) = (buffers.waiters(), self.group());
        if let Some(all) = waiters.groups.get_mut(&group) {
            all.remove(&self.number);
            if all.is_empty() {
                waiters.groups.remove(&group);
            }
        }
        buffers.waiting.fetch_sub(1, Relaxed);
    }
}

impl MemoryReservation {
    /// Returns an empty reservation.
    pub(crate) fn new(account: &Arc<Account>) -> Self {
        Self { account: Arc::clone(account), bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// Grows or shrinks the reservation to `bytes`.
    pub(crate) fn set(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        if bytes > before {
            self.account.add(bytes - before);
        } else if bytes < before {
            self.account.release(before - bytes);
        }
    }

    /// Takes over the bytes of another buffer of the same connection.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: usize = 64 << 20;

    fn buffers(change: impl FnOnce(&mut Limits)) -> Arc<Buffers> {
        let mut limits = Limits {
            max_network_buffer_bytes: TOTAL,
            max_address_buffer_bytes: TOTAL,
            ..Limits::default()
        };
        change(&mut limits);
        Buffers::new(&limits)
    }

    fn address(number: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, number])
    }

    /// Opens a connection that takes all bytes allowed, in parts.
    fn hog(buffers: &Arc<Buffers>, from: u8) -> MemoryReservation {
        let mut held = MemoryReservation::new(&buffers.connect(address(from)).unwrap());
        while held.account.has_room() {
            held.set(held.bytes() + FLOOR_BYTES / 4);
        }
        held
    }

    #[test]
    fn one_connection_uses_at_most_a_quarter() {
        let buffers = buffers(|_| ());
        let hog = hog(&buffers, 1);
        assert!((TOTAL / 4..TOTAL / 4 + 2 * FLOOR_BYTES).contains(&hog.bytes()), "{}", hog.bytes());
        assert_eq!(buffers.used(), hog.bytes() - FLOOR_BYTES);
        drop(hog);
        assert_eq!((buffers.used(), buffers.lock().len()), (0, 0));
    }

    #[test]
    fn connections_of_one_address_use_at_most_half() {
        let buffers = buffers(|_| ());
        let hogs: Vec<MemoryReservation> = (0..100).map(|_| hog(&buffers, 1)).collect();
        assert!(buffers.used() <= TOTAL / 2 + 100 * FLOOR_BYTES / 4, "{}", buffers.used());
        let other = buffers.connect(address(2)).unwrap();
        assert!(other.share_left() >= TOTAL / 8, "{}", other.share_left());
        // Another connection of the same address still starts small calls.
        let same = buffers.connect(address(1)).unwrap();
        assert!(same.has_room());
        drop(hogs);
        assert_eq!(buffers.used(), 0);
    }

    #[test]
    fn ten_addresses_leave_room_for_another() {
        let buffers = buffers(|_| ());
        let hogs: Vec<MemoryReservation> = (0..10).map(|from| hog(&buffers, from)).collect();
        assert!(buffers.used() < TOTAL / 20 * 19, "{}", buffers.used());
        assert!(buffers.connect(address(99)).unwrap().share_left() > TOTAL / 100);
        drop(hogs);
    }

    #[test]
    fn address_has_byte_and_connection_limits() {
        let buffers = buffers(|limits| {
            (limits.max_address_buffer_bytes, limits.max_connections_per_address) = (1 << 20, 2);
        });
        let held = hog(&buffers, 1);
        assert!(held.bytes() <= (1 << 19) + 2 * FLOOR_BYTES, "{}", held.bytes());
        let second = buffers.connect(address(1)).unwrap();
        assert!(buffers.connect(address(1)).is_none());
        assert!(buffers.connect(address(2)).is_some());
        drop(second);
        assert!(buffers.connect(address(1)).is_some());
    }

    #[test]
    fn ipv6_network_counts_as_one_address() {
        let parse = |text: &str| network(text.parse().unwrap());
        assert_eq!(parse("2001:db8::1"), parse("2001:db8::ffff:1"));
        assert_ne!(parse("2001:db8::1"), parse("2001:db8:0:1::1"));
        assert_eq!(parse("::ffff:10.0.0.1"), parse("10.0.0.1"));
    }

    #[test]
    fn first_large_object_is_accepted_beyond_share() {
        let buffers = buffers(|_| ());
        let mut held = MemoryReservation::new(&buffers.connect(address(1)).unwrap());
        assert!(held.account.may_take(TOTAL) && !held.account.may_take(TOTAL + 1));
        held.set(TOTAL / 2);
        assert!(!held.account.may_take(1 << 20));
        let other = buffers.connect(address(2)).unwrap();
        assert!(other.may_take(TOTAL / 2) && !other.may_take(TOTAL / 2 + (1 << 20)));
    }

    #[tokio::test]
    async fn waiters_continue_when_bytes_are_released() {
        let buffers = buffers(|_| ());
        let mut hog = hog(&buffers, 1);
        let account = Arc::clone(&hog.account);
        let waiter = tokio::spawn(async move { account.share().await });
        while buffers.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        hog.set(0);
        waiter.await.unwrap();
        assert_eq!(buffers.waiting(), 0);
    }

    /// Counts wake-ups.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl std::task::Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn blocked_waiter_is_not_woken() {
        let buffers = buffers(|_| ());
        let mut hogs: Vec<MemoryReservation> = (0..100).map(|_| hog(&buffers, 1)).collect();
        let mut other = hog(&buffers, 2);
        let (account, wakes) = (Arc::clone(&hogs[0].account), Arc::new(Wakes::default()));
        let (waker, mut waiting) =
            (std::task::Waker::from(Arc::clone(&wakes)), std::pin::pin!(account.share()));
        let mut task = std::task::Context::from_waker(&waker);
        let mut small = MemoryReservation::new(&buffers.connect(address(1)).unwrap());
        for _ in 0..1000 {
            assert!(waiting.as_mut().poll(&mut task).is_pending());
            // Bytes below the floor are not part of a share. Bytes released by another address do
            // not bring this address below its limit.
            small.set(10);
            small.set(0);
            other.set(other.bytes() - FLOOR_BYTES);
            other.set(other.bytes() + FLOOR_BYTES);
        }
        assert_eq!(wakes.0.load(Relaxed), 0);
        hogs.clear();
        assert_eq!(wakes.0.load(Relaxed), 1);
        assert!(waiting.as_mut().poll(&mut task).is_ready());
    }

    #[test]
    fn waiter_is_woken_when_below_floor() {
        let buffers = buffers(|_| ());
        let _hogs: Vec<MemoryReservation> = (0..100).map(|_| hog(&buffers, 1)).collect();
        let mut held = MemoryReservation::new(&buffers.connect(address(1)).unwrap());
        held.set(FLOOR_BYTES);
        let (account, wakes) = (Arc::clone(&held.account), Arc::new(Wakes::default()));
        let (waker, mut waiting) =
            (std::task::Waker::from(Arc::clone(&wakes)), std::pin::pin!(account.room()));
        assert!(waiting.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
        held.set(FLOOR_BYTES - 1);
        assert_eq!(wakes.0.load(Relaxed), 1);
        assert!(waiting.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_ready());
    }
}
