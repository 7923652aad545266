//! Rows of `hbase:meta`: queries for the location of a region, and the content of the rows.
//!
//! ```text
//! rows in order      t | t,start,id.encoded. | t ,,     a table's own row, its regions by start key, after them all
//! a region's row     info:regioninfo "PBUF" RegionInfo, info:server host:port, info:serverstartcode i64, info:seqnumDuringOpen i64
//! a table's row      table:state TableState, without "PBUF"
//! ```
//! The order is not that of the bytes: table, start key and region id are compared one by one, so a
//! table name followed by a blank sorts after the table's regions and before the next table.

use bytes::Bytes;
use halite_types::cell::MAX_ROW_BYTES;
use halite_types::key::to_string_binary;
use halite_types::{Error, RegionInfo, Result, Row, RowRange, Scan, ServerName, TableName};
use prost::Message;
use std::ops::Bound;

use super::region;
use crate::proto as pb;
use pb::table_state::State;

const INFO: &str = "info";
const REGION_INFO: &str = "regioninfo";
const SERVER: &str = "server";
const START_CODE: &str = "serverstartcode";
const SEQUENCE: &str = "seqnumDuringOpen";
const TABLE: &str = "table";
const STATE: &str = "state";
/// Sorts after the id of any region: the character after `9`.
const LAST_ID: &str = ":";

/// Row of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionRow {
    /// Region.
    pub region: RegionInfo,
    /// `true` if it is out of service: split, merged, or offline.
    pub is_offline: bool,
    /// Server of the region; `None` if there is none.
    pub server: Option<ServerName>,
    /// Sequence id at which it was opened there; 0 if the row does not contain it.
    pub open_sequence: u64,
}

/// Decodes a row; returns `None` if it is not the row of a region.
///
/// # Errors
/// `InvalidRequest` with the row, for a value that cannot be decoded.
pub fn region_row(row: &Row) -> Result<Option<RegionRow>> {
    let Some(value) = row.value(INFO, REGION_INFO) else { return Ok(None) };
    let read = || {
        let proto: pb::RegionInfo = pb::magic::from_magic(Bytes::copy_from_slice(value))?;
        let region = region::from_proto(&proto)?;
        let open_sequence = number(row, SEQUENCE)?.unwrap_or(0);
        Ok(RegionRow {
            region,
            is_offline: proto.offline() || proto.split(),
            server: server(row)?,
            open_sequence,
        })
    };
    read().map(Some).map_err(|error: Error| {
        error.at(format!("row {} of hbase:meta", to_string_binary(row.key())))
    })
}

/// HBase retains the address of a closed region, and clears it when the server has died.
fn server(row: &Row) -> Result<Option<ServerName>> {
    let (Some(address), Some(start_code)) = (row.value(INFO, SERVER), number(row, START_CODE)?)
    else {
        return Ok(None);
    };
    if address.is_empty() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(address);
    let address = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) = address.ok_or_else(|| {
        Error::invalid(format!("invalid info:server {text:?}: expected host:port"))
    })?;
    Ok(Some(ServerName { host: host.to_string(), port, start_code }))
}

fn number(row: &Row, qualifier: &str) -> Result<Option<u64>> {
    let Some(value) = row.value(INFO, qualifier).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let bytes = value.try_into().map_err(|_| {
        Error::invalid(format!("info:{qualifier} has {} bytes, not 8", value.len()))
    })?;
    Ok(Some(u64::from_be_bytes(bytes)))
}

/// Returns the state in a table's row; `None` if there is no such row, so no such table.
///
/// # Errors
/// `InvalidRequest` for an invalid state.
pub fn table_state(row: &Row) -> Result<Option<State>> {
    let Some(value) = row.value(TABLE, STATE) else { return Ok(None) };
    let proto = pb::TableState::decode(value);
    let state = proto.ok().and_then(|proto| State::try_from(proto.state).ok());
    state.map(Some).ok_or_else(|| {
        Error::invalid(format!(
            "row {} of hbase:meta: table:state cannot be read",
            to_string_binary(row.key())
        ))
    })
}

/// Returns the get of a table's row.
pub fn table_get(table: &TableName) -> halite_types::Get {
    halite_types::Get::new(table.to_string()).column(TABLE, STATE)
}

/// Returns the scan of the rows of a table's regions, in order.
pub fn table_regions(table: &TableName) -> Scan {
    region_scan(Bound::Included(key(table, b"", "")), Bound::Excluded(table_stop_row(table)))
}

/// Returns the scan of the rows of all tables' regions, in order.
pub fn all_regions() -> Scan {
    region_scan(Bound::Unbounded, Bound::Unbounded)
}

/// Returns the scan whose first row is that of the region that contains `row`, followed by the rows
/// before it in descending order.
pub fn containing(table: &TableName, row: &[u8]) -> Scan {
    // A row of meta is no longer than any other row. The removed suffix distinguishes no regions: a
    // start key of that length would not fit in a row of meta either.
    let max_row_bytes = MAX_ROW_BYTES.saturating_sub(key(table, b"", LAST_ID).len());
    let row = row.get(..max_row_bytes).unwrap_or(row);
    region_scan(Bound::Included(key(table, b"", "")), Bound::Included(key(table, row, LAST_ID)))
        .reverse(true)
}

/// Returns the scan whose first row is that of the region before the one that starts at `start`,
/// which is not empty.
pub fn before(table: &TableName, start: &[u8]) -> Scan {
    region_scan(Bound::Included(key(table, b"", "")), Bound::Excluded(key(table, start, "")))
        .reverse(true)
}

