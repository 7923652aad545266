//! Limits on the number of tables and regions of a namespace, if quotas are on (HBase:
//! `NamespaceStateManager`).

use std::sync::{Mutex, PoisonError};

use halite_engine::Engine;
use halite_types::{Attributes, TableName};
use halite_wire::exception::ExceptionKind;

use super::super::lookup::namespaces;
use crate::base::call::CallError;

pub(crate) const MAX_TABLES: &str = "hbase.namespace.quota.maxtables";
pub(crate) const MAX_REGIONS: &str = "hbase.namespace.quota.maxregions";
/// Limit for a setting that is absent or not a number, as in HBase.
const NO_LIMIT: usize = i32::MAX as usize;

/// Lock that serializes counted changes, so that two of them cannot exceed a limit together.
#[derive(Debug, Default)]
pub(crate) struct NamespaceLimits(Mutex<()>);

/// Tables or regions to create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NewResource<'a> {
    /// A table with this many regions.
    Table { regions: usize },
    /// The table is to have this many regions.
    Regions(usize),
    /// One more region, from a split of the region with this encoded name.
    Split(&'a str),
}

impl NamespaceLimits {
    /// Runs `work` for a table if its namespace has room for it.
    ///
    /// # Errors
    /// `QuotaExceededException`; errors of `work`.
    pub(crate) fn with_room<T>(
        &self,
        engine: &Engine,
        table: &TableName,
        wanted: NewResource<'_>,
        work: impl FnOnce() -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let settings = namespaces(engine).into_iter().find(|(name, _)| name == table.namespace());
        let settings = settings.map(|(_, settings)| settings).unwrap_or_default();
        let limits = (limit(&settings, MAX_TABLES), limit(&settings, MAX_REGIONS));
        if limits == (NO_LIMIT, NO_LIMIT) {
            return work();
        }
        let _one = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        check(engine, table, wanted, limits)?;
        work()
    }
}

fn limit(settings: &Attributes, name: &str) -> usize {
    settings.get(name).and_then(|text| text.parse().ok()).unwrap_or(NO_LIMIT)
}

fn check(
    engine: &Engine,
    table: &TableName,
    wanted: NewResource<'_>,
    (max_tables, max_regions): (usize, usize),
) -> Result<(), CallError> {
    let exceeded = |text: String| Err(CallError::new(ExceptionKind::QuotaExceeded, text));
    let all = engine.descriptors();
    let own =
        all.iter().map(|other| other.name()).filter(|other| other.namespace() == table.namespace());
    let count = |name: &TableName| engine.regions(name).map_or(0, |regions| regions.len());
    let (tables, regions) =
        own.fold((0, 0), |(tables, regions), name| (tables + 1, regions + count(name)));
    match wanted {
        NewResource::Table { .. } if tables >= max_tables => exceeded(format!(
            "The table {table} cannot be created as it would exceed maximum number of tables \
             allowed  in the namespace.  The total number of tables permitted is {max_tables}"
        )),
        NewResource::Table { regions: more } if regions + more > max_regions => exceeded(format!(
            "The table {table} is not allowed to have {more} regions. The total number of regions \
             permitted is only {max_regions}, while current region count is {regions}. This may be \
             transient, please retry later if there are any ongoing split operations in the \
             namespace."
        )),
        NewResource::Regions(wanted)
            if (regions + wanted).saturating_sub(count(table)) > max_regions =>
        {
            exceeded(format!(
                "The table {table} region count cannot be updated as it would exceed maximum \
                 number of regions allowed in the namespace.  The total number of regions \
                 permitted is {max_regions}"
            ))
        }
        NewResource::Split(region) if regions + 1 > max_regions => exceeded(format!(
            "Region split not possible for :{region} as quota limits are exceeded "
        )),
        NewResource::Table { .. } | NewResource::Regions(_) | NewResource::Split(_) => Ok(()),
    }
}
