//! Vectors of users and items, and the cells that contain them.

use halite::{Bytes, Delete, Error, Put, Result, Row, RowMutations, RowOp};

use crate::key::{ItemKey, UserKey};

/// Family of the vectors.
pub(crate) const VECTORS: &str = "v";
/// Versions that exist while readers change from one to the next.
const VERSIONS: u32 = 2;
const NUMBER_BYTES: usize = 4;

/// User or item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entity {
    /// User.
    User(u64),
    /// Item.
    Item(u64),
}

/// Vector of a user or an item.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    pub of: Entity,
    pub values: Vec<f32>,
}

impl Entity {
    pub(crate) fn row(self) -> Result<Bytes> {
        Ok(match self {
            Self::User(user) => UserKey { user }.encode()?.into(),
            Self::Item(item) => ItemKey { item }.encode()?.into(),
        })
    }
}

/// Returns the column of a version.
pub(crate) fn column(version: u32) -> [u8; 4] {
    version.to_be_bytes()
}

impl Vector {
    /// Returns the write of a version, which removes the one that no reader uses any more. A vector
    /// is one cell, so that no reader ever finds a half of it.
    pub(crate) fn write(&self, version: u32) -> Result<RowOp> {
        let row = self.of.row()?;
        let bytes: Vec<u8> = self.values.iter().flat_map(|number| number.to_be_bytes()).collect();
        let put = Put::new(row.clone()).add(VECTORS, column(version), bytes);
        let Some(old) = version.checked_sub(VERSIONS) else { return Ok(put.into()) };
        let delete = Delete::new(row.clone()).column(VECTORS, column(old));
        Ok(RowMutations::new(row).add(put).add(delete).into())
    }
}

/// Returns the vector of a version in a row; `None` if the row has none.
pub(crate) fn vector(row: &Row, version: u32) -> Result<Option<Vec<f32>>> {
    let Some(bytes) = row.value(VECTORS, column(version)) else { return Ok(None) };
    let (numbers, []) = bytes.as_chunks::<NUMBER_BYTES>() else {
        return Err(Error::corrupt(format!(
            "a vector has {} bytes, not {NUMBER_BYTES} for each number; write it again",
            bytes.len()
        )));
    };
    Ok(Some(numbers.iter().map(|number| f32::from_be_bytes(*number)).collect()))
}
