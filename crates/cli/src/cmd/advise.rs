//! `halite advise`: what to use for some data, and what a load takes.

use std::io::Write;
use std::process::ExitCode;

use halite_rowkey_tools::advise::{Data, Fit, Ground, Query, fit};

use crate::advise::CapacityArgs;
use crate::units::parse_bytes;

/// Advice before a table exists: whether Halite fits, and what a load takes
#[derive(clap::Args)]
pub(crate) struct AdviseArgs {
    #[command(subcommand)]
    command: AdviseCommand,
}

#[derive(clap::Subcommand)]
enum AdviseCommand {
    /// Say what to use for data of a size and a query, with what speaks against it
    ///
    /// Prints the branch of the tutorials' decision tree and its verdict, and beside it the advice
    /// for Halite, which runs on one machine.
    Fit(FitArgs),
    /// Compute disk, regions, memory and bytes written for a load, from measured bytes per cell
    ///
    /// A sample of rows is written with the store's own writer: of declared tables (--schema) with
    /// their own encodings, families and compression, and values from --field; otherwise cells with
    /// random keys and values of some length. It prints how certain the sizes are and what speaks
    /// against them. `halite hfile cost` measures the cells of an existing table.
    Capacity(CapacityArgs),
}

#[derive(clap::Args)]
struct FitArgs {
    /// Bytes of all data, as in 50TB or 1.5PB; of objects, of their contents
    #[arg(long, value_name = "SIZE", value_parser = some_bytes)]
    size: u64,
    /// Frequent query; of objects, to their metadata
    #[arg(long, value_enum)]
    query: QueryName,
    /// Kind of the data
    #[arg(long, value_enum, default_value = "rows")]
    data: DataName,
    /// Mean bytes of an object, which decide how many there are
    #[arg(long, value_name = "SIZE", value_parser = some_bytes, default_value = "1m")]
    object_size: u64,
    /// Changes of several rows are atomic
    #[arg(long)]
    transactions: bool,
    /// The data stays available when a machine fails
    #[arg(long)]
    replicas: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum QueryName {
    /// Rows by their key
    Pk,
    /// Ranges of keys
    Range,
    /// Conditions on any columns, joins
    AdHoc,
    /// Aggregates over most of the data
    Analytics,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum DataName {
    Rows,
    TimeSeries,
    Messages,
    Objects,
    Monitoring,
}

impl AdviseArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            AdviseCommand::Fit(arguments) => arguments.run()?,
            AdviseCommand::Capacity(arguments) => arguments.run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl FitArgs {
    fn run(&self) -> anyhow::Result<()> {
        let answer = fit(&Fit {
            bytes: self.size,
            query: match self.query {
                QueryName::Pk => Query::PrimaryKey,
                QueryName::Range => Query::Range,
                QueryName::AdHoc => Query::AdHoc,
                QueryName::Analytics => Query::Analytics,
            },
            data: match self.data {
                DataName::Rows => Data::Rows,
                DataName::TimeSeries => Data::TimeSeries,
                DataName::Messages => Data::Messages,
                DataName::Objects => Data::Objects,
                DataName::Monitoring => Data::Monitoring,
            },
            object_bytes: self.object_size,
            needs_transactions: self.transactions,
            needs_replicas: self.replicas,
        });
        let mut out = std::io::stdout().lock();
        writeln!(out, "tutorial  {}", answer.tutorial)?;
        writeln!(out, "advice    {}", answer.advice)?;
        print_grounds("for", &answer.reasons, &mut out)?;
        print_grounds("against", &answer.against, &mut out)?;
        writeln!(out, "measured on two cores")?;
        for figure in &answer.measured {
            writeln!(out, "  {} ({})", figure.text, figure.document)?;
        }
        writeln!(out, "limits of Halite, by default")?;
        for limit in &answer.limits {
            writeln!(out, "  {limit}")?;
        }
        Ok(())
    }
}

/// Prints statements, and below each of them what was measured of Halite for it.
fn print_grounds(side: &str, grounds: &[Ground], out: &mut dyn Write) -> anyhow::Result<()> {
    for ground in grounds {
        writeln!(out, "  {side:<7} {}", ground.text)?;
        if let Some(figure) = ground.measured {
            writeln!(out, "          measured: {} ({})", figure.text, figure.document)?;
        }
    }
    Ok(())
}

/// Parses a size above 0.
fn some_bytes(text: &str) -> Result<u64, String> {
    parse_bytes(text)
        .and_then(|bytes| if bytes == 0 { Err("a size above 0".into()) } else { Ok(bytes) })
}
