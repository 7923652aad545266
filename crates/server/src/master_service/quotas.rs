//! Quotas, kept in `hbase:quota` as HBase keeps them, where clients read them by themselves, and put in force from there.
//!
//! ```text
//! row          t.TABLE   n.NAMESPACE   u.USER   r.SERVER     family q, qualifier s
//!              u.USER                                        family q, qualifier s.TABLE or s.NAMESPACE:
//!              exceedThrottleQuota                           family q, qualifier s: one byte, ff for on
//!              t.TABLE                                       family u, qualifier p: how the table stands to its limit
//! value        "PBUF" and the message Quotas; in family u the message SpaceQuotaSnapshot
//! ```
//! The layout is HBase's `QuotaTableUtil`, the rules are those of `MasterQuotaManager` and `GlobalQuotaSettingsImpl`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use halite_engine::{Engine, Table};
use halite_types::schema::family_attribute as fam;
use halite_types::{Delete, FamilyDescriptor, Get, Put, Result as StoreResult, RowOp, RowRange, Scan, TableDescriptor, TableName, Tier};
use halite_wire::convert::schema::{table_name_from_proto, with_defaults};
use halite_wire::proto as pb;
use pb::magic::{from_magic, with_magic};

use super::asked::Asked;
use super::throttles::{merged, without};
use crate::call::Fault;
use crate::context::Context;
use crate::quota::Stored;

const FAMILY: &str = "q";
const USAGE_FAMILY: &str = "u";
const SETTINGS: &str = "s";
const STANDING: &str = "p";
const EXCEED_ROW: &str = "exceedThrottleQuota";
/// The row of all region servers together.
const ALL_SERVERS: &str = "r.all";
const TRUE: [u8; 1] = [0xff];
const FALSE: [u8; 1] = [0];

/// One at a time changes quotas, since each reads what it changes.
#[derive(Debug, Default)]
pub(crate) struct Quotas(Mutex<()>);

