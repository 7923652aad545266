//! Tables and namespaces: descriptors, states, and changes of them.

use std::sync::Arc;

use halite_types::{Attributes, Bytes, Error, ErrorKind, Result, TableDescriptor, TableName};
use halite_wire::convert::schema;
use halite_wire::proto as pb;
use halite_wire::service as call;
use pb::table_state::State;

use super::{master, procedure};
use crate::error::no_such_table;
use crate::shared::ClientInner;

/// Returns the descriptor of a table.
///
/// # Errors
/// `NoSuchTable`.
pub(crate) async fn descriptor(
    shared: &ClientInner,
    name: &TableName,
) -> Result<Arc<TableDescriptor>> {
    let request = pb::GetTableDescriptorsRequest {
        table_names: vec![schema::table_name_to_proto(name)],
        include_sys_tables: Some(true),
        ..pb::GetTableDescriptorsRequest::default()
    };
    let response = master::call::<call::MasterGetTableDescriptors>(shared, &request).await?;
    let found = response.table_schema.first().ok_or_else(|| no_such_table(name))?;
    schema::from_proto(found).map(Arc::new)
}

pub(super) async fn list(shared: &ClientInner) -> Result<Vec<Arc<TableDescriptor>>> {
    let response = master::call::<call::MasterGetTableDescriptors>(
        shared,
        &pb::GetTableDescriptorsRequest::default(),
    )
    .await?;
    let mut tables = response
        .table_schema
        .iter()
        .map(|table| schema::from_proto(table).map(Arc::new))
        .collect::<Result<Vec<_>>>()?;
    tables.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(tables)
}

pub(super) async fn create(
    shared: &ClientInner,
    table: TableDescriptor,
    splits: Vec<Bytes>,
) -> Result<()> {
    table.check()?;
    check_splits(&splits)?;
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::CreateTableRequest {
        table_schema: schema::to_proto(&table),
        split_keys: splits,
        nonce_group,
        nonce,
    };
    let response = master::call::<call::MasterCreateTable>(shared, &request).await?;
    procedure::finish(shared, response.proc_id, &format!("creating table {}", table.name())).await
}

/// Rejects invalid split keys. HBase also does, but some versions only when the procedure runs,
/// after many retries.
fn check_splits(splits: &[Bytes]) -> Result<()> {
    let mut sorted: Vec<&Bytes> = splits.iter().collect();
    sorted.sort();
    if sorted.first().is_some_and(|key| key.is_empty()) {
        return Err(Error::invalid("a split key is empty; give each at least one byte"));
    }
    match sorted.array_windows().find(|[a, b]| a == b) {
        Some([twice, _]) => Err(Error::invalid(format!(
            "the split key {} is given twice; give each once",
            halite_types::key::to_string_binary(twice)
        ))),
        None => Ok(()),
    }
}

pub(super) async fn alter(shared: &ClientInner, table: TableDescriptor) -> Result<()> {
    table.check()?;
    descriptor(shared, table.name()).await?;
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::ModifyTableRequest {
        table_name: schema::table_name_to_proto(table.name()),
        table_schema: schema::to_proto(&table),
        nonce_group,
        nonce,
        ..pb::ModifyTableRequest::default()
    };
    let response = master::call::<call::MasterModifyTable>(shared, &request).await?;
    procedure::finish(shared, response.proc_id, &format!("altering table {}", table.name())).await
}

pub(super) async fn drop(shared: &ClientInner, name: &TableName) -> Result<()> {
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::DeleteTableRequest {
        table_name: schema::table_name_to_proto(name),
        nonce_group,
        nonce,
    };
    let response = master::call::<call::MasterDeleteTable>(shared, &request).await?;
    procedure::finish(shared, response.proc_id, &format!("dropping table {name}")).await
}

pub(super) async fn truncate(
    shared: &ClientInner,
    name: &TableName,
    keep_splits: bool,
) -> Result<()> {
    let (nonce_group, nonce) = procedure::nonces(shared);
    let table_name = schema::table_name_to_proto(name);
    let request = pb::TruncateTableRequest {
        table_name,
        preserve_splits: Some(keep_splits),
        nonce_group,
        nonce,
    };
    let response = master::call::<call::MasterTruncateTable>(shared, &request).await?;
    procedure::finish(shared, response.proc_id, &format!("truncating table {name}")).await
}

