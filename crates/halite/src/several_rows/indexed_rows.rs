//! Rows that are found by other values than their keys: rows of other tables lead to them, and
//! follow them when they change.

use std::sync::Arc;

use halite_types::{
    Bytes, CheckAndMutate, Delete, Get, Put, Result, Row, RowOp, Scan, Table, TableExt as _,
};

use super::index::{Entry, Index, wait_out};

/// Rows that a repair compares at once.
const REPAIR_ROWS: usize = 500;

/// Value in a row of a table with indexes.
pub trait IndexedRow: Clone + Send + Sync {
    /// Returns the row key, which stays as it is.
    ///
    /// # Errors
    /// A value that the key cannot represent.
    fn row(&self) -> Result<Bytes>;

    /// Returns the put of the row, with all cells and the version.
    ///
    /// # Errors
    /// As [`Self::row`].
    fn put(&self) -> Result<Put>;

    /// Returns the value of a row; `None` for an empty one.
    ///
    /// # Errors
    /// A row that is damaged.
    fn from_row(row: &Row) -> Result<Option<Self>>;

    /// Returns the number of changes of the row, of which the column of the version has the eight
    /// bytes of a `U64`.
    fn version(&self) -> u64;

    /// Returns the same value with another version.
    #[must_use]
    fn with_version(&self, version: u64) -> Self;
}

/// Rows of a table, and indexes of them.
///
/// A row alone decides what it is, and entries follow it: new ones are written before the row is
/// changed, on the condition that none is there, and old ones are removed after it, on the
/// condition that they are the row's. So an entry of a unique index, such as a name, belongs to one
/// row at a time. Every change of a row is on the condition of its version, and every removal of an
/// entry on that of its stamp, the column `_stamp` with the version for which it was written: one
/// that a change is about to need is not removed. A writer that stops in between leaves a row
/// without an entry, or an entry that does not lead back to its row; [`Self::repair`] finds both
/// while others read and write.
///
/// ```
/// # fn main() -> halite::Result<()> {
/// # let directory = tempfile::tempdir().expect("a temporary directory");
/// use halite::{Bytes, FamilyDescriptor, Get, Index, IndexedRow, IndexedRows, Put, Result, Row};
/// use halite::{TableDescriptor, block_on};
///
/// #[derive(Clone, Debug, PartialEq)]
/// struct User {
///     id: String,
///     mail: String,
///     version: u64,
/// }
///
/// impl IndexedRow for User {
///     fn row(&self) -> Result<Bytes> {
///         Ok(self.id.clone().into())
///     }
///     fn put(&self) -> Result<Put> {
///         let version = self.version.to_be_bytes();
///         Ok(Put::new(self.id.clone()).add("u", "mail", &self.mail).add("u", "version", version))
///     }
///     fn from_row(row: &Row) -> Result<Option<Self>> {
///         let Some(mail) = row.text("u", "mail") else { return Ok(None) };
///         let version = row.array("u", "version")?.map(u64::from_be_bytes).unwrap_or_default();
///         Ok(Some(Self { id: String::from_utf8_lossy(row.key()).into_owned(), mail, version }))
///     }
///     fn version(&self) -> u64 {
///         self.version
///     }
///     fn with_version(&self, version: u64) -> Self {
///         Self { version, ..self.clone() }
///     }
/// }
///
/// let store = halite::open(directory.path())?;
/// for name in ["users", "by_mail"] {
///     store.create_table(TableDescriptor::new(name.parse()?).family(FamilyDescriptor::new("u")), &[])?;
/// }
/// let (users, by_mail) = (store.table("users")?, store.table("by_mail")?);
/// let users = IndexedRows::new(users.inner().clone(), "u", "version").index(Index::unique(
///     by_mail.inner().clone(),
///     ("u", "id"),
///     |user: &User| Ok(Some(Put::new(user.mail.clone()).add("u", "id", &user.id))),
///     |entry| Ok(entry.value("u", "id").unwrap_or_default().to_vec().into()),
/// ));
/// let user = |id: &str, mail: &str| User { id: id.into(), mail: mail.into(), version: 0 };
/// let (ada, alan) = (user("ada", "a@x.org"), user("alan", "a@x.org"));
/// assert_eq!(block_on(users.insert(&[ada.clone(), alan]))?, [true, false], "the name is taken");
/// let moved = User { mail: "ada@x.org".into(), ..ada.clone() };
/// assert_eq!(block_on(users.replace(&ada, &moved))?, Some(true));
/// assert!(by_mail.exists(Get::new("ada@x.org"))? && !by_mail.exists(Get::new("a@x.org"))?);
/// # store.close()
/// # }
/// ```
pub struct IndexedRows<T> {
    rows: Arc<dyn Table>,
    family: Bytes,
    qualifier: Bytes,
    indexes: Vec<Index<T>>,
}

