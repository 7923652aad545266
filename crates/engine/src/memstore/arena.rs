//! Memory of one memstore: byte runs that are allocated one after another and freed all at once.
//!
//! Large chunks are mapped from the system, not taken from the allocator, and unmapped after the
//! flush of the memstore. glibc raises its mmap threshold to the largest block that was freed and
//! retains smaller blocks in its arenas. The process would therefore stay as large as its memstores
//! have ever been.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Alignment of every run.
pub(super) const ALIGNMENT: usize = 8;
/// Alignment of chunks, a cache line, so that a run's offset determines its position within its
/// line.
const CHUNK_ALIGNMENT: usize = 64;
/// Size of chunks that request one huge page. A search in a large memstore accesses random
/// addresses. With small pages most accesses would wait for the page tables before they wait for
/// the memory.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Size from which chunks are mapped.
const MIN_MAPPED_BYTES: usize = 256 << 10;
/// Size of the first chunk, the only one of a store without writes.
const FIRST_CHUNK_BYTES: usize = 4 << 10;

/// Allocator whose memory lives, and stays at its address, as long as the arena does.
pub(super) struct Arena {
    chunks: Vec<Chunk>,
    /// Start of the free part of the chunk that runs are cut from.
    free: NonNull<u8>,
    free_bytes: usize,
    next_chunk_bytes: usize,
    max_chunk_bytes: usize,
    used_bytes: usize,
}

struct Chunk {
    start: NonNull<u8>,
    layout: Layout,
    is_mapped: bool,
}

// SAFETY: `free` points into memory that `chunks` owns alone, and only `&mut self` moves it.
unsafe impl Send for Arena {}

impl Arena {
    /// Returns an arena without memory; its chunks double in size up to `max_chunk_bytes`.
    pub(super) fn new(max_chunk_bytes: usize) -> Self {
        let max_chunk_bytes = max_chunk_bytes.max(FIRST_CHUNK_BYTES);
        Self {
            chunks: Vec::new(),
            free: NonNull::dangling(),
            free_bytes: 0,
            next_chunk_bytes: FIRST_CHUNK_BYTES,
            max_chunk_bytes,
            used_bytes: 0,
        }
    }

    /// Returns `bytes` bytes of uninitialized memory for the caller alone, aligned to
    /// [`ALIGNMENT`]. The pointer may be used for them until the arena is dropped.
    pub(super) fn allocate(&mut self, bytes: usize) -> NonNull<u8> {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        self.used_bytes += bytes;
        if bytes > self.free_bytes {
            // A run that would leave much of a new chunk unused gets a separate chunk, and the
            // current chunk continues.
            if bytes > self.next_chunk_bytes / 4 {
                return self.add_chunk(bytes);
            }
            self.free_bytes = self.next_chunk_bytes;
            self.free = self.add_chunk(self.free_bytes);
        }
        assert!(bytes <= self.free_bytes, "a run fits into its chunk");
        let run = self.free;
        debug_assert_eq!(run.addr().get() % ALIGNMENT, 0, "runs are aligned");
        // SAFETY: `free_bytes` bytes from `free` on belong to the current chunk and `bytes` is at
        // most as many.
        self.free = unsafe { run.add(bytes) };
        self.free_bytes -= bytes;
        run
    }

    /// Returns the allocated bytes, including the padding between runs.
    pub(super) fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    fn add_chunk(&mut self, bytes: usize) -> NonNull<u8> {
        let is_huge = bytes.is_multiple_of(HUGE_PAGE_BYTES);
        let alignment = if is_huge { HUGE_PAGE_BYTES } else { CHUNK_ALIGNMENT };
        let layout = Layout::from_size_align(bytes.max(ALIGNMENT), alignment)
            .expect("cells are limited to a few gigabytes");
        let chunk = Chunk::new(layout);
        let start = chunk.start;
        debug_assert_eq!(start.addr().get() % alignment, 0, "chunks are aligned");
        if is_huge {
            prefer_huge_pages(start, bytes);
        }
        self.chunks.push(chunk);
        self.next_chunk_bytes = (self.next_chunk_bytes * 2).min(self.max_chunk_bytes);
        start
    }
}

