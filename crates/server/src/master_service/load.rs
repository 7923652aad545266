//! The figures of regions and of the server, as HBase reports them.

use std::sync::Mutex;
use std::time::Instant;

use halite_types::{CompactionState, RegionLoad};
use halite_wire::proto as pb;
use halite_wire::service::Service;

use super::names::{META_REGION_NAME, region_specifier};
use super::procedures::now_ms;
use crate::context::Context;

const KB: u64 = 1 << 10;
const MB: u64 = 1 << 20;
/// What HBase writes where no sequence id is known.
const NO_SEQUENCE: u64 = u64::MAX;
/// Endpoints that every region has.
const ENDPOINTS: [&str; 2] = ["AggregateImplementation", "MultiRowMutationEndpoint"];

/// Requests per second, measured between two looks at least a second apart.
#[derive(Debug)]
pub(crate) struct RequestRate(Mutex<(Instant, u64, u64)>);

impl Default for RequestRate {
    fn default() -> Self {
        Self(Mutex::new((Instant::now(), 0, 0)))
    }
}

impl RequestRate {
    /// Requests per second, given how many there have been in all.
    fn of(&self, total: u64) -> u64 {
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

/// A region's figures as HBase reports them (HBase: `HRegionServer.createRegionLoad`).
pub(crate) fn region_load(load: &RegionLoad, families: impl Iterator<Item = bytes::Bytes>) -> pb::RegionLoad {
    let sequence_id = load.flushed_sequence.unwrap_or(NO_SEQUENCE);
    pb::RegionLoad {
        region_specifier: region_specifier(load.region.full_name()),
        stores: Some(count(load.stores)),
        storefiles: Some(count(load.store_files)),
        store_uncompressed_size_mb: Some(megabytes(load.store_file_uncompressed_bytes)),
        storefile_size_mb: Some(megabytes(load.store_file_bytes)),
        mem_store_size_mb: Some(megabytes(load.memstore_data_bytes)),
        storefile_index_size_kb: Some(load.static_index_bytes / KB),
        read_requests_count: Some(load.read_requests),
        write_requests_count: Some(load.write_requests),
        total_compacting_k_vs: Some(load.compacting_cells),
        current_compacted_k_vs: Some(load.compacted_cells),
        root_index_size_kb: Some(count(load.root_index_bytes / KB)),
        total_static_index_size_kb: Some(count(load.static_index_bytes / KB)),
        total_static_bloom_size_kb: Some(count(load.static_bloom_bytes / KB)),
        complete_sequence_id: Some(sequence_id),
        data_locality: Some(1.0),
        last_major_compaction_ts: Some(u64::try_from(load.last_major_compaction_ms).unwrap_or(0)),
        // A flush writes all families.
        store_complete_sequence_id: families.map(|family_name| pb::StoreSequenceId { family_name, sequence_id }).collect(),
        filtered_read_requests_count: Some(load.filtered_read_requests),
        cp_requests_count: Some(0),
        compaction_state: Some(compaction_state(load.compaction_state).into()),
        region_size_mb: Some(megabytes(load.store_file_bytes)),
        ..Default::default()
    }
}

/// The figures of `hbase:meta`, which is computed and holds nothing itself.
pub(crate) fn meta_load() -> pb::RegionLoad {
    let specifier = region_specifier(META_REGION_NAME.as_bytes().to_vec());
    pb::RegionLoad {
        region_specifier: specifier,
        stores: Some(3),
        complete_sequence_id: Some(NO_SEQUENCE),
        data_locality: Some(1.0),
        ..Default::default()
    }
}

/// The figures of all regions, or of those of one table.
pub(crate) fn region_loads(context: &Context, wanted: impl Fn(&RegionLoad) -> bool) -> Vec<pb::RegionLoad> {
    let status = context.engine.status();
    let families = |load: &RegionLoad| {
        let descriptor = context.engine.descriptor(&load.region.table).ok();
        descriptor.into_iter().flat_map(|table| table.families().map(|family| family.name().clone()).collect::<Vec<_>>())
    };
    status.regions.iter().filter(|load| wanted(load)).map(|load| region_load(load, families(load))).collect()
}

/// The figures of the server with all its regions.
pub(crate) fn server_load(context: &Context) -> pb::ServerLoad {
    let total = requests(context);
    let mut region_loads = region_loads(context, |_| true);
    region_loads.push(meta_load());
    pb::ServerLoad {
        number_of_requests: Some(context.master.request_rate.of(total)),
        total_number_of_requests: Some(total),
        used_heap_mb: Some(megabytes(memory("/proc/self/status", "VmRSS:"))),
        max_heap_mb: Some(megabytes(memory("/proc/meminfo", "MemTotal:"))),
        region_loads,
        coprocessors: ENDPOINTS.iter().map(|name| pb::Coprocessor { name: (*name).to_owned() }).collect(),
        report_start_time: Some(context.start_code),
        report_end_time: Some(now_ms()),
        info_server_port: context.addresses.web.map(|web| u32::from(web.port())),
        ..Default::default()
    }
}

/// Calls of clients since the start.
fn requests(context: &Context) -> u64 {
    let called = context.metrics.called();
    called.filter(|(method, _)| matches!(method.service(), Service::Client | Service::Admin)).map(|(_, metrics)| metrics.total_us.count()).sum()
}

/// HBase's word for which compactions are asked for or running.
pub(crate) fn compaction_state(state: CompactionState) -> pb::region_load::CompactionState {
    use pb::region_load::CompactionState as Told;
    match state {
        CompactionState::None => Told::None,
        CompactionState::Minor => Told::Minor,
        CompactionState::Major => Told::Major,
        CompactionState::MajorAndMinor => Told::MajorAndMinor,
    }
}

/// Mebibytes, and 1 for anything below one but nothing (HBase: `HRegionServer.roundSize`).
fn megabytes(bytes: u64) -> u32 {
    count(if bytes > 0 { (bytes / MB).max(1) } else { 0 })
}

fn count(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(i32::MAX.unsigned_abs())
}

/// A line of kibibytes in one of Linux's files about memory, in bytes; 0 where there is none.
fn memory(file: &str, line: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let value = text.lines().find_map(|text| text.strip_prefix(line)?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    value.unwrap_or(0).saturating_mul(KB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_as_hbase_rounds_them() {
        assert_eq!([0, 1, MB - 1, MB, 3 * MB + 5].map(megabytes), [0, 1, 1, 1, 3]);
        assert_eq!(count(u64::MAX), 2_147_483_647);
    }

    #[test]
    fn a_rate_needs_a_second() {
        let rate = RequestRate::default();
        assert_eq!(rate.of(1000), 0);
        rate.0.lock().unwrap().0 = Instant::now().checked_sub(std::time::Duration::from_secs(2)).unwrap();
        assert_eq!((rate.of(1000), rate.of(5000)), (500, 500));
    }
}
