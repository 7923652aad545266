//! `halite series`: points of packed series.

use std::path::PathBuf;
use std::process::ExitCode;

use halite::TableName;

use crate::place::PlaceFlags;
use crate::series;
use crate::units::parse_duration;

/// Write, read and pack the points of SERIES columns
///
/// A table declares such a column as in `CREATE TABLE m (p SERIES(DOUBLE), ROW KEY (device STRING, BUCKET(ts, '1h') DESC))`; the points of a row stand packed in one
/// cell. They are described in docs/rowkey.md.
#[derive(clap::Args)]
pub(crate) struct SeriesCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Write points from CSV with a heading: the fields of the key by their names, the time among them, and `value`
    ///
    /// A point at a time that has one already takes its place. A line whose value is empty takes the point at its time away, if there is one:
    /// leave lines out that have nothing to say.
    Write {
        #[command(flatten)]
        which: Which,
        /// File; standard input if there is none
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Print points as CSV, as `write` reads them
    ///
    /// Conditions are those of `halite key explain`.
    Read {
        #[command(flatten)]
        which: Which,
        /// What is asked of the fields
        #[arg(value_name = "CONDITION")]
        conditions: Vec<String>,
        /// From the last row to the first
        #[arg(long)]
        reverse: bool,
        /// Points that are wanted
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Pack the points that are written one by one into the cell of their row
    ///
    /// A Halite store does this by itself at major compactions; an HBase cluster does not. Points that come meanwhile stay as they are.
    Pack {
        #[command(flatten)]
        which: Which,
        /// What is asked of the fields; all rows if nothing is
        #[arg(value_name = "CONDITION")]
        conditions: Vec<String>,
        /// Minimum age of the points that are packed
        #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration)]
        min_age: u64,
    },
}

/// Which series.
#[derive(clap::Args)]
pub(crate) struct Which {
    /// The table; it declares its key and the series
    pub(crate) table: TableName,
    /// The column, if the table has several SERIES
    #[arg(long, value_name = "NAME")]
    pub(crate) column: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceFlags,
}

impl SeriesCommand {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.what {
            What::Write { which, file } => series::write(&which, file.as_deref()),
            What::Read { which, conditions, reverse, limit } => series::read(&which, &conditions, reverse, limit),
            What::Pack { which, conditions, min_age } => series::pack(&which, &conditions, min_age),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}
