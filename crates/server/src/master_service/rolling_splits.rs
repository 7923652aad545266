//! Future time ranges of tables that declare `SPLIT ROLLING`.

use halite_rowkey::split::{DEFAULT_WIDTHS_AHEAD, Rolling, to_split};
use halite_types::TableDescriptor;

use super::namespace_limits::{NewResource, with_room};
use crate::call::CallError;
use crate::context::Context;
use crate::shutdown::Shutdown;

/// Creates the missing regions of every table that may be split, if the split switch is on. A
/// failure is logged, and retried in the next period.
pub(crate) fn roll_regions(context: &Context, shutdown: &Shutdown) {
    if !context.master.switches.split.get() {
        return;
    }
    for table in context.engine.descriptors() {
        let Some(rolling) = Rolling::from_descriptor(&table).filter(|_| table.split_enabled())
        else {
            continue;
        };
        let rolled = rolling
            .map_err(CallError::do_not_retry)
            .and_then(|rolling| roll(context, &table, &rolling, shutdown));
        if let Err(fault) = rolled {
            tracing::warn!(table = %table.name(), "the regions of times to come were not made: {}", fault.exception());
        }
    }
}

fn roll(
    context: &Context,
    table: &TableDescriptor,
    rolling: &Rolling,
    shutdown: &Shutdown,
) -> Result<(), CallError> {
    if !context.engine.is_enabled(table.name())? {
        return Ok(());
    }
    let list = || Ok::<_, CallError>(context.engine.table(table.name())?.region_infos());
    let mut regions = list()?;
    for border in rolling.boundaries(
        i64::try_from(context.engine.now_ms()).unwrap_or(i64::MAX),
        DEFAULT_WIDTHS_AHEAD,
    )? {
        if shutdown.is_requested() {
            return Ok(());
        }
        let Some(region) = to_split(&regions, &border)? else { continue };
        check_region_count(context, regions.len())?;
        let name = &region.encoded_name;
        with_room(context, table.name(), NewResource::Split(name), || {
            Ok(context.engine.split_region(name, Some(border.clone()))?)
        })?;
        regions = list()?;
        tracing::info!(table = %table.name(), "a region for times to come begins at {}", halite_types::key::to_string_binary(&border));
    }
    Ok(())
}

fn check_region_count(context: &Context, count: usize) -> Result<(), CallError> {
    let most = context.engine.options().max_regions_per_table;
    if most == 0 || count < most {
        return Ok(());
    }
    Err(CallError::do_not_retry(format!(
        "it has {count} regions, and max_regions_per_table is {most}; merge regions of times that are past, or raise it"
    )))
}
