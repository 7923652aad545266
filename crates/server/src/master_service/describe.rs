//! Which tables there are, and what they are.

use std::collections::HashSet;

use halite_engine::scan::filter::FullMatch;
use halite_types::schema::DEFAULT_NAMESPACE;
use halite_types::{TableDescriptor, TableName};
use halite_wire::convert::schema::table_name_to_proto;
use halite_wire::proto as pb;
use pb::table_state::State;

use super::asked::{Asked, check_exists, check_namespace};
use super::faults::table_not_found;
use super::names::{is_meta, is_system, meta_table, table_name};
use super::schema;
use crate::call::Fault;

/// What narrows a list of tables down.
#[derive(Default)]
struct Wanted<'a> {
    /// Only of this namespace; empty or none is of all.
    namespace: Option<&'a str>,
    /// Only those whose whole name matches this Java regular expression.
    regex: Option<&'a str>,
    /// HBase's own tables too.
    system: bool,
}

/// The names of the tables that are wanted, in their order (HBase: `HMaster.getTableDescriptors`).
fn tables(asked: &Asked<'_>, wanted: &Wanted<'_>) -> Result<Vec<TableName>, Fault> {
    let namespace = wanted.namespace.filter(|namespace| !namespace.is_empty());
    if let Some(namespace) = namespace {
        check_namespace(asked.engine(), namespace)?;
    }
    let mut names: Vec<TableName> = asked.engine().descriptors().iter().map(|table| table.name().clone()).collect();
    names.push(meta_table());
    names.sort();
    names.retain(|name| (wanted.system || !is_system(name)) && namespace.is_none_or(|namespace| name.namespace() == namespace));
    match wanted.regex {
        Some(regex) => matching(names, regex),
        None => Ok(names),
    }
}

/// Keeps the names that match as a whole. A table of the default namespace may be named with or without it.
fn matching(mut names: Vec<TableName>, regex: &str) -> Result<Vec<TableName>, Fault> {
    let pattern = FullMatch::new(regex)?;
    names.retain(|name| {
        let is_default = name.namespace() == DEFAULT_NAMESPACE;
        pattern.matches(&name.to_string()) || is_default && pattern.matches(&format!("{DEFAULT_NAMESPACE}:{name}"))
    });
    Ok(names)
}

/// The schemas of tables; those that are gone by now are left out.
fn schemas(asked: &Asked<'_>, names: &[TableName]) -> Vec<pb::TableSchema> {
    let of = |name: &TableName| {
        schema::system_schema(asked.engine(), name).or_else(|| asked.engine().descriptor(name).ok().map(|table| schema::schema(&table)))
    };
    names.iter().filter_map(of).collect()
}

/// The descriptors of the tables that a normalization is asked for.
pub(super) fn asked_for(asked: &Asked<'_>, request: &pb::NormalizeRequest) -> Result<Vec<TableDescriptor>, Fault> {
    let mut names = tables(asked, &Wanted { namespace: request.namespace.as_deref(), regex: request.regex.as_deref(), system: false })?;
    let named = each_once(&request.table_names)?;
    names.retain(|name| named.is_empty() || named.contains(name));
    Ok(names.iter().filter_map(|name| asked.engine().descriptor(name).ok()).map(|table| TableDescriptor::clone(&table)).collect())
}

