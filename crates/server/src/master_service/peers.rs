//! Replication peers, as records: they are checked, kept and told as HBase does it, and nothing is shipped to them.
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

use super::asked::{Asked, Failure};
use super::procedures::Nonce;
use crate::call::Fault;

/// Where the peers lie among the settings of the store, each under its id.
const PREFIX: &str = "peer/";
/// Endpoints of HBase's own, which need a cluster key. Others are Java classes that cannot be loaded.
const ENDPOINTS: [&str; 2] = [
    "org.apache.hadoop.hbase.replication.regionserver.HBaseInterClusterReplicationEndpoint",
    "org.apache.hadoop.hbase.replication.regionserver.RegionReplicaReplicationEndpoint",
];

/// The settings are kept in memory, and written whole at every change of the store.
const PEERS_MAX: usize = 1_000;
const BYTES_MAX: usize = 512 << 10;

type Settings = BTreeMap<String, Bytes>;

/// `AddReplicationPeer`.
pub(super) fn add(asked: &Asked<'_>, request: &pb::AddReplicationPeerRequest) -> Result<pb::AddReplicationPeerResponse, Fault> {
    let (id, config) = (request.peer_id.clone(), request.peer_config.clone());
    let (own, state) = (own_keys(asked), request.peer_state);
    let proc_id = change(asked, "AddPeerProcedure", move |settings| {
        if id.is_empty() || id.contains('-') {
            return Err(Fault::do_not_retry(format!("Found invalid peer name: {id}")));
        }
        check_config(&own, &config)?;
        if settings.contains_key(&key(&id)) {
            return Err(Fault::do_not_retry(format!("Replication peer {id} already exists")));
        }
        put(settings, &pb::ReplicationPeerDescription { id, state, config, sync_replication_state: None });
        Ok(())
    })?;
    Ok(pb::AddReplicationPeerResponse { proc_id })
}

/// `RemoveReplicationPeer`.
pub(super) fn remove(asked: &Asked<'_>, request: &pb::RemoveReplicationPeerRequest) -> Result<pb::RemoveReplicationPeerResponse, Fault> {
    let id = request.peer_id.clone();
    let proc_id = change(asked, "RemovePeerProcedure", move |settings| settings.remove(&key(&id)).map(drop).ok_or_else(|| not_found(&id)))?;
    Ok(pb::RemoveReplicationPeerResponse { proc_id })
}

/// `EnableReplicationPeer`.
pub(super) fn enable(asked: &Asked<'_>, request: &pb::EnableReplicationPeerRequest) -> Result<pb::EnableReplicationPeerResponse, Fault> {
    let proc_id = set_state(asked, "EnablePeerProcedure", &request.peer_id, State::Enabled)?;
    Ok(pb::EnableReplicationPeerResponse { proc_id })
}

/// `DisableReplicationPeer`.
pub(super) fn disable(asked: &Asked<'_>, request: &pb::DisableReplicationPeerRequest) -> Result<pb::DisableReplicationPeerResponse, Fault> {
    let proc_id = set_state(asked, "DisablePeerProcedure", &request.peer_id, State::Disabled)?;
    Ok(pb::DisableReplicationPeerResponse { proc_id })
}

fn set_state(asked: &Asked<'_>, procedure: &'static str, id: &str, state: State) -> Result<Option<u64>, Fault> {
    let id = id.to_owned();
    change(asked, procedure, move |settings| {
        let mut peer = get(settings, &id)?;
        if peer.state.state() == state {
            let word = if state == State::Enabled { "enabled" } else { "disabled" };
            return Err(Fault::do_not_retry(format!("Replication peer {id} has already been {word}")));
        }
        peer.state = pb::ReplicationState { state: state.into() };
        put(settings, &peer);
        Ok(())
    })
}

/// `UpdateReplicationPeerConfig`: the configuration is replaced; where the peer is stays.
pub(super) fn update(asked: &Asked<'_>, request: &pb::UpdateReplicationPeerConfigRequest) -> Result<pb::UpdateReplicationPeerConfigResponse, Fault> {
    let (id, config) = (request.peer_id.clone(), request.peer_config.clone());
    let own = own_keys(asked);
    let proc_id = change(asked, "UpdatePeerConfigProcedure", move |settings| {
        check_config(&own, &config)?;
        let mut peer = get(settings, &id)?;
        check_same_peer(&id, &peer.config, &config)?;
        peer.config = config;
        put(settings, &peer);
        Ok(())
    })?;
    Ok(pb::UpdateReplicationPeerConfigResponse { proc_id })
}

fn check_same_peer(id: &str, old: &pb::ReplicationPeer, new: &pb::ReplicationPeer) -> Result<(), Fault> {
    let fixed = [
        ("cluster key", "key", old.clusterkey(), new.clusterkey()),
        ("replication endpoint implementation class", "class", old.replication_endpoint_impl(), new.replication_endpoint_impl()),
    ];
    match fixed.into_iter().find(|(_, _, old, new)| old != new) {
        Some((what, short, old, new)) => Err(Fault::do_not_retry(format!(
            "Changing the {what} on an existing peer is not allowed. Existing {short} '{old}' for peer {id} does not match new {short} '{new}'"
        ))),
        None => Ok(()),
    }
}

