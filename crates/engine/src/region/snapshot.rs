//! State of a region for a reader: its families and the sources of their cells.

use std::sync::Arc;

use bytes::Bytes;
use halite_types::schema::{family_attribute as fam, table_attribute as tab};
use halite_types::{
    BloomType, CellRef, Durability, Error, ErrorKind, FamilyDescriptor, KeepDeletedCells,
    MergeOperator, Result, RowCheck, TableDescriptor,
};

use super::flush_policy::FlushPolicy;
use super::in_memory_compaction_rule::InMemoryCompactionRule;
use super::split_policy::SplitPolicy;
use crate::compaction::{CompactionSettings, StorePolicy};
use crate::hfile::{CodecSettings, Compression, DataBlockEncoding, encoded_block_bytes};
use crate::options::Options;
use crate::scan::Retention;
use crate::store::{CacheSettings, StoreSnapshot};

/// State of a region at one moment.
pub(crate) struct RegionSnapshot {
    pub(crate) descriptor: Arc<TableDescriptor>,
    pub(crate) settings: TableSettings,
    rules: Arc<TableRules>,
    /// Families in byte order of their names.
    pub(crate) families: Arc<[Family]>,
    /// One store for each family.
    pub(crate) stores: Vec<StoreSnapshot>,
}

/// What a table's descriptor and the options say about its regions, parsed once.
pub(crate) struct TableRules {
    /// Check of rows before cells are added to them.
    row_check: Option<Arc<dyn RowCheck>>,
    flush_policy: FlushPolicy,
    split_policy: SplitPolicy,
}

impl TableRules {
    /// Parses the rules of a table.
    pub(crate) fn new(table: &TableDescriptor, options: &Options) -> Arc<Self> {
        Arc::new(Self {
            row_check: options.row_check(table),
            flush_policy: FlushPolicy::new(table, options),
            split_policy: SplitPolicy::new(table, options),
        })
    }
}

/// Settings of a table's descriptor for writes, parsed once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableSettings {
    pub(crate) durability: Durability,
    pub(crate) read_only: bool,
    pub(crate) memstore_flush_bytes: Option<u64>,
    /// Maximum size of a cell in bytes; 0 for no limit.
    pub(crate) max_cell_bytes: Option<usize>,
    /// `true` if scans read families that do not decide on rows for included rows only.
    pub(crate) loads_families_on_demand: bool,
    /// `true` if a family merges the cells of a column.
    pub(crate) merges: bool,
}

impl From<&TableDescriptor> for TableSettings {
    fn from(table: &TableDescriptor) -> Self {
        Self {
            durability: table.durability(),
            read_only: table.read_only(),
            memstore_flush_bytes: table.memstore_flush_bytes(),
            max_cell_bytes: table.max_cell_bytes(),
            loads_families_on_demand: table
                .setting(tab::LOAD_FAMILIES_ON_DEMAND)
                .is_none_or(|text| !text.trim().eq_ignore_ascii_case("false")),
            merges: table.families().any(|family| family.merge_operator().is_some()),
        }
    }
}

/// Settings of a family's descriptor, parsed once.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) name: Bytes,
    pub(crate) max_versions: u32,
    pub(crate) min_versions: u32,
    pub(crate) ttl_ms: Option<i64>,
    pub(crate) keep_deleted: KeepDeletedCells,
    pub(crate) bloom: BloomType,
    pub(crate) block_bytes: usize,
    pub(crate) cache: CacheSettings,
    pub(crate) in_memory_compaction: InMemoryCompactionRule,
    /// Bytes in the encoding after which a block ends, if these decide alone.
    pub(crate) encoded_block_bytes: Option<usize>,
    pub(crate) codecs: FamilyCodecs,
    /// Data block encoding of the files that are written.
    pub(crate) encoding: DataBlockEncoding,
    pub(crate) compress_tags: bool,
    pub(crate) new_version_behavior: bool,
    /// How the cells of a column are merged.
    pub(crate) merge: Option<MergeOperator>,
    pub(crate) compaction: CompactionSettings,
    pub(crate) store_policy: StorePolicy,
    /// Replaces the engine's option; 0 for no limit.
    max_row_bytes: Option<u64>,
}

/// Codecs of the files that are written. The descriptor of an old table may contain others, which
/// cannot be written; [`Compression::None`] takes their place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FamilyCodecs {
    /// Codec of flushes, and of loaded files that are rewritten.
    pub(crate) flush: Compression,
    pub(crate) minor_compaction: Compression,
    pub(crate) major_compaction: Compression,
    pub(crate) settings: CodecSettings,
}

impl FamilyCodecs {
    fn new(table: &TableDescriptor, family: &FamilyDescriptor) -> Self {
        Self {
            flush: Compression::for_family(&family.compression()),
            minor_compaction: Compression::for_family(&family.minor_compaction_compression()),
            major_compaction: Compression::for_family(&family.major_compaction_compression()),
            // Invalid settings are rejected, except in the descriptors of old tables.
            settings: CodecSettings::new(table, family).unwrap_or_default(),
        }
    }
}

impl Family {
    /// Returns the number of values of a column that hide all older ones; `None` if deleted ones
    /// are retained.
    pub(crate) fn versions_that_hide(&self) -> Option<u32> {
        (self.keep_deleted == KeepDeletedCells::False)
            .then_some(self.max_versions.max(self.min_versions).max(1))
    }

