//! Classification of a directory before anything in it is created, changed or removed: a store,
//! empty, or something else.

use std::io;

use halite_types::{Error, Result};
use prost::Message as _;

use crate::catalog::layout;
use crate::catalog::manifest::read_whole;
use crate::catalog::messages::{OneString, PBUF, pbuf};
use crate::env::{DirEntry, Env, Fs, is_not_a_file, list};
use crate::wal;

/// Content of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectoryContent {
    /// A store: the directory has a manifest.
    Store,
    /// Nothing, or the remains of an interrupted creation: a store may be created.
    Nothing,
}

/// Examines the root without changing anything.
///
/// # Errors
/// `InvalidRequest` for a directory that is something else, `Corrupt` for a store without its
/// manifest, or the file system's error.
pub(crate) fn examine(env: &Env) -> Result<DirectoryContent> {
    let root = env.fs.root();
    let exists = |path: &str| {
        env.fs.exists(path).map_err(|error| Error::io(format!("looking for {root}/{path}"), error))
    };
    if exists(layout::MANIFEST)? {
        return Ok(DirectoryContent::Store);
    }
    let entries = list(env, "")?;
    if entries.is_empty() {
        return Ok(DirectoryContent::Nothing);
    }
    let has = |name: &str| entries.iter().any(|entry| entry.name == name && entry.is_dir);
    // Creation makes this directory, durably, before anything else: without it nothing here was
    // made by a creation.
    if !has(layout::HALITE) {
        return Err(foreign(&root, &entries, has(layout::DATA) || has(layout::MANIFESTS)));
    }
    match first_beyond_a_creation(env, &entries)? {
        None => Ok(DirectoryContent::Nothing),
        Some(path) => {
            let text = format!(
                "{root} holds {path} but no manifest ({}): this may be a store that has lost it; \
                 nothing has been changed; restore the manifest from a copy, or run \"halite check \
                 {root}\" and \"halite repair {root}\"",
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
            "{root} holds {name} but no {}/: this is a root directory of HBase, or a store that \
             has lost that directory; nothing has been changed; run \"halite import {root}\" for \
             HBase's tables, with an empty or new directory for the store; of a store, restore {}/ \
             from a copy, or run \"halite repair {root}\"",
            layout::HALITE,
            layout::HALITE
        ));
    }
    Error::invalid(format!(
        "{root} is not a store and not empty (it holds {name}); nothing has been changed; give an \
         empty or new directory, such as one in it"
    ))
}

/// Returns the first entry that an interrupted creation of a store does not leave.
fn first_beyond_a_creation(env: &Env, entries: &[DirEntry]) -> Result<Option<String>> {
    for entry in entries {
        let beyond = match (entry.name.as_str(), entry.is_dir) {
            ("hbase.id" | "hbase.version", false) => None,
            (layout::HALITE, true) => {
                first_of(env, layout::HALITE, |inner| match (inner.name.as_str(), inner.is_dir) {
                    ("LOCK" | "MANIFEST.tmp", false) => Some(false),
                    ("wal", true) => Some(true),
                    _ => None,
                })?
            }
            (layout::DATA, true) => first_of(env, layout::DATA, |inner| {
                (inner.is_dir && matches!(&*inner.name, "default" | "hbase")).then_some(true)
            })?,
            (name, _) => Some(name.to_owned()),
        };
        if beyond.is_some() {
            return Ok(beyond);
        }
    }
    Ok(None)
}

/// Returns the first entry of a directory that is not `known`, or that is known as an empty
/// directory and is not empty.
fn first_of(
    env: &Env,
    directory: &str,
    known: impl Fn(&DirEntry) -> Option<bool>,
) -> Result<Option<String>> {
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

/// Checks that the manifest belongs to the store that `hbase.id` names. A missing or unreadable
/// `hbase.id` is accepted.
///
/// # Errors
/// `Corrupt` if it belongs to another store, or the file system's error.
pub(crate) fn check_identity(env: &Env, store_id: [u8; 16]) -> Result<()> {
    match named_store(env)? {
        Some(named) if named != store_id => {
            let (root, ids) =
                (env.fs.root(), (layout::uuid_text(&store_id), layout::uuid_text(&named)));
            Err(Error::corrupt(format!(
                "manifest {root}/{} belongs to another store, {}, and hbase.id says {}; nothing \
                 has been changed; put its own manifest back, or run \"halite repair {root}\"",
                layout::MANIFEST,
                ids.0,
                ids.1
            )))
        }
        _ => Ok(()),
    }
}

/// Returns the store id in `hbase.id`; `None` if the file is missing or not in the format that a
/// store writes.
///
/// # Errors
/// As [`small_file`].
pub(crate) fn named_store(env: &Env) -> Result<Option<[u8; 16]>> {
    Ok(small_file(env, layout::ID)?.and_then(|bytes| store_id_in(&bytes)))
}

/// Returns the content of `hbase.id`.
pub(crate) fn id_file(store_id: &[u8; 16]) -> Vec<u8> {
    pbuf(&OneString { text: layout::uuid_text(store_id) })
}

/// Returns the content of `hbase.version`.
pub(crate) fn version_file() -> Vec<u8> {
    pbuf(&OneString { text: "8".into() })
}

/// Returns the store id in the content of `hbase.id`.
pub(crate) fn store_id_in(bytes: &[u8]) -> Option<[u8; 16]> {
    let text = bytes
        .strip_prefix(PBUF)
        .and_then(|body| OneString::decode(body).ok())
        .map(|message| message.text)
        .unwrap_or_default();
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let id: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    id?.try_into().ok()
}

/// Returns the content of a file that fits into memory; `None` if it does not exist.
///
/// # Errors
/// `Corrupt` if the name belongs to something other than a file, or the file system's error.
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

/// Returns the directories that users other than the owner may enter, if they may enter the root.
pub(crate) fn exposed(env: &Env) -> Vec<String> {
    let is_exposed = |path: &&str| env.fs.is_private(path).is_ok_and(|is_private| !is_private);
    if !is_exposed(&"") {
        return Vec::new();
    }
    let ours = [layout::HALITE, layout::DATA, layout::MANIFESTS, layout::ARCHIVE, layout::STAGING];
    ours.into_iter().filter(is_exposed).map(str::to_owned).collect()
}

/// Creates, durably, the first entries of a new store. From here on an interrupted creation is
/// recognized.
pub(crate) fn begin_creation(env: &Env) -> Result<()> {
    for directory in [layout::HALITE, ""] {
        env.fs
            .sync_dir(directory)
            .map_err(|error| Error::io(format!("creating a store in {}", env.fs.root()), error))?;
    }
    env.fs.create_dir_all(wal::DIRECTORY).map_err(|error| {
        Error::io(format!("making directory {}/{}", env.fs.root(), wal::DIRECTORY), error)
    })
}

/// Removes a directory with its contents; stops early once `is_closing` returns `true`.
///
/// # Errors
/// The file system's error.
pub(super) fn remove_tree(
    fs: &dyn Fs,
    directory: &str,
    is_closing: &dyn Fn() -> bool,
) -> io::Result<()> {
    for entry in fs.list(directory)? {
        if is_closing() {
            return Ok(());
        }
        let path = format!("{directory}/{}", entry.name);
        // A link to a directory is removed like a file; its target stays.
        match fs.remove_file(&path) {
            Err(_) if entry.is_dir => remove_tree(fs, &path, is_closing)?,
            removed => removed?,
        }
    }
    if is_closing() { Ok(()) } else { fs.remove_dir(directory) }
}
