//! Compaction policy of a family: HBase's store engines and policy classes in its settings.

use halite_types::schema::family_attribute as fam;
use halite_types::{Error, ErrorKind, FamilyDescriptor, Result, TableDescriptor};

use super::policy::{CompactionPlan, CompactionPolicy, DateTiered, FileStats, select, select_fifo};
use crate::table_class::{ClassAttribute, REGION_SERVER};

/// Store engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    Default,
    DateTiered,
}

const ENGINE: ClassAttribute<Engine> = ClassAttribute {
    name: fam::STORE_ENGINE,
    package: REGION_SERVER,
    built: &[
        ("DefaultStoreEngine", Engine::Default),
        ("DateTieredStoreEngine", Engine::DateTiered),
    ],
    unbuilt: &[
        ("StripeStoreEngine", "split the region in place of stripes, and leave the engine out"),
        ("CustomTieredStoreEngine", "choose DateTieredStoreEngine, which has tiers by timestamp"),
    ],
};

/// Policies of the default store engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Exploring,
    Fifo,
}

const POLICY: ClassAttribute<Policy> = ClassAttribute {
    name: fam::COMPACTION_POLICY,
    package: COMPACTIONS,
    built: &[
        ("ExploringCompactionPolicy", Policy::Exploring),
        ("FIFOCompactionPolicy", Policy::Fifo),
    ],
    unbuilt: &[(
        "RatioBasedCompactionPolicy",
        "choose ExploringCompactionPolicy, which extends it",
    )],
};

const COMPACTIONS: &str = "org.apache.hadoop.hbase.regionserver.compactions.";

/// Settings of the date-tiered policy that have one value here.
const FIXED: [(&str, &str); 3] = [
    (
        "hbase.hstore.compaction.date.tiered.window.policy.class",
        "org.apache.hadoop.hbase.regionserver.compactions.ExploringCompactionPolicy",
    ),
    (
        "hbase.hstore.compaction.date.tiered.window.factory.class",
        "org.apache.hadoop.hbase.regionserver.compactions.ExponentialCompactionWindowFactory",
    ),
    ("hbase.hstore.compaction.date.tiered.storage.policy.enable", "false"),
];

/// Settings of a family, or of its table.
pub(crate) struct StoreSettings<'a> {
    table: &'a TableDescriptor,
    family: &'a FamilyDescriptor,
}

impl<'a> StoreSettings<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.table.family_setting(self.family, name).map(str::trim).filter(|text| !text.is_empty())
    }

    /// Returns a positive number.
    ///
    /// # Errors
    /// `InvalidRequest` for any other value.
    pub(super) fn number(&self, name: &str, default: i64) -> Result<i64> {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.parse().ok().filter(|number| *number > 0).ok_or_else(|| {
            Error::invalid(format!("invalid {name} {text:?}: expected a positive integer"))
        })
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> bool {
        self.text(name).map_or(default, |text| text.eq_ignore_ascii_case("true"))
    }
}

/// Compaction policy of a family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StorePolicy {
    /// Files of similar sizes are merged.
    #[default]
    Exploring,
    /// Files are deleted once all their cells have expired, and not merged otherwise.
    Fifo,
    /// Files of one window of time are merged.
    DateTiered(DateTiered),
}

impl StorePolicy {
    /// Returns the policy of a family.
    ///
    /// # Errors
    /// `Unsupported` for a class without a counterpart, `InvalidRequest` for an invalid value.
    pub(crate) fn new(table: &TableDescriptor, family: &FamilyDescriptor) -> Result<Self> {
        let settings = StoreSettings { table, family };
        let engine = settings.text(fam::STORE_ENGINE).map(|class| ENGINE.check(class));
        let policy = settings.text(fam::COMPACTION_POLICY).map(|class| POLICY.check(class));
        match (engine.transpose()?, policy.transpose()?) {
            (Some(Engine::DateTiered), _) => {
                for (name, only) in FIXED {
                    if let Some(value) = settings.text(name).filter(|value| *value != only) {
                        return Err(Error::new(
                            ErrorKind::Unsupported,
                            format!("{name} {value} is not built in; leave it out, or set {only}"),
                        ));
                    }
                }
                DateTiered::new(&settings).map(Self::DateTiered)
            }
            (_, Some(Policy::Fifo)) => Ok(Self::Fifo),
            (Some(Engine::Default) | None, Some(Policy::Exploring) | None) => Ok(Self::Exploring),
        }
    }

    /// Returns the plan for a store's files, oldest first; `None` if there is nothing to do.
    pub(crate) fn select(
        &self,
        files: &[FileStats],
        policy: &CompactionPolicy,
    ) -> Option<CompactionPlan> {
        match self {
            Self::Exploring => select(files, policy),
            Self::Fifo => select_fifo(files, policy),
            Self::DateTiered(tiers) => tiers.select(files, policy),
        }
    }

    /// Returns the first timestamps of the files that a compaction writes, in ascending order, the
    /// first of them the least of all. `is_major` is `true` if all files of the store are merged.
    pub(crate) fn output_bounds(&self, inputs: &[FileStats], is_major: bool, now: i64) -> Vec<i64> {
        match self {
            Self::Exploring | Self::Fifo => vec![i64::MIN],
            Self::DateTiered(tiers) => tiers.output_bounds(inputs, is_major, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(settings: &[(&str, &str)]) -> Result<StorePolicy> {
        let family = settings
            .iter()
            .fold(FamilyDescriptor::new("f"), |family, (name, value)| family.set(*name, value));
        StorePolicy::new(&TableDescriptor::new("t".parse()?), &family)
    }

    #[test]
    fn unbuilt_store_engine_is_refused_by_name() {
        let engine = |class: &str| {
            policy(&[("hbase.hstore.engine.class", &format!("{REGION_SERVER}{class}"))])
        };
        assert_eq!(engine("DefaultStoreEngine").unwrap(), StorePolicy::Exploring);
        assert!(matches!(engine("DateTieredStoreEngine").unwrap(), StorePolicy::DateTiered(_)));
        let error = engine("StripeStoreEngine").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("StripeStoreEngine is not built in"), "{error}");
        let error = engine("DateTierdStoreEngine").unwrap_err();
        assert!(error.message().contains("DateTieredStoreEngine?"), "{error}");
    }

    #[test]
    fn invalid_date_tiered_setting_is_refused() {
        let class = format!("{REGION_SERVER}DateTieredStoreEngine");
        let tiered = |name: &str, value: &str| {
            policy(&[("hbase.hstore.engine.class", &class), (name, value)])
        };
        let prefix = "hbase.hstore.compaction.date.tiered";
        assert!(tiered(&format!("{prefix}.windows.per.tier"), "2").is_ok());
        for value in ["0", "-1", "four"] {
            let error = tiered(&format!("{prefix}.windows.per.tier"), value).unwrap_err();
            assert!(error.message().contains("expected a positive integer"), "{error}");
        }
        let error = tiered(&format!("{prefix}.window.factory.class"), "x.Y").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn fifo_policy_only_drops_expired_files() {
        let fifo = policy(&[(
            "hbase.hstore.defaultengine.compactionpolicy.class",
            "org.apache.hadoop.hbase.regionserver.compactions.FIFOCompactionPolicy",
        )]);
        assert_eq!(fifo.unwrap(), StorePolicy::Fifo);
    }
}
