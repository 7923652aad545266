//! Cluster: its servers and its totals.

use std::collections::BTreeMap;

use axum::response::Response;
use halite_types::Latencies;
use serde::Serialize;
use utoipa::ToSchema;

use crate::call::Call;
use crate::extension::Mode;
use crate::gate::Weight;
use crate::problem::Answered;
use crate::site::Site;
use crate::statistics::{Balance, float, p99_ms, round, share};
use crate::status::Status;

/// Cluster.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClusterAnswer {
    as_of: u64,
    missing: Vec<&'static str>,
    mode: Mode,
    version: String,
    cluster_id: Option<String>,
    /// Level of the recorded heat; `null` if none is recorded.
    heat_level: Option<String>,
    /// `true` if no token was set, so that nothing can be changed here.
    read_only: bool,
    /// `true` if rows and values may be read.
    shows_rows: bool,
    servers: Vec<Server>,
    /// Number of equally loaded servers that would be as uneven.
    effective_servers: Option<f64>,
    regions: usize,
    regions_in_transition: Option<u64>,
    requests_total: u64,
    reads_per_s: Option<f64>,
    writes_per_s: Option<f64>,
    /// Requests per second of the last ten minutes, oldest first.
    requests_series: Vec<Option<f64>>,
    store_files: u64,
    store_file_bytes: u64,
    memstore_bytes: u64,
    tasks_running: usize,
}

/// Region server.
#[derive(Serialize, ToSchema)]
pub(crate) struct Server {
    /// `host,port,startcode`; `null` if servers are not reported here.
    name: Option<String>,
    regions: usize,
    requests_total: u64,
    reads_per_s: Option<f64>,
    writes_per_s: Option<f64>,
    /// Duration below which 99 in a hundred reads and writes of the last minute are.
    p99_ms: Option<f64>,
    store_file_bytes: u64,
    memstore_bytes: u64,
    memstore_limit_bytes: Option<u64>,
    /// Mean of its regions, by bytes.
    locality: Option<f64>,
}

/// Servers and totals.
#[utoipa::path(
    get,
    path = "/api/cluster",
    tag = "cluster",
    responses((status = 200, body = ClusterAnswer))
)]
pub(crate) async fn cluster(call: Call) -> Response {
    call.json(Weight::Light, |call, _| answer(&call.site)).await
}

/// Totals of the regions of one server.
#[derive(Default)]
struct Totals {
    regions: usize,
    requests: u64,
    rates: Option<(f64, f64)>,
    store_file_bytes: u64,
    memstore_bytes: u64,
    latencies: Latencies,
    /// Bytes and local bytes of the regions whose locality is known.
    locality: Option<(f64, f64)>,
}

fn totals_of_servers(site: &Site, status: &Status) -> BTreeMap<Option<String>, Totals> {
    let all = site.extension().servers().into_iter();
    let mut servers: BTreeMap<Option<String>, Totals> =
        all.map(|name| (Some(name), Totals::default())).collect();
    for (load, rates) in status.regions.iter().zip(&status.rates) {
        let name = site.extension().server_of(&load.region);
        let totals = servers.entry(name).or_default();
        totals.regions += 1;
        totals.requests += load.read_requests + load.write_requests;
        if let (Some(reads), Some(writes)) = (rates.reads_per_s(), rates.writes_per_s()) {
            let sum = totals.rates.get_or_insert((0.0, 0.0));
            *sum = (sum.0 + reads, sum.1 + writes);
        }
        totals.store_file_bytes += load.store_file_bytes;
        totals.memstore_bytes += load.memstore_data_bytes;
        totals.latencies.add(&load.read_latencies);
        totals.latencies.add(&load.write_latencies);
        if let Some(locality) = site.extension().locality_of(&load.region) {
            // An empty region counts as one byte, so that a new server has a locality too.
            let bytes = float(load.store_file_bytes + 1);
            let sum = totals.locality.get_or_insert((0.0, 0.0));
            *sum = (sum.0 + bytes, sum.1 + bytes * locality);
        }
    }
    servers
}

fn answer(site: &Site) -> Answered<ClusterAnswer> {
    let status = site.status()?;
    let about = site.extension().about();
    let totals = totals_of_servers(site, &status);
    let limit = site.extension().memstore_limit_bytes();
    let loads = totals.values().map(|totals| match totals.rates {
        Some((reads, writes)) if reads + writes > 0.0 => reads + writes,
        _ => float(totals.requests),
    });
    let effective_servers = Balance::of(loads).effective_parts();
    let sum = |part: fn(&Totals) -> u64| totals.values().map(part).sum();
    let rates: Vec<(f64, f64)> = totals.values().filter_map(|totals| totals.rates).collect();
    let rate = |part: fn(&(f64, f64)) -> f64| {
        (!rates.is_empty()).then(|| round(rates.iter().map(part).sum()))
    };
    let mut missing = vec!["regions_in_transition"];
    let is_missing = [
        ("p99_ms", totals.values().any(|totals| totals.latencies.count() == 0)),
        ("server", totals.contains_key(&None)),
        ("locality", totals.values().any(|totals| totals.locality.is_none())),
        ("memstore_limit_bytes", limit.is_none()),
        ("heat_level", about.heat_level.is_none()),
        ("reads_per_s", rates.is_empty()),
        ("writes_per_s", rates.is_empty()),
    ];
    missing.extend(is_missing.iter().filter(|(_, missing)| *missing).map(|(name, _)| name));
    let compactions = super::activity::compactions(&status).count();
    Ok(ClusterAnswer {
        as_of: status.as_of,
        missing,
        mode: about.mode,
        version: about.version,
        cluster_id: about.cluster_id,
        heat_level: about.heat_level,
        read_only: site.config.token.is_none(),
        shows_rows: site.config.shows_rows,
        effective_servers,
        regions: status.regions.len(),
        regions_in_transition: None,
        requests_total: sum(|totals| totals.requests),
        reads_per_s: rate(|rates| rates.0),
        writes_per_s: rate(|rates| rates.1),
        requests_series: site.statuses.sums(),
        store_files: status.regions.iter().map(|load| load.store_files).sum(),
        store_file_bytes: sum(|totals| totals.store_file_bytes),
        memstore_bytes: sum(|totals| totals.memstore_bytes),
        tasks_running: compactions + site.tasks.running() + site.extension().tasks().len(),
        servers: totals.into_iter().map(|(name, totals)| totals.server(name, limit)).collect(),
    })
}

impl Totals {
    fn server(self, name: Option<String>, memstore_limit_bytes: Option<u64>) -> Server {
        Server {
            name,
            regions: self.regions,
            requests_total: self.requests,
            reads_per_s: self.rates.map(|rates| round(rates.0)),
            writes_per_s: self.rates.map(|rates| round(rates.1)),
            p99_ms: p99_ms(&self.latencies),
            store_file_bytes: self.store_file_bytes,
            memstore_bytes: self.memstore_bytes,
            memstore_limit_bytes,
            locality: self.locality.and_then(|(bytes, local)| share(local, bytes)),
        }
    }
}
