//! Writes and reads of the table.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use halite::rowkey::typed::TsMillis;
use halite::rowkey::{PageToken, Scatter, ScatterOptions};
use halite::{
    BlockingCluster, BlockingTable, Error, Put, Result, Row, RowOp, Scan, block_on, declare_tables,
};

use crate::Operation;
use crate::key::{DETAIL, FAMILY, KIND, OperationKey, TABLES, user_id};

/// Operations of all users, on any cluster. Cheap to clone.
#[derive(Clone)]
pub struct History {
    table: BlockingTable,
}

/// Part of a history: times, size, and where the page before ended.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Times, from the first (inclusive) to the last (exclusive), in milliseconds since 1970.
    pub at_ms: Range<i64>,
    /// Maximum operations of a page, above 0.
    pub limit: usize,
    /// Token of the page before; `None` for the first page.
    pub after: Option<PageToken>,
}

/// Operations, newest first.
#[derive(Clone, Debug)]
pub struct Page {
    /// Operations.
    pub operations: Vec<Operation>,
    /// Token for the next page; `None` if this one is not full, so that none follows.
    pub next: Option<PageToken>,
    /// Rows that the table returned for it.
    pub examined: u64,
}

impl History {
    /// Opens the table of a namespace, and creates it if it does not exist.
    ///
    /// # Errors
    /// As [`declare_tables`].
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, TABLES)?;
        Ok(Self { table: cluster.table(&format!("{namespace}:{}", OperationKey::TABLE))? })
    }

    /// Records operations. Recording one again, as after a lost reply, has no effect.
    ///
    /// # Errors
    /// `InvalidRequest` for a user that [`user_id`] did not return, before any is written; otherwise
    /// as [`BlockingTable::batch`].
    pub fn record(&self, operations: &[Operation]) -> Result<()> {
        let puts = operations.iter().map(put).collect::<Result<Vec<RowOp>>>()?;
        self.table.batch(puts)?.into_iter().try_for_each(|result| result.map(drop))
    }

    /// Returns operations of a user, newest first. The times are in their natural order: that the
    /// key contains them reversed is the planner's business.
    ///
    /// # Errors
    /// As [`Scatter::new`] and [`Scatter::next`].
    pub fn page(&self, user: &str, request: &PageRequest) -> Result<Page> {
        let PageRequest { at_ms, limit, after } = request;
        let plan = OperationKey::scan()
            .user_id(Cow::Borrowed(user))
            .ts(TsMillis(at_ms.start)..TsMillis(at_ms.end))
            .limit(*limit)
            .plan()?;
        let (table, options) = (Arc::clone(self.table.inner()), ScatterOptions::default());
        let mut rows = Scatter::new(table, Arc::new(plan), Scan::all(), &options, after.as_ref())?;
        let mut operations = Vec::with_capacity((*limit).min(1000));
        let mut last = None;
        while let Some(row) = block_on(rows.next())? {
            operations.push(operation(&row)?);
            last = Some(row);
        }
        let next = last.filter(|_| operations.len() == *limit).map(|row| rows.token_of(&row));
        Ok(Page { operations, next, examined: rows.examined() })
    }
}

fn put(operation: &Operation) -> Result<RowOp> {
    let Operation { user, at_ms, kind, detail, .. } = operation;
    if user_id(user)? != *user || *at_ms < 0 {
        return Err(Error::invalid(format!(
            "operation of user {user:?} at {at_ms} ms: use an id from user_id, and a time since \
             1970"
        )));
    }
    // The cells have the time of the operation, so that recording it again changes nothing.
    let mut put = Put::new(operation.key()?).add_at(FAMILY, KIND, *at_ms, kind);
    if !detail.is_empty() {
        put = put.add_at(FAMILY, DETAIL, *at_ms, detail);
    }
    Ok(put.into())
}

fn operation(row: &Row) -> Result<Operation> {
    let key = OperationKey::decode(row.key())?;
    let text = |column| {
        let value = row.value(FAMILY, column).unwrap_or_default();
        String::from_utf8_lossy(value).into_owned()
    };
    Ok(Operation {
        user: key.user_id.into_owned(),
        at_ms: key.ts.0,
        sequence: key.sequence,
        kind: text(KIND),
        detail: text(DETAIL),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(user: &str, at_ms: i64, sequence: u32) -> Operation {
        let user = user_id(user).unwrap();
        Operation { user, at_ms, sequence, kind: "login".to_owned(), detail: String::new() }
    }

    #[test]
    fn k26_times_between_two_are_returned_newest_first() {
        let directory = tempfile::tempdir().unwrap();
        let store = halite::open(directory.path()).unwrap();
        let history = History::open(&store, "user_ops").unwrap();
        let recorded: Vec<_> = (0..6).map(|hour| operation("12345", hour * 100, 0)).collect();
        history.record(&recorded).unwrap();
        history.record(&recorded[..2]).unwrap();
        history.record(&[operation("612345", 200, 0), operation("12345", 200, 1)]).unwrap();
        let read = |at_ms, limit, after| {
            history.page("00012345", &PageRequest { at_ms, limit, after }).unwrap()
        };
        let times = |page: &Page| -> Vec<(i64, u32)> {
            page.operations.iter().map(|found| (found.at_ms, found.sequence)).collect()
        };
        assert_eq!(times(&read(100..300, 10, None)), [(200, 0), (200, 1), (100, 0)]);
        let first = read(0..i64::MAX, 3, None);
        assert_eq!(times(&first), [(500, 0), (400, 0), (300, 0)]);
        assert_eq!(times(&read(0..i64::MAX, 2, first.next)), [(200, 0), (200, 1)]);
    }

    #[test]
    fn ids_of_other_lengths_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let store = halite::open(directory.path()).unwrap();
        let history = History::open(&store, "user_ops").unwrap();
        let short = Operation { user: "12345".to_owned(), ..operation("1", 5, 0) };
        let error = history.record(&[operation("1", 5, 0), short]).unwrap_err().to_string();
        assert!(error.contains("use an id from user_id"), "{error}");
    }
}
