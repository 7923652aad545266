//! One panel of an image.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::gutter::{Gutter, Run};
use super::super::model::{Axis, Panel, Picture};
use super::super::scale::Scale;
use super::super::text::{date, number, shortened, tick_step, tick_text, wrapped};
use super::pen::{Anchor, Pen, short};
use super::style;

/// Height of a panel below its head: names of fields, cells, and the axis.
pub(super) const BODY: f64 = 18.0 + CELLS + 62.0;
const CELLS: f64 = 256.0;
/// Height of a line of the head.
const LINE: f64 = 17.0;
/// Width of the shares beside the cells.
const SHARES: f64 = 62.0;
/// Largest part of the width that labels have.
const MAX_GUTTER_PART: f64 = 0.34;
/// Widths of a character: of keys, of text, of names of fields.
const KEY_CHAR: f64 = 6.7;
const TEXT_CHAR: f64 = 5.9;
/// Least distance of labels.
const LABEL: f64 = 12.0;

/// Place of a panel.
pub(super) struct Frame {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    /// Height of its title and verdict.
    pub(super) head: f64,
    pub(super) height: f64,
}

/// Place of the cells of a panel.
struct Cells {
    x: f64,
    y: f64,
    width: f64,
    row: f64,
}

impl Cells {
    fn bottom(&self) -> f64 {
        self.y + CELLS
    }

    #[expect(clippy::cast_precision_loss, reason = "rows of a picture")]
    fn row_y(&self, row: usize) -> f64 {
        self.y + self.row * row as f64
    }
}

/// Lines of the head with their classes.
fn head(panel: &Panel, width: f64) -> Vec<(&'static str, String)> {
    let lines = |class: &'static str, text: &str, char: f64| {
        wrapped(text, chars(width, char)).into_iter().map(move |line| (class, line)).collect()
    };
    let mut all: Vec<(&'static str, String)> = lines("k", &panel.title, KEY_CHAR + 0.2);
    if let Some(verdict) = &panel.verdict {
        let class = match verdict.severity() {
            "bad" => "v bad",
            "warn" => "v warn",
            "ok" => "v ok",
            _ => "v",
        };
        all.extend(lines(class, &verdict.title(), 7.4));
        for text in [verdict.distribution(), verdict.split()] {
            all.extend(lines("m", &text, TEXT_CHAR));
        }
    }
    all
}

#[expect(clippy::cast_precision_loss, reason = "a few lines")]
pub(super) fn head_height(panel: &Panel, width: f64) -> f64 {
    head(panel, width).len() as f64 * LINE + 10.0
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "characters of a line")]
fn chars(width: f64, char: f64) -> usize {
    (width / char).max(4.0) as usize
}

pub(super) fn panel(pen: &mut Pen, picture: &Picture, panel: &Panel, frame: &Frame) {
    let mut y = frame.y;
    for (class, text) in head(panel, frame.width) {
        y += LINE;
        pen.class_text((frame.x, y - 4.0), Anchor::Start, class, &text);
    }
    let gutter = panel.gutter();
    let widths = level_widths(&gutter, frame.width * MAX_GUTTER_PART);
    let labels = widths.iter().sum::<f64>() + 6.0;
    #[expect(clippy::cast_precision_loss, reason = "rows of a picture")]
    let rows = panel.rows().max(1) as f64;
    let cells = Cells {
        x: frame.x + labels,
        y: frame.y + frame.head + 18.0,
        width: frame.width - labels - SHARES,
        row: CELLS / rows,
    };
    paint(pen, panel, picture.scale(), &cells);
    borders(pen, panel, &cells);
    labels_of(pen, &gutter, &widths, frame.x, &cells);
    axis(pen, panel, &cells);
    shares(pen, panel, &cells);
    let outline = format!(
        "M{} {}h{}v{}h-{}z",
        short(cells.x),
        short(cells.y),
        short(cells.width),
        short(CELLS),
        short(cells.width)
    );
    pen.path(&outline, "l");
}

