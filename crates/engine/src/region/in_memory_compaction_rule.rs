//! Condition of a family for in-memory compaction.

use halite_types::schema::family_attribute as fam;
use halite_types::{FamilyDescriptor, TableDescriptor};

/// Part of the engine's threshold from which an `EAGER` family is compacted.
const EAGER_DIVISOR: usize = 8;

/// Condition under which the memstore of a family is compacted: `IN_MEMORY_COMPACTION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InMemoryCompactionRule {
    /// `NONE`, and `BASIC`, which removes no cells in HBase: it packs its index, and the memstore
    /// here has no other index than its cells.
    Never,
    /// `ADAPTIVE`, and families without the attribute: once half of the cells are hidden and the
    /// memstore has the size of the engine's option.
    Large,
    /// `EAGER`: the same from an eighth of that size.
    Small,
}

impl InMemoryCompactionRule {
    pub(crate) fn new(table: &TableDescriptor, family: &FamilyDescriptor) -> Self {
        let attribute = family.attributes.get(fam::IN_MEMORY_COMPACTION).map(String::as_str);
        let setting = || table.family_setting(family, fam::IN_MEMORY_COMPACTION_SETTING);
        let policy = attribute.or_else(setting).unwrap_or_default();
        match policy.trim().to_ascii_uppercase().as_str() {
            "NONE" | "BASIC" => Self::Never,
            "EAGER" => Self::Small,
            _ => Self::Large,
        }
    }

    /// Returns the least bytes of a memstore that is compacted; `None` for never. `bytes` is the
    /// engine's option, 0 for never.
    pub(crate) fn min_bytes(self, bytes: usize) -> Option<usize> {
        match self {
            _ if bytes == 0 => None,
            Self::Never => None,
            Self::Large => Some(bytes),
            Self::Small => Some((bytes / EAGER_DIVISOR).max(1)),
        }
    }
}
