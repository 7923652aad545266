//! `RegionLoad` and `ClusterStatus`: statistics of regions, as `status` prints them.
//!
//! HBase sends sizes in whole mebibytes and kibibytes, and rounds anything above 0 up to at least
//! one of them, so the decoded value is coarser than the original.

use std::sync::Arc;

use bytes::Bytes;
use halite_types::status::{ClusterServers, CompactionState, ServerStatus};
use halite_types::{ClusterStatus, RegionInfo, RegionLoad, Result, ServerName};

use super::{region, server};
use crate::proto as pb;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Value for a region without a sequence id: -1 in an unsigned field.
const NO_SEQUENCE: u64 = u64::MAX;

/// Returns the message of a region's statistics, with the families of its table (HBase:
/// `HRegionServer.createRegionLoad`).
pub fn region_load_to_proto<'a>(
    load: &RegionLoad,
    families: impl IntoIterator<Item = &'a Bytes>,
) -> pb::RegionLoad {
    let sequence_id = load.flushed_sequence.unwrap_or(NO_SEQUENCE);
    // A flush writes all families.
    let store_sequence =
        |family: &Bytes| pb::StoreSequenceId { family_name: family.clone(), sequence_id };
    pb::RegionLoad {
        region_specifier: region::specifier(&load.region),
        stores: Some(int(load.stores)),
        storefiles: Some(int(load.store_files)),
        store_uncompressed_size_mb: Some(round(load.store_file_uncompressed_bytes, MIB)),
        storefile_size_mb: Some(round(load.store_file_bytes, MIB)),
        mem_store_size_mb: Some(round(load.memstore_data_bytes, MIB)),
        storefile_index_size_kb: Some(u64::from(round(load.root_index_bytes, KIB))),
        root_index_size_kb: Some(round(load.root_index_bytes, KIB)),
        total_static_index_size_kb: Some(round(load.static_index_bytes, KIB)),
        total_static_bloom_size_kb: Some(round(load.static_bloom_bytes, KIB)),
        read_requests_count: Some(load.read_requests),
        filtered_read_requests_count: Some(load.filtered_read_requests),
        write_requests_count: Some(load.write_requests),
        cp_requests_count: Some(0),
        total_compacting_k_vs: Some(load.compacting_cells),
        current_compacted_k_vs: Some(load.compacted_cells),
        compaction_state: Some(compaction_state_to_proto(load.compaction_state).into()),
        complete_sequence_id: Some(sequence_id),
        store_complete_sequence_id: families.into_iter().map(store_sequence).collect(),
        last_major_compaction_ts: Some(load.last_major_compaction_ms.cast_unsigned()),
        region_size_mb: Some(round(load.store_file_bytes, MIB)),
        data_locality: Some(1.0),
        ..pb::RegionLoad::default()
    }
}

/// Returns the statistics of a region, for a client that has resolved the message's region name.
pub fn region_load_from_proto(proto: &pb::RegionLoad, region: RegionInfo) -> RegionLoad {
    RegionLoad {
        stores: u64::from(proto.stores()),
        store_files: u64::from(proto.storefiles()),
        store_file_uncompressed_bytes: bytes(proto.store_uncompressed_size_mb(), MIB),
        store_file_bytes: bytes(proto.storefile_size_mb(), MIB),
        memstore_bytes: bytes(proto.mem_store_size_mb(), MIB),
        memstore_data_bytes: bytes(proto.mem_store_size_mb(), MIB),
        root_index_bytes: bytes(proto.root_index_size_kb(), KIB),
        static_index_bytes: bytes(proto.total_static_index_size_kb(), KIB),
        static_bloom_bytes: bytes(proto.total_static_bloom_size_kb(), KIB),
        read_requests: proto.read_requests_count(),
        filtered_read_requests: proto.filtered_read_requests_count(),
        write_requests: proto.write_requests_count(),
        compacting_cells: proto.total_compacting_k_vs(),
        compacted_cells: proto.current_compacted_k_vs(),
        compaction_state: compaction_state_from_proto(proto.compaction_state()),
        flushed_sequence: proto.complete_sequence_id.filter(|sequence| *sequence != NO_SEQUENCE),
        last_major_compaction_ms: proto.last_major_compaction_ts().cast_signed(),
        ..RegionLoad::new(region)
    }
}

