//! Room on the disk, and who may write when it runs out.
//!
//! ```text
//! free bytes   |<---------- reserve ---------->|<---------- the rest ---------->|
//!              | log, manifest |    flushes    | writes of callers, compactions |
//! ```
//! Each is taken, or goes on, as long as more is free than what is left of it here. Flushes let go of log segments, and dropping a table
//! changes the manifest: what makes room must not be what there is no room for.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use halite_types::{Error, ErrorKind, Result};

use crate::env::{DiskSpace, Env};
use crate::heal::Healed;

/// Part of the disk that is kept free where nothing else is said, and the most that is.
const RESERVE_PART: u64 = 20;
const RESERVE_BYTES_MAX: u64 = 1 << 30;
/// A small disk keeps a larger part, up to this: the last segment of the log and the file of a memstore have to fit.
const SMALL_DISK_RESERVE_PART: u64 = 4;
const SMALL_DISK_RESERVE_BYTES_MAX: u64 = 192 << 20;

/// The least a segment of the log is cut down to for the sake of the reserve.
const SEGMENT_BYTES_MIN: u64 = 64 << 10;

/// Part of the reserve that flushes leave to the log and the manifest.
const LOG_PART: u64 = 4;
/// No file is smaller than its cells by more than this: they are compressed, or hidden by one another.
const SMALLER_MAX: u64 = 4;

/// How long a look is good enough for a write that is refused, in nanoseconds.
const LOOK_NS: u64 = 100_000_000;

/// What is known of the disk of a store.
pub(crate) struct DiskRoom {
    env: Env,
    /// Bytes kept free; `None` for a part of the disk.
    reserve_bytes: Option<u64>,
    /// Less than the reserve is free.
    is_low: AtomicBool,
    looked_ns: AtomicU64,
    /// Bytes that flushes could write at the last look, and the reserve then.
    flushable: AtomicU64,
    reserve: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    space: Option<DiskSpace>,
    /// Bytes that compactions under way may still write.
    claimed: u64,
    /// The last flush that turned out not to fit: bytes of its cells, and what was free before it.
    unfit_flush: Option<(u64, u64)>,
}

