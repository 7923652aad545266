//! What a reader of a region holds: its families and everything their cells are in.

use std::sync::Arc;

use bytes::Bytes;
use halite_types::{BloomType, Durability, Error, ErrorKind, FamilyDescriptor, KeepDeletedCells, Result, TableDescriptor};

use crate::scan::Retention;
use crate::store::StoreSnapshot;

/// The state of a region at one moment.
pub(crate) struct RegionSnapshot {
    pub(crate) descriptor: Arc<TableDescriptor>,
    pub(crate) settings: TableSettings,
    /// In byte order of their names.
    pub(crate) families: Arc<[Family]>,
    /// One for each family.
    pub(crate) stores: Vec<StoreSnapshot>,
}

/// What a table's descriptor says about writes, read once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableSettings {
    pub(crate) durability: Durability,
    pub(crate) read_only: bool,
    pub(crate) memstore_flush_bytes: Option<u64>,
}

impl From<&TableDescriptor> for TableSettings {
    fn from(table: &TableDescriptor) -> Self {
        Self { durability: table.durability(), read_only: table.read_only(), memstore_flush_bytes: table.memstore_flush_bytes() }
    }
}

/// What a family's descriptor says, read once.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) name: Bytes,
    pub(crate) max_versions: u32,
    pub(crate) min_versions: u32,
    pub(crate) ttl_ms: Option<i64>,
    pub(crate) keep_deleted: KeepDeletedCells,
    pub(crate) bloom: BloomType,
    pub(crate) block_bytes: usize,
    pub(crate) block_cache: bool,
    pub(crate) compression: String,
}

impl From<&FamilyDescriptor> for Family {
    fn from(family: &FamilyDescriptor) -> Self {
        Self {
            name: family.name().clone(),
            max_versions: family.max_versions(),
            min_versions: family.min_versions(),
            ttl_ms: family.ttl_ms(),
            keep_deleted: family.keep_deleted_cells(),
            bloom: family.bloom_filter(),
            block_bytes: family.block_size_bytes() as usize,
            block_cache: family.block_cache(),
            compression: family.compression(),
        }
    }
}

impl Family {
    /// How long its cells live, seen from `now`.
    pub(crate) fn retention(&self, now: i64) -> Retention {
        Retention {
            max_versions: self.max_versions,
            min_versions: self.min_versions,
            keep_deleted: self.keep_deleted,
            oldest_unexpired: self.ttl_ms.map_or(i64::MIN, |ttl| now.saturating_sub(ttl)),
            now,
        }
    }
}

impl RegionSnapshot {
    pub(crate) fn new(descriptor: Arc<TableDescriptor>, stores: Vec<StoreSnapshot>) -> Self {
        let families = descriptor.families().map(Family::from).collect();
        Self { settings: TableSettings::from(&*descriptor), descriptor, families, stores }
    }

    /// The same with other stores.
    pub(crate) fn with_stores(&self, stores: Vec<StoreSnapshot>) -> Self {
        Self { descriptor: Arc::clone(&self.descriptor), settings: self.settings, families: Arc::clone(&self.families), stores }
    }

    /// The place of a family, if the table has it.
    pub(crate) fn index_of(&self, family: &[u8]) -> Option<usize> {
        self.families.iter().position(|known| known.name == family)
    }

    /// The place of a family.
    ///
    /// # Errors
    /// `NoSuchFamily`, with the families there are.
    pub(crate) fn family_index(&self, family: &[u8]) -> Result<usize> {
        self.index_of(family).ok_or_else(|| self.no_family(family))
    }

    #[cold]
    fn no_family(&self, family: &[u8]) -> Error {
        let print = halite_types::key::print_bytes;
        let known: Vec<String> = self.families.iter().map(|family| print(&family.name)).collect();
        let text = format!("table {} has no family {}; it has {}", self.descriptor.name(), print(family), known.join(", "));
        Error::new(ErrorKind::NoSuchFamily, text)
    }

    /// Memory of the memstores that take writes.
    pub(crate) fn active_bytes(&self) -> usize {
        self.stores.iter().map(|store| store.active.bytes()).sum()
    }

    pub(crate) fn memstore_bytes(&self) -> usize {
        self.stores.iter().map(StoreSnapshot::memstore_bytes).sum()
    }
}
