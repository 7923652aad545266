//! The simulated cluster's one truth: its servers, who serves which region, what was written, and what `hbase:meta` says of it.
//!
//! Rows outlive the servers, as with a log that is synced before a call is answered; so do nonces, which HBase reads back from the
//! log too. What a crash takes is everything that is a server's own: connections, scanners, the regions it served.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use halite_types::cell::CellParts;
use halite_types::{Bytes, CellType, CellsBuilder, RegionInfo, Row, RowOp};
use halite_wire::convert::region;
use halite_wire::convert::server::ServerName;
use halite_wire::exception::{Exception, ExceptionKind, MovedTo};
use halite_wire::proto as pb;

use super::meta::MetaRow;

/// The port of every server.
pub(super) const PORT: u16 = 16020;
/// The table and its family.
pub(super) const TABLE: &str = "t";
pub(super) const FAMILY: &str = "f";
/// The id of the first region: all ids have as many digits.
const FIRST_ID: u64 = 1_000_000_000_000;

pub(super) type Shared = Rc<RefCell<Cluster>>;

/// Columns of a row by qualifier.
pub(super) type Columns = BTreeMap<Bytes, Bytes>;

/// One start of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incarnation {
    pub(super) server: usize,
    pub(super) start_code: u64,
}

/// How a server behaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mood {
    /// It takes calls, serves some of them, and answers none.
    pub(super) is_mute: bool,
    /// It has too much to do for some calls.
    pub(super) is_busy: bool,
    /// It takes long for each call.
    pub(super) is_slow: bool,
    /// Answers of which only the beginning is sent; then the connection ends.
    pub(super) halves: u32,
}

pub(super) struct Node {
    pub(super) name: String,
    pub(super) start_code: u64,
    pub(super) is_up: bool,
    pub(super) mood: Mood,
}

pub(super) struct Region {
    pub(super) info: RegionInfo,
    /// Who serves it; nobody while it is on its way.
    pub(super) at: Option<Incarnation>,
    /// Goes up whenever it is opened.
    pub(super) sequence: u64,
}

/// The state of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TableState {
    #[default]
    Enabled,
    Disabled,
    Dropped,
}

#[derive(Default)]
pub(super) struct Cluster {
    pub(super) state: TableState,
    pub(super) nodes: Vec<Node>,
    /// Regions that are not split or merged away, by encoded name.
    pub(super) regions: BTreeMap<String, Region>,
    /// What `hbase:meta` says, in its order: start key and id.
    pub(super) meta: BTreeMap<(Bytes, String), MetaRow>,
    /// Who serves `hbase:meta`, and who does as far as the registry knows.
    pub(super) meta_at: Option<Incarnation>,
    pub(super) meta_told: Option<Incarnation>,
    pub(super) rows: BTreeMap<Bytes, Columns>,
    nonces: HashSet<(u64, u64)>,
    /// Where a region went from a server that closed it.
    pub(super) moved: HashMap<(String, usize), MovedTo>,
    regions_made: u64,
}

impl Cluster {
    /// Servers that are not started yet, and regions nobody serves yet, which meet at `splits`.
    pub(super) fn new(servers: usize, splits: &[Bytes]) -> Self {
        let node = |index| Node { name: format!("rs{index}"), start_code: 0, is_up: false, mood: Mood::default() };
        let mut cluster = Self { nodes: (0..servers).map(node).collect(), ..Self::default() };
        let edges: Vec<Bytes> = [Bytes::new()].into_iter().chain(splits.iter().cloned()).chain([Bytes::new()]).collect();
        for pair in edges.windows(2) {
            cluster.add_region(&pair[0], &pair[1]);
        }
        cluster
    }

    /// A new region between two keys, served by nobody; gives its encoded name.
    pub(super) fn add_region(&mut self, start: &Bytes, end: &Bytes) -> String {
        self.regions_made += 1;
        let table_name = halite_wire::convert::schema::table_name_to_proto(&TABLE.parse().unwrap());
        let (start_key, end_key) = (Some(start.clone()), Some(end.clone()));
        let proto = pb::RegionInfo { region_id: FIRST_ID + self.regions_made, table_name, start_key, end_key, ..pb::RegionInfo::default() };
        let info = region::from_proto(&proto).unwrap();
        let name = info.encoded_name.clone();
        self.regions.insert(name.clone(), Region { info, at: None, sequence: 1 });
        name
    }

