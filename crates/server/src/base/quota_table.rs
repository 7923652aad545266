//! `hbase:quota`, where quotas are stored as in HBase. Clients read it directly, and the server
//! loads its quotas from there.
//!
//! ```text
//! row          t.TABLE   n.NAMESPACE   u.USER   r.SERVER     family q, qualifier s
//!              u.USER                                        family q, qualifier s.TABLE or s.NAMESPACE:
//!              exceedThrottleQuota                           family q, qualifier s: one byte, ff for on
//!              t.TABLE                                       family u, qualifier p: usage of the table against its limit
//! value        "PBUF" and the message Quotas; in family u the message SpaceQuotaSnapshot
//! ```
//! The layout is HBase's `QuotaTableUtil`.

use std::sync::Arc;

use bytes::Bytes;
use halite_engine::{Engine, Table};
use halite_types::schema::family_attribute as fam;
use halite_types::{
    FamilyDescriptor, ReadTier, Result as StoreResult, RowRange, Scan, TableDescriptor, TableName,
};
use halite_wire::convert::schema::with_defaults;
use halite_wire::proto as pb;
use pb::magic::from_magic;

use crate::base::call::CallError;
use crate::base::context::Context;
use crate::base::quota::StoredQuota;

pub(crate) const FAMILY: &str = "q";
pub(crate) const USAGE_FAMILY: &str = "u";
pub(crate) const SETTINGS: &str = "s";
pub(crate) const USAGE_QUALIFIER: &str = "p";
pub(crate) const EXCEED_ROW: &str = "exceedThrottleQuota";

/// Returns the name of the table.
pub(crate) fn table_name() -> TableName {
    "hbase:quota".parse().expect("a legal name")
}

/// Creates `hbase:quota` if quotas are on and it does not exist. A failure is only logged, since
/// the server must start so that clients can read.
pub(crate) fn prepare(engine: &Engine, enabled: bool) {
    if !enabled || engine.descriptor(&table_name()).is_ok() {
        return;
    }
    let family =
        |name: &'static str| FamilyDescriptor::new(name).versions(1).set(fam::REPLICATION_SCOPE, 0);
    let table =
        TableDescriptor::new(table_name()).family(family(FAMILY)).family(family(USAGE_FAMILY));
    if let Err(error) = engine.create_table(with_defaults(table), Vec::new()) {
        tracing::warn!(
            "{} could not be made, and will be at the next start: {error}",
            table_name()
        );
    }
}

/// Returns the table.
///
/// # Errors
/// If quotas are off; errors of opening the table.
pub(crate) fn table(context: &Context) -> Result<Arc<Table>, CallError> {
    if !context.config.quota_enabled {
        return Err(CallError::do_not_retry(
            "java.lang.UnsupportedOperationException: quota support disabled",
        ));
    }
    Ok(context.engine.table(&table_name())?)
}

/// Returns the table, if quotas are on. If they are on, an unreadable table is an error.
pub(crate) fn table_if_on(context: &Context) -> StoreResult<Option<Arc<Table>>> {
    if context.config.quota_enabled {
        context.engine.table(&table_name()).map(Some)
    } else {
        Ok(None)
    }
}

/// Returns the quotas of tables (`t.`) or namespaces (`n.`), by name; none if quotas are off.
///
/// # Errors
/// Errors of reading the table.
pub(crate) fn quotas_by_prefix(
    context: &Context,
    prefix: &str,
) -> StoreResult<Vec<(String, pb::Quotas)>> {
    let found = stored_in(context, RowRange::prefix(prefix.to_owned()))?
        .into_iter()
        .filter(|stored| stored.qualifier == SETTINGS);
    Ok(found
        .filter_map(|stored| Some((stored.row.strip_prefix(prefix)?.to_owned(), stored.quotas)))
        .collect())
}

/// Returns all stored quotas, without the switch; none if quotas are off.
///
/// # Errors
/// Errors of reading the table.
pub(crate) fn stored(context: &Context) -> StoreResult<Vec<StoredQuota>> {
    stored_in(context, RowRange::all())
}

fn stored_in(context: &Context, range: RowRange) -> StoreResult<Vec<StoredQuota>> {
    let Some(table) = table_if_on(context)? else { return Ok(Vec::new()) };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut found = Vec::new();
    for rows in table.scan(Scan { range, ..Scan::all() }, ReadTier::Disk) {
        let rows = rows?;
        for cell in rows
            .iter()
            .flat_map(|row| row.cells().iter())
            .filter(|cell| cell.family() == FAMILY.as_bytes())
        {
            let message = from_magic::<pb::Quotas>(Bytes::copy_from_slice(cell.value()));
            found.extend(message.ok().map(|quotas| StoredQuota {
                row: text(cell.row()),
                qualifier: text(cell.qualifier()),
                quotas,
            }));
        }
    }
    Ok(found)
}
