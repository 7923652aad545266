//! Disk space accounting, and admission of writes when space runs low.
//!
//! ```text
//! free bytes   |<---------- reserve ---------->|<---------- the rest ---------->|
//!              | log, manifest |    flushes    | writes of callers, compactions |
//! ```
//! Each kind of write is admitted or continues as long as more space is free than is to its left
//! here. Flushes release log segments, and dropping a table changes the manifest: an operation that
//! frees space must not fail for lack of space.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use halite_types::{Error, ErrorKind, Result};

use crate::env::{DiskSpace, Env};
use crate::heal::Healed;

/// Default reserve as a fraction of the disk, and its maximum.
const RESERVE_PART: u64 = 20;
const MAX_RESERVE_BYTES: u64 = 1 << 30;
/// Fraction and maximum for small disks, which need a larger share: the last log segment and the
/// file of a memstore must fit.
const SMALL_DISK_RESERVE_PART: u64 = 4;
const MAX_SMALL_DISK_RESERVE_BYTES: u64 = 192 << 20;

/// Minimum log segment size when the reserve limits it.
const MIN_SEGMENT_BYTES: u64 = 64 << 10;

/// Fraction of the reserve that flushes leave to the log and the manifest.
const LOG_PART: u64 = 4;
/// Maximum ratio of cell bytes to file bytes: cells are compressed, or hidden by other cells.
const MAX_SHRINK_FACTOR: u64 = 4;

/// Maximum age of a disk check that a rejected write relies on, in nanoseconds.
const REFRESH_INTERVAL_NS: u64 = 100_000_000;

/// Disk space of a store.
pub(crate) struct DiskRoom {
    env: Env,
    /// Bytes kept free; `None` for a fraction of the disk.
    reserve_bytes: Option<u64>,
    /// True if less than the reserve is free.
    is_low: AtomicBool,
    refreshed_ns: AtomicU64,
    /// Bytes that flushes could write at the last check, and the reserve at that time.
    flushable: AtomicU64,
    reserve: AtomicU64,
    state: Mutex<DiskState>,
}

#[derive(Default)]
struct DiskState {
    space: Option<DiskSpace>,
    /// Bytes that running compactions may still write.
    claimed: u64,
    /// Last flush that did not fit: bytes of its cells, and the free bytes before it.
    unfit_flush: Option<(u64, u64)>,
}

/// Returns the bytes that the callers of a store in an environment could write, with the default
/// reserve. `None` if the free space is unknown.
pub fn writable_bytes(env: &Env) -> Option<u64> {
    let room = DiskRoom::new(env, None);
    room.space().map(|space| space.free_bytes.saturating_sub(room.reserve_of(space)))
}

/// Bytes of a file after which its writer calls [`DiskRoom::check_file`] again.
pub(crate) const CHECK_INTERVAL_BYTES: u64 = 4 << 20;

/// Space reservation of a compaction or of copies, released on drop.
pub(crate) struct Claim<'a> {
    room: &'a DiskRoom,
    bytes: u64,
}

impl DiskRoom {
    pub(crate) fn new(env: &Env, reserve_bytes: Option<u64>) -> Self {
        let room = Self {
            env: env.clone(),
            reserve_bytes,
            is_low: AtomicBool::new(false),
            refreshed_ns: AtomicU64::new(0),
            flushable: AtomicU64::new(u64::MAX),
            reserve: AtomicU64::new(0),
            state: Mutex::default(),
        };
        room.refresh();
        room
    }

    /// Reads the free space. Returns `None` if it is unknown.
    pub(crate) fn refresh(&self) -> Option<DiskSpace> {
        // A file system that cannot report its space is not treated as full.
        let space = self.env.fs.space().ok().flatten();
        self.refreshed_ns.store(self.env.clock.monotonic_ns(), Ordering::Relaxed);
        let is_low = space.is_some_and(|space| {
            let reserve = self.reserve_of(space);
            // Recovery requires slightly more than the reserve; otherwise the state would alternate
            // on every check.
            let enough = if self.is_low.load(Ordering::Relaxed) {
                reserve.saturating_add(reserve / 8)
            } else {
                reserve
            };
            space.free_bytes < enough
        });
        self.state.lock().healed().space = space;
        self.flushable
            .store(space.map_or(u64::MAX, |space| self.left_to_flushes(space)), Ordering::Relaxed);
        self.reserve.store(space.map_or(0, |space| self.reserve_of(space)), Ordering::Relaxed);
        self.is_low.store(is_low, Ordering::Release);
        space
    }

    fn left_to_flushes(&self, space: DiskSpace) -> u64 {
        space.free_bytes.saturating_sub(self.reserve_of(space) / LOG_PART)
    }

    /// Returns the memstore bytes whose files had room at the last check; no limit if the space is
    /// unknown.
    pub(crate) fn flushable_bytes(&self) -> u64 {
        self.flushable.load(Ordering::Relaxed)
    }

