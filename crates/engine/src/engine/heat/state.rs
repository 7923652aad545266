//! Recorded load of all tables.

use std::collections::HashMap;

use halite_heat::{Activity, History, PackedColumn};
use halite_types::{Error, TableName};

use crate::ranked_lock::RankedMutex;

/// Recorded load of all tables.
#[derive(Default)]
pub(crate) struct HeatState {
    pub(super) recorded: RankedMutex<Recorded>,
}

#[derive(Default)]
pub(super) struct Recorded {
    pub(super) tables: HashMap<TableName, TableHeat>,
    /// Column for every time at which the load was recorded.
    pub(super) times: History,
    /// End of the last column, in milliseconds since 1970; 0 before the first.
    pub(super) last_ms: i64,
    /// `true` if the histories of earlier processes are here.
    pub(super) is_restored: bool,
    /// Last failure to store or restore columns.
    pub(super) failure: Option<Error>,
}

/// Recorded load of one table.
#[derive(Default)]
pub(super) struct TableHeat {
    pub(super) history: History,
    pub(super) activity: Activity,
}

/// Columns of a table that were closed at one time, with the indexes of their layers.
pub(super) type ClosedColumns = Vec<(TableName, Vec<(usize, PackedColumn)>)>;
