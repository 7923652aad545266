//! `--dry-run`: what an import would take, and how.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::Context as _;

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
/// Returns an error if a file cannot be examined, or standard output is closed.
pub(crate) fn print_plan(sources: &[ImportSource], data: &Path) -> anyhow::Result<()> {
    let device = device_of_new(data)?;
    let mut out = std::io::stdout().lock();
    for source in sources {
        let mut files: BTreeMap<&Path, u64> = BTreeMap::new();
        files.extend(source.files().map(|file| (&*file.path, file.bytes)));
        let (mut linked, mut copied) = (FileSum::default(), FileSum::default());
        for (path, bytes) in files {
            let of =
                fs::metadata(path).with_context(|| format!("examining {}", path.display()))?.dev();
            if of == device { linked.add(bytes) } else { copied.add(bytes) }
        }
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
        if source.is_bare {
            writeln!(out, "  if the table exists, all files are copied")?;
        }
    }
    writeln!(out, "nothing has been changed")?;
    Ok(())
}

/// Returns the device of a directory that may not exist yet.
fn device_of_new(directory: &Path) -> anyhow::Result<u64> {
    let absolute = std::path::absolute(directory)?;
    let existing = absolute.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let about =
        fs::metadata(existing).with_context(|| format!("examining {}", existing.display()))?;
    Ok(about.dev())
}
