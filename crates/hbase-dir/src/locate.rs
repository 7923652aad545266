//! The file with the cells behind a name in a family's directory.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use halite_types::{FamilyDescriptor, RegionInfo, Result, TableName};
use md5::{Digest as _, Md5};

use crate::HbaseFile;
use crate::messages::ReferenceMessage;
use crate::small_file::{damaged, length, read_pbuf, unsupported};
use crate::store_file_name::StoreFileName;

/// Range of a reference to the cells at or after its key, and to those before it.
const TOP: i32 = 0;
const BOTTOM: i32 = 1;

/// Family of a region in a root directory.
pub(crate) struct FamilyPlace<'a> {
    pub(crate) root: &'a Path,
    pub(crate) table: &'a TableName,
    pub(crate) region: &'a str,
    pub(crate) family: &'a Bytes,
    /// Name of the family's directory.
    pub(crate) directory: &'a str,
}

impl FamilyPlace<'_> {
    /// Returns the family's own directory.
    pub(crate) fn path(&self) -> PathBuf {
        place(&self.root.join("data"), self.table, self.region, self.directory)
    }

    /// Returns the file behind a name. `reference` is the content of the name's reference
    /// file if it is known already.
    ///
    /// # Errors
    /// `Corrupt` if the name or the reference is damaged, or the file is missing; `Unsupported` for
    /// a file of large values (MOB).
    pub(crate) fn resolve(
        &self,
        name: &str,
        reference: Option<&ReferenceMessage>,
    ) -> Result<HbaseFile> {
        let shown = self.path().join(name.replace(['/', '\0'], "?"));
        if name.ends_with("_del") {
            return Err(unsupported(&shown, "this is a file of MOB, which is not supported"));
        }
        let parsed = StoreFileName::parse(name)
            .ok_or_else(|| damaged(&shown, "this is not the name of a store file"))?;
        let rows = match (&parsed.referred_region, reference) {
            (None, _) => None,
            (Some(_), Some(reference)) => Some(rows_of(reference, &shown)?),
            (Some(_), None) => Some(rows_of(&read_pbuf(&shown)?, &shown)?),
        };
        let (table, region) = match (&parsed.link, &parsed.referred_region) {
            (Some((table, region)), _) => (table, &region[..]),
            (None, Some(region)) => (self.table, &region[..]),
            (None, None) => (self.table, self.region),
        };
        let (path, bytes) = self.find(table, region, &parsed.file, &shown)?;
        Ok(HbaseFile {
            family: self.family.clone(),
            name: name.to_owned(),
            path,
            bytes,
            loaded_sequence: parsed.loaded_sequence,
            rows,
        })
    }

    /// Returns the path and length of a store file, which HBase may have moved to its archive.
    fn find(
        &self,
        table: &TableName,
        region: &str,
        file: &str,
        shown: &Path,
    ) -> Result<(PathBuf, u64)> {
        for below in ["data", "archive/data", ".tmp/data"] {
            let path = place(&self.root.join(below), table, region, self.directory).join(file);
            // A link's own name is an empty file elsewhere.
            if let Some(bytes) = length(&path)? {
                return Ok((path, bytes));
            }
        }
        let mob = place(&self.root.join("mobdir/data"), table, region, self.directory).join(file);
        if length(&mob)?.is_some() {
            return Err(unsupported(&mob, "this is a file of MOB, which is not supported"));
        }
        Err(damaged(
            shown,
            format_args!(
                "store file {file} of region {region} of table {table} is neither in data nor in \
                 archive"
            ),
        ))
    }
}

pub(crate) fn place(data: &Path, table: &TableName, region: &str, directory: &str) -> PathBuf {
    data.join(table.namespace()).join(table.qualifier()).join(region).join(directory)
}

/// Returns the rows that a reference selects.
fn rows_of(reference: &ReferenceMessage, shown: &Path) -> Result<(Bytes, Bytes)> {
    let row = reference
        .splitkey
        .split_first_chunk::<2>()
        .and_then(|(length, rest)| rest.get(..usize::from(u16::from_be_bytes(*length))))
        .map(Bytes::copy_from_slice)
        .ok_or_else(|| damaged(shown, "the reference has no row"))?;
    match reference.range {
        TOP => Ok((row, Bytes::new())),
        BOTTOM if !row.is_empty() => Ok((Bytes::new(), row)),
        BOTTOM => Err(damaged(shown, "the reference has no rows")),
        other => Err(damaged(shown, format_args!("the reference has the range {other}"))),
    }
}

/// Returns the name of a region's directory. That in `info` is not used.
pub(crate) fn directory_name(info: &RegionInfo) -> String {
    let mut name = String::new();
    for byte in Md5::digest(info.name_prefix()) {
        write!(name, "{byte:02x}").expect("writing to a string");
    }
    name
}

/// Returns the name of a family's directory.
///
/// # Errors
/// `Corrupt` if the family's name is no name of a directory.
pub(crate) fn family_directory<'a>(family: &'a FamilyDescriptor, path: &Path) -> Result<&'a str> {
    std::str::from_utf8(family.name())
        .ok()
        .filter(|name| !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']))
        .ok_or_else(|| damaged(path, "the name of a family is no name of a directory"))
}