/// Draws the cells: one path for each shade, with a rectangle for each run of cells.
#[expect(clippy::cast_precision_loss, reason = "cells of a picture")]
fn paint(pen: &mut Pen, panel: &Panel, scale: Scale, cells: &Cells) {
    pen.rect((cells.x, cells.y), (cells.width, CELLS), "z");
    let mut paths: BTreeMap<u8, String> = BTreeMap::new();
    for row in 0..panel.rows() {
        let steps: Vec<u8> =
            panel.row(row).iter().map(|amount| scale.step(f64::from(*amount))).collect();
        let shades = steps.iter().map(|step| (*step > 0).then(|| style::shade(*step)));
        let shades: Vec<Option<u8>> = shades.collect();
        let mut column = 0;
        for run in shades.chunk_by(|one, next| one == next) {
            if let Some(shade) = run[0] {
                // Writing to a text does not fail.
                let path = paths.entry(shade).or_default();
                let _ = write!(path, "M{column} {row}h{0}v1h-{0}z", run.len());
            }
            column += run.len();
        }
    }
    let size = (cells.width / panel.map.columns.max(1) as f64, cells.row);
    pen.begin_cells((cells.x, cells.y), size);
    for (shade, path) in paths {
        pen.path(&path, &style::class(shade));
    }
    pen.end_cells();
    for gap in &panel.map.gaps {
        let (x, width) = (cells.x + gap.start as f64 * size.0, gap.len() as f64 * size.0);
        pen.rect((x, cells.y), (width, CELLS), "g");
        hatch(pen, x, width, cells.y);
    }
}

/// Draws lines over a time that is not recorded.
fn hatch(pen: &mut Pen, x: f64, width: f64, y: f64) {
    let mut path = String::new();
    let mut from = -CELLS;
    while from < width {
        let (left, right) = (from.max(0.0), (from + CELLS).min(width));
        if right > left {
            // Writing to a text does not fail.
            let _ = write!(
                path,
                "M{} {}L{} {}",
                short(x + left),
                short(y + CELLS - (left - from)),
                short(x + right),
                short(y + CELLS - (right - from))
            );
        }
        from += 6.0;
    }
    pen.path(&path, "w");
}

/// Draws the boundaries of regions, if there is room for them.
#[expect(clippy::cast_precision_loss, reason = "rows of a picture")]
fn borders(pen: &mut Pen, panel: &Panel, cells: &Cells) {
    if panel.borders.len() as f64 * 4.0 > CELLS {
        return;
    }
    let inner = panel.borders.iter().filter(|row| **row > 0 && **row < panel.rows());
    let lines = inner.map(|row| {
        format!("M{} {}h{}", short(cells.x), short(cells.row_y(*row)), short(cells.width))
    });
    let path: String = lines.collect();
    if !path.is_empty() {
        pen.path(&path, "r");
    }
}

/// Returns the widths of the first fields that fit, at least one.
#[expect(clippy::cast_precision_loss, reason = "characters of a label")]
fn level_widths(gutter: &Gutter, room: f64) -> Vec<f64> {
    let mut widths: Vec<f64> = Vec::new();
    for level in &gutter.levels {
        let texts = level.runs.iter().map(|run| run.text.chars().count() as f64 * KEY_CHAR);
        let widest = texts.fold(level.name.chars().count() as f64 * 5.8, f64::max) + 10.0;
        let left = room - widths.iter().sum::<f64>();
        if widths.is_empty() {
            widths.push(widest.clamp(30.0, room));
        } else if widest <= left {
            widths.push(widest);
        } else {
            break;
        }
    }
    widths
}

