//! A skip list of cells in an arena: one writer at a time, readers that never wait, nothing ever removed.
//!
//! ```text
//! node   next[height-1] .. next[1] | next[0] prefix sequence lengths height | key | value | tags
//!                                  ^ the node's address
//! ```
//! The tower grows downwards from the address, so what a descent touches (`next[0]`, the prefix and the start of the
//! key) shares a cache line whatever the height.

use std::marker::PhantomData;
use std::mem::{align_of, offset_of};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use halite_types::CellRef;
use halite_types::cell::{SharedPrefix, compare_keys, key_row};

use super::arena::{ALIGNMENT, Arena};
use crate::atomics::{AtomicPtr, AtomicUsize, Ordering};

/// Enough levels for 2^20 cells; with more of them a search takes a few more steps on the highest level.
const HEIGHT_MAX: usize = 20;
/// How many levels of the last insertion's path the writer tries before it starts from the head.
const FINGER_LEVELS: usize = 3;
/// How many steps a reader goes from where it stands before it starts from the head.
const GALLOP_STEPS: usize = 8;
/// How many searches take turns when a batch is inserted: enough to hide a fetch from memory behind the others' work.
const GROUP_SEARCHES: usize = 16;
/// On which level, and in how many steps, the last cell of a sorted group must be reached from the first for the whole group
/// to be inserted in one walk: some fifty cells apart.
const CLOSE_LEVEL: usize = 4;
const CLOSE_STEPS: usize = 4;
/// How many levels of each node a walk fetches ahead along.
const PREFETCH_LEVELS: usize = 4;
/// Bytes of timestamp and type at the end of a flat key.
const VERSION_BYTES: usize = 9;
/// Bytes of one link of a tower.
const LINK_BYTES: usize = size_of::<AtomicPtr<Node>>();
/// Where the key starts, counted from the node's address.
const PAYLOAD: usize = offset_of!(Node, height) + 1;

// The sum of a key, value and tags whose lengths fit their fields must not overflow.
const _: () = assert!(usize::BITS >= 64 && align_of::<Node>() <= ALIGNMENT);

/// The fixed part of a node. The payload starts right behind `height`, in what the compiler regards as padding.
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

/// A node of a list that is borrowed for `'a`.
///
/// Invariant: the address is that of a node whose fixed part, tower and payload were written in full before the
/// pointer was published, are not written again (the links, which are atomic, apart) and live as long as `'a`; and the
/// pointer may be used for all of them.
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
        // SAFETY: by the invariant; fields are read in place so that no reference narrows the pointer to them.
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
        // SAFETY: by the invariant key, value and tags of the stated lengths lie one behind the other from `PAYLOAD` on.
        unsafe {
            let node = self.node.as_ptr();
            let (key, value) = ((*node).key_bytes as usize, (*node).value_bytes as usize);
            let payload = node.cast::<u8>().add(PAYLOAD);
            let slice = |start, bytes| std::slice::from_raw_parts(payload.add(start), bytes);
            CellRef::new(slice(0, key), slice(key, value), slice(key + value, usize::from((*node).tags_bytes)), (*node).sequence)
        }
    }

    #[inline]
    fn link(self, level: usize) -> &'a AtomicPtr<Node> {
        debug_assert!(level < self.height());
        // SAFETY: by the invariant the tower of `height` links ends with the node's first field. Levels are in bounds:
        // a node is reached on a level only through a link of that level, which nodes of at least that height enter.
        unsafe { &*self.node.as_ptr().cast::<AtomicPtr<Node>>().sub(level) }
    }

    /// The node that follows on a level below this node's height.
    #[inline]
    fn next(self, level: usize) -> Option<Self> {
        // Acquire pairs with the Release in `SkipList::publish`: whoever sees the address sees the node's bytes.
        let next = NonNull::new(self.link(level).load(Ordering::Acquire))?;
        // SAFETY: only finished nodes of the same list are published.
        Some(unsafe { Self::new(next) })
    }

    /// Whether this node, which is not the head, sorts before `target`.
    #[inline]
    fn precedes(self, target: &Target<'_>) -> bool {
        let prefix = self.prefix();
        if prefix != target.prefix {
            return prefix < target.prefix;
        }
        let order = compare_keys(self.key(), target.key);
        order.then_with(|| target.sequence.cmp(&self.sequence())).is_lt()
    }
}

/// A place in the order of the cells of one list.
#[derive(Clone, Copy)]
struct Target<'a> {
    prefix: u64,
    key: &'a [u8],
    sequence: u64,
}

