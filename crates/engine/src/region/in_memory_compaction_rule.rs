//! Condition of a family for in-memory compaction.

use halite_types::schema::{SYSTEM_NAMESPACE, family_attribute as fam};
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
        match policy(table, family).as_str() {
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

/// Returns the policy of a family in capitals; empty if the table does not name one. HBase ignores
/// the attribute in tables of its own namespace (`HStore.getMemstore`).
fn policy(table: &TableDescriptor, family: &FamilyDescriptor) -> String {
    let setting = |name: &str| table.family_setting(family, name);
    let policy = if table.name().namespace() == SYSTEM_NAMESPACE {
        setting(fam::SYSTEM_IN_MEMORY_COMPACTION_SETTING)
    } else {
        let attribute = family.attributes.get(fam::IN_MEMORY_COMPACTION).map(String::as_str);
        attribute.or_else(|| setting(fam::IN_MEMORY_COMPACTION_SETTING))
    };
    policy.unwrap_or_default().trim().to_ascii_uppercase()
}

/// Returns `true` if the family has HBase's `CompactingMemStore`, which a flush should leave in
/// memory rather than another one (HBase: `HStore.isSloppyMemStore`).
pub(super) fn has_compacting_memstore(table: &TableDescriptor, family: &FamilyDescriptor) -> bool {
    matches!(policy(table, family).as_str(), "BASIC" | "EAGER" | "ADAPTIVE")
}
