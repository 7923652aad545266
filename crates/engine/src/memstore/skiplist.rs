//! Skip list of cells in an arena, with one writer at a time, wait-free readers and no removal.
//!
//! ```text
//! node   next[height-1] .. next[1] | next[0] prefix sequence lengths height | key | value | tags
//!                                  ^ the node's address
//! ```
//! The tower grows downwards from the address. The data that a descent reads (`next[0]`, the prefix
//! and the start of the key) therefore shares a cache line, whatever the height.

use std::marker::PhantomData;
use std::mem::{align_of, offset_of};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_types::CellRef;
use halite_types::cell::{RowPrefix, compare_keys, key_row};

use super::arena::{ALIGNMENT, Arena};
use crate::atomics::{AtomicPtr, AtomicUsize, Ordering};

/// Maximum number of levels, enough for 2^20 cells. With more cells a search takes a few more steps
/// on the highest level.
const MAX_HEIGHT: usize = 20;
/// Levels of the last insertion's path that the writer tries before it starts from the head.
const FINGER_LEVELS: usize = 3;
/// Steps that a reader takes from its current node before it starts from the head.
const GALLOP_STEPS: usize = 8;
/// Searches that are interleaved when a batch is inserted: enough to overlap a fetch from memory
/// with the work of the others.
const GROUP_SEARCHES: usize = 16;
/// Level and number of steps within which the first cell of a sorted group must reach the last for
/// the group to be inserted in one walk. The cells are then about fifty apart.
const CLOSE_LEVEL: usize = 4;
const CLOSE_STEPS: usize = 4;
/// Levels of each node along which a walk prefetches.
const PREFETCH_LEVELS: usize = 4;
/// Bytes of timestamp and type at the end of a flat key.
const VERSION_BYTES: usize = 9;
/// Bytes of one link of a tower.
const LINK_BYTES: usize = size_of::<AtomicPtr<Node>>();
/// Offset of the key from the node's address.
const PAYLOAD: usize = offset_of!(Node, height) + 1;

// The sum of a key, value and tags whose lengths fit their fields must not overflow.
const _: () = assert!(usize::BITS >= 64 && align_of::<Node>() <= ALIGNMENT);

/// Fixed part of a node. The payload starts right after `height`, in bytes that the compiler treats
/// as padding.
#[repr(C)]
struct Node {
    next: AtomicPtr<Node>,
    prefix: u64,
    sequence: u64,
    key_bytes: u32,
    value_bytes: u32,
    tags_bytes: u16,
    height: u8,
}

/// Node of a list that is borrowed for `'a`.
///
/// Invariant: the address is that of a node whose fixed part, tower and payload were written in
/// full before the pointer was published. They are not written again, except for the links, which
/// are atomic, and they live as long as `'a`. The pointer may be used for all of them.
#[derive(Clone, Copy)]
struct NodeRef<'a> {
    node: NonNull<Node>,
    list: PhantomData<&'a SkipList>,
}

impl<'a> NodeRef<'a> {
    /// # Safety
    /// The invariant of [`NodeRef`] must hold.
    unsafe fn new(node: NonNull<Node>) -> Self {
        Self { node, list: PhantomData }
    }

    fn is(self, other: Self) -> bool {
        self.node == other.node
    }

    fn height(self) -> usize {
        // SAFETY: by the invariant; fields are read in place so that no reference narrows the
        // pointer to them.
        usize::from(unsafe { (*self.node.as_ptr()).height })
    }

    fn prefix(self) -> u64 {
        // SAFETY: by the invariant.
        unsafe { (*self.node.as_ptr()).prefix }
    }

    fn sequence(self) -> u64 {
        // SAFETY: by the invariant.
        unsafe { (*self.node.as_ptr()).sequence }
    }

