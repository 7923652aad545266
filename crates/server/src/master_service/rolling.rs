//! Regions of times to come, of tables that declare `SPLIT ROLLING`.

use halite_rowkey::split::{Rolling, WIDTHS_AHEAD, to_split};
use halite_types::{Error, Result, TableDescriptor};

use crate::context::Context;

/// Makes what is missing, of every table, while the switch for splits is on; what fails is logged, and tried again in the next period.
pub(crate) fn roll_regions(context: &Context) {
    if !context.master.switches.split.get() {
        return;
    }
    for table in context.engine.descriptors() {
        let Some(rolling) = Rolling::of_table(&table) else { continue };
        let rolled = rolling.map_err(Error::invalid).and_then(|rolling| roll(context, &table, &rolling));
        if let Err(error) = rolled {
            tracing::warn!(table = %table.name(), "the regions of times to come were not made: {error}");
        }
    }
}

fn roll(context: &Context, table: &TableDescriptor, rolling: &Rolling) -> Result<()> {
    if !context.engine.is_enabled(table.name())? {
        return Ok(());
    }
    let list = || Ok::<_, Error>(context.engine.table(table.name())?.region_infos());
    let mut regions = list()?;
    for border in rolling.borders(i64::try_from(context.engine.now_ms()).unwrap_or(i64::MAX), WIDTHS_AHEAD)? {
        let Some(region) = to_split(&regions, &border)? else { continue };
        context.engine.split_region(&region.encoded_name, Some(border.clone()))?;
        regions = list()?;
        tracing::info!(table = %table.name(), "a region for times to come begins at {}", halite_types::key::print_bytes(&border));
    }
    Ok(())
}
