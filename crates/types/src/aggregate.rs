//! Aggregates of the rows of a scan, computed where the rows lie.

use std::sync::Arc;

use bytes::Bytes;

use crate::cell::CellRef;
use crate::error::{Error, Result};
use crate::query::Scan;
use crate::row_check::RowCheck;

/// Aggregates of the rows of a scan, for [`Table::aggregate`](crate::Table::aggregate).
#[derive(Clone, Debug)]
pub struct Aggregation {
    /// Rows and cells that are read, a version of each column; forward, without limit and without
    /// batch. Its filter decides on each row alone: one that ends a scan ends it in its region.
    pub scan: Scan,
    /// Columns whose cells are added up.
    pub columns: Vec<AggregatedColumn>,
    /// Keys of the rows that count; `None` if all do.
    pub keys: Option<CountedKeys>,
}

/// Keys of the rows that count; other rows are counted apart.
#[derive(Clone, Debug)]
pub struct CountedKeys {
    /// Text of the row-key language that declares the keys, by which a server checks them.
    pub declaration: String,
    /// The same check, for stores in this process.
    pub check: Arc<dyn RowCheck>,
}

/// Column whose cells are added up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregatedColumn {
    /// Family.
    pub family: Bytes,
    /// Qualifier.
    pub qualifier: Bytes,
    /// Values of its cells.
    pub values: CellValues,
}

/// Values of the cells of a column; cells with other bytes are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellValues {
    /// Any bytes, which are only counted.
    Bytes,
    /// UTF-8, which is only counted.
    Text,
    /// Signed numbers of this many bytes, 1 to 8, big-endian, in two's complement.
    Signed(u8),
}

/// Aggregates of rows. Those of parts of a table are added up by [`Self::add`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aggregates {
    /// Rows with a cell.
    pub rows: u64,
    /// Rows with a cell whose keys do not count; they are in no other number.
    pub other_keys: u64,
    /// Aggregates by column.
    pub columns: Vec<ColumnAggregates>,
}

/// Aggregates of the cells of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnAggregates {
    /// Cells with a value.
    pub values: u64,
    /// Cells with other bytes; they are in no other number.
    pub other_bytes: u64,
    /// Sum of the numbers. It does not overflow: a store has fewer than 2^64 rows.
    pub sum: i128,
    /// Least number; `None` without numbers.
    pub min: Option<i64>,
    /// Greatest number.
    pub max: Option<i64>,
}

impl Aggregation {
    /// Returns the aggregates of no row.
    #[must_use]
    pub fn of_nothing(&self) -> Aggregates {
        let columns = vec![ColumnAggregates::default(); self.columns.len()];
        Aggregates { columns, ..Aggregates::default() }
    }

    /// Checks that rows can be added up without their order.
    ///
    /// # Errors
    /// `InvalidRequest` for a scan that is in reverse or raw, or has a limit or a batch limit, and
    /// for numbers of another width.
    pub fn check(&self) -> Result<()> {
        let scan = &self.scan;
        if scan.reverse || scan.raw || scan.limit.is_some() || scan.batch.is_some() {
            return Err(Error::invalid(
                "rows are added up forward, whole and without delete markers: leave out reverse, \
                 raw, the limit and the batch limit",
            ));
        }
        let is_number = |values| !matches!(values, CellValues::Signed(0 | 9..));
        if self.columns.iter().all(|column| is_number(column.values)) {
            Ok(())
        } else {
            Err(Error::invalid("numbers that are added up have 1 to 8 bytes"))
        }
    }

    /// Adds a row with its cells, at least one, to aggregates of this aggregation.
    pub fn add_row<'c>(
        &self,
        key: &[u8],
        cells: impl Iterator<Item = CellRef<'c>>,
        to: &mut Aggregates,
    ) {
        if self.keys.as_ref().is_some_and(|keys| keys.check.check(key).is_err()) {
            to.other_keys += 1;
            return;
        }
        to.rows += 1;
        if self.columns.is_empty() {
            return;
        }
        for cell in cells {
            let of_cell = |column: &&AggregatedColumn| {
                column.qualifier == cell.qualifier() && column.family == cell.family()
            };
            let columns = self.columns.iter().zip(&mut to.columns);
            for (column, to) in columns.filter(|(column, _)| of_cell(column)) {
                to.add_cell(column.values, cell.value());
            }
        }
    }
}

