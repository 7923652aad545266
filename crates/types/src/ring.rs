//! Ring of columns: the last values of a row, each in the column of the one `size` values before.
//!
//! A row of bounded size that one get reads; nothing has to be deleted. Place and number of values
//! change in one write, on the condition that no other value came between.

use bytes::Bytes;

use crate::error::{Error, ErrorKind, Result};
use crate::key::to_string_binary;
use crate::op::{CheckAndMutate, Put};
use crate::query::Get;
use crate::row::Row;
use crate::table::{Table, TableExt as _};

/// Attempts of a push whose row is changed by others meanwhile.
const MAX_ATTEMPTS: usize = 100;
const WORD: usize = 8;

/// Ring of the last values of any row of a table.
///
/// ```text
/// PREFIX            number of all values, id of the newest       8 + 8 bytes
/// PREFIX | place    sequence of the value, its id, the value     4-byte place; 8 + 8 bytes, value
/// ```
/// Numbers are big-endian. All writers and readers of a row must use the same size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    family: Bytes,
    prefix: Bytes,
    size: u32,
}

/// Value in a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingValue {
    /// Number of values before it, since the first.
    pub sequence: u64,
    /// Id that the writer gave it.
    pub id: u64,
    /// Value.
    pub value: Bytes,
}

impl Ring {
    /// Creates a ring of the columns of a family that begin with `prefix`, which has no others.
    ///
    /// # Errors
    /// `InvalidRequest` for a size of 0.
    pub fn new(family: impl Into<Bytes>, prefix: impl Into<Bytes>, size: u32) -> Result<Self> {
        if size == 0 {
            return Err(Error::invalid("a ring of 0 columns keeps nothing; pass at least 1"));
        }
        Ok(Self { family: family.into(), prefix: prefix.into(), size })
    }

    /// Adds a value. Returns `false` if the newest value of the row has this id or a greater one:
    /// ids of a row ascend, so it was added before, as after a lost reply, or comes after a later
    /// one and is refused.
    ///
    /// # Errors
    /// `Busy` if other writers won every attempt; `Corrupt` if the number of values has another
    /// length; otherwise as [`Table::batch`].
    pub async fn push(
        &self,
        table: &dyn Table,
        row: impl Into<Bytes>,
        id: u64,
        value: &[u8],
    ) -> Result<bool> {
        let row: Bytes = row.into();
        for _ in 0..MAX_ATTEMPTS {
            let get = Get::new(row.clone()).column(self.family.clone(), self.prefix.clone());
            let current = table.get(get).await?;
            let head = current.value(&self.family, &self.prefix);
            let (sequence, newest) = head.map_or(Ok((0, None)), |head| match two_words(head) {
                Some((sequence, newest, b"")) => Ok((sequence, Some(newest))),
                _ => Err(damaged(&row, head)),
            })?;
            if newest.is_some_and(|newest| newest >= id) {
                return Ok(false);
            }
            let put = self.put(&row, sequence, id, value);
            let (family, prefix) = (self.family.clone(), self.prefix.clone());
            let check = match head {
                None => CheckAndMutate::if_not_exists(row.clone(), family, prefix, put),
                Some(head) => {
                    let head = Bytes::copy_from_slice(head);
                    CheckAndMutate::if_equals(row.clone(), family, prefix, head, put)
                }
            };
            if table.mutate(check.into()).await?.processed {
                return Ok(true);
            }
        }
        Err(Error::new(
            ErrorKind::Busy,
            format!(
                "row {}: other writers added to the ring before each of {MAX_ATTEMPTS} attempts; \
                 try again",
                to_string_binary(&row)
            ),
        ))
    }

    /// Returns the values in the cells of a row, the newest first.
    ///
    /// # Errors
    /// `Corrupt` for a column of another format.
    pub fn values(&self, row: &Row) -> Result<Vec<RingValue>> {
        let mut values = Vec::new();
        for cell in row.iter().filter(|cell| cell.family() == self.family) {
            let Some(place) = cell.qualifier().strip_prefix(&self.prefix[..]) else { continue };
            if place.is_empty() {
                continue;
            }
            let (sequence, id, value) =
                two_words(cell.value()).ok_or_else(|| damaged(row.key(), cell.value()))?;
            values.push(RingValue { sequence, id, value: Bytes::copy_from_slice(value) });
        }
        values.sort_by_key(|value| std::cmp::Reverse(value.sequence));
        values.truncate(self.size as usize);
        Ok(values)
    }

    fn put(&self, row: &Bytes, sequence: u64, id: u64, value: &[u8]) -> Put {
        let place = u32::try_from(sequence % u64::from(self.size)).unwrap_or(0).to_be_bytes();
        let head = [(sequence + 1).to_be_bytes(), id.to_be_bytes()].concat();
        let value = [&sequence.to_be_bytes(), &id.to_be_bytes()[..], value].concat();
        Put::new(row.clone()).add(&self.family, &self.prefix, head).add(
            &self.family,
            [&self.prefix[..], &place].concat(),
            value,
        )
    }
}

fn two_words(bytes: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (one, rest) = bytes.split_first_chunk::<WORD>()?;
    let (other, rest) = rest.split_first_chunk::<WORD>()?;
    Some((u64::from_be_bytes(*one), u64::from_be_bytes(*other), rest))
}

fn damaged(row: &[u8], value: &[u8]) -> Error {
    Error::corrupt(format!(
        "row {}: a column of the ring has {} bytes, which are not those of a ring; delete its \
         columns",
        to_string_binary(row),
        value.len()
    ))
}
