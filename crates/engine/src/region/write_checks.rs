//! Checks of operations that need no lock: rows, families, sizes, and the shape of conditions.

use bytes::Bytes;
use halite_types::key::to_string_binary;
use halite_types::op::Mutation;
use halite_types::{
    CellRef, CellsBuilder, CheckAndMutate, Condition, Error, ErrorKind, Result, RowMutations, RowOp,
};

use super::Region;
use super::merged_checks::check_merged_op;
use super::snapshot::RegionSnapshot;

/// Maximum bytes of cells that one operation may write, because it is one record of the log.
pub(super) const MAX_OPERATION_BYTES: usize = 512 << 20;

impl Region {
    /// Performs all checks that do not need the row's lock.
    pub(super) fn check_whole(&self, op: &RowOp) -> Result<()> {
        let mutation = match op {
            RowOp::Put(op) => op.mutation(),
            RowOp::Delete(op) => op.mutation(),
            RowOp::Increment(op) => op.mutation(),
            RowOp::Append(op) => op.mutation(),
            RowOp::Mutate(op) => return self.check_row_mutations(op),
            RowOp::CheckAndMutate(op) => return self.check_condition(op),
        };
        let snapshot = self.snapshot_ref();
        self.check_mutation(&snapshot, mutation)?;
        check_merged_op(&snapshot, op)?;
        if mutation.cells().is_empty() && !matches!(op, RowOp::Delete(_)) {
            return Err(Error::invalid(format!(
                "row {}: the operation names no column; add one",
                to_string_binary(mutation.row())
            )));
        }
        if !matches!(op, RowOp::Delete(_)) {
            self.check_row_taken(&snapshot, mutation.row())?;
        }
        self.check_cells(&snapshot, mutation.cells())
    }

    pub(super) fn check_mutation(
        &self,
        snapshot: &RegionSnapshot,
        mutation: &Mutation,
    ) -> Result<()> {
        mutation.check()?;
        self.check_writable(snapshot, mutation.row())
    }

    fn check_writable(&self, snapshot: &RegionSnapshot, row: &[u8]) -> Result<()> {
        self.check_row(row)?;
        if snapshot.settings.read_only {
            let text = format!(
                "table {} is read-only; alter it with READONLY => 'false' to write",
                self.info.table
            );
            return Err(Error::new(ErrorKind::ReadOnly, text));
        }
        Ok(())
    }

    /// Verifies that the table accepts the row. Counts rejected rows.
    pub(super) fn check_row_taken(&self, snapshot: &RegionSnapshot, row: &[u8]) -> Result<()> {
        snapshot.check_row_taken(row).map_err(|error| {
            self.counters.add_refused_row();
            error.at(format_args!("row {}", to_string_binary(row)))
        })
    }

    /// Verifies that families exist and no cell is too large.
    pub(super) fn check_cells(
        &self,
        snapshot: &RegionSnapshot,
        cells: &CellsBuilder,
    ) -> Result<()> {
        check_operation_bytes(cells.bytes().len(), MAX_OPERATION_BYTES)?;
        for cell in cells {
            snapshot.family_index(cell.family())?;
            self.check_size(snapshot, cell, cell.encoded_len())?;
        }
        Ok(())
    }

    pub(super) fn check_size(
        &self,
        snapshot: &RegionSnapshot,
        cell: CellRef<'_>,
        bytes: usize,
    ) -> Result<()> {
        let most = snapshot.settings.max_cell_bytes.unwrap_or(self.shared.options.max_cell_bytes);
        if most > 0 && bytes > most {
            let text = format!(
                "row {}, column {}:{}: a cell of {bytes} bytes is over the limit of {most}; split \
                 the value or raise max_cell_bytes (max-cell-size of a server)",
                to_string_binary(cell.row()),
                to_string_binary(cell.family()),
                to_string_binary(cell.qualifier())
            );
            return Err(Error::invalid(text));
        }
        Ok(())
    }

    fn check_row_mutations(&self, op: &RowMutations) -> Result<()> {
        halite_types::op::check_row(op.row())?;
        self.check_writable(&self.snapshot_ref(), op.row())?;
        for part in &op.ops {
            same_row(op.row(), part.row())?;
            if matches!(part, RowOp::Mutate(_) | RowOp::CheckAndMutate(_)) {
                return Err(Error::invalid(format!(
                    "row {}: mutations of a row are puts, deletes, increments and appends; apply \
                     others by themselves",
                    to_string_binary(op.row())
                )));
            }
            self.check_whole(part)?;
        }
        Ok(())
    }

    fn check_condition(&self, op: &CheckAndMutate) -> Result<()> {
        halite_types::op::check_row(op.row())?;
        self.check_writable(&self.snapshot_ref(), op.row())?;
        same_row(op.row(), op.then.row())?;
        if matches!(*op.then, RowOp::CheckAndMutate(_)) {
            return Err(Error::invalid(format!(
                "row {}: a check-and-mutate cannot contain another one",
                to_string_binary(op.row())
            )));
        }
        self.check_condition_itself(&op.condition)?;
        match self.check_whole(&op.then) {
            // HBase looks up the families of the conditional mutation only when it applies it.
            Err(error) if error.kind() == ErrorKind::NoSuchFamily => Ok(()),
            checked => checked,
        }
    }

    pub(super) fn check_condition_itself(&self, condition: &Condition) -> Result<()> {
        match condition {
            Condition::Column { family, .. } => self.snapshot_ref().family_index(family).map(drop),
            Condition::Filter(_) => Ok(()),
        }
    }
}

pub(super) fn check_operation_bytes(bytes: usize, most: usize) -> Result<()> {
    if bytes <= most {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the operation writes {bytes} bytes, over the limit of {most}; write the row in several \
         operations"
    )))
}

fn same_row(outer: &Bytes, inner: &Bytes) -> Result<()> {
    if outer == inner {
        return Ok(());
    }
    let text = format!(
        "the operation is for row {} and what it applies for row {}; name the same row in both",
        to_string_binary(outer),
        to_string_binary(inner)
    );
    Err(Error::invalid(text))
}
