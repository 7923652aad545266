//! Renderers of the heat map: as terminal text and as an image.

mod svg;
mod terminal;

pub use svg::svg;
pub use terminal::terminal;

use jiff::Timestamp;

/// Returns the position of a share between an even one (0) and the whole (1), so that both ends are
/// visible in a table of any size.
#[expect(clippy::cast_precision_loss, reason = "rows of a picture")]
fn intensity(share: f64, rows: usize) -> f64 {
    let even = 1.0 / rows.max(2) as f64;
    if share <= 0.0 {
        return 0.0;
    }
    // An even share has a third of the intensity; half of it is still visible, and the whole has
    // the maximum.
    let above = (share / even).ln() / (1.0 / even).ln();
    (1.0 / 3.0 + above * 2.0 / 3.0).clamp(0.04, 1.0)
}

/// Returns a time for an axis.
fn clock(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map_or_else(|_| ms.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}
