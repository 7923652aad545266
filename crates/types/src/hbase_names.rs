//! Names of HBase's settings, to recognize misspelt ones.

use crate::schema::{family_attribute as fam, table_attribute as tab};
use crate::suggest::misspelled;

/// The names in HBase 2.4 to 3.0: those in `hbase-default.xml`, and those in its code.
const NAMES: &str = include_str!("hbase_names.txt");

/// Settings of tables and families that are acted on, and are not in [`NAMES`] as a whole.
const OF_TABLES: [&str; 39] = [
    tab::MAX_CELL_SIZE,
    tab::SPLIT_POLICY_SETTING,
    tab::SPLIT_INITIAL_SIZE,
    tab::MAX_REGION_FILE_SIZE,
    tab::SPLIT_OVERALL_FILES,
    tab::SPLIT_PREFIX_LENGTH,
    tab::OLD_SPLIT_PREFIX_LENGTH,
    tab::SPLIT_DELIMITER,
    tab::SPLIT_RESTRICTION,
    tab::SPLIT_RESTRICTION_PREFIX_LENGTH,
    tab::SPLIT_RESTRICTION_DELIMITER,
    tab::LOAD_FAMILIES_ON_DEMAND,
    tab::FLUSH_POLICY_SETTING,
    tab::FLUSH_LOWER_BOUND,
    tab::FLUSH_LOWER_BOUND_MIN,
    tab::FLUSH_PER_CHANGES,
    fam::ZSTD_LEVEL,
    fam::HADOOP_ZSTD_LEVEL,
    fam::ZSTD_CODEC,
    fam::GZ_LEVEL,
    fam::IN_MEMORY_COMPACTION_SETTING,
    fam::SYSTEM_IN_MEMORY_COMPACTION_SETTING,
    fam::CACHE_DATA_ON_WRITE_SETTING,
    fam::CACHE_INDEX_ON_WRITE_SETTING,
    fam::CACHE_BLOOMS_ON_WRITE_SETTING,
    fam::PREFETCH_SETTING,
    fam::CACHE_COMPACTED_ON_WRITE_SETTING,
    fam::CACHE_COMPACTED_ON_WRITE_THRESHOLD_SETTING,
    fam::CACHE_DATA_ON_READ_SETTING,
    fam::MIN_COMPACTION_FILES,
    fam::COMPACTION_THRESHOLD,
    fam::MAX_COMPACTION_FILES,
    fam::COMPACTION_RATIO,
    fam::DELETE_EXPIRED_FILES,
    fam::STORE_ENGINE,
    fam::COMPACTION_POLICY,
    fam::MAX_ROW_SIZE,
    fam::ENCODED_BLOCK_RATIO,
    fam::BLOOM_PREFIX_LENGTH,
];

/// Fewest bytes of a name that is a misspelling: two wrong letters make another short name.
const MIN_MISSPELLED_BYTES: usize = 12;

/// Returns the names of HBase's settings.
pub fn all() -> impl Iterator<Item = &'static str> {
    NAMES.lines().chain(OF_TABLES)
}

/// Returns the setting of HBase that `name` misspells; `None` if it is one, or near to none.
pub fn nearest(name: &str) -> Option<&'static str> {
    if is_no_misspelling(name) { None } else { misspelled(name, all()) }
}

/// Returns the setting of tables and families that is acted on and that `name` misspells.
pub fn nearest_of_tables(name: &str) -> Option<&'static str> {
    if is_no_misspelling(name) {
        return None;
    }
    let of_engines = NAMES
        .lines()
        .filter(|known| known.contains(".date.tiered.") || known.contains(".store.stripe."));
    misspelled(name, OF_TABLES.into_iter().chain(of_engines))
}

fn is_no_misspelling(name: &str) -> bool {
    name.len() < MIN_MISSPELLED_BYTES || all().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_include_settings_without_effect() {
        let names: Vec<&str> = NAMES.lines().collect();
        assert!(names.is_sorted_by(|a, b| a < b));
        assert!(names.contains(&"hbase.hstore.compaction.max.size"));
    }

    #[test]
    fn misspelt_setting_has_nearest_name() {
        assert_eq!(nearest("hbase.hstore.compaction.min"), None);
        assert_eq!((nearest("my.own.setting"), nearest("hbase.x")), (None, None));
        assert_eq!(nearest("hbase.hstore.compacton.min"), Some("hbase.hstore.compaction.min"));
        let near = nearest_of_tables("hbase.rs.cacheblockonwrite");
        assert_eq!(near, Some("hbase.rs.cacheblocksonwrite"));
        let tiers = "hbase.hstore.compaction.date.tiered.windows.per.tier";
        assert_eq!(nearest_of_tables(&tiers.replace("per", "pre")), Some(tiers));
        let stripes = "hbase.store.stripe.initialStripeCount";
        assert_eq!(nearest_of_tables(&stripes.replace("Stripe", "Strip")), Some(stripes));
        // It has no effect on tables, and is not refused.
        let other = "hbase.regionserver.handler.cuont";
        assert_eq!(nearest(other), Some("hbase.regionserver.handler.count"));
        assert_eq!(nearest_of_tables(other), None);
    }
}