fn labels_of(pen: &mut Pen, gutter: &Gutter, widths: &[f64], left: f64, cells: &Cells) {
    let mut x = left;
    for (level, width) in gutter.levels.iter().zip(widths) {
        let name = shortened(&level.name, chars(*width, 5.8));
        pen.class_text((x, cells.y - 6.0), Anchor::Start, "a", &name);
        let mut free = cells.y;
        for run in level.runs.iter().filter(|run| !run.text.is_empty()) {
            let y = middle(run, cells);
            if y - LABEL / 2.0 + 0.5 < free {
                continue;
            }
            free = y + LABEL / 2.0;
            let text = shortened(&run.text, chars(*width - 4.0, KEY_CHAR));
            pen.class_text((x, y + 4.0), Anchor::Start, "k n", &text);
        }
        x += width;
    }
}

/// Returns the place of the label of a run: its middle, within the cells.
fn middle(run: &Run, cells: &Cells) -> f64 {
    let middle = f64::midpoint(cells.row_y(run.from), cells.row_y(run.to));
    middle.clamp(cells.y + LABEL / 2.0, cells.bottom() - LABEL / 2.0)
}

#[expect(clippy::cast_precision_loss, reason = "pixels")]
fn axis(pen: &mut Pen, panel: &Panel, cells: &Cells) {
    let bottom = cells.bottom();
    let name = match panel.axis {
        Axis::Time => {
            let (from, to) = (panel.map.from_ms, panel.to_ms());
            let span = to - from;
            let step = tick_step(span, cells.width);
            let mut at = from.div_euclid(step) * step;
            while at < to {
                let x = cells.x + (at - from) as f64 / span.max(1) as f64 * cells.width;
                if at >= from {
                    pen.line((x, bottom), (x, bottom + 4.0));
                }
                if x >= cells.x + 14.0 && x <= cells.x + cells.width - 14.0 {
                    pen.class_text((x, bottom + 16.0), Anchor::Middle, "a", &tick_text(at, step));
                }
                at += step;
            }
            let (first, last) = (date(from), date(to - 1));
            if first == last { format!("{first}, UTC") } else { format!("{first} to {last}, UTC") }
        }
        Axis::Arrival { operations } => {
            let all = number(operations as f64);
            for (part, text, anchor) in [(0.0, "0", Anchor::Start), (1.0, &all[..], Anchor::End)] {
                let x = cells.x + part * cells.width;
                pen.line((x, bottom), (x, bottom + 4.0));
                pen.class_text((x, bottom + 16.0), anchor, "a", text);
            }
            "operations in the order of their arrival".to_owned()
        }
    };
    let middle = cells.x + cells.width / 2.0;
    pen.class_text((middle, bottom + 32.0), Anchor::Middle, "a", &name);
}

/// Draws the share of each range in all of the load, with a line at an even one.
#[expect(clippy::cast_precision_loss, reason = "rows of a picture")]
fn shares(pen: &mut Pen, panel: &Panel, cells: &Cells) {
    let shares = panel.shares();
    let x = cells.x + cells.width + 6.0;
    let width = SHARES - 6.0;
    pen.class_text((x, cells.y - 6.0), Anchor::Start, "a", "share of all");
    let Some((most, largest)) =
        shares.iter().enumerate().max_by(|one, next| one.1.total_cmp(next.1))
    else {
        return;
    };
    if *largest <= 0.0 {
        return;
    }
    // An even load has bars of half the width.
    let even = 1.0 / shares.len() as f64;
    let full = largest.max(2.0 * even);
    let height = (cells.row * 0.8).max(0.6);
    for (row, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let y = cells.row_y(row) + (cells.row - height) / 2.0;
        pen.rect((x, y), ((share / full * width).max(0.8), height), "s");
    }
    let even_x = x + even / full * width;
    let path = format!("M{} {}v{}", short(even_x), short(cells.y), short(CELLS));
    pen.path(&path, "w");
    pen.class_text((even_x, cells.bottom() + 16.0), Anchor::Middle, "a", "even");
    let y = cells.row_y(most) + cells.row / 2.0;
    let y = y.clamp(cells.y + 6.0, cells.bottom() - 6.0);
    let text = format!("{:.0} %", largest * 100.0);
    pen.class_text((x + 4.0, y + 4.0), Anchor::Start, "a", &text);
}
