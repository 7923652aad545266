//! `halite hfile write`: lines of a CSV or TSV file become sorted store files for a bulk load.
//!
//! ```text
//! input.rs     lines of the file            mapping.rs     columns to key, timestamp and cells
//! rows.rs      a line to its cells          value_type.rs  text to bytes
//! output.rs    files, cut at the regions' boundaries
//! ```
//! Everything is written in a temporary directory next to the target, which is renamed at the end,
//! so a failure leaves nothing.

mod input;
mod mapping;
mod output;
mod quotes;
mod rows;
mod value_type;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use csv::ByteRecord;
use halite::rowkey::{Dictionary, NoResolver};
use halite::{TableDescriptor, TableName, block_on};
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) use input::InputArgs;
pub(crate) use mapping::MappingArgs;
pub(crate) use output::OutputCounts;

use self::input::Input;
use self::mapping::Mapping;
use self::output::Output;
use self::rows::RowMaker;
use crate::backend::Backend;
use crate::cell_sorter::{FLAT_KEYS, Sorter};
use crate::key::{ResolvedKey, declares_key, resolve_in};
use crate::store_place::{check_is_outside, real_path};

/// What to write, from what and how.
pub(crate) struct WriteJob {
    pub(crate) table: TableName,
    /// Directory to create.
    pub(crate) to: PathBuf,
    pub(crate) input: InputArgs,
    pub(crate) mapping: MappingArgs,
    pub(crate) skip_empty: bool,
    /// `true` if missing values are added to the dictionaries of the table.
    pub(crate) assign: bool,
    /// Number of bad lines that are left out before the job fails.
    pub(crate) max_bad: u64,
    /// Memory of the sort, in bytes.
    pub(crate) memory: usize,
    pub(crate) max_file_bytes: u64,
    /// Timestamp of cells without a column for it, in milliseconds.
    pub(crate) now_ms: i64,
}

/// Result of a job.
pub(crate) struct WriteReport {
    pub(crate) written: OutputCounts,
    pub(crate) lines: u64,
    pub(crate) bad_lines: u64,
    /// Cells that a later line replaced.
    pub(crate) replaced: u64,
    /// Runs on disk that were merged at the end.
    pub(crate) runs: usize,
}

/// Maximum size of a cell of a table without a limit of its own: that of a put.
const DEFAULT_MAX_CELL_BYTES: usize = 10 << 20;

impl WriteJob {
    /// Writes the files.
    ///
    /// # Errors
    /// Returns an error if the target is not empty, the mapping does not fit file and table, there
    /// are too many bad lines, or a file cannot be read or written. Nothing is left then.
    pub(crate) fn run(&self, backend: &Backend) -> anyhow::Result<WriteReport> {
        check_is_outside(&self.to, "give another directory; halite bulkload puts the files there")?;
        let to = check_target(&self.to)?;
        let descriptor = backend.descriptor(&self.table)?;
        let regions = backend.regions(&self.table)?;
        let mut input = Input::open(&self.input)?;
        let rows = self.row_maker(backend, &input.names, &descriptor)?;
        let temporary = Temporary::create(&to)?;
        let out = temporary.output()?;
        let mut output = Output::create(
            &out,
            &descriptor,
            rows.mapping.families(),
            &regions,
            self.max_file_bytes,
            self.now_ms,
        )?;
        let mut sorter = Sorter::new(temporary.path(), self.memory, FLAT_KEYS);
        let (lines, bad_lines) = self.read(&mut input, &rows, &mut sorter)?;
        let (added, runs) = (sorter.added(), sorter.runs());
        let bar = progress(added);
        sorter.finish(|key, value| {
            bar.inc(1);
            output.add(key, value)
        })?;
        bar.finish_and_clear();
        let written = output.finish()?;
        if written.cells == 0 {
            bail!("{} has no line that becomes a cell", input.name);
        }
        temporary.publish(&to)?;
        let replaced = added - written.cells;
        Ok(WriteReport { written, lines, bad_lines, replaced, runs })
    }

