//! Name and type of a table snapshot.

use crate::error::{Error, Result};
use crate::schema::{SYSTEM_NAMESPACE, TableName, check_qualifier};

/// Maximum bytes of a snapshot name; on a local disk HBase creates a directory of this name.
const MAX_NAME_BYTES: usize = 255;

/// Snapshot type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SnapshotType {
    /// Memstores are flushed first, so the snapshot contains every write acknowledged before.
    #[default]
    Flush,
    /// The existing files only: the snapshot does not contain memstore data.
    SkipFlush,
    /// Snapshot of a disabled table, all of whose cells are in files. Every snapshot of a disabled
    /// table has this type; of an enabled table it is taken without a flush.
    Disabled,
}

impl SnapshotType {
    /// Returns HBase's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flush => "FLUSH",
            Self::SkipFlush => "SKIPFLUSH",
            Self::Disabled => "DISABLED",
        }
    }
}

/// Snapshot: a table's descriptor, regions and cells at one point in time, stored under a separate
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotDescriptor {
    /// Name; the snapshots of all tables share one namespace.
    pub name: String,
    /// Source table, which may no longer exist.
    pub table: TableName,
    /// Creation time in milliseconds since 1970; 0 in a request, where the store's clock applies.
    pub created_ms: i64,
    /// Snapshot type.
    pub kind: SnapshotType,
    /// Time to live from creation in seconds; 0 means no expiry.
    pub ttl_seconds: u64,
    /// `MAX_FILESIZE` of tables cloned from it, in bytes; 0 retains the source table's.
    pub max_file_bytes: u64,
    /// Creator; empty if not specified.
    pub owner: String,
}

/// Longer times do not fit in milliseconds and mean no expiry (HBase: `SnapshotDescriptionUtils`).
const MAX_TTL_SECONDS: u64 = (i64::MAX / 1000).unsigned_abs();

impl SnapshotDescriptor {
    /// Creates a snapshot of a table that flushes first and has no expiry.
    pub fn new(name: impl Into<String>, table: TableName) -> Self {
        Self {
            name: name.into(),
            table,
            created_ms: 0,
            kind: SnapshotType::default(),
            ttl_seconds: 0,
            max_file_bytes: 0,
            owner: String::new(),
        }
    }

    /// Sets the snapshot type.
    #[must_use]
    pub fn kind(mut self, kind: SnapshotType) -> Self {
        self.kind = kind;
        self
    }

    /// Sets the time to live in seconds; 0 means no expiry.
    #[must_use]
    pub fn ttl_seconds(mut self, seconds: u64) -> Self {
        self.ttl_seconds = seconds;
        self
    }

    /// Sets the store size in bytes at which regions of tables cloned from it split; 0 changes
    /// nothing.
    #[must_use]
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Sets the creator.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// Checks that a snapshot with this description can be requested.
    ///
    /// # Errors
    /// `InvalidRequest` for a name that is invalid as a table name or longer than 255 bytes
    /// (HBase's limit on local disks), or for a system table of HBase.
    pub fn check(&self) -> Result<()> {
        check_qualifier("snapshot", &self.name)?;
        if self.name.len() > MAX_NAME_BYTES {
            let bytes = self.name.len();
            return Err(Error::invalid(format!(
                "a snapshot name has {bytes} bytes; at most {MAX_NAME_BYTES} are allowed, choose a \
                 shorter one"
            )));
        }
        if self.table.namespace() == SYSTEM_NAMESPACE {
            let text = format!(
                "table {} is a system table of HBase and cannot be snapshotted; choose a user \
                 table",
                self.table
            );
            return Err(Error::invalid(text));
        }
        Ok(())
    }

    /// Returns `true` if its time to live has ended at `now_ms`.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        let ttl_ms = i64::try_from(self.ttl_seconds)
            .ok()
            .filter(|_| (1..MAX_TTL_SECONDS).contains(&self.ttl_seconds));
        ttl_ms.is_some_and(|seconds| {
            self.created_ms.saturating_add(seconds.saturating_mul(1000)) < now_ms
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn snapshot(name: &str, table: &str) -> SnapshotDescriptor {
        SnapshotDescriptor::new(name, table.parse().unwrap())
    }

    #[test]
    fn snapshot_names_follow_table_name_rules() {
        assert_eq!(snapshot("nightly_2024-01.b", "t").check(), Ok(()));
        for bad in ["", ".s", "-s", "a:b", "a b", "a/b"] {
            assert_eq!(
                snapshot(bad, "t").check().unwrap_err().kind(),
                ErrorKind::InvalidRequest,
                "{bad:?}"
            );
        }
        assert_eq!(
            snapshot("s", "hbase:meta").check().unwrap_err().kind(),
            ErrorKind::InvalidRequest
        );
    }

    #[test]
    fn snapshot_expires_after_ttl_and_0_never() {
        let taken = |ttl: u64| SnapshotDescriptor {
            created_ms: 5000,
            ..snapshot("s", "t").ttl_seconds(ttl)
        };
        assert!(!taken(2).is_expired(7000) && taken(2).is_expired(7001));
        assert!([0, MAX_TTL_SECONDS, u64::MAX].iter().all(|&ttl| !taken(ttl).is_expired(i64::MAX)));
    }
}