    /// The table's regions are closed, as it is disabled or dropped.
    pub(super) fn close_table(&mut self, state: TableState) {
        self.state = state;
        self.regions.values_mut().for_each(|region| region.at = None);
        if state == TableState::Dropped {
            self.regions.clear();
            self.meta.clear();
        }
    }

    /// A server's process starts.
    pub(super) fn boot(&mut self, server: usize) -> Incarnation {
        let node = &mut self.nodes[server];
        node.start_code += 1;
        node.is_up = true;
        Incarnation { server, start_code: node.start_code }
    }

    /// Whether a process is still the one that runs.
    pub(super) fn is_alive(&self, who: Incarnation) -> bool {
        let node = &self.nodes[who.server];
        node.is_up && node.start_code == who.start_code
    }

    pub(super) fn name(&self, who: Incarnation) -> ServerName {
        ServerName { host: self.nodes[who.server].name.clone(), port: PORT, start_code: who.start_code }
    }

    pub(super) fn up(&self) -> Vec<Incarnation> {
        let up = self.nodes.iter().enumerate().filter(|(_, node)| node.is_up);
        up.map(|(server, node)| Incarnation { server, start_code: node.start_code }).collect()
    }

    /// The region that a request names, if that server serves it.
    pub(super) fn region(&self, who: Incarnation, specifier: &pb::RegionSpecifier) -> Result<&Region, Exception> {
        let name = region::encoded_name(specifier)?;
        if let Some(region) = self.regions.get(name).filter(|region| region.at == Some(who)) {
            return Ok(region);
        }
        if let Some(to) = self.moved.get(&(name.to_string(), who.server)) {
            return Err(Exception::region_moved(to.clone()));
        }
        Err(Exception::new(ExceptionKind::NotServingRegion, format!("{name} is not online on {}", self.name(who))))
    }

    /// The same, if it has the row.
    pub(super) fn region_of_row(&self, who: Incarnation, specifier: &pb::RegionSpecifier, row: &[u8]) -> Result<(), Exception> {
        let region = self.region(who, specifier)?;
        if region.info.contains(row) { Ok(()) } else { Err(Exception::new(ExceptionKind::WrongRegion, "the row is in another region")) }
    }

    /// A row as it is now; no cells if it is not there.
    pub(super) fn row(&self, key: &[u8]) -> Row {
        self.rows.get(key).map_or_else(Row::default, |columns| row_of(key, columns.iter()))
    }

    /// Applies an operation, or has already under that nonce; gives what increments and appends have made.
    pub(super) fn apply(&mut self, op: &RowOp, nonce: (u64, u64)) -> Result<Row, Exception> {
        let is_new = nonce.1 == 0 || self.nonces.insert(nonce);
        let (row, cells) = match op {
            RowOp::Put(op) => (op.row(), op.mutation().cells()),
            RowOp::Increment(op) => (op.row(), op.mutation().cells()),
            RowOp::Append(op) => (op.row(), op.mutation().cells()),
            _ => return Err(Exception::new(ExceptionKind::DoNotRetry, "no such operation here")),
        };
        let columns = self.rows.entry(row.clone()).or_default();
        for cell in cells.iter().filter(|_| is_new) {
            let value = columns.entry(Bytes::copy_from_slice(cell.qualifier())).or_default();
            *value = match op {
                RowOp::Increment(_) => (number(value) + number(cell.value())).to_be_bytes().to_vec().into(),
                RowOp::Append(_) => [value, cell.value()].concat().into(),
                _ => Bytes::copy_from_slice(cell.value()),
            };
        }
        if matches!(op, RowOp::Put(_)) {
            return Ok(Row::default());
        }
        let touched = cells.iter().filter_map(|cell| columns.get_key_value(cell.qualifier()));
        Ok(row_of(row, touched))
    }
}

/// The value of a counter; 0 for one that is not there yet.
pub(super) fn number(value: &[u8]) -> i64 {
    value.try_into().map_or(0, i64::from_be_bytes)
}

pub(super) fn row_of<'a>(key: &[u8], columns: impl IntoIterator<Item = (&'a Bytes, &'a Bytes)>) -> Row {
    let mut cells = CellsBuilder::default();
    for (qualifier, value) in columns {
        let family = FAMILY.as_bytes();
        cells.push_parts(CellParts { row: key, family, qualifier, timestamp: 1, cell_type: CellType::Put, value, tags: &[] });
    }
    Row::new(cells.finish())
}
