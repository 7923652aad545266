//! Arguments of `halite advise capacity`, and its output.

use std::io::Write;

use halite_rowkey_tools::advise::{Capacity, Load, capacity};
use halite_rowkey_tools::cell_cost::{DataBlockEncoding, RECOMMENDED};

use super::schema::SchemaLoad;
use crate::text_table::{grouped, size};

#[derive(clap::Args)]
pub(crate) struct CapacityArgs {
    /// Number of rows that are there at one time; with --schema, of each table
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// CREATE TABLE statements, or @FILE with them: their keys, columns, encodings and compression
    #[arg(long, value_name = "STATEMENTS",
          conflicts_with_all = ["key_bytes", "columns", "value_bytes", "encoding"])]
    schema: Option<String>,
    /// Values of a field or column of --schema, as in `halite key simulate`; others are random
    #[arg(long, value_name = "NAME=GENERATOR", requires = "schema")]
    field: Vec<String>,
    /// Points of a row of a SERIES
    #[arg(long, value_name = "N", requires = "schema",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    points: Option<u32>,
    /// Cells of a MAP in a row
    #[arg(long, value_name = "N", requires = "schema", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    map_cells: u32,
    /// Bytes of a row key
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u64).range(1..=32_767))]
    key_bytes: u64,
    /// Columns of a row
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    columns: u32,
    /// Bytes of a value
    #[arg(long, value_name = "N", default_value_t = 8,
          value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    value_bytes: u64,
    /// Cells written per second; a point of a SERIES is one
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

impl CapacityArgs {
    /// Computes and prints what the load takes.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        if let Some(text) = &self.schema {
            let load = SchemaLoad {
                rows: self.rows,
                fields: &self.field,
                points: self.points,
                map_cells: self.map_cells,
                writes_per_second: self.writes,
            };
            return load.print(text, &mut out);
        }
        let found = capacity(&Load {
            rows: self.rows,
            key_bytes: usize::try_from(self.key_bytes)?,
            columns: self.columns,
            value_bytes: usize::try_from(self.value_bytes)?,
            writes_per_second: self.writes,
            encoding: self.encoding,
        })?;
        writeln!(out, "cells           {}", grouped(found.cells))?;
        writeln!(out, "bytes per cell  {:.1}, measured without compression", found.bytes_per_cell)?;
        print_sample(&found, "of random keys and values", &mut out)?;
        print_capacity(&found, &mut out)
    }
}

/// Prints how large the sample is.
pub(super) fn print_sample(
    found: &Capacity,
    contents: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let (rows, bytes) = (grouped(found.sample.rows), size(found.sample.bytes));
    writeln!(out, "sample          {rows} rows, {bytes} of cells, {contents}")?;
    Ok(())
}

/// Prints the sizes that follow from the bytes of a cell, and how certain they are.
pub(super) fn print_capacity(found: &Capacity, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "disk            {}", size(found.disk_bytes))?;
    let room = size(found.disk_with_room_bytes);
    writeln!(out, "disk with room  {room}, since a compaction writes a region again")?;
    let (regions, largest) = (grouped(found.regions), size(found.region_bytes));
    match found.created_regions {
        1 => writeln!(out, "regions         {regions} of {largest} at most")?,
        created => writeln!(
            out,
            "regions         {regions} of {largest} at most, {} of them from SPLIT",
            grouped(created)
        )?,
    }
    let (memstores, indexes) = (size(found.memstore_bytes), size(found.index_bytes));
    writeln!(out, "memory          {memstores} of memstores, {indexes} of indexes and filters")?;
    if let Some(seconds) = found.seconds_between_flushes {
        let log = size(found.log_bytes_per_second);
        writeln!(out, "log             {log} per second")?;
        let flushed = size(found.flush_bytes);
        if seconds < 1.0 {
            writeln!(out, "flushes         {:.0} per second, of {flushed}", 1.0 / seconds)?;
        } else {
            writeln!(out, "flushes         one in {seconds:.0} s, of {flushed}")?;
        }
        let written = size(found.written_bytes_per_second);
        writeln!(
            out,
            "written         {written} per second: log, flushes, and an estimate of compactions"
        )?;
    }
    if let Some(writes) = found.sustained_writes_per_second {
        let limit = size(found.compaction_bytes_per_second);
        writeln!(
            out,
            "sustained       {} cells per second, whose compactions write {limit} per second, the \
             default limit; not a measured rate of a server",
            grouped(writes)
        )?;
    }
    for (heading, texts) in
        [("how certain", &found.certain), ("what speaks against it", &found.against)]
    {
        writeln!(out, "{heading}")?;
        for text in texts {
            writeln!(out, "  {text}")?;
        }
    }
    Ok(())
}
