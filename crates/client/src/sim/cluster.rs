//! State of the simulated cluster: its servers, the assignment of regions, the rows, and the
//! contents of `hbase:meta`.
//!
//! Rows survive the servers, as with a log that is synced before a call is answered. So do nonces,
//! which HBase also restores from the log. A crash loses the state of one server: connections,
//! scanners, its regions.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use halite_types::cell::CellParts;
use halite_types::{Bytes, CellType, CellsBuilder, RegionInfo, Row, RowOp, ServerName};
use halite_wire::convert::region;
use halite_wire::exception::{Exception, ExceptionKind, MovedTo};
use halite_wire::proto as pb;

use super::meta::MetaRow;

/// Port of every server.
pub(super) const PORT: u16 = 16020;
/// Table and its family.
pub(super) const TABLE: &str = "t";
pub(super) const FAMILY: &str = "f";
/// Base of region ids: all ids have the same number of digits.
const FIRST_ID: u64 = 1_000_000_000_000;

pub(super) type SharedCluster = Rc<RefCell<Cluster>>;

/// Columns of a row by qualifier.
pub(super) type Columns = BTreeMap<Bytes, Bytes>;

/// One start of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Incarnation {
    pub(super) server: usize,
    pub(super) start_code: u64,
}

/// Behavior of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServerBehavior {
    /// Receives calls, executes some of them, and answers none.
    pub(super) is_mute: bool,
    /// Rejects some calls as overloaded.
    pub(super) is_busy: bool,
    /// Takes long for each call.
    pub(super) is_slow: bool,
    /// Number of replies of which only the first half is sent; then the connection ends.
    pub(super) halves: u32,
}

pub(super) struct Node {
    pub(super) name: String,
    pub(super) start_code: u64,
    pub(super) is_up: bool,
    pub(super) behavior: ServerBehavior,
}

pub(super) struct Region {
    pub(super) info: RegionInfo,
    /// Server that serves it; `None` while it is being moved.
    pub(super) server: Option<Incarnation>,
    /// Increases whenever it is opened.
    pub(super) sequence: u64,
}

/// State of the table.
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
    /// Regions that still exist after splits and merges, by encoded name.
    pub(super) regions: BTreeMap<String, Region>,
    /// Contents of `hbase:meta`, in its order: start key and id.
    pub(super) meta: BTreeMap<(Bytes, String), MetaRow>,
    /// Server of `hbase:meta`, and the one known to the registry.
    pub(super) meta_server: Option<Incarnation>,
    pub(super) registered_meta_server: Option<Incarnation>,
    pub(super) rows: BTreeMap<Bytes, Columns>,
    nonces: HashSet<(u64, u64)>,
    /// Destination of a region that a server closed.
    pub(super) moved: HashMap<(String, usize), MovedTo>,
    regions_created: u64,
}

impl Cluster {
    /// Creates servers that are not started, and unassigned regions with boundaries at `splits`.
    pub(super) fn new(servers: usize, splits: &[Bytes]) -> Self {
        let node = |index| Node {
            name: format!("rs{index}"),
            start_code: 0,
            is_up: false,
            behavior: ServerBehavior::default(),
        };
        let mut cluster = Self { nodes: (0..servers).map(node).collect(), ..Self::default() };
        let edges: Vec<Bytes> = [Bytes::new()]
            .into_iter()
            .chain(splits.iter().cloned())
            .chain([Bytes::new()])
            .collect();
        for pair in edges.windows(2) {
            cluster.add_region(&pair[0], &pair[1]);
        }
        cluster
    }

    /// Adds an unassigned region between two keys and returns its encoded name.
    pub(super) fn add_region(&mut self, start: &Bytes, end: &Bytes) -> String {
        self.regions_created += 1;
        let table_name = halite_wire::convert::schema::table_name_to_proto(&TABLE.parse().unwrap());
        let (start_key, end_key) = (Some(start.clone()), Some(end.clone()));
        let proto = pb::RegionInfo {
            region_id: FIRST_ID + self.regions_created,
            table_name,
            start_key,
            end_key,
            ..pb::RegionInfo::default()
        };
        let info = region::from_proto(&proto).unwrap();
        let name = info.encoded_name.clone();
        self.regions.insert(name.clone(), Region { info, server: None, sequence: 1 });
        name
    }