/// Room that a compaction will need; given back when it is dropped.
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
            looked_ns: AtomicU64::new(0),
            flushable: AtomicU64::new(u64::MAX),
            reserve: AtomicU64::new(0),
            state: Mutex::default(),
        };
        room.look();
        room
    }

    /// Asks how much is free. `None` where nobody can say.
    pub(crate) fn look(&self) -> Option<DiskSpace> {
        // A file system that cannot be asked is not full for that.
        let space = self.env.fs.space().ok().flatten();
        self.looked_ns.store(self.env.clock.monotonic_ns(), Ordering::Relaxed);
        let is_low = space.is_some_and(|space| {
            let reserve = self.reserve_of(space);
            // A little more than was too little, or the two states would follow one another at every turn.
            let enough = if self.is_low.load(Ordering::Relaxed) { reserve.saturating_add(reserve / 8) } else { reserve };
            space.free_bytes < enough
        });
        self.state.lock().healed().space = space;
        self.flushable.store(space.map_or(u64::MAX, |space| self.left_to_flushes(space)), Ordering::Relaxed);
        self.reserve.store(space.map_or(0, |space| self.reserve_of(space)), Ordering::Relaxed);
        self.is_low.store(is_low, Ordering::Release);
        space
    }

    fn left_to_flushes(&self, space: DiskSpace) -> u64 {
        space.free_bytes.saturating_sub(self.reserve_of(space) / LOG_PART)
    }

    /// What memstores may hold so that there was room for their files at the last look; no limit where nobody can say.
    pub(crate) fn flushable_bytes(&self) -> u64 {
        self.flushable.load(Ordering::Relaxed)
    }

    /// What was free at the last look.
    pub(crate) fn space(&self) -> Option<DiskSpace> {
        self.state.lock().healed().space
    }

    /// Bytes that are kept free; 0 where it is not known what is free.
    pub(crate) fn reserve_bytes(&self) -> u64 {
        self.reserve.load(Ordering::Relaxed)
    }

    /// Whether the reserve was touched at the last look.
    pub(crate) fn is_low(&self) -> bool {
        self.is_low.load(Ordering::Acquire)
    }

    fn reserve_of(&self, space: DiskSpace) -> u64 {
        let of_small = (space.total_bytes / SMALL_DISK_RESERVE_PART).min(SMALL_DISK_RESERVE_BYTES_MAX);
        self.reserve_bytes.unwrap_or_else(|| (space.total_bytes / RESERVE_PART).min(RESERVE_BYTES_MAX).max(of_small))
    }

    /// How large the segments of the log may become: an opening writes the last one again, and flushes leave it a part of the reserve.
    pub(crate) fn segment_bytes(&self, wanted: u64) -> u64 {
        match self.reserve_bytes() {
            0 => wanted,
            reserve => wanted.min((reserve / LOG_PART).max(SEGMENT_BYTES_MIN)),
        }
    }

    /// Lets a write in unless the reserve is touched.
    ///
    /// # Errors
    /// `DiskFull`. Nothing has been done then, and the same write is taken when there is room.
    pub(crate) fn admit(&self) -> Result<()> {
        if !self.is_low.load(Ordering::Acquire) {
            return Ok(());
        }
        let since = self.env.clock.monotonic_ns().saturating_sub(self.looked_ns.load(Ordering::Relaxed));
        if since >= LOOK_NS {
            self.look();
        }
        self.check()
    }

    /// Whether the reserve was free at the last look.
    ///
    /// # Errors
    /// `DiskFull`.
    pub(crate) fn check(&self) -> Result<()> {
        let Some(space) = self.space().filter(|_| self.is_low.load(Ordering::Acquire)) else { return Ok(()) };
        let (root, reserve, free) = (self.env.fs.root(), self.reserve_of(space), space.free_bytes);
        let text = format!(
            "the disk of {root} has {free} bytes free, of which {reserve} are kept for flushes and the log (disk_reserve_bytes): writes are refused, \
             reads go on; make room, and writes go on by themselves"
        );
        Err(Error::new(ErrorKind::DiskFull, text))
    }

    /// `wanted`, or less where that is much of what is free.
    pub(crate) fn part_of_free(&self, wanted: u64) -> u64 {
        self.space().map_or(wanted, |space| wanted.min(space.free_bytes / 4))
    }

    /// Refuses a flush of so many bytes of cells where they cannot fit; how large its file will be is not known before, unless as much
    /// has just been tried in vain. `what` it is stands in the error.
    ///
    /// # Errors
    /// `DiskFull`; nothing has been written.
    pub(crate) fn check_flush(&self, cell_bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
        let Some(space) = self.look() else { return Ok(()) };
        let free = self.left_to_flushes(space);
        let unfit = self.state.lock().healed().unfit_flush;
        let is_unfit = unfit.is_some_and(|(bytes, free_then)| cell_bytes >= bytes && free <= free_then.saturating_add(free_then / 8));
        if free >= cell_bytes / SMALLER_MAX && !is_unfit { Ok(()) } else { Err(self.too_little(&what(), cell_bytes, free)) }
    }

    /// What became of a flush of so many bytes of cells; `unfit_at` is what was left to it before, where it found no room.
    pub(crate) fn note_flush(&self, cell_bytes: u64, unfit_at: Option<u64>) {
        self.state.lock().healed().unfit_flush = unfit_at.map(|free| (cell_bytes, free));
    }

    /// Whether a file that is being written may go on: others write meanwhile. Only a flush may use a part of the reserve.
    ///
    /// # Errors
    /// `DiskFull`.
    pub(crate) fn check_file(&self, is_flush: bool) -> Result<()> {
        let Some(space) = self.look() else { return Ok(()) };
        let reserve = self.reserve_of(space);
        let kept = if is_flush { reserve / LOG_PART } else { reserve };
        if space.free_bytes >= kept {
            return Ok(());
        }
        let text =
            format!("{} bytes are free on the disk of {}, and {kept} are kept; make room, and it is done then", space.free_bytes, self.env.fs.root());
        Err(Error::new(ErrorKind::DiskFull, text))
    }

    /// Keeps room for a compaction whose file will have at most about this size, beside the reserve and those under way.
    ///
    /// # Errors
    /// `DiskFull`; nothing has been written.
    pub(crate) fn claim(&self, bytes: u64, what: impl FnOnce() -> String) -> Result<Claim<'_>> {
        let space = self.look();
        let mut state = self.state.lock().healed();
        if let Some(space) = space {
            let free = space.free_bytes.saturating_sub(self.reserve_of(space)).saturating_sub(state.claimed);
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
            "{what} needs up to {bytes} bytes, and there are {free} for it on the disk of {}; nothing is lost; make room, and it is done then",
            self.env.fs.root()
        );
        Error::new(ErrorKind::DiskFull, text)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.room.state.lock().healed();
        state.claimed = state.claimed.saturating_sub(self.bytes);
    }
}