    /// Returns the space at the last check.
    pub(crate) fn space(&self) -> Option<DiskSpace> {
        self.state.lock().healed().space
    }

    /// Returns the bytes kept free; 0 if the free space is unknown.
    pub(crate) fn reserve_bytes(&self) -> u64 {
        self.reserve.load(Ordering::Relaxed)
    }

    /// Returns `true` if less than the reserve was free at the last check.
    pub(crate) fn is_low(&self) -> bool {
        self.is_low.load(Ordering::Acquire)
    }

    fn reserve_of(&self, space: DiskSpace) -> u64 {
        let of_small =
            (space.total_bytes / SMALL_DISK_RESERVE_PART).min(MAX_SMALL_DISK_RESERVE_BYTES);
        self.reserve_bytes.unwrap_or_else(|| {
            (space.total_bytes / RESERVE_PART).min(MAX_RESERVE_BYTES).max(of_small)
        })
    }

    /// Returns the maximum size of log segments: opening rewrites the last segment, and flushes
    /// leave a fraction of the reserve to it.
    pub(crate) fn segment_bytes(&self, wanted: u64) -> u64 {
        match self.reserve_bytes() {
            0 => wanted,
            reserve => wanted.min((reserve / LOG_PART).max(MIN_SEGMENT_BYTES)),
        }
    }

    /// Admits a write unless less than the reserve is free.
    ///
    /// # Errors
    /// `DiskFull`. Nothing has been written; the same write is accepted once there is room.
    pub(crate) fn admit(&self) -> Result<()> {
        if !self.is_low.load(Ordering::Acquire) {
            return Ok(());
        }
        let since =
            self.env.clock.monotonic_ns().saturating_sub(self.refreshed_ns.load(Ordering::Relaxed));
        if since >= REFRESH_INTERVAL_NS {
            self.refresh();
        }
        self.check()
    }

    /// Checks that the reserve was free at the last check.
    ///
    /// # Errors
    /// `DiskFull`.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(space) = self.space().filter(|_| self.is_low.load(Ordering::Acquire)) else {
            return Ok(());
        };
        let (root, reserve, free) = (self.env.fs.root(), self.reserve_of(space), space.free_bytes);
        let text = format!(
            "the disk of {root} has {free} bytes free, of which {reserve} are kept for flushes and \
             the log (disk_reserve_bytes): writes are refused, reads go on; make room, and writes \
             go on by themselves"
        );
        Err(Error::new(ErrorKind::DiskFull, text))
    }

    /// Returns `wanted`, limited to a quarter of the free space.
    pub(crate) fn part_of_free(&self, wanted: u64) -> u64 {
        self.space().map_or(wanted, |space| wanted.min(space.free_bytes / 4))
    }

    /// Rejects a flush of `cell_bytes` bytes of cells that cannot fit. The file size is not known
    /// in advance, except that a flush of at least this size has just failed. The error contains
    /// the text of `what`.
    ///
    /// # Errors
    /// `DiskFull`; nothing has been written.
    pub(crate) fn check_flush(&self, cell_bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
        let Some(space) = self.refresh() else { return Ok(()) };
        let free = self.left_to_flushes(space);
        let unfit = self.state.lock().healed().unfit_flush;
        let is_unfit = unfit.is_some_and(|(bytes, free_then)| {
            cell_bytes >= bytes && free <= free_then.saturating_add(free_then / 8)
        });
        if free >= cell_bytes / MAX_SHRINK_FACTOR && !is_unfit {
            Ok(())
        } else {
            Err(self.too_little(&what(), cell_bytes, free))
        }
    }

    /// Records the result of a flush of `cell_bytes` bytes of cells. If it did not fit, `unfit_at`
    /// is the space that was left to it before.
    pub(crate) fn record_flush(&self, cell_bytes: u64, unfit_at: Option<u64>) {
        self.state.lock().healed().unfit_flush = unfit_at.map(|free| (cell_bytes, free));
    }

    /// Checks that writing a file may continue, because other writers use space concurrently. Only
    /// a flush may use a part of the reserve.
    ///
    /// # Errors
    /// `DiskFull`.
    pub(crate) fn check_file(&self, is_flush: bool) -> Result<()> {
        let Some(space) = self.refresh() else { return Ok(()) };
        let reserve = self.reserve_of(space);
        let kept = if is_flush { reserve / LOG_PART } else { reserve };
        if space.free_bytes >= kept {
            return Ok(());
        }
        let text = format!(
            "{} bytes are free on the disk of {}, and {kept} are kept; make room, and it is done \
             then",
            space.free_bytes,
            self.env.fs.root()
        );
        Err(Error::new(ErrorKind::DiskFull, text))
    }

    /// Reserves space for a compaction, or for copies, whose files have at most about this size
    /// together, in addition to the reserve and to other claims.
    ///
    /// # Errors
    /// `DiskFull`; nothing has been written.
    pub(crate) fn claim(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<Claim<'_>> {
        let space = self.refresh();
        let mut state = self.state.lock().healed();
        if let Some(space) = space {
            let free = space
                .free_bytes
                .saturating_sub(self.reserve_of(space))
                .saturating_sub(state.claimed);
            if free < bytes {
                drop(state);
                return Err(self.too_little(&what(), bytes, free));
            }
        }
        state.claimed = state.claimed.saturating_add(bytes);
        drop(state);
        Ok(Claim { room: self, bytes })
    }

    fn too_little(&self, what: &str, bytes: u64, free: u64) -> Error {
        let text = format!(
            "{what} needs up to {bytes} bytes, and there are {free} for it on the disk of {}; \
             nothing is lost; make room, and it is done then",
            self.env.fs.root()
        );
        Error::new(ErrorKind::DiskFull, text)
    }
}