/// `GetReplicationPeerConfig`.
pub(super) fn config(asked: &Asked<'_>, request: &pb::GetReplicationPeerConfigRequest) -> Result<pb::GetReplicationPeerConfigResponse, Fault> {
    let peer = find(asked, &request.peer_id).ok_or_else(|| not_found(&request.peer_id))?;
    Ok(pb::GetReplicationPeerConfigResponse { peer_id: peer.id, peer_config: peer.config })
}

/// `ListReplicationPeers`: those whose id matches a Java regular expression as a whole, or all.
pub(super) fn list(asked: &Asked<'_>, request: &pb::ListReplicationPeersRequest) -> Result<pb::ListReplicationPeersResponse, Fault> {
    let pattern = request.regex.as_deref().map(FullMatch::new).transpose()?;
    let peers = asked.engine().settings(PREFIX).into_iter().filter_map(|(_, bytes)| pb::ReplicationPeerDescription::decode(bytes).ok());
    let peer_desc = peers.filter(|peer| pattern.as_ref().is_none_or(|pattern| pattern.matches(&peer.id))).collect();
    Ok(pb::ListReplicationPeersResponse { peer_desc })
}

/// `IsReplicationPeerEnabled`.
pub(super) fn is_enabled(asked: &Asked<'_>, request: &pb::GetReplicationPeerStateRequest) -> Result<pb::GetReplicationPeerStateResponse, Fault> {
    let id = &request.peer_id;
    let peer = find(asked, id).ok_or_else(|| Fault::do_not_retry(format!("Replication Peer of {id} does not exist.")))?;
    Ok(pb::GetReplicationPeerStateResponse { is_enabled: peer.state.state() == State::Enabled })
}

/// `ReplicationPeerModificationSwitch`: whether peers may be changed.
pub(super) fn set_modification(
    asked: &Asked<'_>,
    request: &pb::ReplicationPeerModificationSwitchRequest,
) -> Result<pb::ReplicationPeerModificationSwitchResponse, Fault> {
    let previous_value = asked.context.master.switches.peer_modification.set(asked.engine(), request.on)?;
    Ok(pb::ReplicationPeerModificationSwitchResponse { previous_value })
}

/// `IsReplicationPeerModificationEnabled`.
pub(super) fn is_modification_on(
    asked: &Asked<'_>,
    _: &pb::IsReplicationPeerModificationEnabledRequest,
) -> Result<pb::IsReplicationPeerModificationEnabledResponse, Fault> {
    Ok(pb::IsReplicationPeerModificationEnabledResponse { enabled: asked.context.master.switches.peer_modification.get() })
}

/// `GetReplicationPeerModificationProcedures`: none outlives its call.
pub(super) fn procedures(
    _: &Asked<'_>,
    _: &pb::GetReplicationPeerModificationProceduresRequest,
) -> Result<pb::GetReplicationPeerModificationProceduresResponse, Fault> {
    Ok(pb::GetReplicationPeerModificationProceduresResponse { procedure: Vec::new() })
}

/// Changes the peers in a procedure, unless they may not be changed. What is refused is told in its result.
fn change(
    asked: &Asked<'_>,
    procedure: &'static str,
    change: impl FnOnce(&mut Settings) -> Result<(), Fault> + Send + 'static,
) -> Result<Option<u64>, Fault> {
    if !asked.context.master.switches.peer_modification.get() {
        return Err(Fault::new(ExceptionKind::Io, "Replication peer modification disabled"));
    }
    let id = asked.start(procedure, None, Nonce::default(), Failure::InResult, move |engine| {
        let mut refused = None;
        let changed = engine.change_settings(|settings| {
            let before = count_and_bytes(settings);
            change(settings).and_then(|()| check_room(before, count_and_bytes(settings))).map_err(|fault| {
                refused = Some(fault);
                Error::invalid("the peers stay as they were")
            })
        });
        refused.map_or_else(|| Ok(changed?), Err)
    })?;
    Ok(Some(id))
}

fn key(id: &str) -> String {
    format!("{PREFIX}{id}")
}

/// How many peers there are, and their bytes.
fn count_and_bytes(settings: &Settings) -> (usize, usize) {
    let peers = || settings.range(PREFIX.to_owned()..).take_while(|(key, _)| key.starts_with(PREFIX));
    (peers().count(), peers().map(|(key, value)| key.len() + value.len()).sum())
}

/// What makes them fewer or smaller is taken, however many there are.
fn check_room(before: (usize, usize), after: (usize, usize)) -> Result<(), Fault> {
    let ((peers, bytes), grow) = (after, (after.0 > before.0, after.1 > before.1));
    if grow.0 && peers > PEERS_MAX {
        return Err(Fault::do_not_retry(format!("there would be {peers} replication peers; {PEERS_MAX} are kept at most, so remove some")));
    }
    if grow.1 && bytes > BYTES_MAX {
        let text = format!("the replication peers would have {bytes} bytes; {BYTES_MAX} are kept at most, so remove some or shorten what they list");
        return Err(Fault::do_not_retry(text));
    }
    Ok(())
}

