//! Pictures as one self-contained SVG file, for light and dark grounds: panels side by side, each
//! with its verdict, labels of keys, cells, an axis of time and the shares of its ranges.
//!
//! ```text
//! mod.rs    the sheet: title, panels, scale    panel.rs  one panel
//! style.rs  colors of both grounds             pen.rs    elements
//! ```

mod panel;
mod pen;
mod style;

use self::panel::{Frame, panel};
use self::pen::{Anchor, Pen};
use super::model::Picture;
use super::ramp::Theme;
use super::text::number;

/// Width of the sheet in pixels: that of a page of text.
const WIDTH: f64 = 900.0;
const MARGIN: f64 = 20.0;
/// Space between panels.
const GAP: f64 = 28.0;
/// Height of the title and the scale.
const HEAD: f64 = 84.0;

/// Returns the image. Without a theme it follows that of its reader.
#[must_use]
pub fn svg(picture: &Picture, theme: Option<Theme>) -> String {
    let frames = frames(picture);
    let bottom = frames.iter().map(|frame| frame.y + frame.height).fold(HEAD, f64::max);
    let mut pen = Pen::new(WIDTH, bottom + 12.0, &picture.title, &style::sheet(theme));
    pen.class_text((MARGIN, 30.0), Anchor::Start, "h", &picture.title);
    scale(&mut pen, picture);
    for (one, frame) in picture.panels.iter().zip(&frames) {
        panel(&mut pen, picture, one, frame);
    }
    pen.finish()
}

/// Returns the places of the panels: two in a line if there are several.
fn frames(picture: &Picture) -> Vec<Frame> {
    let inner = WIDTH - 2.0 * MARGIN;
    let across = picture.panels.len().clamp(1, 2);
    let width = if across == 1 { inner } else { (inner - GAP) / 2.0 };
    let mut y = HEAD;
    let mut frames = Vec::new();
    for line in picture.panels.chunks(across) {
        let heads = line.iter().map(|one| panel::head_height(one, width));
        let head = heads.fold(0.0, f64::max);
        let mut x = MARGIN;
        for _ in line {
            frames.push(Frame { x, y, width, head, height: head + panel::BODY });
            x += width + GAP;
        }
        y += head + panel::BODY;
    }
    frames
}

/// Draws the ramp with its amounts.
fn scale(pen: &mut Pen, picture: &Picture) {
    const RAMP: f64 = 230.0;
    let (scale, unit) = (picture.scale(), picture.unit());
    let (x, y) = (WIDTH - MARGIN - RAMP, 42.0);
    pen.rect((x - 22.0, y), (12.0, 12.0), "z b");
    pen.class_text((x - 16.0, y + 26.0), Anchor::Middle, "a", "0");
    for (at, class) in (0..style::SHADES).map(|shade| (f64::from(shade), style::class(shade))) {
        let width = RAMP / f64::from(style::SHADES);
        pen.rect((x + at * width, y), (width + 0.4, 12.0), &class);
    }
    let fair = f64::from(scale.step(scale.fair_share())) / 255.0;
    let full = format!("{}{unit}", number(scale.top));
    let share = format!("fair share {}", number(scale.fair_share()));
    for (place, text, anchor) in [(fair, share, Anchor::Middle), (1.0, full, Anchor::End)] {
        pen.line((x + place * RAMP, y + 12.0), (x + place * RAMP, y + 16.0));
        pen.class_text((x + place * RAMP, y + 26.0), anchor, "a", &text);
    }
    let text = format!("{} of a range of keys", picture.metric);
    pen.class_text((x - 32.0, y + 10.0), Anchor::End, "a", &text);
}
