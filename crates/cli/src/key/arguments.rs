//! Arguments that several subcommands of `halite key` take.

use halite::TableName;

use crate::backend::BackendArgs;

/// Expected load of a table, for the rules that depend on it.
#[derive(Clone, Copy, clap::Args)]
pub(crate) struct ExpectedLoadArgs {
    /// Number of region servers [default: 1 for an embedded store]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) servers: Option<u32>,
    /// Number of rows in the full table
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows: Option<u64>,
    /// Peak rate of rows written per second
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) writes_per_second: Option<f64>,
}

fn rate(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|rate: &f64| *rate > 0.0 && rate.is_finite())
        .ok_or_else(|| format!("{text} is no number above 0"))
}

/// Query on a key.
#[derive(clap::Args)]
pub(crate) struct QueryArgs {
    /// Conditions on the fields
    #[arg(value_name = "CONDITION")]
    pub(crate) conditions: Vec<String>,
    /// Return rows in reverse key order
    #[arg(long)]
    pub(crate) reverse: bool,
    /// Maximum number of rows
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) limit: Option<usize>,
    /// Number of distinct values of a field, if known: a skip scan skips the gaps between few
    /// values
    #[arg(long, value_name = "FIELD=N", value_parser = distinct)]
    pub(crate) distinct: Vec<(String, u64)>,
}

fn distinct(text: &str) -> Result<(String, u64), String> {
    let (field, count) = text.split_once('=').ok_or("give a field and a number, like region=12")?;
    let values = count.parse().ok().filter(|values| *values > 0);
    Ok((
        field.to_owned(),
        values.ok_or_else(|| format!("{count} is no number of values; give one above 0"))?,
    ))
}

pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("{text} is no number above 0"))
}

/// Selection of a row key.
#[derive(clap::Args)]
pub(crate) struct KeySpecArgs {
    /// Row key as declared, or @FILE with the declaration
    #[arg(
        long,
        value_name = "ROW_KEY",
        required_unless_present = "table",
        conflicts_with = "table"
    )]
    pub(crate) key: Option<String>,
    /// Table whose declared key is used
    #[arg(long, value_name = "TABLE")]
    pub(crate) table: Option<TableName>,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
}
