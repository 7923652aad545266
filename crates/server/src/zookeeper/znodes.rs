//! Client-created znodes below the parent, stored in the settings of the store, so they are as
//! durable as tables.
//!
//! ```text
//! znode/PATH        version (4 bytes), created, changed (8 bytes each, milliseconds since 1970),
//!                   data
//! znode-sequence    next number for a sequential name (4 bytes)
//! ```
//! The server's own znodes are computed (`znode_tree.rs`) and cannot be changed. No znode ends with
//! its session: ephemeral znodes are rejected. Watches never fire; see `docs/serve.md`.

use std::collections::BTreeMap;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use halite_types::Result as StoreResult;
use halite_wire::zk::ErrorCode;

use super::znode_tree::ZnodeTree;

const PREFIX: &str = "znode/";
const SEQUENCE: &str = "znode-sequence";
/// Limits on stored znodes. They are small because every change rewrites all settings.
const MAX_ZNODES: usize = 1_000;
const MAX_TOTAL_BYTES: usize = 256 << 10;
const MAX_PATH_BYTES: usize = 1_024;

/// Flags of a new persistent znode, and of a persistent sequential one.
const PERSISTENT: i32 = 0;
const PERSISTENT_SEQUENTIAL: i32 = 2;

type Properties = BTreeMap<String, Bytes>;

/// Client-created znode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredZnode {
    /// Number of changes of its data.
    pub(super) version: i32,
    pub(super) created_ms: i64,
    pub(super) changed_ms: i64,
    pub(super) data: Bytes,
}

impl StoredZnode {
    fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(20 + self.data.len());
        out.put_i32(self.version);
        out.put_i64(self.created_ms);
        out.put_i64(self.changed_ms);
        out.put_slice(&self.data);
        out.freeze()
    }

    fn decode(mut bytes: Bytes) -> Option<Self> {
        let (version, created_ms, changed_ms) =
            (bytes.try_get_i32().ok()?, bytes.try_get_i64().ok()?, bytes.try_get_i64().ok()?);
        Some(Self { version, created_ms, changed_ms, data: bytes })
    }
}

fn key(path: &str) -> String {
    format!("{PREFIX}{}", path.trim_start_matches('/'))
}

/// Returns the key prefix of the znodes below a path.
fn below(path: &str) -> String {
    format!("{}/", key(path))
}