/// A disk without limits, for tests of what stands on it.
#[cfg(test)]
pub(crate) fn unlimited(env: &Env) -> std::sync::Arc<DiskRoom> {
    std::sync::Arc::new(DiskRoom::new(env, Some(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::sim::SimEnv;

    #[test]
    fn writes_are_refused_below_the_reserve_and_taken_a_little_above_it() {
        let sim = SimEnv::new(1);
        let env = sim.env();
        let room = DiskRoom::new(&env, Some(800));
        let with_free = |free: u64| {
            sim.fs.set_capacity(Some(free));
            sim.clock.advance_ms(100);
            room.look();
            room.admit().is_ok()
        };
        assert!(room.admit().is_ok() && room.reserve_bytes() == 0, "no limit is known");
        assert_eq!([800, 799, 850, 899, 900, 850, 0].map(with_free), [true, false, false, false, true, true, false]);
        sim.fs.set_capacity(Some(5000));
        assert!(room.admit().is_err(), "a look is good for a while");
        sim.clock.advance_ms(100);
        assert!(room.admit().is_ok());
    }

    #[test]
    fn the_reserve_is_a_part_of_the_disk_unless_it_is_given() {
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
            assert_eq!((room.reserve_bytes(), room.segment_bytes(64 << 20)), (reserve, segment), "{total}");
        }
        assert_eq!(DiskRoom::new(&sim.env(), Some(7)).reserve_bytes(), 7);
        let without = DiskRoom::new(&sim.env(), Some(0));
        assert_eq!((without.reserve_bytes(), without.segment_bytes(64 << 20)), (0, 64 << 20));
    }

    #[test]
    fn compactions_leave_the_reserve_and_each_others_room_and_flushes_need_not() {
        let sim = SimEnv::new(1);
        sim.fs.set_capacity(Some(1000));
        let room = DiskRoom::new(&sim.env(), Some(100));
        let what = || "it".to_owned();
        let first = room.claim(500, what).unwrap();
        let error = room.claim(401, what).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::DiskFull);
        assert!(error.message().contains("needs up to 401 bytes, and there are 400"), "{error}");
        drop(room.claim(400, what).unwrap());
        assert!(room.check_flush(975 * 4, what).is_ok() && room.check_flush(976 * 4, what).is_err());
        drop(first);
        drop(room.claim(900, what).unwrap());
        let may_go_on = |free| {
            sim.fs.set_capacity(Some(free));
            (room.check_file(true).is_ok(), room.check_file(false).is_ok())
        };
        assert_eq!([100, 99, 25, 24].map(may_go_on), [(true, true), (true, false), (true, false), (false, false)]);
    }
}
