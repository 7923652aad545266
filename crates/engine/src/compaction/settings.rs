//! Compaction settings of a family in its table's descriptor.

use halite_types::schema::family_attribute as fam;
use halite_types::{FamilyDescriptor, TableDescriptor};

/// Compaction settings of a table or a family that replace the engine's options, parsed once.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompactionSettings {
    pub(crate) min_files: Option<usize>,
    pub(crate) max_files: Option<usize>,
    pub(crate) ratio: Option<f64>,
    /// Ratio while the region is idle (HBase: in off-peak hours).
    pub(crate) idle_ratio: Option<f64>,
    pub(crate) delete_expired_files: Option<bool>,
}

impl CompactionSettings {
    /// Parses the settings of a family, which has those of its table unless it has its own.
    pub(crate) fn new(table: &TableDescriptor, family: &FamilyDescriptor) -> Self {
        let setting = |name: &str| table.family_setting(family, name).map(str::trim);
        // HBase does not start with a value beyond an int.
        let files = |name: &str| {
            setting(name)
                .and_then(|text| text.parse::<i32>().ok())
                .and_then(|files| usize::try_from(files).ok())
                .filter(|files| *files > 1)
        };
        let ratio = |name: &str| {
            setting(name)
                .and_then(|text| text.parse().ok())
                .filter(|ratio: &f64| ratio.is_finite() && *ratio > 0.0)
        };
        Self {
            min_files: files(fam::MIN_COMPACTION_FILES)
                .or_else(|| files(fam::COMPACTION_THRESHOLD)),
            max_files: files(fam::MAX_COMPACTION_FILES),
            ratio: ratio(fam::COMPACTION_RATIO),
            idle_ratio: ratio(fam::OFF_PEAK_COMPACTION_RATIO),
            delete_expired_files: setting(fam::DELETE_EXPIRED_FILES)
                .map(|text| text.eq_ignore_ascii_case("true")),
        }
    }
}
