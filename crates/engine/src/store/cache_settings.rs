//! Cache settings of a family in its table's descriptor: which blocks reads, writes and openings
//! put into the block cache.

use halite_types::schema::family_attribute as fam;
use halite_types::{Error, FamilyDescriptor, Result, TableDescriptor};

/// Blocks of a file to be read into the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockClasses {
    pub(crate) data: bool,
    pub(crate) index: bool,
    pub(crate) bloom: bool,
}

impl BlockClasses {
    pub(crate) const ALL: Self = Self { data: true, index: true, bloom: true };

    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// Cache settings of a family. As in HBase (`CacheConfig`), a family without `BLOCKCACHE` has none
/// of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheSettings {
    /// `true` if reads put data blocks into the cache. Index and bloom blocks always are.
    pub(crate) on_read: bool,
    /// `true` if the blocks are in the share of the cache for `IN_MEMORY` families.
    pub(crate) in_memory: bool,
    /// Blocks of the files of flushes.
    pub(crate) on_flush: BlockClasses,
    /// Blocks of the files of compactions; see [`CacheSettings::on_compaction`].
    on_compaction: BlockClasses,
    /// Blocks of the files of larger compactions.
    on_large_compaction: BlockClasses,
    /// Bytes of the compacted files above which a compaction is large.
    large_compaction_bytes: u64,
    /// `true` if all blocks of a file are read once it is open.
    pub(crate) on_open: bool,
}

impl CacheSettings {
    /// Parses the settings of a family. A setting of the table or the family applies in addition to
    /// the attribute.
    pub(crate) fn new(table: &TableDescriptor, family: &FamilyDescriptor) -> Self {
        let is_true = |text: &str| text.trim().eq_ignore_ascii_case("true");
        let setting = |name: &str| table.family_setting(family, name).is_some_and(is_true);
        let flag = |attribute: &str, name: &str| {
            family.attributes.get(attribute).is_some_and(|text| is_true(text)) || setting(name)
        };
        if !family.block_cache() {
            return Self {
                on_read: false,
                in_memory: false,
                on_flush: BlockClasses::default(),
                on_compaction: BlockClasses::default(),
                on_large_compaction: BlockClasses::default(),
                large_compaction_bytes: u64::MAX,
                on_open: false,
            };
        }
        let data = flag(fam::CACHE_DATA_ON_WRITE, fam::CACHE_DATA_ON_WRITE_SETTING);
        let written = BlockClasses {
            data: false,
            index: flag(fam::CACHE_INDEX_ON_WRITE, fam::CACHE_INDEX_ON_WRITE_SETTING),
            bloom: flag(fam::CACHE_BLOOMS_ON_WRITE, fam::CACHE_BLOOMS_ON_WRITE_SETTING),
        };
        let with_all = |is_all: bool| if is_all { BlockClasses::ALL } else { written };
        let on_read = table
            .family_setting(family, fam::CACHE_DATA_ON_READ_SETTING)
            .is_none_or(|text| !text.trim().eq_ignore_ascii_case("false"));
        Self {
            on_read,
            in_memory: family.in_memory(),
            on_flush: with_all(data),
            on_compaction: with_all(setting(fam::CACHE_COMPACTED_ON_WRITE_SETTING)),
            on_large_compaction: written,
            large_compaction_bytes: large_compaction_bytes(table, family).unwrap_or(u64::MAX),
            on_open: on_read && flag(fam::PREFETCH_BLOCKS_ON_OPEN, fam::PREFETCH_SETTING),
        }
    }

    /// Checks the number among the settings.
    ///
    /// # Errors
    /// `InvalidRequest` with the setting and its value. HBase does not open the region.
    pub(crate) fn check(table: &TableDescriptor, family: &FamilyDescriptor) -> Result<()> {
        large_compaction_bytes(table, family).map(drop)
    }

    /// Returns the blocks of the files of a compaction of files with `bytes` bytes (HBase:
    /// `StoreFileTrackerBase.createWriter`).
    pub(crate) fn on_compaction(&self, bytes: u64) -> BlockClasses {
        if bytes > self.large_compaction_bytes {
            self.on_large_compaction
        } else {
            self.on_compaction
        }
    }
}

/// Returns the bytes above which a compaction is large. A negative number is no limit, as in HBase.
fn large_compaction_bytes(table: &TableDescriptor, family: &FamilyDescriptor) -> Result<u64> {
    let name = fam::CACHE_COMPACTED_ON_WRITE_THRESHOLD_SETTING;
    let Some(text) = table.family_setting(family, name) else { return Ok(u64::MAX) };
    let bytes: i64 = text.trim().parse().map_err(|_| {
        Error::invalid(format!("invalid {name} {text:?}: expected a number of bytes"))
    })?;
    Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(attributes: &[(&str, &str)]) -> CacheSettings {
        let family = attributes
            .iter()
            .fold(FamilyDescriptor::new("f"), |family, (name, value)| family.set(*name, value));
        CacheSettings::new(&TableDescriptor::new("t".parse().unwrap()), &family)
    }

    #[test]
    fn cached_data_of_flush_brings_index_and_bloom_blocks() {
        let of = settings(&[("CACHE_DATA_ON_WRITE", "true")]);
        assert_eq!(
            (of.on_flush, of.on_compaction(1)),
            (BlockClasses::ALL, BlockClasses::default())
        );
        assert_eq!(settings(&[("hbase.rs.cacheblocksonwrite", "true")]).on_flush, of.on_flush);
        let index = settings(&[("CACHE_INDEX_ON_WRITE", "true")]);
        assert_eq!(index.on_flush, BlockClasses { index: true, ..BlockClasses::default() });
        assert_eq!(index.on_compaction(1), index.on_flush);
        let compacted = settings(&[("hbase.rs.cachecompactedblocksonwrite", "true")]);
        assert_eq!(compacted.on_compaction(u64::MAX), BlockClasses::ALL);
    }

    #[test]
    fn threshold_limits_data_of_compactions_and_not_the_rest() {
        let of = |threshold: &str| {
            settings(&[
                ("CACHE_INDEX_ON_WRITE", "true"),
                ("hbase.rs.cachecompactedblocksonwrite", "true"),
                ("hbase.rs.cachecompactedblocksonwrite.threshold", threshold),
            ])
        };
        let index = BlockClasses { index: true, ..BlockClasses::default() };
        let limited = of("1000");
        assert_eq!(
            [1000, 1001].map(|bytes| limited.on_compaction(bytes)),
            [BlockClasses::ALL, index]
        );
        assert_eq!(limited.on_flush, index);
        assert_eq!(of("0").on_compaction(1), index);
        assert_eq!(of("-1").on_compaction(u64::MAX), BlockClasses::ALL);
        let family = FamilyDescriptor::new("f")
            .set("hbase.rs.cachecompactedblocksonwrite.threshold", "1 GB");
        let table = TableDescriptor::new("t".parse().unwrap());
        let error = CacheSettings::check(&table, &family).unwrap_err();
        assert!(error.message().contains("expected a number of bytes"), "{error}");
    }

    #[test]
    fn family_without_block_cache_has_no_cache_setting() {
        let of = settings(&[
            ("BLOCKCACHE", "false"),
            ("IN_MEMORY", "true"),
            ("CACHE_DATA_ON_WRITE", "true"),
            ("CACHE_BLOOMS_ON_WRITE", "true"),
            ("PREFETCH_BLOCKS_ON_OPEN", "true"),
        ]);
        assert!(!of.on_read && !of.in_memory && !of.on_open);
        assert!(of.on_flush.is_empty() && of.on_compaction(0).is_empty());
    }
}
