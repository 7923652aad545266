//! Linearizability check for the results of one row: is there an order of the operations, each at
//! some moment between its call and its reply, in which every result is correct?
//!
//! The search is that of Wing and Gong with Lowe's cache. From each state of the row it tries the
//! operations that may be next, which are those called before any other remaining one was answered.
//! It never tries a state twice with the same remaining operations. A read that fits is taken where
//! it fits, since it changes nothing for those that follow. An operation without a reply may take
//! effect at any later time, or never; one that must follow another waits for it.

use std::collections::HashSet;

use crate::model::{Observation, RowRequest, RowState};

/// States that are tried for one row before the search gives up.
const MAX_TRIED_STATES: usize = 3_000_000;

/// Operation in a row's history. Moments are counted, and each event has its own.
#[derive(Clone, Debug)]
pub struct HistoryOp {
    /// Moment of the call.
    pub called: u64,
    /// Moment of the reply; `None` if there was none.
    pub returned: Option<u64>,
    /// The request.
    pub request: RowRequest,
    /// Index of the operation in the history that must precede it.
    pub after: Option<usize>,
}

/// Result of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is such an order.
    Linearizable,
    /// There is none. These operations are the most that can be ordered, and the others, by index,
    /// cannot follow.
    Impossible {
        /// In their order.
        placed: Vec<usize>,
        /// Answered operations without a position.
        left: Vec<usize>,
        /// Contents of the row between them.
        state: RowState,
    },
    /// The search gave up.
    GaveUp,
}

/// Searches for an order of a row's history. The row does not exist at first.
pub fn check(ops: &[HistoryOp]) -> Verdict {
    let mut order: Vec<usize> = (0..ops.len()).collect();
    order.sort_by_key(|index| ops[*index].called);
    Search {
        ops,
        order,
        tried: HashSet::new(),
        placed: Vec::new(),
        best: Vec::new(),
        best_state: RowState::default(),
    }
    .run()
}

struct Search<'a> {
    ops: &'a [HistoryOp],
    /// Indexes ordered by the moment of the call.
    order: Vec<usize>,
    tried: HashSet<(Vec<u64>, RowState)>,
    /// Operations ordered so far.
    placed: Vec<usize>,
    best: Vec<usize>,
    best_state: RowState,
}

/// Search node: completed operations and remaining alternatives.
struct Level {
    done: Vec<u64>,
    next: Vec<(usize, RowState)>,
    /// Number of ordered operations at this node.
    placed: usize,
}

impl Search<'_> {
    fn run(mut self) -> Verdict {
        let mut levels = Vec::new();
        let mut current = Some((vec![0; self.ops.len().div_ceil(64)], RowState::default()));
        loop {
            if let Some((mut done, state)) = current.take() {
                self.take_reads(&mut done, &state);
                if self.is_over(&done) {
                    return Verdict::Linearizable;
                }
                if self.placed.len() > self.best.len() {
                    (self.best, self.best_state) = (self.placed.clone(), state.clone());
                }
                if self.tried.insert((done.clone(), state.clone())) {
                    let next = self.next(&done, &state);
                    levels.push(Level { done, next, placed: self.placed.len() });
                }
                if self.tried.len() > MAX_TRIED_STATES {
                    return Verdict::GaveUp;
                }
            }
            let Some(level) = levels.last_mut() else {
                let left = (0..self.ops.len()).filter(|index| {
                    self.ops[*index].returned.is_some() && !self.best.contains(index)
                });
                return Verdict::Impossible {
                    left: left.collect(),
                    placed: self.best,
                    state: self.best_state,
                };
            };
            self.placed.truncate(level.placed);
            match level.next.pop() {
                Some((index, state)) => {
                    let mut done = level.done.clone();
                    set(&mut done, index);
                    self.placed.push(index);
                    current = Some((done, state));
                }
                None => drop(levels.pop()),
            }
        }
    }

    fn is_over(&self, done: &[u64]) -> bool {
        self.ops.iter().enumerate().all(|(index, op)| op.returned.is_none() || has(done, index))
    }

    /// Returns the operations that may be next.
    fn candidates(&self, done: &[u64]) -> Vec<usize> {
        let mut candidates = Vec::new();
        let mut first_answer = u64::MAX;
        for index in self.order.iter().copied().filter(|index| !has(done, *index)) {
            let op = &self.ops[index];
            if op.called > first_answer {
                break;
            }
            first_answer = first_answer.min(op.returned.unwrap_or(u64::MAX));
            if op.after.is_none_or(|after| has(done, after)) {
                candidates.push(index);
            }
        }
        candidates
    }

    /// Takes all operations that fit here and change nothing.
    fn take_reads(&mut self, done: &mut [u64], state: &RowState) {
        loop {
            let fits = |index: &usize| {
                let request = &self.ops[*index].request;
                (request.changes.is_empty() || request.observation == Observation::Held(false))
                    && state.after(request).is_some()
            };
            let Some(read) = self.candidates(done).into_iter().find(fits) else { return };
            set(done, read);
            self.placed.push(read);
        }
    }

    /// Returns the operations to try, the most likely last: answered ones, the earliest reply
    /// first.
    fn next(&self, done: &[u64], state: &RowState) -> Vec<(usize, RowState)> {
        let may_come = |index: usize| {
            let request = &self.ops[index].request;
            let next = (!request.changes.is_empty()).then(|| state.after(request)).flatten()?;
            // An unanswered operation without effect here can be omitted here.
            (request.observation != Observation::None || next != *state).then_some((index, next))
        };
        let mut next: Vec<_> = self.candidates(done).into_iter().filter_map(may_come).collect();
        next.sort_by_key(|(index, _)| {
            std::cmp::Reverse(self.ops[*index].returned.unwrap_or(u64::MAX))
        });
        next
    }
}

