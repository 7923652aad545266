//! Heat map as text: a line for each row of regions, the last one on top.

use super::super::{Heatmap, Simulation};
use super::{clock, intensity};

/// Shades from the lowest to the highest value.
const SHADES: [char; 5] = [' ', '\u{2591}', '\u{2592}', '\u{2593}', '\u{2588}'];
/// Maximum lines; of more rows, neighbors share a line.
const MAX_LINES: usize = 24;
/// Characters next to the time columns.
const FRAME: usize = 42;
/// Characters of the bars.
const BAR: f64 = 20.0;

/// Returns lines of at most `width` characters.
pub fn terminal(simulation: &Simulation, width: usize) -> Vec<String> {
    let heat = &simulation.heatmap;
    if heat.columns.is_empty() {
        return Vec::new();
    }
    let columns =
        width.saturating_sub(FRAME).clamp(10, heat.columns.len().max(10)).min(heat.columns.len());
    let per_line = heat.rows().div_ceil(MAX_LINES).max(1);
    let lines: Vec<usize> = (0..heat.rows()).step_by(per_line).collect();
    let most = lines.iter().map(|&first| sum(&heat.whole, first, per_line)).fold(0.0, f64::max);
    let mut painted = Vec::new();
    for &first in lines.iter().rev() {
        let shade = |column: usize| {
            let shares = merged(heat, column, columns);
            SHADES[shade_of(intensity(sum(&shares, first, per_line), lines.len()))]
        };
        let share = sum(&heat.whole, first, per_line);
        let row: String = (0..columns).map(shade).collect();
        painted.push(format!(
            "{:>9} |{row}| {:>5.1} % {}",
            label(heat, first, per_line),
            share * 100.0,
            bar(share / most)
        ));
    }
    painted.push(format!("{:>9} +{}+", "region", "-".repeat(columns)));
    let (from, to) = (clock(heat.span_ms.0), clock(heat.span_ms.1));
    let between = (columns + 2).saturating_sub(from.len() + to.len());
    painted.push(format!("{:>9} {from}{}{to}  writes in all", "", " ".repeat(between.max(1))));
    painted
}

/// Merges neighboring time columns.
#[expect(clippy::cast_precision_loss, reason = "columns of a picture")]
fn merged(heat: &Heatmap, column: usize, columns: usize) -> Vec<f64> {
    let bounds = |at: usize| at * heat.columns.len() / columns;
    let part = &heat.columns[bounds(column)..bounds(column + 1)];
    (0..heat.rows())
        .map(|row| part.iter().map(|shares| shares[row]).sum::<f64>() / part.len().max(1) as f64)
        .collect()
}

fn sum(shares: &[f64], first: usize, count: usize) -> f64 {
    shares.iter().skip(first).take(count).sum()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and the number of shades"
)]
fn shade_of(intensity: f64) -> usize {
    if intensity <= 0.0 { 0 } else { ((intensity * 4.0).ceil() as usize).clamp(1, 4) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most as many characters as the longest bar"
)]
fn bar(of_most: f64) -> String {
    "#".repeat((of_most * BAR).round() as usize)
}

/// Returns the regions of a line, counted from 1.
fn label(heat: &Heatmap, first: usize, per_line: usize) -> String {
    let from = first * heat.regions_per_row;
    let to = ((first + per_line) * heat.regions_per_row).min(heat.regions);
    if to - from <= 1 { (from + 1).to_string() } else { format!("{}-{to}", from + 1) }
}
