//! Files where the servers read them: copies in the staging directory, and the parts of files that
//! span regions.
//!
//! A part is named as HBase names it: `NAME_bottom` and `NAME_top` below and above a boundary, or
//! `NAME_part-N` at several boundaries.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use halite::{Bytes, RegionInfo, TableDescriptor};
use halite_engine::env::Fs as _;
use halite_engine::env::os::OsFs;
use halite_engine::hfile::{Cursor, DirectBlocks, StoreFileInfo, Writer, WriterOptions, info_key};
use halite_types::cell::first_on_row;
use indicatif::ProgressBar;

use super::files::{self, LoadFile};

/// File that is loaded, and its path on the servers once it is there.
pub(super) struct PendingFile {
    pub(super) file: LoadFile,
    pub(super) on_server: Option<String>,
}

/// Place where the servers read files.
pub(super) enum Staging {
    /// Directory that the servers created, by its URI, and its path here.
    Directory { uri: String, path: PathBuf },
    /// Servers read the source itself under this path or URI.
    Source { uri: String, directory: PathBuf },
}

impl Staging {
    /// Returns the staging directory with this URI, which must be reachable here.
    ///
    /// # Errors
    /// Returns an error if it is on another file system or machine.
    pub(super) fn new(uri: &str) -> anyhow::Result<Self> {
        let path = local_path(uri).filter(|path| path.is_dir()).with_context(|| {
            format!(
                "the staging directory of the servers, {uri}, is not reachable from here; put the \
                 files where the servers read them, and give that as --server-path"
            )
        })?;
        Ok(Self::Directory { uri: uri.trim_end_matches('/').to_owned(), path })
    }

    /// Makes a whole file readable for the servers.
    ///
    /// # Errors
    /// Returns an error if it cannot be copied.
    pub(super) fn stage(&self, pending: &mut PendingFile, bar: &ProgressBar) -> anyhow::Result<()> {
        if pending.on_server.is_some() {
            return Ok(());
        }
        let file = &mut pending.file;
        let name = file_name(&file.path)?;
        let family = family_name(&file.family)?;
        match self {
            Self::Source { uri, directory } => {
                let below = file.path.strip_prefix(directory)?;
                let below = below.to_str().context("a path that is not UTF-8")?;
                pending.on_server = Some(format!("{}/{below}", uri.trim_end_matches('/')));
            }
            Self::Directory { uri, path } => {
                let directory = family_directory(path, family)?;
                let name = unused_name(&directory, name);
                let target = directory.join(&name);
                copy(&file.path, &target, bar)?;
                pending.on_server = Some(format!("{uri}/{family}/{name}"));
                file.path = target;
            }
        }
        Ok(())
    }

    /// Cuts a file at the boundaries of regions and returns the parts that have rows.
    ///
    /// # Errors
    /// Returns an error if a part cannot be written, or the servers read the source itself.
    pub(super) fn cut(
        &self,
        pending: &PendingFile,
        regions: &[RegionInfo],
        table: &TableDescriptor,
        bar: &ProgressBar,
    ) -> anyhow::Result<Vec<PendingFile>> {
        let file = &pending.file;
        let Self::Directory { uri, path } = self else {
            bail!(
                "store file {} has rows of several regions, and with --server-path no file is cut; \
                 write it again with halite hfile write, or load it without --server-path",
                file.path.display()
            );
        };
        let (name, family) = (file_name(&file.path)?, family_name(&file.family)?);
        let directory = family_directory(path, family)?;
        let mut parts = Vec::new();
        for (at, region) in regions.iter().enumerate() {
            let part = unused_name(&directory, &part_name(name, at, regions.len()));
            let target = directory.join(&part);
            if write_part(file, region, table, &directory, &part)? {
                share(&target, 0o666)?;
                parts.push(PendingFile {
                    file: files::check(&target, &file.family, false)?,
                    on_server: Some(format!("{uri}/{family}/{part}")),
                });
            }
        }
        let cells: u64 = parts.iter().map(|part| part.file.cells).sum();
        if cells != file.cells {
            bail!(
                "store file {}: its parts have {cells} cells and not {}; was it changed meanwhile?",
                file.path.display(),
                file.cells
            );
        }
        bar.inc(file.bytes);
        // A copy in the staging directory is replaced by its parts.
        if pending.on_server.is_some() {
            fs::remove_file(&file.path).with_context(|| file.path.display().to_string())?;
        }
        Ok(parts)
    }
}

