//! Heat map as one self-contained SVG file: a panel for each design, regions from bottom to top,
//! time from left to right, and next to it the rows of each region.

use std::fmt::Write as _;

use bytes::Bytes;
use halite_types::key::to_string_binary;

use super::super::{Heatmap, Simulation};
use super::{clock, intensity};

/// Cividis, a palette that is readable with any kind of color vision and in grey, from the lowest
/// to the highest value.
const PALETTE: [(u8, u8, u8); 7] = [
    (0, 32, 77),
    (35, 62, 108),
    (87, 93, 109),
    (124, 123, 120),
    (166, 157, 117),
    (211, 193, 100),
    (255, 234, 70),
];
/// Color of empty cells.
const NOTHING: (u8, u8, u8) = (244, 244, 246);
const LEFT: f64 = 150.0;
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 288.0;
const BARS: f64 = 170.0;
const GAP: f64 = 24.0;
const PANEL: f64 = HEIGHT + 132.0;
const HEAD: f64 = 96.0;
/// Characters of the key next to a region.
const LABEL_CHARS: usize = 18;

/// Returns the image of one or several designs.
pub fn svg(title: &str, simulations: &[&Simulation]) -> String {
    let panels = u32::try_from(simulations.len()).map_or(1.0, f64::from);
    let (width, height) = (LEFT + WIDTH + GAP + BARS + 40.0, HEAD + panels * PANEL + 10.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\" \
         font-size=\"12\" fill=\"#1d1d22\">\n<title>{0}</title>\n<rect width=\"100%\" \
         height=\"100%\" fill=\"#ffffff\"/>\n<text x=\"24\" y=\"34\" font-size=\"20\" \
         font-weight=\"600\">{0}</text>\n",
        escaped(title)
    );
    legend(&mut out);
    for (at, simulation) in (0_u32..).zip(simulations) {
        panel(&mut out, simulation, HEAD + f64::from(at) * PANEL);
    }
    out.push_str("</svg>\n");
    out
}

fn legend(out: &mut String) {
    let _ =
        writeln!(out, "<text x=\"24\" y=\"62\">Share of a region in the writes of a moment</text>");
    let steps = 48_u32;
    for step in 0..steps {
        let x = 362.0 + f64::from(step) * 5.0;
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"51\" width=\"5.2\" height=\"14\" fill=\"{}\"/>",
            color(f64::from(step + 1) / f64::from(steps))
        );
    }
    let _ = writeln!(
        out,
        "<rect x=\"334\" y=\"51\" width=\"18\" height=\"14\" fill=\"{}\" stroke=\"#c8c8cf\" \
         stroke-width=\"0.5\"/>",
        rgb(NOTHING)
    );
    for (x, said) in [(343.0, "none"), (442.0, "even"), (602.0, "all of it")] {
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"80\" text-anchor=\"middle\" font-size=\"11\" \
             fill=\"#55555e\">{said}</text>"
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "rows and columns of a picture")]
fn panel(out: &mut String, simulation: &Simulation, top: f64) {
    let heat = &simulation.heatmap;
    let (rows, columns) = (heat.rows().max(1) as f64, heat.columns.len().max(1) as f64);
    let (cell_width, cell_height) = (WIDTH / columns, HEIGHT / rows);
    let y = top + 48.0;
    let _ = writeln!(
        out,
        "<text x=\"24\" y=\"{}\" font-size=\"14\" font-weight=\"600\">{}</text>",
        top + 16.0,
        escaped(&shortened(&simulation.name, 110))
    );
    let _ = writeln!(
        out,
        "<text x=\"24\" y=\"{}\" fill=\"#55555e\">{}</text>",
        top + 34.0,
        escaped(&statistics(simulation))
    );
    let _ = writeln!(
        out,
        "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{}\"/>",
        rgb(NOTHING)
    );
    for (column, shares) in heat.columns.iter().enumerate() {
        for (row, &share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let (left, above) =
                (LEFT + column as f64 * cell_width, y + HEIGHT - (row + 1) as f64 * cell_height);
            // Slightly wider than its cell, so that no line is visible between neighbors.
            let _ = writeln!(
                out,
                "<rect x=\"{left:.2}\" y=\"{above:.2}\" width=\"{:.2}\" height=\"{:.2}\" \
                 fill=\"{}\"/>",
                cell_width + 0.3,
                cell_height + 0.3,
                color(intensity(share, heat.rows()))
            );
        }
    }
    axes(out, simulation, y, cell_height);
    bars(out, heat, y, cell_height);
}

fn statistics(simulation: &Simulation) -> String {
    format!(
        "{} writes on {} regions: busiest over mean {:.2} in the whole, {:.2} in a window of \
         writes; {:.1} regions are used at a time",
        simulation.writes.operations,
        simulation.writes.regions(),
        simulation.writes.max_over_mean,
        simulation.writes.window_median,
        simulation.writes.window_effective_regions
    )
}