impl Claim<'_> {
    /// Releases the part that has been written: it is not free any more.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.release(bytes.min(self.bytes));
    }

    fn release(&mut self, bytes: u64) {
        let mut state = self.room.state.lock().healed();
        debug_assert!(state.claimed >= bytes, "a claim is released once");
        state.claimed = state.claimed.saturating_sub(bytes);
        self.bytes -= bytes;
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.release(self.bytes);
    }
}

/// Returns an unlimited disk, for tests.
#[cfg(test)]
pub(crate) fn unlimited(env: &Env) -> std::sync::Arc<DiskRoom> {
    std::sync::Arc::new(DiskRoom::new(env, Some(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::sim::SimEnv;

    #[test]
    fn writes_are_rejected_below_reserve_with_hysteresis() {
        let sim = SimEnv::new(1);
        let env = sim.env();
        let room = DiskRoom::new(&env, Some(800));
        let with_free = |free: u64| {
            sim.fs.set_capacity(Some(free));
            sim.clock.advance_ms(100);
            room.refresh();
            room.admit().is_ok()
        };
        assert!(room.admit().is_ok() && room.reserve_bytes() == 0, "no limit is known");
        assert_eq!(
            [800, 799, 850, 899, 900, 850, 0].map(with_free),
            [true, false, false, false, true, true, false]
        );
        sim.fs.set_capacity(Some(5000));
        assert!(room.admit().is_err(), "a look is good for a while");
        sim.clock.advance_ms(100);
        assert!(room.admit().is_ok());
    }

    #[test]
    fn writable_bytes_are_those_over_the_reserve() {
        let sim = SimEnv::new(1);
        assert_eq!(writable_bytes(&sim.env()), None);
        for (free, writable) in [(2_000, 1_500), (10 << 30, (10 << 30) - (512 << 20)), (0, 0)] {
            sim.fs.set_capacity(Some(free));
            assert_eq!(writable_bytes(&sim.env()), Some(writable));
        }
    }

    #[test]
    fn reserve_defaults_to_a_fraction_of_the_disk() {
        let sim = SimEnv::new(1);
        for (total, reserve, segment) in [
            (2_000, 500, 64 << 10),
            (16 << 20, 4 << 20, 1 << 20),
            (1 << 30, 192 << 20, 48 << 20),
            (10 << 30, 512 << 20, 64 << 20),
            (1 << 60, 1 << 30, 64 << 20),
        ] {
            sim.fs.set_capacity(Some(total));
            let room = DiskRoom::new(&sim.env(), None);
            assert_eq!(
                (room.reserve_bytes(), room.segment_bytes(64 << 20)),
                (reserve, segment),
                "{total}"
            );
        }
        assert_eq!(DiskRoom::new(&sim.env(), Some(7)).reserve_bytes(), 7);
        let without = DiskRoom::new(&sim.env(), Some(0));
        assert_eq!((without.reserve_bytes(), without.segment_bytes(64 << 20)), (0, 64 << 20));
    }

    #[test]
    fn compactions_respect_reserve_and_claims_while_flushes_use_reserve() {
        let sim = SimEnv::new(1);
        sim.fs.set_capacity(Some(1000));
        let room = DiskRoom::new(&sim.env(), Some(100));
        let what = || "it".to_owned();
        let first = room.claim(500, what).unwrap();
        let error = room.claim(401, what).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::DiskFull);
        assert!(error.message().contains("needs up to 401 bytes, and there are 400"), "{error}");
        drop(room.claim(400, what).unwrap());
        assert!(
            room.check_flush(975 * 4, what).is_ok() && room.check_flush(976 * 4, what).is_err()
        );
        drop(first);
        drop(room.claim(900, what).unwrap());
        let may_go_on = |free| {
            sim.fs.set_capacity(Some(free));
            (room.check_file(true).is_ok(), room.check_file(false).is_ok())
        };
        assert_eq!(
            [100, 99, 25, 24].map(may_go_on),
            [(true, true), (true, false), (true, false), (false, false)]
        );
    }
}
