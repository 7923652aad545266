//! Load over the wire: all files are staged, and then loaded region by region. Files of regions
//! that changed meanwhile are assigned and cut again.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use halite::{BulkLoad, RegionInfo, to_string_binary};

use super::files::LoadFile;
use super::plan::{self, RegionLoad};
use super::staged::{PendingFile, Staging};
use super::{LoadJob, LoadReport, progress};
use crate::backend::Backend;

/// Times that the regions are read again, as HBase's tool does.
const MAX_RETRIES: u64 = 10;
/// Pause before a retry, times its number.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Region and the staged files for it.
type RegionFiles = (RegionInfo, Vec<PendingFile>);

/// Loads checked files.
///
/// # Errors
/// Returns an error of the cluster or of the staging directory.
pub(super) fn load(
    job: &LoadJob,
    backend: &Backend,
    files: Vec<LoadFile>,
) -> anyhow::Result<LoadReport> {
    let regions = backend.regions(&job.table)?;
    let mut report = LoadReport::new(&files, &plan::assign(&files, &regions));
    report.regions = 0;
    let sources: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
    let token = backend.prepare_bulk_load(&job.table)?;
    let loaded = staging(job, &token).and_then(|staging| {
        Loader { job, backend, staging, token: &token }.run(files, &mut report)
    });
    let cleaned = backend.clean_up_bulk_load(&job.table, &token);
    loaded.map_err(|error| match report.regions {
        0 => error.context("nothing is loaded"),
        some => error.context(format!(
            "{some} regions are loaded; run the command again for the others: cells that are \
             loaded twice do no harm"
        )),
    })?;
    if let Err(error) = cleaned {
        // The files are loaded all the same; standard error may be closed.
        let _ = writeln!(
            std::io::stderr(),
            "halite: warning: the staging directory {token} stays: {error}"
        );
    }
    if job.moves {
        sources.iter().try_for_each(|path| remove(path))?;
    }
    Ok(report)
}

fn remove(path: &Path) -> anyhow::Result<()> {
    std::fs::remove_file(path)
        .with_context(|| format!("everything is loaded; removing {}", path.display()))
}

fn staging(job: &LoadJob, token: &str) -> anyhow::Result<Staging> {
    match &job.server_path {
        Some(uri) => Ok(Staging::Source { uri: uri.clone(), directory: job.directory.clone() }),
        None => Staging::new(token),
    }
}

/// Load in progress.
struct Loader<'a> {
    job: &'a LoadJob,
    backend: &'a Backend,
    staging: Staging,
    token: &'a str,
}

impl Loader<'_> {
    fn run(&self, files: Vec<LoadFile>, report: &mut LoadReport) -> anyhow::Result<()> {
        let mut pending: Vec<PendingFile> =
            files.into_iter().map(|file| PendingFile { file, on_server: None }).collect();
        loop {
            let regions = self.backend.regions(&self.job.table)?;
            let mut assigned = Vec::new();
            if plan::is_complete(&regions) {
                (assigned, pending) = self.stage(pending, &regions)?;
            }
            let bar = progress("loading");
            bar.set_length(assigned.iter().flat_map(|(_, files)| files).map(bytes).sum());
            for (region, files) in assigned {
                if self.load_region(&region, &files)? {
                    report.regions += 1;
                    bar.inc(files.iter().map(bytes).sum());
                } else {
                    pending.extend(files);
                }
            }
            bar.finish_and_clear();
            let Some(first) = pending.first() else { return Ok(()) };
            report.retries += 1;
            if report.retries > MAX_RETRIES {
                bail!(
                    "the servers did not load {} and {} other file(s) in {MAX_RETRIES} attempts; \
                     HBase's log says why",
                    first.file.path.display(),
                    pending.len() - 1
                );
            }
            std::thread::sleep(RETRY_PAUSE * u32::try_from(report.retries).unwrap_or(u32::MAX));
        }
    }

    /// Puts all files where the servers read them, cut at the boundaries of the regions. Returns
    /// them by region, and those whose region is missing.
    fn stage(
        &self,
        pending: Vec<PendingFile>,
        regions: &[RegionInfo],
    ) -> anyhow::Result<(Vec<RegionFiles>, Vec<PendingFile>)> {
        let descriptor = self.backend.descriptor(&self.job.table)?;
        let bar = progress("staging");
        bar.set_length(pending.iter().filter(|file| file.on_server.is_none()).map(bytes).sum());
        let mut whole = Vec::new();
        for mut file in pending {
            let of_file = regions_of(&file.file, regions);
            if of_file.len() > 1 {
                whole.extend(self.staging.cut(&file, &of_file, &descriptor, &bar)?);
            } else {
                self.staging.stage(&mut file, &bar)?;
                whole.push(file);
            }
        }
        bar.finish_and_clear();
        Ok(group(whole, regions))
    }

    fn load_region(&self, region: &RegionInfo, files: &[PendingFile]) -> anyhow::Result<bool> {
        let mut load = BulkLoad::new();
        // With --server-path the servers read the source, which stays unless it is to be moved.
        load.copy = matches!(self.staging, Staging::Source { .. });
        for file in files {
            let path = file.on_server.clone().context("a file that is not staged")?;
            load = load.file(file.file.family.clone(), path);
        }
        self.backend.bulk_load_region(region, self.token, load).with_context(|| {
            format!("region from '{}' of table {}", to_string_binary(&region.start), region.table)
        })
    }
}

fn bytes(file: &PendingFile) -> u64 {
    file.file.bytes
}

/// Returns the regions that a file has rows of.
fn regions_of(file: &LoadFile, regions: &[RegionInfo]) -> Vec<RegionInfo> {
    plan::assign(std::slice::from_ref(file), regions).into_iter().map(|load| load.region).collect()
}

/// Groups whole files by their regions.
fn group(files: Vec<PendingFile>, regions: &[RegionInfo]) -> (Vec<RegionFiles>, Vec<PendingFile>) {
    let checked: Vec<LoadFile> = files.iter().map(|file| file.file.clone()).collect();
    let mut files: Vec<Option<PendingFile>> = files.into_iter().map(Some).collect();
    let take = |RegionLoad { region, parts }| {
        let whole = |part: plan::FilePart| part.is_whole.then(|| files[part.file].take())?;
        (region, parts.into_iter().filter_map(whole).collect::<Vec<_>>())
    };
    let grouped: Vec<_> = plan::assign(&checked, regions)
        .into_iter()
        .map(take)
        .filter(|(_, files)| !files.is_empty())
        .collect();
    (grouped, files.into_iter().flatten().collect())
}
