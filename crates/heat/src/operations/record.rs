//! One operation of the log.

use std::sync::Arc;

/// Kind of a call on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// Get of a row, or the question whether it exists.
    Get,
    /// Scan of a range of rows, in one region.
    Scan,
    /// Put.
    Put,
    /// Delete.
    Delete,
    /// Increment.
    Increment,
    /// Append.
    Append,
    /// Write that depends on a condition, and was made.
    CheckAndMutate,
    /// Several writes of one row, or of several rows that are written together.
    RowMutations,
}

impl CallKind {
    /// All kinds. Their positions are their numbers in files.
    pub const ALL: [Self; 8] = [
        Self::Get,
        Self::Scan,
        Self::Put,
        Self::Delete,
        Self::Increment,
        Self::Append,
        Self::CheckAndMutate,
        Self::RowMutations,
    ];

    /// Returns the name, in lower case with underscores.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Scan => "scan",
            Self::Put => "put",
            Self::Delete => "delete",
            Self::Increment => "increment",
            Self::Append => "append",
            Self::CheckAndMutate => "check_and_mutate",
            Self::RowMutations => "row_mutations",
        }
    }

    /// Returns the kind of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns `true` for a get or scan.
    #[must_use]
    pub fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::Scan)
    }
}

/// Caller of an operation. A text that is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Client {
    /// Address without the port; `embedded` for the process that has the store open.
    pub address: Arc<str>,
    /// User.
    pub user: Arc<str>,
    /// Version of the client's library.
    pub version: Arc<str>,
}

/// Sampled operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Time at which it was complete, in milliseconds since 1970.
    pub time_ms: i64,
    /// Kind.
    pub kind: CallKind,
    /// Number of operations of its kind of which it is the sample, at least 1.
    pub weight: u64,
    /// Name of the table.
    pub table: Arc<str>,
    /// Row; for a scan the lower end of its range, inclusive, empty for the first row.
    pub row: Box<[u8]>,
    /// Upper end of the range of a scan, exclusive, empty for the last row; `None` for others.
    pub stop: Option<Box<[u8]>>,
    /// Cells returned or written.
    pub cells: u64,
    /// Rows returned or written.
    pub rows: u64,
    /// Bytes of those cells.
    pub bytes: u64,
    /// Caller.
    pub client: Client,
    /// Kind, families, columns and filters, without rows and values: equal for all calls of one
    /// place of a program.
    pub statement: Arc<str>,
}

impl Call {
    /// Returns the record that a table was dropped: earlier ones of its name are of another table.
    #[must_use]
    pub fn of_drop(table: &str, time_ms: i64) -> Self {
        Self {
            time_ms,
            kind: CallKind::Delete,
            weight: 0,
            table: table.into(),
            row: Box::default(),
            stop: None,
            cells: 0,
            rows: 0,
            bytes: 0,
            client: Client::default(),
            statement: "drop".into(),
        }
    }

    /// Returns `true` for the record that its table was dropped, which is no operation.
    #[must_use]
    pub fn is_drop(&self) -> bool {
        self.weight == 0
    }

    /// Returns `true` if it is on a row of a range: `start` inclusive, `end` exclusive, `None` for
    /// all rows after the start.
    #[must_use]
    pub fn is_in(&self, start: &[u8], end: Option<&[u8]>) -> bool {
        let begins_before = end.is_none_or(|end| *self.row < *end);
        match &self.stop {
            Some(stop) => begins_before && (stop.is_empty() || **stop > *start),
            None => begins_before && *self.row >= *start,
        }
    }

    /// Returns the bytes of memory that it takes, without shared texts.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.row.len() + self.stop.as_ref().map_or(0, |stop| stop.len())
    }
}

/// Logged operations of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoggedCalls {
    /// Operations, in the order of their times.
    pub calls: Vec<Call>,
    /// Operations of all tables that were due in this time and were not recorded, for want of
    /// room.
    pub dropped: u64,
    /// Time of the oldest operation of any table that the log has; `None` if it is empty.
    pub since_ms: Option<i64>,
    /// Operations of which one is recorded now.
    pub rate: u64,
}

/// Returns the fingerprint of a statement: 8 hexadecimal digits, the same in every process
/// (FNV-1a).
#[must_use]
pub fn fingerprint(statement: &str) -> String {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("{:08x}", statement.bytes().fold(0x811c_9dc5, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_found_by_its_name() {
        for kind in CallKind::ALL {
            assert_eq!(CallKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(CallKind::from_name("PUT"), None);
    }

    #[test]
    fn scan_is_in_every_range_that_it_touches() {
        let scan = |start: &str, stop: &str| Call {
            time_ms: 0,
            kind: CallKind::Scan,
            weight: 1,
            table: "t".into(),
            row: start.as_bytes().into(),
            stop: Some(stop.as_bytes().into()),
            cells: 0,
            rows: 0,
            bytes: 0,
            client: Client::default(),
            statement: "".into(),
        };
        assert!(scan("b", "d").is_in(b"c", Some(b"z")));
        assert!(!scan("b", "d").is_in(b"d", None), "the stop is exclusive");
        assert!(scan("b", "").is_in(b"y", None));
        assert!(!scan("b", "").is_in(b"", Some(b"b")));
        let get = Call { kind: CallKind::Get, stop: None, ..scan("b", "") };
        assert!(get.is_in(b"b", None) && !get.is_in(b"ba", None));
    }

    #[test]
    fn fingerprint_is_that_of_fnv() {
        assert_eq!(fingerprint(""), "811c9dc5");
        assert_eq!(fingerprint("a"), "e40c292c");
    }
}
