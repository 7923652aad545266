//! Rows of `hbase:meta`, computed from the catalog: their order and their cells.
//!
//! ```text
//! t             table:state
//! t,start,id.encoded.   info:regioninfo, seqnumDuringOpen, server, serverstartcode, sn, state
//!                       info:merge0000, merge0001... merge parents, until they are cleared
//!                       and for each replica except the first again, with its number: server_0001
//! ```
//! A replica is another name of its region, with the same location and the same rows.
//!
//! The rows are in the order of the meta comparator: a table's own row, then its regions by start
//! key, and tables by name.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use halite_types::schema::{META_ENCODED_NAME, SYSTEM_NAMESPACE};
use halite_types::{Bytes, FamilyDescriptor, RegionInfo, ServerName, TableDescriptor, TableName};
use prost::Message;

use super::messages::{RegionInfoMessage, pbuf};
use super::{Catalog, RegionEntry, TableEntry};
use crate::hfile::Comparator;

/// Column families of regions and of table states.
pub(crate) const INFO: &[u8] = b"info";
pub(crate) const TABLE: &[u8] = b"table";

/// Returns the region of `hbase:meta` itself.
pub(crate) fn own_region() -> RegionInfo {
    RegionInfo {
        table: table_name(),
        start: Bytes::new(),
        end: Bytes::new(),
        region_id: 1,
        encoded_name: META_ENCODED_NAME.to_owned(),
    }
}

/// Returns the reserved name of `hbase:meta`.
pub(crate) fn table_name() -> TableName {
    TableName::new(SYSTEM_NAMESPACE, "meta").expect("a legal name")
}

/// Returns the descriptor of `hbase:meta`, with the attributes of HBase 2.6 and the additional
/// family of HBase 3.
pub(crate) fn descriptor() -> TableDescriptor {
    families_of(table_name()).set("IS_META", "true")
}

/// Returns a table with the families of `hbase:meta`.
pub(crate) fn families_of(table: TableName) -> TableDescriptor {
    let family = |name: &'static [u8], versions: u32| {
        let family = FamilyDescriptor::new(name)
            .versions(versions)
            .set("IN_MEMORY", "true")
            .set("BLOCKSIZE", 8192);
        family
            .set("BLOOMFILTER", "ROWCOL")
            .set("DATA_BLOCK_ENCODING", "ROW_INDEX_V1")
            .set("REPLICATION_SCOPE", 0)
    };
    let table = TableDescriptor::new(table);
    table
        .family(family(INFO, 3))
        .family(family(b"ns", 3))
        .family(family(b"rep_barrier", i32::MAX as u32))
        .family(family(TABLE, 3))
}

/// Order of the rows for one state of the catalog. Rows themselves are created when they are read.
pub(crate) struct MetaIndex {
    catalog: Arc<Catalog>,
    /// Tables by the key of their rows, in byte order: no table name contains a comma.
    tables: Vec<(String, TableName)>,
}

/// Position in the row order: the table, and within it 0 for its own row, followed by its regions.
/// Also the position after the last row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MetaPosition {
    table: usize,
    row: usize,
}

/// Row at a position.
pub(crate) enum MetaRow<'a> {
    Table(&'a TableEntry),
    Region(&'a TableEntry, &'a RegionEntry),
}

