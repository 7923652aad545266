//! Colors and fonts of an image, for both grounds.

use std::fmt::Write as _;

use super::super::ramp::{Theme, css, ramp};

/// Colors of load in an image: neighbors among 256 are not told from each other, and fewer make a
/// smaller file.
pub(super) const SHADES: u8 = 32;

/// Text, muted text, lines, ground, bars, and text of what is bad, to be watched and good: those of
/// the web page.
const LIGHT: [&str; 8] =
    ["#1b1f24", "#555d68", "#cfcfc8", "#ffffff", "#a9b4cc", "#b0261e", "#8f5400", "#1b7a46"];
const DARK: [&str; 8] =
    ["#e5e8ec", "#a2aab5", "#39414d", "#14181d", "#46546e", "#ff8b82", "#e9b35b", "#58c48a"];

const FONTS: &str = "\
text{font:12px -apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"Liberation Sans\",sans-serif;\
fill:var(--t)}\
.h{font-size:16px;font-weight:600}\
.v{font-size:13px;font-weight:600}\
.m{fill:var(--m)}\
.a{font-size:10.5px;fill:var(--m)}\
.k{font:11px \"SF Mono\",\"Cascadia Mono\",Menlo,Consolas,\"Noto Sans Mono\",\"DejaVu Sans Mono\",\
monospace}\
.n{fill:var(--m)}\
.l{stroke:var(--l);fill:none}\
.r{stroke:var(--t);stroke-opacity:.16;fill:none}\
.b{stroke:var(--l)}\
.g{fill:var(--g)}\
.s{fill:var(--s)}\
.p{shape-rendering:crispEdges}\
.w{stroke:var(--m);stroke-opacity:.55;fill:none;stroke-width:.75}";

/// Returns the class of a shade.
pub(super) fn class(shade: u8) -> String {
    format!("c{shade}")
}

/// Returns the shade of a step of the ramp above zero.
pub(super) fn shade(step: u8) -> u8 {
    step / (u8::MAX / SHADES + 1)
}

/// Returns the style sheet: light, dark, or both, of which the reader's ground decides.
pub(super) fn sheet(theme: Option<Theme>) -> String {
    let light = || colors(LIGHT, Theme::Light);
    let dark = || colors(DARK, Theme::Dark);
    let colors = match theme {
        Some(Theme::Light) => light(),
        Some(Theme::Dark) => dark(),
        None => format!("{}@media (prefers-color-scheme:dark){{{}}}", light(), dark()),
    };
    format!("{FONTS}{colors}")
}

fn colors([text, muted, line, ground, bar, bad, warn, ok]: [&str; 8], theme: Theme) -> String {
    let ramp = ramp(theme);
    // Writing to a text does not fail.
    let mut out = format!(":root{{--t:{text};--m:{muted};--l:{line};--g:{ground};--s:{bar}}}");
    for (class, color) in [("bad", bad), ("warn", warn), ("ok", ok)] {
        let _ = write!(out, ".{class}{{fill:{color}}}");
    }
    let _ = write!(out, ".z{{fill:{}}}", css(ramp[0]));
    for shade in 0..SHADES {
        // The middle of the steps of a shade.
        let step = usize::from(shade) * 8 + 4;
        let _ = write!(out, ".{}{{fill:{}}}", class(shade), css(ramp[step]));
    }
    out
}
