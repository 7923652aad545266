//! Handlers that list tables and return their descriptors.

use std::collections::HashSet;

use halite_engine::Engine;
use halite_engine::scan::filter::FullMatch;
use halite_types::schema::DEFAULT_NAMESPACE;
use halite_types::{TableDescriptor, TableName};
use halite_wire::convert::schema::{table_name_to_proto, to_proto, with_defaults};
use halite_wire::proto as pb;
use pb::table_state::State;

use super::errors::table_not_found;
use super::lookup::{check_exists, check_namespace};
use super::request_context::RequestContext;
use crate::base::call::CallError;
use crate::base::names::{is_meta, is_system, meta_table, table_name};
use crate::base::schema::meta_descriptor;

/// Filter of a list of tables.
#[derive(Default)]
struct TableFilter<'a> {
    /// Only tables of this namespace; `None` or empty means all namespaces.
    namespace: Option<&'a str>,
    /// Only tables whose whole name matches this Java regular expression.
    regex: Option<&'a str>,
    /// Includes HBase's own tables.
    system: bool,
}

/// Returns the names of the matching tables, in order (HBase: `HMaster.getTableDescriptors`).
fn tables(
    request_context: &RequestContext<'_>,
    filter: &TableFilter<'_>,
) -> Result<Vec<TableName>, CallError> {
    let namespace = filter.namespace.filter(|namespace| !namespace.is_empty());
    if let Some(namespace) = namespace {
        check_namespace(request_context.engine(), namespace)?;
    }
    let mut names: Vec<TableName> =
        request_context.engine().descriptors().iter().map(|table| table.name().clone()).collect();
    names.push(meta_table());
    names.sort();
    names.retain(|name| {
        (filter.system || !is_system(name))
            && namespace.is_none_or(|namespace| name.namespace() == namespace)
    });
    match filter.regex {
        Some(regex) => matching(names, regex),
        None => Ok(names),
    }
}

/// Keeps the names that match as a whole. A table of the default namespace matches with or without
/// the namespace.
fn matching(mut names: Vec<TableName>, regex: &str) -> Result<Vec<TableName>, CallError> {
    let pattern = FullMatch::new(regex)?;
    names.retain(|name| {
        let is_default = name.namespace() == DEFAULT_NAMESPACE;
        pattern.matches(&name.to_string())
            || is_default && pattern.matches(&format!("{DEFAULT_NAMESPACE}:{name}"))
    });
    Ok(names)
}

/// Returns the schemas of tables, without those that no longer exist.
fn schemas(request_context: &RequestContext<'_>, names: &[TableName]) -> Vec<pb::TableSchema> {
    names.iter().filter_map(|name| client_schema(request_context.engine(), name)).collect()
}

/// Returns the schema of a table as clients see it, including defaults. `None` if the table does
/// not exist.
fn client_schema(engine: &Engine, name: &TableName) -> Option<pb::TableSchema> {
    let table = if is_meta(name) {
        meta_descriptor(engine)
    } else {
        TableDescriptor::clone(&*engine.descriptor(name).ok()?)
    };
    Some(to_proto(&with_defaults(table)))
}

/// Returns the descriptors of the tables for which normalization is requested.
pub(super) fn requested_tables(
    request_context: &RequestContext<'_>,
    request: &pb::NormalizeRequest,
) -> Result<Vec<TableDescriptor>, CallError> {
    let mut names = tables(
        request_context,
        &TableFilter {
            namespace: request.namespace.as_deref(),
            regex: request.regex.as_deref(),
            system: false,
        },
    )?;
    let named = each_once(&request.table_names)?;
    names.retain(|name| named.is_empty() || named.contains(name));
    Ok(names
        .iter()
        .filter_map(|name| request_context.engine().descriptor(name).ok())
        .map(|table| TableDescriptor::clone(&table))
        .collect())
}

/// Returns the named tables without duplicates, in order of first mention. A name takes a few bytes
/// in a request, but a descriptor many in the reply.
fn each_once(messages: &[pb::TableName]) -> Result<Vec<TableName>, CallError> {
    let (mut seen, mut names) = (HashSet::new(), Vec::new());
    for message in messages {
        let name = table_name(message)?;
        if seen.insert(name.clone()) {
            names.push(name);
        }
    }
    Ok(names)
}

fn messages(names: &[TableName]) -> Vec<pb::TableName> {
    names.iter().map(table_name_to_proto).collect()
}

fn is_enabled(request_context: &RequestContext<'_>, name: &TableName) -> bool {
    is_meta(name) || request_context.engine().is_enabled(name).unwrap_or(false)
}