impl MetaIndex {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        let mut tables: Vec<_> = catalog
            .visible_tables()
            .map(|(name, _)| name)
            .map(|name| (name.to_string(), name.clone()))
            .collect();
        tables.sort();
        Self { catalog, tables }
    }

    /// Returns `true` if the index is for this state of the catalog.
    pub(crate) fn is_for(&self, catalog: &Arc<Catalog>) -> bool {
        Arc::ptr_eq(&self.catalog, catalog)
    }

    fn table(&self, at: usize) -> Option<&TableEntry> {
        self.tables.get(at).and_then(|(_, name)| self.catalog.tables.get(name))
    }

    /// Returns the position of the first row at or after `row`, or after it if `behind` is set.
    /// Uses two binary searches.
    fn position_of(&self, row: &[u8], behind: bool) -> MetaPosition {
        let is_before = |key: &[u8]| match Comparator::Meta.compare_rows(key, row) {
            Ordering::Less => true,
            Ordering::Equal => behind,
            Ordering::Greater => false,
        };
        let tables = self.tables.partition_point(|(name, _)| is_before(name.as_bytes()));
        let Some(last) = tables.checked_sub(1) else { return MetaPosition { table: 0, row: 0 } };
        let regions = self.table(last).map_or(&[][..], |table| &table.regions);
        let before = regions.partition_point(|region| is_before(&region.info.full_name()));
        if before < regions.len() {
            MetaPosition { table: last, row: before + 1 }
        } else {
            MetaPosition { table: tables, row: 0 }
        }
    }

    /// Returns the positions of a range of rows: that of the first, and the one after the last.
    /// Inverted ranges give inverted positions.
    pub(crate) fn positions(
        &self,
        start: &Bound<Bytes>,
        end: &Bound<Bytes>,
    ) -> (MetaPosition, MetaPosition) {
        let first = match start {
            Bound::Unbounded => MetaPosition { table: 0, row: 0 },
            Bound::Included(row) => self.position_of(row, false),
            Bound::Excluded(row) => self.position_of(row, true),
        };
        let end = match end {
            Bound::Unbounded => MetaPosition { table: self.tables.len(), row: 0 },
            Bound::Included(row) => self.position_of(row, true),
            Bound::Excluded(row) => self.position_of(row, false),
        };
        (first, end)
    }

    /// Returns the position after this one, which must not be past the last row.
    pub(crate) fn after(&self, place: MetaPosition) -> MetaPosition {
        let rows = self.table(place.table).map_or(1, |table| 1 + table.regions.len());
        if place.row + 1 < rows {
            MetaPosition { row: place.row + 1, ..place }
        } else {
            MetaPosition { table: place.table + 1, row: 0 }
        }
    }

    /// Returns the position before this one, which must not be that of the first row.
    pub(crate) fn before(&self, place: MetaPosition) -> MetaPosition {
        if let Some(row) = place.row.checked_sub(1) {
            return MetaPosition { row, ..place };
        }
        let table = place.table.saturating_sub(1);
        MetaPosition { table, row: self.table(table).map_or(0, |table| table.regions.len()) }
    }

    /// Returns the row at a position.
    pub(crate) fn row(&self, place: MetaPosition) -> Option<MetaRow<'_>> {
        let table = self.table(place.table)?;
        match place.row.checked_sub(1) {
            None => Some(MetaRow::Table(table)),
            Some(region) => Some(MetaRow::Region(table, table.regions.get(region)?)),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct TableStateMessage {
    #[prost(int32, required, tag = "1")]
    state: i32,
}

const ENABLED: i32 = 0;
const DISABLED: i32 = 1;

/// Cell of a row: column, value and timestamp.
pub(crate) type MetaCell = (Cow<'static, [u8]>, Vec<u8>, i64);

impl MetaRow<'_> {
    /// Returns the row key.
    pub(crate) fn key(&self) -> Vec<u8> {
        match self {
            Self::Table(table) => table.descriptor.name().to_string().into_bytes(),
            Self::Region(_, region) => region.info.full_name(),
        }
    }

    /// Returns the only family with cells in the row.
    pub(crate) fn family(&self) -> &'static [u8] {
        match self {
            Self::Table(_) => TABLE,
            Self::Region(..) => INFO,
        }
    }

    /// Returns the cells of that family, by qualifier. `open_sequence` is the region's open
    /// sequence id, if it is open.
    pub(crate) fn cells(&self, server: &ServerName, open_sequence: Option<u64>) -> Vec<MetaCell> {
        match self {
            Self::Table(table) => {
                let state =
                    TableStateMessage { state: if table.enabled { ENABLED } else { DISABLED } };
                // The time of state changes is not stored, so the timestamp is that of the table's
                // oldest region.
                let oldest =
                    table.regions.iter().map(|region| region.info.region_id).min().unwrap_or(1);
                vec![cell(b"state", state.encode_to_vec(), timestamp(oldest))]
            }
            Self::Region(table, region) => region_cells(table, region, server, open_sequence),
        }
    }
}

fn cell(qualifier: &'static [u8], value: Vec<u8>, timestamp: i64) -> MetaCell {
    (Cow::Borrowed(qualifier), value, timestamp)
}

