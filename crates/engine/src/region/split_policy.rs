//! Split policy of a table: the size at which a region is split automatically, and the split point.
//!
//! The class of `SPLIT_POLICY`, or of the setting `hbase.regionserver.region.split.policy`, decides
//! as the class of that name in HBase 2.6. HBase varies the maximum size of a region by an eighth
//! at random; here it is exact. A table without either is split at the maximum size.

use bytes::Bytes;
use halite_types::schema::table_attribute as tab;
use halite_types::{Error, Result, TableDescriptor};

use crate::options::Options;
use crate::table_class::{ClassAttribute, REGION_SERVER};

/// Number of regions of a table above which HBase's growing limit is the maximum size.
const MAX_GROWING_REGIONS: u64 = 100;

/// Rule of the size above which a region is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SizeRule {
    Never,
    /// At the maximum size.
    Maximum,
    /// At the initial size times the cube of the table's regions, at most at the maximum size.
    Growing,
    /// At the initial size while the table has one region, then at the maximum size.
    Stepping,
}

/// Classes of split policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PolicyClass {
    Disabled,
    ConstantSize,
    Increasing,
    Stepping,
    KeyPrefix,
    DelimitedKeyPrefix,
}

/// Attribute with the class of the policy.
const POLICY: ClassAttribute<PolicyClass> = ClassAttribute {
    name: tab::SPLIT_POLICY,
    package: REGION_SERVER,
    built: &[
        ("ConstantSizeRegionSplitPolicy", PolicyClass::ConstantSize),
        ("DelimitedKeyPrefixRegionSplitPolicy", PolicyClass::DelimitedKeyPrefix),
        ("DisabledRegionSplitPolicy", PolicyClass::Disabled),
        ("IncreasingToUpperBoundRegionSplitPolicy", PolicyClass::Increasing),
        ("KeyPrefixRegionSplitPolicy", PolicyClass::KeyPrefix),
        ("SteppingSplitPolicy", PolicyClass::Stepping),
    ],
    unbuilt: &[(
        "BusyRegionSplitPolicy",
        "requests of a busy region are not blocked here, so it has nothing to count; choose \
         IncreasingToUpperBoundRegionSplitPolicy, which it extends",
    )],
};

/// Returns the full names of the classes that `SPLIT_POLICY` may name.
pub fn split_policy_classes() -> impl Iterator<Item = String> {
    POLICY.names()
}

/// Part of a split point that is its region's new start key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Restriction {
    #[default]
    None,
    /// The first bytes: the rows with these bytes stay together.
    Prefix(usize),
    /// The bytes before the first occurrence of these: the rows with these bytes stay together.
    Delimiter(Bytes),
}

impl Restriction {
    fn apply(&self, row: &Bytes) -> Bytes {
        match self {
            Self::None => row.clone(),
            Self::Prefix(bytes) => row.slice(..row.len().min(*bytes)),
            Self::Delimiter(delimiter) => row
                .windows(delimiter.len().max(1))
                .position(|window| window == &delimiter[..])
                .map_or_else(|| row.clone(), |at| row.slice(..at)),
        }
    }
}

/// Split policy of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitPolicy {
    size: SizeRule,
    initial_bytes: u64,
    max_bytes: u64,
    /// `true` if the stores of a region are added; otherwise the largest one decides.
    is_sum: bool,
    /// Of a split point that the policy chooses.
    of_policy: Restriction,
    /// Of every split point, requested ones included.
    of_table: Restriction,
}