impl ZnodeTree<'_> {
    /// Returns the client-created znode at a path.
    pub(super) fn stored(&self, path: &str) -> Option<StoredZnode> {
        self.context.engine.property(&key(path)).and_then(StoredZnode::decode)
    }

    /// Returns the names of the client-created znodes directly below a path.
    pub(super) fn stored_below(&self, path: &str) -> impl Iterator<Item = String> {
        let prefix = below(path);
        let found = self.context.engine.properties(&prefix).into_iter();
        found.filter_map(move |(key, _)| {
            key.strip_prefix(&prefix).filter(|name| !name.contains('/')).map(str::to_owned)
        })
    }

    /// Returns the paths of all client-created znodes.
    pub(super) fn stored_paths(&self) -> impl Iterator<Item = String> {
        self.context
            .engine
            .properties(PREFIX)
            .into_iter()
            .filter_map(|(key, _)| key.strip_prefix(PREFIX).map(|path| format!("/{path}")))
    }

    /// Creates a znode and returns its path. Waits for the disk, like the other changes.
    ///
    /// # Errors
    /// ZooKeeper's.
    pub(super) fn create(&self, path: &str, data: &Bytes, flags: i32) -> Result<String, ErrorCode> {
        if flags != PERSISTENT && flags != PERSISTENT_SEQUENTIAL {
            return Err(ErrorCode::UNIMPLEMENTED);
        }
        // The name of a sequential znode may be empty before its number.
        let numbered = flags == PERSISTENT_SEQUENTIAL;
        check_path(path.strip_suffix('/').filter(|_| numbered).unwrap_or(path))?;
        let (parent, _) = path.rsplit_once('/').ok_or(ErrorCode::BAD_ARGUMENTS)?;
        if !numbered && self.node(path).is_some() {
            return Err(ErrorCode::NODE_EXISTS);
        }
        if !is_within(path, &self.context.config.znode_parent) {
            return Err(ErrorCode::NOT_READ_ONLY);
        }
        let above = self.node(parent).ok_or(ErrorCode::NO_NODE)?;
        if above.is_ephemeral {
            return Err(ErrorCode::NO_CHILDREN_FOR_EPHEMERALS);
        }
        let now = i64::try_from(self.context.engine.now_ms()).unwrap_or(i64::MAX);
        let made = StoredZnode { version: 0, created_ms: now, changed_ms: now, data: data.clone() };
        self.change(|settings| {
            let path = if numbered {
                format!("{path}{:010}", take_number(settings))
            } else {
                path.to_owned()
            };
            if settings.contains_key(&key(&path)) || self.is_own(&path) {
                return Err(ErrorCode::NODE_EXISTS);
            }
            // Its parent may have been deleted concurrently.
            if !self.is_own(parent) && !settings.contains_key(&key(parent)) {
                return Err(ErrorCode::NO_NODE);
            }
            settings.insert(key(&path), made.encode());
            Ok(path)
        })
    }

    /// Deletes a client-created znode.
    pub(super) fn delete(&self, path: &str, version: i32) -> Result<(), ErrorCode> {
        self.check_may_change(path)?;
        self.change(|settings| {
            expect_version(settings, path, version)?;
            let prefix = below(path);
            if settings.keys().any(|key| key.starts_with(&prefix)) {
                return Err(ErrorCode::NOT_EMPTY);
            }
            settings.remove(&key(path));
            Ok(())
        })
    }

    /// Sets the data of a client-created znode.
    pub(super) fn set_data(&self, path: &str, data: &Bytes, version: i32) -> Result<(), ErrorCode> {
        self.check_may_change(path)?;
        self.change(|settings| {
            let before = expect_version(settings, path, version)?;
            let changed_ms = i64::try_from(self.context.engine.now_ms()).unwrap_or(i64::MAX);
            let made = StoredZnode {
                version: before.version.wrapping_add(1),
                changed_ms,
                data: data.clone(),
                ..before
            };
            settings.insert(key(path), made.encode());
            Ok(())
        })
    }

    fn check_may_change(&self, path: &str) -> Result<(), ErrorCode> {
        if self.is_own(path) {
            return Err(ErrorCode::NOT_READ_ONLY);
        }
        self.stored(path).map(drop).ok_or(ErrorCode::NO_NODE)
    }

    /// Changes the settings, unless `change` fails or a limit would be exceeded.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Properties) -> Result<T, ErrorCode>,
    ) -> Result<T, ErrorCode> {
        let mut refused = None;
        let changed: StoreResult<T> = self.context.engine.update_properties(|settings| {
            let done = change(settings).and_then(|done| check_room(settings).map(|()| done));
            // The error is used in this function only; it must fail so that nothing is written.
            done.map_err(|code| {
                refused = Some(code);
                halite_types::Error::invalid("a change of a znode was refused")
            })
        });
        changed.map_err(|error| {
            refused.unwrap_or_else(|| {
                tracing::warn!("a znode could not be changed: {error}");
                ErrorCode::SYSTEM_ERROR
            })
        })
    }
}

fn is_within(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|below| below.len() > 1 && below.starts_with('/'))
}

fn check_path(path: &str) -> Result<(), ErrorCode> {
    let names = path.strip_prefix('/').ok_or(ErrorCode::BAD_ARGUMENTS)?;
    let is_legal =
        |name: &str| !matches!(name, "" | "." | "..") && !name.chars().any(char::is_control);
    if path.len() <= MAX_PATH_BYTES && names.split('/').all(is_legal) {
        Ok(())
    } else {
        Err(ErrorCode::BAD_ARGUMENTS)
    }
}

fn expect_version(
    settings: &Properties,
    path: &str,
    version: i32,
) -> Result<StoredZnode, ErrorCode> {
    let made = settings
        .get(&key(path))
        .cloned()
        .and_then(StoredZnode::decode)
        .ok_or(ErrorCode::NO_NODE)?;
    if version == -1 || version == made.version { Ok(made) } else { Err(ErrorCode::BAD_VERSION) }
}

fn take_number(settings: &mut Properties) -> i32 {
    let next =
        settings.get(SEQUENCE).and_then(|bytes| bytes.clone().try_get_i32().ok()).unwrap_or(0);
    settings
        .insert(SEQUENCE.to_owned(), Bytes::copy_from_slice(&next.wrapping_add(1).to_be_bytes()));
    next
}

fn check_room(settings: &Properties) -> Result<(), ErrorCode> {
    let made = || settings.iter().filter(|(key, _)| key.starts_with(PREFIX));
    let bytes: usize = made().map(|(key, value)| key.len() + value.len()).sum();
    if made().count() <= MAX_ZNODES && bytes <= MAX_TOTAL_BYTES {
        Ok(())
    } else {
        Err(ErrorCode::QUOTA_EXCEEDED)
    }
}
