//! `halite key presplit`: the regions of times to come.

use std::io::Write as _;
use std::process::ExitCode;

use halite::rowkey::split::roll;
use halite::{TableName, block_on, print_bytes};

use crate::place::PlaceFlags;

/// Makes them, and says which.
pub(crate) fn roll_table(table: &TableName, ahead: u32, place: &PlaceFlags) -> anyhow::Result<ExitCode> {
    let place = place.open_existing()?;
    let rolled = block_on(roll(&*place.cluster(), table, jiff::Timestamp::now().as_millisecond(), ahead))?;
    let mut out = std::io::stdout();
    for border in &rolled.made {
        writeln!(out, "{}", print_bytes(border))?;
    }
    writeln!(out, "{} regions made, {} were there", rolled.made.len(), rolled.there)?;
    place.close()?;
    Ok(ExitCode::SUCCESS)
}
