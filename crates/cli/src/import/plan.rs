//! `--dry-run`: what an import would take, and how.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use halite_engine::env::Env;
use halite_engine::writable_bytes;

use super::spill::max_run_bytes;
use super::{ImportSource, Remark};
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

/// Prints the tables to import, and whether their files would be linked or copied. Returns a
/// warning if the disk may have too little room.
///
/// # Errors
/// Returns an error if a file cannot be examined, standard output is closed, or the disk has too
/// little room.
pub(crate) fn print_plan(sources: &[ImportSource], data: &Path) -> anyhow::Result<Option<Remark>> {
    let existing = existing_part(data)?;
    let device = device(&existing)?;
    let mut room = Room::default();
    let mut out = std::io::stdout().lock();
    for source in sources {
        let (linked, copied) = placed(source, device)?;
        room.copied += copied.bytes;
        room.rewritten += source.inlined_bytes;
        room.recovered += source.recovered.bytes;
        room.recovered_cells += source.recovered.cells;
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
        if !source.inlined_files.is_empty() {
            writeln!(
                out,
                "  MOB: {} files to write again with their values (up to {} bytes)",
                grouped(source.inlined_files.len() as u64),
                grouped(source.inlined_bytes)
            )?;
        }
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
    room.check(writable_bytes(&env), data)
}

/// Bytes that an import writes to the disk of a store.
#[derive(Clone, Copy, Default)]
struct Room {
    /// Of files that are copied as they are.
    copied: u64,
    /// Of files that are written again with values of MOB files, without compression.
    rewritten: u64,
    /// Of the cells of logs, without compression.
    recovered: u64,
    recovered_cells: u64,
}

impl Room {
    /// Returns the most bytes that the disk has at a time.
    fn max_bytes(self) -> u64 {
        let runs = max_run_bytes(self.recovered, self.recovered_cells);
        [self.rewritten, self.recovered, runs].into_iter().fold(self.copied, u64::saturating_add)
    }

    /// Refuses an import for which the disk of a store has no room, and returns a warning if it may
    /// have none: compressed, the files that are written may take a small part of their bound.
    fn check(self, writable: Option<u64>, data: &Path) -> anyhow::Result<Option<Remark>> {
        let Some(writable) = writable.filter(|writable| *writable < self.max_bytes()) else {
            return Ok(None);
        };
        let text = |needed: String| {
            format!(
                "the import writes {needed}, and the disk of {} has {} free, apart from what a \
                 store keeps free; make room, or import fewer tables at a time",
                data.display(),
                grouped(writable)
            )
        };
        if self.copied > writable {
            bail!(text(format!("at least {} bytes", grouped(self.copied))));
        }
        let needed = format!(
            "{} bytes or more, and {} at most if nothing is compressed",
            grouped(self.copied),
            grouped(self.max_bytes())
        );
        Ok(Some(Remark::Warning(text(needed))))
    }
}

/// Returns the files of a table that would be linked to a device, and those to copy. Those that are
/// written again are neither.
fn placed(source: &ImportSource, to: u64) -> anyhow::Result<(FileSum, FileSum)> {
    let kept = source.files().filter(|file| !source.inlined_files.contains(&file.path));
    let files: BTreeMap<&Path, u64> = kept.map(|file| (&*file.path, file.bytes)).collect();
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
    fn import_over_the_free_space_is_refused_or_warned_of() {
        let check = |room: Room, writable| room.check(writable, Path::new("store"));
        let copied = |copied| Room { copied, ..Room::default() };
        for (room, writable) in
            [(copied(0), Some(0)), (copied(1_000), Some(1_000)), (copied(u64::MAX), None)]
        {
            assert_eq!(check(room, writable).unwrap(), None);
        }
        let error = check(copied(1_001), Some(1_000)).unwrap_err().to_string();
        for part in ["at least 1,001 bytes", "disk of store has 1,000 free", "make room"] {
            assert!(error.contains(part), "{error}");
        }
        let room = Room { copied: 500, rewritten: 300, recovered: 201, recovered_cells: 1 };
        let warning = check(room, Some(1_000)).unwrap().unwrap().to_string();
        for part in ["warning: ", "500 bytes or more, and 1,001 at most", "make room"] {
            assert!(warning.contains(part), "{warning}");
        }
        assert_eq!(check(room, Some(1_001)).unwrap(), None);
        // The runs of cells that memory does not hold are beside the final files.
        let recovered = 1 << 30;
        let room = Room { recovered, recovered_cells: 10, ..Room::default() };
        assert!(room.max_bytes() > 2 * recovered, "{}", room.max_bytes());
    }
}
