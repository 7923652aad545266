//! Metrics of the server, as HBase reports them.

use halite_wire::proto as pb;
use halite_wire::service::Service;

use super::state::Master;
use crate::base::context::Context;
use crate::base::region_load::{meta_load, region_loads};

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
/// Endpoints of every region.
const ENDPOINTS: [&str; 2] = ["AggregateImplementation", "MultiRowMutationEndpoint"];

/// Returns the load of the server with all its regions.
pub(super) fn server_load(master: &Master) -> pb::ServerLoad {
    let context = &master.context;
    let total = requests(context);
    let mut region_loads = region_loads(context, |_| true);
    region_loads.push(meta_load());
    pb::ServerLoad {
        number_of_requests: Some(master.request_rate.update(total)),
        total_number_of_requests: Some(total),
        used_heap_mb: Some(megabytes(memory("/proc/self/status", "VmRSS:"))),
        max_heap_mb: Some(megabytes(memory("/proc/meminfo", "MemTotal:"))),
        region_loads,
        coprocessors: ENDPOINTS
            .iter()
            .map(|name| pb::Coprocessor { name: (*name).to_owned() })
            .collect(),
        report_start_time: Some(context.start_code),
        report_end_time: Some(context.engine.now_ms()),
        info_server_port: context.addresses.http.map(|web| u32::from(web.port())),
        ..Default::default()
    }
}

/// Returns the number of client calls since the start.
fn requests(context: &Context) -> u64 {
    let called = context.metrics.called();
    called
        .filter(|(method, _)| matches!(method.service(), Service::Client | Service::Admin))
        .map(|(_, metrics)| metrics.total_us.count())
        .sum()
}

fn megabytes(bytes: u64) -> u32 {
    u32::try_from(bytes / MB).unwrap_or(u32::MAX)
}

/// Returns a line of kibibytes in one of Linux's memory files, in bytes; 0 if it is absent.
fn memory(file: &str, line: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let value = text.lines().find_map(|text| {
        text.strip_prefix(line)?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    value.unwrap_or(0).saturating_mul(KB)
}
