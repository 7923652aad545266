//! What a directory is before anything in it is created, changed or removed: a store, empty, or something else.

use std::io;

use halite_types::{Error, Result};
use prost::Message as _;

use crate::catalog::layout;
use crate::catalog::manifest::read_whole;
use crate::catalog::messages::{OneString, PBUF, pbuf};
use crate::env::{DirEntry, Env, Fs, is_not_a_file};
use crate::wal;

/// What is in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A store: it has a manifest.
    Store,
    /// Nothing, or what a creation that was cut short has left: a store may be created.
    Nothing,
}

/// Examines the root, and changes nothing.
///
/// # Errors
/// `InvalidRequest` for a directory that is something else, `Corrupt` for a store without its manifest, or the file system's.
pub(crate) fn examine(env: &Env) -> Result<Found> {
    let root = env.fs.root();
    let exists = |path: &str| env.fs.exists(path).map_err(|error| Error::io(format!("looking for {root}/{path}"), error));
    if exists(layout::MANIFEST)? {
        return Ok(Found::Store);
    }
    let entries = list(env, "")?;
    if entries.is_empty() {
        return Ok(Found::Nothing);
    }
    let has = |name: &str| entries.iter().any(|entry| entry.name == name && entry.is_dir);
    // It is made, and durable, before anything else is: without it nothing here was made by a creation.
    if !has(layout::HALITE) {
        return Err(foreign(&root, &entries, has(layout::DATA) || has(layout::MANIFESTS)));
    }
    match first_beyond_a_creation(env, &entries)? {
        None => Ok(Found::Nothing),
        Some(path) => {
            let text = format!(
                "{root} holds {path} but no manifest ({}): this may be a store that has lost it; nothing has been changed; restore the manifest \
                 from a copy, or run \"halite check {root}\" and \"halite repair {root}\"",
                layout::MANIFEST
            );
            Err(Error::corrupt(text))
        }
    }
}

fn foreign(root: &str, entries: &[DirEntry], has_data: bool) -> Error {
    let name = entries.first().map_or("", |entry| &entry.name);
    if has_data {
        return Error::invalid(format!(
            "{root} holds {name} but no {}/: this is a root directory of HBase, or a store that has lost that directory; nothing has been changed; \
             give an empty or new directory, restore {}/ from a copy, or run \"halite repair {root}\"",
            layout::HALITE,
            layout::HALITE
        ));
    }
    Error::invalid(format!(
        "{root} is not a store and not empty (it holds {name}); nothing has been changed; give an empty or new directory, such as one in it"
    ))
}

/// The first entry that an interrupted creation of a store does not leave behind.
fn first_beyond_a_creation(env: &Env, entries: &[DirEntry]) -> Result<Option<String>> {
    for entry in entries {
        let beyond = match (entry.name.as_str(), entry.is_dir) {
            ("hbase.id" | "hbase.version", false) => None,
            (layout::HALITE, true) => first_of(env, layout::HALITE, |inner| match (inner.name.as_str(), inner.is_dir) {
                ("LOCK" | "MANIFEST.tmp", false) => Some(false),
                ("wal", true) => Some(true),
                _ => None,
            })?,
            (layout::DATA, true) => {
                first_of(env, layout::DATA, |inner| (inner.is_dir && matches!(&*inner.name, "default" | "hbase")).then_some(true))?
            }
            (name, _) => Some(name.to_owned()),
        };
        if beyond.is_some() {
            return Ok(beyond);
        }
    }
    Ok(None)
}

/// The first entry of a directory that is not `known`, or is known as a directory that has to be empty and is not.
fn first_of(env: &Env, directory: &str, known: impl Fn(&DirEntry) -> Option<bool>) -> Result<Option<String>> {
    for entry in list(env, directory)? {
        let path = format!("{directory}/{}", entry.name);
        match known(&entry) {
            None => return Ok(Some(path)),
            Some(false) => {}
            Some(true) => {
                if let Some(inner) = list(env, &path)?.first() {
                    return Ok(Some(format!("{path}/{}", inner.name)));
                }
            }
        }
    }
    Ok(None)
}

