//! Disk calls that fail according to a plan, in a program started with this library in
//! `LD_PRELOAD`.
//!
//! The plan is a file of eight 32-bit numbers in native byte order, named by `HALITE_TORTURE_PLAN`
//! and memory-mapped. The torture program changes it while the program runs, and an unarmed plan
//! has no cost:
//!
//! ```text
//! 0 armed     1 failing calls, a bit each     2 errno     3 files: 0 all, 1 the log, 2 the manifest, 3 store files
//! 4 matching calls that still succeed         5 matching calls that then fail; all if it is the largest number
//! 6 calls that have failed                    7 nonzero if a failing write writes half before
//! ```
//! Only files below `HALITE_TORTURE_DATA` count. Reads never fail.
#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "it replaces functions of the C library")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering::Relaxed};

const WRITE: u32 = 1;
const SYNC: u32 = 2;
const RENAME: u32 = 4;
const OPEN: u32 = 8;
const TRUNCATE: u32 = 16;

const PLAN_NUMBERS: usize = 8;
/// Maximum bytes of a path that are examined.
const MAX_PATH_BYTES: usize = 512;

static PLAN: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());
/// Marks a missing plan after a lookup.
static NO_PLAN: AtomicU32 = AtomicU32::new(0);

/// Returns the numbers of the plan, if there is one.
fn plan() -> Option<&'static [AtomicU32]> {
    let mut found = PLAN.load(Relaxed);
    if found.is_null() {
        found = map_plan().unwrap_or((&raw const NO_PLAN).cast_mut());
        PLAN.store(found, Relaxed);
    }
    if ptr::eq(found, &raw const NO_PLAN) {
        return None;
    }
    // SAFETY: the mapping has room for `PLAN_NUMBERS` numbers, is aligned to a page and is never
    // unmapped.
    Some(unsafe { std::slice::from_raw_parts(found, PLAN_NUMBERS) })
}

fn map_plan() -> Option<*mut AtomicU32> {
    let bytes = PLAN_NUMBERS * size_of::<AtomicU32>();
    // SAFETY: the names are C strings; the system call bypasses our own `open64`; the mapping is as
    // long as the file must be.
    unsafe {
        let path = libc::getenv(c"HALITE_TORTURE_PLAN".as_ptr());
        if path.is_null() {
            return None;
        }
        let file = libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            path,
            libc::O_RDWR | libc::O_CLOEXEC,
            0,
        );
        let file = c_int::try_from(file).ok().filter(|file| *file >= 0)?;
        let mapped = libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file,
            0,
        );
        libc::close(file);
        (mapped != libc::MAP_FAILED).then(|| mapped.cast())
    }
}

/// Outcome of a call.
enum Fate {
    Succeeds,
    Fails { errno: c_int, half: bool },
}

/// Returns the outcome of a call on a file according to the plan. The path is resolved only if it
/// matters.
fn fate(call: u32, path: impl FnOnce(&mut [u8; MAX_PATH_BYTES]) -> usize) -> Fate {
    let Some([armed, calls, errno, files, skip, times, failed, half]) = plan() else {
        return Fate::Succeeds;
    };
    if armed.load(Relaxed) == 0 || calls.load(Relaxed) & call == 0 {
        return Fate::Succeeds;
    }
    let mut buffer = [0; MAX_PATH_BYTES];
    let length = path(&mut buffer).min(MAX_PATH_BYTES);
    if !is_selected(&buffer[..length], files.load(Relaxed)) {
        return Fate::Succeeds;
    }
    let less = |number: u32| number.checked_sub(1);
    if skip.fetch_update(Relaxed, Relaxed, less).is_ok() {
        return Fate::Succeeds;
    }
    if times.load(Relaxed) != u32::MAX && times.fetch_update(Relaxed, Relaxed, less).is_err() {
        return Fate::Succeeds;
    }
    failed.fetch_add(1, Relaxed);
    Fate::Fails { errno: errno.load(Relaxed).cast_signed(), half: half.load(Relaxed) != 0 }
}

fn is_selected(path: &[u8], files: u32) -> bool {
    // SAFETY: the name is a C string, and the environment does not change.
    let root = unsafe {
        let root = libc::getenv(c"HALITE_TORTURE_DATA".as_ptr());
        if root.is_null() {
            return false;
        }
        CStr::from_ptr(root).to_bytes()
    };
    let Some(inside) = path.strip_prefix(root) else { return false };
    match files {
        1 => inside.starts_with(b"/halite/wal/"),
        2 => inside.starts_with(b"/halite/MANIFEST"),
        3 => inside.starts_with(b"/data/"),
        _ => true,
    }
}