    /// Returns the maximum bytes of a row that a read may assemble; `None` for no limit. `default`
    /// applies to families without the setting.
    pub(crate) fn max_row_bytes(&self, default: u64) -> Option<u64> {
        Some(self.max_row_bytes.unwrap_or(default)).filter(|most| *most > 0)
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
            encoded_block_bytes: encoded_block_bytes(table, family),
            cache: CacheSettings::new(table, family),
            in_memory_compaction: InMemoryCompactionRule::new(table, family),
            codecs: FamilyCodecs::new(table, family),
            encoding: DataBlockEncoding::for_family(family),
            compress_tags: family.compress_tags(),
            new_version_behavior: family.new_version_behavior(),
            merge: family.merge_operator(),
            compaction: CompactionSettings::new(table, family),
            // Invalid settings are rejected, except in the descriptors of old tables.
            store_policy: StorePolicy::new(table, family).unwrap_or_default(),
            max_row_bytes: table
                .family_setting(family, fam::MAX_ROW_SIZE)
                .and_then(|text| text.trim().parse().ok()),
        }
    }

    /// Returns the retention of its cells as of `now`.
    pub(crate) fn retention(&self, now: i64) -> Retention {
        Retention {
            max_versions: self.max_versions,
            min_versions: self.min_versions,
            keep_deleted: self.keep_deleted,
            oldest_unexpired: self.ttl_ms.map_or(i64::MIN, |ttl| now.saturating_sub(ttl)),
            now,
            new_version_behavior: self.new_version_behavior,
            merge: self.merge,
        }
    }
}

impl RegionSnapshot {
    pub(crate) fn new(
        descriptor: Arc<TableDescriptor>,
        rules: Arc<TableRules>,
        stores: Vec<StoreSnapshot>,
    ) -> Self {
        let families =
            descriptor.families().map(|family| Family::new(&descriptor, family)).collect();
        let families: Arc<[Family]> = families;
        // The computed rows of `hbase:meta` have families and no stores.
        assert!(
            stores.is_empty() || families.len() == stores.len(),
            "each family of a region has a store"
        );
        debug_assert!(families.is_sorted_by(|a, b| a.name < b.name), "families are in order");
        debug_assert!(stores.iter().all(StoreSnapshot::is_in_order), "sources are in order");
        Self { settings: TableSettings::from(&*descriptor), rules, descriptor, families, stores }
    }

    /// Verifies that the table accepts a row to which cells are added.
    ///
    /// # Errors
    /// `InvalidRequest` if it does not.
    pub(crate) fn check_row_taken(&self, row: &[u8]) -> Result<()> {
        match &self.rules.row_check {
            Some(check) => check
                .check(row)
                .map_err(|error| error.at(format_args!("table {}", self.descriptor.name()))),
            None => Ok(()),
        }
    }

    /// Returns `true` if the table accepts only some rows.
    pub(crate) fn has_row_check(&self) -> bool {
        self.rules.row_check.is_some()
    }

    /// Returns the flush policy of the table.
    pub(super) fn flush_policy(&self) -> &FlushPolicy {
        &self.rules.flush_policy
    }

    /// Returns the split policy of the table.
    pub(super) fn split_policy(&self) -> &SplitPolicy {
        &self.rules.split_policy
    }

    /// Returns this state with other stores.
    pub(crate) fn with_stores(&self, stores: Vec<StoreSnapshot>) -> Self {
        assert_eq!(self.families.len(), stores.len(), "each family has a store");
        debug_assert!(stores.iter().all(StoreSnapshot::is_in_order), "sources are in order");
        Self {
            descriptor: Arc::clone(&self.descriptor),
            settings: self.settings,
            rules: Arc::clone(&self.rules),
            families: Arc::clone(&self.families),
            stores,
        }
    }

    /// Returns how the column of a cell is merged, if it is.
    pub(crate) fn merge_of(&self, cell: CellRef<'_>) -> Option<MergeOperator> {
        self.families.iter().find(|family| family.name == cell.family())?.merge
    }

    /// Returns the index of a family, if the table has it.
    pub(crate) fn index_of(&self, family: &[u8]) -> Option<usize> {
        self.families.iter().position(|known| known.name == family)
    }

    /// Returns the index of a family.
    ///
    /// # Errors
    /// `NoSuchFamily`, with the existing families.
    pub(crate) fn family_index(&self, family: &[u8]) -> Result<usize> {
        self.index_of(family).ok_or_else(|| self.family_not_found(family))
    }

    #[cold]
    fn family_not_found(&self, family: &[u8]) -> Error {
        let print = halite_types::key::to_string_binary;
        let known: Vec<String> = self.families.iter().map(|family| print(&family.name)).collect();
        let text = format!(
            "table {} has no family {}; it has {}",
            self.descriptor.name(),
            print(family),
            known.join(", ")
        );
        Error::new(ErrorKind::NoSuchFamily, text)
    }

    /// Returns the memory in bytes of the memstores that accept writes.
    pub(crate) fn active_bytes(&self) -> usize {
        self.stores.iter().map(|store| store.active.bytes()).sum()
    }

    pub(crate) fn memstore_bytes(&self) -> usize {
        self.stores.iter().map(StoreSnapshot::memstore_bytes).sum()
    }
}
