//! Regions of times to come, of tables that declare `SPLIT ROLLING`.

use halite_rowkey::split::{Rolling, WIDTHS_AHEAD, to_split};
use halite_types::TableDescriptor;

use super::namespace_limits::{Wanted, with_room};
use crate::call::Fault;
use crate::context::Context;
use crate::shutdown::Shutdown;

/// Makes what is missing, of every table that may be split, while the switch for splits is on; what fails is logged, and tried again in the
/// next period.
pub(crate) fn roll_regions(context: &Context, shutdown: &Shutdown) {
    if !context.master.switches.split.get() {
        return;
    }
    for table in context.engine.descriptors() {
        let Some(rolling) = Rolling::of_table(&table).filter(|_| table.split_enabled()) else { continue };
        let rolled = rolling.map_err(Fault::do_not_retry).and_then(|rolling| roll(context, &table, &rolling, shutdown));
        if let Err(fault) = rolled {
            tracing::warn!(table = %table.name(), "the regions of times to come were not made: {}", fault.exception());
        }
    }
}

fn roll(context: &Context, table: &TableDescriptor, rolling: &Rolling, shutdown: &Shutdown) -> Result<(), Fault> {
    if !context.engine.is_enabled(table.name())? {
        return Ok(());
    }
    let list = || Ok::<_, Fault>(context.engine.table(table.name())?.region_infos());
    let mut regions = list()?;
    for border in rolling.borders(i64::try_from(context.engine.now_ms()).unwrap_or(i64::MAX), WIDTHS_AHEAD)? {
        if shutdown.is_requested() {
            return Ok(());
        }
        let Some(region) = to_split(&regions, &border)? else { continue };
        check_region_count(context, regions.len())?;
        let name = &region.encoded_name;
        with_room(context, table.name(), Wanted::Split(name), || Ok(context.engine.split_region(name, Some(border.clone()))?))?;
        regions = list()?;
        tracing::info!(table = %table.name(), "a region for times to come begins at {}", halite_types::key::print_bytes(&border));
    }
    Ok(())
}

fn check_region_count(context: &Context, count: usize) -> Result<(), Fault> {
    let most = context.engine.options().table_regions_max;
    if most == 0 || count < most {
        return Ok(());
    }
    Err(Fault::do_not_retry(format!("it has {count} regions, and table_regions_max is {most}; merge regions of times that are past, or raise it")))
}
