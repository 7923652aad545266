//! Recorded load of all tables.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Weak};

use halite_heat::{Activity, ClosedRegion, ColumnClock, History, PackedColumn};
use halite_types::{Error, KeyParts, TableDescriptor, TableName};

use crate::ranked_lock::RankedMutex;

/// Memory of all histories.
const MAX_MEMORY_BYTES: usize = 256 << 20;

/// Times whose columns wait for the hidden table, at most: two minutes.
const MAX_UNSTORED: usize = 12;

/// Recorded load of all tables.
#[derive(Default)]
pub(crate) struct HeatState {
    pub(super) recorded: RankedMutex<Recorded>,
}

#[derive(Default)]
pub(super) struct Recorded {
    pub(super) tables: HashMap<TableName, TableHeat>,
    /// Load since the last column of regions that have been closed since.
    pub(super) closed: HashMap<TableName, Vec<ClosedRegion>>,
    /// Dropped tables whose stored columns are to be deleted, before a new table of the name has
    /// any.
    pub(super) dropped: BTreeSet<TableName>,
    /// Column for every time at which the load was recorded.
    pub(super) times: History,
    pub(super) clock: ColumnClock,
    /// Columns that could not be stored yet, oldest first.
    pub(super) unstored: VecDeque<ClosedColumns>,
    /// Number of the newest event in the hidden table.
    pub(super) stored_event: u64,
    /// `true` if the histories of earlier processes are here.
    pub(super) is_restored: bool,
    /// Failure to restore columns, the last one to store them, and the last one to write the log of
    /// operations.
    pub(super) failures: (Option<Error>, Option<Error>, Option<Error>),
}

impl Recorded {
    /// Keeps columns until they can be stored, and loses the oldest ones if that takes long.
    pub(super) fn keep_unstored(&mut self, mut waiting: VecDeque<ClosedColumns>) {
        while waiting.len() > MAX_UNSTORED {
            let lost = waiting.pop_front().unwrap_or_default();
            if let Some(next) = waiting.front_mut() {
                next.dropped.extend(lost.dropped);
            }
        }
        self.unstored = waiting;
    }

    /// Forgets the histories of tables without load for the longest time while all take too much
    /// memory. They return from the store at the next open.
    pub(super) fn limit_memory(&mut self) {
        // Bounds are most of the memory, and columns share them: their number alone says little.
        let sizes = self.tables.iter().map(|(name, heat)| {
            let newest = heat.history.newest(1).first().map_or(i64::MIN, |column| column.to_ms);
            (newest, heat.history.memory_bytes(), name.clone())
        });
        let mut sizes: Vec<(i64, usize, TableName)> = sizes.collect();
        let mut total: usize = sizes.iter().map(|(_, bytes, _)| bytes).sum();
        if total <= MAX_MEMORY_BYTES {
            return;
        }
        sizes.sort();
        for (_, bytes, name) in sizes {
            if total <= MAX_MEMORY_BYTES {
                break;
            }
            self.tables.remove(&name);
            total -= bytes;
        }
    }
}

/// Recorded load of one table.
#[derive(Default)]
pub(super) struct TableHeat {
    pub(super) history: History,
    pub(super) activity: Activity,
    pub(super) key_parts: Option<TableKeyParts>,
}

/// Declared parts of the keys of a table, as its descriptor has them.
#[derive(Clone)]
pub(super) struct TableKeyParts {
    descriptor: Weak<TableDescriptor>,
    /// `None` if the table declares no key.
    pub(super) parts: Option<Arc<dyn KeyParts>>,
}

impl TableKeyParts {
    pub(super) fn new(descriptor: &Arc<TableDescriptor>, parts: Option<Arc<dyn KeyParts>>) -> Self {
        Self { descriptor: Arc::downgrade(descriptor), parts }
    }

    /// Returns `true` if they are those of this descriptor.
    pub(super) fn is_of(&self, descriptor: &Arc<TableDescriptor>) -> bool {
        std::ptr::eq(self.descriptor.as_ptr(), Arc::as_ptr(descriptor))
    }
}

/// Columns to store.
#[derive(Default)]
pub(super) struct ClosedColumns {
    /// Columns of each table, with the indexes of their layers.
    pub(super) columns: Vec<(TableName, Vec<(usize, PackedColumn)>)>,
    /// Dropped tables: their columns are deleted first.
    pub(super) dropped: BTreeSet<TableName>,
}
