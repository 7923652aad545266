//! Handlers that change quotas, and the quotas in force.
//!
//! The rules are those of HBase's `MasterQuotaManager` and `GlobalQuotaSettingsImpl`. The quotas
//! are stored in `hbase:quota` (`base/quota_table.rs`).

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_engine::Table;
use halite_types::{
    Delete, Get, Put, ReadTier, Result as StoreResult, RowOp, RowRange, Scan, TableName,
};
use halite_wire::convert::schema::table_name_from_proto;
use halite_wire::proto as pb;
use pb::magic::{from_magic, with_magic};

use super::request_context::RequestContext;
use super::state::Master;
use super::throttles::{merged, without};
use crate::base::call::CallError;
use crate::base::quota_table::{
    EXCEED_ROW, FAMILY, SETTINGS, USAGE_FAMILY, USAGE_QUALIFIER, stored, table, table_if_on,
    table_name,
};

/// Row for all region servers together.
const ALL_SERVERS: &str = "r.all";
const TRUE: [u8; 1] = [0xff];
const FALSE: [u8; 1] = [0];

/// Row and qualifier of a quota.
struct QuotaRow {
    row: String,
    qualifier: String,
}

/// Returns the location of the quota of a request.
///
/// # Errors
/// If the request identifies its subject in none of the allowed ways.
fn quota_row(request: &pb::SetQuotaRequest) -> Result<QuotaRow, CallError> {
    let table = request.table_name.as_ref().map(table_name_from_proto).transpose()?;
    let settings = SETTINGS.to_owned();
    let (row, qualifier) = match (
        &request.user_name,
        table,
        &request.namespace,
        &request.region_server,
    ) {
        (Some(user), Some(table), ..) => (format!("u.{user}"), format!("{SETTINGS}.{table}")),
        (Some(user), None, Some(namespace), _) => {
            (format!("u.{user}"), format!("{SETTINGS}.{namespace}:"))
        }
        (Some(user), None, None, _) => (format!("u.{user}"), settings),
        (None, Some(table), ..) => (format!("t.{table}"), settings),
        (None, None, Some(namespace), _) => (format!("n.{namespace}"), settings),
        (None, None, None, Some(server)) => (format!("r.{server}"), settings),
        (None, None, None, None) => {
            let text = "java.lang.UnsupportedOperationException: a user, a table, a namespace or \
                        region server must be specified";
            return Err(CallError::do_not_retry(text));
        }
    };
    Ok(QuotaRow { row, qualifier })
}

fn read(table: &Table, row: &str, qualifier: &str) -> Result<Option<Bytes>, CallError> {
    let get = Get::new(row.to_owned()).column(FAMILY, qualifier.to_owned());
    let row = table.get(&get, ReadTier::Disk)?;
    Ok(row.cells().iter().next().map(|cell| Bytes::copy_from_slice(cell.value())))
}

fn write(table: &Table, op: impl Into<RowOp>) -> Result<(), CallError> {
    table.batch(vec![op.into()])?.into_iter().try_for_each(|result| result.map(|_| ()))?;
    Ok(())
}

fn read_quotas(table: &Table, quota_row: &QuotaRow) -> Result<pb::Quotas, CallError> {
    let Some(value) = read(table, &quota_row.row, &quota_row.qualifier)? else {
        return Ok(pb::Quotas::default());
    };
    let damaged = || {
        CallError::do_not_retry(format!(
            "the quota in row {} of {} cannot be read; remove it",
            quota_row.row,
            table_name()
        ))
    };
    from_magic(value).map_err(|_| damaged())
}

/// Handles `SetQuota`: adds, changes or removes a quota.
pub(super) fn set(
    request_context: &RequestContext<'_>,
    request: &pb::SetQuotaRequest,
) -> Result<pb::SetQuotaResponse, CallError> {
    let table = table(request_context.context)?;
    let quota_row = quota_row(request)?;
    let _change = request_context.state.quota_changes.lock();
    let changed = if request.remove_all() {
        None
    } else {
        changed(read_quotas(&table, &quota_row)?, request)?
    };
    write_quotas(&table, quota_row, changed.as_ref())?;
    put_in_force(request_context.state)?;
    Ok(pb::SetQuotaResponse {})
}

