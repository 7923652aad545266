//! Concurrent callers: writes that no caller waits for yet, reads between them, and then waits in
//! any order, or none.
//!
//! One thread makes all the calls, so the waits determine what is in the log: the first caller that
//! waits writes and syncs for all callers before it. A reader may see the writes of each region up
//! to some position, which is not before an acknowledged write and never decreases. No crash undoes
//! what a reader has seen (`log.rs`).

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::check::{CheckCounts, Mismatch, check_row, rows_in};
use crate::model::Model;
use crate::step::{BurstAction, BurstEnd, StepResult};
use crate::world::{Submitted, World};

/// Pending writes, and what their readers may see.
struct Burst {
    /// State that readers saw before the burst.
    before: Model,
    /// Index of the first entry that was not visible then.
    first: usize,
    pending: Vec<Submitted>,
}

impl World {
    pub(crate) fn burst(&mut self, acts: &[BurstAction], end: BurstEnd) -> StepResult {
        let mut burst =
            Burst { before: self.model.clone(), first: self.entries().len(), pending: Vec::new() };
        for act in acts {
            self.act(&mut burst, act)?;
        }
        match end {
            BurstEnd::Wait(from) => {
                while let Some(index) = pick(&burst, from) {
                    let submitted = burst.pending.swap_remove(index);
                    submitted.ticket.wait()?;
                    self.acknowledge(&submitted);
                }
                self.remove_safe_entries();
            }
            BurstEnd::Backwards => {
                // The last caller that waits, waits for everything in the log.
                for submitted in std::mem::take(&mut burst.pending).into_iter().rev() {
                    submitted.ticket.wait()?;
                    self.acknowledge(&submitted);
                }
                self.remove_safe_entries();
            }
            BurstEnd::Kill => {
                self.power_loss = None;
                self.restart()?;
            }
            BurstEnd::PowerLoss(seed) => {
                self.power_loss = Some(seed);
                self.restart()?;
            }
        }
        Ok(())
    }

    fn act(&mut self, burst: &mut Burst, act: &BurstAction) -> StepResult {
        match act {
            BurstAction::Submit(ops) => {
                let submitted = self.submit(ops, None)?;
                burst.pending.extend(submitted);
            }
            BurstAction::SubmitOnce(op, nonce) => {
                let submitted = self.submit(std::slice::from_ref(op), Some(*nonce))?;
                burst.pending.extend(submitted);
            }
            BurstAction::Get(get) => {
                let row = self.store()?.get(get)?;
                self.record_flushes(burst);
                let now = self.now();
                self.explain_read(burst, get.row(), |model| {
                    check_row(
                        model,
                        get.row(),
                        &get.selection,
                        now,
                        &row,
                        &mut CheckCounts::default(),
                    )
                })?;
            }
            BurstAction::Scan(scan) => {
                let rows = self.store()?.scan(scan)?;
                self.record_flushes(burst);
                let now = self.now();
                for (key, row) in rows_in(&self.model, scan, &rows)? {
                    self.explain_read(burst, &key, |model| {
                        check_row(
                            model,
                            &key,
                            &scan.selection,
                            now,
                            &row,
                            &mut CheckCounts::default(),
                        )
                    })?;
                }
            }
            BurstAction::Wait(number) => {
                if let Some(index) = pick(burst, *number) {
                    burst.pending[index].ticket.wait()?;
                    self.finish_pending(burst, index);
                }
            }
            BurstAction::Poll(number) => {
                if let Some(index) = pick(burst, *number) {
                    let mut ticket = burst.pending[index].ticket.clone();
                    if let Poll::Ready(result) =
                        Pin::new(&mut ticket).poll(&mut Context::from_waker(Waker::noop()))
                    {
                        result?;
                        self.finish_pending(burst, index);
                    }
                }
            }
            BurstAction::Try(number) => {
                if let Some(index) = pick(burst, *number)
                    && let Some(result) = burst.pending[index].ticket.try_finish()
                {
                    result?;
                    self.finish_pending(burst, index);
                }
            }
        }
        Ok(())
    }

    fn finish_pending(&mut self, burst: &mut Burst, index: usize) {
        let submitted = burst.pending.swap_remove(index);
        self.acknowledge(&submitted);
    }

    /// Records flushes. A write that finds no free memory flushes, and a flush makes everything
    /// before it visible.
    fn record_flushes(&mut self, burst: &mut Burst) {
        if self.record_rewrites(false) {
            burst.before = self.model.clone();
            let entries = self.entries();
            (burst.first..entries.len()).for_each(|index| entries[index].visible = true);
            burst.first = entries.len();
        }
    }

    /// Explains a read of a row: finds the fewest pending writes that match it. A reader has then
    /// seen them.
    fn explain_read(
        &mut self,
        burst: &Burst,
        row: &[u8],
        check: impl Fn(&Model) -> Result<(), Mismatch>,
    ) -> StepResult {
        let first = burst.first;
        let of_row: Vec<usize> = {
            let entries = self.entries();
            (first..entries.len()).filter(|index| entries[*index].effect.row() == row).collect()
        };
        let entries = self.entries();
        // Writes before a visible write of the same region are visible, too.
        let is_visible = |index: usize| {
            entries[index..]
                .iter()
                .any(|later| later.visible && later.region == entries[index].region)
        };
        let min = of_row.iter().rposition(|index| is_visible(*index)).map_or(0, |index| index + 1);
        let mut model = burst.before.clone();
        of_row[..min].iter().for_each(|index| model.apply(&entries[*index].effect));
        let mut wrong = match check(&model) {
            Ok(()) => return Ok(()),
            Err(wrong) => wrong,
        };
        for (count, index) in of_row.iter().enumerate().skip(min) {
            model.apply(&entries[*index].effect);
            match check(&model) {
                Ok(()) => {
                    of_row[..=count].iter().for_each(|index| self.record_visible(*index));
                    return Ok(());
                }
                Err(mismatch) => wrong = mismatch,
            }
        }
        Err(format!(
            "with {} writes of the row in progress, {min} of them certainly visible: {wrong}",
            of_row.len()
        )
        .into())
    }
}

fn pick(burst: &Burst, number: u64) -> Option<usize> {
    usize::try_from(number.checked_rem(burst.pending.len() as u64)?).ok()
}