impl Quotas {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn table_name() -> TableName {
    "hbase:quota".parse().expect("a legal name")
}

/// Makes `hbase:quota` if it is not there and quotas are on. Who can be read from is to be reached, so a failure is only logged.
pub(super) fn prepare(engine: &Engine, enabled: bool) {
    if !enabled || engine.descriptor(&table_name()).is_ok() {
        return;
    }
    let family = |name: &'static str| FamilyDescriptor::new(name).versions(1).set(fam::REPLICATION_SCOPE, 0);
    let table = TableDescriptor::new(table_name()).family(family(FAMILY)).family(family(USAGE_FAMILY));
    if let Err(error) = engine.create_table(with_defaults(table), Vec::new()) {
        tracing::warn!("{} could not be made, and will be at the next start: {error}", table_name());
    }
}

fn table(context: &Context) -> Result<Arc<Table>, Fault> {
    if !context.config.quotas_enabled {
        return Err(Fault::do_not_retry("java.lang.UnsupportedOperationException: quota support disabled"));
    }
    Ok(context.engine.table(&table_name())?)
}

/// The table, if quotas are on. With them on, one that cannot be read is not one without quotas.
fn table_if_on(context: &Context) -> StoreResult<Option<Arc<Table>>> {
    if context.config.quotas_enabled { context.engine.table(&table_name()).map(Some) } else { Ok(None) }
}

/// Where a quota lies.
struct Place {
    row: String,
    qualifier: String,
}

/// Where the quota of a request lies.
///
/// # Errors
/// If it says whose it is in none of the ways there are.
fn place(request: &pb::SetQuotaRequest) -> Result<Place, Fault> {
    let table = request.table_name.as_ref().map(table_name_from_proto).transpose()?;
    let settings = SETTINGS.to_owned();
    let (row, qualifier) = match (&request.user_name, table, &request.namespace, &request.region_server) {
        (Some(user), Some(table), ..) => (format!("u.{user}"), format!("{SETTINGS}.{table}")),
        (Some(user), None, Some(namespace), _) => (format!("u.{user}"), format!("{SETTINGS}.{namespace}:")),
        (Some(user), None, None, _) => (format!("u.{user}"), settings),
        (None, Some(table), ..) => (format!("t.{table}"), settings),
        (None, None, Some(namespace), _) => (format!("n.{namespace}"), settings),
        (None, None, None, Some(server)) => (format!("r.{server}"), settings),
        (None, None, None, None) => {
            let text = "java.lang.UnsupportedOperationException: a user, a table, a namespace or region server must be specified";
            return Err(Fault::do_not_retry(text));
        }
    };
    Ok(Place { row, qualifier })
}

fn read(table: &Table, row: &str, qualifier: &str) -> Result<Option<Bytes>, Fault> {
    let get = Get::new(row.to_owned()).column(FAMILY, qualifier.to_owned());
    let row = table.get(&get, Tier::Disk)?;
    Ok(row.cells().iter().next().map(|cell| Bytes::copy_from_slice(cell.value())))
}

fn write(table: &Table, op: impl Into<RowOp>) -> Result<(), Fault> {
    table.apply(vec![op.into()])?.into_iter().try_for_each(|result| result.map(|_| ()))?;
    Ok(())
}

fn read_quotas(table: &Table, place: &Place) -> Result<pb::Quotas, Fault> {
    let Some(value) = read(table, &place.row, &place.qualifier)? else { return Ok(pb::Quotas::default()) };
    let damaged = || Fault::do_not_retry(format!("the quota in row {} of {} cannot be read; remove it", place.row, table_name()));
    from_magic(value).map_err(|_| damaged())
}

/// `SetQuota`: one more, one changed, or one less.
pub(super) fn set(asked: &Asked<'_>, request: &pb::SetQuotaRequest) -> Result<pb::SetQuotaResponse, Fault> {
    let table = table(asked.context)?;
    let place = place(request)?;
    let _change = asked.context.master.quotas.lock();
    let changed = if request.remove_all() { None } else { changed(read_quotas(&table, &place)?, request)? };
    write_quotas(&table, place, changed.as_ref())?;
    put_in_force(asked.context)?;
    Ok(pb::SetQuotaResponse {})
}

fn write_quotas(table: &Table, place: Place, quotas: Option<&pb::Quotas>) -> Result<(), Fault> {
    match quotas {
        Some(quotas) => write(table, Put::new(place.row).add(FAMILY, place.qualifier, with_magic(quotas))),
        // With the last limit of a user himself those on his use of tables and namespaces go too (HBase:
        // `QuotaUtil.deleteUserQuota`).
        None if place.qualifier == SETTINGS => write(table, Delete::new(place.row)),
        None => write(table, Delete::new(place.row).column(FAMILY, place.qualifier)),
    }
}

/// The limits of a table or namespace go with it (HBase: `MasterQuotasObserver`). That it has gone is done by then, so a
/// failure is only logged.
fn forget(context: &Context, row: String) {
    let Ok(table) = table(context) else { return };
    let _change = context.master.quotas.lock();
    let place = Place { row, qualifier: SETTINGS.to_owned() };
    let forgotten = read_quotas(&table, &place).and_then(|quotas| match quotas {
        pb::Quotas { throttle: None, space: None, .. } => Ok(()),
        quotas => {
            let left = pb::Quotas { throttle: None, space: None, ..quotas };
            write_quotas(&table, place, Some(&left).filter(|left| left.bypass_globals()))?;
            Ok(put_in_force(context)?)
        }
    });
    if let Err(fault) = forgotten {
        tracing::warn!("the quotas of what was dropped stay in {}: {}", table_name(), fault.exception());
    }
}

/// Forgets the limits of a table that was dropped.
pub(super) fn forget_table(context: &Context, name: &TableName) {
    forget(context, format!("t.{name}"));
}

/// Forgets the limits of a namespace that was dropped.
pub(super) fn forget_namespace(context: &Context, name: &str) {
    forget(context, format!("n.{name}"));
}

/// What is set for tables (`t.`) or namespaces (`n.`), by their names; nothing where quotas are off.
///
/// # Errors
/// What reading the table meets.
pub(super) fn of_all(context: &Context, prefix: &str) -> StoreResult<Vec<(String, pb::Quotas)>> {
    let found = stored_in(context, RowRange::prefix(prefix.to_owned()))?.into_iter().filter(|stored| stored.qualifier == SETTINGS);
    Ok(found.filter_map(|stored| Some((stored.row.strip_prefix(prefix)?.to_owned(), stored.quotas))).collect())
}

/// Writes down how tables stand to their limits, where that has changed; the shell's `list_quota_snapshots` reads it there.
///
/// # Errors
/// What reading and writing the table meets.
pub(super) fn note_usage(context: &Context, measured: &BTreeMap<TableName, Bytes>) -> StoreResult<()> {
    let Some(table) = table_if_on(context)? else { return Ok(()) };
    // With what is set changed meanwhile, a row could come back that has just gone.
    let _change = context.master.quotas.lock();
    let mut known = BTreeMap::new();
    for rows in table.scan(Scan { range: RowRange::prefix("t."), ..Scan::all() }, Tier::Disk) {
        for row in &rows? {
            known.insert(Bytes::copy_from_slice(row.key()), row.value(USAGE_FAMILY, STANDING).map(Bytes::copy_from_slice));
        }
    }
    let row_of = |name: &TableName| Bytes::from(format!("t.{name}"));
    let changed = measured.iter().map(|(name, value)| (row_of(name), value)).filter(|(row, value)| {
        // The limit of one that has no row has been taken away.
        known.remove(row).is_some_and(|before| before.as_ref() != Some(*value))
    });
    let mut ops: Vec<RowOp> = changed.map(|(row, value)| Put::new(row).add(USAGE_FAMILY, STANDING, value).into()).collect();
    let stale = known.into_iter().filter(|(_, value)| value.is_some());
    ops.extend(stale.map(|(row, _)| RowOp::from(Delete::new(row).column(USAGE_FAMILY, STANDING))));
    if ops.is_empty() { Ok(()) } else { table.apply(ops)?.into_iter().try_for_each(|result| result.map(drop)) }
}

/// Everything that is stored but the switch; nothing where quotas are off.
///
/// # Errors
/// What reading the table meets.
pub(super) fn stored(context: &Context) -> StoreResult<Vec<Stored>> {
    stored_in(context, RowRange::all())
}

fn stored_in(context: &Context, range: RowRange) -> StoreResult<Vec<Stored>> {
    let Some(table) = table_if_on(context)? else { return Ok(Vec::new()) };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut found = Vec::new();
    for rows in table.scan(Scan { range, ..Scan::all() }, Tier::Disk) {
        let rows = rows?;
        for cell in rows.iter().flat_map(|row| row.cells().iter()).filter(|cell| cell.family() == FAMILY.as_bytes()) {
            let message = from_magic::<pb::Quotas>(Bytes::copy_from_slice(cell.value()));
            found.extend(message.ok().map(|quotas| Stored { row: text(cell.row()), qualifier: text(cell.qualifier()), quotas }));
        }
    }
    Ok(found)
}

/// Puts in force what is stored.
///
/// # Errors
/// What reading the table meets; what was in force stays so.
pub(crate) fn put_in_force(context: &Context) -> StoreResult<()> {
    let Some(table) = table_if_on(context)? else { return Ok(()) };
    let exceed = table.get(&Get::new(EXCEED_ROW).column(FAMILY, SETTINGS), Tier::Disk)?;
    let may_exceed = exceed.value(FAMILY, SETTINGS).is_some_and(|value| value[..] == TRUE);
    let is_on = context.master.switches.rpc_throttle.get();
    context.quota.change(&context.engine, &stored(context)?, is_on, may_exceed);
    Ok(())
}

/// What a request makes of the quotas that are set; `None` if nothing is left.
fn changed(mut quotas: pb::Quotas, request: &pb::SetQuotaRequest) -> Result<Option<pb::Quotas>, Fault> {
    if let Some(bypass) = request.bypass_globals {
        quotas.bypass_globals = Some(bypass);
    } else if let Some(limit) = &request.space_limit {
        let quota = limit.quota.ok_or_else(|| Fault::do_not_retry("the space limit says nothing of a quota"))?;
        quotas.space = (!quota.remove()).then_some(quota);
    } else if let Some(throttle) = &request.throttle {
        quotas.throttle = match &throttle.timed_quota {
            Some(_) if throttle.r#type.is_some() => Some(merged(quotas.throttle.unwrap_or_default(), throttle)?),
            _ => without(quotas.throttle.as_ref(), throttle),
        };
    } else {
        return Err(Fault::do_not_retry("java.lang.IllegalStateException: Unhandled SetRequestQuota state"));
    }
    let is_empty = quotas.throttle.is_none() && quotas.space.is_none() && !quotas.bypass_globals();
    Ok((!is_empty).then_some(quotas))
}

/// `SwitchRpcThrottle`: remembered.
pub(super) fn set_throttle(asked: &Asked<'_>, request: &pb::SwitchRpcThrottleRequest) -> Result<pb::SwitchRpcThrottleResponse, Fault> {
    let on = &asked.context.master.switches.rpc_throttle;
    let previous = asked.context.config.quotas_enabled && on.set(asked.engine(), request.rpc_throttle_enabled)?;
    put_in_force(asked.context)?;
    Ok(pb::SwitchRpcThrottleResponse { previous_rpc_throttle_enabled: previous })
}

/// `IsRpcThrottleEnabled`.
pub(super) fn is_throttle_on(asked: &Asked<'_>, _: &pb::IsRpcThrottleEnabledRequest) -> Result<pb::IsRpcThrottleEnabledResponse, Fault> {
    let rpc_throttle_enabled = asked.context.config.quotas_enabled && asked.context.master.switches.rpc_throttle.get();
    Ok(pb::IsRpcThrottleEnabledResponse { rpc_throttle_enabled })
}

/// `SwitchExceedThrottleQuota`: kept in `hbase:quota`; it can be on only with limits of the servers, all of them by the second
/// (HBase: `QuotaUtil.checkRSQuotaToEnableExceedThrottle`).
pub(super) fn set_exceed(asked: &Asked<'_>, request: &pb::SwitchExceedThrottleQuotaRequest) -> Result<pb::SwitchExceedThrottleQuotaResponse, Fault> {
    if !asked.context.config.quotas_enabled {
        return Ok(pb::SwitchExceedThrottleQuotaResponse { previous_exceed_throttle_quota_enabled: false });
    }
    let table = table(asked.context)?;
    let _change = asked.context.master.quotas.lock();
    let previous = read(&table, EXCEED_ROW, SETTINGS)?.is_some_and(|value| value[..] == TRUE);
    let wanted = request.exceed_throttle_quota_enabled;
    if previous != wanted {
        if wanted {
            let place = Place { row: ALL_SERVERS.to_owned(), qualifier: SETTINGS.to_owned() };
            super::throttles::check_may_exceed(read_quotas(&table, &place)?.throttle.as_ref())?;
        }
        write(&table, Put::new(EXCEED_ROW).add(FAMILY, SETTINGS, if wanted { TRUE } else { FALSE }))?;
        put_in_force(asked.context)?;
    }
    Ok(pb::SwitchExceedThrottleQuotaResponse { previous_exceed_throttle_quota_enabled: previous })
}