#[expect(clippy::cast_precision_loss, reason = "rows of a picture")]
fn axes(out: &mut String, simulation: &Simulation, y: f64, cell_height: f64) {
    let heat = &simulation.heatmap;
    let bottom = y + HEIGHT;
    let _ = writeln!(
        out,
        "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" \
         stroke=\"#8c8c96\" stroke-width=\"0.8\"/>"
    );
    // Print as many first keys of rows as are readable.
    let every = (heat.rows().max(1)).div_ceil(16);
    for row in (0..heat.rows()).step_by(every) {
        let boundary = (row * heat.regions_per_row)
            .checked_sub(1)
            .and_then(|boundary| simulation.boundaries.get(boundary));
        let said = boundary.map_or_else(
            || "(first)".to_owned(),
            |boundary| label(boundary, &simulation.boundaries),
        );
        let at = bottom - (row as f64 + 0.5) * cell_height + 3.5;
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{at:.1}\" text-anchor=\"end\" font-size=\"10\" \
             font-family=\"monospace\">{}</text>",
            LEFT - 8.0,
            escaped(&said)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"18\" y=\"{0:.1}\" transform=\"rotate(-90 18 {0:.1})\" text-anchor=\"middle\" \
         fill=\"#55555e\">region, by its first key</text>",
        y + HEIGHT / 2.0
    );
    let ticks = [(0.0, "start"), (0.5, "middle"), (1.0, "end")];
    let (from, to) = heat.span_ms;
    for (share, anchor) in ticks {
        let (x, ms) = (
            LEFT + share * WIDTH,
            if share > 0.75 {
                to
            } else if share > 0.25 {
                from + (to - from) / 2
            } else {
                from
            },
        );
        let _ = writeln!(
            out,
            "<line x1=\"{x}\" y1=\"{bottom}\" x2=\"{x}\" y2=\"{}\" stroke=\"#8c8c96\"/>",
            bottom + 5.0
        );
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\" font-size=\"11\">{}</text>",
            bottom + 18.0,
            clock(ms)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#55555e\">time (UTC)</text>",
        LEFT + WIDTH / 2.0,
        bottom + 36.0
    );
}

/// Draws the total of each row next to it.
#[expect(clippy::cast_precision_loss, reason = "rows of a picture")]
fn bars(out: &mut String, heat: &Heatmap, y: f64, cell_height: f64) {
    let left = LEFT + WIDTH + GAP;
    let most = heat.whole.iter().copied().fold(1e-9, f64::max);
    let even = 1.0 / heat.rows().max(1) as f64;
    for (row, &share) in heat.whole.iter().enumerate() {
        let above = y + HEIGHT - (row as f64 + 1.0) * cell_height;
        let _ = writeln!(
            out,
            "<rect x=\"{left}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"#575d6d\"/>",
            above + cell_height * 0.08,
            share / most * BARS,
            cell_height * 0.84
        );
    }
    let at = left + (even / most).min(1.0) * BARS;
    let bottom = y + HEIGHT;
    let _ = writeln!(
        out,
        "<line x1=\"{at:.1}\" y1=\"{y}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#b3261e\" \
         stroke-dasharray=\"4 3\"/>"
    );
    let _ = writeln!(
        out,
        "<line x1=\"{left}\" y1=\"{y}\" x2=\"{left}\" y2=\"{bottom}\" stroke=\"#8c8c96\"/>"
    );
    let _ = writeln!(out, "<text x=\"{left}\" y=\"{}\" font-size=\"11\">0</text>", bottom + 18.0);
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"11\">{:.1} %</text>",
        left + BARS,
        bottom + 18.0,
        most * 100.0
    );
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#55555e\">writes in the whole \
         (dashed: even)</text>",
        left + BARS / 2.0,
        bottom + 36.0
    );
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place in the palette"
)]
fn color(intensity: f64) -> String {
    let place = intensity.clamp(0.0, 1.0) * (PALETTE.len() - 1) as f64;
    let at = (place.floor() as usize).min(PALETTE.len() - 2);
    let part = place - at as f64;
    let (from, to) = (PALETTE[at], PALETTE[at + 1]);
    let mix = |from: u8, to: u8| {
        (f64::from(from) + (f64::from(to) - f64::from(from)) * part).round() as u8
    };
    rgb((mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2)))
}

fn rgb((red, green, blue): (u8, u8, u8)) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Returns a first key cut to the available width; for long ones the common prefix is omitted.
fn label(boundary: &[u8], all: &[Bytes]) -> String {
    let whole = to_string_binary(boundary);
    if whole.chars().count() <= LABEL_CHARS {
        return whole;
    }
    let (first, last) =
        (all.first().map_or(&[][..], |key| key), all.last().map_or(&[][..], |key| key));
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count().min(boundary.len());
    if common == 0 {
        shortened(&whole, LABEL_CHARS)
    } else {
        shortened(&format!("..{}", to_string_binary(&boundary[common..])), LABEL_CHARS)
    }
}

fn shortened(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        text.to_owned()
    } else {
        text.chars().take(chars - 2).chain("..".chars()).collect()
    }
}

/// Returns text escaped for XML, without control characters, which XML does not permit.
fn escaped(text: &str) -> String {
    let safe: String = text.chars().filter(|char| !char.is_control()).collect();
    safe.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
