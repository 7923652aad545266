//! Constants of pictures for the script of the web page.

use std::fmt::Write as _;

use halite_heat::Shape;

use super::ramp::{DARK, DARK_ZERO, LIGHT, LIGHT_ZERO};
use super::scale::{COARSE_MS, FIRST_STEP, KNEE_PARTS, MAX_TOP_KNEES, TOP_MEANS};
use super::text::TICK_SECONDS;

/// Returns the module of the page that has the colors, scales and words of pictures.
#[must_use]
pub fn page_module() -> String {
    let mut out = format!(
        "// Colors, scale and words of pictures: generated, the same as in SVG files and in the\n\
         // terminal.\n\
         \n\
         export const RAMPS = {{\n  light: '{LIGHT}',\n  dark: '{DARK}',\n}};\n\
         export const ZERO = {{ light: '{LIGHT_ZERO}', dark: '{DARK_ZERO}' }};\n\
         /** First step of the ramp for a value above zero, so that low differs from zero. */\n\
         export const FIRST_STEP = {FIRST_STEP};\n\
         /** The knee of the scale is the mean divided by this. */\n\
         export const KNEE_PARTS = {KNEE_PARTS};\n\
         /** The top of the scale is at least the mean times this. */\n\
         export const TOP_MEANS = {TOP_MEANS};\n\
         /** The knee is at least the top divided by this. */\n\
         export const MAX_TOP_KNEES = {MAX_TOP_KNEES};\n\
         /** Columns longer than this show their peak. */\n\
         export const COARSE_MS = {COARSE_MS};\n\
         /** Distances of ticks, in seconds. */\n\
         export const TICK_SECONDS = [\n"
    );
    for seconds in TICK_SECONDS.chunks(9) {
        let numbers: Vec<String> = seconds.iter().map(ToString::to_string).collect();
        // Writing to a text does not fail.
        let _ = writeln!(out, "  {},", numbers.join(", "));
    }
    out.push_str("];\n/** Names of shapes. @type {Record<string, string>} */\n");
    out.push_str("export const SHAPE_NAMES = {\n");
    for shape in Shape::ALL {
        let _ = writeln!(out, "  {}: '{}',", shape.name(), shape.words().title);
    }
    let [helps, not] = [Shape::HotRange, Shape::Frontier].map(Shape::split_text);
    let _ = writeln!(
        out,
        "}};\n/** Whether a split helps. @type {{Record<string, string>}} */\n\
         export const SPLITS = {{ helps: '{helps}', will_not_help: '{not}' }};"
    );
    out
}