/// Returns the scan whose first row is that of the table's last region.
pub fn last(table: &TableName) -> Scan {
    region_scan(Bound::Included(key(table, b"", "")), Bound::Excluded(table_stop_row(table)))
        .reverse(true)
}

fn region_scan(start: Bound<Bytes>, end: Bound<Bytes>) -> Scan {
    Scan { range: RowRange { start, end }, ..Scan::all().family(INFO) }
}

fn key(table: &TableName, start: &[u8], id: &str) -> Bytes {
    [table.to_string().as_bytes(), b",", start, b",", id.as_bytes()].concat().into()
}

fn table_stop_row(table: &TableName) -> Bytes {
    format!("{table} ,,").into()
}

#[cfg(test)]
mod tests {
    use halite_types::cell::CellParts;
    use halite_types::{CellType, CellsBuilder};

    use super::*;

    fn name() -> TableName {
        "ns:t".parse().unwrap()
    }

    fn row(columns: &[(&str, &str, &[u8])]) -> Row {
        let mut cells = CellsBuilder::default();
        for (family, qualifier, value) in columns {
            let (family, qualifier) = (family.as_bytes(), qualifier.as_bytes());
            cells.push_parts(CellParts {
                row: b"r",
                family,
                qualifier,
                timestamp: 1,
                cell_type: CellType::Put,
                value,
                tags: &[],
            });
        }
        Row::new(cells.finish())
    }

    fn info(offline: bool) -> Vec<u8> {
        let table_name = crate::convert::schema::table_name_to_proto(&name());
        let proto = pb::RegionInfo {
            region_id: 7,
            table_name,
            start_key: Some("b".into()),
            offline: Some(offline),
            ..pb::RegionInfo::default()
        };
        pb::magic::with_magic(&proto).to_vec()
    }

    #[test]
    fn region_of_longest_row_can_be_located() {
        let end = |row: &[u8]| match containing(&name(), row).range.end {
            Bound::Included(key) => key,
            other => panic!("{other:?}"),
        };
        assert_eq!(end(b"r"), "ns:t,r,:");
        assert_eq!(end(&vec![b'r'; MAX_ROW_BYTES]).len(), MAX_ROW_BYTES);
    }

    #[test]
    fn region_location_is_read_from_meta_row() {
        let (code, sequence) = (5u64.to_be_bytes(), 9u64.to_be_bytes());
        let of = |server: &str| {
            row(&[
                ("info", "regioninfo", &info(false)),
                ("info", SEQUENCE, &sequence),
                ("info", SERVER, server.as_bytes()),
                ("info", START_CODE, &code),
            ])
        };
        let read = region_row(&of("h:16020")).unwrap().unwrap();
        assert_eq!(
            (read.server.unwrap().to_string(), read.open_sequence, read.is_offline),
            ("h,16020,5".into(), 9, false)
        );
        assert_eq!((&read.region.table, &read.region.start[..]), (&name(), &b"b"[..]));
        assert_eq!(region_row(&of("")).unwrap().unwrap().server, None);
        assert!(
            region_row(&of("h"))
                .unwrap_err()
                .message()
                .starts_with("row r of hbase:meta: invalid info:server")
        );
    }

    #[test]
    fn split_region_is_offline_and_has_no_server() {
        let read = region_row(&row(&[("info", "regioninfo", &info(true))])).unwrap().unwrap();
        assert!(read.is_offline && read.server.is_none());
        assert!(region_row(&row(&[("info", "regioninfo", b"PBUX")])).is_err());
        assert_eq!(region_row(&row(&[("table", "state", &[8, 0])])).unwrap(), None);
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_values_never_panic(info in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40), other in ".{0,12}") {
            let info = [b"PBUF".as_slice(), &info].concat();
            let of = |info: &[u8]| row(&[("info", REGION_INFO, info), ("info", SERVER, other.as_bytes()), ("info", START_CODE, other.as_bytes())]);
            let _ = (region_row(&of(&info)), region_row(&of(&self::info(false))), table_state(&row(&[("table", STATE, other.as_bytes())])));
        }
    }

    #[test]
    fn table_state_is_enabled_disabled_or_absent() {
        assert_eq!(
            table_state(&row(&[("table", "state", &[8, 0])])).unwrap(),
            Some(State::Enabled)
        );
        assert_eq!(
            table_state(&row(&[("table", "state", &[8, 1])])).unwrap(),
            Some(State::Disabled)
        );
        assert_eq!(table_state(&Row::default()).unwrap(), None);
        assert!(table_state(&row(&[("table", "state", &[8, 77])])).is_err());
    }

    #[test]
    fn meta_queries_match_hbase_clients() {
        let bounds = |scan: Scan| (scan.range, scan.reverse);
        let from = |first: &'static str| Bound::Included(Bytes::from(first));
        assert_eq!(
            bounds(containing(&name(), b"a,b")),
            (RowRange { start: from("ns:t,,"), end: from("ns:t,a,b,:") }, true)
        );
        assert_eq!(
            bounds(before(&name(), b"m")),
            (RowRange { start: from("ns:t,,"), end: Bound::Excluded("ns:t,m,".into()) }, true)
        );
        assert_eq!(
            bounds(table_regions(&name())),
            (RowRange { start: from("ns:t,,"), end: Bound::Excluded("ns:t ,,".into()) }, false)
        );
    }
}