fn region_cells(
    table: &TableEntry,
    region: &RegionEntry,
    server: &ServerName,
    open_sequence: Option<u64>,
) -> Vec<MetaCell> {
    let created = region.info.region_id;
    let sequence = open_sequence.unwrap_or_else(|| region.newest_flushed_sequence() + 1);
    let mut cells = vec![cell(
        b"regioninfo",
        pbuf(&RegionInfoMessage::from(&*region.info)),
        timestamp(created),
    )];
    for replica in 0..table.descriptor.region_replication() {
        cells.extend(location(replica, server, table.enabled, sequence, created));
    }
    for (at, parent) in region.parents.iter().enumerate() {
        let qualifier = format!("merge{at:04}").into_bytes();
        cells.push((
            Cow::Owned(qualifier),
            pbuf(&RegionInfoMessage::from(&**parent)),
            timestamp(created),
        ));
    }
    cells
}

/// Returns the location cells of a replica.
fn location(
    replica: u32,
    server: &ServerName,
    enabled: bool,
    sequence: u64,
    created: u64,
) -> Vec<MetaCell> {
    // The process has had all regions since its start, except those created later.
    let assigned = timestamp(created.max(server.start_code));
    let column = |name: &'static str, value: Vec<u8>| {
        (replica_column(name.as_bytes(), replica), value, assigned)
    };
    let state: &[u8] = if enabled { b"OPEN" } else { b"CLOSED" };
    vec![
        column("seqnumDuringOpen", sequence.to_be_bytes().to_vec()),
        column("server", format!("{}:{}", server.host, server.port).into_bytes()),
        column("serverstartcode", server.start_code.to_be_bytes().to_vec()),
        column("sn", server.to_string().into_bytes()),
        column("state", state.to_vec()),
    ]
}

/// Returns the column of a replica: the first has no number, the others have four hexadecimal
/// digits.
fn replica_column(qualifier: &'static [u8], replica: u32) -> Cow<'static, [u8]> {
    match replica {
        0 => Cow::Borrowed(qualifier),
        _ => Cow::Owned([qualifier, format!("_{replica:04X}").as_bytes()].concat()),
    }
}

fn timestamp(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds).unwrap_or(i64::MAX - 1)
}

#[cfg(test)]
mod tests {
    use halite_types::Result;

    use super::*;

    #[test]
    fn meta_row_order_equals_hbases() {
        let sorted = [
            "hbase:namespace,,1",
            "t",
            "t1",
            "t1,,1",
            "t1,,:",
            "t1,a,1",
            "t1,a!,1",
            "t1,a,b,1",
            "t1 ,,",
            "t1-x,,1",
            "t10,,1",
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(
                    Comparator::Meta.compare_rows(a.as_bytes(), b.as_bytes()),
                    i.cmp(&j),
                    "{a} {b}"
                );
            }
        }
    }

    #[test]
    fn region_info_encoding_equals_hbases() {
        let info = RegionInfo {
            table: "t1".parse().unwrap(),
            start: "b".into(),
            end: "c".into(),
            region_id: 1_795_224_443_858,
            encoded_name: "33b36c58f0da118f6c22fc0c24d60bf4".into(),
        };
        let hex = super::super::layout::hex(&pbuf(&RegionInfoMessage::from(&info)));
        assert_eq!(
            hex,
            "5042554608d2b7dcdd9f34120d0a0764656661756c74120274311a016222016328003000380 0"
                .replace(' ', "")
        );
        let named = super::super::layout::new_region(
            &info.table,
            info.start.clone(),
            info.end.clone(),
            info.region_id,
        );
        assert_eq!(named.full_name(), b"t1,b,1795224443858.33b36c58f0da118f6c22fc0c24d60bf4.");
        assert_eq!(TableStateMessage { state: DISABLED }.encode_to_vec(), [8, 1]);
        assert_eq!(TableStateMessage { state: ENABLED }.encode_to_vec(), [8, 0]);
    }

    #[test]
    fn meta_region_has_its_fixed_name() -> Result<()> {
        descriptor().check()?;
        assert_eq!(
            (own_region().full_name(), own_region().encoded_name),
            (b"hbase:meta,,1".to_vec(), "1588230740".to_owned())
        );
        Ok(())
    }
}