impl SplitPolicy {
    /// Returns the policy of a table. Where the table's settings are invalid, which only those of
    /// an old store are, the default applies.
    pub(crate) fn new(table: &TableDescriptor, options: &Options) -> Self {
        let class = class_of(table).and_then(|class| POLICY.find(class));
        let number = |name: &str| {
            table.setting(name).and_then(|text| text.trim().parse().ok()).filter(|n: &u64| *n > 0)
        };
        let flush_bytes = table.memstore_flush_bytes().unwrap_or(options.memstore_flush_bytes);
        Self {
            size: match class {
                None | Some(PolicyClass::ConstantSize) => SizeRule::Maximum,
                Some(PolicyClass::Disabled) => SizeRule::Never,
                Some(PolicyClass::Stepping) => SizeRule::Stepping,
                Some(
                    PolicyClass::Increasing
                    | PolicyClass::KeyPrefix
                    | PolicyClass::DelimitedKeyPrefix,
                ) => SizeRule::Growing,
            },
            initial_bytes: number(tab::SPLIT_INITIAL_SIZE).unwrap_or(flush_bytes.saturating_mul(2)),
            max_bytes: table
                .max_file_size_bytes()
                .or_else(|| number(tab::MAX_REGION_FILE_SIZE))
                .unwrap_or(options.max_region_file_bytes),
            is_sum: table
                .setting(tab::SPLIT_OVERALL_FILES)
                .is_some_and(|text| text.trim().eq_ignore_ascii_case("true")),
            of_policy: policy_restriction(table, class).unwrap_or_default(),
            of_table: table_restriction(table).unwrap_or_default(),
        }
    }

    /// Checks the policy of a table.
    ///
    /// # Errors
    /// `InvalidRequest` or `Unsupported` with the attribute, its value and the allowed ones. HBase
    /// logs an error, and splits inside the groups of rows.
    pub(crate) fn check(table: &TableDescriptor) -> Result<()> {
        let class = class_of(table).map(|class| POLICY.check(class)).transpose()?;
        policy_restriction(table, class)?;
        table_restriction(table)?;
        Ok(())
    }

    /// Returns `false` if no region may be split, not even on request (HBase:
    /// `RegionSplitPolicy.canSplit`, which only `DisabledRegionSplitPolicy` overrides).
    pub(crate) fn can_split(&self) -> bool {
        self.size != SizeRule::Never
    }

    /// Returns `true` if a region with stores of these sizes in bytes is split, when its table has
    /// `regions` regions.
    pub(crate) fn should_split(&self, stores: impl Iterator<Item = u64>, regions: u64) -> bool {
        let size = if self.is_sum {
            stores.fold(0, u64::saturating_add)
        } else {
            stores.max().unwrap_or(0)
        };
        self.limit_bytes(regions).is_some_and(|most| size > most)
    }

    /// Returns the size in bytes above which a region is split; `None` for never.
    fn limit_bytes(&self, regions: u64) -> Option<u64> {
        match self.size {
            SizeRule::Never => None,
            SizeRule::Growing if (1..=MAX_GROWING_REGIONS).contains(&regions) => {
                Some(self.initial_bytes.saturating_mul(regions.pow(3)).min(self.max_bytes))
            }
            SizeRule::Stepping if regions == 1 => Some(self.initial_bytes),
            SizeRule::Maximum | SizeRule::Growing | SizeRule::Stepping => Some(self.max_bytes),
        }
    }

    /// Returns the split point for the middle row of a region. It may be the region's start key.
    pub(crate) fn split_point(&self, middle: &Bytes) -> Bytes {
        self.of_table.apply(&self.of_policy.apply(middle))
    }

    /// Returns the split point for a requested one.
    pub(crate) fn requested_split_point(&self, row: &Bytes) -> Bytes {
        self.of_table.apply(row)
    }
}

fn class_of(table: &TableDescriptor) -> Option<&str> {
    let attribute = table.attributes.get(tab::SPLIT_POLICY).map(String::as_str);
    attribute.or_else(|| table.setting(tab::SPLIT_POLICY_SETTING)).filter(|class| !class.is_empty())
}

/// Returns the restriction of the class.
fn policy_restriction(table: &TableDescriptor, class: Option<PolicyClass>) -> Result<Restriction> {
    match class {
        Some(PolicyClass::KeyPrefix) => prefix(
            table,
            if table.setting(tab::SPLIT_PREFIX_LENGTH).is_none()
                && table.setting(tab::OLD_SPLIT_PREFIX_LENGTH).is_some()
            {
                tab::OLD_SPLIT_PREFIX_LENGTH
            } else {
                tab::SPLIT_PREFIX_LENGTH
            },
        ),
        Some(PolicyClass::DelimitedKeyPrefix) => delimiter(table, tab::SPLIT_DELIMITER),
        _ => Ok(Restriction::None),
    }
}

