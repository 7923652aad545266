//! Replication peers, as records: they are checked, stored and returned as in HBase, and nothing is
//! shipped to them.
//!
//! The rules are those of HBase 2.6 (`ReplicationPeerManager`).

use std::collections::BTreeMap;

use bytes::Bytes;
use halite_engine::scan::filter::FullMatch;
use halite_types::Error;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;
use pb::replication_state::State;
use prost::Message;

use super::request_context::{Failure, RequestContext};
use super::state::procedures::Nonce;
use crate::base::call::CallError;

/// Prefix of the peers among the store's settings, followed by the id.
const PREFIX: &str = "peer/";
/// HBase's own endpoints, which need a cluster key. Others are Java classes that cannot be loaded.
const ENDPOINTS: [&str; 2] = [
    "org.apache.hadoop.hbase.replication.regionserver.HBaseInterClusterReplicationEndpoint",
    "org.apache.hadoop.hbase.replication.regionserver.RegionReplicaReplicationEndpoint",
];

/// The settings are held in memory, and every change of the store writes all of them.
const MAX_PEERS: usize = 1_000;
const MAX_TOTAL_BYTES: usize = 512 << 10;

type Properties = BTreeMap<String, Bytes>;

/// Handles `AddReplicationPeer`.
pub(super) fn add(
    request_context: &RequestContext<'_>,
    request: &pb::AddReplicationPeerRequest,
) -> Result<pb::AddReplicationPeerResponse, CallError> {
    let (id, config) = (request.peer_id.clone(), request.peer_config.clone());
    let (own, state) = (own_keys(request_context), request.peer_state);
    let proc_id = change(request_context, "AddPeerProcedure", move |settings| {
        if id.is_empty() || id.contains('-') {
            return Err(CallError::do_not_retry(format!("Found invalid peer name: {id}")));
        }
        check_config(&own, &config)?;
        if settings.contains_key(&key(&id)) {
            return Err(CallError::do_not_retry(format!("Replication peer {id} already exists")));
        }
        put(
            settings,
            &pb::ReplicationPeerDescription { id, state, config, sync_replication_state: None },
        );
        Ok(())
    })?;
    Ok(pb::AddReplicationPeerResponse { proc_id })
}

/// Handles `RemoveReplicationPeer`.
pub(super) fn remove(
    request_context: &RequestContext<'_>,
    request: &pb::RemoveReplicationPeerRequest,
) -> Result<pb::RemoveReplicationPeerResponse, CallError> {
    let id = request.peer_id.clone();
    let proc_id = change(request_context, "RemovePeerProcedure", move |settings| {
        settings.remove(&key(&id)).map(drop).ok_or_else(|| not_found(&id))
    })?;
    Ok(pb::RemoveReplicationPeerResponse { proc_id })
}

/// Handles `EnableReplicationPeer`.
pub(super) fn enable(
    request_context: &RequestContext<'_>,
    request: &pb::EnableReplicationPeerRequest,
) -> Result<pb::EnableReplicationPeerResponse, CallError> {
    let proc_id =
        set_state(request_context, "EnablePeerProcedure", &request.peer_id, State::Enabled)?;
    Ok(pb::EnableReplicationPeerResponse { proc_id })
}

/// Handles `DisableReplicationPeer`.
pub(super) fn disable(
    request_context: &RequestContext<'_>,
    request: &pb::DisableReplicationPeerRequest,
) -> Result<pb::DisableReplicationPeerResponse, CallError> {
    let proc_id =
        set_state(request_context, "DisablePeerProcedure", &request.peer_id, State::Disabled)?;
    Ok(pb::DisableReplicationPeerResponse { proc_id })
}

fn set_state(
    request_context: &RequestContext<'_>,
    procedure: &'static str,
    id: &str,
    state: State,
) -> Result<Option<u64>, CallError> {
    let id = id.to_owned();
    change(request_context, procedure, move |settings| {
        let mut peer = get(settings, &id)?;
        if peer.state.state() == state {
            let word = if state == State::Enabled { "enabled" } else { "disabled" };
            return Err(CallError::do_not_retry(format!(
                "Replication peer {id} has already been {word}"
            )));
        }
        peer.state = pb::ReplicationState { state: state.into() };
        put(settings, &peer);
        Ok(())
    })
}