impl Aggregates {
    /// Adds the aggregates of other rows, of the same columns.
    pub fn add(&mut self, other: &Self) {
        // Numbers of a remote store may be any.
        self.rows = self.rows.saturating_add(other.rows);
        self.other_keys = self.other_keys.saturating_add(other.other_keys);
        for (column, other) in self.columns.iter_mut().zip(&other.columns) {
            column.values = column.values.saturating_add(other.values);
            column.other_bytes = column.other_bytes.saturating_add(other.other_bytes);
            column.sum = column.sum.saturating_add(other.sum);
            column.min = [column.min, other.min].into_iter().flatten().min();
            column.max = column.max.max(other.max);
        }
    }
}

impl ColumnAggregates {
    fn add_cell(&mut self, values: CellValues, bytes: &[u8]) {
        let number = match values {
            CellValues::Bytes => None,
            CellValues::Text if std::str::from_utf8(bytes).is_ok() => None,
            CellValues::Signed(width) if bytes.len() == usize::from(width) => signed(bytes),
            CellValues::Text | CellValues::Signed(_) => {
                self.other_bytes += 1;
                return;
            }
        };
        self.values += 1;
        if let Some(number) = number {
            self.sum += i128::from(number);
            self.min = Some(self.min.map_or(number, |least| least.min(number)));
            self.max = self.max.max(Some(number));
        }
    }
}

/// Returns the number of 1 to 8 bytes.
fn signed(bytes: &[u8]) -> Option<i64> {
    let (first, rest) = bytes.split_first()?;
    let first = i64::from(first.cast_signed());
    Some(rest.iter().fold(first, |number, byte| number << 8 | i64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::CellParts;
    use crate::{CellType, CellsBuilder};

    #[derive(Debug)]
    struct OfTwoBytes;

    impl RowCheck for OfTwoBytes {
        fn check(&self, row: &[u8]) -> Result<()> {
            if row.len() == 2 { Ok(()) } else { Err(Error::invalid("another length")) }
        }
    }

    fn column(qualifier: &'static str, values: CellValues) -> AggregatedColumn {
        AggregatedColumn { family: "f".into(), qualifier: qualifier.into(), values }
    }

    fn row(to: &mut Aggregates, of: &Aggregation, key: &[u8], cells: &[(&str, &[u8])]) {
        let mut row = CellsBuilder::default();
        for (qualifier, value) in cells {
            row.push_parts(CellParts {
                row: key,
                family: b"f",
                qualifier: qualifier.as_bytes(),
                timestamp: 1,
                cell_type: CellType::Put,
                value,
                tags: b"",
            });
        }
        of.add_row(key, row.iter(), to);
    }

    #[test]
    fn rows_and_cells_are_added_up_and_odd_ones_counted_apart() {
        let of = Aggregation {
            scan: Scan::all(),
            columns: vec![
                column("n", CellValues::Signed(8)),
                column("s", CellValues::Signed(2)),
                column("t", CellValues::Text),
                column("b", CellValues::Bytes),
            ],
            keys: Some(CountedKeys { declaration: String::new(), check: Arc::new(OfTwoBytes) }),
        };
        let (most, least) = (i64::MAX.to_be_bytes(), i64::MIN.to_be_bytes());
        let (mut one, mut two) = (of.of_nothing(), of.of_nothing());
        row(&mut one, &of, b"r1", &[("n", &most), ("s", &[0xff, 0xfe]), ("t", b"\xc3\xa4")]);
        row(&mut one, &of, b"r2", &[("b", b""), ("n", &most), ("t", b"\xc3"), ("x", b"")]);
        row(&mut two, &of, b"odd", &[("n", &most)]);
        row(&mut two, &of, b"r3", &[("n", b"1234567"), ("s", &[1, 0])]);
        row(&mut two, &of, b"r4", &[("n", &least), ("s", b"")]);
        one.add(&two);
        assert_eq!((one.rows, one.other_keys), (4, 1));
        let numbers = ColumnAggregates {
            values: 3,
            other_bytes: 1,
            sum: i128::from(i64::MAX) - 1,
            min: Some(i64::MIN),
            max: Some(i64::MAX),
        };
        let small =
            ColumnAggregates { values: 2, other_bytes: 1, sum: 254, min: Some(-2), max: Some(256) };
        let text = ColumnAggregates { values: 1, other_bytes: 1, ..ColumnAggregates::default() };
        let bytes = ColumnAggregates { values: 1, ..ColumnAggregates::default() };
        assert_eq!(one.columns, [numbers, small, text, bytes]);
    }
}