fn put(settings: &mut Settings, peer: &pb::ReplicationPeerDescription) {
    settings.insert(key(&peer.id), peer.encode_to_vec().into());
}

fn get(settings: &Settings, id: &str) -> Result<pb::ReplicationPeerDescription, Fault> {
    let bytes = settings.get(&key(id)).ok_or_else(|| not_found(id))?;
    pb::ReplicationPeerDescription::decode(bytes.clone()).map_err(|error| Fault::do_not_retry(format!("peer {id} cannot be read: {error}")))
}

fn find(asked: &Asked<'_>, id: &str) -> Option<pb::ReplicationPeerDescription> {
    pb::ReplicationPeerDescription::decode(asked.engine().setting(&key(id))?).ok()
}

fn not_found(id: &str) -> Fault {
    Fault::new(ExceptionKind::ReplicationPeerNotFound, id)
}

/// HBase: `ReplicationPeerManager.checkPeerConfig`.
fn check_config(own: &[String], config: &pb::ReplicationPeer) -> Result<(), Fault> {
    let endpoint = config.replication_endpoint_impl().trim();
    if !endpoint.is_empty() && !ENDPOINTS.contains(&endpoint) {
        return Err(Fault::do_not_retry(format!("Can not instantiate configured replication endpoint class={endpoint}")));
    }
    check_cluster_key(config.clusterkey())?;
    check_other_cluster(own, config.clusterkey())?;
    check_entry_filters(config)?;
    let has_listed = !config.namespaces.is_empty() || !config.table_cfs.is_empty();
    let has_excluded = !config.exclude_namespaces.is_empty() || !config.exclude_table_cfs.is_empty();
    if config.replicate_all() && has_listed {
        return Err(Fault::do_not_retry("Need clean namespaces or table-cfs config firstly when you want replicate all cluster"));
    }
    if !config.replicate_all() && has_excluded {
        return Err(Fault::do_not_retry("Need clean exclude-namespaces or exclude-table-cfs config firstly when replicate_all flag is false"));
    }
    check_conflict(&config.namespaces, &config.table_cfs)?;
    check_conflict(&config.exclude_namespaces, &config.exclude_table_cfs)
}

/// Hosts, a port and a znode: `a,b:2181:/hbase`, or with a port for each host.
fn check_cluster_key(key: &str) -> Result<(), Fault> {
    let invalid = || Fault::do_not_retry(format!("Invalid cluster key: {key}"));
    let (rest, znode) = key.rsplit_once(':').ok_or_else(invalid)?;
    let (hosts, port) = rest.rsplit_once(':').ok_or_else(invalid)?;
    let is_key = !hosts.is_empty() && port.parse::<u16>().is_ok() && znode.starts_with('/');
    if is_key { Ok(()) } else { Err(invalid()) }
}

/// Keys that lead to this cluster itself, as far as one can tell: this machine, our port, our znode.
fn own_keys(asked: &Asked<'_>) -> Vec<String> {
    let Some(own) = asked.context.addresses.zookeeper else { return Vec::new() };
    let hosts = ["localhost".to_owned(), own.ip().to_string(), asked.peer.identity.host.clone()];
    hosts.iter().map(|host| format!("{host}:{}:{}", own.port(), asked.context.config.znode_parent)).collect()
}

fn check_other_cluster(own: &[String], key: &str) -> Result<(), Fault> {
    if own.iter().any(|own| own == key) {
        let text = format!("Invalid cluster key: {key}, should not replicate to itself for HBaseInterClusterReplicationEndpoint");
        return Err(Fault::do_not_retry(text));
    }
    Ok(())
}

/// Filters of log entries are Java classes, which cannot be loaded.
fn check_entry_filters(config: &pb::ReplicationPeer) -> Result<(), Fault> {
    let setting = config.configuration.iter().find(|setting| setting.name == "hbase.replication.source.custom.walentryfilters");
    match setting.and_then(|setting| setting.value.split(',').find(|class| !class.trim().is_empty())) {
        Some(class) => {
            Err(Fault::do_not_retry(format!("Configured WALEntryFilter {class} could not be created. Failing add/update peer operation.")))
        }
        None => Ok(()),
    }
}

fn check_conflict(namespaces: &[Bytes], tables: &[pb::TableCf]) -> Result<(), Fault> {
    for table in tables.iter().filter_map(|table| table.table_name.as_ref()) {
        if namespaces.contains(&table.namespace) {
            let name = halite_wire::convert::schema::table_name_from_proto(table)?;
            let namespace = name.namespace().to_owned();
            return Err(Fault::do_not_retry(format!("Table-cfs {name} is conflict with namespaces {namespace} in peer config")));
        }
    }
    Ok(())
}
