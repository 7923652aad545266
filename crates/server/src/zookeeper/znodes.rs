//! Znodes that clients have made below the parent, kept among the settings of the store, so they are as durable as tables.
//!
//! ```text
//! znode/PATH        version (4 bytes), created, changed (8 bytes each, milliseconds since 1970), data
//! znode-sequence    the next number for a name that ends in one (4 bytes)
//! ```
//! Those of the server itself are not among them (`tree.rs`) and cannot be changed. None ends with its session, and no
//! watch fires: who needs either is refused, or told in `docs/serve.md`.

use std::collections::BTreeMap;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use halite_types::Result as StoreResult;
use halite_wire::zk::Code;

use super::tree::Tree;

const PREFIX: &str = "znode/";
const SEQUENCE: &str = "znode-sequence";
/// They are few and small, and the settings are written whole at every change.
const ZNODES_MAX: usize = 1_000;
const BYTES_MAX: usize = 256 << 10;
const PATH_BYTES_MAX: usize = 1_024;

/// `flags` of a new znode that stays, and of one whose name ends in a number.
const PERSISTENT: i32 = 0;
const PERSISTENT_SEQUENTIAL: i32 = 2;

type Settings = BTreeMap<String, Bytes>;

/// A znode that a client has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// How often its data was set.
    pub(super) version: i32,
    pub(super) created_ms: i64,
    pub(super) changed_ms: i64,
    pub(super) data: Bytes,
}

impl Made {
    fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(20 + self.data.len());
        out.put_i32(self.version);
        out.put_i64(self.created_ms);
        out.put_i64(self.changed_ms);
        out.put_slice(&self.data);
        out.freeze()
    }

    fn decode(mut bytes: Bytes) -> Option<Self> {
        let (version, created_ms, changed_ms) = (bytes.try_get_i32().ok()?, bytes.try_get_i64().ok()?, bytes.try_get_i64().ok()?);
        Some(Self { version, created_ms, changed_ms, data: bytes })
    }
}

fn key(path: &str) -> String {
    format!("{PREFIX}{}", path.trim_start_matches('/'))
}

/// The keys of what lies below a path.
fn below(path: &str) -> String {
    format!("{}/", key(path))
}

