//! What a reader of a region holds: its families and everything their cells are in.

use std::sync::Arc;

use bytes::Bytes;
use halite_types::schema::family_attribute as fam;
use halite_types::{BloomType, Durability, Error, ErrorKind, FamilyDescriptor, KeepDeletedCells, Result, RowCheck, TableDescriptor};

use crate::scan::Retention;
use crate::store::StoreSnapshot;

/// The state of a region at one moment.
pub(crate) struct RegionSnapshot {
    pub(crate) descriptor: Arc<TableDescriptor>,
    pub(crate) settings: TableSettings,
    /// What looks at rows before cells are added to them.
    row_check: Option<Arc<dyn RowCheck>>,
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
    /// 0 for no limit.
    pub(crate) cell_bytes_max: Option<usize>,
}

impl From<&TableDescriptor> for TableSettings {
    fn from(table: &TableDescriptor) -> Self {
        Self {
            durability: table.durability(),
            read_only: table.read_only(),
            memstore_flush_bytes: table.memstore_flush_bytes(),
            cell_bytes_max: table.cell_bytes_max(),
        }
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
    pub(crate) new_version_behavior: bool,
    pub(crate) compaction: CompactionSettings,
    /// In place of the engine's option; 0 for no limit.
    row_bytes_max: Option<u64>,
}

/// What a table or a family says about compactions in place of the engine's options, read once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompactionSettings {
    pub(crate) files_min: Option<usize>,
    pub(crate) files_max: Option<usize>,
    pub(crate) ratio: Option<f64>,
    pub(crate) delete_expired_files: Option<bool>,
}

impl CompactionSettings {
    fn new(table: &TableDescriptor, family: &FamilyDescriptor) -> Self {
        let setting = |name: &str| table.family_setting(family, name).map(str::trim);
        // Beyond an int HBase does not start.
        let files = |name: &str| {
            setting(name).and_then(|text| text.parse::<i32>().ok()).and_then(|files| usize::try_from(files).ok()).filter(|files| *files > 1)
        };
        Self {
            files_min: files(fam::COMPACTION_FILES_MIN).or_else(|| files(fam::COMPACTION_THRESHOLD)),
            files_max: files(fam::COMPACTION_FILES_MAX),
            ratio: setting(fam::COMPACTION_RATIO).and_then(|text| text.parse().ok()).filter(|ratio: &f64| ratio.is_finite() && *ratio > 0.0),
            delete_expired_files: setting(fam::DELETE_EXPIRED_FILES).map(|text| text.eq_ignore_ascii_case("true")),
        }
    }
}

impl Family {
    /// How many values of a column hide all that were there before them; `None` where deleted ones stay.
    pub(crate) fn versions_that_hide(&self) -> Option<u32> {
        (self.keep_deleted == KeepDeletedCells::False).then_some(self.max_versions.max(self.min_versions).max(1))
    }

    /// Bytes of a row that a read may put together, where `default` holds for families that do not say; `None` for any number.
    pub(crate) fn row_bytes_max(&self, default: u64) -> Option<u64> {
        Some(self.row_bytes_max.unwrap_or(default)).filter(|most| *most > 0)
    }

    fn new(table: &TableDescriptor, family: &FamilyDescriptor) -> Self {
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
            new_version_behavior: family.new_version_behavior(),
            compaction: CompactionSettings::new(table, family),
            row_bytes_max: table.family_setting(family, fam::ROW_BYTES_MAX).and_then(|text| text.trim().parse().ok()),
        }
    }

    /// How long its cells live, seen from `now`.
    pub(crate) fn retention(&self, now: i64) -> Retention {
        Retention {
            max_versions: self.max_versions,
            min_versions: self.min_versions,
            keep_deleted: self.keep_deleted,
            oldest_unexpired: self.ttl_ms.map_or(i64::MIN, |ttl| now.saturating_sub(ttl)),
            now,
            new_version_behavior: self.new_version_behavior,
        }
    }
}

impl RegionSnapshot {
    pub(crate) fn new(descriptor: Arc<TableDescriptor>, row_check: Option<Arc<dyn RowCheck>>, stores: Vec<StoreSnapshot>) -> Self {
        let families = descriptor.families().map(|family| Family::new(&descriptor, family)).collect();
        Self { settings: TableSettings::from(&*descriptor), row_check, descriptor, families, stores }
    }

    /// Whether the table takes a row, to which cells are to be added.
    ///
    /// # Errors
    /// `InvalidRequest`: it does not.
    pub(crate) fn check_row_taken(&self, row: &[u8]) -> Result<()> {
        match &self.row_check {
            Some(check) => check.check(row).map_err(|error| error.at(format_args!("table {}", self.descriptor.name()))),
            None => Ok(()),
        }
    }

    /// Whether it takes some rows only.
    pub(crate) fn has_row_check(&self) -> bool {
        self.row_check.is_some()
    }

    /// The same with other stores.
    pub(crate) fn with_stores(&self, stores: Vec<StoreSnapshot>) -> Self {
        Self {
            descriptor: Arc::clone(&self.descriptor),
            settings: self.settings,
            row_check: self.row_check.clone(),
            families: Arc::clone(&self.families),
            stores,
        }
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