/// Returns the restriction of the setting `hbase.regionserver.region.split_restriction.type`.
fn table_restriction(table: &TableDescriptor) -> Result<Restriction> {
    match table.setting(tab::SPLIT_RESTRICTION) {
        None | Some("None") => Ok(Restriction::None),
        Some("KeyPrefix") => prefix(table, tab::SPLIT_RESTRICTION_PREFIX_LENGTH),
        Some("DelimitedKeyPrefix") => delimiter(table, tab::SPLIT_RESTRICTION_DELIMITER),
        Some(other) => Err(Error::invalid(format!(
            "invalid {} {other:?}: expected one of None, KeyPrefix, DelimitedKeyPrefix",
            tab::SPLIT_RESTRICTION
        ))),
    }
}

fn prefix(table: &TableDescriptor, name: &str) -> Result<Restriction> {
    let given = table.setting(name);
    let length = given.and_then(|text| text.trim().parse::<i32>().ok()).filter(|n| *n > 0);
    length.and_then(|length| usize::try_from(length).ok()).map(Restriction::Prefix).ok_or_else(
        || {
            let given =
                given.map_or_else(|| "is not set".to_owned(), |text| format!("is {text:?}"));
            Error::invalid(format!(
                "{name} {given}; set it to the number of first bytes of a row that a split does \
                 not separate"
            ))
        },
    )
}