fn has(done: &[u64], index: usize) -> bool {
    done[index / 64] >> (index % 64) & 1 == 1
}

fn set(done: &mut [u64], index: usize) {
    done[index / 64] |= 1 << (index % 64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Change;

    fn op(called: u64, answered: u64, changes: &[Change], answer: Observation) -> HistoryOp {
        HistoryOp {
            called,
            returned: Some(answered),
            request: RowRequest { changes: changes.to_vec(), condition: None, observation: answer },
            after: None,
        }
    }

    fn lost(called: u64, changes: &[Change]) -> HistoryOp {
        HistoryOp { returned: None, ..op(called, 0, changes, Observation::None) }
    }

    fn put(called: u64, answered: u64, value: u32) -> HistoryOp {
        op(called, answered, &[Change::Put(value)], Observation::Done)
    }

    fn add(called: u64, answered: u64, value: i64) -> HistoryOp {
        op(called, answered, &[Change::Add(1)], Observation::Values(Some(value), None))
    }

    fn set_mark(called: u64, answered: u64, from: Option<u32>, to: u32, held: bool) -> HistoryOp {
        let mut op = op(called, answered, &[Change::Mark(to)], Observation::Held(held));
        op.request.condition = Some(from);
        op
    }

    fn reads(called: u64, answered: u64, change: impl FnOnce(&mut RowState)) -> HistoryOp {
        let mut state = RowState::default();
        change(&mut state);
        HistoryOp {
            request: RowRequest::row(state),
            ..op(called, answered, &[], Observation::Done)
        }
    }

    fn reads_put(called: u64, answered: u64, value: Option<u32>) -> HistoryOp {
        reads(called, answered, |state| state.register = value)
    }

    fn reads_count(called: u64, answered: u64, value: Option<i64>) -> HistoryOp {
        reads(called, answered, |state| state.counter = value)
    }

    fn is_linearizable(ops: &[HistoryOp]) -> bool {
        let verdict = check(ops);
        assert_ne!(verdict, Verdict::GaveUp);
        verdict == Verdict::Linearizable
    }

    #[test]
    fn sequential_operations_are_ordered() {
        assert!(is_linearizable(&[]));
        assert!(is_linearizable(&[
            reads_put(1, 2, None),
            put(3, 4, 7),
            reads_put(5, 6, Some(7)),
            put(7, 8, 9),
            reads_put(9, 10, Some(9))
        ]));
    }

    #[test]
    fn overlapping_operations_have_one_of_both_orders() {
        let puts = [put(1, 10, 7), put(2, 11, 9)];
        for seen in [7, 9] {
            assert!(is_linearizable(&[&puts[..], &[reads_put(12, 13, Some(seen))]].concat()));
        }
        assert!(!is_linearizable(
            &[&puts[..], &[reads_put(12, 13, Some(7)), reads_put(14, 15, Some(9))]].concat()
        ));
        assert!(is_linearizable(
            &[
                &puts[..],
                &[reads_put(3, 4, None), reads_put(5, 6, Some(9)), reads_put(7, 12, Some(7))]
            ]
            .concat()
        ));
    }

    #[test]
    fn lost_update_is_rejected() {
        assert!(!is_linearizable(&[put(1, 2, 7), reads_put(3, 4, None)]));
        assert!(!is_linearizable(&[add(1, 2, 1), add(3, 4, 2), reads_count(5, 6, Some(1))]));
        // Two that saw the same value.
        assert!(!is_linearizable(&[add(1, 5, 1), add(2, 6, 1)]));
    }

    #[test]
    fn stale_read_is_rejected() {
        assert!(!is_linearizable(&[put(1, 2, 7), put(3, 4, 9), reads_put(5, 6, Some(7))]));
        // A seen value stays visible, even while the put is in progress.
        assert!(!is_linearizable(&[
            put(1, 20, 7),
            reads_put(2, 3, Some(7)),
            reads_put(4, 5, None)
        ]));
    }

    #[test]
    fn increment_applied_twice_is_rejected() {
        assert!(is_linearizable(&[
            lost(1, &[Change::Add(1)]),
            reads_count(2, 3, Some(1)),
            reads_count(4, 5, Some(1))
        ]));
        assert!(!is_linearizable(&[
            lost(1, &[Change::Add(1)]),
            reads_count(2, 3, Some(1)),
            reads_count(4, 5, Some(2))
        ]));
        assert!(!is_linearizable(&[add(1, 2, 1), reads_count(3, 4, Some(2))]));
        let twice = |list: &[u32]| reads(3, 4, |state| state.list = list.to_vec());
        assert!(!is_linearizable(&[
            op(1, 2, &[Change::Append(5)], Observation::Done),
            twice(&[5, 5])
        ]));
    }

    #[test]
    fn read_of_unwritten_value_is_rejected() {
        assert!(!is_linearizable(&[put(1, 2, 7), reads_put(3, 4, Some(8))]));
        // The value cannot exist before the request.
        assert!(!is_linearizable(&[reads_put(1, 2, Some(7)), lost(3, &[Change::Put(7)])]));
    }

    #[test]
    fn unanswered_operation_applies_at_most_once() {
        let lost_put = lost(1, &[Change::Put(7)]);
        assert!(is_linearizable(&[
            lost_put.clone(),
            reads_put(5, 6, None),
            reads_put(7, 8, Some(7))
        ]));
        assert!(is_linearizable(&[lost_put.clone(), reads_put(5, 6, None)]));
        assert!(!is_linearizable(&[
            lost_put,
            put(2, 3, 9),
            reads_put(4, 5, Some(7)),
            put(6, 7, 11),
            reads_put(8, 9, Some(7))
        ]));
    }

    #[test]
    fn reappearing_deleted_value_is_rejected() {
        let delete = op(3, 4, &[Change::Delete], Observation::Done);
        assert!(is_linearizable(&[put(1, 2, 7), delete.clone(), reads_put(5, 6, None)]));
        assert!(!is_linearizable(&[
            put(1, 2, 7),
            delete,
            reads_put(5, 6, None),
            reads_put(7, 8, Some(7))
        ]));
    }

    #[test]
    fn two_checks_on_same_mark_cannot_both_succeed() {
        assert!(is_linearizable(&[set_mark(1, 5, None, 7, true), set_mark(2, 6, None, 9, false)]));
        assert!(!is_linearizable(&[set_mark(1, 5, None, 7, true), set_mark(2, 6, None, 9, true)]));
        assert!(!is_linearizable(&[
            set_mark(1, 2, None, 7, true),
            set_mark(3, 4, Some(7), 9, false)
        ]));
    }

    #[test]
    fn partially_visible_atomic_mutation_is_rejected() {
        let both = op(1, 10, &[Change::Put(7), Change::Add(1)], Observation::Done);
        assert!(is_linearizable(&[
            both.clone(),
            reads(2, 3, |state| (state.register, state.counter) = (Some(7), Some(1)))
        ]));
        assert!(!is_linearizable(&[both, reads_put(2, 3, Some(7))]));
    }

    #[test]
    fn older_timestamp_changes_nothing() {
        let stamped =
            |called, value| op(called, called + 1, &[Change::PutAt(value)], Observation::Done);
        let sees = |called, value| reads(called, called + 1, |state| state.stamped = Some(value));
        assert!(is_linearizable(&[stamped(1, 5), stamped(3, 4), sees(5, 5)]));
        assert!(!is_linearizable(&[stamped(1, 5), stamped(3, 4), sees(5, 4)]));
    }

    #[test]
    fn repeated_increment_may_return_later_but_not_earlier_value() {
        let repeated = |value| {
            let effect = op(1, 10, &[Change::Add(1)], Observation::Done);
            [
                effect,
                HistoryOp {
                    after: Some(0),
                    ..op(1, 10, &[], Observation::Values(Some(value), None))
                },
                add(2, 3, 2),
            ]
        };
        assert!(is_linearizable(&repeated(1)) && is_linearizable(&repeated(2)));
        assert!(!is_linearizable(&repeated(3)));
        let mut early = repeated(1).to_vec();
        early.insert(0, add(0, 0, 1));
        early[1].after = None;
        early[2].after = Some(1);
        early[3] = add(11, 12, 3);
        assert!(!is_linearizable(&early), "1 was there before it only");
    }

    #[test]
    fn many_unanswered_operations_are_searched() {
        let mut ops: Vec<HistoryOp> =
            (0..10).map(|index| lost(index, &[Change::Add(1 << index)])).collect();
        ops.extend(
            (0..40)
                .map(|index| put(100 + index * 4, 101 + index * 4, u32::try_from(index).unwrap())),
        );
        ops.extend((0..40).map(|index| {
            reads(102 + index * 4, 103 + index * 4, |state| {
                state.register = Some(u32::try_from(index).unwrap());
                state.counter = (index > 20).then_some(0b10_1010_1010);
            })
        }));
        assert!(is_linearizable(&ops));
        ops.push(reads_count(900, 901, Some(1)));
        assert!(!is_linearizable(&ops));
    }
}