/// Handles `UpdateReplicationPeerConfig`: replaces the configuration. The cluster key and the
/// endpoint must stay the same.
pub(super) fn update(
    request_context: &RequestContext<'_>,
    request: &pb::UpdateReplicationPeerConfigRequest,
) -> Result<pb::UpdateReplicationPeerConfigResponse, CallError> {
    let (id, config) = (request.peer_id.clone(), request.peer_config.clone());
    let own = own_keys(request_context);
    let proc_id = change(request_context, "UpdatePeerConfigProcedure", move |settings| {
        check_config(&own, &config)?;
        let mut peer = get(settings, &id)?;
        check_same_peer(&id, &peer.config, &config)?;
        peer.config = config;
        put(settings, &peer);
        Ok(())
    })?;
    Ok(pb::UpdateReplicationPeerConfigResponse { proc_id })
}

fn check_same_peer(
    id: &str,
    old: &pb::ReplicationPeer,
    new: &pb::ReplicationPeer,
) -> Result<(), CallError> {
    let fixed = [
        ("cluster key", "key", old.clusterkey(), new.clusterkey()),
        (
            "replication endpoint implementation class",
            "class",
            old.replication_endpoint_impl(),
            new.replication_endpoint_impl(),
        ),
    ];
    match fixed.into_iter().find(|(_, _, old, new)| old != new) {
        Some((what, short, old, new)) => Err(CallError::do_not_retry(format!(
            "Changing the {what} on an existing peer is not allowed. Existing {short} '{old}' for \
             peer {id} does not match new {short} '{new}'"
        ))),
        None => Ok(()),
    }
}

/// Handles `GetReplicationPeerConfig`.
pub(super) fn config(
    request_context: &RequestContext<'_>,
    request: &pb::GetReplicationPeerConfigRequest,
) -> Result<pb::GetReplicationPeerConfigResponse, CallError> {
    let peer =
        find(request_context, &request.peer_id).ok_or_else(|| not_found(&request.peer_id))?;
    Ok(pb::GetReplicationPeerConfigResponse { peer_id: peer.id, peer_config: peer.config })
}

/// Handles `ListReplicationPeers`: returns all peers, or those whose whole id matches a Java
/// regular expression.
pub(super) fn list(
    request_context: &RequestContext<'_>,
    request: &pb::ListReplicationPeersRequest,
) -> Result<pb::ListReplicationPeersResponse, CallError> {
    let pattern = request.regex.as_deref().map(FullMatch::new).transpose()?;
    let peers = request_context
        .engine()
        .properties(PREFIX)
        .into_iter()
        .filter_map(|(_, bytes)| pb::ReplicationPeerDescription::decode(bytes).ok());
    let peer_desc = peers
        .filter(|peer| pattern.as_ref().is_none_or(|pattern| pattern.matches(&peer.id)))
        .collect();
    Ok(pb::ListReplicationPeersResponse { peer_desc })
}

/// Handles `IsReplicationPeerEnabled`.
pub(super) fn is_enabled(
    request_context: &RequestContext<'_>,
    request: &pb::GetReplicationPeerStateRequest,
) -> Result<pb::GetReplicationPeerStateResponse, CallError> {
    let id = &request.peer_id;
    let peer = find(request_context, id).ok_or_else(|| {
        CallError::do_not_retry(format!("Replication Peer of {id} does not exist."))
    })?;
    Ok(pb::GetReplicationPeerStateResponse { is_enabled: peer.state.state() == State::Enabled })
}

/// Handles `ReplicationPeerModificationSwitch`: allows or forbids changes of peers.
pub(super) fn set_modification(
    request_context: &RequestContext<'_>,
    request: &pb::ReplicationPeerModificationSwitchRequest,
) -> Result<pb::ReplicationPeerModificationSwitchResponse, CallError> {
    let previous_value = request_context
        .state
        .switches
        .peer_modification
        .set(request_context.engine(), request.on)?;
    Ok(pb::ReplicationPeerModificationSwitchResponse { previous_value })
}

