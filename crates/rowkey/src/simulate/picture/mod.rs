//! The picture of time and regions: in a terminal, and as an image.

mod svg;
mod terminal;

pub use svg::svg;
pub use terminal::terminal;

use jiff::Timestamp;

/// Where a share stands between an even one (0) and all (1), so that both ends can be told apart in a table of any size.
#[expect(clippy::cast_precision_loss, reason = "rows of a picture")]
fn intensity(share: f64, rows: usize) -> f64 {
    let even = 1.0 / rows.max(2) as f64;
    if share <= 0.0 {
        return 0.0;
    }
    // Even is a third of the way; half of it is still seen, and all of it is the end.
    let above = (share / even).ln() / (1.0 / even).ln();
    (1.0 / 3.0 + above * 2.0 / 3.0).clamp(0.04, 1.0)
}

/// A time for an axis.
fn clock(ms: i64) -> String {
    Timestamp::from_millisecond(ms).map_or_else(|_| ms.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
}
