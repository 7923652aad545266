//! `halite series`: points of packed time series.

use std::path::PathBuf;
use std::process::ExitCode;

use halite::TableName;

use crate::backend::BackendArgs;
use crate::series;
use crate::units::parse_duration;

/// Write, read and pack the points of SERIES columns
///
/// A table declares such a column as in
/// `CREATE TABLE m (p SERIES(DOUBLE), ROW KEY (device STRING, BUCKET(ts, '1h') DESC))`; the points
/// of a row are packed in one cell. See docs/rowkey.md.
#[derive(clap::Args)]
pub(crate) struct SeriesArgs {
    #[command(subcommand)]
    command: SeriesCommand,
}

#[derive(clap::Subcommand)]
enum SeriesCommand {
    /// Write points from CSV with a header: the names of the key fields, including the time, and
    /// `value`
    ///
    /// A point replaces an existing one at the same time. A line with an empty value deletes the
    /// point at its time, if any; omit lines without a measurement.
    Write {
        #[command(flatten)]
        target: SeriesTarget,
        /// CSV file [default: standard input]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Print points as CSV, in the format that `write` reads
    ///
    /// Conditions are those of `halite key explain`.
    Read {
        #[command(flatten)]
        target: SeriesTarget,
        /// Conditions on the fields
        #[arg(value_name = "CONDITION")]
        conditions: Vec<String>,
        /// Return rows in reverse key order
        #[arg(long)]
        reverse: bool,
        /// Maximum number of points
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Pack loose points into the cell of their row
    ///
    /// A Halite store does this automatically at major compactions; an HBase cluster does not.
    /// Points written concurrently stay loose.
    Pack {
        #[command(flatten)]
        target: SeriesTarget,
        /// Conditions on the fields [default: all rows]
        #[arg(value_name = "CONDITION")]
        conditions: Vec<String>,
        /// Minimum age of the points to pack
        #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
        min_age: u64,
    },
}

/// Table and SERIES column of a command.
#[derive(clap::Args)]
pub(crate) struct SeriesTarget {
    /// Table that declares its key and the series
    pub(crate) table: TableName,
    /// Column name, if the table has several SERIES columns
    #[arg(long, value_name = "NAME")]
    pub(crate) column: Option<String>,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
}

impl SeriesArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            SeriesCommand::Write { target, file } => series::write(&target, file.as_deref()),
            SeriesCommand::Read { target, conditions, reverse, limit } => {
                series::read(&target, &conditions, reverse, limit)
            }
            SeriesCommand::Pack { target, conditions, min_age } => {
                series::pack(&target, &conditions, min_age)
            }
        }
        .map(|()| ExitCode::SUCCESS)
    }
}
