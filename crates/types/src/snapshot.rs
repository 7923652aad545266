//! What a snapshot of a table is called and how it was taken.

use crate::error::{Error, Result};
use crate::schema::{SYSTEM_NAMESPACE, TableName, check_qualifier};

/// Bytes of a snapshot's name; on a local disk HBase makes a directory of this name.
const NAME_BYTES_MAX: usize = 255;

/// How a snapshot is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SnapshotKind {
    /// What is in memory is written to files first, so every write acknowledged before is in it.
    #[default]
    Flush,
    /// The files as they are: what is in memory is not in it.
    SkipFlush,
    /// Of a disabled table, all of whose cells are in files: every snapshot of a disabled table becomes one. Of an enabled
    /// one it is taken without a flush.
    Disabled,
}

impl SnapshotKind {
    /// HBase's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flush => "FLUSH",
            Self::SkipFlush => "SKIPFLUSH",
            Self::Disabled => "DISABLED",
        }
    }
}

/// A snapshot: a table's descriptor, regions and cells at one moment, kept under a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotDescriptor {
    /// Its name; snapshots of all tables share one list of names.
    pub name: String,
    /// The table it was taken of, which may be gone since.
    pub table: TableName,
    /// When it was taken, in milliseconds since 1970; 0 in a request, where the store's clock counts.
    pub created_ms: i64,
    /// How it was taken.
    pub kind: SnapshotKind,
    /// How long it is kept from its creation on, in seconds; 0 is for ever.
    pub ttl_seconds: u64,
    /// `MAX_FILESIZE` of tables made from it, in bytes; 0 leaves them that of its table.
    pub max_file_bytes: u64,
    /// Who took it; empty if nobody said.
    pub owner: String,
}

/// More seconds than these do not fit into milliseconds and mean for ever (HBase: `SnapshotDescriptionUtils`).
const TTL_SECONDS_MAX: u64 = (i64::MAX / 1000).unsigned_abs();

impl SnapshotDescriptor {
    /// A snapshot of a table that flushes first and is kept for ever.
    pub fn new(name: impl Into<String>, table: TableName) -> Self {
        Self { name: name.into(), table, created_ms: 0, kind: SnapshotKind::default(), ttl_seconds: 0, max_file_bytes: 0, owner: String::new() }
    }

    /// Taken this way.
    #[must_use]
    pub fn kind(mut self, kind: SnapshotKind) -> Self {
        self.kind = kind;
        self
    }

    /// Kept for so many seconds; 0 is for ever.
    #[must_use]
    pub fn ttl_seconds(mut self, seconds: u64) -> Self {
        self.ttl_seconds = seconds;
        self
    }

    /// Regions of tables made from it split when a store has grown to so many bytes; 0 changes nothing.
    #[must_use]
    pub fn max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Taken by this user.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.owner = owner.into();
        self
    }

    /// Whether a snapshot of this description can be asked for.
    ///
    /// # Errors
    /// `InvalidRequest` for a name that no table could have or of more than 255 bytes, HBase's limit on local disks, or a table of HBase's own.
    pub fn check(&self) -> Result<()> {
        check_qualifier("snapshot", &self.name)?;
        if self.name.len() > NAME_BYTES_MAX {
            let bytes = self.name.len();
            return Err(Error::invalid(format!("a snapshot name has {bytes} bytes; at most {NAME_BYTES_MAX} are allowed, choose a shorter one")));
        }
        if self.table.namespace() == SYSTEM_NAMESPACE {
            let text = format!("table {} is HBase's own, and no snapshot is taken of such a table; name one of yours", self.table);
            return Err(Error::invalid(text));
        }
        Ok(())
    }

    /// Whether its time to live was over at `now_ms`.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        let ttl_ms = i64::try_from(self.ttl_seconds).ok().filter(|_| (1..TTL_SECONDS_MAX).contains(&self.ttl_seconds));
        ttl_ms.is_some_and(|seconds| self.created_ms.saturating_add(seconds.saturating_mul(1000)) < now_ms)
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
    fn names_are_those_a_table_could_have() {
        assert_eq!(snapshot("nightly_2024-01.b", "t").check(), Ok(()));
        for bad in ["", ".s", "-s", "a:b", "a b", "a/b"] {
            assert_eq!(snapshot(bad, "t").check().unwrap_err().kind(), ErrorKind::InvalidRequest, "{bad:?}");
        }
        assert_eq!(snapshot("s", "hbase:meta").check().unwrap_err().kind(), ErrorKind::InvalidRequest);
    }

    #[test]
    fn a_snapshot_expires_after_its_seconds_and_0_or_too_many_are_for_ever() {
        let taken = |ttl: u64| SnapshotDescriptor { created_ms: 5000, ..snapshot("s", "t").ttl_seconds(ttl) };
        assert!(!taken(2).is_expired(7000) && taken(2).is_expired(7001));
        assert!([0, TTL_SECONDS_MAX, u64::MAX].iter().all(|&ttl| !taken(ttl).is_expired(i64::MAX)));
    }
}
