//! Flush policy of a table: the families that a flush writes when no caller requested it.
//!
//! The class of `FLUSH_POLICY`, or of the setting `hbase.regionserver.flush.policy`, decides as the
//! class of that name in HBase 2.6. The default is `FlushAllLargeStoresPolicy`: a family is written
//! if its memstores are larger than the lower bound, or if it lies too many writes behind. The rest
//! stays in memory, since small files would only be compacted soon. If no family is chosen, all are
//! written, so every flush frees memory.
//!
//! | HBase's name | meaning |
//! |---|---|
//! | `hbase.hregion.percolumnfamilyflush.size.lower.bound` | lower bound in bytes; otherwise it is the flush size divided by the number of families, at least the next one |
//! | `hbase.hregion.percolumnfamilyflush.size.lower.bound.min` | otherwise [`Options::min_family_flush_bytes`] |
//! | `hbase.regionserver.flush.per.changes` | writes of the region, 30 million, after which a family is written whatever its size |
//!
//! They are settings of tables. Those without a class have that of [`Options::flush_policy`]. As in
//! HBase (`HRegion.initializeStores`), a family with in-memory compaction selects
//! `FlushNonSloppyStoresFirstPolicy` for its table. Two differences: sizes are those of the memory
//! in use, as that which triggers the flush, where HBase adds up the cells alone; and age in time
//! does not count, since nothing is flushed by time here.

use halite_types::schema::table_attribute as tab;
use halite_types::{Result, TableDescriptor};

use super::in_memory_compaction_rule::has_compacting_memstore;
use crate::options::{FlushPolicyClass, Options};
use crate::table_class::{ClassAttribute, REGION_SERVER};

/// Default number of writes after which a family is flushed (HBase:
/// `HRegion.DEFAULT_FLUSH_PER_CHANGES`).
const MAX_UNFLUSHED_WRITES: u64 = 30_000_000;

/// Attribute with the class of the policy.
const POLICY: ClassAttribute<FlushPolicyClass> = ClassAttribute {
    name: tab::FLUSH_POLICY,
    package: REGION_SERVER,
    built: &[
        ("FlushAllLargeStoresPolicy", FlushPolicyClass::LargeStores),
        ("FlushAllStoresPolicy", FlushPolicyClass::AllStores),
        ("FlushNonSloppyStoresFirstPolicy", FlushPolicyClass::NonSloppyStoresFirst),
    ],
    unbuilt: &[],
};

impl FlushPolicyClass {
    /// Returns the class with this name in HBase, with or without its package.
    ///
    /// # Errors
    /// `InvalidRequest` with the allowed names.
    pub fn from_name(name: &str) -> Result<Self> {
        let name = name.trim();
        if name.contains('.') {
            POLICY.check(name)
        } else {
            POLICY.check(&format!("{REGION_SERVER}{name}"))
        }
    }

    /// Returns the name in HBase, without the package.
    pub fn name(self) -> &'static str {
        match self {
            Self::LargeStores => "FlushAllLargeStoresPolicy",
            Self::AllStores => "FlushAllStoresPolicy",
            Self::NonSloppyStoresFirst => "FlushNonSloppyStoresFirstPolicy",
        }
    }
}

/// State of a store before a flush.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StoreState {
    /// Memory of its memstores, in bytes.
    pub(super) bytes: u64,
    /// Number of writes to the region since all of its cells were in files; 0 if it has no cells in
    /// memory.
    pub(super) unflushed_writes: u64,
    /// `true` if a failed flush left a memstore that accepts no cells.
    pub(super) is_frozen: bool,
}

/// Flush policy of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlushPolicy {
    class: FlushPolicyClass,
    lower_bound_bytes: u64,
    max_unflushed_writes: u64,
    /// For each family, in order: `true` if its memstore is compacted.
    is_compacting: Vec<bool>,
}

impl FlushPolicy {
    /// Returns the policy of a table. Where the table's settings are invalid, the default applies,
    /// as in HBase.
    pub(super) fn new(table: &TableDescriptor, options: &Options) -> Self {
        let number = |name: &str| table.setting(name)?.trim().parse::<u64>().ok();
        let is_compacting: Vec<bool> =
            table.families().map(|family| has_compacting_memstore(table, family)).collect();
        let class = if is_compacting.contains(&true) {
            FlushPolicyClass::NonSloppyStoresFirst
        } else {
            class_of(table).and_then(|class| POLICY.find(class)).unwrap_or(options.flush_policy)
        };
        let flush_bytes = table.memstore_flush_bytes().unwrap_or(options.memstore_flush_bytes);
        let average = flush_bytes / (is_compacting.len() as u64).max(1);
        let least = number(tab::FLUSH_LOWER_BOUND_MIN).unwrap_or(options.min_family_flush_bytes);
        Self {
            class,
            lower_bound_bytes: number(tab::FLUSH_LOWER_BOUND).unwrap_or(average.max(least)),
            max_unflushed_writes: number(tab::FLUSH_PER_CHANGES).unwrap_or(MAX_UNFLUSHED_WRITES),
            is_compacting,
        }
    }

