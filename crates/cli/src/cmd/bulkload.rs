//! `halite bulkload`: loads store files into a table.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use halite::{TableName, to_string_binary};

use crate::backend::{Backend, BackendArgs};
use crate::bulkload::{LoadJob, RegionLoad};
use crate::hfile::marked_cells::protection_warning;
use crate::text_table::{TextTable, grouped, size};

/// Load store files into a table of a store or a cluster
///
/// DIR has one directory of store files (HFiles of version 3) per family, as `halite hfile write`,
/// HBase's `HFileOutputFormat2` and `ImportTsv` write them. All files are checked before the first
/// is loaded; a file with rows of several regions is cut at their boundaries. The files of one
/// region become visible together. They are copied, and stay in DIR. For a cluster, they are copied
/// to the servers' staging directory, which has to be reachable from here, or the servers read them
/// under
/// --server-path.
#[derive(clap::Args)]
pub(crate) struct BulkloadArgs {
    /// Directory with one directory of store files per family
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Table to load the files into
    #[arg(value_name = "TABLE")]
    table: TableName,
    /// Check the files, print the regions that they belong to, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not read and verify every byte of the files
    #[arg(long)]
    no_verify: bool,
    /// Remove the files from DIR once they are loaded; a store on the same disk takes them without
    /// copying, and no other process may write to them
    #[arg(long = "move")]
    moves: bool,
    /// Path or URI under which the servers read DIR, instead of copies in their staging directory
    #[arg(long, value_name = "URI")]
    server_path: Option<String>,
    #[command(flatten)]
    backend: BackendArgs,
}

impl BulkloadArgs {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let directory = self
            .directory
            .canonicalize()
            .with_context(|| format!("the directory to load, {}", self.directory.display()))?;
        let job = LoadJob {
            directory,
            table: self.table,
            verify: !self.no_verify,
            moves: self.moves,
            server_path: self.server_path,
        };
        let backend = self.backend.open_existing()?;
        let done = if self.dry_run { print_plan(&job, &backend) } else { load(&job, &backend) };
        let closed = backend.close();
        done.with_context(|| format!("table {}", job.table))?;
        closed.context("closing the store")?;
        Ok(ExitCode::SUCCESS)
    }
}

fn load(job: &LoadJob, backend: &Backend) -> anyhow::Result<()> {
    let began = Instant::now();
    let report = job.run(backend)?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "loaded {} files with {} cells, {}, into {} regions of {} in {:.2} s",
        grouped(report.files),
        grouped(report.cells),
        size(report.bytes),
        grouped(report.regions),
        job.table,
        began.elapsed().as_secs_f64()
    )?;
    let notes = [
        (report.cut_files, "files cut at the boundaries of regions"),
        (report.retries, "retries, because regions changed meanwhile"),
    ];
    for (count, text) in notes.into_iter().filter(|(count, _)| *count > 0) {
        writeln!(out, "{} {text}", grouped(count))?;
    }
    if let Some(warning) = protection_warning(report.protected_files) {
        writeln!(std::io::stderr().lock(), "warning: {warning}")?;
    }
    Ok(())
}

fn print_plan(job: &LoadJob, backend: &Backend) -> anyhow::Result<()> {
    let mut lines = TextTable::new(&["region from", ">files", ">of them cut", ">at most"]);
    let plan = job.plan(backend)?;
    for RegionLoad { region, parts } in &plan {
        let cut = parts.iter().filter(|part| !part.is_whole).count();
        lines.row([
            format!("'{}'", to_string_binary(&region.start)),
            grouped(parts.len() as u64),
            grouped(cut as u64),
            size(parts.iter().map(|part| part.bytes).sum()),
        ]);
    }
    let mut out = std::io::stdout().lock();
    lines.lines().try_for_each(|line| writeln!(out, "{line}"))?;
    let parts = plan.iter().flat_map(|load| &load.parts);
    let cut: BTreeSet<_> = parts.filter(|part| !part.is_whole).map(|part| &part.path).collect();
    cut.into_iter().try_for_each(|path| writeln!(out, "cut: {}", path.display()))?;
    writeln!(out, "nothing was changed")?;
    Ok(())
}