impl Target<'_> {
    /// Whether a cell at this place sorts before one at the other.
    fn precedes(&self, other: &Target<'_>) -> bool {
        if self.prefix != other.prefix {
            return self.prefix < other.prefix;
        }
        compare_keys(self.key, other.key).then_with(|| other.sequence.cmp(&self.sequence)).is_lt()
    }
}

/// Cells in the order of `compare_cells`; among equals the last one inserted comes first.
pub(super) struct SkipList {
    head: NonNull<Node>,
    /// Levels in use. A stale value only makes a descent longer.
    height: AtomicUsize,
    /// What rows are expected to begin with, which the prefixes leave out.
    shared: SharedPrefix,
    /// Bytes of memory that are kept for cursors only; 0 while the memstore is there.
    left_bytes: AtomicUsize,
    writer: Mutex<WriterState>,
}

/// What only the holder of the lock touches.
struct WriterState {
    arena: Arena,
    /// On each level the last node before or at the last insertion. These are in order: none is behind the one below.
    path: [NonNull<Node>; HEIGHT_MAX],
    random: u64,
}

// SAFETY: the pointers lead to memory of the list's own arena. Nodes are shared as the invariant of `NodeRef` allows;
// the rest is reached only under the lock.
unsafe impl Send for SkipList {}
// SAFETY: as above.
unsafe impl Sync for SkipList {}

impl SkipList {
    /// An empty list for rows most of which begin with `shared`; any others only take longer to compare.
    pub(super) fn new(chunk_bytes_max: usize, shared: SharedPrefix) -> Self {
        let mut arena = Arena::new(chunk_bytes_max);
        let head = write_node(&mut arena, CellRef::new(&super::HEAD_KEY, b"", b"", 0), 0, HEIGHT_MAX);
        let writer = WriterState { arena, path: [head; HEIGHT_MAX], random: 0x9e37_79b9_7f4a_7c15 };
        Self { head, height: AtomicUsize::new(1), shared, left_bytes: AtomicUsize::new(0), writer: Mutex::new(writer) }
    }

    /// The memstore has gone: from now on the list is kept for cursors.
    pub(super) fn leave(&self, bytes: usize) {
        self.left_bytes.store(bytes, Ordering::Relaxed);
    }

    /// What the rows of another list like this one should be expected to begin with: what all of them share here.
    pub(super) fn shared_by_rows(&self) -> SharedPrefix {
        let (Some(first), Some(last)) = (self.head().next(0), self.last()) else { return self.shared.clone() };
        SharedPrefix::of(key_row(first.key()), key_row(last.key()))
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
    fn target<'k>(&self, key: &'k [u8], sequence: u64) -> Target<'k> {
        Target { prefix: self.shared.place_of(key), key, sequence }
    }

    /// The place right before the newest cell with `key`.
    fn before<'k>(&self, key: &'k [u8]) -> Target<'k> {
        self.target(key, u64::MAX)
    }

    /// The right to insert, for one thread at a time.
    pub(super) fn writer(&self) -> Writer<'_> {
        // A panic can only come before the links are set, so what it leaves behind is a list without the cell.
        Writer { list: self, state: self.writer.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    fn head(&self) -> NodeRef<'_> {
        // SAFETY: the head is a finished node that lives as long as the list's arena.
        unsafe { NodeRef::new(self.head) }
    }

    /// The last node before `target` (the head if there is none) and the one behind it.
    fn search(&self, target: &Target<'_>) -> (NodeRef<'_>, Option<NodeRef<'_>>) {
        let top = self.height.load(Ordering::Relaxed) - 1;
        descend(self.head(), top, target, |_, _| ())
    }

    /// Links a finished node of the list's arena, as high as the path, behind the path, and moves the path to it. Only the
    /// holder of [`SkipList::writer`] calls it.
    fn publish(&self, node: NonNull<Node>, path: &mut [NonNull<Node>]) {
        // SAFETY: `write_node` returned it from this list's arena.
        let new = unsafe { NodeRef::new(node) };
        // SAFETY: the path leads over finished nodes of this list, each as high as its level asks.
        let before = |place| unsafe { NodeRef::new(place) };
        // All links of the node are set before the first link to it, so a reader on any level can go on from it.
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

    /// The first node not before `target`, sought from a node that is before it.
    fn gallop<'a>(&'a self, from: NodeRef<'a>, target: &Target<'_>) -> Option<NodeRef<'a>> {
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