/// Requests huge pages for whole huge pages of memory. If the system refuses, only speed is lost.
fn prefer_huge_pages(start: NonNull<u8>, bytes: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the advice changes no content, and the memory belongs to the caller alone.
    unsafe {
        let _ =
            rustix::mm::madvise(start.as_ptr().cast(), bytes, rustix::mm::Advice::LinuxHugepage);
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (start, bytes);
}

impl Chunk {
    /// Allocates memory of this layout, whose size is not zero.
    fn new(layout: Layout) -> Self {
        let is_mapped = layout.size() >= MIN_MAPPED_BYTES && mapping::IS_AVAILABLE;
        let start = if is_mapped {
            mapping::map(layout)
        } else {
            // SAFETY: the size is not zero.
            NonNull::new(unsafe { alloc(layout) })
        };
        Self { start: start.unwrap_or_else(|| handle_alloc_error(layout)), layout, is_mapped }
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if self.is_mapped {
            // SAFETY: `start` came from `map` with this layout, and a chunk is dropped once.
            unsafe { mapping::unmap(self.start, self.layout) }
        } else {
            // SAFETY: `start` came from `alloc` with this layout, and a chunk is dropped once.
            unsafe { dealloc(self.start.as_ptr(), self.layout) }
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod mapping {
    use std::alloc::Layout;
    use std::ptr::{NonNull, null_mut};

    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    pub(super) const IS_AVAILABLE: bool = true;
    /// Minimum alignment of mapped memory.
    const PAGE_BYTES: usize = 4 << 10;

    /// Returns the bytes that are mapped for a layout: whole pages, for any page size.
    fn length(layout: Layout) -> usize {
        layout.size().next_multiple_of(64 << 10)
    }

    /// Maps memory for a layout; `None` if the system has none.
    pub(super) fn map(layout: Layout) -> Option<NonNull<u8>> {
        let length = length(layout);
        // The excess on either side of the alignment is unmapped at once.
        let spare = if layout.align() > PAGE_BYTES { layout.align() } else { 0 };
        let total = length.checked_add(spare)?;
        // SAFETY: a new private mapping at an address of the system's choice touches no memory that
        // is in use.
        let start = unsafe {
            mmap_anonymous(null_mut(), total, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }
        .ok()?
        .cast::<u8>();
        let head = start.align_offset(layout.align().max(PAGE_BYTES)).min(spare);
        // SAFETY: both parts belong to the mapping just made, and nothing points into them.
        unsafe {
            release(start, head);
            release(start.add(head + length), spare - head);
            NonNull::new(start.add(head))
        }
    }

    /// # Safety
    /// `start` came from [`map`] with this layout, and nothing points into the memory.
    pub(super) unsafe fn unmap(start: NonNull<u8>, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { release(start.as_ptr(), length(layout)) }
    }

    /// # Safety
    /// The pages from `start` on are mapped, and nothing points into them.
    unsafe fn release(start: *mut u8, bytes: usize) {
        if bytes > 0 {
            // SAFETY: as the caller promises. It fails only if the system has no memory for its own
            // lists; the pages then stay mapped.
            let _ = unsafe { munmap(start.cast(), bytes) };
        }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod mapping {
    use std::alloc::Layout;
    use std::ptr::NonNull;

    pub(super) const IS_AVAILABLE: bool = false;

    pub(super) fn map(_: Layout) -> Option<NonNull<u8>> {
        None
    }

    /// # Safety
    /// Never called, since nothing is mapped.
    pub(super) unsafe fn unmap(_: NonNull<u8>, _: Layout) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_aligned_and_do_not_overlap() {
        let mut arena = Arena::new(16 << 10);
        let mut runs: Vec<(usize, usize)> =
            (0..2_000).map(|n| (arena.allocate(1 + n % 97).addr().get(), 1 + n % 97)).collect();
        runs.push((arena.allocate(100_000).addr().get(), 100_000));
        runs.sort_unstable();
        assert!(runs.iter().all(|(start, _)| start % ALIGNMENT == 0));
        assert!(runs.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
    }

    #[test]
    fn chunk_sizes_double_up_to_the_limit() {
        let mut arena = Arena::new(16 << 10);
        assert!(arena.chunks.is_empty());
        for _ in 0..1_000 {
            arena.allocate(64);
        }
        let sizes: Vec<usize> =
            arena.chunks.iter().map(|chunk| chunk.layout.size() >> 10).collect();
        assert_eq!(sizes, [4, 8, 16, 16, 16, 16]);
        assert_eq!(arena.used_bytes(), 64_000);
    }

    #[test]
    fn large_chunks_are_mapped_aligned_and_writable() {
        let mut arena = Arena::new(4 << 20);
        for bytes in [
            MIN_MAPPED_BYTES,
            MIN_MAPPED_BYTES + 1,
            HUGE_PAGE_BYTES,
            3 * HUGE_PAGE_BYTES,
            5_000_000,
        ] {
            let run = arena.allocate(bytes);
            // SAFETY: the run has as many bytes.
            unsafe { run.as_ptr().write_bytes(7, bytes) };
        }
        let mapped = arena.chunks.iter().filter(|chunk| chunk.is_mapped);
        assert!(
            mapped.clone().all(|chunk| chunk
                .start
                .addr()
                .get()
                .is_multiple_of(chunk.layout.align()))
        );
        assert_eq!(mapped.count(), if mapping::IS_AVAILABLE { 5 } else { 0 });
    }

    /// Returns `true` if the process has memory at `start`.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn is_mapped(start: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let range = |line: &str| {
            line.split(' ')
                .next()
                .and_then(|range| range.split_once('-'))
                .map(|(from, to)| (hex(from), hex(to)))
        };
        maps.lines().filter_map(range).any(|(from, to)| (from..to).contains(&start))
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn hex(text: &str) -> usize {
        usize::from_str_radix(text, 16).unwrap()
    }

    /// glibc retained 560 MB after memstores of 600 MB had been flushed.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn dropped_arena_returns_its_large_chunks_to_the_system() {
        let mut arena = Arena::new(2 << 20);
        // Far more than concurrent tests use.
        for _ in 0..100 {
            arena.allocate(1 << 20);
        }
        let starts: Vec<usize> = arena
            .chunks
            .iter()
            .filter(|chunk| chunk.is_mapped)
            .map(|chunk| chunk.start.addr().get())
            .collect();
        assert!(starts.len() > 40 && starts.iter().all(|start| is_mapped(*start)));
        drop(arena);
        let left = starts.iter().filter(|start| is_mapped(**start)).count();
        assert!(left < starts.len() / 2, "{left} of {} chunks are still mapped", starts.len());
    }

    #[test]
    fn oversized_run_leaves_the_current_chunk_in_use() {
        let mut arena = Arena::new(16 << 10);
        let before = arena.allocate(8);
        arena.allocate(1 << 20);
        assert_eq!(arena.allocate(8).addr().get(), before.addr().get() + 8);
    }
}
