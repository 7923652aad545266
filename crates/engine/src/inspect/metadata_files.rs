//! Files other than the manifest, the log and the store files: small files that repeat the
//! manifest's data for HBase, and entries with a name of the store that are of the wrong kind.

use halite_types::{Error, ErrorKind, Result};
use prost::Message as _;

use crate::catalog::history::History;
use crate::catalog::messages::{OneString, PBUF, RegionInfoMessage, TableSchema, region_info_file};
use crate::catalog::{Catalog, RegionEntry, TableEntry, layout};
use crate::engine::directory::{id_file, small_file, store_id_in, version_file};
use crate::engine::{quarantine, table_info};
use crate::env::{Env, FileKind, list, list_if_exists};
use crate::wal;

/// Small file that does not match the manifest.
#[derive(Clone, Debug)]
pub(super) struct FileMismatch {
    pub(super) path: String,
    pub(super) why: String,
    /// Expected content.
    pub(super) bytes: Vec<u8>,
}

/// Returns the mismatches of all small files.
///
/// # Errors
/// The file system's error.
pub(super) fn mismatches(env: &Env, catalog: &Catalog) -> Result<Vec<FileMismatch>> {
    let mut faults = identity(env, Some(catalog.store_id))?;
    for table in catalog.tables.values() {
        let (path, bytes) = table_info::file_of(&table.descriptor, table.version);
        faults.extend(mismatch(env, path, bytes, |found| table_mismatch(found, table))?);
        for region in &table.regions {
            let path = format!(
                "{}/.regioninfo",
                layout::region_directory(&region.info.table, &region.info.encoded_name)
            );
            let bytes = region_info_file(&region.info, region.number);
            faults.extend(mismatch(env, path, bytes, |found| region_mismatch(found, region))?);
        }
    }
    Ok(faults)
}

/// Returns the mismatches of the store's own files. Without a `store_id`, any id is accepted.
///
/// # Errors
/// The file system's error.
pub(super) fn identity(env: &Env, store_id: Option<[u8; 16]>) -> Result<Vec<FileMismatch>> {
    let id = mismatch(
        env,
        layout::ID.into(),
        store_id.as_ref().map(id_file).unwrap_or_default(),
        |found| match store_id_in(found) {
            None => Some("it contains no store id".into()),
            Some(id) if store_id.is_some_and(|store_id| store_id != id) => {
                Some("it contains the id of another store".into())
            }
            Some(_) => None,
        },
    )?;
    let version = mismatch(env, layout::VERSION.into(), version_file(), |found| {
        let text = found
            .strip_prefix(PBUF)
            .and_then(|body| OneString::decode(body).ok())
            .map(|message| message.text);
        (text.as_deref() != Some("8")).then(|| "it does not contain version 8".into())
    })?;
    Ok(id.into_iter().chain(version).collect())
}

fn mismatch(
    env: &Env,
    path: String,
    bytes: Vec<u8>,
    wrong: impl Fn(&[u8]) -> Option<String>,
) -> Result<Option<FileMismatch>> {
    let why = match read_small_file(env, &path)? {
        SmallFile::Missing => Some("it is missing".into()),
        SmallFile::NotAFile(what) => Some(format!("it is {what}")),
        SmallFile::Bytes(found) if found == bytes => None,
        SmallFile::Bytes(found) if found.is_empty() => Some("it is empty".into()),
        SmallFile::Bytes(found) => wrong(&found),
    };
    Ok(why.map(|why| FileMismatch { path, why, bytes }))
}

/// Returns the difference that matters to HBase. Another encoding of an equal descriptor is
/// accepted.
fn table_mismatch(found: &[u8], table: &TableEntry) -> Option<String> {
    let schema = found.strip_prefix(PBUF).and_then(|body| TableSchema::decode(body).ok());
    let Some(descriptor) = schema.and_then(|schema| schema.decode_descriptor().ok()) else {
        return Some("it contains no table descriptor".into());
    };
    if descriptor.name() != table.descriptor.name() {
        return Some(format!("it describes the table {}", descriptor.name()));
    }
    // HBase compares the length with the one in the name.
    let is_as_long =
        || found.len() == table_info::file_of(&table.descriptor, table.version).1.len();
    (descriptor != *table.descriptor || !is_as_long())
        .then(|| "it differs from the manifest".into())
}