    /// Checks the class of a table's policy.
    ///
    /// # Errors
    /// `InvalidRequest` with the attribute, its value and the allowed ones. HBase logs a warning,
    /// and applies the default.
    pub(crate) fn check(table: &TableDescriptor) -> Result<()> {
        class_of(table).map_or(Ok(()), |class| POLICY.check(class).map(drop))
    }

    /// Returns `true` if each flush writes all stores.
    pub(super) fn flushes_all(&self) -> bool {
        self.class == FlushPolicyClass::AllStores
    }

    /// Returns `true` for each store that is flushed. At least one store with cells is, if there
    /// are any.
    pub(super) fn choose(&self, stores: &[StoreState]) -> Vec<bool> {
        let is_large = |store: &StoreState| store.is_frozen || store.bytes > self.lower_bound_bytes;
        let is_old = |store: &StoreState| store.unflushed_writes > self.max_unflushed_writes;
        let is_regular = |index: usize| !self.is_compacting.get(index).copied().unwrap_or(false);
        let which = |choose: &dyn Fn(usize, &StoreState) -> bool| -> Vec<bool> {
            stores.iter().enumerate().map(|(index, store)| choose(index, store)).collect()
        };
        let choices = match self.class {
            FlushPolicyClass::AllStores => Vec::new(),
            FlushPolicyClass::LargeStores => {
                vec![which(&|_, store| is_large(store) || is_old(store))]
            }
            FlushPolicyClass::NonSloppyStoresFirst => vec![
                which(&|index, store| is_regular(index) && (is_large(store) || is_old(store))),
                which(&|index, store| !is_regular(index) && is_large(store)),
            ],
        };
        let has_cells = |chosen: &Vec<bool>| {
            chosen.iter().zip(stores).any(|(is_chosen, store)| *is_chosen && store.bytes > 0)
        };
        choices.into_iter().find(has_cells).unwrap_or_else(|| vec![true; stores.len()])
    }
}

fn class_of(table: &TableDescriptor) -> Option<&str> {
    let attribute = table.attributes.get(tab::FLUSH_POLICY).map(String::as_str);
    attribute.or_else(|| table.setting(tab::FLUSH_POLICY_SETTING)).filter(|class| !class.is_empty())
}

#[cfg(test)]
mod tests {
    use halite_types::FamilyDescriptor;

    use super::*;

    const PACKAGE: &str = "org.apache.hadoop.hbase.regionserver.";

    fn table(families: &[&str], settings: &[(&str, &str)]) -> TableDescriptor {
        let mut table = TableDescriptor::new("t".parse().unwrap());
        for family in families {
            let (name, compaction) = family.split_once(' ').unwrap_or((family, ""));
            let mut family = FamilyDescriptor::new(name.to_owned());
            if !compaction.is_empty() {
                family = family.set("IN_MEMORY_COMPACTION", compaction);
            }
            table.set_family(family);
        }
        settings.iter().fold(table, |table, (name, value)| table.set(*name, value))
    }

    /// Returns the flushed families, with sizes in MiB.
    fn chosen(table: &TableDescriptor, sizes: &[u64]) -> String {
        let stores: Vec<StoreState> = sizes
            .iter()
            .map(|mib| StoreState { bytes: mib << 20, ..StoreState::default() })
            .collect();
        names(table, &stores)
    }

    fn names(table: &TableDescriptor, stores: &[StoreState]) -> String {
        let chosen = FlushPolicy::new(table, &Options::default()).choose(stores);
        let names = table.families().map(|family| String::from_utf8_lossy(family.name()));
        names.zip(chosen).filter(|(_, is_chosen)| *is_chosen).map(|(name, _)| name).collect()
    }

    fn class(name: &str) -> (&'static str, String) {
        ("FLUSH_POLICY", format!("{PACKAGE}{name}"))
    }