    #[inline]
    fn key(self) -> &'a [u8] {
        // SAFETY: by the invariant `key_bytes` bytes were written from `PAYLOAD` on.
        unsafe {
            let node = self.node.as_ptr();
            std::slice::from_raw_parts(node.cast::<u8>().add(PAYLOAD), (*node).key_bytes as usize)
        }
    }

    #[inline]
    fn cell(self) -> CellRef<'a> {
        // SAFETY: by the invariant key, value and tags of the stated lengths are stored
        // consecutively from `PAYLOAD` on.
        unsafe {
            let node = self.node.as_ptr();
            let (key, value) = ((*node).key_bytes as usize, (*node).value_bytes as usize);
            let payload = node.cast::<u8>().add(PAYLOAD);
            let slice = |start, bytes| std::slice::from_raw_parts(payload.add(start), bytes);
            CellRef::new(
                slice(0, key),
                slice(key, value),
                slice(key + value, usize::from((*node).tags_bytes)),
                (*node).sequence,
            )
        }
    }

    #[inline]
    fn link(self, level: usize) -> &'a AtomicPtr<Node> {
        debug_assert!(level < self.height(), "a node has a link on each of its levels");
        // SAFETY: by the invariant the tower of `height` links ends with the node's first field.
        // Levels are in bounds: a node is reached on a level only through a link of that level,
        // which nodes of at least that height enter.
        unsafe { &*self.node.as_ptr().cast::<AtomicPtr<Node>>().sub(level) }
    }

    /// Returns the next node on a level below this node's height.
    #[inline]
    fn next(self, level: usize) -> Option<Self> {
        // Acquire pairs with the Release in `SkipList::publish`: a thread that sees the address
        // sees the node's bytes.
        let next = NonNull::new(self.link(level).load(Ordering::Acquire))?;
        // SAFETY: only finished nodes of the same list are published.
        Some(unsafe { Self::new(next) })
    }

    /// Returns `true` if this node, which is not the head, sorts before `target`.
    #[inline]
    fn precedes(self, target: &SearchKey<'_>) -> bool {
        let prefix = self.prefix();
        if prefix != target.prefix {
            return prefix < target.prefix;
        }
        let order = compare_keys(self.key(), target.key);
        order.then_with(|| target.sequence.cmp(&self.sequence())).is_lt()
    }
}

/// Position in the order of the cells of one list.
#[derive(Clone, Copy)]
struct SearchKey<'a> {
    prefix: u64,
    key: &'a [u8],
    sequence: u64,
}

impl SearchKey<'_> {
    /// Returns `true` if a cell at this position sorts before one at the other.
    fn precedes(&self, other: &SearchKey<'_>) -> bool {
        if self.prefix != other.prefix {
            return self.prefix < other.prefix;
        }
        compare_keys(self.key, other.key).then_with(|| other.sequence.cmp(&self.sequence)).is_lt()
    }
}

/// Cells in the order of `compare_cells`; among equal cells the last one inserted is first.
pub(super) struct SkipList {
    head: NonNull<Node>,
    /// Levels in use. A stale value only makes a descent longer.
    height: AtomicUsize,
    /// Prefix that rows are expected to share, which the nodes' prefixes omit.
    expected_prefix: RowPrefix,
    /// Bytes of memory that only cursors hold; 0 while the memstore exists.
    retained_bytes: AtomicUsize,
    writer: Mutex<WriterState>,
}

/// State that only the holder of the lock accesses.
struct WriterState {
    arena: Arena,
    /// On each level the last node before or at the last insertion. The nodes are in order: none is
    /// after the one on the level below.
    path: [NonNull<Node>; MAX_HEIGHT],
    random: u64,
}

// SAFETY: the pointers lead to memory of the list's own arena. Nodes are shared as the invariant of
// `NodeRef` allows; the rest is reached only under the lock.
unsafe impl Send for SkipList {}
// SAFETY: as above.
unsafe impl Sync for SkipList {}

impl SkipList {
    /// Returns an empty list for rows most of which begin with `expected_prefix`; other rows only
    /// take longer to compare.
    pub(super) fn new(max_chunk_bytes: usize, expected_prefix: RowPrefix) -> Self {
        let mut arena = Arena::new(max_chunk_bytes);
        let head =
            write_node(&mut arena, CellRef::new(&super::HEAD_KEY, b"", b"", 0), 0, MAX_HEIGHT);
        let writer = WriterState { arena, path: [head; MAX_HEIGHT], random: 0x9e37_79b9_7f4a_7c15 };
        Self {
            head,
            height: AtomicUsize::new(1),
            expected_prefix,
            retained_bytes: AtomicUsize::new(0),
            writer: Mutex::new(writer),
        }
    }