/// Returns descriptors with a higher version than the manifest's, which HBase would use. The flag
/// is `true` if a change interrupted by a crash may have left the file.
///
/// # Errors
/// The file system's error.
pub(super) fn newer_descriptors(env: &Env, catalog: &Catalog) -> Result<Vec<(String, bool)>> {
    let mut newer = Vec::new();
    for (name, table) in &catalog.tables {
        let directory = format!("{}/.tabledesc", layout::table_directory(name));
        for entry in list_if_exists(env, &directory)? {
            if let Some(version) =
                table_info::version_of(&entry.name).filter(|version| *version > table.version)
            {
                let path = format!("{directory}/{}", entry.name);
                let bytes = read_small_file(env, &path)?.into_bytes();
                let schema =
                    bytes.strip_prefix(PBUF).and_then(|body| TableSchema::decode(body).ok());
                let is_of_table = schema
                    .and_then(|schema| schema.decode_descriptor().ok())
                    .is_some_and(|descriptor| descriptor.name() == name);
                newer.push((path, version == table.version + 1 && is_of_table));
            }
        }
    }
    Ok(newer)
}

fn region_mismatch(found: &[u8], region: &RegionEntry) -> Option<String> {
    let body = found.strip_prefix(PBUF);
    let Some(message) = body.and_then(|body| RegionInfoMessage::decode_length_delimited(body).ok())
    else {
        return Some("it contains no region".into());
    };
    let Ok(table) = message.table_name.decode_name() else {
        return Some("it contains no valid table name".into());
    };
    let (start, end) = (message.start_key.unwrap_or_default(), message.end_key.unwrap_or_default());
    let found = layout::new_region(&table, start.into(), end.into(), message.region_id);
    if found.encoded_name != region.info.encoded_name || found.end != region.info.end {
        return Some(format!("it describes the region {}", found.display_name()));
    }
    let is_plain = ![message.offline, message.split].contains(&Some(true))
        && message.replica_id.unwrap_or(0) == 0;
    // A file written by HBase, or an older version of this program, has no number.
    (!is_plain || message.number.is_some_and(|number| number != region.number))
        .then(|| "it differs from the manifest".into())
}

/// Entry with the name of a file or directory of the store, with its actual and expected kinds.
#[derive(Clone, Debug)]
pub(super) struct UnexpectedEntry {
    pub(super) path: String,
    pub(super) actual: String,
    pub(super) expected: &'static str,
}

/// Returns the entries of the wrong kind with names of the store's files and directories. `catalog`
/// lists the tables.
///
/// # Errors
/// The file system's error.
pub(super) fn unexpected_entries(env: &Env, catalog: &Catalog) -> Result<Vec<UnexpectedEntry>> {
    let mut odd = Vec::new();
    let directories = [
        layout::HALITE,
        layout::MANIFESTS,
        layout::DATA,
        layout::ARCHIVE,
        wal::DIRECTORY,
        quarantine::QUARANTINE,
    ]
    .map(str::to_owned);
    for path in directories.into_iter().chain(directories_of(catalog)) {
        odd.extend(not_a_directory(env, path)?);
    }
    for path in [layout::MANIFEST, layout::MANIFEST_TEMPORARY, layout::ID, layout::VERSION] {
        odd.extend(in_place_of_a_file(env, path.to_owned())?);
    }
    for (path, _) in History::list(env).unwrap_or_default().unexpected {
        odd.extend(in_place_of_a_file(env, path)?);
    }
    for table in catalog.tables.values() {
        odd.extend(in_place_of_a_file(
            env,
            table_info::file_of(&table.descriptor, table.version).0,
        )?);
        for region in &table.regions {
            odd.extend(in_place_of_a_file(
                env,
                format!(
                    "{}/.regioninfo",
                    layout::region_directory(&region.info.table, &region.info.encoded_name)
                ),
            )?);
        }
    }
    Ok(odd)
}

