//! The memory of one memstore: bytes handed out one run after another and given back all at once.
//!
//! Large chunks are mapped from the system, not taken from the allocator, and unmapped when the memstore has been flushed:
//! glibc raises the size from which it maps memory to that of the largest block that was freed, and keeps what is below in
//! its arenas, so that the process would stay as large as its memstores have ever been.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Every run starts at a multiple of this.
pub(super) const ALIGNMENT: usize = 8;
/// Chunks start at a multiple of this, a cache line, so that a run's place within its line is what its offset says.
const CHUNK_ALIGNMENT: usize = 64;
/// Chunks of this size ask for one page of it: a search in a large memstore jumps all over it, and with small pages most
/// jumps would wait for the page tables before they wait for the memory.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Chunks from this size on are mapped.
const MAPPED_BYTES_MIN: usize = 256 << 10;
/// A store that is never written to holds one chunk of this size.
const FIRST_CHUNK_BYTES: usize = 4 << 10;

/// Hands out memory that lives, and stays where it is, as long as the arena does.
pub(super) struct Arena {
    chunks: Vec<Chunk>,
    /// The chunk that runs are cut from, as the part of it that is still free.
    free: NonNull<u8>,
    free_bytes: usize,
    next_chunk_bytes: usize,
    chunk_bytes_max: usize,
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
    /// An arena without memory; its chunks double in size up to `chunk_bytes_max`.
    pub(super) fn new(chunk_bytes_max: usize) -> Self {
        let chunk_bytes_max = chunk_bytes_max.max(FIRST_CHUNK_BYTES);
        Self { chunks: Vec::new(), free: NonNull::dangling(), free_bytes: 0, next_chunk_bytes: FIRST_CHUNK_BYTES, chunk_bytes_max, used_bytes: 0 }
    }

    /// `bytes` bytes of uninitialised memory for the caller alone, at a multiple of [`ALIGNMENT`]. The pointer may be
    /// used for them until the arena is dropped.
    pub(super) fn allocate(&mut self, bytes: usize) -> NonNull<u8> {
        let bytes = bytes.next_multiple_of(ALIGNMENT);
        self.used_bytes += bytes;
        if bytes > self.free_bytes {
            // A run that would leave much of a fresh chunk unused gets memory of its own and the current chunk goes on.
            if bytes > self.next_chunk_bytes / 4 {
                return self.add_chunk(bytes);
            }
            self.free_bytes = self.next_chunk_bytes;
            self.free = self.add_chunk(self.free_bytes);
        }
        let run = self.free;
        // SAFETY: `free_bytes` bytes from `free` on belong to the current chunk and `bytes` is at most as many.
        self.free = unsafe { run.add(bytes) };
        self.free_bytes -= bytes;
        run
    }

    /// Bytes handed out, with the padding between them.
    pub(super) fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    fn add_chunk(&mut self, bytes: usize) -> NonNull<u8> {
        let is_huge = bytes.is_multiple_of(HUGE_PAGE_BYTES);
        let alignment = if is_huge { HUGE_PAGE_BYTES } else { CHUNK_ALIGNMENT };
        let layout = Layout::from_size_align(bytes.max(ALIGNMENT), alignment).expect("cells are limited to a few gigabytes");
        let chunk = Chunk::new(layout);
        let start = chunk.start;
        if is_huge {
            prefer_huge_pages(start, bytes);
        }
        self.chunks.push(chunk);
        self.next_chunk_bytes = (self.next_chunk_bytes * 2).min(self.chunk_bytes_max);
        start
    }
}