/// From `node`, which is the head or before `target`, to the last node before `target`; returns it with the one behind
/// it. `visit` learns the last node before `target` of each level from `top` down.
#[inline]
fn descend<'a>(
    mut node: NodeRef<'a>,
    top: usize,
    target: &Target<'_>,
    mut visit: impl FnMut(usize, NodeRef<'a>),
) -> (NodeRef<'a>, Option<NodeRef<'a>>) {
    let mut behind: Option<NodeRef<'a>> = None;
    for level in (0..=top).rev() {
        loop {
            // While the comparison waits for this level's node, fetch the one that comes up if it stops here.
            if level > 0 {
                prefetch(node.link(level - 1));
            }
            match node.next(level) {
                // What stopped the level above often stops this one too.
                Some(next) if behind.is_none_or(|behind| !next.is(behind)) && next.precedes(target) => node = next,
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

/// The last node before `target` on a level, sought from a node that is before it.
fn last_before<'a>(mut node: NodeRef<'a>, level: usize, target: &Target<'_>) -> NodeRef<'a> {
    while let Some(next) = node.next(level).filter(|next| next.precedes(target)) {
        node = next;
    }
    node
}

/// The search for the place of a cell, one of several that take turns.
struct Search<'a, 'c> {
    cell: CellRef<'c>,
    target: Target<'c>,
    /// How many levels its node will have.
    height: usize,
    /// Before the target.
    node: NodeRef<'a>,
    /// What stopped the level above.
    behind: Option<NodeRef<'a>>,
    level: usize,
    /// On each level the last node before the target, as far as the search has come.
    path: [NodeRef<'a>; HEIGHT_MAX],
    ended: bool,
}

impl Search<'_, '_> {
    /// One comparison; asks for the node that the next one needs. Whether this was the last.
    fn step(&mut self) -> bool {
        match self.node.next(self.level) {
            Some(next) if self.behind.is_none_or(|behind| !next.is(behind)) && next.precedes(&self.target) => self.node = next,
            next => {
                self.behind = next;
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
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(link.load(Ordering::Relaxed).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, halite_loom)))))]
    let _ = link;
}

/// The right to insert into a list.
pub(super) struct Writer<'a> {
    list: &'a SkipList,
    state: MutexGuard<'a, WriterState>,
}

impl<'a> Writer<'a> {
    /// Inserts a copy of `cell` before all cells that are equal to it; whether it stands beside a cell of its column.
    pub(super) fn insert(&mut self, cell: CellRef<'_>) -> bool {
        let target = self.list.target(cell.key(), cell.sequence());
        self.find_path(&target);
        let height = self.random_height();
        self.add(cell, target.prefix, height)
    }

    /// Inserts copies of `cells` in their order, as [`Writer::insert`] would one by one, and calls `inserted` with each,
    /// the bytes of the arena in use, and whether it stands beside a cell of its column.
    ///
    /// Cells that are sorted and end up close to each other, as rows in the order of their keys, take one walk. The places
    /// of others are sought together: one search's comparison runs while the others' nodes are on their way from memory.
    pub(super) fn insert_all<'c>(&mut self, mut cells: impl Iterator<Item = CellRef<'c>>, mut inserted: impl FnMut(CellRef<'c>, usize, bool)) {
        let list = self.list;
        let mut searches: Vec<Search<'a, 'c>> = Vec::with_capacity(GROUP_SEARCHES);
        loop {
            let top = list.height.load(Ordering::Relaxed) - 1;
            searches.clear();
            searches.extend(cells.by_ref().take(GROUP_SEARCHES).map(|cell| Search {
                cell,
                target: list.target(cell.key(), cell.sequence()),
                height: self.random_height(),
                node: list.head(),
                behind: None,
                level: top,
                path: [list.head(); HEIGHT_MAX],
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

    /// Adds a cell behind the path; whether one of its neighbours is of its column.
    fn add(&mut self, cell: CellRef<'_>, prefix: u64, height: usize) -> bool {
        // SAFETY: the path leads over finished nodes of this list.
        let before = unsafe { NodeRef::<'a>::new(self.state.path[0]) };
        let is_beside = before.next(0).is_some_and(|node| same_column(node.key(), cell.key())) || same_column(before.key(), cell.key());
        let node = write_node(&mut self.state.arena, cell, prefix, height);
        self.list.publish(node, &mut self.state.path[..height]);
        is_beside
    }

    /// Whether the cells are in order, with few others between the first and the last. Moves the path to the first if they are
    /// in order.
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

    /// Seeks the places of all in turn and adds the cells.
    fn insert_searched<'c>(&mut self, searches: &mut [Search<'a, 'c>], inserted: &mut impl FnMut(CellRef<'c>, usize, bool)) {
        let mut live = searches.len();
        while live > 0 {
            live -= searches.iter_mut().filter(|search| !search.ended).map(|search| usize::from(search.step())).sum::<usize>();
        }
        for search in searches {
            // Others of the group may have come in behind the node that was found.
            for (level, found) in search.path[..search.height].iter().enumerate() {
                self.state.path[level] = last_before(*found, level, &search.target).node;
            }
            let is_beside = self.add(search.cell, search.target.prefix, search.height);
            inserted(search.cell, self.state.arena.used_bytes(), is_beside);
        }
        // Its nodes are no longer in order, and new ones may stand behind them.
        self.state.path = [self.list.head; HEIGHT_MAX];
    }

    /// Bytes of the arena in use.
    pub(super) fn used_bytes(&self) -> usize {
        self.state.arena.used_bytes()
    }

    /// Moves the path to `target`: on each level the last node before it.
    fn find_path(&mut self, target: &Target<'_>) {
        let list = self.list;
        let top = list.height.load(Ordering::Relaxed) - 1;
        let (level, node) = (0..FINGER_LEVELS.min(top)).find_map(|level| self.path_holds(level, target)).unwrap_or((top, list.head()));
        descend(node, level, target, |level, node| self.state.path[level] = node.node);
    }

    /// The node of the path on `level`, if `target` belongs right behind it; then the path holds above as well.
    fn path_holds(&self, level: usize, target: &Target<'_>) -> Option<(usize, NodeRef<'a>)> {
        // SAFETY: the path leads over finished nodes of this list.
        let node = unsafe { NodeRef::new(self.state.path[level]) };
        let before = node.is(self.list.head()) || node.precedes(target);
        (before && node.next(level).is_none_or(|next| !next.precedes(target))).then_some((level, node))
    }

    /// One level more with a chance of one in two: next to one in four it costs five bytes more per cell and spares a
    /// third of the nodes that a search has to fetch.
    fn random_height(&mut self) -> usize {
        let mut bits = self.state.random;
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        self.state.random = bits;
        (1 + bits.trailing_ones() as usize).min(HEIGHT_MAX)
    }
}

/// Whether two flat keys are of one row and column.
fn same_column(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a[..a.len() - VERSION_BYTES] == b[..b.len() - VERSION_BYTES]
}

/// Copies a cell into the arena as a node that leads nowhere yet. This is the only place that writes a node's bytes.
fn write_node(arena: &mut Arena, cell: CellRef<'_>, prefix: u64, height: usize) -> NonNull<Node> {
    let (key, value, tags) = (cell.key(), cell.value(), cell.tags());
    let fixed = Node {
        next: AtomicPtr::new(ptr::null_mut()),
        prefix,
        sequence: cell.sequence(),
        key_bytes: u32::try_from(key.len()).expect("cell size is limited by the caller"),
        value_bytes: u32::try_from(value.len()).expect("cell size is limited by the caller"),
        tags_bytes: u16::try_from(tags.len()).expect("tags are limited to 64 KiB"),
        height: u8::try_from(height).expect("at most HEIGHT_MAX"),
    };
    let above = (height - 1) * LINK_BYTES;
    let bytes = above + (PAYLOAD + key.len() + value.len() + tags.len()).max(size_of::<Node>());
    let start = arena.allocate(bytes);
    // SAFETY: the run has room for the links above, the fixed part and the payload, and nobody else has it. Links and
    // fixed part are aligned: the run is, and links are as long as the alignment. The payload is written last because
    // it begins in the fixed part's padding.
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

/// A place in a list that it keeps alive: at a cell, or behind the last one.
pub(super) struct Position {
    list: Arc<SkipList>,
    /// A published node of `list`.
    node: Option<NonNull<Node>>,
}

// SAFETY: a position reads nodes of a list that it owns a share of, and `SkipList` is `Send` and `Sync`.
unsafe impl Send for Position {}
// SAFETY: as above; `&Position` only reads.
unsafe impl Sync for Position {}

impl Position {
    /// The place behind the last cell.
    pub(super) fn new(list: Arc<SkipList>) -> Self {
        Self { list, node: None }
    }

    /// Its share of the memory that is kept for positions in the list only.
    pub(super) fn held_bytes(&self) -> usize {
        self.list.left_bytes.load(Ordering::Relaxed) / Arc::strong_count(&self.list).max(1)
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

    /// To the first cell not before `key`, of equal keys the newest.
    pub(super) fn seek(&mut self, key: &[u8]) {
        let target = self.list.before(key);
        let found = match self.node() {
            Some(node) if node.precedes(&target) => self.list.gallop(node, &target),
            _ => self.list.search(&target).1,
        };
        self.node = found.map(|found| found.node);
    }

    /// To the last cell before `key`, or behind the last one if there is none.
    pub(super) fn seek_last_before(&mut self, key: &[u8]) {
        let (last, _) = self.list.search(&self.list.before(key));
        self.node = (!last.is(self.list.head())).then_some(last.node);
    }
}
