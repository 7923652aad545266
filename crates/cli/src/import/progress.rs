//! Progress of an import.

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar for as many bytes of what is being done.
pub(super) fn progress(doing: &'static str, bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{msg} {wide_bar} {binary_bytes}/{binary_total_bytes}, {binary_bytes_per_sec}, {eta}",
    )
    .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(bytes).with_style(style).with_message(doing)
}
