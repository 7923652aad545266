//! Several callers at once: writes that nobody waits for yet, reads between them, and then they are waited for in any order, or
//! never.
//!
//! One thread makes all the calls, so what is in the log is decided by who waits: the first of them writes and syncs for
//! everybody before him. A reader may see of each region the writes up to some place, which is not before one that was
//! acknowledged and never goes back. What he has seen no crash takes back (`log.rs`).

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use halite_types::{Get, RowOp, Scan};

use crate::check::{Checked, Mismatch, check_row, rows_in};
use crate::model::Model;
use crate::world::{Outcome, Submitted, World};

/// What one of the callers does.
#[derive(Clone, Debug)]
pub enum Act {
    /// Writes in one call, without waiting.
    Submit(Vec<RowOp>),
    /// A write with a number of its own.
    SubmitOnce(RowOp, u64),
    /// A read of one row.
    Get(Get),
    /// A read of a range, without limits.
    Scan(Scan),
    /// Waits for one of those under way, counted modulo their number.
    Wait(u64),
    /// Asks for one of them as a task does.
    Poll(u64),
    /// Asks for one of them as an answer that goes out now does.
    Try(u64),
}

/// What becomes of the writes that are still under way.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// Each is waited for, beginning with one of them, counted modulo their number.
    Wait(u64),
    /// The newest is waited for first, which completes those before it.
    Backwards,
    /// The process ends.
    Kill,
    /// The power goes, with this seed for what is left.
    PowerLoss(u64),
}

/// Writes under way, and what their readers may see.
struct Burst {
    /// What readers saw before.
    before: Model,
    /// The first entry that was not visible then.
    first: usize,
    under_way: Vec<Submitted>,
}

impl World {
    pub(crate) fn burst(&mut self, acts: &[Act], end: End) -> Outcome {
        let mut burst = Burst { before: self.model.clone(), first: self.entries().len(), under_way: Vec::new() };
        for act in acts {
            self.act(&mut burst, act)?;
        }
        match end {
            End::Wait(from) => {
                while let Some(at) = pick(&burst, from) {
                    let submitted = burst.under_way.swap_remove(at);
                    submitted.ticket.wait()?;
                    self.acknowledge(&submitted);
                }
                self.settle_entries();
            }
            End::Backwards => {
                // Whoever waits last waits for all that is in the log.
                for submitted in std::mem::take(&mut burst.under_way).into_iter().rev() {
                    submitted.ticket.wait()?;
                    self.acknowledge(&submitted);
                }
                self.settle_entries();
            }
            End::Kill => {
                self.power_loss = None;
                self.restart()?;
            }
            End::PowerLoss(seed) => {
                self.power_loss = Some(seed);
                self.restart()?;
            }
        }
        Ok(())
    }

    fn act(&mut self, burst: &mut Burst, act: &Act) -> Outcome {
        match act {
            Act::Submit(ops) => {
                let submitted = self.submit(ops, None)?;
                burst.under_way.extend(submitted);
            }
            Act::SubmitOnce(op, nonce) => {
                let submitted = self.submit(std::slice::from_ref(op), Some(*nonce))?;
                burst.under_way.extend(submitted);
            }
            Act::Get(get) => {
                let row = self.store()?.get(get)?;
                self.note_flushes(burst);
                let now = self.now();
                self.see(burst, get.row(), |model| check_row(model, get.row(), &get.selection, now, &row, &mut Checked::default()))?;
            }
            Act::Scan(scan) => {
                let rows = self.store()?.scan(scan)?;
                self.note_flushes(burst);
                let now = self.now();
                for (key, row) in rows_in(&self.model, scan, &rows)? {
                    self.see(burst, &key, |model| check_row(model, &key, &scan.selection, now, &row, &mut Checked::default()))?;
                }
            }
            Act::Wait(number) => {
                if let Some(at) = pick(burst, *number) {
                    burst.under_way[at].ticket.wait()?;
                    self.done(burst, at);
                }
            }
            Act::Poll(number) => {
                if let Some(at) = pick(burst, *number) {
                    let mut ticket = burst.under_way[at].ticket.clone();
                    if let Poll::Ready(result) = Pin::new(&mut ticket).poll(&mut Context::from_waker(Waker::noop())) {
                        result?;
                        self.done(burst, at);
                    }
                }
            }
            Act::Try(number) => {
                if let Some(at) = pick(burst, *number)
                    && let Some(result) = burst.under_way[at].ticket.try_finish()
                {
                    result?;
                    self.done(burst, at);
                }
            }
        }
        Ok(())
    }

    fn done(&mut self, burst: &mut Burst, at: usize) {
        let submitted = burst.under_way.swap_remove(at);
        self.acknowledge(&submitted);
    }

    /// A write that finds no room flushes, and a flush lets everything be seen before it.
    fn note_flushes(&mut self, burst: &mut Burst) {
        if self.note_rewrites(false) {
            burst.before = self.model.clone();
            let entries = self.entries();
            (burst.first..entries.len()).for_each(|at| entries[at].visible = true);
            burst.first = entries.len();
        }
    }

    /// A row was read. Finds the fewest writes under way that explain it, which a reader has seen then.
    fn see(&mut self, burst: &Burst, row: &[u8], check: impl Fn(&Model) -> Result<(), Mismatch>) -> Outcome {
        let first = burst.first;
        let of_row: Vec<usize> = {
            let entries = self.entries();
            (first..entries.len()).filter(|at| entries[*at].effect.row() == row).collect()
        };
        let entries = self.entries();
        // What stands before a visible write of the region is visible, too.
        let is_visible = |at: usize| entries[at..].iter().any(|later| later.visible && later.region == entries[at].region);
        let least = of_row.iter().rposition(|at| is_visible(*at)).map_or(0, |at| at + 1);
        let mut model = burst.before.clone();
        of_row[..least].iter().for_each(|at| model.apply(&entries[*at].effect));
        let mut wrong = match check(&model) {
            Ok(()) => return Ok(()),
            Err(wrong) => wrong,
        };
        for (count, at) in of_row.iter().enumerate().skip(least) {
            model.apply(&entries[*at].effect);
            match check(&model) {
                Ok(()) => {
                    of_row[..=count].iter().for_each(|at| self.note_visible(*at));
                    return Ok(());
                }
                Err(mismatch) => wrong = mismatch,
            }
        }
        Err(format!("with {} writes of the row under way, {least} of them visible for sure: {wrong}", of_row.len()).into())
    }
}

fn pick(burst: &Burst, number: u64) -> Option<usize> {
    usize::try_from(number.checked_rem(burst.under_way.len() as u64)?).ok()
}
