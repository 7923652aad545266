//! Handlers that change families, and the store file trackers of tables and families.

use halite_types::TableDescriptor;
use halite_types::key::to_string_binary;
use halite_wire::convert::schema::family_from_proto;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::lookup::{check_enabled, check_exists};
use super::request_context::{RequestContext, nonce};
use super::tables::alter;
use super::trackers::{SOURCE, TARGET, TRACKER, check_target};
use crate::base::call::CallError;
use crate::base::names::table_name;

/// Handles `AddColumn`.
pub(super) fn add(
    request_context: &RequestContext<'_>,
    request: &pb::AddColumnRequest,
) -> Result<pb::AddColumnResponse, CallError> {
    let family = family_from_proto(&request.column_families)?;
    let name = table_name(&request.table_name)?;
    check_exists(request_context.engine(), &name)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let id = alter(request_context, &name, nonce, true, move |table| {
        if table.find_family(family.name()).is_some() {
            let text = format!(
                "Column family '{}' in table '{}' already exists so cannot be added",
                to_string_binary(family.name()),
                table.name()
            );
            return Err(invalid(text));
        }
        Ok(table.clone().family(family))
    })?;
    Ok(pb::AddColumnResponse { proc_id: Some(id) })
}

/// Handles `ModifyColumn`: replaces the family's descriptor.
pub(super) fn modify(
    request_context: &RequestContext<'_>,
    request: &pb::ModifyColumnRequest,
) -> Result<pb::ModifyColumnResponse, CallError> {
    let family = family_from_proto(&request.column_families)?;
    let name = table_name(&request.table_name)?;
    check_exists(request_context.engine(), &name)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let id = alter(request_context, &name, nonce, true, move |table| {
        if table.find_family(family.name()).is_none() {
            return Err(invalid(format!(
                "Family '{}' does not exist, so it cannot be modified",
                to_string_binary(family.name())
            )));
        }
        Ok(table.clone().family(family))
    })?;
    Ok(pb::ModifyColumnResponse { proc_id: Some(id) })
}

/// Handles `DeleteColumn`: deletes the family and its data.
pub(super) fn delete(
    request_context: &RequestContext<'_>,
    request: &pb::DeleteColumnRequest,
) -> Result<pb::DeleteColumnResponse, CallError> {
    let name = table_name(&request.table_name)?;
    check_exists(request_context.engine(), &name)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let family = request.column_name.clone();
    let id = alter(request_context, &name, nonce, true, move |table| {
        let family = &family[..];
        let shown = to_string_binary(family);
        let mut table = table.clone();
        if table.find_family(family).is_none() {
            return Err(invalid(format!(
                "Family '{shown}' does not exist, so it cannot be deleted"
            )));
        }
        if table.family_count() == 1 {
            return Err(invalid(format!(
                "Family '{shown}' is the only column family in the table, so it cannot be deleted"
            )));
        }
        table.remove_family(family);
        Ok(table)
    })?;
    Ok(pb::DeleteColumnResponse { proc_id: Some(id) })
}

/// Handles `ModifyTableStoreFileTracker`.
pub(super) fn modify_table_tracker(
    request_context: &RequestContext<'_>,
    request: &pb::ModifyTableStoreFileTrackerRequest,
) -> Result<pb::ModifyTableStoreFileTrackerResponse, CallError> {
    let name = table_name(&request.table_name)?;
    let tracker = check_target(&request.dst_sft)?;
    check_enabled(request_context.engine(), &name)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let id = replace(request_context, &name, nonce, move |table| {
        let mut table = table.clone();
        table.attributes.insert(TRACKER.to_owned(), tracker);
        [SOURCE, TARGET].into_iter().for_each(|name| drop(table.attributes.remove(name)));
        Ok(table)
    })?;
    Ok(pb::ModifyTableStoreFileTrackerResponse { proc_id: Some(id) })
}

/// Handles `ModifyColumnStoreFileTracker`.
pub(super) fn modify_family_tracker(
    request_context: &RequestContext<'_>,
    request: &pb::ModifyColumnStoreFileTrackerRequest,
) -> Result<pb::ModifyColumnStoreFileTrackerResponse, CallError> {
    let name = table_name(&request.table_name)?;
    let tracker = check_target(&request.dst_sft)?;
    check_enabled(request_context.engine(), &name)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let wanted = request.family.clone();
    let id = replace(request_context, &name, nonce, move |table| {
        let Some(mut family) = table.find_family(&wanted).cloned() else {
            let text =
                format!("{} does not exist for table {}", to_string_binary(&wanted), table.name());
            return Err(CallError::new(ExceptionKind::NoSuchColumnFamily, text));
        };
        family.configuration.insert(TRACKER.to_owned(), tracker);
        [SOURCE, TARGET].into_iter().for_each(|name| drop(family.configuration.remove(name)));
        Ok(table.clone().family(family))
    })?;
    Ok(pb::ModifyColumnStoreFileTrackerResponse { proc_id: Some(id) })
}

/// Like [`alter`], without the rules for a manual change of a tracker: HBase passes through
/// `MIGRATION` here automatically.
fn replace(
    request_context: &RequestContext<'_>,
    name: &halite_types::TableName,
    nonce: super::state::procedures::Nonce,
    change: impl FnOnce(&TableDescriptor) -> Result<TableDescriptor, CallError> + Send + 'static,
) -> Result<u64, CallError> {
    let table = name.clone();
    request_context.start(
        "ModifyStoreFileTrackerProcedure",
        Some(name),
        nonce,
        super::request_context::Failure::InCall,
        move |engine| {
            let old = engine.descriptor(&table)?;
            let new = change(&old)?;
            if new == *old { Ok(()) } else { Ok(engine.alter_table(new)?) }
        },
    )
}

fn invalid(text: String) -> CallError {
    CallError::new(ExceptionKind::InvalidFamilyOperation, text)
}
