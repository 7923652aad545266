//! Many ranges as one stream: which are open, which piece is read next, and whose row comes first.
//!
//! A range is opened when a row of it may come next, so that a list of values is read one after the other, and salts all
//! together. In order, a row can be given out when every open range has shown its next one. While rows of one piece are
//! given out, the next piece of the same range is read.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use halite_types::{Error, Result, Row};

use super::ScatterOptions;
use super::cursor::{Cursor, Piece, Shared};
use super::loser_tree::LoserTree;
use crate::plan::{KeyRange, Plan};

/// Rows of one answer, so that a consumer sees the first before all are merged.
const ROWS_PER_ANSWER: usize = 1024;
/// A piece of a range is not made smaller than this.
const PIECE_BYTES_MIN: usize = 4096;
/// Rows that a range with a limit is asked for at first, at least.
const FIRST_ROWS_MIN: usize = 4;

type Reading = Pin<Box<dyn Future<Output = Piece> + Send>>;

/// A range that was opened.
struct Leaf {
    range: KeyRange,
    /// Here while nothing is being read.
    cursor: Option<Cursor>,
    /// A piece that was read ahead.
    ready: Option<Vec<Row>>,
    rows: std::vec::IntoIter<Row>,
    head: Option<Row>,
    /// The merge key of the head.
    key: Vec<u8>,
    /// Nothing comes behind what is here.
    is_over: bool,
}

/// What the tree knows of the heads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TreeIs {
    Current,
    /// The winner has another head.
    BehindOfWinner,
    /// Ranges have joined since it was made.
    OfOthers,
}

/// The ranges of a plan while they are read.
pub(super) struct Merge {
    shared: Arc<Shared>,
    concurrency: usize,
    is_ordered: bool,
    reverse: bool,
    /// Ranges that are not open, the one that may come first in front, each with the first merge key it can have; `None` where
    /// that is not known.
    pending: VecDeque<(Option<Vec<u8>>, KeyRange)>,
    leaves: Vec<Leaf>,
    /// Leaves that were opened ahead of their time, in the order of `pending`.
    ahead: VecDeque<(Option<Vec<u8>>, usize)>,
    /// The leaves that are merged, by their place in `tree`.
    joined: Vec<usize>,
    tree: LoserTree,
    tree_is: TreeIs,
    /// Joined leaves whose next row is not known.
    missing: usize,
    /// Leaves somebody waits for, and leaves to read ahead.
    wanted: VecDeque<usize>,
    prefetch: VecDeque<usize>,
    /// Without order: leaves that have rows to give.
    arrived: VecDeque<usize>,
    reading: Vec<(usize, Reading)>,
    failed: Option<Error>,
    limit: Option<usize>,
    fan_out: usize,
    /// Ranges that may be open at once without order; grows as ranges end.
    window: usize,
    open: usize,
}

