//! One operation, and how a table executes it.

use halite::{BlockingTable, Bytes, Delete, Get, Increment, Put, Result, Scan};

/// Family of all tables.
const FAMILY: &str = "d";

/// Row with its cells: qualifiers of the family `d` and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::traffic) struct NewRow {
    pub(in crate::traffic) row: Bytes,
    pub(in crate::traffic) cells: Vec<(&'static str, Bytes)>,
}

impl NewRow {
    pub(super) fn new(row: Bytes) -> Self {
        Self { row, cells: Vec::new() }
    }

    pub(super) fn with(mut self, qualifier: &'static str, value: impl Into<Bytes>) -> Self {
        self.cells.push((qualifier, value.into()));
        self
    }

    pub(in crate::traffic) fn to_put(&self) -> Put {
        let put = Put::new(self.row.clone());
        self.cells.iter().fold(put, |put, (qualifier, value)| put.add(FAMILY, qualifier, value))
    }
}

/// Operation on the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::traffic) enum Operation {
    Get(Bytes),
    Put(NewRow),
    /// Adds 1 to a counter.
    Increment(Bytes, &'static str),
    Delete(Bytes),
    /// Reads up to this many rows.
    Scan {
        start: Bytes,
        rows: usize,
    },
}

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::traffic) enum OperationKind {
    Get,
    Put,
    Increment,
    Delete,
    Scan,
}

impl OperationKind {
    /// All kinds with their names, in the order of their numbers.
    pub(in crate::traffic) const NAMES: [(Self, &'static str); 5] = [
        (Self::Get, "gets"),
        (Self::Put, "puts"),
        (Self::Increment, "increments"),
        (Self::Delete, "deletes"),
        (Self::Scan, "scans"),
    ];
}

impl Operation {
    pub(in crate::traffic) fn kind(&self) -> OperationKind {
        match self {
            Self::Get(_) => OperationKind::Get,
            Self::Put(_) => OperationKind::Put,
            Self::Increment(..) => OperationKind::Increment,
            Self::Delete(_) => OperationKind::Delete,
            Self::Scan { .. } => OperationKind::Scan,
        }
    }

    /// Executes the operation. Returns the number of rows read.
    ///
    /// # Errors
    /// Returns an error of the store.
    pub(in crate::traffic) fn execute(self, table: &BlockingTable) -> Result<u64> {
        match self {
            Self::Get(row) => {
                table.get(Get::new(row).family(FAMILY)).map(|row| u64::from(!row.is_empty()))
            }
            Self::Put(row) => table.put(row.to_put()).map(|()| 0),
            Self::Increment(row, counter) => {
                let mut increment = Increment::new(row).add(FAMILY, counter, 1);
                increment.return_results = false;
                table.increment(increment).map(|_| 0)
            }
            Self::Delete(row) => table.delete(Delete::new(row)).map(|()| 0),
            Self::Scan { start, rows } => {
                let scan = Scan::all().start(start).family(FAMILY).limit(rows);
                table.scan(scan).try_fold(0, |count, row| row.map(|_| count + 1))
            }
        }
    }
}
