//! Carrying a plan out on a table: its ranges are read at the same time, and their rows come as one stream in the order of the
//! key without salts.
//!
//! `cursor.rs` reads one range piece by piece. `merge.rs` holds the ranges that are open and takes the least row of all, found
//! by `loser_tree.rs`. `points.rs` gets whole keys instead. There is no runtime here: pieces are futures that are polled while
//! the consumer waits, at most [`ScatterOptions::concurrency`] at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_types::{Error, Fut, Result, Row, RowSource, RowStream, Scan, Table};

use crate::plan::{KeyRange, Plan};

mod cursor;
mod loser_tree;
mod merge;
mod points;
mod single;
#[cfg(test)]
mod tests;
mod token;

pub use token::PageToken;

use cursor::Shared;
use merge::Merge;
use points::Points;
use single::Single;

/// What becomes of rows whose keys are not of the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreadable {
    /// They come as they are, where they lie in the ranges.
    #[default]
    Return,
    /// They are left out and counted.
    Count,
    /// The first of them ends the scan with its error.
    Fail,
}

/// How a plan is carried out.
#[derive(Clone, Debug)]
pub struct ScatterOptions {
    /// Pieces of ranges that are read at once, at least 1.
    pub concurrency: usize,
    /// Bytes of rows that may wait in memory, over all ranges together. Each range holds two pieces at most; a piece is never
    /// smaller than 4 KiB, or one row.
    pub buffer_bytes: usize,
    /// Rows that are no keys of the schema.
    pub unreadable: Unreadable,
}

impl Default for ScatterOptions {
    fn default() -> Self {
        Self { concurrency: 16, buffer_bytes: 32 << 20, unreadable: Unreadable::default() }
    }
}

/// The rows of a plan.
pub struct Scatter {
    shared: Arc<Shared>,
    source: Source,
    /// Rows that may still be handed out.
    rows_left: usize,
    rows: std::vec::IntoIter<Row>,
    ended: bool,
}

enum Source {
    Merge(Box<Merge>),
    Points(Points),
    Single(Box<Single>),
}

impl Scatter {
    /// Begins to carry out `plan` on `table`, behind the page that ended at `after`. Columns, versions, times and filter are
    /// those of `template`; its range, limit and direction do not count, the plan has them.
    ///
    /// # Errors
    /// `InvalidRequest` for a template that cuts rows into pieces, and for a page token of another question.
    pub fn new(table: Arc<dyn Table>, plan: Arc<Plan>, template: Scan, options: &ScatterOptions, after: Option<&PageToken>) -> Result<Self> {
        if template.batch.is_some() {
            return Err(Error::invalid("rows of several ranges are merged whole; leave the batch limit out, or read one range at a time"));
        }
        let reverse = plan.query().reverse;
        let ranges: Vec<KeyRange> = match after {
            Some(token) => {
                token.check(plan.schema(), reverse)?;
                plan.ranges().filter_map(|range| token.rest_of(plan.schema(), range, reverse)).collect()
            }
            None => plan.ranges().cloned().collect(),
        };
        let (has_residual, unreadable, is_points) = (plan.has_residual(), options.unreadable, plan.points().is_some() && !template.raw);
        let rows_left = plan.query().limit.unwrap_or(usize::MAX);
        let piece = merge::piece_bytes(&plan, options);
        let template = Scan { max_result_bytes: template.max_result_bytes.min(piece), ..template };
        let shared = Arc::new(Shared {
            table,
            plan,
            template,
            unreadable,
            has_residual,
            misfits: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            examined: AtomicU64::new(0),
        });
        let source = if is_points {
            Source::Points(Points::new(Arc::clone(&shared), ranges))
        } else {
            match (&ranges[..], shared.plan.query().limit) {
                ([only], Some(limit)) => Source::Single(Box::new(Single::new(Arc::clone(&shared), only.clone(), limit))),
                _ => Source::Merge(Box::new(Merge::new(Arc::clone(&shared), ranges, options))),
            }
        };
        Ok(Self { shared, source, rows_left, rows: Vec::new().into_iter(), ended: rows_left == 0 })
    }

    /// The next row; `None` at the end. A call that is cancelled loses nothing.
    ///
    /// # Errors
    /// Whatever stopped one of the scans, with its table and its range; nothing comes behind it.
    pub async fn next(&mut self) -> Result<Option<Row>> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            let rows = self.next_rows().await?;
            if rows.is_empty() {
                return Ok(None);
            }
            self.rows = rows.into_iter();
        }
    }

    /// The next rows, as many as are there; empty at the end. A call that is cancelled loses nothing.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn next_rows(&mut self) -> Result<Vec<Row>> {
        if !self.rows.as_slice().is_empty() {
            return Ok(std::mem::take(&mut self.rows).collect());
        }
        if self.ended {
            return Ok(Vec::new());
        }
        let rows = match &mut self.source {
            Source::Merge(merge) => std::future::poll_fn(|context| merge.poll_rows(context, self.rows_left)).await,
            Source::Single(single) => std::future::poll_fn(|context| single.poll_rows(context, self.rows_left)).await,
            Source::Points(points) => points.next_rows(self.rows_left).await,
        };
        let rows = rows.inspect_err(|_| self.ended = true)?;
        self.rows_left -= rows.len().min(self.rows_left);
        self.ended = rows.is_empty() || self.rows_left == 0;
        Ok(rows)
    }

    /// The token of a row of this scatter: the next page begins behind it.
    pub fn token_of(&self, row: &Row) -> PageToken {
        let range = self.shared.plan.ranges().find(|range| range.range.contains(row.key()));
        let (first, second) = range.map_or((&[][..], row.key()), |range| range.merge_key(row.key()));
        PageToken::new(self.shared.plan.schema(), self.shared.plan.query().reverse, [first, second].concat(), row.key().to_vec())
    }

    /// Rows that are no keys of the schema among those the table gave so far, handed out or left out. Such rows that lie outside of the
    /// ranges of the plan are not read, and not counted.
    pub fn misfits(&self) -> u64 {
        self.shared.misfits.load(Ordering::Relaxed)
    }

    /// Rows that were left out so far because they are no keys of the schema.
    pub fn left_out(&self) -> u64 {
        self.shared.left_out.load(Ordering::Relaxed)
    }

    /// Rows that the table gave so far, those that were not wanted among them.
    pub fn examined(&self) -> u64 {
        self.shared.examined.load(Ordering::Relaxed)
    }

    /// The rows as those of any scan.
    pub fn into_stream(self) -> RowStream {
        RowStream::new(self)
    }
}

impl RowSource for Scatter {
    fn next_rows(&mut self) -> Fut<'_, Vec<Row>> {
        Box::pin(Self::next_rows(self))
    }
}
