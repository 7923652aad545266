//! `hbase:meta` of the simulated cluster: its rows, which may be outdated, in the order that
//! clients rely on.

use std::ops::Bound;

use halite_types::{Bytes, RegionInfo, Row, RowRange, Scan, ServerName};
use halite_wire::convert::region;
use halite_wire::proto as pb;

use super::cluster::{Cluster, TABLE, TableState};
use super::rpc;

/// Row of a region.
#[derive(Clone)]
pub(super) struct MetaRow {
    pub(super) region: RegionInfo,
    pub(super) is_split: bool,
    pub(super) server: Option<ServerName>,
    pub(super) sequence: u64,
}

impl MetaRow {
    pub(super) fn key(&self) -> (Bytes, String) {
        (
            self.region.start.clone(),
            format!("{}.{}.", self.region.region_id, self.region.encoded_name),
        )
    }

    fn row(&self) -> Row {
        let info = pb::RegionInfo {
            offline: Some(self.is_split),
            split: Some(self.is_split),
            ..region::to_proto(&self.region)
        };
        let info = pb::magic::with_magic(&info);
        let (address, code) = self
            .server
            .as_ref()
            .map_or_else(Default::default, |server| (server.address(), server.start_code));
        let (code, sequence) = (code.to_be_bytes(), self.sequence.to_be_bytes());
        let columns: [(&str, &str, &[u8]); 4] = [
            ("info", "regioninfo", &info),
            ("info", "seqnumDuringOpen", &sequence),
            ("info", "server", address.as_bytes()),
            ("info", "serverstartcode", &code),
        ];
        rpc::row(&self.region.full_name(), &columns)
    }
}

impl Cluster {
    /// Returns the first rows of a scan of meta.
    pub(super) fn meta_rows(&self, scan: &Scan, most: usize) -> Vec<Row> {
        let inside = self
            .meta
            .iter()
            .filter(|(key, _)| is_within(&scan.range, &key.0, &key.1))
            .map(|(_, row)| row.row());
        if scan.reverse { inside.rev().take(most).collect() } else { inside.take(most).collect() }
    }

    /// Returns the row with the state of a table; without cells if the table does not exist.
    pub(super) fn table_row(&self, key: &[u8]) -> Row {
        match self.state {
            _ if key != TABLE.as_bytes() => Row::default(),
            TableState::Enabled => rpc::row(key, &[("table", "state", &[8, 0])]),
            TableState::Disabled => rpc::row(key, &[("table", "state", &[8, 1])]),
            TableState::Dropped => Row::default(),
        }
    }
}

/// Returns `true` if a region's row is within bounds that are keys of meta: table, start key and id
/// are compared separately.
fn is_within(range: &RowRange, start: &[u8], id: &str) -> bool {
    let key = (TABLE.as_bytes(), start, id.as_bytes());
    let after = match &range.start {
        Bound::Unbounded => true,
        Bound::Included(bound) => key >= parts(bound),
        Bound::Excluded(bound) => key > parts(bound),
    };
    after
        && match &range.end {
            Bound::Unbounded => true,
            Bound::Included(bound) => key <= parts(bound),
            Bound::Excluded(bound) => key < parts(bound),
        }
}

fn parts(key: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let comma = |byte: &u8| *byte == b',';
    match (key.iter().position(comma), key.iter().rposition(comma)) {
        (Some(first), Some(last)) if first < last => {
            (&key[..first], &key[first + 1..last], &key[last + 1..])
        }
        _ => (key, b"", b""),
    }
}
