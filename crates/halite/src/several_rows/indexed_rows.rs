//! Rows that are found by other values than their keys: rows of other tables lead to them, and
//! follow them when they change.

use std::sync::Arc;

use halite_types::{
    Bytes, CheckAndMutate, Delete, Error, Get, Put, Result, Row, RowOp, Scan, Table, TableExt as _,
};

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

type EntryOf<T> = Box<dyn Fn(&T) -> Result<Option<Put>> + Send + Sync>;
type RowOf = Box<dyn Fn(&Row) -> Result<Bytes> + Send + Sync>;

/// Table of entries, each of which leads to a row.
pub struct Index<T> {
    table: Arc<dyn Table>,
    family: Bytes,
    qualifier: Bytes,
    is_unique: bool,
    entry_of: EntryOf<T>,
    row_of: RowOf,
}

/// Rows of a table, and indexes of them.
///
/// A row alone decides what it is, and entries follow it: new ones are written before the row is
/// changed, on the condition that none is there, and old ones are removed after it, on the
/// condition that they are the row's. So an entry of a unique index, such as a name, belongs to one
/// row at a time. Every change of a row is on the condition of its version. A writer that stops in
/// between leaves a row without an entry, or an entry that does not lead back to its row;
/// [`Self::repair`] finds both while others read and write.
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

impl<T: IndexedRow> Index<T> {
    /// Creates an index whose entries several rows may not share.
    ///
    /// `entry_of` returns the entry of a value, if it has one: a put with a cell in `column`, a
    /// family and a qualifier, whose bytes no other row has there. `row_of` returns the key of the
    /// row to which an entry leads.
    pub fn unique(
        table: Arc<dyn Table>,
        column: (&str, &str),
        entry_of: impl Fn(&T) -> Result<Option<Put>> + Send + Sync + 'static,
        row_of: impl Fn(&Row) -> Result<Bytes> + Send + Sync + 'static,
    ) -> Self {
        let (family, qualifier) = (column.0.to_owned().into(), column.1.to_owned().into());
        let (entry_of, row_of) = (Box::new(entry_of), Box::new(row_of));
        Self { table, family, qualifier, is_unique: true, entry_of, row_of }
    }

    /// Creates an index whose entries have the key of the row in theirs, as those of a user's
    /// files, so that two rows never have the same one. The parameters are those of
    /// [`Self::unique`].
    pub fn new(
        table: Arc<dyn Table>,
        column: (&str, &str),
        entry_of: impl Fn(&T) -> Result<Option<Put>> + Send + Sync + 'static,
        row_of: impl Fn(&Row) -> Result<Bytes> + Send + Sync + 'static,
    ) -> Self {
        Self { is_unique: false, ..Self::unique(table, column, entry_of, row_of) }
    }

    /// Returns the entry of a value, and the bytes that are the value's.
    fn entry(&self, value: &T) -> Result<Option<(Put, Bytes)>> {
        let Some(put) = (self.entry_of)(value)? else { return Ok(None) };
        let cells = put.mutation().cells();
        let owner = cells
            .iter()
            .find(|cell| cell.family() == self.family && cell.qualifier() == self.qualifier);
        let owner = owner.map(|cell| Bytes::copy_from_slice(cell.value())).ok_or_else(|| {
            Error::invalid(format!(
                "table {}: an entry has no cell in the column of its index; add it to the put",
                self.table.name()
            ))
        })?;
        Ok(Some((put, owner)))
    }

    /// Returns the write of an entry, if none is there.
    fn add(&self, put: Put) -> RowOp {
        let row = put.row().clone();
        let (family, qualifier) = (self.family.clone(), self.qualifier.clone());
        CheckAndMutate::if_not_exists(row, family, qualifier, put).into()
    }

    /// Returns the removal of an entry, if it is that of an owner.
    fn remove(&self, row: Bytes, owner: Bytes) -> RowOp {
        let (family, qualifier) = (self.family.clone(), self.qualifier.clone());
        let delete = Delete::new(row.clone());
        CheckAndMutate::if_equals(row, family, qualifier, owner, delete).into()
    }

    /// Returns `true` if an entry is that of an owner.
    async fn belongs_to(&self, row: Bytes, owner: &[u8]) -> Result<bool> {
        let row = self.table.get(Get::new(row)).await?;
        Ok(row.value(&self.family, &self.qualifier) == Some(owner))
    }