    fn row_maker(
        &self,
        backend: &Backend,
        names: &[String],
        table: &TableDescriptor,
    ) -> anyhow::Result<RowMaker> {
        let key = declares_key(table).then(|| resolve_in(backend, &self.table)).transpose()?;
        let mapping = match &self.mapping.import_tsv {
            Some(list) => Mapping::from_import_tsv(list)?,
            None => Mapping::new(&self.mapping, names, key.as_ref().map(|found| &found.key))?,
        };
        let assigned = match key.as_ref().filter(|found| self.assign && found.dictionary.is_some())
        {
            Some(found) => Some(Arc::new(block_on(Dictionary::open(
                &**backend.cluster(),
                &self.table,
                &found.key,
            ))?)),
            None => None,
        };
        let resolver =
            key.as_ref().map_or_else(|| Arc::new(NoResolver) as _, ResolvedKey::resolver);
        let (now_ms, skip_empty) = (self.now_ms, self.skip_empty);
        let max_cell_bytes = table.max_cell_bytes().unwrap_or(DEFAULT_MAX_CELL_BYTES);
        Ok(RowMaker { mapping, key, resolver, assigned, now_ms, skip_empty, max_cell_bytes })
    }

    /// Reads all lines into the sorter. Returns the numbers of lines and of bad ones.
    fn read(
        &self,
        input: &mut Input,
        rows: &RowMaker,
        sorter: &mut Sorter,
    ) -> anyhow::Result<(u64, u64)> {
        let (mut line, mut lines, mut bad) = (ByteRecord::new(), 0_u64, 0_u64);
        while input.next(&mut line)? {
            lines += 1;
            let Err(reason) = rows.cells(&line, |key, value| sorter.add(key, value))? else {
                continue;
            };
            bad += 1;
            let number = line.position().map_or(0, csv::Position::line);
            let text = format!("{}: line {number}: {reason}", input.name);
            if bad > self.max_bad {
                let allowed = match self.max_bad {
                    0 => "no bad line is allowed; --max-bad N leaves out up to N".to_owned(),
                    most => format!("that is more than {most} bad lines"),
                };
                return Err(anyhow!("{text}; {allowed}"));
            }
            input.bar.suspend(|| {
                // Standard error may be closed; the line is left out all the same.
                let _ = writeln!(std::io::stderr(), "halite: left out: {text}");
            });
        }
        input.bar.finish_and_clear();
        Ok((lines, bad))
    }
}

/// Rejects a target that has contents, or that no other directory can replace. Returns its path
/// without links.
fn check_target(target: &Path) -> anyhow::Result<PathBuf> {
    const FIX: &str = "give a directory that does not exist yet";
    let shown = || target.display().to_string();
    match fs::read_dir(target) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                bail!("{} is not empty; {FIX}", target.display());
            }
            let real = target.canonicalize().with_context(shown)?;
            let device = |path: &Path| fs::metadata(path).with_context(shown).map(|it| it.dev());
            match real.parent() {
                Some(parent) if device(parent)? == device(&real)? => Ok(real),
                _ => bail!("{} is the root of a file system; {FIX}, in it", target.display()),
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => real_path(target),
        Err(error) => Err(error).with_context(shown),
    }
}

/// Temporary directory next to the target, removed when it is dropped.
struct Temporary(tempfile::TempDir);

impl Temporary {
    fn create(target: &Path) -> anyhow::Result<Self> {
        target
            .file_name()
            .with_context(|| format!("{}: give the path of a directory", target.display()))?;
        let parent =
            target.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        let directory = tempfile::Builder::new()
            .prefix(".halite-hfile-")
            .tempdir_in(parent)
            .with_context(|| format!("creating a directory in {}", parent.display()))?;
        Ok(Self(directory))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Creates the directory that becomes the target.
    fn output(&self) -> anyhow::Result<PathBuf> {
        // The temporary directory itself is accessible to this user only, and the target is not.
        let path = self.0.path().join("out");
        fs::create_dir(&path).with_context(|| path.display().to_string())?;
        Ok(path)
    }

    /// Gives the output its final name.
    fn publish(self, target: &Path) -> anyhow::Result<()> {
        fs::rename(self.0.path().join("out"), target)
            .with_context(|| format!("renaming the new files to {}", target.display()))?;
        let parent = self.0.path().parent().unwrap_or(Path::new("."));
        output::sync(parent)
    }
}

/// Creates a progress bar of the cells that are written. It draws nothing if standard error is not
/// a terminal.
fn progress(cells: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "writing {wide_bar} {human_pos} of {human_len} cells, {per_sec}, {eta}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(cells).with_style(style)
}

#[cfg(test)]
mod tests;