/// Row whose missing entries were added.
struct EnteredAgain {
    /// Entries and rows that were not right.
    repaired: u64,
    /// `true` if a unique entry is that of another row, so that this one was removed.
    is_taken: bool,
}

impl<T: IndexedRow> IndexedRows<T> {
    /// Creates rows without indexes, whose versions are in the column `family:qualifier`.
    pub fn new(
        rows: Arc<dyn Table>,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
    ) -> Self {
        let (family, qualifier) = (family.into(), qualifier.into());
        Self { rows, family, qualifier, indexes: Vec::new() }
    }

    /// Adds an index. Add unique ones first: a value whose entry is taken is in no others then.
    #[must_use]
    pub fn index(mut self, index: Index<T>) -> Self {
        self.indexes.push(index);
        self
    }

    /// Returns the value of a row.
    ///
    /// # Errors
    /// Those of [`IndexedRow::from_row`]; as [`Table::get_all`].
    pub async fn get(&self, row: Bytes) -> Result<Option<T>> {
        T::from_row(&self.rows.get(Get::new(row)).await?)
    }

    /// Inserts values, and returns for each of them `false` if an entry of a unique index is taken.
    /// Rows that exist, as after a lost reply, are left as they are, and get the entries that they
    /// lack; a row whose entry is taken is removed.
    ///
    /// # Errors
    /// Those of the entries of the indexes, before anything is written. As [`Table::batch`]; some of
    /// the rows and entries may be there then.
    pub async fn insert(&self, values: &[T]) -> Result<Vec<bool>> {
        let entries_of = |index: &Index<T>| values.iter().map(|value| index.entry(value)).collect();
        let entries: Vec<Vec<_>> = self.indexes.iter().map(entries_of).collect::<Result<_>>()?;
        let put = |value: &T| -> Result<RowOp> {
            let (family, qualifier) = (self.family.clone(), self.qualifier.clone());
            let check =
                CheckAndMutate::if_not_exists(value.row()?, family, qualifier, value.put()?);
            Ok(check.into())
        };
        // The row is first: a writer that stops leaves one without entries, which a repair adds.
        let is_new = apply(&self.rows, values.iter().map(put).collect::<Result<_>>()?).await?;
        let mut new: Vec<(usize, &T)> =
            values.iter().enumerate().filter(|(at, _)| is_new.get(*at) == Some(&true)).collect();
        let mut is_inserted = vec![true; values.len()];
        for (index, entries) in self.indexes.iter().zip(entries) {
            for at in self.enter_all(index, &new, entries).await? {
                if let Some(inserted) = is_inserted.get_mut(at) {
                    *inserted = false;
                }
                new.retain(|(new, _)| *new != at);
            }
        }
        for ((value, is_new), is_inserted) in values.iter().zip(&is_new).zip(&mut is_inserted) {
            if *is_new {
                continue;
            }
            // Its writer may have stopped before the entries; a row that was changed had them.
            let current = self.get(value.row()?).await?;
            if let Some(current) = current.filter(|row| row.version() == value.version()) {
                *is_inserted = !self.enter_again(&current).await?.is_taken;
            }
        }
        Ok(is_inserted)
    }

