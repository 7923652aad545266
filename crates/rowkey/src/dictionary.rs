//! The dictionaries of a table's key: which number stands for which value of a `DICT` field, kept in a table beside it.
//!
//! ```text
//!   table     metrics                 keys with the numbers
//!             metrics.dictionary      family d
//!               n | field                  d:n      the last number given out: a counter
//!               b | field 00 | number      d:v      the value, written first
//!               f | field 00 | value       d:n      its number, written only if the value has none
//! ```
//!
//! Two writers that meet the same new value at the same time may draw two numbers; one of them stands for the value, and the other
//! for nothing that is ever asked for. A number never changes its value, so what was read once stays true.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use halite_types::{
    Admin, CheckAndMutate, Cluster, Error, ErrorKind, FamilyDescriptor, Get, Increment, Put, Result, Row, Scan, Table, TableDescriptor,
    TableExt as _, TableName,
};

use crate::codec::{KeyHelper, SaltDrawer};
use crate::schema::{FieldId, HashFunction, KeySchema, SegmentKind};
use crate::value::Value;

/// Behind the name of the table.
const SUFFIX: &str = ".dictionary";
const FAMILY: &[u8] = b"d";
const NUMBER: &[u8] = b"n";
const VALUE: &[u8] = b"v";
/// Entries that are read into memory; a field of more values is better hashed.
pub const ENTRIES_MAX: usize = 1 << 22;

/// The dictionaries of one table, read whole, and asked for what is new. Also draws salts, so that it is all the helper a key needs.
pub struct Dictionary {
    table: Arc<dyn Table>,
    /// The name of each field, and how many bytes its numbers have, for fields with a dictionary.
    fields: Vec<Option<(String, u8)>>,
    known: Mutex<Known>,
    salts: SaltDrawer,
    /// Who makes the table when the first value gets a number; `None` once it is there, and for those who only read.
    maker: Mutex<Option<Arc<dyn Admin>>>,
}

/// What is done where there is no table of dictionaries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    MakeOnAssign,
    Leave,
}

#[derive(Default)]
struct Known {
    numbers: HashMap<(FieldId, Vec<u8>), u64>,
    values: HashMap<(FieldId, u64), Vec<u8>>,
}

impl Dictionary {
    /// Whether a key has dictionaries.
    pub fn is_needed(key: &KeySchema) -> bool {
        key.segments().iter().any(|segment| matches!(segment.kind, SegmentKind::Dict { .. }))
    }

    /// The table that keeps the dictionaries of a table.
    ///
    /// # Errors
    /// `InvalidRequest` for a name that is too long with what is put behind it.
    pub fn table_of(of: &TableName) -> Result<TableName> {
        TableName::new(of.namespace(), format!("{}{SUFFIX}", of.qualifier()))
    }

    /// The dictionaries of a table whose key has some. Their table is made if there is none.
    ///
    /// # Errors
    /// As the cluster's; `InvalidRequest` for more than [`ENTRIES_MAX`] entries.
    pub async fn open(cluster: &dyn Cluster, of: &TableName, key: &KeySchema) -> Result<Self> {
        Self::open_or(cluster, of, key, Missing::Make).await
    }

