//! Atomic operations on several rows of a region, and the admission check of a server before a
//! write.

use halite_types::{CheckAndMutate, Error, ReadTier, Result, RowOp};

use super::Region;
use super::prepared_write::WriteOrigin;
use super::read_modify_write::PendingWrite;
use crate::commit::CommitTicket;
use crate::wal::Nonce;

impl Region {
    /// Verifies that a write would be accepted now without a wait for a flush. For callers that
    /// cannot wait in [`Region::apply`].
    ///
    /// # Errors
    /// `Busy` if a flush has been requested: retry later. `DiskFull`: retry once there is disk
    /// space. The log's failure.
    pub fn try_admit(&self) -> Result<()> {
        self.shared.try_admit(self)
    }

    /// Applies puts, deletes, increments and appends of any rows atomically: a reader sees all of
    /// them or none. Applies them only if all `conditions` hold, and returns `true` if they did;
    /// the operations inside the conditions are ignored. The caller must wait for the ticket in
    /// either case. The nonce is written to the log, as with [`Region::apply_with_nonce`].
    ///
    /// # Errors
    /// As [`Region::apply`] has for a single operation. Nothing has been applied in that case.
    pub fn apply_atomically(
        &self,
        ops: &[RowOp],
        conditions: &[CheckAndMutate],
        nonce: Option<Nonce>,
    ) -> Result<(bool, CommitTicket)> {
        let snapshot = self.snapshot_ref();
        self.shared.admit(self, &snapshot)?;
        for op in ops {
            if matches!(op, RowOp::CheckAndMutate(_)) {
                return Err(Error::invalid(
                    "a check-and-mutate cannot be one of several operations that are applied \
                     atomically; give its condition separately",
                ));
            }
            self.check_whole(op)?;
        }
        for check in conditions {
            self.check_row(check.row())?;
            self.check_condition_itself(&check.condition)?;
        }
        let rows = ops.iter().map(RowOp::row).chain(conditions.iter().map(CheckAndMutate::row));
        let _rows = self.row_locks.exclusive_rows(rows.map(|row| &row[..]));
        let mut checked = Vec::new();
        for check in conditions {
            let found = self.check_locked(check, ReadTier::Disk)?;
            if !found.holds {
                return Ok((false, self.applied_ticket()));
            }
            checked.push((check.row(), found.newest));
        }
        let now = self.commit_timestamp(|| ops.iter());
        let origin = match ops {
            _ if !conditions.is_empty() => WriteOrigin::CheckAndMutate,
            [op] => WriteOrigin::of(op),
            _ => WriteOrigin::RowMutations,
        };
        let mut pending = PendingWrite { origin, ..PendingWrite::new(now, None, ReadTier::Disk) };
        for op in ops {
            pending.condition_timestamp = checked
                .iter()
                .filter(|(row, _)| *row == op.row())
                .filter_map(|(_, newest)| *newest)
                .max();
            self.collect_cells(op, &mut pending)?;
        }
        let ticket = self.commit_pending(pending, ops.len(), nonce)?;
        self.shared.record_write(self);
        Ok((true, ticket))
    }
}