/// Returns the directories of namespaces, tables, regions and families, parents before children.
pub(super) fn directories_of(catalog: &Catalog) -> Vec<String> {
    let mut paths: Vec<String> = catalog
        .namespaces
        .keys()
        .map(|namespace| format!("{}/{namespace}", layout::DATA))
        .collect();
    for (name, table) in &catalog.tables {
        let directory = layout::table_directory(name);
        paths.extend([directory.clone(), format!("{directory}/.tabledesc")]);
        for region in &table.regions {
            let encoded = &region.info.encoded_name;
            paths.extend([
                layout::region_directory(name, encoded),
                layout::temporary_directory(name, encoded),
            ]);
            paths.extend(
                table
                    .descriptor
                    .families()
                    .map(|family| layout::family_directory(name, encoded, family.name())),
            );
        }
    }
    paths
}

/// Returns an entry that is not a directory. A link to a directory elsewhere is accepted.
fn not_a_directory(env: &Env, path: String) -> Result<Option<UnexpectedEntry>> {
    let is = match kind(env, &path)? {
        Some(FileKind::Link) if !env.fs.exists(&path).unwrap_or(false) => {
            "a symbolic link without a target".to_owned()
        }
        Some(FileKind::Link) if env.fs.list(&path).is_err() => {
            "a symbolic link to something other than a directory".to_owned()
        }
        None | Some(FileKind::Directory | FileKind::Link) => return Ok(None),
        Some(kind) => kind.to_string(),
    };
    Ok(Some(UnexpectedEntry { path, actual: is, expected: "a directory" }))
}

/// Returns an entry that is neither a file nor a link to one.
///
/// # Errors
/// The file system's error.
pub(super) fn in_place_of_a_file(env: &Env, path: String) -> Result<Option<UnexpectedEntry>> {
    Ok(match read_small_file(env, &path)? {
        SmallFile::NotAFile(is) => Some(UnexpectedEntry { path, actual: is, expected: "a file" }),
        SmallFile::Missing | SmallFile::Bytes(_) => None,
    })
}

/// Result of reading a small file.
pub(super) enum SmallFile {
    Missing,
    /// Something other than a file, with its description.
    NotAFile(String),
    Bytes(Vec<u8>),
}

impl SmallFile {
    /// Returns the bytes; empty if there is no file.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        if let Self::Bytes(bytes) = self { bytes } else { Vec::new() }
    }
}

/// Reads a small file, or describes an entry of another kind.
///
/// # Errors
/// The file system's error.
pub(super) fn read_small_file(env: &Env, path: &str) -> Result<SmallFile> {
    let kind = kind(env, path)?;
    if let Some(kind @ (FileKind::Directory | FileKind::Other(_))) = kind {
        return Ok(SmallFile::NotAFile(kind.to_string()));
    }
    match small_file(env, path) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            Ok(SmallFile::NotAFile("a symbolic link to something other than a file".into()))
        }
        Ok(None) if kind == Some(FileKind::Link) => {
            Ok(SmallFile::NotAFile("a symbolic link without a target".into()))
        }
        read => Ok(read?.map_or(SmallFile::Missing, SmallFile::Bytes)),
    }
}

/// Returns the kind of an entry, without following a link.
///
/// # Errors
/// The file system's error.
pub(super) fn kind(env: &Env, path: &str) -> Result<Option<FileKind>> {
    env.fs
        .kind(path)
        .map_err(|error| Error::io(format!("checking for {}/{path}", env.fs.root()), error))
}

/// Returns paths with names that are not UTF-8, in directories that other checks do not examine.
pub(super) fn nameless(env: &Env) -> Vec<String> {
    let places = [
        "",
        layout::HALITE,
        layout::MANIFESTS,
        layout::ARCHIVE,
        quarantine::QUARANTINE,
        layout::STAGING,
    ];
    let of = |place: &str| {
        let entries = if env.fs.exists(place).unwrap_or(false) {
            list(env, place).unwrap_or_default()
        } else {
            Vec::new()
        };
        let odd = entries
            .into_iter()
            .filter(|entry| entry.unexpected.is_some_and(|what| what.contains("UTF-8")));
        let shown = |name: String| if place.is_empty() { name } else { format!("{place}/{name}") };
        odd.map(|entry| shown(entry.name)).collect::<Vec<_>>()
    };
    places.into_iter().flat_map(of).collect()
}
