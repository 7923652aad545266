//! How many tables and regions a namespace may have, where quotas are on (HBase: `NamespaceStateManager`).

use std::sync::{Mutex, PoisonError};

use halite_engine::Engine;
use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{Attributes, TableName};
use halite_wire::exception::ExceptionKind;

use super::namespaces;
use crate::call::Fault;
use crate::context::Context;

pub(super) const MAX_TABLES: &str = "hbase.namespace.quota.maxtables";
pub(super) const MAX_REGIONS: &str = "hbase.namespace.quota.maxregions";
/// As in HBase, what is set to no number, or not set, is this.
const NO_LIMIT: usize = i32::MAX as usize;

/// One at a time makes what a limit counts, so that two do not pass it together.
#[derive(Debug, Default)]
pub(crate) struct NamespaceLimits(Mutex<()>);

/// What is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    /// A table with so many regions.
    Table { regions: usize },
    /// The table is to have so many regions.
    Regions(usize),
    /// One more region, by a split of the one of this encoded name.
    Split(&'a str),
}

/// Does something for a table if its namespace has room for it.
///
/// # Errors
/// `QuotaExceededException`; those of the work.
pub(super) fn with_room<T>(context: &Context, table: &TableName, wanted: Wanted<'_>, work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    if !context.config.quotas_enabled || table.namespace() == SYSTEM_NAMESPACE {
        return work();
    }
    let settings = namespaces::all(&context.engine).into_iter().find(|(name, _)| name == table.namespace());
    let settings = settings.map(|(_, settings)| settings).unwrap_or_default();
    let limits = (limit(&settings, MAX_TABLES), limit(&settings, MAX_REGIONS));
    if limits == (NO_LIMIT, NO_LIMIT) {
        return work();
    }
    let _one = context.master.namespace_limits.0.lock().unwrap_or_else(PoisonError::into_inner);
    check(&context.engine, table, wanted, limits)?;
    work()
}

fn limit(settings: &Attributes, name: &str) -> usize {
    settings.get(name).and_then(|text| text.parse().ok()).unwrap_or(NO_LIMIT)
}

fn check(engine: &Engine, table: &TableName, wanted: Wanted<'_>, (tables_max, regions_max): (usize, usize)) -> Result<(), Fault> {
    let exceeded = |text: String| Err(Fault::new(ExceptionKind::QuotaExceeded, text));
    let all = engine.descriptors();
    let own = all.iter().map(|other| other.name()).filter(|other| other.namespace() == table.namespace());
    let count = |name: &TableName| engine.regions(name).map_or(0, |regions| regions.len());
    let (tables, regions) = own.fold((0, 0), |(tables, regions), name| (tables + 1, regions + count(name)));
    match wanted {
        Wanted::Table { .. } if tables >= tables_max => exceeded(format!(
            "The table {table} cannot be created as it would exceed maximum number of tables allowed  in the namespace.  The total number of tables \
             permitted is {tables_max}"
        )),
        Wanted::Table { regions: more } if regions + more > regions_max => exceeded(format!(
            "The table {table} is not allowed to have {more} regions. The total number of regions permitted is only {regions_max}, while current \
             region count is {regions}. This may be transient, please retry later if there are any ongoing split operations in the namespace."
        )),
        Wanted::Regions(wanted) if (regions + wanted).saturating_sub(count(table)) > regions_max => exceeded(format!(
            "The table {table} region count cannot be updated as it would exceed maximum number of regions allowed in the namespace.  The total number \
             of regions permitted is {regions_max}"
        )),
        Wanted::Split(region) if regions + 1 > regions_max => {
            exceeded(format!("Region split not possible for :{region} as quota limits are exceeded "))
        }
        Wanted::Table { .. } | Wanted::Regions(_) | Wanted::Split(_) => Ok(()),
    }
}
