//! Execution of a plan on a table: its ranges are read concurrently, and their rows are merged into
//! one stream in the order of the key without salts.
//!
//! `cursor.rs` reads one range chunk by chunk. `merge.rs` holds the open ranges and returns the
//! least row of all, determined by `loser_tree.rs`. `points.rs` gets complete keys instead, `loose.rs` reads the first row
//! of each group. No
//! runtime is required: chunks are futures that are polled while the consumer waits, at most
//! [`ScatterOptions::concurrency`] at once.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use halite_types::{BoxFuture, Error, Result, Row, RowSource, RowStream, Scan, Table};

use crate::plan::{KeyRange, Plan};

mod cursor;
mod loose;
mod loser_tree;
mod merge;
mod options;
mod page;
mod points;
mod single;
#[cfg(test)]
mod tests;
mod token;

pub use options::{ScatterOptions, UndecodableRows};
pub use page::Page;
pub use token::PageToken;

use cursor::ScatterContext;
use loose::Loose;
use merge::Merge;
use points::PointLookups;
use single::Single;

/// Rows of a plan.
pub struct Scatter {
    context: Arc<ScatterContext>,
    source: Source,
    /// Rows that may still be returned.
    rows_left: usize,
    rows: std::vec::IntoIter<Row>,
    ended: bool,
}

enum Source {
    Merge(Box<Merge>),
    Points(PointLookups),
    Single(Box<Single>),
    Loose(Box<Loose>),
}

impl Scatter {
    /// Starts `plan` on `table`, after the page that ended at `after`. Columns, versions, times and
    /// filter are those of `template`; its range, limit and direction are ignored in favor of the
    /// plan's. With a batch limit rows come in pieces, except those of complete keys; pieces of
    /// rows of several salts may alternate if their keys are equal apart from the salt.
    ///
    /// # Errors
    /// `InvalidRequest` for a batch limit together with a limit of rows or a page, whose ends might
    /// be inside of a row, and for a page token of another query.
    pub fn new(
        table: Arc<dyn Table>,
        plan: Arc<Plan>,
        template: Scan,
        options: &ScatterOptions,
        after: Option<&PageToken>,
    ) -> Result<Self> {
        if template.batch.is_some() && (plan.query().limit.is_some() || after.is_some()) {
            return Err(Error::invalid(
                "limits and pages count whole rows; leave the batch limit out, or the limit",
            ));
        }
        let reverse = plan.query().reverse;
        let ranges: Vec<Cow<'_, KeyRange>> = match after {
            Some(token) => {
                token.check(table.name(), &plan)?;
                plan.ranges()
                    .filter_map(|range| token.rest_of(plan.schema(), range, reverse))
                    .map(Cow::Owned)
                    .collect()
            }
            None => plan.ranges().map(Cow::Borrowed).collect(),
        };
        let reads_all = after.is_none() && options.first_of.is_none();
        let by_scans = reads_all && !options.point_runs.is_empty();
        let is_points = plan.is_points() && !template.raw && !by_scans;
        let keys = is_points.then(|| points::in_order(&plan, &ranges));
        let ranges: Vec<KeyRange> = match &keys {
            Some(_) => Vec::new(),
            None if by_scans => options.point_runs.clone(),
            None => ranges.into_iter().map(Cow::into_owned).collect(),
        };
        let (has_residual, unreadable) = (plan.has_residual(), options.undecodable_rows);
        let rows_left = plan.query().limit.unwrap_or(usize::MAX);
        let piece = merge::chunk_bytes(&plan, options);
        let template = Scan { max_result_bytes: template.max_result_bytes.min(piece), ..template };
        let shared = Arc::new(ScatterContext {
            table,
            plan,
            template,
            undecodable_rows: unreadable,
            has_residual,
            misfits: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            examined: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        });
        let source = if let Some(keys) = keys {
            Source::Points(PointLookups::new(Arc::clone(&shared), keys))
        } else if let Some(groups) = options.first_of {
            Source::Loose(Box::new(Loose::new(Arc::clone(&shared), ranges, groups)))
        } else {
            match (&ranges[..], shared.plan.query().limit) {
                ([only], Some(limit)) => {
                    Source::Single(Box::new(Single::new(Arc::clone(&shared), only.clone(), limit)))
                }
                _ => Source::Merge(Box::new(Merge::new(Arc::clone(&shared), ranges, options))),
            }
        };
        Ok(Self {
            context: shared,
            source,
            rows_left,
            rows: Vec::new().into_iter(),
            ended: rows_left == 0,
        })
    }

    /// Returns the next row; `None` at the end. A cancelled call loses no rows.
    ///
    /// # Errors
    /// The error that stopped one of the scans, with its table and its range; no rows follow.
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

    /// Returns the available rows; empty at the end. A cancelled call loses no rows.
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
            Source::Merge(merge) => {
                std::future::poll_fn(|context| merge.poll_rows(context, self.rows_left)).await
            }
            Source::Single(single) => {
                std::future::poll_fn(|context| single.poll_rows(context, self.rows_left)).await
            }
            Source::Points(points) => points.next_rows(self.rows_left).await,
            Source::Loose(loose) => loose.next_rows(self.rows_left).await,
        };
        let rows = rows.inspect_err(|_| self.ended = true)?;
        self.rows_left -= rows.len().min(self.rows_left);
        self.ended = rows.is_empty() || self.rows_left == 0;
        Ok(rows)
    }

    /// Returns the token of a row of this scatter: the next page begins after it.
    pub fn token_of(&self, row: &Row) -> PageToken {
        let range = self.context.plan.ranges().find(|range| range.range.contains(row.key()));
        let (first, second) =
            range.map_or((&[][..], row.key()), |range| range.merge_key(row.key()));
        PageToken::new(
            self.context.table.name(),
            &self.context.plan,
            [first, second].concat(),
            row.key().to_vec(),
        )
    }

    /// Returns the number of rows so far that are not keys of the schema, returned or skipped. Rows
    /// outside the ranges of the plan are neither read nor counted.
    pub fn misfits(&self) -> u64 {
        self.context.misfits.load(Ordering::Relaxed)
    }

    /// Returns the number of rows skipped so far because they are not keys of the schema.
    pub fn left_out(&self) -> u64 {
        self.context.left_out.load(Ordering::Relaxed)
    }

    /// Returns the bytes of the cells of the rows that the table has returned so far.
    pub fn bytes(&self) -> u64 {
        self.context.bytes.load(Ordering::Relaxed)
    }

    /// Returns the number of rows the table has returned so far, including those not needed.
    pub fn examined(&self) -> u64 {
        self.context.examined.load(Ordering::Relaxed)
    }

    /// Converts into the row stream of a scan.
    pub fn into_stream(self) -> RowStream {
        RowStream::new(self)
    }
}

impl RowSource for Scatter {
    fn next_rows(&mut self) -> BoxFuture<'_, Result<Vec<Row>>> {
        Box::pin(Self::next_rows(self))
    }
}