impl Merge {
    pub(super) fn new(shared: Arc<Shared>, ranges: Vec<KeyRange>, options: &ScatterOptions) -> Self {
        let (reverse, is_ordered, limit) = (shared.plan.query().reverse, shared.plan.query().ordered, shared.plan.query().limit);
        let mut pending: Vec<_> = ranges.into_iter().map(|range| (first_key(&range, reverse), range)).collect();
        // What has no bound may come first; the others by their bounds, the last ones first in reverse.
        pending.sort_by(|(a, _), (b, _)| if reverse { b.is_none().cmp(&a.is_none()).then_with(|| b.cmp(a)) } else { a.cmp(b) });
        let concurrency = options.concurrency.max(1);
        let fan_out = shared.plan.fan_out().max(1);
        Self {
            shared,
            concurrency,
            is_ordered,
            reverse,
            pending: pending.into(),
            leaves: Vec::new(),
            ahead: VecDeque::new(),
            joined: Vec::new(),
            tree: LoserTree::default(),
            tree_is: TreeIs::Current,
            missing: 0,
            wanted: VecDeque::new(),
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

    /// The next rows, at most `most`; empty at the end.
    pub(super) fn poll_rows(&mut self, context: &mut Context<'_>, most: usize) -> Poll<Result<Vec<Row>>> {
        loop {
            if let Some(error) = self.failed.take() {
                return Poll::Ready(Err(error));
            }
            let at_once = most.min(ROWS_PER_ANSWER);
            let rows = if self.is_ordered { self.merged_rows(at_once) } else { self.any_rows(at_once) };
            // Nothing is begun for a consumer who has all he asked for, nor for one who may want no more: a store in this process
            // would read the next piece here and now.
            if rows.len() == most || self.limit.is_some() && !rows.is_empty() {
                return Poll::Ready(Ok(rows));
            }
            self.launch();
            let has_moved = self.poll_pieces(context);
            if !rows.is_empty() {
                return Poll::Ready(Ok(rows));
            }
            if !has_moved && self.failed.is_none() {
                let is_over = self.reading.is_empty() && self.wanted.is_empty() && self.pending.is_empty() && self.ahead.is_empty();
                return if is_over { Poll::Ready(Ok(Vec::new())) } else { Poll::Pending };
            }
        }
    }

    /// Looks at all pieces that are being read; whether one has come. Few are read at once, so none has to say which it is.
    fn poll_pieces(&mut self, context: &mut Context<'_>) -> bool {
        let mut has_moved = false;
        let mut at = 0;
        while at < self.reading.len() {
            match self.reading[at].1.as_mut().poll(context) {
                Poll::Pending => at += 1,
                Poll::Ready((cursor, rows)) => {
                    let (leaf, _) = self.reading.swap_remove(at);
                    has_moved = true;
                    match rows {
                        Ok(rows) => self.take_piece(leaf, cursor, rows),
                        Err(error) => self.failed = Some(error),
                    }
                }
            }
        }
        has_moved
    }

    fn take_piece(&mut self, at: usize, cursor: Cursor, rows: Vec<Row>) {
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

    /// Brings the next row of a leaf to its head, if it is here.
    fn advance(&mut self, at: usize) {
        let leaf = &mut self.leaves[at];
        leaf.head = leaf.rows.next();
        if leaf.head.is_none()
            && let Some(rows) = leaf.ready.take()
        {
            leaf.rows = rows.into_iter();
            leaf.head = leaf.rows.next();
            // With a limit the rest of the range may never be wanted.
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

    /// Rows in order, as long as every open range shows its next one.
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
            self.tree_is = self.tree_is.max(TreeIs::BehindOfWinner);
            if self.leaves[at].head.is_none() && !self.leaves[at].is_over {
                self.missing += 1;
                if self.leaves[at].cursor.is_some() {
                    self.wanted.push_back(at);
                }
            }
        }
        out
    }

    fn refresh_tree(&mut self) {
        let leaves = &self.leaves;
        match std::mem::replace(&mut self.tree_is, TreeIs::Current) {
            TreeIs::Current => return,
            TreeIs::BehindOfWinner => {
                let (joined, reverse) = (&self.joined, self.reverse);
                return self.tree.replay(|a, b| is_before(leaves, joined, reverse, a, b));
            }
            TreeIs::OfOthers => {}
        }
        self.joined.retain(|&leaf| leaves[leaf].head.is_some() || !leaves[leaf].is_over);
        let (joined, reverse) = (&self.joined, self.reverse);
        self.tree = match joined.len() {
            0 => LoserTree::default(),
            runs => LoserTree::new(runs, |a, b| is_before(leaves, joined, reverse, a, b)),
        };
    }

    /// Opens the next range, if one of its rows may come before `head`; whether it did.
    fn join_due(&mut self, head: Option<usize>) -> bool {
        let Some(first) = self.ahead.front().map(|(first, _)| first).or_else(|| self.pending.front().map(|(first, _)| first)) else { return false };
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

    /// Opens the next range, and those that begin where it does: salts are all read at once.
    fn join(&mut self) {
        let mut first: Option<Option<Vec<u8>>> = None;
        loop {
            let next = self.ahead.front().map(|(key, _)| key).or_else(|| self.pending.front().map(|(key, _)| key));
            let Some(next) = next.filter(|next| first.as_ref().is_none_or(|first| first == *next)) else { return };
            first.get_or_insert_with(|| next.clone());
            let at = match self.ahead.pop_front() {
                Some((_, at)) => at,
                None => match self.open_next() {
                    Some((_, at)) => {
                        self.wanted.push_back(at);
                        at
                    }
                    None => return,
                },
            };
            self.joined.push(at);
            self.missing += usize::from(self.leaves[at].head.is_none() && !self.leaves[at].is_over);
            self.tree_is = TreeIs::OfOthers;
        }
    }

    /// Makes a leaf of the next range.
    fn open_next(&mut self) -> Option<(Option<Vec<u8>>, usize)> {
        let (first, range) = self.pending.pop_front()?;
        let share = |limit: usize| if self.is_ordered { (2 * limit).div_ceil(self.fan_out).max(FIRST_ROWS_MIN).min(limit.max(1)) } else { limit };
        let wanted = self.limit.filter(|_| !self.shared.has_residual);
        let cursor = Cursor::new(Arc::clone(&self.shared), range.clone(), wanted, self.limit.map(share));
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

    /// Begins to read pieces, those first that somebody waits for.
    fn launch(&mut self) {
        while self.reading.len() < self.concurrency {
            let next = self.wanted.pop_front().or_else(|| self.prefetch.pop_front()).or_else(|| self.look_ahead());
            let Some(at) = next else { return };
            // It may have been read ahead in the meantime; then what came is used up first.
            if self.leaves[at].ready.is_none()
                && let Some(cursor) = self.leaves[at].cursor.take()
            {
                self.reading.push((at, Box::pin(cursor.read())));
            }
        }
    }

    /// Opens a range that nobody waits for yet.
    fn look_ahead(&mut self) -> Option<usize> {
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

    /// Rows as they come.
    fn any_rows(&mut self, most: usize) -> Vec<Row> {
        let mut out = Vec::new();
        while let Some(&at) = self.arrived.front().filter(|_| out.len() < most) {
            let leaf = &mut self.leaves[at];
            // A piece waits until the one before it is given out.
            if leaf.rows.as_slice().is_empty() {
                let Some(rows) = leaf.ready.take() else {
                    self.arrived.pop_front();
                    continue;
                };
                leaf.rows = rows.into_iter();
                if leaf.cursor.is_some() {
                    self.wanted.push_back(at);
                }
            }
            out.extend(leaf.rows.by_ref().take(most - out.len()));
        }
        out
    }
}

/// Bytes of one piece of a range, of which each open range holds two.
pub(super) fn piece_bytes(plan: &Plan, options: &ScatterOptions) -> usize {
    let at_once = if plan.query().ordered { plan.fan_out().max(options.concurrency) } else { options.concurrency };
    (options.buffer_bytes / (2 * at_once.max(1))).max(PIECE_BYTES_MIN)
}

/// The first merge key that a row of a range can have, in the direction of the scan.
fn first_key(range: &KeyRange, reverse: bool) -> Option<Vec<u8>> {
    if reverse { range.high_merge_key() } else { Some(range.low_merge_key()) }
}

/// Whether the head of run `a` comes before that of run `b`. Rows of one logical key come in the order of their whole keys.
fn is_before(leaves: &[Leaf], joined: &[usize], reverse: bool, a: usize, b: usize) -> bool {
    let (a, b) = (&leaves[joined[a]], &leaves[joined[b]]);
    let (Some(first), Some(second)) = (&a.head, &b.head) else { return a.head.is_some() };
    let order = a.key.cmp(&b.key).then_with(|| first.key().cmp(second.key()));
    if reverse { order.is_gt() } else { order.is_lt() }
}
