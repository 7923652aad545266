//! Dictionaries of a table's key: the numbers of the values of `DICT` fields, stored in a separate
//! table.
//!
//! ```text
//!   table     metrics                 keys with the numbers
//!             metrics.dictionary      family d
//!               n | field                  d:n      the last assigned number: a counter
//!               b | field 00 | number      d:v      the value, written first
//!               f | field 00 | value       d:n      its number, written only if the value has none
//! ```
//!
//! Two writers of the same new value may generate two numbers concurrently; one of them is assigned
//! to the value, and the other is never used. A number never changes its value, so cached entries
//! remain valid.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use halite_types::{
    Admin, CheckAndMutate, Cluster, Error, ErrorKind, FamilyDescriptor, Get, Increment, Put,
    Result, Row, Scan, Table, TableDescriptor, TableExt as _, TableName,
};

use crate::codec::{KeyResolver, SaltGenerator};
use crate::schema::{FieldId, HashFunction, KeySchema, SegmentKind};
use crate::value::Value;

/// Suffix of the table name.
const SUFFIX: &str = ".dictionary";
const FAMILY: &[u8] = b"d";
const NUMBER: &[u8] = b"n";
const VALUE: &[u8] = b"v";
/// Maximum entries held in memory; use a hash for a field with more values.
pub const MAX_ENTRIES: usize = 1 << 22;

/// Dictionaries of one table, loaded completely; new values are assigned in the table. Also
/// generates salts, so it is the only resolver a key requires.
pub struct Dictionary {
    table: Arc<dyn Table>,
    /// Name of each field and bytes of its numbers, for fields with a dictionary.
    fields: Vec<Option<(String, u8)>>,
    state: Mutex<DictionaryState>,
    salts: SaltGenerator,
    /// API that creates the table when the first value is assigned a number; `None` if it exists,
    /// and for readers.
    maker: Mutex<Option<Arc<dyn Admin>>>,
}

/// Treatment of a missing dictionary table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    MakeOnAssign,
    Leave,
}

#[derive(Default)]
struct DictionaryState {
    numbers: HashMap<(FieldId, Vec<u8>), u64>,
    values: HashMap<(FieldId, u64), Vec<u8>>,
}

impl Dictionary {
    /// Returns `true` if a key has dictionaries.
    pub fn is_needed(key: &KeySchema) -> bool {
        key.segments().iter().any(|segment| matches!(segment.kind, SegmentKind::Dict { .. }))
    }

    /// Returns the dictionary table of a table.
    ///
    /// # Errors
    /// `InvalidRequest` for a name that is too long with the suffix.
    pub fn table_for(of: &TableName) -> Result<TableName> {
        TableName::new(of.namespace(), format!("{}{SUFFIX}", of.qualifier()))
    }

    /// Opens the dictionaries of a table whose key has some; creates their table if it is missing.
    ///
    /// # Errors
    /// Errors of the cluster; `InvalidRequest` for more than [`MAX_ENTRIES`] entries.
    pub async fn open(cluster: &dyn Cluster, of: &TableName, key: &KeySchema) -> Result<Self> {
        Self::open_or(cluster, of, key, Missing::Make).await
    }

