//! Colors of the steps: light and dark, readable with any kind of color vision.

/// Colors for a light or a dark ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on a light ground.
    Light,
    /// Light text on a dark ground.
    Dark,
}

/// Color: red, green, blue.
pub type Color = [u8; 3];

/// Stops of the ramps, at equal distances: rising darkness on a light ground, rising brightness on
/// a dark one.
pub(super) const LIGHT: &str = "faf1cb fdde9f fec374 fe9d51 ee7245 d64044 a52853 6c1b52 2f1141";
pub(super) const DARK: &str = "241f49 3b2566 5a2c7d 91317c c23b73 ea5858 fc8c49 fec46e fff6b2";
/// Colors of cells without load, which are none of the ramp's.
pub(super) const LIGHT_ZERO: &str = "ffffff";
pub(super) const DARK_ZERO: &str = "12151a";

/// Returns the 256 colors of the steps, interpolated between the stops; the first one is that of
/// cells without load.
#[must_use]
pub fn ramp(theme: Theme) -> [Color; 256] {
    let (stops, zero) = match theme {
        Theme::Light => (LIGHT, LIGHT_ZERO),
        Theme::Dark => (DARK, DARK_ZERO),
    };
    let stops: Vec<Color> = stops.split(' ').map(color).collect();
    let mut colors = [color(zero); 256];
    for (color, step) in colors.iter_mut().zip(0_u8..=255).skip(1) {
        *color = between(&stops, f64::from(step) / 255.0);
    }
    colors
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place among nine stops, and bytes"
)]
fn between(stops: &[Color], part: f64) -> Color {
    let place = part * (stops.len() - 1) as f64;
    let low = (place.floor() as usize).min(stops.len() - 2);
    let mix = |channel: usize| {
        let (from, to) = (f64::from(stops[low][channel]), f64::from(stops[low + 1][channel]));
        (from + (to - from) * (place - low as f64) + 0.5).floor() as u8
    };
    [mix(0), mix(1), mix(2)]
}

/// Reads six hexadecimal digits; the constants of this file have no others.
fn color(hex: &str) -> Color {
    let number = u32::from_str_radix(hex, 16).unwrap_or(0);
    let [_, red, green, blue] = number.to_be_bytes();
    [red, green, blue]
}

/// Returns a color as `#rrggbb`.
pub(super) fn css([red, green, blue]: Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