/// The tables that are named, each where it is named first: a name takes a few bytes in a request, and a descriptor many in the answer.
fn each_once(messages: &[pb::TableName]) -> Result<Vec<TableName>, Fault> {
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

fn is_enabled(asked: &Asked<'_>, name: &TableName) -> bool {
    is_meta(name) || asked.engine().is_enabled(name).unwrap_or(false)
}

/// `GetTableDescriptors`: of the tables named, or of all that match. One that does not exist is left out.
pub(super) fn descriptors(asked: &Asked<'_>, request: &pb::GetTableDescriptorsRequest) -> Result<pb::GetTableDescriptorsResponse, Fault> {
    let regex = request.regex.as_deref();
    let names = if request.table_names.is_empty() {
        tables(asked, &Wanted { namespace: request.namespace.as_deref(), regex, system: request.include_sys_tables() })?
    } else {
        let named = each_once(&request.table_names)?;
        match regex {
            Some(regex) => matching(named, regex)?,
            None => named,
        }
    };
    Ok(pb::GetTableDescriptorsResponse { table_schema: schemas(asked, &names) })
}

/// `GetTableNames`.
pub(super) fn names(asked: &Asked<'_>, request: &pb::GetTableNamesRequest) -> Result<pb::GetTableNamesResponse, Fault> {
    let wanted = Wanted { namespace: request.namespace.as_deref(), regex: request.regex.as_deref(), system: request.include_sys_tables() };
    Ok(pb::GetTableNamesResponse { table_names: messages(&tables(asked, &wanted)?) })
}

/// `ListTableDescriptorsByNamespace`.
pub(super) fn descriptors_by_namespace(
    asked: &Asked<'_>,
    request: &pb::ListTableDescriptorsByNamespaceRequest,
) -> Result<pb::ListTableDescriptorsByNamespaceResponse, Fault> {
    let wanted = Wanted { namespace: Some(&request.namespace_name), system: true, ..Wanted::default() };
    Ok(pb::ListTableDescriptorsByNamespaceResponse { table_schema: schemas(asked, &tables(asked, &wanted)?) })
}

/// `ListTableNamesByNamespace`.
pub(super) fn names_by_namespace(
    asked: &Asked<'_>,
    request: &pb::ListTableNamesByNamespaceRequest,
) -> Result<pb::ListTableNamesByNamespaceResponse, Fault> {
    let wanted = Wanted { namespace: Some(&request.namespace_name), system: true, ..Wanted::default() };
    Ok(pb::ListTableNamesByNamespaceResponse { table_name: messages(&tables(asked, &wanted)?) })
}

/// The tables that are enabled, or those that are not; HBase's own are left out.
fn by_state(asked: &Asked<'_>, enabled: bool) -> Result<Vec<TableName>, Fault> {
    let mut names = tables(asked, &Wanted::default())?;
    names.retain(|name| is_enabled(asked, name) == enabled);
    Ok(names)
}

/// `ListTableDescriptorsByState`.
pub(super) fn descriptors_by_state(
    asked: &Asked<'_>,
    request: &pb::ListTableDescriptorsByStateRequest,
) -> Result<pb::ListTableDescriptorsByStateResponse, Fault> {
    Ok(pb::ListTableDescriptorsByStateResponse { table_schema: schemas(asked, &by_state(asked, request.is_enabled)?) })
}

/// `ListTableNamesByState`.
pub(super) fn names_by_state(asked: &Asked<'_>, request: &pb::ListTableNamesByStateRequest) -> Result<pb::ListTableNamesByStateResponse, Fault> {
    Ok(pb::ListTableNamesByStateResponse { table_names: messages(&by_state(asked, request.is_enabled)?) })
}

/// `GetTableState`.
pub(super) fn state(asked: &Asked<'_>, request: &pb::GetTableStateRequest) -> Result<pb::GetTableStateResponse, Fault> {
    let name = table_name(&request.table_name)?;
    check_exists(asked.engine(), &name)?;
    let state = if is_enabled(asked, &name) { State::Enabled } else { State::Disabled };
    Ok(pb::GetTableStateResponse { table_state: pb::TableState { state: state.into() } })
}

/// `GetSchemaAlterStatus`: a change of a table reaches all regions at once, so none is left to be updated.
pub(super) fn alter_status(asked: &Asked<'_>, request: &pb::GetSchemaAlterStatusRequest) -> Result<pb::GetSchemaAlterStatusResponse, Fault> {
    let name = table_name(&request.table_name)?;
    let regions = if is_meta(&name) { 1 } else { asked.engine().regions(&name).map_err(|_| table_not_found(&name))?.len() };
    let total_regions = u32::try_from(regions).unwrap_or(u32::MAX);
    Ok(pb::GetSchemaAlterStatusResponse { yet_to_update_regions: Some(0), total_regions: Some(total_regions) })
}