    /// Adds entries of new values to an index, and removes the values whose entries are taken.
    /// Returns their numbers, which are their places among the entries too.
    async fn enter_all(
        &self,
        index: &Index<T>,
        new: &[(usize, &T)],
        mut entries: Vec<Option<(Put, Bytes)>>,
    ) -> Result<Vec<usize>> {
        let (mut added, mut adds) = (Vec::new(), Vec::new());
        for (at, value) in new {
            let Some((put, owner)) = entries.get_mut(*at).and_then(Option::take) else { continue };
            added.push((*at, *value));
            adds.push(index.add(put, &owner, value.version()));
        }
        let is_added = apply(&index.table, adds).await?;
        let mut taken = Vec::new();
        for ((at, value), is_added) in added.into_iter().zip(is_added) {
            // Another writer or a repair may have added the same one.
            if !is_added && !index.enter(value, true).await?.1 && index.is_unique {
                self.delete(value).await?;
                taken.push(at);
            }
        }
        Ok(taken)
    }

    /// Replaces the value of a row by another one of the same row, whose version is the next.
    ///
    /// Returns `None` if the row was changed since `old` was read: read it again. Returns `false`
    /// if an entry of a unique index is taken; the version is the next then too, so that another
    /// client that tries to do the same later changes nothing.
    ///
    /// # Errors
    /// As [`Table::batch`]; the row has either value then, and a repair makes its entries follow.
    pub async fn replace(&self, old: &T, new: &T) -> Result<Option<bool>> {
        let version = old.version() + 1;
        let (mut is_free, new) = (true, new.with_version(version));
        for index in &self.indexes {
            let (_, is_own) = index.enter(&new, true).await?;
            if !is_own && index.is_unique {
                is_free = false;
                break;
            }
        }
        let next = if is_free { new.clone() } else { old.with_version(version) };
        let change = self.if_unchanged(old, next.put()?)?;
        let is_changed = self.rows.mutate(change).await?.processed;
        self.settle(&[&new, old]).await?;
        Ok(is_changed.then_some(is_free))
    }

    /// Removes a row. Returns `false` if it was changed since `value` was read.
    ///
    /// # Errors
    /// As [`Table::batch`].
    pub async fn delete(&self, value: &T) -> Result<bool> {
        let row = self.rows.get(Get::new(value.row()?)).await?;
        let Some(newest_ms) = row.iter().map(|cell| cell.timestamp()).max() else {
            return Ok(false);
        };
        wait_out(newest_ms);
        let delete = self.if_unchanged(value, Delete::new(value.row()?).up_to(newest_ms))?;
        let is_deleted = self.rows.mutate(delete).await?.processed;
        if is_deleted {
            self.settle(&[value]).await?;
        }
        Ok(is_deleted)
    }

