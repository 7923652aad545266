//! Future time ranges of tables that declare `SPLIT ROLLING`.

use halite_rowkey::split::{DEFAULT_WIDTHS_AHEAD, Rolling, to_split};
use halite_types::TableDescriptor;

use super::state::Master;
use super::state::namespace_limits::NewResource;
use crate::base::call::CallError;
use crate::base::shutdown::Shutdown;

/// Creates the missing regions of every table that may be split, if the split switch is on. A
/// failure is logged, and retried in the next period.
pub(crate) fn roll_regions(master: &Master, shutdown: &Shutdown) {
    if !master.switches.split.get() {
        return;
    }
    for table in master.context.engine.descriptors() {
        let Some(rolling) = Rolling::from_descriptor(&table).filter(|_| table.split_enabled())
        else {
            continue;
        };
        let rolled = rolling
            .map_err(CallError::do_not_retry)
            .and_then(|rolling| roll(master, &table, &rolling, shutdown));
        if let Err(fault) = rolled {
            tracing::warn!(
                table = %table.name(),
                "the regions of future times were not created: {}",
                fault.exception()
            );
        }
    }
}

fn roll(
    master: &Master,
    table: &TableDescriptor,
    rolling: &Rolling,
    shutdown: &Shutdown,
) -> Result<(), CallError> {
    if !master.context.engine.is_enabled(table.name())? {
        return Ok(());
    }
    let list = || Ok::<_, CallError>(master.context.engine.table(table.name())?.region_infos());
    let mut regions = list()?;
    for border in rolling.boundaries(
        i64::try_from(master.context.engine.now_ms()).unwrap_or(i64::MAX),
        DEFAULT_WIDTHS_AHEAD,
    )? {
        if shutdown.is_requested() {
            return Ok(());
        }
        let Some(region) = to_split(&regions, &border)? else { continue };
        check_region_count(master, regions.len())?;
        let name = &region.encoded_name;
        master.with_room(table.name(), NewResource::Split(name), || {
            Ok(master.context.engine.split_region(name, Some(border.clone()))?)
        })?;
        regions = list()?;
        tracing::info!(
            table = %table.name(),
            "a region of future times starts at {}",
            halite_types::key::to_string_binary(&border)
        );
    }
    Ok(())
}

fn check_region_count(master: &Master, count: usize) -> Result<(), CallError> {
    let max_regions = master.context.engine.options().max_regions_per_table;
    if max_regions == 0 || count < max_regions {
        return Ok(());
    }
    Err(CallError::do_not_retry(format!(
        "it has {count} regions, and max-regions-per-table is {max_regions}; merge regions of times \
         that are past, or raise it"
    )))
}