    /// Records that the memstore no longer exists and that only cursors hold the list.
    pub(super) fn retain_for_cursors(&self, bytes: usize) {
        self.retained_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns the prefix to expect of the rows of a similar list: the common prefix of all rows in
    /// this one.
    pub(super) fn row_prefix(&self) -> RowPrefix {
        let (Some(first), Some(last)) = (self.head().next(0), self.last()) else {
            return self.expected_prefix.clone();
        };
        RowPrefix::from_bounds(key_row(first.key()), key_row(last.key()))
    }

    fn last(&self) -> Option<NodeRef<'_>> {
        let mut node = self.head();
        for level in (0..self.height.load(Ordering::Relaxed)).rev() {
            while let Some(next) = node.next(level) {
                node = next;
            }
        }
        (!node.is(self.head())).then_some(node)
    }

    #[inline]
    fn search_key<'k>(&self, key: &'k [u8], sequence: u64) -> SearchKey<'k> {
        SearchKey { prefix: self.expected_prefix.abbreviated_key(key), key, sequence }
    }

    /// Returns the position right before the newest cell with `key`.
    fn before<'k>(&self, key: &'k [u8]) -> SearchKey<'k> {
        self.search_key(key, u64::MAX)
    }

    /// Returns the writer, for one thread at a time.
    pub(super) fn writer(&self) -> Writer<'_> {
        // A panic can occur only before the links are set, so the list then does not contain the
        // cell.
        Writer { list: self, state: self.writer.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    fn head(&self) -> NodeRef<'_> {
        // SAFETY: the head is a finished node that lives as long as the list's arena.
        unsafe { NodeRef::new(self.head) }
    }

    /// Returns the last node before `target` (the head if there is none) and the one after it.
    fn search(&self, target: &SearchKey<'_>) -> (NodeRef<'_>, Option<NodeRef<'_>>) {
        let top = self.height.load(Ordering::Relaxed) - 1;
        descend(self.head(), top, target, |_, _| ())
    }

    /// Links a finished node of the list's arena after the path, on as many levels as the path has,
    /// and moves the path to it. Only the holder of [`SkipList::writer`] calls it.
    fn publish(&self, node: NonNull<Node>, path: &mut [NonNull<Node>]) {
        // SAFETY: `write_node` returned it from this list's arena.
        let new = unsafe { NodeRef::new(node) };
        debug_assert_eq!(path.len(), new.height(), "a node is linked on all of its levels");
        // SAFETY: the path leads over finished nodes of this list, each at least as high as its
        // level requires.
        let before = |place| unsafe { NodeRef::new(place) };
        // All links of the node are set before the first link to it, so a reader on any level can
        // continue from it.
        for (level, place) in path.iter().enumerate() {
            let next = before(*place).link(level).load(Ordering::Relaxed);
            new.link(level).store(next, Ordering::Relaxed);
        }
        for (level, place) in path.iter_mut().enumerate() {
            before(*place).link(level).store(node.as_ptr(), Ordering::Release);
            *place = node;
        }
        if path.len() > self.height.load(Ordering::Relaxed) {
            self.height.store(path.len(), Ordering::Relaxed);
        }
    }

    /// Returns the first node not before `target`, searched from a node that is before it.
    fn gallop<'a>(&'a self, from: NodeRef<'a>, target: &SearchKey<'_>) -> Option<NodeRef<'a>> {
        let mut node = from;
        for _ in 0..GALLOP_STEPS {
            // A node's highest link leads to a node at least as high, so the strides get longer.
            let top = node.height() - 1;
            match node.next(top) {
                Some(next) if next.precedes(target) => node = next,
                _ => return descend(node, top, target, |_, _| ()).1,
            }
        }
        self.search(target).1
    }
}

/// Descends from `node`, which is the head or before `target`, to the last node before `target`.
/// Returns it and the node after it. `visit` receives the last node before `target` on each level
/// from `top` down.
#[inline]
fn descend<'a>(
    mut node: NodeRef<'a>,
    top: usize,
    target: &SearchKey<'_>,
    mut visit: impl FnMut(usize, NodeRef<'a>),
) -> (NodeRef<'a>, Option<NodeRef<'a>>) {
    let mut behind: Option<NodeRef<'a>> = None;
    for level in (0..=top).rev() {
        loop {
            // While the comparison waits for this level's node, fetch the next one in case the
            // search descends here.
            if level > 0 {
                prefetch(node.link(level - 1));
            }
            match node.next(level) {
                // The node that stopped the level above often stops this one too.
                Some(next)
                    if behind.is_none_or(|behind| !next.is(behind)) && next.precedes(target) =>
                {
                    node = next;
                }
                next => {
                    behind = next;
                    break;
                }
            }
        }
        visit(level, node);
    }
    (node, behind)
}

