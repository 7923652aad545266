//! Interface of a design of histories: what the generator writes and what the check reads.

use std::ops::Range;

use anyhow::Result;
use halite::rowkey::Page;
use user_ops::{History, Operation, PageRequest};

use crate::paging::{Lists, Position};
use crate::recipe::Site;

/// Design of histories: a list for each user.
pub trait Design: Lists<List = String, Item = Operation> + Send + Sync {
    /// Records operations. Recording one again has no effect.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn record(&self, operations: &[Operation]) -> Result<()>;
}

/// Opens the design of `examples/user-ops`.
pub(super) fn history(site: &Site) -> Result<Box<dyn Design>> {
    Ok(Box::new(History::open(&site.cluster, &site.namespace)?))
}

impl Lists for History {
    type List = String;
    type Item = Operation;

    fn page(
        &self,
        user: &String,
        at_ms: Range<i64>,
        limit: usize,
        position: &Position,
    ) -> Result<Page<Operation>> {
        let request = PageRequest { at_ms, limit, after: position.after.clone() };
        Ok(Self::page(self, user, &request)?)
    }

    fn identity(&self, operation: &Operation) -> (i64, u64) {
        (operation.at_ms, operation.sequence.into())
    }
}

impl Design for History {
    fn record(&self, operations: &[Operation]) -> Result<()> {
        Ok(Self::record(self, operations)?)
    }
}
