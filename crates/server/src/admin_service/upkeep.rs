//! Flushes, compactions, caches and the log.

use std::collections::HashSet;

use halite_types::CompactionKind;
use halite_wire::convert::region::encoded_name;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::regions::{Meant, all, large_values_key, meant};
use crate::call::Fault;
use crate::master_service::asked::Asked;

/// Regions that are not here of which one answer says why.
const UNKNOWN_REGIONS_MAX: usize = 1_000;

/// `FlushRegion`: all families are written, whichever is named.
pub(super) fn flush(asked: &Asked<'_>, request: &pb::FlushRegionRequest) -> Result<pb::FlushRegionResponse, Fault> {
    let started = asked.context.start_code;
    let answer =
        |last_flush_time, flushed| Ok(pb::FlushRegionResponse { last_flush_time, flushed: Some(flushed), wrote_flush_wal_marker: Some(false) });
    let Meant::Region(region) = meant(asked, &request.region)? else { return answer(started, false) };
    if let Some(family) = request.family.as_ref().filter(|family| region.descriptor().find_family(family).is_none()) {
        let text = format!("Column family {} does not exist in region {}", halite_types::key::print_bytes(family), region.info().display_name());
        return Err(Fault::new(ExceptionKind::NoSuchColumnFamily, text));
    }
    // A region that has not been flushed since the start counts as flushed then.
    if request.if_older_than_ts.is_some_and(|wanted| wanted <= started) {
        return answer(started, false);
    }
    let flushed = region.flush()?;
    answer(asked.engine().now_ms(), flushed)
}

/// `CompactRegion`: done in the background.
pub(super) fn compact(asked: &Asked<'_>, request: &pb::CompactRegionRequest) -> Result<pb::CompactRegionResponse, Fault> {
    let kind = if request.major() { CompactionKind::Major } else { CompactionKind::Minor };
    let family = request.family.as_deref().filter(|family| !family.is_empty());
    let requested = &asked.context.requested_compactions;
    match meant(asked, &request.region)? {
        Meant::Region(region) => {
            if region.request_compaction(family, kind)? {
                requested.note(&region.info().encoded_name, kind);
            }
        }
        Meant::Meta => {}
        Meant::LargeValues(table) => {
            for region in all(asked, Some(&table)) {
                if asked.engine().region(&region.encoded_name)?.request_compaction(family, kind)? {
                    requested.note(&large_values_key(&table), kind);
                }
            }
        }
    }
    Ok(pb::CompactRegionResponse {})
}

/// `CompactionSwitch`: until the process ends; gives what it was.
pub(super) fn compaction_switch(asked: &Asked<'_>, request: &pb::CompactionSwitchRequest) -> Result<pb::CompactionSwitchResponse, Fault> {
    Ok(pb::CompactionSwitchResponse { prev_state: asked.engine().allow_compactions(request.enabled) })
}

/// `ClearCompactionQueues`: there is one queue, and it goes by the name of any that is asked for.
pub(super) fn clear_compaction_queues(
    asked: &Asked<'_>,
    request: &pb::ClearCompactionQueuesRequest,
) -> Result<pb::ClearCompactionQueuesResponse, Fault> {
    const QUEUES: [&str; 2] = ["long", "short"];
    if let Some(unknown) = request.queue_name.iter().find(|name| !QUEUES.contains(&&name[..])) {
        return Err(Fault::do_not_retry(format!("Unknown queue name {unknown}; there are long and short")));
    }
    if !request.queue_name.is_empty() {
        asked.engine().forget_compactions();
    }
    Ok(pb::ClearCompactionQueuesResponse {})
}

/// `ClearRegionBlockCache`: what went, and which regions are not here.
pub(super) fn clear_block_cache(asked: &Asked<'_>, request: &pb::ClearRegionBlockCacheRequest) -> Result<pb::ClearRegionBlockCacheResponse, Fault> {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let (mut regions, mut exception, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for specifier in request.region.iter().filter(|specifier| seen.insert(&specifier.value)) {
        match encoded_name(specifier).map_err(Fault::from).and_then(|name| Ok(asked.engine().region(name)?)) {
            Ok(region) => regions.push(region),
            Err(_) if exception.len() == UNKNOWN_REGIONS_MAX => {
                let text = format!("more than {UNKNOWN_REGIONS_MAX} of the regions are not here; list those of the table anew");
                return Err(Fault::do_not_retry(text));
            }
            Err(fault) => exception.push(pb::RegionExceptionMessage { region: specifier.clone(), exception: fault.exception().to_pair() }),
        }
    }
    let evicted = asked.engine().forget_blocks_of(&regions);
    let max_cache_size = Some(signed(asked.engine().block_cache_bytes_max()));
    let (evicted_blocks, bytes_evicted) = (Some(signed(evicted.blocks)), Some(signed(evicted.bytes)));
    let stats = pb::CacheEvictionStats { evicted_blocks, bytes_evicted, max_cache_size, exception };
    Ok(pb::ClearRegionBlockCacheResponse { stats })
}

/// `RollWALWriter`: no region has to be flushed for it.
pub(super) fn roll_log(asked: &Asked<'_>, _: &pb::RollWalWriterRequest) -> Result<pb::RollWalWriterResponse, Fault> {
    asked.engine().roll_log()?;
    Ok(pb::RollWalWriterResponse { region_to_flush: Vec::new() })
}
