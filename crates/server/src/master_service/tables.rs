//! Handlers that create, enable, disable, drop, truncate and change tables.

use std::sync::Arc;

use halite_engine::Engine;
use halite_types::{TableDescriptor, TableName};
use halite_wire::convert::schema::{from_proto, with_defaults};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::errors::{not_enabled, table_exists, table_not_found};
use super::lookup::{check_exists, check_modifiable, check_namespace};
use super::request_context::{Failure, RequestContext, nonce};
use super::state::namespace_limits::NewResource;
use super::state::procedures::Nonce;
use super::{quotas, sanity};
use crate::base::call::CallError;
use crate::base::context::Context;
use crate::base::names::{is_meta, table_name};
use crate::base::schema;

/// Handles `CreateTable`. The table exists and is enabled when the procedure has finished (HBase:
/// `CreateTableProcedure`).
pub(super) fn create(
    request_context: &RequestContext<'_>,
    request: &pb::CreateTableRequest,
) -> Result<pb::CreateTableResponse, CallError> {
    let descriptor = with_defaults(from_proto(&request.table_schema)?);
    let name = descriptor.name().clone();
    check_namespace(request_context.engine(), name.namespace())?;
    sanity::check(&descriptor)?;
    super::trackers::check_new_trackers(&descriptor, None)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let splits = request.split_keys.clone();
    let master = Arc::clone(request_context.state);
    let id = request_context.start(
        "CreateTableProcedure",
        Some(&name.clone()),
        nonce,
        Failure::InCall,
        move |engine| {
            if check_exists(engine, &name).is_ok() {
                return Err(table_exists(&name));
            }
            #[cfg(feature = "lint")]
            super::row_keys::warn(&descriptor, &splits);
            let regions = splits.len() + 1;
            master.with_room(&name, NewResource::Table { regions }, || {
                Ok(engine.create_table(descriptor, splits)?)
            })
        },
    )?;
    Ok(pb::CreateTableResponse { proc_id: Some(id) })
}

/// Handles `DeleteTable` (HBase: `DeleteTableProcedure`).
pub(super) fn delete(
    request_context: &RequestContext<'_>,
    request: &pb::DeleteTableRequest,
) -> Result<pb::DeleteTableResponse, CallError> {
    let nonce = nonce(request.nonce_group(), request.nonce());
    let master = Arc::clone(request_context.state);
    let id = on_table(
        request_context,
        "DeleteTableProcedure",
        &request.table_name,
        nonce,
        Failure::InCall,
        move |engine, name| {
            check_modifiable(engine, name)?;
            engine.drop_table(name)?;
            quotas::remove_table_quotas(&master, name);
            Ok(())
        },
    )?;
    Ok(pb::DeleteTableResponse { proc_id: Some(id) })
}

/// Handles `EnableTable`. The procedure's result reports a table that is already enabled (HBase:
/// `EnableTableProcedure`).
pub(super) fn enable(
    request_context: &RequestContext<'_>,
    request: &pb::EnableTableRequest,
) -> Result<pb::EnableTableResponse, CallError> {
    let nonce = nonce(request.nonce_group(), request.nonce());
    let master = Arc::clone(request_context.state);
    let id = on_table(
        request_context,
        "EnableTableProcedure",
        &request.table_name,
        nonce,
        Failure::InResult,
        move |engine, name| {
            check_exists(engine, name)?;
            if is_meta(name) || engine.is_enabled(name)? {
                return Err(CallError::new(
                    ExceptionKind::TableNotDisabled,
                    format!("tableName={name}, state=ENABLED"),
                ));
            }
            check_space(&master.context, name)?;
            Ok(engine.enable_table(name)?)
        },
    )?;
    Ok(pb::EnableTableResponse { proc_id: Some(id) })
}

/// Rejects enabling a table that a space quota has disabled.
pub(super) fn check_space(context: &Context, name: &TableName) -> Result<(), CallError> {
    if context.quota.is_disabled_for_space(name) {
        let text =
            format!("Enabling the table '{name}' is disallowed due to a violated space quota.");
        return Err(CallError::new(ExceptionKind::AccessDenied, text));
    }
    Ok(())
}

/// Handles `DisableTable` (HBase: `DisableTableProcedure`).
pub(super) fn disable(
    request_context: &RequestContext<'_>,
    request: &pb::DisableTableRequest,
) -> Result<pb::DisableTableResponse, CallError> {
    let nonce = nonce(request.nonce_group(), request.nonce());
    let id = on_table(
        request_context,
        "DisableTableProcedure",
        &request.table_name,
        nonce,
        Failure::InResult,
        |engine, name| {
            if is_meta(name) {
                return Err(CallError::new(
                    ExceptionKind::Constraint,
                    format!("Cannot disable {name}"),
                ));
            }
            check_exists(engine, name)?;
            if !engine.is_enabled(name)? {
                return Err(not_enabled(name));
            }
            Ok(engine.disable_table(name)?)
        },
    )?;
    Ok(pb::DisableTableResponse { proc_id: Some(id) })
}

