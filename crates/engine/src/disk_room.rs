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
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    space: Option<DiskSpace>,
    /// Bytes that compactions under way may still write.
    claimed: u64,
}

/// Room that a compaction will need; given back when it is dropped.
pub(crate) struct Claim<'a> {
    room: &'a DiskRoom,
    bytes: u64,
}

impl DiskRoom {
    pub(crate) fn new(env: &Env, reserve_bytes: Option<u64>) -> Self {
        let room = Self { env: env.clone(), reserve_bytes, is_low: AtomicBool::new(false), looked_ns: AtomicU64::new(0), state: Mutex::default() };
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
        self.is_low.store(is_low, Ordering::Release);
        space
    }

    /// What was free at the last look.
    pub(crate) fn space(&self) -> Option<DiskSpace> {
        self.state.lock().healed().space
    }

    /// Bytes that are kept free; 0 where it is not known what is free.
    pub(crate) fn reserve_bytes(&self) -> u64 {
        self.space().map_or(0, |space| self.reserve_of(space))
    }

    fn reserve_of(&self, space: DiskSpace) -> u64 {
        self.reserve_bytes.unwrap_or_else(|| (space.total_bytes / RESERVE_PART).min(RESERVE_BYTES_MAX))
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

    /// Refuses a flush of so many bytes of cells where they cannot fit; how large its file will be is not known before. `what` it is
    /// stands in the error.
    ///
    /// # Errors
    /// `DiskFull`; nothing has been written.
    pub(crate) fn check_flush(&self, cell_bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
        let Some(space) = self.look() else { return Ok(()) };
        let free = space.free_bytes.saturating_sub(self.reserve_of(space) / LOG_PART);
        if free >= cell_bytes / SMALLER_MAX { Ok(()) } else { Err(self.too_little(&what(), cell_bytes, free)) }
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
        sim.fs.set_capacity(Some(2_000));
        assert_eq!(DiskRoom::new(&sim.env(), None).reserve_bytes(), 100);
        sim.fs.set_capacity(Some(1 << 60));
        assert_eq!(DiskRoom::new(&sim.env(), None).reserve_bytes(), 1 << 30);
        assert_eq!(DiskRoom::new(&sim.env(), Some(7)).reserve_bytes(), 7);
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