/// Handles `IsReplicationPeerModificationEnabled`.
pub(super) fn is_modification_on(
    request_context: &RequestContext<'_>,
    _: &pb::IsReplicationPeerModificationEnabledRequest,
) -> Result<pb::IsReplicationPeerModificationEnabledResponse, CallError> {
    Ok(pb::IsReplicationPeerModificationEnabledResponse {
        enabled: request_context.state.switches.peer_modification.get(),
    })
}

/// Handles `GetReplicationPeerModificationProcedures`. No such procedure outlives its call.
pub(super) fn procedures(
    _: &RequestContext<'_>,
    _: &pb::GetReplicationPeerModificationProceduresRequest,
) -> Result<pb::GetReplicationPeerModificationProceduresResponse, CallError> {
    Ok(pb::GetReplicationPeerModificationProceduresResponse { procedure: Vec::new() })
}

/// Changes the peers in a procedure, if changes are allowed. The procedure's result reports a
/// rejected change.
fn change(
    request_context: &RequestContext<'_>,
    procedure: &'static str,
    change: impl FnOnce(&mut Properties) -> Result<(), CallError> + Send + 'static,
) -> Result<Option<u64>, CallError> {
    if !request_context.state.switches.peer_modification.get() {
        return Err(CallError::new(ExceptionKind::Io, "Replication peer modification disabled"));
    }
    let id = request_context.start(
        procedure,
        None,
        Nonce::default(),
        Failure::InResult,
        move |engine| {
            let mut refused = None;
            let changed = engine.update_properties(|settings| {
                let before = count_and_bytes(settings);
                change(settings)
                    .and_then(|()| check_room(before, count_and_bytes(settings)))
                    .map_err(|fault| {
                        refused = Some(fault);
                        Error::invalid("the peers stay as they were")
                    })
            });
            refused.map_or_else(|| Ok(changed?), Err)
        },
    )?;
    Ok(Some(id))
}

fn key(id: &str) -> String {
    format!("{PREFIX}{id}")
}

/// Returns the number of peers and their bytes.
fn count_and_bytes(settings: &Properties) -> (usize, usize) {
    let peers =
        || settings.range(PREFIX.to_owned()..).take_while(|(key, _)| key.starts_with(PREFIX));
    (peers().count(), peers().map(|(key, value)| key.len() + value.len()).sum())
}

/// Checks the limits. A change that reduces the count or the size is accepted whatever the total.
fn check_room(before: (usize, usize), after: (usize, usize)) -> Result<(), CallError> {
    let ((peers, bytes), grow) = (after, (after.0 > before.0, after.1 > before.1));
    if grow.0 && peers > MAX_PEERS {
        return Err(CallError::do_not_retry(format!(
            "there would be {peers} replication peers; {MAX_PEERS} are kept at most, so remove some"
        )));
    }
    if grow.1 && bytes > MAX_TOTAL_BYTES {
        let text = format!(
            "the replication peers would have {bytes} bytes; {MAX_TOTAL_BYTES} are kept at most, \
             so remove some or shorten what they list"
        );
        return Err(CallError::do_not_retry(text));
    }
    Ok(())
}

fn put(settings: &mut Properties, peer: &pb::ReplicationPeerDescription) {
    settings.insert(key(&peer.id), peer.encode_to_vec().into());
}

fn get(settings: &Properties, id: &str) -> Result<pb::ReplicationPeerDescription, CallError> {
    let bytes = settings.get(&key(id)).ok_or_else(|| not_found(id))?;
    pb::ReplicationPeerDescription::decode(bytes.clone())
        .map_err(|error| CallError::do_not_retry(format!("peer {id} cannot be read: {error}")))
}

fn find(request_context: &RequestContext<'_>, id: &str) -> Option<pb::ReplicationPeerDescription> {
    pb::ReplicationPeerDescription::decode(request_context.engine().property(&key(id))?).ok()
}

fn not_found(id: &str) -> CallError {
    CallError::new(ExceptionKind::ReplicationPeerNotFound, id)
}