/// Returns the last node before `target` on a level, searched from a node that is before it.
fn last_before<'a>(mut node: NodeRef<'a>, level: usize, target: &SearchKey<'_>) -> NodeRef<'a> {
    while let Some(next) = node.next(level).filter(|next| next.precedes(target)) {
        node = next;
    }
    node
}

/// Search for the position of a cell, one of several that are interleaved.
struct Search<'a, 'c> {
    cell: CellRef<'c>,
    target: SearchKey<'c>,
    /// Number of levels of its node.
    height: usize,
    /// Node before the target.
    node: NodeRef<'a>,
    /// Node that stopped the level above.
    after: Option<NodeRef<'a>>,
    level: usize,
    /// On each level the last node before the target, as far as the search has progressed.
    path: [NodeRef<'a>; MAX_HEIGHT],
    ended: bool,
}

impl Search<'_, '_> {
    /// Performs one comparison and prefetches the node for the next one. Returns `true` if this was
    /// the last.
    fn step(&mut self) -> bool {
        match self.node.next(self.level) {
            Some(next)
                if self.after.is_none_or(|behind| !next.is(behind))
                    && next.precedes(&self.target) =>
            {
                self.node = next;
            }
            next => {
                self.after = next;
                self.path[self.level] = self.node;
                if self.level == 0 {
                    self.ended = true;
                    return true;
                }
                self.level -= 1;
            }
        }
        prefetch(self.node.link(self.level));
        false
    }
}

/// Requests the cache line of the node that a link leads to ahead of its use.
#[inline]
fn prefetch(link: &AtomicPtr<Node>) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, halite_loom))))]
    // SAFETY: a prefetch changes nothing and does not fault, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
            link.load(Ordering::Relaxed).cast(),
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, halite_loom)))))]
    let _ = link;
}

/// Exclusive access for insertions into a list.
pub(super) struct Writer<'a> {
    list: &'a SkipList,
    state: MutexGuard<'a, WriterState>,
}

impl<'a> Writer<'a> {
    /// Inserts a copy of `cell` before all cells that are equal to it. Returns `true` if it is next
    /// to a cell of its column.
    pub(super) fn insert(&mut self, cell: CellRef<'_>) -> bool {
        let target = self.list.search_key(cell.key(), cell.sequence_id());
        self.find_path(&target);
        let height = self.random_height();
        self.add(cell, target.prefix, height)
    }

    /// Inserts copies of `cells` in their order, with the same result as [`Writer::insert`] for
    /// each. Calls `inserted` with each cell, the used bytes of the arena, and `true` if the cell
    /// is next to a cell of its column.
    ///
    /// Cells that are sorted and close to each other, such as rows in key order, take one walk. The
    /// positions of others are searched together: one search's comparison runs while the nodes of
    /// the others are fetched from memory.
    pub(super) fn insert_all<'c>(
        &mut self,
        mut cells: impl Iterator<Item = CellRef<'c>>,
        mut inserted: impl FnMut(CellRef<'c>, usize, bool),
    ) {
        let list = self.list;
        let mut searches: Vec<Search<'a, 'c>> = Vec::with_capacity(GROUP_SEARCHES);
        loop {
            let top = list.height.load(Ordering::Relaxed) - 1;
            searches.clear();
            searches.extend(cells.by_ref().take(GROUP_SEARCHES).map(|cell| Search {
                cell,
                target: list.search_key(cell.key(), cell.sequence_id()),
                height: self.random_height(),
                node: list.head(),
                after: None,
                level: top,
                path: [list.head(); MAX_HEIGHT],
                ended: false,
            }));
            if searches.is_empty() {
                return;
            }
            if self.are_close(&searches) {
                for search in &searches {
                    self.find_path(&search.target);
                    let is_beside = self.add(search.cell, search.target.prefix, search.height);
                    inserted(search.cell, self.state.arena.used_bytes(), is_beside);
                }
            } else {
                self.insert_searched(&mut searches, &mut inserted);
            }
        }
    }