    #[test]
    fn large_families_are_chosen_and_all_if_none_is() {
        let plain = table(&["a", "b", "c", "d"], &[]);
        // 128 MiB / 4.
        assert_eq!(chosen(&plain, &[100, 33, 32, 1]), "ab");
        assert_eq!(chosen(&plain, &[32, 32, 32, 32]), "abcd");
        // 128 MiB / 16 is below the minimum of 16 MiB.
        let families: Vec<String> = (0..16).map(|index| format!("{index:x}")).collect();
        let wide = table(&families.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
        assert_eq!(chosen(&wide, &[vec![17, 16], vec![9; 14]].concat()), "0");
        let (name, value) = class("FlushAllStoresPolicy");
        assert_eq!(chosen(&table(&["a", "b"], &[(name, &value)]), &[100, 1]), "ab");
    }

    #[test]
    fn lower_bound_is_of_table_or_smallest_average() {
        let bound = ["hbase.hregion.percolumnfamilyflush.size.lower.bound", "5242880"];
        let min = ["hbase.hregion.percolumnfamilyflush.size.lower.bound.min", "83886080"];
        let with = |settings: &[[&str; 2]]| {
            table(&["a", "b"], &settings.iter().map(|[n, v]| (*n, *v)).collect::<Vec<_>>())
        };
        assert_eq!(chosen(&with(&[bound]), &[6, 5]), "a");
        assert_eq!(chosen(&with(&[min]), &[81, 80]), "a");
        assert_eq!(chosen(&with(&[min, bound]), &[6, 5]), "a", "the minimum is of averages");
        let invalid = [bound[0], "five"];
        assert_eq!(chosen(&with(&[invalid]), &[65, 64]), "a", "the default, as in HBase");
        let size = ["MEMSTORE_FLUSHSIZE", "268435456"];
        assert_eq!(chosen(&with(&[size]), &[129, 128]), "a");
    }

    #[test]
    fn old_and_frozen_families_are_chosen_whatever_their_size() {
        let table = table(&["a", "b", "c"], &[("hbase.regionserver.flush.per.changes", "1000")]);
        let small = StoreState { bytes: 1, unflushed_writes: 1000, is_frozen: false };
        let old = StoreState { unflushed_writes: 1001, ..small };
        let frozen = StoreState { is_frozen: true, ..small };
        assert_eq!(names(&table, &[small, old, frozen]), "bc");
        let large = StoreState { bytes: 100 << 20, ..small };
        assert_eq!(names(&table, &[large, old, small]), "ab");
    }

    #[test]
    fn compacting_memstores_are_chosen_after_the_others() {
        for attribute in ["BASIC", "EAGER", "ADAPTIVE"] {
            let all = class("FlushAllStoresPolicy");
            let family = format!("a {attribute}");
            let mixed = table(&[&family, "b", "c NONE"], &[(all.0, &all.1)]);
            assert_eq!(chosen(&mixed, &[100, 50, 1]), "b");
            assert_eq!(chosen(&mixed, &[100, 1, 1]), "a");
            assert_eq!(chosen(&mixed, &[1, 1, 1]), "abc");
        }
    }

    #[test]
    fn some_store_with_cells_is_always_chosen() {
        for lower_bound in ["0", "1048576", "1099511627776"] {
            let bound = ("hbase.hregion.percolumnfamilyflush.size.lower.bound", lower_bound);
            for table in [table(&["a", "b"], &[bound]), table(&["a EAGER", "b"], &[bound])] {
                for sizes in [[1, 0], [0, 1], [2, 2], [0, 500]] {
                    let with_cells = sizes.iter().position(|size| *size > 0).unwrap();
                    let chosen = chosen(&table, &sizes);
                    assert!(
                        chosen.contains(['a', 'b'][with_cells]) || sizes == [2, 2],
                        "{sizes:?} {chosen}"
                    );
                    assert!(!chosen.is_empty());
                }
            }
        }
    }

    #[test]
    fn options_decide_for_tables_without_settings() {
        let mut options =
            Options { flush_policy: FlushPolicyClass::AllStores, ..Options::default() };
        let store = |mib: u64| StoreState { bytes: mib << 20, ..StoreState::default() };
        let chosen = |options: &Options, settings: &[(&str, &str)]| {
            FlushPolicy::new(&table(&["a", "b"], settings), options).choose(&[store(70), store(65)])
        };
        assert_eq!(chosen(&options, &[]), [true, true]);
        let (name, value) = class("FlushAllLargeStoresPolicy");
        options.min_family_flush_bytes = 66 << 20;
        assert_eq!(chosen(&options, &[(name, &value)]), [true, false]);
        for policy in [options.flush_policy, FlushPolicyClass::LargeStores] {
            assert_eq!(FlushPolicyClass::from_name(policy.name()).unwrap(), policy);
            let full = format!("{PACKAGE}{}", policy.name());
            assert_eq!(FlushPolicyClass::from_name(&full).unwrap(), policy);
        }
        assert!(FlushPolicyClass::from_name("FlushSomeStoresPolicy").is_err());
    }

    #[test]
    fn unknown_class_is_refused_and_default_applies() {
        let (name, value) = class("FlushLargeStoresPolicy");
        for name in [name, "hbase.regionserver.flush.policy"] {
            let odd = table(&["a", "b"], &[(name, &value)]);
            assert!(FlushPolicy::check(&odd).unwrap_err().message().contains("FLUSH_POLICY"));
            assert_eq!(chosen(&odd, &[100, 1]), "a");
        }
        let (_, value) = class("FlushAllStoresPolicy");
        let setting = table(&["a", "b"], &[("hbase.regionserver.flush.policy", &value)]);
        FlushPolicy::check(&setting).unwrap();
        assert_eq!(chosen(&setting, &[100, 1]), "ab");
    }
}