/// Asks the system to back whole huge pages of memory with huge pages. Where it does not, nothing is lost but time.
fn prefer_huge_pages(start: NonNull<u8>, bytes: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    // SAFETY: the advice changes no content, and the memory belongs to the caller alone.
    unsafe {
        let _ = rustix::mm::madvise(start.as_ptr().cast(), bytes, rustix::mm::Advice::LinuxHugepage);
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (start, bytes);
}

impl Chunk {
    /// Memory of this layout, whose size is not zero.
    fn new(layout: Layout) -> Self {
        let is_mapped = layout.size() >= MAPPED_BYTES_MIN && mapping::IS_AVAILABLE;
        // SAFETY: the size is not zero.
        let start = if is_mapped { mapping::map(layout) } else { NonNull::new(unsafe { alloc(layout) }) };
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
    /// Mapped memory has at least this alignment.
    const PAGE_BYTES: usize = 4 << 10;

    /// The bytes that are mapped for a layout: whole pages, of any size pages have.
    fn length(layout: Layout) -> usize {
        layout.size().next_multiple_of(64 << 10)
    }

    /// Maps memory for a layout; `None` if the system has none.
    pub(super) fn map(layout: Layout) -> Option<NonNull<u8>> {
        let length = length(layout);
        // What is mapped too much on either side of the alignment goes at once.
        let spare = if layout.align() > PAGE_BYTES { layout.align() } else { 0 };
        let total = length.checked_add(spare)?;
        // SAFETY: a new private mapping at an address of the system's choice touches no memory that is in use.
        let start = unsafe { mmap_anonymous(null_mut(), total, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) }.ok()?.cast::<u8>();
        let head = start.align_offset(layout.align().max(PAGE_BYTES)).min(spare);
        // SAFETY: both parts belong to the mapping just made, and nothing points into them.
        unsafe {
            release(start, head);
            release(start.add(head + length), spare - head);
            NonNull::new(start.add(head))
        }
    }

    /// # Safety
    /// `start` came from [`map`] with this layout, and nothing points into the memory any more.
    pub(super) unsafe fn unmap(start: NonNull<u8>, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { release(start.as_ptr(), length(layout)) }
    }

    /// # Safety
    /// The pages from `start` on are mapped, and nothing points into them any more.
    unsafe fn release(start: *mut u8, bytes: usize) {
        if bytes > 0 {
            // SAFETY: as the caller promises. It fails only where the system has no room for its own lists; then the memory stays.
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
        let mut runs: Vec<(usize, usize)> = (0..2_000).map(|n| (arena.allocate(1 + n % 97).addr().get(), 1 + n % 97)).collect();
        runs.push((arena.allocate(100_000).addr().get(), 100_000));
        runs.sort_unstable();
        assert!(runs.iter().all(|(start, _)| start % ALIGNMENT == 0));
        assert!(runs.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
    }

    #[test]
    fn chunks_start_small_and_grow_to_the_limit() {
        let mut arena = Arena::new(16 << 10);
        assert!(arena.chunks.is_empty());
        for _ in 0..1_000 {
            arena.allocate(64);
        }
        let sizes: Vec<usize> = arena.chunks.iter().map(|chunk| chunk.layout.size() >> 10).collect();
        assert_eq!(sizes, [4, 8, 16, 16, 16, 16]);
        assert_eq!(arena.used_bytes(), 64_000);
    }

    #[test]
    fn large_chunks_are_mapped_aligned_and_writable() {
        let mut arena = Arena::new(4 << 20);
        for bytes in [MAPPED_BYTES_MIN, MAPPED_BYTES_MIN + 1, HUGE_PAGE_BYTES, 3 * HUGE_PAGE_BYTES, 5_000_000] {
            let run = arena.allocate(bytes);
            // SAFETY: the run has as many bytes.
            unsafe { run.as_ptr().write_bytes(7, bytes) };
        }
        let mapped = arena.chunks.iter().filter(|chunk| chunk.is_mapped);
        assert!(mapped.clone().all(|chunk| chunk.start.addr().get().is_multiple_of(chunk.layout.align())));
        assert_eq!(mapped.count(), if mapping::IS_AVAILABLE { 5 } else { 0 });
    }

    /// Returns `true` if the process has memory at `start`.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn is_mapped(start: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let range = |line: &str| line.split(' ').next().and_then(|range| range.split_once('-')).map(|(from, to)| (hex(from), hex(to)));
        maps.lines().filter_map(range).any(|(from, to)| (from..to).contains(&start))
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn hex(text: &str) -> usize {
        usize::from_str_radix(text, 16).unwrap()
    }

    /// glibc kept 560 MB after memstores of 600 MB had been flushed.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn dropped_arena_returns_its_large_chunks_to_the_system() {
        let mut arena = Arena::new(2 << 20);
        // Far more than other tests take beside this one.
        for _ in 0..100 {
            arena.allocate(1 << 20);
        }
        let starts: Vec<usize> = arena.chunks.iter().filter(|chunk| chunk.is_mapped).map(|chunk| chunk.start.addr().get()).collect();
        assert!(starts.len() > 40 && starts.iter().all(|start| is_mapped(*start)));
        drop(arena);
        let left = starts.iter().filter(|start| is_mapped(**start)).count();
        assert!(left < starts.len() / 2, "{left} of {} chunks are still mapped", starts.len());
    }

    #[test]
    fn a_run_larger_than_a_chunk_leaves_the_current_chunk_in_use() {
        let mut arena = Arena::new(16 << 10);
        let before = arena.allocate(8);
        arena.allocate(1 << 20);
        assert_eq!(arena.allocate(8).addr().get(), before.addr().get() + 8);
    }
}