fn write_quotas(
    table: &Table,
    quota_row: QuotaRow,
    quotas: Option<&pb::Quotas>,
) -> Result<(), CallError> {
    match quotas {
        Some(quotas) => write(
            table,
            Put::new(quota_row.row).add(FAMILY, quota_row.qualifier, with_magic(quotas)),
        ),
        // Deleting the last global limit of a user also deletes the user's limits on tables and
        // namespaces (HBase: `QuotaUtil.deleteUserQuota`).
        None if quota_row.qualifier == SETTINGS => write(table, Delete::new(quota_row.row)),
        None => write(table, Delete::new(quota_row.row).column(FAMILY, quota_row.qualifier)),
    }
}

/// Removes the limits of a table or namespace (HBase: `MasterQuotasObserver`). The table or
/// namespace has already been dropped, so a failure is only logged.
fn remove_quotas(master: &Master, row: String) {
    let Ok(table) = table(&master.context) else { return };
    let _change = master.quota_changes.lock();
    let quota_row = QuotaRow { row, qualifier: SETTINGS.to_owned() };
    let forgotten = read_quotas(&table, &quota_row).and_then(|quotas| match quotas {
        pb::Quotas { throttle: None, space: None, .. } => Ok(()),
        quotas => {
            let left = pb::Quotas { throttle: None, space: None, ..quotas };
            write_quotas(&table, quota_row, Some(&left).filter(|left| left.bypass_globals()))?;
            Ok(put_in_force(master)?)
        }
    });
    if let Err(fault) = forgotten {
        tracing::warn!(
            "the quotas of what was dropped stay in {}: {}",
            table_name(),
            fault.exception()
        );
    }
}

/// Removes the limits of a dropped table.
pub(super) fn remove_table_quotas(master: &Master, name: &TableName) {
    remove_quotas(master, format!("t.{name}"));
}

/// Removes the limits of a dropped namespace.
pub(super) fn remove_namespace_quotas(master: &Master, name: &str) {
    remove_quotas(master, format!("n.{name}"));
}

/// Writes the changed usage of tables against their limits. The shell's `list_quota_snapshots`
/// reads it.
///
/// # Errors
/// Errors of reading and writing the table.
pub(super) fn record_usage(
    master: &Master,
    measured: &BTreeMap<TableName, Bytes>,
) -> StoreResult<()> {
    let Some(table) = table_if_on(&master.context)? else { return Ok(()) };
    // Without the lock, a concurrent change could restore a row that was just deleted.
    let _change = master.quota_changes.lock();
    let mut known = BTreeMap::new();
    for rows in table.scan(Scan { range: RowRange::prefix("t."), ..Scan::all() }, ReadTier::Disk) {
        for row in &rows? {
            known.insert(
                Bytes::copy_from_slice(row.key()),
                row.value(USAGE_FAMILY, USAGE_QUALIFIER).map(Bytes::copy_from_slice),
            );
        }
    }
    let row_of = |name: &TableName| Bytes::from(format!("t.{name}"));
    let changed =
        measured.iter().map(|(name, value)| (row_of(name), value)).filter(|(row, value)| {
            // A table without a row has lost its limit.
            known.remove(row).is_some_and(|before| before.as_ref() != Some(*value))
        });
    let mut ops: Vec<RowOp> = changed
        .map(|(row, value)| Put::new(row).add(USAGE_FAMILY, USAGE_QUALIFIER, value).into())
        .collect();
    let stale = known.into_iter().filter(|(_, value)| value.is_some());
    ops.extend(
        stale.map(|(row, _)| RowOp::from(Delete::new(row).column(USAGE_FAMILY, USAGE_QUALIFIER))),
    );
    if ops.is_empty() {
        Ok(())
    } else {
        table.batch(ops)?.into_iter().try_for_each(|result| result.map(drop))
    }
}

/// Applies the stored quotas.
///
/// # Errors
/// Errors of reading the table; the quotas in effect then stay unchanged.
pub(crate) fn put_in_force(master: &Master) -> StoreResult<()> {
    let Some(table) = table_if_on(&master.context)? else { return Ok(()) };
    let exceed = table.get(&Get::new(EXCEED_ROW).column(FAMILY, SETTINGS), ReadTier::Disk)?;
    let may_exceed = exceed.value(FAMILY, SETTINGS).is_some_and(|value| value[..] == TRUE);
    let context = &master.context;
    let is_on = master.switches.rpc_throttle.get();
    context.quota.change(&context.engine, &stored(context)?, is_on, may_exceed);
    Ok(())
}

