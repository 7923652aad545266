//! Many ranges as one stream: the open ranges, the order of chunk reads, and the merge of rows.
//!
//! A range is opened when one of its rows may be next, so a list of values is read sequentially,
//! and all salts are read concurrently. In ordered mode, a row can be returned once every open
//! range has its next row. While the rows of one chunk are returned, the next chunk of the same
//! range is read.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use halite_types::{Error, Result, Row};

use super::cursor::{Cursor, CursorChunk, ScatterContext};
use super::loser_tree::LoserTree;
use super::options::ScatterOptions;
use crate::plan::{KeyRange, Plan};

/// Rows per batch, so that a consumer receives the first rows before all are merged.
const ROWS_PER_BATCH: usize = 1024;
/// Minimum bytes of a chunk of a range.
const MIN_CHUNK_BYTES: usize = 4096;
/// Minimum rows of the first request to a range with a limit.
const MIN_FIRST_ROWS: usize = 4;

type ChunkFuture = Pin<Box<dyn Future<Output = CursorChunk> + Send>>;

/// Open range.
struct Leaf {
    range: KeyRange,
    /// Present while no read is in progress.
    cursor: Option<Cursor>,
    /// Chunk that was read ahead.
    ready: Option<Vec<Row>>,
    rows: std::vec::IntoIter<Row>,
    head: Option<Row>,
    /// Merge key of the head.
    key: Vec<u8>,
    /// `true` if no rows follow the buffered ones.
    is_over: bool,
}

/// State of the tree relative to the heads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TreeState {
    Current,
    /// The winner has a new head.
    WinnerChanged,
    /// Ranges have joined since the tree was built.
    RunsAdded,
}

/// Ranges of a plan while they are read.
pub(super) struct Merge {
    context: Arc<ScatterContext>,
    concurrency: usize,
    is_ordered: bool,
    reverse: bool,
    /// Ranges that are not open, in the order in which they may be needed, each with its least
    /// possible merge key; `None` if unknown.
    pending: VecDeque<(Option<Vec<u8>>, KeyRange)>,
    leaves: Vec<Leaf>,
    /// Leaves that were opened in advance, in the order of `pending`.
    ahead: VecDeque<(Option<Vec<u8>>, usize)>,
    /// Merged leaves, by their index in `tree`.
    joined: Vec<usize>,
    tree: LoserTree,
    tree_state: TreeState,
    /// Joined leaves whose next row is unknown.
    missing: usize,
    /// Leaves that block the consumer, and leaves to read ahead.
    blocking: VecDeque<usize>,
    prefetch: VecDeque<usize>,
    /// Unordered mode: leaves with rows to return.
    arrived: VecDeque<usize>,
    reading: Vec<(usize, ChunkFuture)>,
    failed: Option<Error>,
    limit: Option<usize>,
    fan_out: usize,
    /// Unordered mode: maximum ranges open at once; grows as ranges end.
    window: usize,
    open: usize,
}

impl Merge {
    pub(super) fn new(
        context: Arc<ScatterContext>,
        ranges: Vec<KeyRange>,
        options: &ScatterOptions,
    ) -> Self {
        let (reverse, is_ordered, limit) = (
            context.plan.query().reverse,
            context.plan.query().ordered,
            context.plan.query().limit,
        );
        let mut pending: Vec<_> =
            ranges.into_iter().map(|range| (first_key(&range, reverse), range)).collect();
        // Ranges without a bound may be first; the others are sorted by their bounds, descending in
        // reverse.
        pending.sort_by(|(a, _), (b, _)| {
            if reverse { b.is_none().cmp(&a.is_none()).then_with(|| b.cmp(a)) } else { a.cmp(b) }
        });
        let concurrency = options.concurrency.max(1);
        let fan_out = context.plan.fan_out().max(1);
        Self {
            context,
            concurrency,
            is_ordered,
            reverse,
            pending: pending.into(),
            leaves: Vec::new(),
            ahead: VecDeque::new(),
            joined: Vec::new(),
            tree: LoserTree::default(),
            tree_state: TreeState::Current,
            missing: 0,
            blocking: VecDeque::new(),
            prefetch: VecDeque::new(),
            arrived: VecDeque::new(),
            reading: Vec::new(),
            failed: None,
            limit,
            fan_out,
            window: if limit.is_some() { 1 } else { concurrency },
            open: 0,
        }
    }

