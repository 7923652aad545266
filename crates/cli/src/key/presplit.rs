//! `halite key presplit`: creates future regions.

use std::io::Write as _;
use std::process::ExitCode;

use halite::rowkey::split::extend_rolling_splits;
use halite::{TableName, block_on, to_string_binary};

use crate::backend::BackendArgs;

/// Creates the regions and prints them.
pub(crate) fn presplit_table(
    table: &TableName,
    ahead: u32,
    place: &BackendArgs,
) -> anyhow::Result<ExitCode> {
    let place = place.open_existing()?;
    let rolled = block_on(extend_rolling_splits(
        &**place.cluster(),
        table,
        jiff::Timestamp::now().as_millisecond(),
        ahead,
    ))?;
    let mut out = std::io::stdout();
    for boundary in &rolled.created {
        writeln!(out, "{}", to_string_binary(boundary))?;
    }
    writeln!(out, "{} regions made, {} were there", rolled.created.len(), rolled.existing)?;
    place.close()?;
    Ok(ExitCode::SUCCESS)
}
