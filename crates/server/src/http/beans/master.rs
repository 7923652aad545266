//! `Master,sub=Server`, `sub=AssignmentManager` and `sub=IPC`.

use std::sync::atomic::Ordering::Relaxed;

use halite_wire::service::Service;

use super::super::histogram_summary::HistogramSummary;
use super::super::snapshot::MetricsSnapshot;
use super::bean::Bean;
use super::region_server::{calls, zookeeper_quorum};

/// Services of a master.
const SERVICES: &[Service] = &[Service::Master, Service::Hbck, Service::Lock];

#[expect(clippy::cast_precision_loss, reason = "regions are counted in thousands")]
pub(super) fn server(snapshot: &MetricsSnapshot<'_>) -> Bean {
    let (identity, start) = (&snapshot.identity, snapshot.context.start_code);
    Bean::hbase("Master,sub=Server", "master", snapshot)
        .with("tag.liveRegionServers", identity.region_server_text())
        .with("tag.deadRegionServers", "")
        .with("tag.drainingRegionServers", "")
        .with("tag.zookeeperQuorum", zookeeper_quorum(snapshot))
        .with("tag.serverName", format!("{},{},{start}", identity.host, identity.master_port))
        .with("tag.clusterId", snapshot.cluster_id)
        .with("tag.isActiveMaster", "true")
        .with("masterActiveTime", start)
        .with("masterStartTime", start)
        .with("masterFinishedInitializationTime", start)
        .with("averageLoad", snapshot.totals.regions as f64)
        .with("numRegionServers", 1_u64)
        .with("numDeadRegionServers", 0_u64)
        .with("numDrainingRegionServers", 0_u64)
        .with("clusterRequests", snapshot.totals.read_requests + snapshot.totals.write_requests)
}

/// A region is served as soon as it exists, so none is ever in transition.
pub(super) fn assignment_manager(snapshot: &MetricsSnapshot<'_>) -> Bean {
    let bean = Bean::hbase("Master,sub=AssignmentManager", "master", snapshot);
    let bean = ["ritCount", "ritCountOverThreshold", "ritOldestAge"]
        .iter()
        .fold(bean, |bean, name| bean.with(name, 0_u64));
    snapshot.procedures.iter().fold(bean, |bean, times| {
        bean.with(&format!("{}SubmittedCount", times.prefix), times.submitted.load(Relaxed))
            .with(&format!("{}FailedCount", times.prefix), times.failed.load(Relaxed))
            .with_all(
                HistogramSummary::from_histograms([&times.us])
                    .attributes(&format!("{}Time", times.prefix)),
            )
    })
}

pub(super) fn ipc(snapshot: &MetricsSnapshot<'_>) -> Bean {
    let bean = Bean::hbase("Master,sub=IPC", "master", snapshot)
        .with("numCallsInGeneralQueue", snapshot.queued_admin_calls)
        .with("numActiveHandler", snapshot.active_admin_handlers)
        .with("numActiveGeneralHandler", snapshot.active_admin_handlers);
    calls(bean, snapshot, SERVICES)
}
