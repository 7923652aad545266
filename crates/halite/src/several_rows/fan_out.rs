//! One fact to any number of rows: work on all rows of a query, part by part, whose cursor is in a
//! table, so that another program continues where one stopped.

use std::sync::Arc;

use halite_rowkey::{Page, PageToken, Plan, ScatterOptions};
use halite_types::key::to_string_binary;
use halite_types::{
    Bytes, CheckAndMutate, Delete, Error, Get, Put, Result, Row, RowOp, Scan, Table, TableExt as _,
};

/// Rows of a part.
const PART_ROWS: usize = 500;
/// First byte of a cursor. Its column is never empty, since HBase takes an empty value for a
/// missing one in conditions.
const VERSION: u8 = 1;

/// Jobs that work on many rows, such as a post that goes to the timelines of all followers.
///
/// A job is a row of a table from its beginning to its end: column `p` is its payload, `c` its
/// cursor. Its parts are pages of a query, the recipients. The cursor moves after a part is done,
/// so a part may be repeated after a stop: one that is done twice must have the effect of one, as
/// puts of the same bytes have. Several programs may work on a job at once; all continue after
/// the cursor that one of them stored.
///
/// ```
/// # #[cfg(feature = "derive")]
/// # fn main() -> halite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// use halite::{FamilyDescriptor, FanOut, Get, Put, RowKey, TableDescriptor, block_on};
///
/// #[derive(RowKey)]
/// struct FollowerKey<'a> {
///     author: &'a str,
///     follower: u64,
/// }
///
/// let store = halite::open(directory.path())?;
/// for name in ["posts_in_progress", "followers", "timelines"] {
///     let family = FamilyDescriptor::new("f");
///     store.create_table(TableDescriptor::new(name.parse()?).family(family), &[])?;
/// }
/// let (followers, timelines) = (store.table("followers")?, store.table("timelines")?);
/// for follower in 0..5 {
///     followers.put(Put::new(FollowerKey { author: "ada", follower }.encode()?).add("f", "x", ""))?;
/// }
/// let fan_out = FanOut::new(store.table("posts_in_progress")?.inner().clone(), "f").part_rows(2);
/// let push = |job: &halite::FanOutJob| -> halite::Result<()> {
///     let recipients = FollowerKey::scan().author("ada").plan()?;
///     let mut parts = fan_out.parts(job, followers.inner().clone(), recipients)?;
///     while let Some(part) = block_on(parts.next())? {
///         let put = |row: &halite::Row| Put::new(row.key().to_vec()).add("f", "p", &job.payload);
///         timelines.apply_all(part.iter().map(|row| put(row).into()).collect())?;
///     }
///     Ok(())
/// };
/// push(&block_on(fan_out.begin("post 1", "hello"))?)?;
/// assert_eq!(timelines.scan(halite::Scan::all()).count(), 5);
///
/// // A writer that stopped is continued by any other.
/// block_on(fan_out.begin("post 2", "again"))?;
/// for job in block_on(fan_out.unfinished(None, 100))? {
///     push(&job)?;
/// }
/// assert!(block_on(fan_out.unfinished(None, 100))?.is_empty());
/// # store.close()
/// # }
/// # #[cfg(not(feature = "derive"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct FanOut {
    jobs: Arc<dyn Table>,
    family: Bytes,
    part_rows: usize,
}

/// Job that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FanOutJob {
    /// Row of the job.
    pub row: Bytes,
    /// What the job is about.
    pub payload: Bytes,
    /// Where the last part ended, as stored.
    cursor: Bytes,
}

impl FanOut {
    /// Column of the payload of a job.
    pub const PAYLOAD: &'static str = "p";
    /// Column of the cursor of a job.
    pub const CURSOR: &'static str = "c";

    /// Creates jobs in a family of a table, of 500 rows for each part.
    pub fn new(jobs: Arc<dyn Table>, family: impl Into<Bytes>) -> Self {
        Self { jobs, family: family.into(), part_rows: PART_ROWS }
    }

    /// Sets the rows of a part, at least 1.
    #[must_use]
    pub fn part_rows(mut self, rows: usize) -> Self {
        self.part_rows = rows.max(1);
        self
    }

    /// Begins a job; it is stored when this returns. A job of this row that exists begins again.
    ///
    /// # Errors
    /// As [`Table::batch`].
    pub async fn begin(
        &self,
        row: impl Into<Bytes>,
        payload: impl Into<Bytes>,
    ) -> Result<FanOutJob> {
        let (row, payload, cursor) = (row.into(), payload.into(), Bytes::from_static(&[VERSION]));
        let put = Put::new(row.clone()).add(&self.family, Self::PAYLOAD, &payload).add(
            &self.family,
            Self::CURSOR,
            &cursor,
        );
        self.jobs.mutate(put.into()).await?;
        Ok(FanOutJob { row, payload, cursor })
    }

    /// Returns jobs that are not finished, in the order of their rows: the repair scan. The next
    /// ones follow after the row of the last.
    ///
    /// # Errors
    /// `Corrupt` for a row that is no job; as [`Table::scan`].
    pub async fn unfinished(&self, after: Option<&[u8]>, limit: usize) -> Result<Vec<FanOutJob>> {
        let scan = Scan::all().family(self.family.clone()).limit(limit);
        let scan = match after {
            Some(row) => scan.start_exclusive(row.to_vec()),
            None => scan,
        };
        let (mut rows, mut jobs) = (self.jobs.scan(scan), Vec::new());
        while let Some(row) = rows.next().await? {
            jobs.push(self.job(&row)?);
        }
        Ok(jobs)
    }