impl Tree<'_> {
    /// The znode of a path that a client has made.
    pub(super) fn made(&self, path: &str) -> Option<Made> {
        self.context.engine.setting(&key(path)).and_then(Made::decode)
    }

    /// The names of those directly below a path.
    pub(super) fn made_below(&self, path: &str) -> impl Iterator<Item = String> {
        let prefix = below(path);
        let found = self.context.engine.settings(&prefix).into_iter();
        found.filter_map(move |(key, _)| key.strip_prefix(&prefix).filter(|name| !name.contains('/')).map(str::to_owned))
    }

    /// The paths of all.
    pub(super) fn made_paths(&self) -> impl Iterator<Item = String> {
        self.context.engine.settings(PREFIX).into_iter().filter_map(|(key, _)| key.strip_prefix(PREFIX).map(|path| format!("/{path}")))
    }

    /// Makes a znode and gives its path. Waits for the disk; so do the others.
    ///
    /// # Errors
    /// ZooKeeper's.
    pub(super) fn create(&self, path: &str, data: &Bytes, flags: i32) -> Result<String, Code> {
        if flags != PERSISTENT && flags != PERSISTENT_SEQUENTIAL {
            return Err(Code::UNIMPLEMENTED);
        }
        // The name of one that gets a number may be empty before it.
        let numbered = flags == PERSISTENT_SEQUENTIAL;
        check_path(path.strip_suffix('/').filter(|_| numbered).unwrap_or(path))?;
        let (parent, _) = path.rsplit_once('/').ok_or(Code::BAD_ARGUMENTS)?;
        if !numbered && self.node(path).is_some() {
            return Err(Code::NODE_EXISTS);
        }
        if !is_within(path, &self.context.config.znode_parent) {
            return Err(Code::NOT_READ_ONLY);
        }
        let above = self.node(parent).ok_or(Code::NO_NODE)?;
        if above.is_ephemeral {
            return Err(Code::NO_CHILDREN_FOR_EPHEMERALS);
        }
        let now = i64::try_from(self.context.engine.now_ms()).unwrap_or(i64::MAX);
        let made = Made { version: 0, created_ms: now, changed_ms: now, data: data.clone() };
        self.change(|settings| {
            let path = if numbered { format!("{path}{:010}", take_number(settings)) } else { path.to_owned() };
            if settings.contains_key(&key(&path)) || self.is_own(&path) {
                return Err(Code::NODE_EXISTS);
            }
            // Its parent may have gone meanwhile.
            if !self.is_own(parent) && !settings.contains_key(&key(parent)) {
                return Err(Code::NO_NODE);
            }
            settings.insert(key(&path), made.encode());
            Ok(path)
        })
    }

    /// Takes a znode away that a client has made.
    pub(super) fn delete(&self, path: &str, version: i32) -> Result<(), Code> {
        self.check_may_change(path)?;
        self.change(|settings| {
            expect_version(settings, path, version)?;
            let prefix = below(path);
            if settings.keys().any(|key| key.starts_with(&prefix)) {
                return Err(Code::NOT_EMPTY);
            }
            settings.remove(&key(path));
            Ok(())
        })
    }

    /// Gives a znode other data that a client has made.
    pub(super) fn set_data(&self, path: &str, data: &Bytes, version: i32) -> Result<(), Code> {
        self.check_may_change(path)?;
        self.change(|settings| {
            let before = expect_version(settings, path, version)?;
            let changed_ms = i64::try_from(self.context.engine.now_ms()).unwrap_or(i64::MAX);
            let made = Made { version: before.version.wrapping_add(1), changed_ms, data: data.clone(), ..before };
            settings.insert(key(path), made.encode());
            Ok(())
        })
    }

    fn check_may_change(&self, path: &str) -> Result<(), Code> {
        if self.is_own(path) {
            return Err(Code::NOT_READ_ONLY);
        }
        self.made(path).map(drop).ok_or(Code::NO_NODE)
    }

    /// Changes the settings unless `change` refuses, or there would be too many.
    fn change<T>(&self, change: impl FnOnce(&mut Settings) -> Result<T, Code>) -> Result<T, Code> {
        let mut refused = None;
        let changed: StoreResult<T> = self.context.engine.change_settings(|settings| {
            let done = change(settings).and_then(|done| check_room(settings).map(|()| done));
            // What it says is for this function only; it has to fail so that nothing is written.
            done.map_err(|code| {
                refused = Some(code);
                halite_types::Error::invalid("a change of a znode was refused")
            })
        });
        changed.map_err(|error| {
            refused.unwrap_or_else(|| {
                tracing::warn!("a znode could not be changed: {error}");
                Code::SYSTEM_ERROR
            })
        })
    }
}

fn is_within(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|below| below.len() > 1 && below.starts_with('/'))
}

fn check_path(path: &str) -> Result<(), Code> {
    let names = path.strip_prefix('/').ok_or(Code::BAD_ARGUMENTS)?;
    let is_legal = |name: &str| !matches!(name, "" | "." | "..") && !name.chars().any(char::is_control);
    if path.len() <= PATH_BYTES_MAX && names.split('/').all(is_legal) { Ok(()) } else { Err(Code::BAD_ARGUMENTS) }
}

fn expect_version(settings: &Settings, path: &str, version: i32) -> Result<Made, Code> {
    let made = settings.get(&key(path)).cloned().and_then(Made::decode).ok_or(Code::NO_NODE)?;
    if version == -1 || version == made.version { Ok(made) } else { Err(Code::BAD_VERSION) }
}

fn take_number(settings: &mut Settings) -> i32 {
    let next = settings.get(SEQUENCE).and_then(|bytes| bytes.clone().try_get_i32().ok()).unwrap_or(0);
    settings.insert(SEQUENCE.to_owned(), Bytes::copy_from_slice(&next.wrapping_add(1).to_be_bytes()));
    next
}

fn check_room(settings: &Settings) -> Result<(), Code> {
    let made = || settings.iter().filter(|(key, _)| key.starts_with(PREFIX));
    let bytes: usize = made().map(|(key, value)| key.len() + value.len()).sum();
    if made().count() <= ZNODES_MAX && bytes <= BYTES_MAX { Ok(()) } else { Err(Code::QUOTA_EXCEEDED) }
}
