//! Files of lines to read, with their progress on a terminal.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};

/// Opens a file, or standard input for `-`. Returns its name for errors, the bytes, and the bar that
/// shows how many of them were read.
///
/// # Errors
/// Returns an error if the file cannot be opened.
pub(crate) fn open_source(path: &Path) -> anyhow::Result<(String, Box<dyn Read>, ProgressBar)> {
    if path.as_os_str() == "-" {
        let style = ProgressStyle::with_template("reading {spinner} {binary_bytes}, {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style);
        return Ok(("standard input".into(), Box::new(bar.wrap_read(std::io::stdin())), bar));
    }
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("file {name}"))?;
    let bytes = file.metadata().with_context(|| format!("file {name}"))?.len();
    let style = ProgressStyle::with_template(
        "reading {wide_bar} {binary_bytes}/{binary_total_bytes}, {binary_bytes_per_sec}, {eta}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(bytes).with_style(style);
    Ok((name, Box::new(bar.wrap_read(file)), bar))
}
