//! What lies beside the manifest, the log and the store files: the small files in which HBase finds what the manifest says, and what has
//! the name of a file or directory of the store and is neither.

use halite_types::{Error, ErrorKind, Result};
use prost::Message as _;

use crate::catalog::history::History;
use crate::catalog::messages::{OneString, PBUF, RegionInfoMessage, TableSchema, region_info_file};
use crate::catalog::{Catalog, RegionEntry, TableEntry, layout};
use crate::engine::directory::{id_file, list, list_if_there, small_file, store_id_in, version_file};
use crate::engine::{quarantine, table_info};
use crate::env::{Env, Kind};
use crate::wal;

/// A small file that does not say what the manifest does.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) path: String,
    pub(super) why: String,
    /// What it should say.
    pub(super) bytes: Vec<u8>,
}

/// What is wrong with all small files.
///
/// # Errors
/// The file system's.
pub(super) fn faults(env: &Env, catalog: &Catalog) -> Result<Vec<Fault>> {
    let mut faults = identity(env, Some(catalog.store_id))?;
    for table in catalog.tables.values() {
        let (path, bytes) = table_info::file_of(&table.descriptor, table.version);
        faults.extend(fault(env, path, bytes, |found| table_fault(found, table))?);
        for region in &table.regions {
            let path = format!("{}/.regioninfo", layout::region_directory(&region.info.table, &region.info.encoded_name));
            let bytes = region_info_file(&region.info, region.number);
            faults.extend(fault(env, path, bytes, |found| region_fault(found, region))?);
        }
    }
    Ok(faults)
}

/// What is wrong with the files of the store itself. Without a `store_id` any is right.
///
/// # Errors
/// The file system's.
pub(super) fn identity(env: &Env, store_id: Option<[u8; 16]>) -> Result<Vec<Fault>> {
    let id = fault(env, layout::ID.into(), store_id.as_ref().map(id_file).unwrap_or_default(), |found| match store_id_in(found) {
        None => Some("it names no store".into()),
        Some(id) if store_id.is_some_and(|store_id| store_id != id) => Some("it names another store".into()),
        Some(_) => None,
    })?;
    let version = fault(env, layout::VERSION.into(), version_file(), |found| {
        let text = found.strip_prefix(PBUF).and_then(|body| OneString::decode(body).ok()).map(|message| message.text);
        (text.as_deref() != Some("8")).then(|| "it does not name the version 8".into())
    })?;
    Ok(id.into_iter().chain(version).collect())
}

fn fault(env: &Env, path: String, bytes: Vec<u8>, wrong: impl Fn(&[u8]) -> Option<String>) -> Result<Option<Fault>> {
    let why = match look(env, &path)? {
        Looked::Nothing => Some("it is missing".into()),
        Looked::Odd(what) => Some(format!("it is {what}")),
        Looked::Bytes(found) if found == bytes => None,
        Looked::Bytes(found) if found.is_empty() => Some("it is empty".into()),
        Looked::Bytes(found) => wrong(&found),
    };
    Ok(why.map(|why| Fault { path, why, bytes }))
}

/// What HBase, or a program that writes the messages in another way, would find wrong.
fn table_fault(found: &[u8], table: &TableEntry) -> Option<String> {
    let schema = found.strip_prefix(PBUF).and_then(|body| TableSchema::decode(body).ok());
    let Some(descriptor) = schema.and_then(|schema| schema.decode_descriptor().ok()) else { return Some("it describes no table".into()) };
    if descriptor.name() != table.descriptor.name() {
        return Some(format!("it describes the table {}", descriptor.name()));
    }
    // HBase holds the length against the one in the name.
    let is_as_long = || found.len() == table_info::file_of(&table.descriptor, table.version).1.len();
    (descriptor != *table.descriptor || !is_as_long()).then(|| "it does not say what the manifest does".into())
}

/// Descriptors with a higher number than the manifest's, which HBase would take for newer ones, with whether a change that a crash cut
/// short may have left them.
///
/// # Errors
/// The file system's.
pub(super) fn newer_descriptors(env: &Env, catalog: &Catalog) -> Result<Vec<(String, bool)>> {
    let mut newer = Vec::new();
    for (name, table) in &catalog.tables {
        let directory = format!("{}/.tabledesc", layout::table_directory(name));
        for entry in list_if_there(env, &directory)? {
            if let Some(version) = table_info::version_of(&entry.name).filter(|version| *version > table.version) {
                let path = format!("{directory}/{}", entry.name);
                let bytes = look(env, &path)?.into_bytes();
                let schema = bytes.strip_prefix(PBUF).and_then(|body| TableSchema::decode(body).ok());
                let is_of_table = schema.and_then(|schema| schema.decode_descriptor().ok()).is_some_and(|descriptor| descriptor.name() == name);
                newer.push((path, version == table.version + 1 && is_of_table));
            }
        }
    }
    Ok(newer)
}

fn region_fault(found: &[u8], region: &RegionEntry) -> Option<String> {
    let body = found.strip_prefix(PBUF);
    let Some(message) = body.and_then(|body| RegionInfoMessage::decode_length_delimited(body).ok()) else {
        return Some("it describes no region".into());
    };
    let Ok(table) = message.table_name.decode_name() else { return Some("it names no table".into()) };
    let (start, end) = (message.start_key.unwrap_or_default(), message.end_key.unwrap_or_default());
    let found = layout::new_region(&table, start.into(), end.into(), message.region_id);
    if found.encoded_name != region.info.encoded_name || found.end != region.info.end {
        return Some(format!("it describes the region {}", found.display_name()));
    }
    let is_plain = ![message.offline, message.split].contains(&Some(true)) && message.replica_id.unwrap_or(0) == 0;
    // One that was written by HBase, or an older version of this program, has no number.
    (!is_plain || message.number.is_some_and(|number| number != region.number)).then(|| "it does not say what the manifest does".into())
}

