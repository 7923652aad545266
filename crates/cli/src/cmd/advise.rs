//! `halite advise`: what to use for some data, and what a load takes.

use std::io::Write as _;
use std::process::ExitCode;

use halite_rowkey_tools::advise::{Data, Fit, Load, Query, capacity, fit};
use halite_rowkey_tools::cell_cost::{DataBlockEncoding, RECOMMENDED};

use crate::text_table::{grouped, size};
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
    /// A sample of cells with random keys and values is written with the store's own writer. Values
    /// that compress, and keys that share more than random ones, take less; `halite hfile cost`
    /// measures the cells of a table.
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

#[derive(clap::Args)]
struct CapacityArgs {
    /// Number of rows
    #[arg(long, value_name = "N")]
    rows: u64,
    /// Bytes of a row key
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u64).range(1..=1024))]
    key_bytes: u64,
    /// Columns of a row
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    columns: u32,
    /// Bytes of a value
    #[arg(long, value_name = "N", default_value_t = 8,
          value_parser = clap::value_parser!(u64).range(0..=1024))]
    value_bytes: u64,
    /// Cells written per second
    #[arg(long, value_name = "N", default_value_t = 0)]
    writes: u64,
    /// Data block encoding
    #[arg(long, value_name = "ENCODING", default_value = RECOMMENDED.name(),
          value_parser = encoding)]
    encoding: DataBlockEncoding,
}

fn encoding(text: &str) -> Result<DataBlockEncoding, String> {
    DataBlockEncoding::from_name(&text.to_ascii_uppercase()).ok_or_else(|| {
        let names = DataBlockEncoding::ALL.map(DataBlockEncoding::name);
        format!("expected one of {}", names.join(", "))
    })
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
        Ok(())
    }
}

impl CapacityArgs {
    fn run(&self) -> anyhow::Result<()> {
        let found = capacity(&Load {
            rows: self.rows,
            key_bytes: usize::try_from(self.key_bytes)?,
            columns: self.columns,
            value_bytes: usize::try_from(self.value_bytes)?,
            writes_per_second: self.writes,
            encoding: self.encoding,
        })?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "cells           {}", grouped(found.cells))?;
        writeln!(out, "bytes per cell  {:.1}, measured without compression", found.bytes_per_cell)?;
        writeln!(out, "disk            {}", size(found.disk_bytes))?;
        let room = size(found.disk_with_room_bytes);
        writeln!(out, "disk with room  {room}, since a compaction writes a region again")?;
        writeln!(out, "regions         {} of 10 GB at most", grouped(found.regions))?;
        let (memstores, indexes) = (size(found.memstore_bytes), size(found.index_bytes));
        writeln!(
            out,
            "memory          {memstores} of memstores, {indexes} of indexes and filters"
        )?;
        if let Some(seconds) = found.seconds_between_flushes {
            let log = size(found.log_bytes_per_second);
            writeln!(out, "log             {log} per second")?;
            writeln!(out, "flushes         one in {seconds:.0} s, of 128 MB")?;
            let written = size(found.written_bytes_per_second);
            writeln!(
                out,
                "written         {written} per second: log, flushes, and an estimate of compactions"
            )?;
        }
        Ok(())
    }
}
