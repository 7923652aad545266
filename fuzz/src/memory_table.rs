//! A few rows of a schema in memory, for reads with page tokens.

use std::sync::Arc;

use halite_rowkey::KeySchema;
use halite_types::cell::CellParts;
use halite_types::{
    BoxFuture, Bytes, CellType, CellsBuilder, Error, Get, OpResult, RegionInfo, Result, Row, RowOp,
    RowSource, RowStream, Scan, Table, TableDescriptor, TableName,
};

/// Rows in key order.
pub(crate) struct Rows {
    name: TableName,
    keys: Arc<Vec<Bytes>>,
}

impl Rows {
    /// Upper bound of the number of rows in such a table.
    pub(crate) const COUNT: usize = 16;

    pub(crate) fn of(schema: &KeySchema) -> Self {
        let known = crate::corpus::schemas();
        let mut keys: Vec<Bytes> = known
            .into_iter()
            .find(|(other, _)| other == schema)
            .map_or_else(Vec::new, |(_, keys)| keys.into_iter().map(Bytes::from).collect());
        keys.sort();
        keys.dedup();
        Self { name: "t".parse().expect("a name"), keys: Arc::new(keys) }
    }
}

fn row(key: &[u8]) -> Row {
    let mut cells = CellsBuilder::default();
    cells.push_parts(CellParts {
        row: key,
        family: b"f",
        qualifier: b"q",
        timestamp: 1,
        cell_type: CellType::Put,
        value: b"v",
        tags: &[],
    });
    Row::new(cells.finish())
}

impl Table for Rows {
    fn name(&self) -> &TableName {
        &self.name
    }

    fn descriptor(&self) -> BoxFuture<'_, Result<Arc<TableDescriptor>>> {
        Box::pin(async { Err(Error::invalid("these rows have no descriptor")) })
    }

    fn regions(&self) -> BoxFuture<'_, Result<Vec<RegionInfo>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn get_all(&self, gets: Vec<Get>) -> BoxFuture<'_, Result<Vec<Row>>> {
        let of =
            |get: &Get| if self.keys.contains(get.row()) { row(get.row()) } else { Row::default() };
        let rows = gets.iter().map(of).collect();
        Box::pin(async { Ok(rows) })
    }

    fn batch(&self, _: Vec<RowOp>) -> BoxFuture<'_, Result<Vec<Result<OpResult>>>> {
        Box::pin(async { Err(Error::invalid("these rows cannot be written")) })
    }

    fn scan(&self, scan: Scan) -> RowStream {
        let mut rows: Vec<Row> =
            self.keys.iter().filter(|key| scan.range.contains(key)).map(|key| row(key)).collect();
        if scan.reverse {
            rows.reverse();
        }
        rows.truncate(scan.limit.unwrap_or(usize::MAX));
        RowStream::new(ScanRows(rows))
    }
}

/// All rows of a scan, returned at once.
struct ScanRows(Vec<Row>);

impl RowSource for ScanRows {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        let rows = std::mem::take(&mut self.0);
        Box::pin(async { Ok(rows) })
    }
}