/// Something that has the name of a file or directory of the store, with what it is and what it should be.
#[derive(Clone, Debug)]
pub(super) struct Odd {
    pub(super) path: String,
    pub(super) is: String,
    pub(super) wants: &'static str,
}

/// What stands where files of the store belong and is no file, and where directories belong and is none. `catalog` tells of tables.
///
/// # Errors
/// The file system's.
pub(super) fn odd(env: &Env, catalog: &Catalog) -> Result<Vec<Odd>> {
    let mut odd = Vec::new();
    let directories = [layout::HALITE, layout::MANIFESTS, layout::DATA, layout::ARCHIVE, wal::DIRECTORY, quarantine::QUARANTINE].map(str::to_owned);
    for path in directories.into_iter().chain(directories_of(catalog)) {
        odd.extend(not_a_directory(env, path)?);
    }
    for path in [layout::MANIFEST, layout::MANIFEST_TEMPORARY, layout::ID, layout::VERSION] {
        odd.extend(in_place_of_a_file(env, path.to_owned())?);
    }
    for (path, _) in History::list(env).unwrap_or_default().odd {
        odd.extend(in_place_of_a_file(env, path)?);
    }
    for table in catalog.tables.values() {
        odd.extend(in_place_of_a_file(env, table_info::file_of(&table.descriptor, table.version).0)?);
        for region in &table.regions {
            odd.extend(in_place_of_a_file(env, format!("{}/.regioninfo", layout::region_directory(&region.info.table, &region.info.encoded_name)))?);
        }
    }
    Ok(odd)
}

/// The directories of namespaces, tables, regions and families, those above before those below.
pub(super) fn directories_of(catalog: &Catalog) -> Vec<String> {
    let mut paths: Vec<String> = catalog.namespaces.keys().map(|namespace| format!("{}/{namespace}", layout::DATA)).collect();
    for (name, table) in &catalog.tables {
        let directory = layout::table_directory(name);
        paths.extend([directory.clone(), format!("{directory}/.tabledesc")]);
        for region in &table.regions {
            let encoded = &region.info.encoded_name;
            paths.extend([layout::region_directory(name, encoded), layout::temporary_directory(name, encoded)]);
            paths.extend(table.descriptor.families().map(|family| layout::family_directory(name, encoded, family.name())));
        }
    }
    paths
}

/// A directory may lie elsewhere, with a link to it in its place.
fn not_a_directory(env: &Env, path: String) -> Result<Option<Odd>> {
    let is = match kind(env, &path)? {
        Some(Kind::Link) if !env.fs.exists(&path).unwrap_or(false) => "a symbolic link that leads nowhere".to_owned(),
        Some(Kind::Link) if env.fs.list(&path).is_err() => "a symbolic link to no directory".to_owned(),
        None | Some(Kind::Directory | Kind::Link) => return Ok(None),
        Some(kind) => kind.to_string(),
    };
    Ok(Some(Odd { path, is, wants: "a directory" }))
}

/// What is in the place of a file and is neither a file nor a link to one.
///
/// # Errors
/// The file system's.
pub(super) fn in_place_of_a_file(env: &Env, path: String) -> Result<Option<Odd>> {
    Ok(match look(env, &path)? {
        Looked::Odd(is) => Some(Odd { path, is, wants: "a file" }),
        Looked::Nothing | Looked::Bytes(_) => None,
    })
}

/// What a look at a small file has shown.
pub(super) enum Looked {
    Nothing,
    /// What else has its name.
    Odd(String),
    Bytes(Vec<u8>),
}

impl Looked {
    /// The bytes; none of what is not there.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        if let Self::Bytes(bytes) = self { bytes } else { Vec::new() }
    }
}

/// Reads a small file, or says what stands in its place.
///
/// # Errors
/// The file system's.
pub(super) fn look(env: &Env, path: &str) -> Result<Looked> {
    let kind = kind(env, path)?;
    if let Some(kind @ (Kind::Directory | Kind::Other(_))) = kind {
        return Ok(Looked::Odd(kind.to_string()));
    }
    match small_file(env, path) {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Looked::Odd("a symbolic link to no file".into())),
        Ok(None) if kind == Some(Kind::Link) => Ok(Looked::Odd("a symbolic link that leads nowhere".into())),
        read => Ok(read?.map_or(Looked::Nothing, Looked::Bytes)),
    }
}

/// What has a name, without following a link.
///
/// # Errors
/// The file system's.
pub(super) fn kind(env: &Env, path: &str) -> Result<Option<Kind>> {
    env.fs.kind(path).map_err(|error| Error::io(format!("looking for {}/{path}", env.fs.root()), error))
}

/// Names that are not UTF-8, with their directories, in those that are not looked at for other reasons.
pub(super) fn nameless(env: &Env) -> Vec<String> {
    let places = ["", layout::HALITE, layout::MANIFESTS, layout::ARCHIVE, quarantine::QUARANTINE, layout::STAGING];
    let of = |place: &str| {
        let entries = if env.fs.exists(place).unwrap_or(false) { list(env, place).unwrap_or_default() } else { Vec::new() };
        let odd = entries.into_iter().filter(|entry| entry.odd.is_some_and(|what| what.contains("UTF-8")));
        let shown = |name: String| if place.is_empty() { name } else { format!("{place}/{name}") };
        odd.map(|entry| shown(entry.name)).collect::<Vec<_>>()
    };
    places.into_iter().flat_map(of).collect()
}
