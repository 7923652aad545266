//! `halite advise`: what to use for some data, and what a load takes.

use std::io::Write as _;
use std::process::ExitCode;

use halite_rowkey_tools::advise::{Data, Fit, Query, fit};

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
    /// Bytes of all data, as in 50TB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    size: u64,
    /// Frequent query
    #[arg(long, value_enum)]
    query: QueryName,
    /// Kind of the data
    #[arg(long, value_enum, default_value = "rows")]
    data: DataName,
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
            needs_transactions: self.transactions,
            needs_replicas: self.replicas,
        });
        let mut out = std::io::stdout().lock();
        writeln!(out, "tutorial  {}", answer.tutorial)?;
        writeln!(out, "advice    {}", answer.advice)?;
        for reason in &answer.reasons {
            writeln!(out, "  for     {reason}")?;
        }
        for reason in &answer.against {
            writeln!(out, "  against {reason}")?;
        }
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
