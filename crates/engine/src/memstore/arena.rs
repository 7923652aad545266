//! The memory of one memstore: bytes handed out one run after another and given back all at once.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Every run starts at a multiple of this.
pub(super) const ALIGNMENT: usize = 8;
/// Chunks start at a multiple of this, a cache line, so that a run's place within its line is what its offset says.
const CHUNK_ALIGNMENT: usize = 64;
/// Chunks of this size ask for one page of it: a search in a large memstore jumps all over it, and with small pages most
/// jumps would wait for the page tables before they wait for the memory.
const HUGE_PAGE_BYTES: usize = 2 << 20;
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
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        if is_huge {
            prefer_huge_pages(start, bytes);
        }
        self.chunks.push(Chunk { start, layout });
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

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: `start` came from `alloc` with this layout, and a chunk is dropped once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
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
    fn a_run_larger_than_a_chunk_leaves_the_current_chunk_in_use() {
        let mut arena = Arena::new(16 << 10);
        let before = arena.allocate(8);
        arena.allocate(1 << 20);
        assert_eq!(arena.allocate(8).addr().get(), before.addr().get() + 8);
    }
}
