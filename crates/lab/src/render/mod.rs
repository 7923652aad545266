//! Rendering of pages as text for a terminal and as Markdown.

mod index;
mod markdown;
mod text;

use std::fmt::{self, Write as _};

pub use index::{index, list};
pub use markdown::markdown;
pub use text::text;

/// Appends a line.
fn line(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}

/// Returns the lines of a data table: columns as wide as their longest entries, numbers aligned to
/// the right.
pub(crate) fn aligned(headings: &[String], rows: &[Vec<String>]) -> Vec<String> {
    let names: Vec<_> =
        headings.iter().map(|heading| heading.trim_start_matches('>').to_owned()).collect();
    let width = |index: usize| {
        std::iter::once(&names)
            .chain(rows)
            .filter_map(|row| row.get(index))
            .map(|entry| entry.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<_> = (0..names.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let entries: Vec<_> = row
            .iter()
            .zip(&widths)
            .zip(headings)
            .map(|((entry, &width), heading)| {
                if heading.starts_with('>') {
                    format!("{entry:>width$}")
                } else {
                    format!("{entry:<width$}")
                }
            })
            .collect();
        entries.join("  ").trim_end().to_owned()
    };
    std::iter::once(&names).chain(rows).map(line).collect()
}

/// Returns the lines of shares as bars, the longest of 40 characters.
fn bar_lines(shares: &[(String, f64)]) -> Vec<String> {
    const WIDTH: f64 = 40.0;
    let max = shares.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let width = shares.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let line = |(label, share): &(String, f64)| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the value is between 0 and 40"
        )]
        let length = if max > 0.0 { (share / max * WIDTH).round() as usize } else { 0 };
        format!("{label:<width$}  {:>5.1} %  {}", share * 100.0, "#".repeat(length))
            .trim_end()
            .to_owned()
    };
    shares.iter().map(line).collect()
}
