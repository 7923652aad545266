//! Interface of a design of logs: what the generator writes and what the check reads.

use std::ops::Range;

use anyhow::Result;
use halite::Bytes;
use logs::{Found, Layout, Line, Logs, Question};

use crate::recipe::Site;

/// Design of logs.
pub trait Design: Send + Sync {
    /// Writes lines to all tables. Writing a line again has no effect.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn write(&self, lines: &[Line]) -> Result<()>;

    /// Returns the lines that a question asks for, from one table.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn read(&self, layout: Layout, question: &Question) -> Result<Found>;

    /// Returns the row of a line in a table.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn row(&self, layout: Layout, line: &Line) -> Result<Bytes>;

    /// Completes interrupted writes between two times. Returns the number of completed lines.
    ///
    /// # Errors
    /// Errors of the cluster.
    fn repair(&self, at_ms: Range<i64>) -> Result<u64>;
}

/// Opens the design of `examples/logs`.
pub(super) fn logs(site: &Site) -> Result<Box<dyn Design>> {
    Ok(Box::new(Logs::open(&site.cluster, &site.namespace)?))
}

impl Design for Logs {
    fn write(&self, lines: &[Line]) -> Result<()> {
        Ok(Self::write(self, lines)?)
    }

    fn read(&self, layout: Layout, question: &Question) -> Result<Found> {
        Ok(Self::read(self, layout, question)?)
    }

    fn row(&self, layout: Layout, line: &Line) -> Result<Bytes> {
        Ok(Self::row(self, layout, line)?)
    }

    fn repair(&self, at_ms: Range<i64>) -> Result<u64> {
        Ok(Self::repair(self, at_ms)?)
    }
}