    /// As [`Self::open`], for those who only read: where there is no table of dictionaries none is made, and nothing is known.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_existing(cluster: &dyn Cluster, of: &TableName, key: &KeySchema) -> Result<Self> {
        Self::open_or(cluster, of, key, Missing::Leave).await
    }

    /// As [`Self::open`], for those who may come to write: where there is no table of dictionaries it is made when the first value gets a number.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_lazily(cluster: &dyn Cluster, of: &TableName, key: &KeySchema) -> Result<Self> {
        Self::open_or(cluster, of, key, Missing::MakeOnAssign).await
    }

    async fn open_or(cluster: &dyn Cluster, of: &TableName, key: &KeySchema, missing: Missing) -> Result<Self> {
        let name = Self::table_of(of)?;
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
        let dictionary = Self { table, fields, known: Mutex::default(), salts: SaltDrawer::new(), maker: Mutex::new(maker) };
        if exists {
            dictionary.refresh().await?;
        }
        Ok(dictionary)
    }

    /// Reads what others have added.
    ///
    /// # Errors
    /// As the table's.
    pub async fn refresh(&self) -> Result<()> {
        for field in 0..self.fields.len() {
            let Some(prefix) = self.row(b'b', field, b"") else { continue };
            let mut rows = self.table.scan(Scan::prefix(prefix.clone()));
            while let Some(row) = rows.next().await? {
                let number = row.key().get(prefix.len()..).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes);
                let (Some(number), Some(value)) = (number, row.value(FAMILY, VALUE)) else { return Err(self.damaged(&row)) };
                self.learn(field, number, value)?;
            }
            // Of numbers that were drawn twice, the one that the value was given counts.
            let prefix = self.row(b'f', field, b"").unwrap_or_default();
            let mut rows = self.table.scan(Scan::prefix(prefix.clone()));
            while let Some(row) = rows.next().await? {
                let number = number_of(&row).ok_or_else(|| self.damaged(&row))?;
                self.know().numbers.insert((field, row.key()[prefix.len()..].to_vec()), number);
            }
        }
        Ok(())
    }

    /// Gives every value of a `DICT` field among `values`, which are in the order of the fields, a number if it has none; to be called before a
    /// key of them is encoded for writing.
    ///
    /// # Errors
    /// As the table's; `InvalidRequest` if there are no more numbers of that width.
    pub async fn assign(&self, values: &[Value<'_>]) -> Result<()> {
        for (field, value) in values.iter().enumerate() {
            let (Some((name, width)), Some(value)) = (self.fields.get(field).and_then(Option::as_ref), bytes_of(value)) else { continue };
            if self.know().numbers.contains_key(&(field, value.to_vec())) {
                continue;
            }
            self.make_missing().await?;
            let number = self.number_for(field, value).await?;
            if *width < 8 && number >> (8 * width) != 0 {
                return Err(Error::invalid(format!(
                    "the dictionary of {name} has no more numbers of {width} bytes; declare a wider DICT in a new table"
                )));
            }
            self.learn(field, number, value)?;
            self.know().numbers.insert((field, value.to_vec()), number);
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

    /// The number that a value has in the table; a new one if it has none.
    async fn number_for(&self, field: FieldId, value: &[u8]) -> Result<u64> {
        let forward = self.row(b'f', field, value).unwrap_or_default();
        if let Some(row) = self.table.get_one(Get::new(forward.clone())).await? {
            return number_of(&row).ok_or_else(|| self.damaged(&row));
        }
        let counter = self.row(b'n', field, b"").unwrap_or_default();
        let drawn = self.table.apply_one(Increment::new(counter).add(FAMILY, NUMBER, 1).into()).await?;
        let number = number_of(&drawn.row).ok_or_else(|| self.damaged(&drawn.row))?;
        let backward = self.row(b'b', field, &number.to_be_bytes()).unwrap_or_default();
        self.table.apply_one(Put::new(backward).add(FAMILY, VALUE, value).into()).await?;
        let put = Put::new(forward.clone()).add(FAMILY, NUMBER, number.to_be_bytes());
        let is_ours = self.table.apply_one(CheckAndMutate::if_absent(forward.clone(), FAMILY, NUMBER, put).into()).await?.processed;
        if is_ours {
            return Ok(number);
        }
        let row = self.table.get_one(Get::new(forward)).await?.unwrap_or_default();
        number_of(&row).ok_or_else(|| self.damaged(&row))
    }

    fn learn(&self, field: FieldId, number: u64, value: &[u8]) -> Result<()> {
        let mut known = self.know();
        if known.values.len() >= ENTRIES_MAX && !known.values.contains_key(&(field, number)) {
            let name = self.fields[field].as_ref().map_or("", |(name, _)| name);
            return Err(Error::invalid(format!(
                "the dictionaries of {} have more than {ENTRIES_MAX} entries; HASH({name}) suits a field of so many values",
                self.table.name()
            )));
        }
        known.values.insert((field, number), value.to_vec());
        Ok(())
    }

    fn know(&self) -> std::sync::MutexGuard<'_, Known> {
        // Whoever panicked while holding it left single entries, each of which is whole.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of a row about a field; `None` for fields without a dictionary.
    fn row(&self, kind: u8, field: FieldId, rest: &[u8]) -> Option<Vec<u8>> {
        let (name, _) = self.fields.get(field)?.as_ref()?;
        Some([&[kind][..], name.as_bytes(), &[0], rest].concat())
    }

    fn damaged(&self, row: &Row) -> Error {
        Error::corrupt(format!("row {} of {} is no entry of a dictionary", halite_types::key::print_bytes(row.key()), self.table.name()))
    }
}

impl KeyHelper for Dictionary {
    fn dictionary_id(&self, field: FieldId, value: &[u8]) -> Option<u64> {
        self.know().numbers.get(&(field, value.to_vec())).copied()
    }

    fn dictionary_value(&self, field: FieldId, id: u64) -> Option<Vec<u8>> {
        self.know().values.get(&(field, id)).cloned()
    }

    fn next_salt(&self, segment: usize, function: HashFunction, count: u32) -> Option<u32> {
        self.salts.next_salt(segment, function, count)
    }
}

async fn make(admin: &dyn Admin, name: TableName) -> Result<()> {
    let descriptor = TableDescriptor::new(name).family(FamilyDescriptor::new(FAMILY));
    match admin.create_table(descriptor, Vec::new()).await {
        // Somebody else may have made it meanwhile.
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
