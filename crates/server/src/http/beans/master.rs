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
pub(super) fn server(figures: &MetricsSnapshot<'_>) -> Bean {
    let (identity, start) = (&figures.identity, figures.context.start_code);
    Bean::hbase("Master,sub=Server", "master", figures)
        .with("tag.liveRegionServers", identity.region_server_text())
        .with("tag.deadRegionServers", "")
        .with("tag.drainingRegionServers", "")
        .with("tag.zookeeperQuorum", zookeeper_quorum(figures))
        .with("tag.serverName", format!("{},{},{start}", identity.host, identity.master_port))
        .with("tag.clusterId", figures.cluster_id)
        .with("tag.isActiveMaster", "true")
        .with("masterActiveTime", start)
        .with("masterStartTime", start)
        .with("masterFinishedInitializationTime", start)
        .with("averageLoad", figures.totals.regions as f64)
        .with("numRegionServers", 1_u64)
        .with("numDeadRegionServers", 0_u64)
        .with("numDrainingRegionServers", 0_u64)
        .with("clusterRequests", figures.totals.read_requests + figures.totals.write_requests)
}

/// A region is served as soon as it exists, so none is ever in transition.
pub(super) fn assignment_manager(figures: &MetricsSnapshot<'_>) -> Bean {
    let bean = Bean::hbase("Master,sub=AssignmentManager", "master", figures);
    let bean = ["ritCount", "ritCountOverThreshold", "ritOldestAge"]
        .iter()
        .fold(bean, |bean, name| bean.with(name, 0_u64));
    figures.procedures.iter().fold(bean, |bean, times| {
        bean.with(&format!("{}SubmittedCount", times.prefix), times.submitted.load(Relaxed))
            .with(&format!("{}FailedCount", times.prefix), times.failed.load(Relaxed))
            .with_all(
                HistogramSummary::from_histograms([&times.us])
                    .attributes(&format!("{}Time", times.prefix)),
            )
    })
}

pub(super) fn ipc(figures: &MetricsSnapshot<'_>) -> Bean {
    let bean = Bean::hbase("Master,sub=IPC", "master", figures)
        .with("numCallsInGeneralQueue", figures.queued_admin_calls)
        .with("numActiveHandler", figures.active_admin_handlers)
        .with("numActiveGeneralHandler", figures.active_admin_handlers);
    calls(bean, figures, SERVICES)
}