    /// Returns the parts of a job that are left, of the rows of a query on `recipients`, which is
    /// the same one each time. If it is not, or the cursor cannot be read, the job begins again.
    ///
    /// # Errors
    /// `InvalidRequest` for a query with a limit: all its rows are recipients.
    pub fn parts(
        &self,
        job: &FanOutJob,
        recipients: Arc<dyn Table>,
        plan: Plan,
    ) -> Result<FanOutParts> {
        if plan.query().limit.is_some() {
            return Err(Error::invalid(format!(
                "row {}: a job is for all rows of its query; leave the limit out",
                to_string_binary(&job.row)
            )));
        }
        let plan = Arc::new(plan.with_limit(self.part_rows));
        Ok(FanOutParts {
            fan_out: self.clone(),
            job: job.clone(),
            recipients,
            plan,
            state: State::Stored,
        })
    }

    /// Ends a job, also one whose parts are not done.
    ///
    /// # Errors
    /// As [`Table::batch`].
    pub async fn finish(&self, row: impl Into<Bytes>) -> Result<()> {
        self.jobs.mutate(Delete::new(row).family(&self.family).into()).await.map(drop)
    }

    /// Returns a job as it is stored; `None` if it is finished.
    async fn load(&self, row: Bytes) -> Result<Option<FanOutJob>> {
        let row = self.jobs.get(Get::new(row).family(self.family.clone())).await?;
        if row.is_empty() { Ok(None) } else { self.job(&row).map(Some) }
    }

    fn job(&self, row: &Row) -> Result<FanOutJob> {
        let column = |name| row.value(&self.family, name).map(Bytes::copy_from_slice);
        match (column(Self::PAYLOAD), column(Self::CURSOR)) {
            (Some(payload), Some(cursor)) => {
                Ok(FanOutJob { row: Bytes::copy_from_slice(row.key()), payload, cursor })
            }
            _ => Err(Error::corrupt(format!(
                "table {}, row {}: a job has the columns p and c; delete the row, or begin its job \
                 again",
                self.jobs.name(),
                to_string_binary(row.key())
            ))),
        }
    }
}

/// Parts of a job. Dropping it leaves the job for others.
pub struct FanOutParts {
    fan_out: FanOut,
    job: FanOutJob,
    recipients: Arc<dyn Table>,
    plan: Arc<Plan>,
    state: State,
}

enum State {
    /// The cursor is stored.
    Stored,
    /// The caller has a part that ends here; `None` after the last one.
    Given(Option<PageToken>),
    Finished,
}

impl FanOutParts {
    /// Returns the rows of the next part; `None` when all are done. The call says that the part
    /// before is done: it stores the cursor, or after the last part ends the job.
    ///
    /// # Errors
    /// As [`Page::read`] and [`Table::batch`]; the call may be repeated.
    pub async fn next(&mut self) -> Result<Option<Vec<Row>>> {
        match &self.state {
            State::Finished => return Ok(None),
            State::Given(None) => return self.end().await,
            State::Given(Some(end)) => {
                let cursor = [&[VERSION][..], &end.to_bytes()].concat().into();
                if !self.store(cursor).await? {
                    return Ok(None);
                }
                self.state = State::Stored;
            }
            State::Stored => {}
        }
        let after = self.position();
        let (table, options) = (Arc::clone(&self.recipients), ScatterOptions::default());
        let page = Page::read(table, Arc::clone(&self.plan), Scan::all(), &options, after.as_ref());
        let Page { items, next, .. } = page.await?;
        if items.is_empty() {
            return self.end().await;
        }
        self.state = State::Given(next);
        Ok(Some(items))
    }

    /// Ends the job, unless another program began it again or has come further.
    async fn end(&mut self) -> Result<Option<Vec<Row>>> {
        let delete = Delete::new(self.job.row.clone()).family(&self.fan_out.family);
        self.if_here(delete).await?;
        self.state = State::Finished;
        Ok(None)
    }

    /// Stores a cursor, unless another program stored one since; then its cursor is taken. Returns
    /// `false` if the job is finished.
    async fn store(&mut self, cursor: Bytes) -> Result<bool> {
        let row = self.job.row.clone();
        let put = Put::new(row.clone()).add(&self.fan_out.family, FanOut::CURSOR, &cursor);
        if self.if_here(put).await? {
            self.job.cursor = cursor;
            return Ok(true);
        }
        match self.fan_out.load(row).await? {
            Some(job) => self.job.cursor = job.cursor,
            None => self.state = State::Finished,
        }
        Ok(!matches!(self.state, State::Finished))
    }

    /// Changes the row of the job if it is where this run is; returns `false` otherwise.
    async fn if_here(&self, change: impl Into<RowOp>) -> Result<bool> {
        let (row, family) = (self.job.row.clone(), self.fan_out.family.clone());
        let cursor = self.job.cursor.clone();
        let check = CheckAndMutate::if_equals(row, family, FanOut::CURSOR, cursor, change);
        Ok(self.fan_out.jobs.mutate(check.into()).await?.processed)
    }

    /// Returns the end of the last part; `None` at the beginning, and for a cursor that is not one
    /// of the query.
    fn position(&self) -> Option<PageToken> {
        let (&VERSION, token) = self.job.cursor.split_first()? else { return None };
        let token = PageToken::from_bytes(token).ok()?;
        token.continues(self.recipients.name(), &self.plan).then_some(token)
    }
}
