//! Table whose reads end at a deadline: a read of many rows of which few are wanted would otherwise
//! occupy a thread long after its client was answered.

use std::sync::Arc;

use halite_types::{
    BoxFuture, Error, ErrorKind, Get, OpResult, RegionInfo, Result, Row, RowOp, RowSource,
    RowStream, Scan, Table, TableDescriptor, TableName,
};

use crate::gate::Deadline;

/// Maximum bytes of one call for rows, between which the deadline is checked.
const MAX_RESULT_BYTES: usize = 256 << 10;

/// Table for reading until a deadline.
pub(crate) struct DeadlineTable {
    table: Arc<dyn Table>,
    deadline: Deadline,
}

impl DeadlineTable {
    pub(crate) fn around(table: Arc<dyn Table>, deadline: Deadline) -> Arc<dyn Table> {
        Arc::new(Self { table, deadline })
    }
}

fn check(deadline: Deadline) -> Result<()> {
    if !deadline.is_over() {
        return Ok(());
    }
    let text = format!(
        "the rows were not found within {} s; narrow the keys or the conditions",
        deadline.limit().as_secs()
    );
    Err(Error::new(ErrorKind::Busy, text))
}

impl Table for DeadlineTable {
    fn name(&self) -> &TableName {
        self.table.name()
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        self.table.descriptor()
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        self.table.regions()
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        match check(self.deadline) {
            Ok(()) => self.table.get_all(gets),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn batch(&self, _ops: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        let text = "the page does not write rows";
        Box::pin(std::future::ready(Err(Error::new(ErrorKind::Unsupported, text))))
    }

    fn scan(&self, scan: Scan) -> RowStream {
        let bytes = scan.max_result_bytes.min(MAX_RESULT_BYTES);
        let rows = self.table.scan(scan.max_result_bytes(bytes));
        RowStream::new(Rows { rows, deadline: self.deadline })
    }
}

struct Rows {
    rows: RowStream,
    deadline: Deadline,
}

impl RowSource for Rows {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        match check(self.deadline) {
            Ok(()) => Box::pin(self.rows.next_rows()),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}
