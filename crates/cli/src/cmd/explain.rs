//! `halite explain`: the path of one read, from the table to the blocks of store files.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use halite::{
    BlockingTable, Get, ReadTier, RegionInfo, TableDescriptor, to_bytes_binary, to_string_binary,
};
use halite_engine::scan::ReadStats;

use crate::backend::{Backend, BackendArgs};
use crate::text_table::size;

/// Show how a row is found: its region, and what each store reads for it
#[derive(clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(subcommand)]
    command: ExplainCommand,
}

#[derive(clap::Subcommand)]
enum ExplainCommand {
    /// Explain the read of one row
    ///
    /// Prints its region, and for the store of each family the memstores and store files that were
    /// read and skipped, and the blocks. A get of all families reads the same ones. A cluster shows
    /// the region only: stores are explained where their directory is.
    Get(GetArgs),
}

#[derive(clap::Args)]
struct GetArgs {
    /// Table
    #[arg(value_name = "TABLE")]
    table: String,
    /// Row key; `\xNN` is a byte
    #[arg(value_name = "ROW")]
    row: String,
    #[command(flatten)]
    backend: BackendArgs,
}

impl ExplainArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let ExplainCommand::Get(arguments) = self.command;
        let backend = arguments.backend.open_existing()?;
        let done = arguments.explain(&backend, &mut std::io::stdout().lock());
        backend.close()?;
        done.map(|()| ExitCode::SUCCESS)
    }
}

impl GetArgs {
    fn explain(&self, backend: &Backend, out: &mut dyn Write) -> anyhow::Result<()> {
        let table = backend.table(&self.table[..])?;
        let row = to_bytes_binary(&self.row);
        let regions = table.regions()?;
        let region = regions.iter().find(|region| region.contains(&row));
        write_region(region, regions.len(), &self.backend.name(), out)?;
        let descriptor = table.descriptor()?;
        if backend.store().is_some() {
            self.write_stores(backend, &table, &descriptor, out)?;
        } else {
            writeln!(out, "stores   not shown for a cluster")?;
        }
        Ok(())
    }

    fn write_stores(
        &self,
        backend: &Backend,
        table: &BlockingTable,
        descriptor: &TableDescriptor,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let Some(store) = backend.store() else { return Ok(()) };
        let of_engine = store.engine().table(table.name())?;
        for family in descriptor.families() {
            let get = Get::new(to_bytes_binary(&self.row)).family(family.name().clone());
            let stats = Arc::new(ReadStats::default());
            let row = of_engine.get_with_stats(&get, ReadTier::Disk, &stats)?;
            writeln!(
                out,
                "store {}: {} cells returned",
                to_string_binary(family.name()),
                row.len()
            )?;
            write_reads(&stats, out)?;
        }
        Ok(())
    }
}

fn write_region(
    region: Option<&RegionInfo>,
    regions: usize,
    server: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let Some(region) = region else {
        writeln!(out, "region   none of {regions} contains the row")?;
        return Ok(());
    };
    let bound = |key: &[u8], none: &str| {
        if key.is_empty() { none.to_owned() } else { to_string_binary(key) }
    };
    writeln!(out, "region   {}, one of {regions}", region.display_name())?;
    let (start, end) = (bound(&region.start, "the first row"), bound(&region.end, "the last"));
    writeln!(out, "  rows   from {start} to {end}")?;
    writeln!(out, "server   {server}")?;
    Ok(())
}

fn write_reads(stats: &ReadStats, out: &mut dyn Write) -> anyhow::Result<()> {
    let (examined, returned) = (stats.cells_examined(), stats.cells_returned());
    writeln!(out, "  memstores  {} read", stats.memstores_read())?;
    writeln!(out, "  files      {} read", stats.files_read())?;
    for (skipped, reason) in [
        (stats.files_out_of_range(), "the row or the times are outside of their range"),
        (stats.files_without_key(), "their Bloom filter does not have the row"),
        (stats.files_not_reached(), "newer cells were sufficient"),
    ] {
        if skipped > 0 {
            writeln!(out, "             {skipped} skipped: {reason}")?;
        }
    }
    writeln!(
        out,
        "  blocks     {} read from the disk ({}), {} found in the cache",
        stats.blocks_read(),
        size(stats.block_bytes_read()),
        stats.blocks_cached()
    )?;
    writeln!(out, "  cells      {examined} examined, {returned} returned")?;
    Ok(())
}