    /// Returns the next rows, at most `most`; empty at the end.
    pub(super) fn poll_rows(
        &mut self,
        context: &mut Context<'_>,
        most: usize,
    ) -> Poll<Result<Vec<Row>>> {
        loop {
            if let Some(error) = self.failed.take() {
                return Poll::Ready(Err(error));
            }
            let at_once = most.min(ROWS_PER_BATCH);
            let rows =
                if self.is_ordered { self.merged_rows(at_once) } else { self.any_rows(at_once) };
            // No read is started for a consumer that has all requested rows, or that may need no
            // more: a local store would read the next chunk synchronously.
            if rows.len() == most || self.limit.is_some() && !rows.is_empty() {
                return Poll::Ready(Ok(rows));
            }
            self.launch();
            let has_moved = self.poll_chunks(context);
            if !rows.is_empty() {
                return Poll::Ready(Ok(rows));
            }
            if !has_moved && self.failed.is_none() {
                let is_over = self.reading.is_empty()
                    && self.blocking.is_empty()
                    && self.pending.is_empty()
                    && self.ahead.is_empty();
                return if is_over { Poll::Ready(Ok(Vec::new())) } else { Poll::Pending };
            }
        }
    }

    /// Polls all chunk reads; returns `true` if one has completed. Few are in progress at once, so
    /// none needs to identify itself.
    fn poll_chunks(&mut self, context: &mut Context<'_>) -> bool {
        let mut has_moved = false;
        let mut at = 0;
        while at < self.reading.len() {
            match self.reading[at].1.as_mut().poll(context) {
                Poll::Pending => at += 1,
                Poll::Ready((cursor, rows)) => {
                    let (leaf, _) = self.reading.swap_remove(at);
                    has_moved = true;
                    match rows {
                        Ok(rows) => self.take_chunk(leaf, cursor, rows),
                        Err(error) => self.failed = Some(error),
                    }
                }
            }
        }
        has_moved
    }

    fn take_chunk(&mut self, at: usize, cursor: Cursor, rows: Vec<Row>) {
        let leaf = &mut self.leaves[at];
        leaf.is_over = cursor.is_over();
        leaf.cursor = (!leaf.is_over).then_some(cursor);
        leaf.ready = Some(rows);
        if leaf.is_over {
            self.open -= 1;
            self.window = (self.window * 2).min(self.concurrency);
        }
        if self.is_ordered && leaf.head.is_none() {
            let is_joined = !self.ahead.iter().any(|(_, ahead)| *ahead == at);
            self.advance(at);
            if is_joined && (self.leaves[at].head.is_some() || self.leaves[at].is_over) {
                self.missing -= 1;
            }
        } else if !self.is_ordered {
            self.arrived.push_back(at);
        }
    }

    /// Moves the next row of a leaf to its head, if it is available.
    fn advance(&mut self, at: usize) {
        let leaf = &mut self.leaves[at];
        leaf.head = leaf.rows.next();
        if leaf.head.is_none()
            && let Some(rows) = leaf.ready.take()
        {
            leaf.rows = rows.into_iter();
            leaf.head = leaf.rows.next();
            // With a limit the rest of the range may never be needed.
            if leaf.cursor.is_some() && self.limit.is_none() {
                self.prefetch.push_back(at);
            }
        }
        if let Some(head) = &leaf.head {
            let (first, second) = leaf.range.merge_key(head.key());
            leaf.key.clear();
            leaf.key.extend_from_slice(first);
            leaf.key.extend_from_slice(second);
        }
    }

    /// Returns rows in order, as long as every open range has its next row.
    fn merged_rows(&mut self, most: usize) -> Vec<Row> {
        let mut out = Vec::new();
        while self.missing == 0 && out.len() < most {
            self.refresh_tree();
            let winner = self.joined.get(self.tree.winner()).copied();
            let head = winner.filter(|&leaf| self.leaves[leaf].head.is_some());
            if self.join_due(head) {
                continue;
            }
            let Some(at) = head else { break };
            out.extend(self.leaves[at].head.take());
            self.advance(at);
            self.tree_state = self.tree_state.max(TreeState::WinnerChanged);
            if self.leaves[at].head.is_none() && !self.leaves[at].is_over {
                self.missing += 1;
                if self.leaves[at].cursor.is_some() {
                    self.blocking.push_back(at);
                }
            }
        }
        out
    }

    fn refresh_tree(&mut self) {
        let leaves = &self.leaves;
        match std::mem::replace(&mut self.tree_state, TreeState::Current) {
            TreeState::Current => return,
            TreeState::WinnerChanged => {
                let (joined, reverse) = (&self.joined, self.reverse);
                return self.tree.replay(|a, b| is_before(leaves, joined, reverse, a, b));
            }
            TreeState::RunsAdded => {}
        }
        self.joined.retain(|&leaf| leaves[leaf].head.is_some() || !leaves[leaf].is_over);
        let (joined, reverse) = (&self.joined, self.reverse);
        self.tree = match joined.len() {
            0 => LoserTree::default(),
            runs => LoserTree::new(runs, |a, b| is_before(leaves, joined, reverse, a, b)),
        };
    }

    /// Opens the next range if one of its rows may sort before `head`; returns `true` if it did.
    fn join_due(&mut self, head: Option<usize>) -> bool {
        let Some(first) = self
            .ahead
            .front()
            .map(|(first, _)| first)
            .or_else(|| self.pending.front().map(|(first, _)| first))
        else {
            return false;
        };
        let is_due = match (head.map(|leaf| &self.leaves[leaf].key), first) {
            (Some(key), Some(first)) if self.reverse => first >= key,
            (Some(key), Some(first)) => first <= key,
            _ => true,
        };
        if !is_due {
            return false;
        }
        self.join();
        true
    }