/// Checks a peer's configuration (HBase: `ReplicationPeerManager.checkPeerConfig`).
fn check_config(own: &[String], config: &pb::ReplicationPeer) -> Result<(), CallError> {
    let endpoint = config.replication_endpoint_impl().trim();
    if !endpoint.is_empty() && !ENDPOINTS.contains(&endpoint) {
        return Err(CallError::do_not_retry(format!(
            "Can not instantiate configured replication endpoint class={endpoint}"
        )));
    }
    check_cluster_key(config.clusterkey())?;
    check_other_cluster(own, config.clusterkey())?;
    check_entry_filters(config)?;
    let has_listed = !config.namespaces.is_empty() || !config.table_cfs.is_empty();
    let has_excluded =
        !config.exclude_namespaces.is_empty() || !config.exclude_table_cfs.is_empty();
    if config.replicate_all() && has_listed {
        return Err(CallError::do_not_retry(
            "Need clean namespaces or table-cfs config firstly when you want replicate all cluster",
        ));
    }
    if !config.replicate_all() && has_excluded {
        return Err(CallError::do_not_retry(
            "Need clean exclude-namespaces or exclude-table-cfs config firstly when replicate_all \
             flag is false",
        ));
    }
    check_conflict(&config.namespaces, &config.table_cfs)?;
    check_conflict(&config.exclude_namespaces, &config.exclude_table_cfs)
}

/// Checks a cluster key: hosts, a port and a znode, as in `a,b:2181:/hbase`, or with a port for
/// each host.
fn check_cluster_key(key: &str) -> Result<(), CallError> {
    let invalid = || CallError::do_not_retry(format!("Invalid cluster key: {key}"));
    let (rest, znode) = key.rsplit_once(':').ok_or_else(invalid)?;
    let (hosts, port) = rest.rsplit_once(':').ok_or_else(invalid)?;
    let is_key = !hosts.is_empty() && port.parse::<u16>().is_ok() && znode.starts_with('/');
    if is_key { Ok(()) } else { Err(invalid()) }
}

/// Returns cluster keys that refer to this cluster, as far as can be determined: this machine, its
/// port, its znode.
fn own_keys(request_context: &RequestContext<'_>) -> Vec<String> {
    let Some(own) = request_context.context.addresses.zookeeper else { return Vec::new() };
    let hosts =
        ["localhost".to_owned(), own.ip().to_string(), request_context.peer.identity.host.clone()];
    hosts
        .iter()
        .map(|host| {
            format!("{host}:{}:{}", own.port(), request_context.context.config.znode_parent)
        })
        .collect()
}

fn check_other_cluster(own: &[String], key: &str) -> Result<(), CallError> {
    if own.iter().any(|own| own == key) {
        let text = format!(
            "Invalid cluster key: {key}, should not replicate to itself for \
             HBaseInterClusterReplicationEndpoint"
        );
        return Err(CallError::do_not_retry(text));
    }
    Ok(())
}

/// Rejects filters of log entries: they are Java classes, which cannot be loaded.
fn check_entry_filters(config: &pb::ReplicationPeer) -> Result<(), CallError> {
    let setting = config
        .configuration
        .iter()
        .find(|setting| setting.name == "hbase.replication.source.custom.walentryfilters");
    match setting
        .and_then(|setting| setting.value.split(',').find(|class| !class.trim().is_empty()))
    {
        Some(class) => Err(CallError::do_not_retry(format!(
            "Configured WALEntryFilter {class} could not be created. Failing add/update peer \
             operation."
        ))),
        None => Ok(()),
    }
}

fn check_conflict(namespaces: &[Bytes], tables: &[pb::TableCf]) -> Result<(), CallError> {
    for table in tables.iter().filter_map(|table| table.table_name.as_ref()) {
        if namespaces.contains(&table.namespace) {
            let name = halite_wire::convert::schema::table_name_from_proto(table)?;
            let namespace = name.namespace().to_owned();
            return Err(CallError::do_not_retry(format!(
                "Table-cfs {name} is conflict with namespaces {namespace} in peer config"
            )));
        }
    }
    Ok(())
}