    /// Makes the entries of some values of one row, old ones or new ones, follow the row.
    ///
    /// # Errors
    /// As [`Table::batch`].
    pub async fn settle(&self, values: &[&T]) -> Result<()> {
        let Some(first) = values.first() else { return Ok(()) };
        // Entries are read before the row: one that a change needs after that has another stamp.
        let mut found = Vec::new();
        for index in &self.indexes {
            for value in values {
                found.push((index, *value, index.own_entry(value).await?));
            }
        }
        let current = self.get(first.row()?).await?;
        for (index, value, entry) in found {
            let key = |value: &T| -> Result<Option<Bytes>> {
                Ok(index.entry(value)?.map(|(put, _)| put.row().clone()))
            };
            let is_current = match &current {
                Some(current) => key(current)? == key(value)?,
                None => false,
            };
            match (&current, entry) {
                (Some(current), None) if is_current => drop(index.enter(current, false).await?),
                (_, Some(entry)) if !is_current && !is_ahead(&entry, current.as_ref()) => {
                    index.remove(&entry).await?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes entries that do not lead back to their rows, adds those that are missing, and
    /// removes rows whose unique entries are taken. Returns the number of rows and entries that
    /// were not right. It reads all tables; others may read and write meanwhile.
    ///
    /// # Errors
    /// Those of `row_of` and `entry_of` of the indexes; as [`Table::scan`] and [`Table::batch`].
    pub async fn repair(&self) -> Result<u64> {
        let mut repaired = 0;
        for index in &self.indexes {
            let mut entries = index.table.scan(Scan::all());
            loop {
                let part = entries.next_rows().await?;
                if part.is_empty() {
                    break;
                }
                for part in part.chunks(REPAIR_ROWS) {
                    repaired += self.remove_stale(index, part).await?;
                }
            }
        }
        let mut rows = self.rows.scan(Scan::all());
        loop {
            let part = rows.next_rows().await?;
            if part.is_empty() {
                return Ok(repaired);
            }
            for row in &part {
                if let Some(value) = T::from_row(row)? {
                    repaired += self.enter_again(&value).await?.repaired;
                }
            }
        }
    }

    /// Removes those of some entries that do not lead back to their rows.
    async fn remove_stale(&self, index: &Index<T>, entries: &[Row]) -> Result<u64> {
        let get = |entry: &Row| -> Result<Get> { Ok(Get::new((index.row_of)(entry)?)) };
        let gets = entries.iter().map(get).collect::<Result<_>>()?;
        let rows = self.rows.get_all(gets).await?;
        let mut removed = 0;
        for (found, row) in entries.iter().zip(rows) {
            let Some(entry) = index.entry_in(found) else { continue };
            let value = T::from_row(&row)?;
            if let Some(value) = &value {
                let expected = index.entry(value)?;
                let leads_back = expected.is_some_and(|(put, _)| put.row() == found.key());
                if leads_back || !self.fence(value, &entry).await? {
                    continue;
                }
            }
            removed += u64::from(index.remove(&entry).await?);
        }
        Ok(removed)
    }

    /// Ensures that no change for which an entry was written comes any more: gives the row the
    /// version of the entry, if it has an earlier one. Returns `false` if it was changed meanwhile.
    async fn fence(&self, value: &T, entry: &Entry) -> Result<bool> {
        if !is_ahead(entry, Some(value)) {
            return Ok(true);
        }
        let fence = self.if_unchanged(value, value.with_version(entry.version).put()?)?;
        Ok(self.rows.mutate(fence).await?.processed)
    }

    /// Adds the missing entries of a value; removes its row if a unique one is taken.
    async fn enter_again(&self, value: &T) -> Result<EnteredAgain> {
        let mut repaired = 0;
        for index in &self.indexes {
            let (is_added, is_own) = index.enter(value, false).await?;
            repaired += u64::from(is_added);
            if !is_own && index.is_unique {
                repaired += u64::from(self.delete(value).await?);
                return Ok(EnteredAgain { repaired, is_taken: true });
            }
        }
        Ok(EnteredAgain { repaired, is_taken: false })
    }

    /// Returns an operation on the row of a value that has an effect if the row has its version.
    fn if_unchanged(&self, value: &T, then: impl Into<RowOp>) -> Result<RowOp> {
        let version = value.version().to_be_bytes().to_vec();
        let (family, qualifier) = (self.family.clone(), self.qualifier.clone());
        Ok(CheckAndMutate::if_equals(value.row()?, family, qualifier, version, then).into())
    }
}

/// Returns `true` if an entry may be that of a change to come.
fn is_ahead<T: IndexedRow>(entry: &Entry, current: Option<&T>) -> bool {
    current.is_some_and(|current| entry.version > current.version())
}

/// Applies operations with conditions, and returns for each whether its condition held.
async fn apply(table: &Arc<dyn Table>, ops: Vec<RowOp>) -> Result<Vec<bool>> {
    if ops.is_empty() {
        return Ok(Vec::new());
    }
    table.batch(ops).await?.into_iter().map(|result| Ok(result?.processed)).collect()
}