    /// Opens the next range, and those with the same start: all salts are read at once.
    fn join(&mut self) {
        let mut first: Option<Option<Vec<u8>>> = None;
        loop {
            let next = self
                .ahead
                .front()
                .map(|(key, _)| key)
                .or_else(|| self.pending.front().map(|(key, _)| key));
            let Some(next) = next.filter(|next| first.as_ref().is_none_or(|first| first == *next))
            else {
                return;
            };
            first.get_or_insert_with(|| next.clone());
            let at = match self.ahead.pop_front() {
                Some((_, at)) => at,
                None => match self.open_next() {
                    Some((_, at)) => {
                        self.blocking.push_back(at);
                        at
                    }
                    None => return,
                },
            };
            self.joined.push(at);
            self.missing += usize::from(self.leaves[at].head.is_none() && !self.leaves[at].is_over);
            self.tree_state = TreeState::RunsAdded;
        }
    }

    /// Creates a leaf from the next range.
    fn open_next(&mut self) -> Option<(Option<Vec<u8>>, usize)> {
        let (first, range) = self.pending.pop_front()?;
        let share = |limit: usize| {
            if self.is_ordered {
                (2 * limit).div_ceil(self.fan_out).max(MIN_FIRST_ROWS).min(limit.max(1))
            } else {
                limit
            }
        };
        let remaining = self.limit.filter(|_| !self.context.has_residual);
        let cursor =
            Cursor::new(Arc::clone(&self.context), range.clone(), remaining, self.limit.map(share));
        self.leaves.push(Leaf {
            range,
            cursor: Some(cursor),
            ready: None,
            rows: Vec::new().into_iter(),
            head: None,
            key: Vec::new(),
            is_over: false,
        });
        self.open += 1;
        Some((first, self.leaves.len() - 1))
    }

    /// Starts chunk reads, first those that block the consumer.
    fn launch(&mut self) {
        while self.reading.len() < self.concurrency {
            let next = self
                .blocking
                .pop_front()
                .or_else(|| self.prefetch.pop_front())
                .or_else(|| self.open_ahead());
            let Some(at) = next else { return };
            // It may have been read ahead; then that chunk is used first.
            if self.leaves[at].ready.is_none()
                && let Some(cursor) = self.leaves[at].cursor.take()
            {
                self.reading.push((at, Box::pin(cursor.read())));
            }
        }
    }

    /// Opens a range in advance.
    fn open_ahead(&mut self) -> Option<usize> {
        if !self.is_ordered {
            return if self.open < self.window { self.open_next().map(|(_, at)| at) } else { None };
        }
        if self.limit.is_some() || self.ahead.len() >= self.concurrency {
            return None;
        }
        let (first, at) = self.open_next()?;
        self.ahead.push_back((first, at));
        Some(at)
    }

    /// Returns rows in order of arrival.
    fn any_rows(&mut self, most: usize) -> Vec<Row> {
        let mut out = Vec::new();
        while let Some(&at) = self.arrived.front().filter(|_| out.len() < most) {
            let leaf = &mut self.leaves[at];
            // A chunk waits until the previous one is returned.
            if leaf.rows.as_slice().is_empty() {
                let Some(rows) = leaf.ready.take() else {
                    self.arrived.pop_front();
                    continue;
                };
                leaf.rows = rows.into_iter();
                if leaf.cursor.is_some() {
                    self.blocking.push_back(at);
                }
            }
            out.extend(leaf.rows.by_ref().take(most - out.len()));
        }
        out
    }
}

/// Returns the bytes of one chunk of a range; each open range holds two.
pub(super) fn chunk_bytes(plan: &Plan, options: &ScatterOptions) -> usize {
    let at_once = if plan.query().ordered {
        plan.fan_out().max(options.concurrency)
    } else {
        options.concurrency
    };
    (options.buffer_bytes / (2 * at_once.max(1))).max(MIN_CHUNK_BYTES)
}

/// Returns the first possible merge key of the rows in a range, in the direction of the scan.
fn first_key(range: &KeyRange, reverse: bool) -> Option<Vec<u8>> {
    if reverse { range.high_merge_key() } else { Some(range.low_merge_key()) }
}

/// Returns `true` if the head of run `a` sorts before that of run `b`. Rows with the same logical
/// key are in the order of their complete keys.
fn is_before(leaves: &[Leaf], joined: &[usize], reverse: bool, a: usize, b: usize) -> bool {
    let (a, b) = (&leaves[joined[a]], &leaves[joined[b]]);
    let (Some(first), Some(second)) = (&a.head, &b.head) else { return a.head.is_some() };
    let order = a.key.cmp(&b.key).then_with(|| first.key().cmp(second.key()));
    if reverse { order.is_gt() } else { order.is_lt() }
}
