//! Metrics of regions and of the server, as HBase reports them.

use std::sync::Mutex;

use halite_types::{FamilyDescriptor, RegionLoad};
use halite_wire::convert::region;
use halite_wire::convert::status::region_load_to_proto;
use halite_wire::proto as pb;
use halite_wire::service::Service;

use crate::context::Context;
use crate::outside::Instant;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
/// Endpoints of every region.
const ENDPOINTS: [&str; 2] = ["AggregateImplementation", "MultiRowMutationEndpoint"];

/// Requests per second, measured between two reads at least a second apart.
#[derive(Debug)]
pub(crate) struct RequestRate(Mutex<(Instant, u64, u64)>);

impl Default for RequestRate {
    fn default() -> Self {
        Self(Mutex::new((Instant::now(), 0, 0)))
    }
}

impl RequestRate {
    /// Returns requests per second, given the total number of requests.
    fn update(&self, total: u64) -> u64 {
        let Ok(mut last) = self.0.lock() else { return 0 };
        let (since, before, rate) = *last;
        let seconds = since.elapsed().as_secs();
        if seconds == 0 {
            return rate;
        }
        let rate = total.saturating_sub(before) / seconds;
        *last = (Instant::now(), total, rate);
        rate
    }
}

/// Returns the load of `hbase:meta`, which is computed and stores nothing.
pub(crate) fn meta_load() -> pb::RegionLoad {
    region_load_to_proto(&RegionLoad { stores: 3, ..RegionLoad::new(region::meta()) }, [])
}

/// Returns the load of the regions that `wanted` accepts.
pub(crate) fn region_loads(
    context: &Context,
    wanted: impl Fn(&RegionLoad) -> bool,
) -> Vec<pb::RegionLoad> {
    let message = |load: &RegionLoad| match context.engine.descriptor(&load.region.table) {
        Ok(table) => region_load_to_proto(load, table.families().map(FamilyDescriptor::name)),
        Err(_) => region_load_to_proto(load, []),
    };
    context.engine.status().regions.iter().filter(|load| wanted(load)).map(message).collect()
}

/// Returns the load of the server with all its regions.
pub(crate) fn server_load(context: &Context) -> pb::ServerLoad {
    let total = requests(context);
    let mut region_loads = region_loads(context, |_| true);
    region_loads.push(meta_load());
    pb::ServerLoad {
        number_of_requests: Some(context.master.request_rate.update(total)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_a_second() {
        let rate = RequestRate::default();
        assert_eq!(rate.update(1000), 0);
        rate.0.lock().unwrap().0 =
            Instant::now().checked_sub(std::time::Duration::from_secs(2)).unwrap();
        assert_eq!((rate.update(1000), rate.update(5000)), (500, 500));
    }
}