/// Applies a request to the existing quotas. Returns `None` if no quota is left.
fn changed(
    mut quotas: pb::Quotas,
    request: &pb::SetQuotaRequest,
) -> Result<Option<pb::Quotas>, CallError> {
    if let Some(bypass) = request.bypass_globals {
        quotas.bypass_globals = Some(bypass);
    } else if let Some(limit) = &request.space_limit {
        let quota = limit
            .quota
            .ok_or_else(|| CallError::do_not_retry("the space limit says nothing of a quota"))?;
        quotas.space = (!quota.remove()).then_some(quota);
    } else if let Some(throttle) = &request.throttle {
        quotas.throttle = match &throttle.timed_quota {
            Some(_) if throttle.r#type.is_some() => {
                Some(merged(quotas.throttle.unwrap_or_default(), throttle)?)
            }
            _ => without(quotas.throttle.as_ref(), throttle),
        };
    } else {
        return Err(CallError::do_not_retry(
            "java.lang.IllegalStateException: Unhandled SetRequestQuota state",
        ));
    }
    let is_empty = quotas.throttle.is_none() && quotas.space.is_none() && !quotas.bypass_globals();
    Ok((!is_empty).then_some(quotas))
}

/// Handles `SwitchRpcThrottle`. The switch is durable.
pub(super) fn set_throttle(
    request_context: &RequestContext<'_>,
    request: &pb::SwitchRpcThrottleRequest,
) -> Result<pb::SwitchRpcThrottleResponse, CallError> {
    let on = &request_context.state.switches.rpc_throttle;
    let previous = request_context.context.config.quota_enabled
        && on.set(request_context.engine(), request.rpc_throttle_enabled)?;
    put_in_force(request_context.state)?;
    Ok(pb::SwitchRpcThrottleResponse { previous_rpc_throttle_enabled: previous })
}

/// Handles `IsRpcThrottleEnabled`.
pub(super) fn is_throttle_on(
    request_context: &RequestContext<'_>,
    _: &pb::IsRpcThrottleEnabledRequest,
) -> Result<pb::IsRpcThrottleEnabledResponse, CallError> {
    let rpc_throttle_enabled = request_context.context.config.quota_enabled
        && request_context.state.switches.rpc_throttle.get();
    Ok(pb::IsRpcThrottleEnabledResponse { rpc_throttle_enabled })
}

/// Handles `SwitchExceedThrottleQuota`. The switch is stored in `hbase:quota`. It can be on only
/// with limits on the servers, all of them per second (HBase:
/// `QuotaUtil.checkRSQuotaToEnableExceedThrottle`).
pub(super) fn set_exceed(
    request_context: &RequestContext<'_>,
    request: &pb::SwitchExceedThrottleQuotaRequest,
) -> Result<pb::SwitchExceedThrottleQuotaResponse, CallError> {
    if !request_context.context.config.quota_enabled {
        return Ok(pb::SwitchExceedThrottleQuotaResponse {
            previous_exceed_throttle_quota_enabled: false,
        });
    }
    let table = table(request_context.context)?;
    let _change = request_context.state.quota_changes.lock();
    let previous = read(&table, EXCEED_ROW, SETTINGS)?.is_some_and(|value| value[..] == TRUE);
    let wanted = request.exceed_throttle_quota_enabled;
    if previous != wanted {
        if wanted {
            let quota_row =
                QuotaRow { row: ALL_SERVERS.to_owned(), qualifier: SETTINGS.to_owned() };
            super::throttles::check_may_exceed(read_quotas(&table, &quota_row)?.throttle.as_ref())?;
        }
        write(
            &table,
            Put::new(EXCEED_ROW).add(FAMILY, SETTINGS, if wanted { TRUE } else { FALSE }),
        )?;
        put_in_force(request_context.state)?;
    }
    Ok(pb::SwitchExceedThrottleQuotaResponse { previous_exceed_throttle_quota_enabled: previous })
}
