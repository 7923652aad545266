//! Compaction policy of a family: HBase's store engines and policy classes in its settings.

use halite_types::schema::family_attribute as fam;
use halite_types::{Error, ErrorKind, FamilyDescriptor, Result, TableDescriptor};

use super::policy::{
    CompactionPlan, CompactionPolicy, DateTiered, FileStats, StripeSplit, Stripes, select,
    select_fifo, select_ratio,
};
use super::store_settings::StoreSettings;
use crate::store::Division;
use crate::table_class::{ClassAttribute, REGION_SERVER};

/// Store engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Engine {
    Default,
    DateTiered,
    Stripes,
}

const ENGINE: ClassAttribute<Engine> = ClassAttribute {
    name: fam::STORE_ENGINE,
    package: REGION_SERVER,
    built: &[
        ("DefaultStoreEngine", Engine::Default),
        ("DateTieredStoreEngine", Engine::DateTiered),
        ("StripeStoreEngine", Engine::Stripes),
    ],
    unbuilt: &[(
        "CustomTieredStoreEngine",
        "choose DateTieredStoreEngine, which has tiers by timestamp",
    )],
};

/// Policies of the default store engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Exploring,
    Ratio,
    Fifo,
}

const POLICY: ClassAttribute<Policy> = ClassAttribute {
    name: fam::COMPACTION_POLICY,
    package: COMPACTIONS,
    built: &[
        ("ExploringCompactionPolicy", Policy::Exploring),
        ("RatioBasedCompactionPolicy", Policy::Ratio),
        ("FIFOCompactionPolicy", Policy::Fifo),
    ],
    unbuilt: &[],
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

/// Compaction policy of a family.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum StorePolicy {
    /// Files of similar sizes are merged.
    #[default]
    Exploring,
    /// All files after the first that is not much larger than the newer ones are merged.
    Ratio,
    /// Files are deleted once all their cells have expired, and not merged otherwise.
    Fifo,
    /// Files of one window of time are merged.
    DateTiered(DateTiered),
    /// Files of one range of rows are merged.
    Stripes(Stripes),
}

impl StorePolicy {
    /// Returns the policy of a family.
    ///
    /// # Errors
    /// `Unsupported` for a class without a counterpart, `InvalidRequest` for an invalid value.
    pub(crate) fn new(table: &TableDescriptor, family: &FamilyDescriptor) -> Result<Self> {
        let settings = StoreSettings::new(table, family);
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
            (Some(Engine::Stripes), _) => Stripes::new(&settings).map(Self::Stripes),
            (_, Some(Policy::Fifo)) => Ok(Self::Fifo),
            (_, Some(Policy::Ratio)) => Ok(Self::Ratio),
            (Some(Engine::Default) | None, Some(Policy::Exploring) | None) => Ok(Self::Exploring),
        }
    }

    /// Returns the plan for a store's files, oldest first; `None` if there is nothing to do, or only
    /// with files that are claimed. Stores without stripes have one compaction at a time.
    pub(crate) fn select(
        &self,
        files: &[FileStats],
        policy: &CompactionPolicy,
    ) -> Option<CompactionPlan> {
        if let Self::Stripes(stripes) = self {
            return stripes.select(files, policy);
        }
        if files.iter().any(|file| file.is_claimed) {
            return None;
        }
        match self {
            Self::Exploring | Self::Stripes(_) => select(files, policy),
            Self::Ratio => select_ratio(files, policy),
            Self::Fifo => select_fifo(files, policy),
            Self::DateTiered(tiers) => tiers.select(files, policy),
        }
    }

    /// Returns the division of the cells that a merge of `inputs` writes. `is_major` is `true` if
    /// all files of the store are merged. Stores with stripes divide their merges themselves
    /// ([`CompactionPlan::Stripes`]), except those of all files.
    pub(crate) fn division(
        &self,
        inputs: &[FileStats],
        is_major: bool,
        policy: &CompactionPolicy,
    ) -> Division {
        match self {
            Self::Exploring | Self::Ratio | Self::Fifo => Division::Whole,
            Self::DateTiered(tiers) => {
                Division::Times(tiers.output_bounds(inputs, is_major, policy.now))
            }
            Self::Stripes(stripes) => stripes.major_division(inputs, policy),
        }
    }

    /// Returns the division of a flush of `cells` cells as of `sequence`; `files` returns the facts
    /// of the store's files, oldest first.
    pub(crate) fn flush_division(
        &self,
        files: impl FnOnce() -> Vec<FileStats>,
        cells: u64,
        sequence: u64,
    ) -> Division {
        match self {
            Self::Exploring | Self::Ratio | Self::Fifo | Self::DateTiered(_) => Division::Whole,
            Self::Stripes(stripes) => stripes.flush_division(&files(), cells, sequence),
        }
    }

    /// Returns where a region is split whose largest store has these files, oldest first.
    pub(crate) fn split(&self, files: &[FileStats]) -> StripeSplit {
        match self {
            Self::Stripes(stripes) => stripes.split(files),
            _ => StripeSplit::Files((0..files.len()).collect()),
        }
    }

    /// Returns the number of files of a store that a read of one row has to consider, at most;
    /// `count` is that of all, and `files` returns their facts, oldest first.
    pub(crate) fn files_of_row(
        &self,
        count: usize,
        files: impl FnOnce() -> Vec<FileStats>,
    ) -> usize {
        match self {
            Self::Stripes(_) => Stripes::files_of_row(&files()),
            _ => count,
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
        assert!(matches!(engine("StripeStoreEngine").unwrap(), StorePolicy::Stripes(_)));
        let error = engine("CustomTieredStoreEngine").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("CustomTieredStoreEngine is not built in"), "{error}");
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
    fn invalid_stripe_setting_is_refused() {
        let class = format!("{REGION_SERVER}StripeStoreEngine");
        let with = |name: &str, value: &str| {
            policy(&[("hbase.hstore.engine.class", &class), (name, value)])
        };
        assert!(with("hbase.store.stripe.splitPartCount", "0.25").is_ok());
        for (name, value) in
            [("initialStripeCount", "0"), ("sizeToSplit", "1g"), ("splitPartCount", "0")]
        {
            let error = with(&format!("hbase.store.stripe.{name}"), value).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest);
            assert!(error.message().contains(name), "{error}");
        }
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
