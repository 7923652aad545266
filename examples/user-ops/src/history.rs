//! Writes and reads of the table.

use std::borrow::Cow;
use std::ops::Range;

use halite::rowkey::typed::TsMillis;
use halite::rowkey::{Page, PageToken};
use halite::{BlockingCluster, BlockingTable, Error, Put, Result, Row, RowOp, declare_tables};

use crate::Operation;
use crate::key::{DETAIL, FAMILY, KIND, OperationKey, user_id};

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

impl History {
    /// Opens the table of a namespace, and creates it if it does not exist.
    pub fn open(cluster: &BlockingCluster, namespace: &str) -> Result<Self> {
        declare_tables(cluster, namespace, OperationKey::CREATE_TABLE)?;
        Ok(Self { table: cluster.table(&format!("{namespace}:{}", OperationKey::TABLE))? })
    }

    /// Records operations. Recording one again, as after a lost reply, has no effect.
    ///
    /// # Errors
    /// `InvalidRequest` for a user that [`user_id`] did not return, before any is written; otherwise
    /// as [`BlockingTable::apply_all`].
    pub fn record(&self, operations: &[Operation]) -> Result<()> {
        self.table.apply_all(operations.iter().map(put).collect::<Result<_>>()?).map(drop)
    }

    /// Returns operations of a user, newest first. The times are in their natural order: that the
    /// key contains them reversed is the planner's business.
    pub fn page(&self, user: &str, request: &PageRequest) -> Result<Page<Operation>> {
        let PageRequest { at_ms, limit, after } = request;
        let scan = OperationKey::scan()
            .user_id(Cow::Borrowed(user))
            .ts(TsMillis(at_ms.start)..TsMillis(at_ms.end))
            .limit(*limit);
        self.table.page(scan.plan()?, after.as_ref())?.try_map(|row| operation(&row))
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
