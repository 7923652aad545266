//! Facts that count once: a row for each, and a sharded counter for those that belong together.

use std::collections::BTreeMap;
use std::sync::Arc;

use halite_types::{
    Bytes, CheckAndMutate, Error, Put, Result, Row, Scan, ShardedCounters, Table, TableExt as _,
};

/// Rows that are counted, such as the likes of posts and the comments on them.
///
/// A row is written on the condition that it is not there, and its counter is incremented only
/// then: a fact that is sent twice counts once. A writer that stops in between leaves a row that is
/// not counted, which [`Self::repair`] finds.
///
/// ```
/// # fn main() -> halite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// use halite::{CountedRows, FamilyDescriptor, Put, ShardedCounters, TableDescriptor, block_on};
///
/// let store = halite::open(directory.path())?;
/// for name in ["likes", "counts"] {
///     store.create_table(TableDescriptor::new(name.parse()?).family(FamilyDescriptor::new("f")), &[])?;
/// }
/// let (likes, counts) = (store.table("likes")?, store.table("counts")?);
/// let counters = ShardedCounters::new(8, "f", "n")?;
/// let likes = CountedRows::new(likes.inner().clone(), "f", "at", counts.inner().clone(), counters);
/// let like = |user: &str| Put::new(format!("post 1, {user}")).add("f", "at", "now");
/// assert!(block_on(likes.add(b"post 1", like("ada")))?);
/// assert!(!block_on(likes.add(b"post 1", like("ada")))?, "it is there");
/// assert!(block_on(likes.add(b"post 1", like("grace")))?);
/// assert_eq!(block_on(likes.count(b"post 1"))?, 2);
/// # store.close()
/// # }
/// ```
pub struct CountedRows {
    rows: Arc<dyn Table>,
    family: Bytes,
    qualifier: Bytes,
    counts: Arc<dyn Table>,
    counters: ShardedCounters,
}

impl CountedRows {
    /// Counts rows by the counters in another table. A row exists if it has a cell in the column
    /// `family:qualifier`, which every put must have.
    pub fn new(
        rows: Arc<dyn Table>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        counts: Arc<dyn Table>,
        counters: ShardedCounters,
    ) -> Self {
        let (family, qualifier) = (family.into(), qualifier.into());
        Self { rows, family, qualifier, counts, counters }
    }

    /// Adds a row to the counter of this name. Returns `false` if it exists, which changes nothing.
    ///
    /// # Errors
    /// `InvalidRequest` for a put without a cell in the column; as [`Table::batch`]. After another
    /// error the row may be there and not be counted.
    pub async fn add(&self, name: &[u8], put: Put) -> Result<bool> {
        let is_marked = |cell: halite_types::CellRef<'_>| {
            cell.family() == self.family && cell.qualifier() == self.qualifier
        };
        if !put.mutation().cells().iter().any(is_marked) {
            let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
            return Err(Error::invalid(format!(
                "table {}: a counted row has a cell in {}:{}; add it to the put",
                self.rows.name(),
                text(&self.family),
                text(&self.qualifier)
            )));
        }
        let row = put.row().clone();
        let (family, qualifier) = (self.family.clone(), self.qualifier.clone());
        let check = CheckAndMutate::if_not_exists(row, family, qualifier, put);
        let is_new = self.rows.mutate(check.into()).await?.processed;
        if is_new {
            self.counters.add(&*self.counts, name, 1).await?;
        }
        Ok(is_new)
    }

    /// Returns the counter of this name.
    ///
    /// # Errors
    /// As [`ShardedCounters::sum`].
    pub async fn count(&self, name: &[u8]) -> Result<i64> {
        self.counters.sum(&*self.counts, name).await
    }

    /// Counts all rows by the names of their counters, and corrects the counters. Returns the
    /// number of corrected ones. All names are in memory meanwhile, and no rows may be added: one
    /// that is not counted yet would be counted twice.
    ///
    /// # Errors
    /// Those of `name_of`; as [`Table::scan`] and [`Table::batch`].
    pub async fn repair(&self, name_of: impl Fn(&Row) -> Result<Vec<u8>>) -> Result<u64> {
        let column = Scan::all().column(self.family.clone(), self.qualifier.clone());
        let mut rows = self.rows.scan(column);
        let mut names: BTreeMap<Vec<u8>, i64> = BTreeMap::new();
        loop {
            let part = rows.next_rows().await?;
            if part.is_empty() {
                break;
            }
            for row in &part {
                *names.entry(name_of(row)?).or_default() += 1;
            }
        }
        let mut corrected = 0;
        for (name, expected) in names {
            let missing = expected - self.count(&name).await?;
            if missing != 0 {
                self.counters.add(&*self.counts, &name, missing).await?;
                corrected += 1;
            }
        }
        Ok(corrected)
    }
}