    /// Opens as [`Self::open`], for readers: a missing dictionary table is not created, and no
    /// value is known.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_existing(
        cluster: &dyn Cluster,
        of: &TableName,
        key: &KeySchema,
    ) -> Result<Self> {
        Self::open_or(cluster, of, key, Missing::Leave).await
    }

    /// Opens as [`Self::open`], for potential writers: a missing dictionary table is created when
    /// the first value is assigned a number.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_lazily(
        cluster: &dyn Cluster,
        of: &TableName,
        key: &KeySchema,
    ) -> Result<Self> {
        Self::open_or(cluster, of, key, Missing::MakeOnAssign).await
    }

    async fn open_or(
        cluster: &dyn Cluster,
        of: &TableName,
        key: &KeySchema,
        missing: Missing,
    ) -> Result<Self> {
        let name = Self::table_for(of)?;
        let table = cluster.table(&name);
        let mut exists = true;
        let mut maker = None;
        match table.descriptor().await {
            Err(error) if error.kind() == ErrorKind::NoSuchTable => match missing {
                Missing::Make => make(&*cluster.admin(), name).await?,
                Missing::MakeOnAssign | Missing::Leave => {
                    exists = false;
                    maker = (missing == Missing::MakeOnAssign).then(|| cluster.admin());
                }
            },
            other => drop(other?),
        }
        let mut fields = vec![None; key.fields().len()];
        for segment in key.segments() {
            if let SegmentKind::Dict { field, bytes } = segment.kind {
                fields[field] = Some((key.fields()[field].name.clone(), bytes));
            }
        }
        let dictionary = Self {
            table,
            fields,
            state: Mutex::default(),
            salts: SaltGenerator::new(),
            maker: Mutex::new(maker),
        };
        if exists {
            dictionary.refresh().await?;
        }
        Ok(dictionary)
    }

    /// Loads the entries added by others. A table that does not exist yet has none.
    ///
    /// # Errors
    /// Errors of the table; `NoSuchTable` if entries of it are known, so that it was dropped.
    pub async fn refresh(&self) -> Result<()> {
        match self.load().await {
            Err(error)
                if error.kind() == ErrorKind::NoSuchTable
                    && self.lock_state().values.is_empty() =>
            {
                Ok(())
            }
            loaded => loaded,
        }
    }

    async fn load(&self) -> Result<()> {
        for field in 0..self.fields.len() {
            let Some(prefix) = self.row(b'b', field, b"") else { continue };
            let mut rows = self.table.scan(Scan::prefix(prefix.clone()));
            while let Some(row) = rows.next().await? {
                let number = row
                    .key()
                    .get(prefix.len()..)
                    .and_then(|bytes| bytes.try_into().ok())
                    .map(u64::from_be_bytes);
                let (Some(number), Some(value)) = (number, row.value(FAMILY, VALUE)) else {
                    return Err(self.damaged(&row));
                };
                self.insert(field, number, value)?;
            }
            // If two numbers were generated for a value, the assigned one is valid.
            let prefix = self.row(b'f', field, b"").unwrap_or_default();
            let mut rows = self.table.scan(Scan::prefix(prefix.clone()));
            while let Some(row) = rows.next().await? {
                let number = number_of(&row).ok_or_else(|| self.damaged(&row))?;
                self.lock_state()
                    .numbers
                    .insert((field, row.key()[prefix.len()..].to_vec()), number);
            }
        }
        Ok(())
    }

    /// Assigns a number to every new value of a `DICT` field among `values`, which are in the order
    /// of the fields. Call it before encoding a key of them for a write.
    ///
    /// # Errors
    /// Errors of the table; `InvalidRequest` if no numbers of that width are left.
    pub async fn assign(&self, values: &[Value<'_>]) -> Result<()> {
        for (field, value) in values.iter().enumerate() {
            let (Some((name, width)), Some(value)) =
                (self.fields.get(field).and_then(Option::as_ref), bytes_of(value))
            else {
                continue;
            };
            if self.lock_state().numbers.contains_key(&(field, value.to_vec())) {
                continue;
            }
            self.make_missing().await?;
            let number = self.number_for(field, value).await?;
            if *width < 8 && number >> (8 * width) != 0 {
                return Err(Error::invalid(format!(
                    "the dictionary of {name} has no more numbers of {width} bytes; declare a \
                     wider DICT in a new table"
                )));
            }
            self.insert(field, number, value)?;
            self.lock_state().numbers.insert((field, value.to_vec()), number);
        }
        Ok(())
    }

    async fn make_missing(&self) -> Result<()> {
        let maker = self.maker.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(admin) = maker {
            make(&*admin, self.table.name().clone()).await?;
            *self.maker.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        Ok(())
    }

    /// Returns the number of a value in the table; assigns one if it has none.
    async fn number_for(&self, field: FieldId, value: &[u8]) -> Result<u64> {
        let forward = self.row(b'f', field, value).unwrap_or_default();
        let row = self.table.get(Get::new(forward.clone())).await?;
        if !row.is_empty() {
            return number_of(&row).ok_or_else(|| self.damaged(&row));
        }
        let counter = self.row(b'n', field, b"").unwrap_or_default();
        let drawn =
            self.table.mutate(Increment::new(counter).add(FAMILY, NUMBER, 1).into()).await?;
        let number = number_of(&drawn.row).ok_or_else(|| self.damaged(&drawn.row))?;
        let backward = self.row(b'b', field, &number.to_be_bytes()).unwrap_or_default();
        self.table.mutate(Put::new(backward).add(FAMILY, VALUE, value).into()).await?;
        let put = Put::new(forward.clone()).add(FAMILY, NUMBER, number.to_be_bytes());
        let is_ours = self
            .table
            .mutate(CheckAndMutate::if_not_exists(forward.clone(), FAMILY, NUMBER, put).into())
            .await?
            .processed;
        if is_ours {
            return Ok(number);
        }
        let row = self.table.get(Get::new(forward)).await?;
        number_of(&row).ok_or_else(|| self.damaged(&row))
    }

    fn insert(&self, field: FieldId, number: u64, value: &[u8]) -> Result<()> {
        let mut known = self.lock_state();
        if known.values.len() >= MAX_ENTRIES && !known.values.contains_key(&(field, number)) {
            let name = self.fields[field].as_ref().map_or("", |(name, _)| name);
            return Err(Error::invalid(format!(
                "the dictionaries of {} have more than {MAX_ENTRIES} entries; HASH({name}) suits a \
                 field with this many values",
                self.table.name()
            )));
        }
        known.values.insert((field, number), value.to_vec());
        Ok(())
    }

    fn lock_state(&self) -> std::sync::MutexGuard<'_, DictionaryState> {
        // A thread that panicked while holding the lock left individual entries, each of which is
        // complete.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the key of a row about a field; `None` for fields without a dictionary.
    fn row(&self, kind: u8, field: FieldId, rest: &[u8]) -> Option<Vec<u8>> {
        let (name, _) = self.fields.get(field)?.as_ref()?;
        Some([&[kind][..], name.as_bytes(), &[0], rest].concat())
    }

    fn damaged(&self, row: &Row) -> Error {
        Error::corrupt(format!(
            "row {} of {} is no entry of a dictionary",
            halite_types::key::to_string_binary(row.key()),
            self.table.name()
        ))
    }
}

impl KeyResolver for Dictionary {
    fn dictionary_id(&self, field: FieldId, value: &[u8]) -> Option<u64> {
        self.lock_state().numbers.get(&(field, value.to_vec())).copied()
    }

    fn dictionary_value(&self, field: FieldId, id: u64) -> Option<Vec<u8>> {
        self.lock_state().values.get(&(field, id)).cloned()
    }

    fn next_salt(&self, segment: usize, function: HashFunction, count: u32) -> Option<u32> {
        self.salts.next_salt(segment, function, count)
    }
}

async fn make(admin: &dyn Admin, name: TableName) -> Result<()> {
    let descriptor = TableDescriptor::new(name).family(FamilyDescriptor::new(FAMILY));
    match admin.create_table(descriptor, Vec::new()).await {
        // Another client may have created it concurrently.
        Err(error) if error.kind() != ErrorKind::TableExists => Err(error),
        _ => Ok(()),
    }
}

fn number_of(row: &Row) -> Option<u64> {
    row.value(FAMILY, NUMBER)?.try_into().ok().map(u64::from_be_bytes)
}

fn bytes_of<'v>(value: &'v Value<'_>) -> Option<&'v [u8]> {
    match value {
        Value::Text(text) => Some(text.as_bytes()),
        Value::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}