pub(super) async fn enable(shared: &ClientInner, name: &TableName) -> Result<()> {
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::EnableTableRequest {
        table_name: schema::table_name_to_proto(name),
        nonce_group,
        nonce,
    };
    let response = master::call::<call::MasterEnableTable>(shared, &request).await?;
    procedure::finish(shared, response.proc_id, &format!("enabling table {name}")).await
}

pub(super) async fn disable(shared: &ClientInner, name: &TableName) -> Result<()> {
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::DisableTableRequest {
        table_name: schema::table_name_to_proto(name),
        nonce_group,
        nonce,
    };
    let response = master::call::<call::MasterDisableTable>(shared, &request).await?;
    procedure::finish(shared, response.proc_id, &format!("disabling table {name}")).await
}

pub(super) async fn is_enabled(shared: &ClientInner, name: &TableName) -> Result<bool> {
    let request = pb::GetTableStateRequest { table_name: schema::table_name_to_proto(name) };
    let response = master::call::<call::MasterGetTableState>(shared, &request).await?;
    Ok(response.table_state.state() == State::Enabled)
}

pub(super) async fn list_namespaces(shared: &ClientInner) -> Result<Vec<(String, Attributes)>> {
    let response = master::call::<call::MasterListNamespaceDescriptors>(
        shared,
        &pb::ListNamespaceDescriptorsRequest {},
    )
    .await?;
    let mut namespaces = response
        .namespace_descriptor
        .iter()
        .map(schema::namespace_from_proto)
        .collect::<Result<Vec<_>>>()?;
    namespaces.sort();
    Ok(namespaces)
}

pub(super) async fn create_namespace(
    shared: &ClientInner,
    name: &str,
    settings: &Attributes,
) -> Result<()> {
    halite_types::schema::check_namespace(name)?;
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::CreateNamespaceRequest {
        namespace_descriptor: schema::namespace_to_proto(name, settings),
        nonce_group,
        nonce,
    };
    let response = master::call::<call::MasterCreateNamespace>(shared, &request).await?;
    procedure::finish(shared, response.proc_id, &format!("creating namespace {name}")).await
}

pub(super) async fn alter_namespace(
    shared: &ClientInner,
    name: &str,
    settings: &Attributes,
) -> Result<()> {
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request = pb::ModifyNamespaceRequest {
        namespace_descriptor: schema::namespace_to_proto(name, settings),
        nonce_group,
        nonce,
    };
    let response = master::call::<call::MasterModifyNamespace>(shared, &request).await?;
    procedure::finish(shared, response.proc_id, &format!("altering namespace {name}")).await
}

pub(super) async fn drop_namespace(shared: &ClientInner, name: &str) -> Result<()> {
    let (nonce_group, nonce) = procedure::nonces(shared);
    let request =
        pb::DeleteNamespaceRequest { namespace_name: name.to_owned(), nonce_group, nonce };
    let dropped = async {
        let response = master::call::<call::MasterDeleteNamespace>(shared, &request).await?;
        procedure::finish(shared, response.proc_id, &format!("dropping namespace {name}")).await
    };
    // HBase uses the same class for a namespace with tables, and for one of its own.
    match dropped.await {
        Err(error)
            if error.kind() == ErrorKind::InvalidRequest
                && !tables_in_namespace(shared, name).await?.is_empty() =>
        {
            Err(Error::new(ErrorKind::NamespaceNotEmpty, error.message()))
        }
        outcome => outcome,
    }
}

async fn tables_in_namespace(shared: &ClientInner, namespace: &str) -> Result<Vec<pb::TableName>> {
    let request = pb::ListTableNamesByNamespaceRequest { namespace_name: namespace.to_owned() };
    Ok(master::call::<call::MasterListTableNamesByNamespace>(shared, &request).await?.table_name)
}