/// Handles `truncateTable`. The table is enabled afterwards (HBase: `TruncateTableProcedure`).
pub(super) fn truncate(
    request_context: &RequestContext<'_>,
    request: &pb::TruncateTableRequest,
) -> Result<pb::TruncateTableResponse, CallError> {
    let keep_splits = request.preserve_splits();
    let nonce = nonce(request.nonce_group(), request.nonce());
    let id = on_table(
        request_context,
        "TruncateTableProcedure",
        &request.table_name,
        nonce,
        Failure::InCall,
        move |engine, name| {
            check_modifiable(engine, name)?;
            Ok(engine.truncate_table(name, keep_splits)?)
        },
    )?;
    Ok(pb::TruncateTableResponse { proc_id: Some(id) })
}

/// Handles `ModifyTable`. The whole descriptor is replaced, at once for all regions (HBase:
/// `ModifyTableProcedure`).
pub(super) fn modify(
    request_context: &RequestContext<'_>,
    request: &pb::ModifyTableRequest,
) -> Result<pb::ModifyTableResponse, CallError> {
    let descriptor = from_proto(&request.table_schema)?;
    let name = table_name(&request.table_name)?;
    if *descriptor.name() != name {
        let text = format!(
            "the request is about table {name}, and its schema about {}; name the same table twice",
            descriptor.name()
        );
        return Err(CallError::do_not_retry(text));
    }
    let nonce = nonce(request.nonce_group(), request.nonce());
    let change = move |_: &TableDescriptor| Ok(descriptor);
    let id = alter(request_context, &name, nonce, request.reopen_regions(), change)?;
    Ok(pb::ModifyTableResponse { proc_id: Some(id) })
}

/// Replaces the descriptor of a table with the result of `change`.
///
/// # Errors
/// `TableNotFoundException`; errors of `change`; errors of the checks.
pub(super) fn alter(
    request_context: &RequestContext<'_>,
    name: &TableName,
    nonce: Nonce,
    reopen: bool,
    change: impl FnOnce(&TableDescriptor) -> Result<TableDescriptor, CallError> + Send + 'static,
) -> Result<u64, CallError> {
    if is_meta(name) {
        return request_context.start(
            "ModifyTableProcedure",
            Some(name),
            nonce,
            Failure::InCall,
            move |engine| {
                let new = change(&schema::meta_descriptor(engine))?;
                alter_meta(engine, with_defaults(new))
            },
        );
    }
    let table = name.clone();
    request_context.start(
        "ModifyTableProcedure",
        Some(name),
        nonce,
        Failure::InCall,
        move |engine| {
            let old = engine.descriptor(&table).map_err(|_| table_not_found(&table))?;
            let new = with_defaults(change(&old)?);
            sanity::check(&new)?;
            super::trackers::check_new_trackers(&new, Some((&old, engine.is_enabled(&table)?)))?;
            if !reopen {
                check_without_reopening(&old, &new)?;
            }
            Ok(engine.alter_table(new)?)
        },
    )
}

/// Stores the attributes of `new` in addition to the fixed ones of `hbase:meta`.
///
/// # Errors
/// For families other than its own; for an invalid descriptor; errors of the engine.
fn alter_meta(engine: &Engine, new: TableDescriptor) -> Result<(), CallError> {
    sanity::check(&new)?;
    let own = schema::own_meta_descriptor();
    if !own.families().eq(new.families()) {
        return Err(CallError::do_not_retry(format!(
            "{} is computed, and its families cannot be changed",
            own.name()
        )));
    }
    let mut attributes = new.attributes;
    attributes.retain(|name, value| own.attributes.get(name) != Some(value));
    Ok(engine.set_meta_attributes(attributes)?)
}

/// Rejects changes that require the regions to be reopened (HBase:
/// `ModifyTableProcedure.preflightChecks`).
fn check_without_reopening(old: &TableDescriptor, new: &TableDescriptor) -> Result<(), CallError> {
    let families = |table: &TableDescriptor| {
        table.families().map(|family| family.name().clone()).collect::<Vec<_>>()
    };
    if families(old) != families(new) {
        return Err(CallError::do_not_retry(
            "Cannot add or remove column families when this modification won't reopen regions.",
        ));
    }
    let coprocessors = |table: &TableDescriptor| {
        let is_coprocessor = |name: &str| name.to_ascii_lowercase().starts_with("coprocessor$");
        table
            .attributes
            .iter()
            .filter(|(name, _)| is_coprocessor(name))
            .map(|(_, value)| value.clone())
            .collect::<Vec<_>>()
    };
    if coprocessors(old) != coprocessors(new) {
        return Err(CallError::do_not_retry(
            "Can not modify Coprocessor when table modification won't reopen regions",
        ));
    }
    let fixed = ["REGION_REPLICATION", "REGION_MEMSTORE_REPLICATION", "hbase.rsgroup.name"];
    match fixed.into_iter().find(|name| old.attributes.get(*name) != new.attributes.get(*name)) {
        Some(name) => Err(CallError::do_not_retry(format!(
            "Can not modify {name} of a table when modification won't reopen regions"
        ))),
        None => Ok(()),
    }
}

fn on_table(
    request_context: &RequestContext<'_>,
    procedure: &'static str,
    table: &pb::TableName,
    nonce: Nonce,
    failure: Failure,
    work: impl FnOnce(&Engine, &TableName) -> Result<(), CallError> + Send + 'static,
) -> Result<u64, CallError> {
    let name = table_name(table)?;
    request_context
        .start(procedure, Some(&name.clone()), nonce, failure, move |engine| work(engine, &name))
}