/// Returns the statistics of a cluster: its servers, and the regions on the live ones that `find`
/// resolves by name. Servers of a cluster do not report caches and logs; those values are 0.
///
/// # Errors
/// The invalid name of a server.
pub fn cluster_status_from_proto(
    proto: &pb::ClusterStatus,
    mut find: impl FnMut(&[u8]) -> Option<RegionInfo>,
) -> Result<ClusterStatus> {
    let (mut live, mut regions) = (Vec::new(), Vec::new());
    for server in &proto.live_servers {
        let name = Arc::new(server::from_proto(&server.server)?);
        let loads = &server.server_load.region_loads;
        live.push(ServerStatus { name: Arc::clone(&name), regions: loads.len() });
        for load in loads {
            let Some(region) = find(&load.region_specifier.value) else { continue };
            regions.push(RegionLoad {
                server: Some(Arc::clone(&name)),
                locality: load.data_locality.filter(|part| (0.0..=1.0).contains(part)),
                ..region_load_from_proto(load, region)
            });
        }
    }
    regions.sort_by(|a, b| {
        (&a.region.table, &a.region.start).cmp(&(&b.region.table, &b.region.start))
    });
    let servers = ClusterServers {
        version: proto
            .hbase_version
            .as_ref()
            .map(|known| known.version.clone())
            .unwrap_or_default(),
        master: proto.master.as_ref().map(server::from_proto).transpose()?,
        backup_masters: names(&proto.backup_masters)?,
        live,
        dead: names(&proto.dead_servers)?,
    };
    Ok(ClusterStatus { servers: Some(servers), regions, ..ClusterStatus::default() })
}

fn names(servers: &[pb::ServerName]) -> Result<Vec<ServerName>> {
    servers.iter().map(server::from_proto).collect()
}

/// Returns HBase's value for the requested and running compactions.
pub fn compaction_state_to_proto(state: CompactionState) -> pb::region_load::CompactionState {
    use pb::region_load::CompactionState as Wire;
    match state {
        CompactionState::None => Wire::None,
        CompactionState::Minor => Wire::Minor,
        CompactionState::Major => Wire::Major,
        CompactionState::MajorAndMinor => Wire::MajorAndMinor,
    }
}

/// Returns the reverse of [`compaction_state_to_proto`].
pub fn compaction_state_from_proto(state: pb::region_load::CompactionState) -> CompactionState {
    use pb::region_load::CompactionState as Wire;
    match state {
        Wire::None => CompactionState::None,
        Wire::Minor => CompactionState::Minor,
        Wire::Major => CompactionState::Major,
        Wire::MajorAndMinor => CompactionState::MajorAndMinor,
    }
}

/// Returns whole units, rounded down, but at least 1 unless `size` is 0 (HBase:
/// `HRegionServer.roundSize`).
fn round(size: u64, unit: u64) -> u32 {
    int(if size == 0 { 0 } else { size.checked_div(unit).unwrap_or(0).max(1) })
}

/// Returns a count as Java's `int`.
fn int(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX).min(i32::MAX.cast_unsigned())
}