/// Whether the manifest is that of the store that the directory is named after. A missing or unreadable `hbase.id` says nothing.
///
/// # Errors
/// `Corrupt` if it is another store's, or the file system's.
pub(crate) fn check_identity(env: &Env, store_id: [u8; 16]) -> Result<()> {
    match named_store(env)? {
        Some(named) if named != store_id => {
            let (root, ids) = (env.fs.root(), (layout::uuid_text(&store_id), layout::uuid_text(&named)));
            Err(Error::corrupt(format!(
                "manifest {root}/{} belongs to another store, {}, and hbase.id says {}; nothing has been changed; put its own manifest back, or run \
                 \"halite repair {root}\"",
                layout::MANIFEST,
                ids.0,
                ids.1
            )))
        }
        _ => Ok(()),
    }
}

/// The store's id in `hbase.id`; `None` if the file is missing or not as a store writes it.
///
/// # Errors
/// As [`small_file`].
pub(crate) fn named_store(env: &Env) -> Result<Option<[u8; 16]>> {
    Ok(small_file(env, layout::ID)?.and_then(|bytes| store_id_in(&bytes)))
}

/// The bytes of `hbase.id`.
pub(crate) fn id_file(store_id: &[u8; 16]) -> Vec<u8> {
    pbuf(&OneString { text: layout::uuid_text(store_id) })
}

/// The bytes of `hbase.version`.
pub(crate) fn version_file() -> Vec<u8> {
    pbuf(&OneString { text: "8".into() })
}

/// The store's id in the bytes of `hbase.id`.
pub(crate) fn store_id_in(bytes: &[u8]) -> Option<[u8; 16]> {
    let text = bytes.strip_prefix(PBUF).and_then(|body| OneString::decode(body).ok()).map(|message| message.text).unwrap_or_default();
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let id: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    id?.try_into().ok()
}

/// The bytes of a file that fits into memory; `None` if it is not there.
///
/// # Errors
/// `Corrupt` if something other than a file has its name, or the file system's.
pub(crate) fn small_file(env: &Env, path: &str) -> Result<Option<Vec<u8>>> {
    let failed = |error| {
        let is_damage = is_not_a_file(&error);
        let error = Error::io(format!("reading {}/{path}", env.fs.root()), error);
        if is_damage { Error::corrupt(error.message()) } else { error }
    };
    if !env.fs.exists(path).map_err(failed)? {
        return Ok(None);
    }
    env.fs.open(path).and_then(|file| read_whole(&*file)).map(Some).map_err(failed)
}

/// The directories that others than the owner may enter, if they may enter the root.
pub(crate) fn exposed(env: &Env) -> Vec<String> {
    let is_exposed = |path: &&str| env.fs.is_private(path).is_ok_and(|is_private| !is_private);
    if !is_exposed(&"") {
        return Vec::new();
    }
    let ours = [layout::HALITE, layout::DATA, layout::MANIFESTS, layout::ARCHIVE, layout::STAGING];
    ours.into_iter().filter(is_exposed).map(str::to_owned).collect()
}

/// The entries of a directory.
pub(crate) fn list(env: &Env, path: &str) -> Result<Vec<DirEntry>> {
    env.fs.list(path).map_err(|error| Error::io(format!("listing {}/{path}", env.fs.root()), error))
}

/// The entries of a directory; none if it is not there, or no directory.
pub(crate) fn list_if_there(env: &Env, path: &str) -> Result<Vec<DirEntry>> {
    match env.fs.list(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        listed => listed.map_err(|error| Error::io(format!("listing {}/{path}", env.fs.root()), error)),
    }
}

/// Makes what comes before everything else in a new store, durably: from here on an interrupted creation is known for one.
pub(crate) fn begin_creation(env: &Env) -> Result<()> {
    for directory in [layout::HALITE, ""] {
        env.fs.sync_dir(directory).map_err(|error| Error::io(format!("creating a store in {}", env.fs.root()), error))?;
    }
    env.fs.create_dir_all(wal::DIRECTORY).map_err(|error| Error::io(format!("making directory {}/{}", env.fs.root(), wal::DIRECTORY), error))
}

/// Removes a directory with all that is in it, as far as it comes until `is_closing`.
///
/// # Errors
/// The file system's.
pub(super) fn remove_tree(fs: &dyn Fs, directory: &str, is_closing: &dyn Fn() -> bool) -> io::Result<()> {
    for entry in fs.list(directory)? {
        if is_closing() {
            return Ok(());
        }
        let path = format!("{directory}/{}", entry.name);
        // A link to a directory goes like a file; what it leads to stays.
        match fs.remove_file(&path) {
            Err(_) if entry.is_dir => remove_tree(fs, &path, is_closing)?,
            removed => removed?,
        }
    }
    if is_closing() { Ok(()) } else { fs.remove_dir(directory) }
}