    /// Adds the entry of a value. Returns whether it was added, and whether it is the value's now.
    async fn enter(&self, value: &T) -> Result<(bool, bool)> {
        let Some((put, owner)) = self.entry(value)? else { return Ok((false, true)) };
        let row = put.row().clone();
        let is_added = self.table.mutate(self.add(put)).await?.processed;
        // Another writer or a repair may have added the same one.
        Ok((is_added, is_added || self.belongs_to(row, &owner).await?))
    }
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
    /// Rows that exist, as after a lost reply, are left as they are.
    ///
    /// # Errors
    /// As [`Table::batch`]; some of the rows and entries may be there then.
    pub async fn insert(&self, values: &[T]) -> Result<Vec<bool>> {
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
        for index in &self.indexes {
            for at in self.enter_all(index, &new).await? {
                if let Some(inserted) = is_inserted.get_mut(at) {
                    *inserted = false;
                }
                new.retain(|(new, _)| *new != at);
            }
        }
        Ok(is_inserted)
    }

    /// Adds entries of new values to an index, and removes the values whose entries are taken.
    /// Returns their numbers.
    async fn enter_all(&self, index: &Index<T>, new: &[(usize, &T)]) -> Result<Vec<usize>> {
        let mut entries = Vec::new();
        for (at, value) in new {
            entries.extend(index.entry(value)?.map(|(put, owner)| (*at, *value, put, owner)));
        }
        let adds = entries.iter().map(|(.., put, _)| index.add(put.clone())).collect();
        let is_added = apply(&index.table, adds).await?;
        let mut taken = Vec::new();
        for ((at, value, put, owner), is_added) in entries.into_iter().zip(is_added) {
            let is_free =
                is_added || !index.is_unique || index.belongs_to(put.row().clone(), &owner).await?;
            if !is_free {
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
        let mut is_free = true;
        for index in &self.indexes {
            let (_, is_own) = index.enter(new).await?;
            if !is_own && index.is_unique {
                is_free = false;
                break;
            }
        }
        let next = if is_free { new } else { old }.with_version(old.version() + 1);
        let change = self.if_unchanged(old, next.put()?)?;
        let is_changed = self.rows.mutate(change).await?.processed;
        self.settle(&[new, old]).await?;
        Ok(is_changed.then_some(is_free))
    }

    /// Removes a row. Returns `false` if it was changed since `value` was read.
    ///
    /// # Errors
    /// As [`Table::batch`].
    pub async fn delete(&self, value: &T) -> Result<bool> {
        let delete = self.if_unchanged(value, Delete::new(value.row()?))?;
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
        let current = self.get(first.row()?).await?;
        for index in &self.indexes {
            let current = match &current {
                Some(current) => index.entry(current)?.map(|(put, _)| put.row().clone()),
                None => None,
            };
            for value in values {
                let Some((put, owner)) = index.entry(value)? else { continue };
                let row = put.row().clone();
                let is_current = current.as_ref() == Some(&row);
                let op = if is_current { index.add(put) } else { index.remove(row, owner) };
                index.table.mutate(op).await?;
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
                    repaired += self.enter_again(&value).await?;
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
        for (entry, row) in entries.iter().zip(rows) {
            let expected = match T::from_row(&row)? {
                Some(value) => index.entry(&value)?,
                None => None,
            };
            let leads_back = expected.is_some_and(|(put, _)| put.row() == entry.key());
            if let Some(owner) = entry.value(&index.family, &index.qualifier)
                && !leads_back
            {
                let key = Bytes::copy_from_slice(entry.key());
                let remove = index.remove(key, Bytes::copy_from_slice(owner));
                removed += u64::from(index.table.mutate(remove).await?.processed);
            }
        }
        Ok(removed)
    }

    /// Adds the missing entries of a value; removes its row if a unique one is taken.
    async fn enter_again(&self, value: &T) -> Result<u64> {
        let mut repaired = 0;
        for index in &self.indexes {
            let (is_added, is_own) = index.enter(value).await?;
            repaired += u64::from(is_added);
            if !is_own && index.is_unique {
                return Ok(repaired + u64::from(self.delete(value).await?));
            }
        }
        Ok(repaired)
    }

    /// Returns an operation on the row of a value that has an effect if the row has its version.
    fn if_unchanged(&self, value: &T, then: impl Into<RowOp>) -> Result<RowOp> {
        let version = value.version().to_be_bytes().to_vec();
        let (family, qualifier) = (self.family.clone(), self.qualifier.clone());
        Ok(CheckAndMutate::if_equals(value.row()?, family, qualifier, version, then).into())
    }
}

/// Applies operations with conditions, and returns for each whether its condition held.
async fn apply(table: &Arc<dyn Table>, ops: Vec<RowOp>) -> Result<Vec<bool>> {
    if ops.is_empty() {
        return Ok(Vec::new());
    }
    table.batch(ops).await?.into_iter().map(|result| Ok(result?.processed)).collect()
}