/// Creates the directory of a family in the staging directory, if it is not there yet.
fn family_directory(staging: &Path, family: &str) -> anyhow::Result<PathBuf> {
    let directory = staging.join(family);
    match fs::create_dir(&directory) {
        // The servers may run as another user, and HBase moves files out of it.
        Ok(()) => share(&directory, 0o777)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(error)
                .with_context(|| format!("creating {} for the servers", directory.display()));
        }
    }
    Ok(directory)
}

fn part_name(name: &str, at: usize, parts: usize) -> String {
    match (parts, at) {
        (2, 0) => format!("{name}_bottom"),
        (2, _) => format!("{name}_top"),
        _ => format!("{name}_part-{at}"),
    }
}

/// Returns a name that no file in a directory has: a part may be named as another file.
fn unused_name(directory: &Path, name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !directory.join(name).exists())
        .unwrap_or_default()
}

/// Writes the rows of a region to a new file. Returns `false` if there are none, and no file then.
fn write_part(
    file: &LoadFile,
    region: &RegionInfo,
    table: &TableDescriptor,
    directory: &Path,
    name: &str,
) -> anyhow::Result<bool> {
    let family = table.find_family(&file.family).context("a family that was dropped meanwhile")?;
    let reader = files::reopen(file)?;
    let options = WriterOptions {
        include_tags: reader.has_tags(),
        created_ms: reader.created_ms().unwrap_or_default(),
        ..WriterOptions::for_bulk_load(table, family)
    };
    let loaded_at = reader.info().get(info_key::BULK_LOAD_TIME).map(<[u8]>::to_vec);
    let mut cursor = Cursor::new(Arc::clone(&reader), DirectBlocks);
    if region.start.is_empty() {
        cursor.seek_to_first()?;
    } else {
        cursor.seek(&first_on_row(&region.start))?;
    }
    let ends = |row: &[u8]| !region.end.is_empty() && row >= &region.end[..];
    if cursor.peek().is_none_or(|cell| ends(cell.row())) {
        return Ok(false);
    }
    let path = directory.join(name);
    let shown = path.display().to_string();
    let out = OsFs::new(directory).and_then(|fs| fs.create(name)).with_context(|| shown.clone())?;
    let mut writer = Writer::create(out, &shown, options)?;
    while let Some(cell) = cursor.peek().filter(|cell| !ends(cell.row())) {
        writer.append(cell)?;
        cursor.advance()?;
    }
    if let Some(time) = loaded_at {
        writer.set_info(info_key::BULK_LOAD_TIME, time);
    }
    writer.finish(StoreFileInfo::default())?;
    Ok(true)
}

fn copy(from: &Path, to: &Path, bar: &ProgressBar) -> anyhow::Result<()> {
    let failed = || format!("copying {} to {}", from.display(), to.display());
    let mut source = File::open(from).map(|file| bar.wrap_read(file)).with_context(failed)?;
    let mut target = File::create_new(to).with_context(failed)?;
    io::copy(&mut source, &mut target).with_context(failed)?;
    target.sync_all().with_context(failed)?;
    share(to, 0o666)
}

/// Sets the permissions of a file for servers that run as another user. No other client knows the
/// name of the staging directory.
fn share(path: &Path, mode: u32) -> anyhow::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .with_context(|| path.display().to_string())
}

fn file_name(path: &Path) -> anyhow::Result<&str> {
    path.file_name()
        .and_then(|name| name.to_str())
        .with_context(|| format!("the path {} is not UTF-8", path.display()))
}

fn family_name(family: &Bytes) -> anyhow::Result<&str> {
    std::str::from_utf8(family).context("a family whose name is not UTF-8")
}

/// Returns the path of a URI on this machine; `None` for another file system.
fn local_path(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file:").unwrap_or(uri);
    let path = path.strip_prefix("//").unwrap_or(path);
    path.starts_with('/').then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_local_staging_directories_are_reachable() {
        for uri in ["file:/a/b", "file:///a/b", "/a/b"] {
            assert_eq!(local_path(uri), Some("/a/b".into()), "{uri}");
        }
        for uri in ["hdfs://host:8020/a", "a/b", "file:a"] {
            assert_eq!(local_path(uri), None, "{uri}");
        }
        let error = Staging::new("hdfs://host:8020/a").err().unwrap().to_string();
        assert!(error.contains("--server-path"), "{error}");
    }

    #[test]
    fn two_parts_are_bottom_and_top() {
        assert_eq!([0, 1].map(|at| part_name("x", at, 2)), ["x_bottom", "x_top"]);
        assert_eq!(part_name("x", 2, 3), "x_part-2");
    }
}