fn bytes(units: u32, unit: u64) -> u64 {
    u64::from(units).saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn region(start: &'static str) -> RegionInfo {
        let table_name = crate::convert::schema::table_name_to_proto(&"t".parse().unwrap());
        let proto = pb::RegionInfo {
            region_id: 1,
            table_name,
            start_key: Some(start.into()),
            ..pb::RegionInfo::default()
        };
        region::from_proto(&proto).unwrap()
    }

    #[test]
    fn sizes_are_rounded_as_hbase_rounds_them() {
        assert_eq!([0, 1, MIB - 1, MIB, 3 * MIB + 5].map(|size| round(size, MIB)), [0, 1, 1, 1, 3]);
        assert_eq!((round(u64::MAX, 1), int(u64::MAX)), (0x7fff_ffff, 0x7fff_ffff));
    }

    #[test]
    fn unflushed_region_reports_sequence_id_minus_one() {
        let sent = region_load_to_proto(
            &RegionLoad::new(region("")),
            [&Bytes::from("f"), &Bytes::from("g")],
        );
        assert_eq!(
            (sent.complete_sequence_id, sent.store_complete_sequence_id.len()),
            (Some(u64::MAX), 2)
        );
        assert_eq!(region_load_from_proto(&sent, region("")), RegionLoad::new(region("")));
    }

    #[test]
    fn cluster_status_lists_servers_and_known_regions_in_order() {
        let name = |port: u16| ServerName { host: "h".to_owned(), port, start_code: 1 };
        let live = |port, starts: &[&'static str]| pb::LiveServerInfo {
            server: (&name(port)).into(),
            server_load: pb::ServerLoad {
                region_loads: starts
                    .iter()
                    .map(|start| region_load_to_proto(&RegionLoad::new(region(start)), []))
                    .collect(),
                ..pb::ServerLoad::default()
            },
        };
        let proto = pb::ClusterStatus {
            hbase_version: Some(pb::HBaseVersionFileContent { version: "2.6.4".to_owned() }),
            live_servers: vec![live(1, &["m", "gone"]), live(2, &["", "x"]), live(3, &[])],
            dead_servers: vec![(&name(4)).into()],
            master: Some((&name(5)).into()),
            ..pb::ClusterStatus::default()
        };
        let known = [region("x"), region("m"), region("")];
        let read = |proto| {
            cluster_status_from_proto(proto, |name| {
                known.iter().find(|region| region.full_name() == name).cloned()
            })
        };
        let status = read(&proto).unwrap();
        let server_of = |load: &RegionLoad| load.server.as_ref().unwrap().port;
        let starts: Vec<_> = status
            .regions
            .iter()
            .map(|load| (&load.region.start[..], server_of(load), load.locality))
            .collect();
        let all = Some(1.0);
        assert_eq!(starts, [(&b""[..], 2, all), (&b"m"[..], 1, all), (&b"x"[..], 2, all)]);
        let servers = status.servers.unwrap();
        let live = servers.live.iter().map(|server| (server.name.port, server.regions));
        assert_eq!(live.collect::<Vec<_>>(), [(1, 2), (2, 2), (3, 0)]);
        assert_eq!((servers.dead, servers.master), (vec![name(4)], Some(name(5))));
        assert_eq!((&servers.version[..], servers.backup_masters.len()), ("2.6.4", 0));
        let mut damaged = proto.clone();
        damaged.live_servers[0].server.port = Some(1 << 20);
        assert!(read(&damaged).unwrap_err().to_string().contains("1048576"));
    }

    proptest! {
        #[test]
        fn whole_unit_metrics_round_trip_through_message(
            counts in any::<[u32; 4]>(), sizes in any::<[u16; 6]>(), requests in any::<[u64; 3]>(), flushed in prop::option::of(0..u64::MAX), state in 0..4usize
        ) {
            let [stores, store_files, compacting_cells, compacted_cells] = counts.map(|count| u64::from(count >> 1));
            let [uncompressed, files, memstore, root, index, bloom] = sizes.map(u32::from);
            let [read_requests, write_requests, filtered_read_requests] = requests;
            let states = [CompactionState::None, CompactionState::Minor, CompactionState::Major, CompactionState::MajorAndMinor];
            let load = RegionLoad {
                stores, store_files, compacting_cells, compacted_cells, read_requests, write_requests, filtered_read_requests,
                store_file_uncompressed_bytes: bytes(uncompressed, MIB), store_file_bytes: bytes(files, MIB), memstore_bytes: bytes(memstore, MIB),
                memstore_data_bytes: bytes(memstore, MIB), root_index_bytes: bytes(root, KIB), static_index_bytes: bytes(index, KIB),
                static_bloom_bytes: bytes(bloom, KIB), compaction_state: states[state], flushed_sequence: flushed, last_major_compaction_ms: 77,
                ..RegionLoad::new(region("a"))
            };
            prop_assert_eq!(region_load_from_proto(&region_load_to_proto(&load, []), region("a")), load);
        }
    }
}
