//! `--dry-run`: what an import would take, and how.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use halite_engine::env::Env;
use halite_engine::writable_bytes;

use super::ImportSource;
use crate::text_table::grouped;

/// Files and their bytes.
#[derive(Clone, Copy, Default)]
struct FileSum {
    files: u64,
    bytes: u64,
}

impl FileSum {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }

    fn text(self) -> String {
        format!("{} files ({} bytes)", grouped(self.files), grouped(self.bytes))
    }
}

/// Prints the tables to import, and whether their files would be linked or copied.
///
/// # Errors
/// Returns an error if a file cannot be examined, standard output is closed, or the disk has too
/// little room.
pub(crate) fn print_plan(sources: &[ImportSource], data: &Path) -> anyhow::Result<()> {
    let existing = existing_part(data)?;
    let device = device(&existing)?;
    let mut needed_bytes = 0;
    let mut out = std::io::stdout().lock();
    for source in sources {
        let (linked, copied) = placed(source, device)?;
        needed_bytes += copied.bytes + source.recovered.bytes + source.inlined_bytes;
        let families: Vec<String> = source
            .descriptor
            .families()
            .map(|family| halite::to_string_binary(family.name()))
            .collect();
        writeln!(
            out,
            "table {}: families {}; {} regions; {} to link, {} to copy",
            source.name(),
            families.join(", "),
            grouped(source.regions.len() as u64),
            linked.text(),
            copied.text()
        )?;
        let recovered = source.recovered;
        if recovered.entries > 0 || recovered.replaced_files > 0 {
            writeln!(
                out,
                "  logs: {} entries ({} cells) of {} regions that no store file has; {} files that \
                 compactions have replaced left out",
                grouped(recovered.entries),
                grouped(recovered.cells),
                grouped(recovered.regions),
                grouped(recovered.replaced_files)
            )?;
        }
        for region in &source.regions {
            let parts = region.files.iter().filter(|file| file.rows.is_some()).count();
            let references = match parts {
                0 => String::new(),
                parts => format!(", {parts} of them references"),
            };
            writeln!(
                out,
                "  region '{}' to '{}': {} files{references}",
                halite::to_string_binary(&region.start),
                halite::to_string_binary(&region.end),
                region.files.len()
            )?;
        }
    }
    writeln!(out, "nothing has been changed")?;
    let env = Env::os(&existing)?;
    check_room(needed_bytes, writable_bytes(&env), data)
}

/// Refuses an import for which the disk of a store has no room. What the logs have, and files with
/// values of MOB files, are counted without compression.
fn check_room(needed: u64, writable: Option<u64>, data: &Path) -> anyhow::Result<()> {
    let Some(writable) = writable.filter(|writable| *writable < needed) else { return Ok(()) };
    bail!(
        "the import writes up to {} bytes, and the disk of {} has {} free, apart from what a store \
         keeps free; make room, or import fewer tables at a time",
        grouped(needed),
        data.display(),
        grouped(writable)
    )
}

/// Returns the files of a table that would be linked to a device, and those to copy.
fn placed(source: &ImportSource, to: u64) -> anyhow::Result<(FileSum, FileSum)> {
    let files: BTreeMap<&Path, u64> =
        source.files().map(|file| (&*file.path, file.bytes)).collect();
    let (mut linked, mut copied) = (FileSum::default(), FileSum::default());
    for (path, bytes) in files {
        let is_linked = !source.loads_into_existing && device(path)? == to;
        if is_linked { linked.add(bytes) } else { copied.add(bytes) }
    }
    Ok((linked, copied))
}

fn device(path: &Path) -> anyhow::Result<u64> {
    Ok(fs::metadata(path).with_context(|| format!("examining {}", path.display()))?.dev())
}

/// Returns what exists of the path of a directory that may not exist yet.
fn existing_part(directory: &Path) -> anyhow::Result<PathBuf> {
    let absolute = std::path::absolute(directory)?;
    let existing = absolute.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    Ok(existing.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_over_the_free_space_is_refused() {
        let check = |needed, writable| check_room(needed, writable, Path::new("store"));
        for (needed, writable) in [(0, Some(0)), (1_000, Some(1_000)), (u64::MAX, None)] {
            assert!(check(needed, writable).is_ok());
        }
        let error = check(1_001, Some(1_000)).unwrap_err().to_string();
        for part in ["up to 1,001 bytes", "disk of store has 1,000 free", "make room"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