/// Handles `GetTableDescriptors`: returns those of the named tables, or of all that match. Tables
/// that do not exist are omitted.
pub(super) fn descriptors(
    request_context: &RequestContext<'_>,
    request: &pb::GetTableDescriptorsRequest,
) -> Result<pb::GetTableDescriptorsResponse, CallError> {
    let regex = request.regex.as_deref();
    let names = if request.table_names.is_empty() {
        tables(
            request_context,
            &TableFilter {
                namespace: request.namespace.as_deref(),
                regex,
                system: request.include_sys_tables(),
            },
        )?
    } else {
        let named = each_once(&request.table_names)?;
        match regex {
            Some(regex) => matching(named, regex)?,
            None => named,
        }
    };
    Ok(pb::GetTableDescriptorsResponse { table_schema: schemas(request_context, &names) })
}

/// Handles `GetTableNames`.
pub(super) fn names(
    request_context: &RequestContext<'_>,
    request: &pb::GetTableNamesRequest,
) -> Result<pb::GetTableNamesResponse, CallError> {
    let filter = TableFilter {
        namespace: request.namespace.as_deref(),
        regex: request.regex.as_deref(),
        system: request.include_sys_tables(),
    };
    Ok(pb::GetTableNamesResponse { table_names: messages(&tables(request_context, &filter)?) })
}

/// Handles `ListTableDescriptorsByNamespace`.
pub(super) fn descriptors_by_namespace(
    request_context: &RequestContext<'_>,
    request: &pb::ListTableDescriptorsByNamespaceRequest,
) -> Result<pb::ListTableDescriptorsByNamespaceResponse, CallError> {
    let filter = TableFilter {
        namespace: Some(&request.namespace_name),
        system: true,
        ..TableFilter::default()
    };
    Ok(pb::ListTableDescriptorsByNamespaceResponse {
        table_schema: schemas(request_context, &tables(request_context, &filter)?),
    })
}

/// Handles `ListTableNamesByNamespace`.
pub(super) fn names_by_namespace(
    request_context: &RequestContext<'_>,
    request: &pb::ListTableNamesByNamespaceRequest,
) -> Result<pb::ListTableNamesByNamespaceResponse, CallError> {
    let filter = TableFilter {
        namespace: Some(&request.namespace_name),
        system: true,
        ..TableFilter::default()
    };
    Ok(pb::ListTableNamesByNamespaceResponse {
        table_name: messages(&tables(request_context, &filter)?),
    })
}

/// Returns the enabled or the disabled tables, without HBase's own.
fn by_state(
    request_context: &RequestContext<'_>,
    enabled: bool,
) -> Result<Vec<TableName>, CallError> {
    let mut names = tables(request_context, &TableFilter::default())?;
    names.retain(|name| is_enabled(request_context, name) == enabled);
    Ok(names)
}

/// Handles `ListTableDescriptorsByState`.
pub(super) fn descriptors_by_state(
    request_context: &RequestContext<'_>,
    request: &pb::ListTableDescriptorsByStateRequest,
) -> Result<pb::ListTableDescriptorsByStateResponse, CallError> {
    Ok(pb::ListTableDescriptorsByStateResponse {
        table_schema: schemas(request_context, &by_state(request_context, request.is_enabled)?),
    })
}

/// Handles `ListTableNamesByState`.
pub(super) fn names_by_state(
    request_context: &RequestContext<'_>,
    request: &pb::ListTableNamesByStateRequest,
) -> Result<pb::ListTableNamesByStateResponse, CallError> {
    Ok(pb::ListTableNamesByStateResponse {
        table_names: messages(&by_state(request_context, request.is_enabled)?),
    })
}

/// Handles `GetTableState`.
pub(super) fn state(
    request_context: &RequestContext<'_>,
    request: &pb::GetTableStateRequest,
) -> Result<pb::GetTableStateResponse, CallError> {
    let name = table_name(&request.table_name)?;
    check_exists(request_context.engine(), &name)?;
    let state = if is_enabled(request_context, &name) { State::Enabled } else { State::Disabled };
    Ok(pb::GetTableStateResponse { table_state: pb::TableState { state: state.into() } })
}

/// Handles `GetSchemaAlterStatus`. A change of a table reaches all regions at once, so no region is
/// left to update.
pub(super) fn alter_status(
    request_context: &RequestContext<'_>,
    request: &pb::GetSchemaAlterStatusRequest,
) -> Result<pb::GetSchemaAlterStatusResponse, CallError> {
    let name = table_name(&request.table_name)?;
    let regions = if is_meta(&name) {
        1
    } else {
        request_context.engine().regions(&name).map_err(|_| table_not_found(&name))?.len()
    };
    let total_regions = u32::try_from(regions).unwrap_or(u32::MAX);
    Ok(pb::GetSchemaAlterStatusResponse {
        yet_to_update_regions: Some(0),
        total_regions: Some(total_regions),
    })
}