    /// Closes the table's regions, as it is disabled or dropped.
    pub(super) fn close_table(&mut self, state: TableState) {
        self.state = state;
        self.regions.values_mut().for_each(|region| region.server = None);
        if state == TableState::Dropped {
            self.regions.clear();
            self.meta.clear();
        }
    }

    /// Starts a server's process.
    pub(super) fn boot(&mut self, server: usize) -> Incarnation {
        let node = &mut self.nodes[server];
        node.start_code += 1;
        node.is_up = true;
        Incarnation { server, start_code: node.start_code }
    }

    /// Returns `true` if a process is still the running one.
    pub(super) fn is_alive(&self, who: Incarnation) -> bool {
        let node = &self.nodes[who.server];
        node.is_up && node.start_code == who.start_code
    }

    pub(super) fn name(&self, who: Incarnation) -> ServerName {
        ServerName {
            host: self.nodes[who.server].name.clone(),
            port: PORT,
            start_code: who.start_code,
        }
    }

    pub(super) fn up(&self) -> Vec<Incarnation> {
        let up = self.nodes.iter().enumerate().filter(|(_, node)| node.is_up);
        up.map(|(server, node)| Incarnation { server, start_code: node.start_code }).collect()
    }

    /// Returns the region that a request names, if that server serves it.
    pub(super) fn region(
        &self,
        who: Incarnation,
        specifier: &pb::RegionSpecifier,
    ) -> Result<&Region, Exception> {
        let name = region::encoded_name(specifier)?;
        if let Some(region) = self.regions.get(name).filter(|region| region.server == Some(who)) {
            return Ok(region);
        }
        if let Some(to) = self.moved.get(&(name.to_string(), who.server)) {
            return Err(Exception::region_moved(to.clone()));
        }
        Err(Exception::new(
            ExceptionKind::NotServingRegion,
            format!("{name} is not online on {}", self.name(who)),
        ))
    }

    /// Checks that the region that a request names is served and contains the row.
    pub(super) fn region_for_row(
        &self,
        who: Incarnation,
        specifier: &pb::RegionSpecifier,
        row: &[u8],
    ) -> Result<(), Exception> {
        let region = self.region(who, specifier)?;
        if region.info.contains(row) {
            Ok(())
        } else {
            Err(Exception::new(ExceptionKind::WrongRegion, "the row is in another region"))
        }
    }

    /// Returns the current row; without cells if it does not exist.
    pub(super) fn row(&self, key: &[u8]) -> Row {
        self.rows
            .get(key)
            .map_or_else(Row::default, |columns| row_from_columns(key, columns.iter()))
    }

    /// Applies an operation, unless it was applied under that nonce. Returns the results of
    /// increments and appends.
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
                RowOp::Increment(_) => {
                    (number(value) + number(cell.value())).to_be_bytes().to_vec().into()
                }
                RowOp::Append(_) => [value, cell.value()].concat().into(),
                _ => Bytes::copy_from_slice(cell.value()),
            };
        }
        if matches!(op, RowOp::Put(_)) {
            return Ok(Row::default());
        }
        let touched = cells.iter().filter_map(|cell| columns.get_key_value(cell.qualifier()));
        Ok(row_from_columns(row, touched))
    }
}

/// Returns the value of a counter; 0 if it does not exist.
pub(super) fn number(value: &[u8]) -> i64 {
    value.try_into().map_or(0, i64::from_be_bytes)
}

pub(super) fn row_from_columns<'a>(
    key: &[u8],
    columns: impl IntoIterator<Item = (&'a Bytes, &'a Bytes)>,
) -> Row {
    let mut cells = CellsBuilder::default();
    for (qualifier, value) in columns {
        let family = FAMILY.as_bytes();
        cells.push_parts(CellParts {
            row: key,
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