fn delimiter(table: &TableDescriptor, name: &str) -> Result<Restriction> {
    match table.setting(name) {
        Some(text) if !text.is_empty() => {
            Ok(Restriction::Delimiter(Bytes::copy_from_slice(text.as_bytes())))
        }
        _ => Err(Error::invalid(format!(
            "{name} is not set; set it to the text after the part of a row that a split does not \
             separate"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use halite_types::FamilyDescriptor;

    use super::*;

    fn table(attributes: &[(&str, &str)]) -> TableDescriptor {
        let table = TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f"));
        attributes.iter().fold(table, |table, (name, value)| {
            let is_class = *name == tab::SPLIT_POLICY && !value.contains('.');
            let package = if is_class { REGION_SERVER } else { "" };
            table.set(*name, format!("{package}{value}"))
        })
    }

    fn options() -> Options {
        Options { memstore_flush_bytes: 100, max_region_file_bytes: 10_000, ..Options::default() }
    }

    /// Returns the sizes at which regions of tables of 1, 2, 3 and 101 regions are split.
    fn limits(attributes: &[(&str, &str)]) -> [Option<u64>; 4] {
        let policy = SplitPolicy::new(&table(attributes), &options());
        [1, 2, 3, 101].map(|regions| policy.limit_bytes(regions))
    }

    #[test]
    fn size_grows_with_regions_as_class_says() {
        let most = Some(10_000);
        assert_eq!(limits(&[]), [most; 4]);
        assert_eq!(limits(&[("SPLIT_POLICY", "ConstantSizeRegionSplitPolicy")]), [most; 4]);
        assert_eq!(limits(&[("SPLIT_POLICY", "DisabledRegionSplitPolicy")]), [None; 4]);
        let stepping = ("SPLIT_POLICY", "SteppingSplitPolicy");
        assert_eq!(limits(&[stepping]), [Some(200), most, most, most]);
        let growing = ("SPLIT_POLICY", "IncreasingToUpperBoundRegionSplitPolicy");
        assert_eq!(limits(&[growing]), [Some(200), Some(1600), Some(5400), most]);
        assert_eq!(
            limits(&[growing, ("MAX_FILESIZE", "1000"), ("MEMSTORE_FLUSHSIZE", "50")]),
            [Some(100), Some(800), Some(1000), Some(1000)]
        );
        assert_eq!(
            limits(&[growing, ("hbase.increasing.policy.initial.size", "7")]),
            [Some(7), Some(56), Some(189), most]
        );
        let setting = "hbase.regionserver.region.split.policy";
        let class = "org.apache.hadoop.hbase.regionserver.SteppingSplitPolicy";
        assert_eq!(limits(&[(setting, class)]), [Some(200), most, most, most]);
    }

    #[test]
    fn largest_store_decides_unless_all_are_added() {
        let policy = |all: &str| {
            SplitPolicy::new(&table(&[("hbase.hregion.split.overallfiles", all)]), &options())
        };
        let sizes = || [6000, 4001].into_iter();
        assert!(!policy("false").should_split(sizes(), 1));
        assert!(policy("true").should_split(sizes(), 1));
        assert!(policy("false").should_split([10_001].into_iter(), 1));
        assert!(!policy("false").should_split([10_000].into_iter(), 1));
    }

    #[test]
    fn split_point_keeps_groups_together() {
        let point = |attributes: &[(&str, &str)], row: &'static str| {
            let policy = SplitPolicy::new(&table(attributes), &options());
            let row = Bytes::from(row);
            let text = |row: Bytes| String::from_utf8(row.to_vec()).unwrap();
            (text(policy.split_point(&row)), text(policy.requested_split_point(&row)))
        };
        let same = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let prefix = ("SPLIT_POLICY", "KeyPrefixRegionSplitPolicy");
        for name in
            ["KeyPrefixRegionSplitPolicy.prefix_length", "prefix_split_key_policy.prefix_length"]
        {
            assert_eq!(point(&[prefix, (name, "3")], "abcdef"), same("abc", "abcdef"));
            assert_eq!(point(&[prefix, (name, "3")], "ab"), same("ab", "ab"));
        }
        let delimited = ("SPLIT_POLICY", "DelimitedKeyPrefixRegionSplitPolicy");
        let delimiter = ("DelimitedKeyPrefixRegionSplitPolicy.delimiter", "::");
        assert_eq!(point(&[delimited, delimiter], "user:1::x::y"), same("user:1", "user:1::x::y"));
        assert_eq!(point(&[delimited, delimiter], "user"), same("user", "user"));
        let restricted = [
            ("hbase.regionserver.region.split_restriction.type", "KeyPrefix"),
            ("hbase.regionserver.region.split_restriction.prefix_length", "2"),
        ];
        assert_eq!(point(&restricted, "abcd"), same("ab", "ab"));
    }

    #[test]
    fn policy_without_its_attribute_is_refused() {
        let refusal =
            |attributes: &[(&str, &str)]| SplitPolicy::check(&table(attributes)).unwrap_err();
        for (attributes, text) in [
            (
                &[("SPLIT_POLICY", "KeyPrefixRegionSplitPolicy")][..],
                "KeyPrefixRegionSplitPolicy.prefix_length is not set; set it to the number",
            ),
            (
                &[
                    ("SPLIT_POLICY", "KeyPrefixRegionSplitPolicy"),
                    ("KeyPrefixRegionSplitPolicy.prefix_length", "0"),
                ],
                "KeyPrefixRegionSplitPolicy.prefix_length is \"0\"; set it",
            ),
            (
                &[("SPLIT_POLICY", "DelimitedKeyPrefixRegionSplitPolicy")],
                "DelimitedKeyPrefixRegionSplitPolicy.delimiter is not set",
            ),
            (
                &[("hbase.regionserver.region.split_restriction.type", "keyprefix")],
                "expected one of None, KeyPrefix, DelimitedKeyPrefix",
            ),
            (&[("SPLIT_POLICY", "SteppingRegionSplitPolicy")], "expected org.apache.hadoop"),
            (&[("SPLIT_POLICY", "BusyRegionSplitPolicy")], "is not built in"),
        ] {
            let error = refusal(attributes);
            assert!(error.message().contains(text), "{error}");
        }
    }
}