/// Returns the path of an open file.
fn path_of(file: c_int) -> impl FnOnce(&mut [u8; MAX_PATH_BYTES]) -> usize {
    move |buffer| {
        let mut name = *b"/proc/self/fd/\0\0\0\0\0\0\0\0\0\0\0\0";
        let (mut digits, mut rest) = ([0_u8; 10], file.unsigned_abs());
        let mut from = digits.len();
        loop {
            from -= 1;
            // One digit.
            digits[from] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let digits = &digits[from..];
        name[14..14 + digits.len()].copy_from_slice(digits);
        // SAFETY: the name ends with a zero, and the buffer has the length that is passed.
        let length = unsafe {
            libc::readlink(name.as_ptr().cast(), buffer.as_mut_ptr().cast(), buffer.len())
        };
        usize::try_from(length).unwrap_or(0)
    }
}

/// Returns a path passed by a caller.
///
/// # Safety
/// `path` is a C string.
unsafe fn named(path: *const c_char) -> impl FnOnce(&mut [u8; MAX_PATH_BYTES]) -> usize {
    move |buffer| {
        // SAFETY: guaranteed by the caller.
        let path = unsafe { CStr::from_ptr(path) }.to_bytes();
        let length = path.len().min(buffer.len());
        buffer[..length].copy_from_slice(&path[..length]);
        length
    }
}

fn set_errno(errno: c_int) {
    // SAFETY: the C library gives each thread its own.
    unsafe { *libc::__errno_location() = errno };
}

/// Returns the function of the same name that would be called without this library.
fn next(place: &AtomicUsize, name: &CStr) -> *mut c_void {
    let known = place.load(Relaxed);
    if known != 0 {
        return ptr::with_exposed_provenance_mut(known);
    }
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        // SAFETY: it ends the process; without the function there is no correct behavior.
        unsafe { libc::abort() };
    }
    place.store(found.expose_provenance(), Relaxed);
    found
}

/// Replaces a function of the C library; calls that succeed according to the plan are forwarded.
macro_rules! stand_in {
    ($name:ident, $text:literal, ($($argument:ident: $kind:ty),*) -> $result:ty, $call:expr, $path:expr, $half:expr) => {
        /// As in the C library.
        ///
        /// # Safety
        /// As in the C library.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> $result {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            // SAFETY: the C library's function has this signature.
            let next: unsafe extern "C" fn($($kind),*) -> $result = unsafe { std::mem::transmute(next(&NEXT, $text)) };
            match fate($call, $path) {
                // SAFETY: as above.
                Fate::Succeeds => unsafe { next($($argument),*) },
                Fate::Fails { errno, half } => {
                    if half {
                        let half: &dyn Fn(unsafe extern "C" fn($($kind),*) -> $result) = &$half;
                        half(next);
                    }
                    set_errno(errno);
                    -1
                }
            }
        }
    };
}

/// For calls that are atomic.
fn nothing<T>(_: T) {}

stand_in!(write, c"write", (file: c_int, bytes: *const c_void, count: usize) -> isize, WRITE, path_of(file), |next| {
    // SAFETY: a part of the caller's buffer. A failure of this write has no effect.
    let _ = unsafe { next(file, bytes, count / 2) };
});
stand_in!(pwrite64, c"pwrite64", (file: c_int, bytes: *const c_void, count: usize, at: i64) -> isize, WRITE, path_of(file), |next| {
    // SAFETY: as for `write`.
    let _ = unsafe { next(file, bytes, count / 2, at) };
});
stand_in!(fdatasync, c"fdatasync", (file: c_int) -> c_int, SYNC, path_of(file), nothing);
stand_in!(fsync, c"fsync", (file: c_int) -> c_int, SYNC, path_of(file), nothing);
stand_in!(ftruncate64, c"ftruncate64", (file: c_int, length: i64) -> c_int, TRUNCATE, path_of(file), nothing);
stand_in!(
    rename,
    c"rename",
    (from: *const c_char, to: *const c_char) -> c_int,
    RENAME,
    // SAFETY: the caller passes a C string.
    unsafe { named(to) },
    nothing
);
// Functions with an optional argument; if present, it is passed in the same way.
stand_in!(
    open64,
    c"open64",
    (path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int,
    OPEN,
    // SAFETY: the caller passes a C string.
    unsafe { named(path) },
    nothing
);
stand_in!(
    openat64,
    c"openat64",
    (folder: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int,
    OPEN,
    // SAFETY: the caller passes a C string.
    unsafe { named(path) },
    nothing
);
