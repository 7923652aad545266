//! Verification of store files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use halite_engine::hfile::VerifyReport;

use super::open;
use crate::text_table::{grouped, size};

/// Writes one line per file. Returns a failure code if any file is damaged.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub(crate) fn write(out: &mut impl Write, files: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for file in files {
        match verify(file) {
            Ok(line) => writeln!(out, "{}: {line}", file.display())?,
            Err(error) => {
                code = ExitCode::FAILURE;
                writeln!(out, "{error:#}")?;
            }
        }
    }
    Ok(code)
}

fn verify(file: &Path) -> anyhow::Result<String> {
    let reader = open(file)?;
    let VerifyReport { cells, rows, blocks, bloom_lookups: bloom_look_ups } = reader.verify()?;
    let filter = if bloom_look_ups == 0 {
        "no bloom filter".to_owned()
    } else {
        format!("{} bloom look-ups", grouped(bloom_look_ups))
    };
    let levels = match reader.trailer().index_levels {
        1 => "1 level".to_owned(),
        levels => format!("{levels} levels"),
    };
    Ok(format!(
        "ok: {} cells in {} rows, {} blocks, an index of {levels}, {filter}, {}",
        grouped(cells),
        grouped(rows),
        grouped(blocks.len() as u64),
        size(reader.bytes())
    ))
}
