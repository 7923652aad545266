//! Handlers for flushes, compactions, caches and the log.

use std::collections::HashSet;

use halite_types::CompactionKind;
use halite_wire::convert::region::encoded_name;
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::regions::{RegionTarget, all, large_values_key, region_target};
use super::state::RequestContext;
use crate::base::call::CallError;

/// Maximum number of unknown regions that one reply describes.
const MAX_UNKNOWN_REGIONS: usize = 1_000;

/// Handles `FlushRegion`: flushes the named family, or all.
pub(super) fn flush(
    request_context: &RequestContext<'_>,
    request: &pb::FlushRegionRequest,
) -> Result<pb::FlushRegionResponse, CallError> {
    let started = request_context.context.start_code;
    let answer = |last_flush_time, flushed| {
        Ok(pb::FlushRegionResponse {
            last_flush_time,
            flushed: Some(flushed),
            wrote_flush_wal_marker: Some(false),
        })
    };
    let RegionTarget::Region(region) = region_target(request_context, &request.region)? else {
        return answer(started, false);
    };
    if let Some(family) =
        request.family.as_ref().filter(|family| region.descriptor().find_family(family).is_none())
    {
        let text = format!(
            "Column family {} does not exist in region {}",
            halite_types::key::to_string_binary(family),
            region.info().display_name()
        );
        return Err(CallError::new(ExceptionKind::NoSuchColumnFamily, text));
    }
    // A region not flushed since the start counts as flushed at the start.
    if request.if_older_than_ts.is_some_and(|limit_ms| limit_ms <= started) {
        return answer(started, false);
    }
    let flushed = match &request.family {
        Some(family) => region.flush_families(std::slice::from_ref(family))?,
        None => region.flush()?,
    };
    answer(request_context.engine().now_ms(), flushed)
}

/// Handles `CompactRegion`. The compaction runs in the background.
pub(super) fn compact(
    request_context: &RequestContext<'_>,
    request: &pb::CompactRegionRequest,
) -> Result<pb::CompactRegionResponse, CallError> {
    let kind = if request.major() { CompactionKind::Major } else { CompactionKind::Minor };
    let family = request.family.as_deref().filter(|family| !family.is_empty());
    let requested = &request_context.state.recent_compactions;
    match region_target(request_context, &request.region)? {
        RegionTarget::Region(region) => {
            if region.request_compaction(family, kind)? {
                requested.record(&region.info().encoded_name, kind);
            }
        }
        RegionTarget::Meta => {}
        RegionTarget::LargeValues(table) => {
            for region in all(request_context, Some(&table)) {
                if request_context
                    .engine()
                    .region(&region.encoded_name)?
                    .request_compaction(family, kind)?
                {
                    requested.record(&large_values_key(&table), kind);
                }
            }
        }
    }
    Ok(pb::CompactRegionResponse {})
}

/// Handles `CompactionSwitch`. The value lasts until the process ends. Returns the previous value.
pub(super) fn compaction_switch(
    request_context: &RequestContext<'_>,
    request: &pb::CompactionSwitchRequest,
) -> Result<pb::CompactionSwitchResponse, CallError> {
    Ok(pb::CompactionSwitchResponse {
        prev_state: request_context.engine().set_compactions_enabled(request.enabled),
    })
}

/// Handles `ClearCompactionQueues`. The only queue is cleared under either of HBase's names.
pub(super) fn clear_compaction_queues(
    request_context: &RequestContext<'_>,
    request: &pb::ClearCompactionQueuesRequest,
) -> Result<pb::ClearCompactionQueuesResponse, CallError> {
    const QUEUES: [&str; 2] = ["long", "short"];
    if let Some(unknown) = request.queue_name.iter().find(|name| !QUEUES.contains(&&name[..])) {
        return Err(CallError::do_not_retry(format!(
            "Unknown queue name {unknown}; there are long and short"
        )));
    }
    if !request.queue_name.is_empty() {
        request_context.engine().clear_compaction_queue();
    }
    Ok(pb::ClearCompactionQueuesResponse {})
}

/// Handles `ClearRegionBlockCache`: returns the number of evicted blocks and the unknown regions.
pub(super) fn clear_block_cache(
    request_context: &RequestContext<'_>,
    request: &pb::ClearRegionBlockCacheRequest,
) -> Result<pb::ClearRegionBlockCacheResponse, CallError> {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let (mut regions, mut exception, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for specifier in request.region.iter().filter(|specifier| seen.insert(&specifier.value)) {
        match encoded_name(specifier)
            .map_err(CallError::from)
            .and_then(|name| Ok(request_context.engine().region(name)?))
        {
            Ok(region) => regions.push(region),
            Err(_) if exception.len() == MAX_UNKNOWN_REGIONS => {
                let text = format!(
                    "more than {MAX_UNKNOWN_REGIONS} of the regions are not here; list the regions \
                     of the table again"
                );
                return Err(CallError::do_not_retry(text));
            }
            Err(fault) => exception.push(pb::RegionExceptionMessage {
                region: specifier.clone(),
                exception: fault.exception().to_pair(),
            }),
        }
    }
    let evicted = request_context.engine().evict_blocks_of(&regions);
    let max_cache_size = Some(signed(request_context.engine().block_cache_capacity_bytes()));
    let (evicted_blocks, bytes_evicted) =
        (Some(signed(evicted.blocks)), Some(signed(evicted.bytes)));
    let stats = pb::CacheEvictionStats { evicted_blocks, bytes_evicted, max_cache_size, exception };
    Ok(pb::ClearRegionBlockCacheResponse { stats })
}

/// Handles `RollWALWriter`. It requires no region to be flushed.
pub(super) fn roll_wal(
    request_context: &RequestContext<'_>,
    _: &pb::RollWalWriterRequest,
) -> Result<pb::RollWalWriterResponse, CallError> {
    request_context.engine().roll_wal()?;
    Ok(pb::RollWalWriterResponse { region_to_flush: Vec::new() })
}