    /// Adds a cell after the path. Returns `true` if one of its neighbors is of its column.
    fn add(&mut self, cell: CellRef<'_>, prefix: u64, height: usize) -> bool {
        // SAFETY: the path leads over finished nodes of this list.
        let before = unsafe { NodeRef::<'a>::new(self.state.path[0]) };
        let after = before.next(0);
        debug_assert!(
            after.is_none_or(|node| compare_keys(cell.key(), node.key()).is_le()),
            "a cell is inserted at its place in the order"
        );
        debug_assert!(
            before.is(self.list.head()) || compare_keys(before.key(), cell.key()).is_le(),
            "a cell is inserted after those that sort before it"
        );
        let is_beside = after.is_some_and(|node| same_column(node.key(), cell.key()))
            || same_column(before.key(), cell.key());
        let node = write_node(&mut self.state.arena, cell, prefix, height);
        self.list.publish(node, &mut self.state.path[..height]);
        is_beside
    }

    /// Returns `true` if the cells are in order, with few others between the first and the last.
    /// Moves the path to the first if they are in order.
    fn are_close(&mut self, searches: &[Search<'_, '_>]) -> bool {
        let [first, .., last] = searches else { return false };
        if searches.windows(2).any(|pair| !pair[0].target.precedes(&pair[1].target)) {
            return false;
        }
        self.find_path(&first.target);
        // SAFETY: the path leads over finished nodes of this list.
        let mut node = unsafe { NodeRef::<'a>::new(self.state.path[CLOSE_LEVEL]) };
        for _ in 0..CLOSE_STEPS {
            match node.next(CLOSE_LEVEL) {
                Some(next) if next.precedes(&last.target) => node = next,
                _ => return true,
            }
        }
        false
    }

    /// Searches the positions of all cells in turn and adds the cells.
    fn insert_searched<'c>(
        &mut self,
        searches: &mut [Search<'a, 'c>],
        inserted: &mut impl FnMut(CellRef<'c>, usize, bool),
    ) {
        let mut live = searches.len();
        while live > 0 {
            live -= searches
                .iter_mut()
                .filter(|search| !search.ended)
                .map(|search| usize::from(search.step()))
                .sum::<usize>();
        }
        for search in searches {
            // Other cells of the group may have been inserted after the node that was found.
            for (level, found) in search.path[..search.height].iter().enumerate() {
                self.state.path[level] = last_before(*found, level, &search.target).node;
            }
            let is_beside = self.add(search.cell, search.target.prefix, search.height);
            inserted(search.cell, self.state.arena.used_bytes(), is_beside);
        }
        // The nodes of the path are no longer in order, and new ones may be after them.
        self.state.path = [self.list.head; MAX_HEIGHT];
    }

    /// Returns the used bytes of the arena.
    pub(super) fn used_bytes(&self) -> usize {
        self.state.arena.used_bytes()
    }

    /// Moves the path to `target`: on each level the last node before it.
    fn find_path(&mut self, target: &SearchKey<'_>) {
        let list = self.list;
        let top = list.height.load(Ordering::Relaxed) - 1;
        let (level, node) = (0..FINGER_LEVELS.min(top))
            .find_map(|level| self.path_holds(level, target))
            .unwrap_or((top, list.head()));
        descend(node, level, target, |level, node| self.state.path[level] = node.node);
    }

    /// Returns the node of the path on `level`, if `target` belongs right after it; the path is
    /// then valid on the levels above as well.
    fn path_holds(&self, level: usize, target: &SearchKey<'_>) -> Option<(usize, NodeRef<'a>)> {
        // SAFETY: the path leads over finished nodes of this list.
        let node = unsafe { NodeRef::new(self.state.path[level]) };
        let before = node.is(self.list.head()) || node.precedes(target);
        (before && node.next(level).is_none_or(|next| !next.precedes(target)))
            .then_some((level, node))
    }

    /// Adds one more level with a probability of 1/2. Compared with 1/4 this costs five bytes more
    /// per cell and saves a third of the nodes that a search has to fetch.
    fn random_height(&mut self) -> usize {
        let mut bits = self.state.random;
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        self.state.random = bits;
        (1 + bits.trailing_ones() as usize).min(MAX_HEIGHT)
    }
}

/// Returns `true` if two flat keys are of one row and column.
fn same_column(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a[..a.len() - VERSION_BYTES] == b[..b.len() - VERSION_BYTES]
}

/// Copies a cell into the arena as a node without successors. Only this function writes a node's
/// bytes.
fn write_node(arena: &mut Arena, cell: CellRef<'_>, prefix: u64, height: usize) -> NonNull<Node> {
    let (key, value, tags) = (cell.key(), cell.value(), cell.tags());
    let fixed = Node {
        next: AtomicPtr::new(ptr::null_mut()),
        prefix,
        sequence: cell.sequence_id(),
        key_bytes: u32::try_from(key.len()).expect("cell size is limited by the caller"),
        value_bytes: u32::try_from(value.len()).expect("cell size is limited by the caller"),
        tags_bytes: u16::try_from(tags.len()).expect("tags are limited to 64 KiB"),
        height: u8::try_from(height).expect("at most MAX_HEIGHT"),
    };
    debug_assert!((1..=MAX_HEIGHT).contains(&height), "a tower has a level and is limited");
    let above = (height - 1) * LINK_BYTES;
    let bytes = above + (PAYLOAD + key.len() + value.len() + tags.len()).max(size_of::<Node>());
    let start = arena.allocate(bytes);
    // SAFETY: the run has room for the links above, the fixed part and the payload, and no other
    // code has access to it. Links and fixed part are aligned: the run is, and links are as long as
    // the alignment. The payload is written last because it begins in the fixed part's padding.
    unsafe {
        let node = start.add(above).cast::<Node>();
        for level in 1..height {
            node.cast::<AtomicPtr<Node>>().sub(level).write(AtomicPtr::new(ptr::null_mut()));
        }
        node.write(fixed);
        let mut at = node.cast::<u8>().add(PAYLOAD);
        for part in [key, value, tags] {
            ptr::copy_nonoverlapping(part.as_ptr(), at.as_ptr(), part.len());
            at = at.add(part.len());
        }
        node
    }
}

/// Position in a list that it keeps alive: at a cell, or past the last one.
pub(super) struct SkipListCursor {
    list: Arc<SkipList>,
    /// Published node of `list`.
    node: Option<NonNull<Node>>,
}

// SAFETY: a cursor reads nodes of a list that it owns a share of, and `SkipList` is `Send` and
// `Sync`.
unsafe impl Send for SkipListCursor {}
// SAFETY: as above; `&SkipListCursor` only reads.
unsafe impl Sync for SkipListCursor {}

impl SkipListCursor {
    /// Returns a cursor past the last cell.
    pub(super) fn new(list: Arc<SkipList>) -> Self {
        Self { list, node: None }
    }

    /// Returns its share of the memory that only cursors hold.
    pub(super) fn held_bytes(&self) -> usize {
        self.list.retained_bytes.load(Ordering::Relaxed) / Arc::strong_count(&self.list).max(1)
    }

    fn node(&self) -> Option<NodeRef<'_>> {
        // SAFETY: `node` is published in `list`, which lives as long as `self`.
        self.node.map(|node| unsafe { NodeRef::new(node) })
    }

    #[inline]
    pub(super) fn cell(&self) -> Option<CellRef<'_>> {
        self.node().map(NodeRef::cell)
    }

    #[inline]
    pub(super) fn step(&mut self) {
        let next = self.node().and_then(|node| node.next(0));
        // A walk is a chain of cache misses; the links above the lowest lead ahead of it.
        if let Some(node) = next {
            (0..node.height().min(PREFETCH_LEVELS)).for_each(|level| prefetch(node.link(level)));
        }
        self.node = next.map(|next| next.node);
    }

    pub(super) fn seek_to_first(&mut self) {
        self.node = self.list.head().next(0).map(|first| first.node);
    }

    /// Moves to the first cell not before `key`, of equal keys the newest.
    pub(super) fn seek(&mut self, key: &[u8]) {
        let target = self.list.before(key);
        let found = match self.node() {
            Some(node) if node.precedes(&target) => self.list.gallop(node, &target),
            _ => self.list.search(&target).1,
        };
        self.node = found.map(|found| found.node);
    }

    /// Moves to the last cell before `key`, or past the last one if there is none.
    pub(super) fn seek_last_before(&mut self, key: &[u8]) {
        let (last, _) = self.list.search(&self.list.before(key));
        self.node = (!last.is(self.list.head())).then_some(last.node);
    }
}
