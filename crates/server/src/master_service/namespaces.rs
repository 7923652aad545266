//! Handlers that create, change, drop and list namespaces.

use std::sync::Arc;

use halite_engine::Engine;
use halite_types::Attributes;
use halite_types::schema::{DEFAULT_NAMESPACE, SYSTEM_NAMESPACE};
use halite_wire::convert::schema::{namespace_from_proto, namespace_to_proto};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::errors::namespace_not_found;
use super::lookup::check_namespace;
use super::lookup::namespaces;
use super::quotas;
use super::request_context::{Failure, RequestContext, nonce};
use super::state::namespace_limits::{MAX_REGIONS, MAX_TABLES};
use crate::base::call::CallError;

/// Handles `CreateNamespace`.
pub(super) fn create(
    request_context: &RequestContext<'_>,
    request: &pb::CreateNamespaceRequest,
) -> Result<pb::CreateNamespaceResponse, CallError> {
    let (name, settings) = namespace_from_proto(&request.namespace_descriptor)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let master = Arc::clone(request_context.state);
    let id = request_context.start(
        "CreateNamespaceProcedure",
        None,
        nonce,
        Failure::InCall,
        move |engine| {
            if check_namespace(engine, &name).is_ok() {
                return Err(CallError::new(
                    ExceptionKind::NamespaceExist,
                    format!("Namespace {name} already exists"),
                ));
            }
            check_limits(&name, &settings)?;
            engine.create_namespace(&name, settings)?;
            master.namespace_table.sync(engine);
            Ok(())
        },
    )?;
    Ok(pb::CreateNamespaceResponse { proc_id: Some(id) })
}

/// Handles `ModifyNamespace`: replaces the settings.
pub(super) fn modify(
    request_context: &RequestContext<'_>,
    request: &pb::ModifyNamespaceRequest,
) -> Result<pb::ModifyNamespaceResponse, CallError> {
    let (name, settings) = namespace_from_proto(&request.namespace_descriptor)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let master = Arc::clone(request_context.state);
    let id = request_context.start(
        "ModifyNamespaceProcedure",
        None,
        nonce,
        Failure::InCall,
        move |engine| {
            check_namespace(engine, &name)?;
            check_limits(&name, &settings)?;
            engine.alter_namespace(&name, settings)?;
            master.namespace_table.sync(engine);
            Ok(())
        },
    )?;
    Ok(pb::ModifyNamespaceResponse { proc_id: Some(id) })
}

/// Handles `DeleteNamespace`. The namespace must be empty and not one of HBase's own two.
pub(super) fn delete(
    request_context: &RequestContext<'_>,
    request: &pb::DeleteNamespaceRequest,
) -> Result<pb::DeleteNamespaceResponse, CallError> {
    let nonce = nonce(request.nonce_group(), request.nonce());
    let name = request.namespace_name.clone();
    let master = Arc::clone(request_context.state);
    let id = request_context.start(
        "DeleteNamespaceProcedure",
        None,
        nonce,
        Failure::InCall,
        move |engine| {
            check_namespace(engine, &name)?;
            check_removable(engine, &name)?;
            engine.drop_namespace(&name)?;
            master.namespace_table.sync(engine);
            quotas::remove_namespace_quotas(&master, &name);
            Ok(())
        },
    )?;
    Ok(pb::DeleteNamespaceResponse { proc_id: Some(id) })
}

fn check_removable(engine: &Engine, name: &str) -> Result<(), CallError> {
    let refuse = |text: String| Err(CallError::new(ExceptionKind::Constraint, text));
    if name == DEFAULT_NAMESPACE || name == SYSTEM_NAMESPACE {
        return refuse(format!("Reserved namespace {name} cannot be removed."));
    }
    match engine.descriptors().iter().filter(|table| table.name().namespace() == name).count() {
        0 => Ok(()),
        tables => refuse(format!(
            "Only empty namespaces can be removed. Namespace {name} has {tables} tables"
        )),
    }
}

/// Handles `GetNamespaceDescriptor`.
pub(super) fn descriptor(
    request_context: &RequestContext<'_>,
    request: &pb::GetNamespaceDescriptorRequest,
) -> Result<pb::GetNamespaceDescriptorResponse, CallError> {
    let name = &request.namespace_name;
    let found = namespaces(request_context.engine()).into_iter().find(|(known, _)| known == name);
    let (name, settings) = found.ok_or_else(|| namespace_not_found(name))?;
    Ok(pb::GetNamespaceDescriptorResponse {
        namespace_descriptor: namespace_to_proto(&name, &settings),
    })
}

/// Handles `ListNamespaceDescriptors`.
pub(super) fn descriptors(
    request_context: &RequestContext<'_>,
    _: &pb::ListNamespaceDescriptorsRequest,
) -> Result<pb::ListNamespaceDescriptorsResponse, CallError> {
    let all = namespaces(request_context.engine());
    Ok(pb::ListNamespaceDescriptorsResponse {
        namespace_descriptor: all
            .iter()
            .map(|(name, settings)| namespace_to_proto(name, settings))
            .collect(),
    })
}

/// Handles `ListNamespaces`.
pub(super) fn names(
    request_context: &RequestContext<'_>,
    _: &pb::ListNamespacesRequest,
) -> Result<pb::ListNamespacesResponse, CallError> {
    Ok(pb::ListNamespacesResponse {
        namespace_name: namespaces(request_context.engine())
            .into_iter()
            .map(|(name, _)| name)
            .collect(),
    })
}

/// Checks the limits that a namespace sets (HBase:
/// `TableNamespaceManager.validateTableAndRegionCount`).
fn check_limits(name: &str, settings: &Attributes) -> Result<(), CallError> {
    for (setting, what, short) in
        [(MAX_REGIONS, "region", "regions"), (MAX_TABLES, "tables", "tables")]
    {
        let Some(text) = settings.get(setting) else { continue };
        let wrong = |_| {
            CallError::do_not_retry(format!(
                "NumberFormatException while getting max {short}. {setting} is {text:?}"
            ))
        };
        if text.parse::<i64>().map_err(wrong)? <= 0 {
            return Err(CallError::new(
                ExceptionKind::Constraint,
                format!("The max {what} quota for {name} is less than or equal to zero."),
            ));
        }
    }
    Ok(())
}
