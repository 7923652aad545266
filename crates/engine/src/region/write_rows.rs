//! Operations on several rows of a region as one, and what a server asks before it writes.

use halite_types::{CheckAndMutate, Error, Result, RowOp, Tier};

use super::Region;
use super::write::Pending;
use crate::commit::CommitTicket;
use crate::wal::Nonce;

impl Region {
    /// Whether a write would be taken now without waiting for a flush; for those who cannot wait in [`Region::apply`].
    ///
    /// # Errors
    /// `Busy`: a flush has been asked for, try again later. `DiskFull`: when there is room again. The log's failure.
    pub fn try_admit(&self) -> Result<()> {
        self.shared.try_admit(self)
    }

    /// Applies puts, deletes, increments and appends, of whichever rows, all or none: a reader sees all of them or
    /// nothing. Only if all `conditions` hold, and the answer says whether they did; what they say to do then is not
    /// looked at. The ticket is to be waited for either way. The nonce goes into the log, as with [`Region::apply_once`].
    ///
    /// # Errors
    /// As [`Region::apply`] has for a single operation. Nothing has been applied then.
    pub fn apply_as_one(&self, ops: &[RowOp], conditions: &[CheckAndMutate], nonce: Option<Nonce>) -> Result<(bool, CommitTicket)> {
        let snapshot = self.snapshot_ref();
        self.shared.admit(self, &snapshot)?;
        for op in ops {
            if matches!(op, RowOp::CheckAndMutate(_)) {
                return Err(Error::invalid(
                    "a check-and-mutate cannot stand among operations that are applied as one; give its condition beside them",
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
            let found = self.check_locked(check, Tier::Disk)?;
            if !found.holds {
                return Ok((false, self.applied_ticket()));
            }
            checked.push((check.row(), found.newest));
        }
        let now = self.stamp_time(|| ops.iter());
        let mut pending = Pending::new(now, None, Tier::Disk);
        for op in ops {
            pending.checked = checked.iter().filter(|(row, _)| *row == op.row()).filter_map(|(_, newest)| *newest).max();
            self.gather(op, &mut pending)?;
        }
        pending.stamp()?;
        self.note_stamps(std::iter::once(&pending.cells), now);
        if pending.cells.is_empty() {
            return Ok((true, self.applied_ticket()));
        }
        let ticket = self.commit(std::iter::once(&pending.cells), ops.len(), self.level(&snapshot, pending.durability), nonce)?;
        self.shared.note_write(self);
        Ok((true, ticket))
    }
}
