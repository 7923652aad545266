//! Shape, skew and thumbnail of the load of tables, for lists of them.
//!
//! They are computed for the tables of one page of a list, or for the most loaded ones where a list
//! is sorted or filtered by them, and kept for some seconds.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_heat::{HeatMap, HeatQuery, Metric, Shape};
use halite_rowkey_tools::picture::{LoadLevel, Scale};
use halite_types::TableName;
use serde::Serialize;
use utoipa::ToSchema;

use crate::extension::Extension;
use crate::statistics::round;

/// Time for which a shape is kept.
const SHAPE_AGE: Duration = Duration::from_secs(15);
/// Time for which a thumbnail is kept.
const THUMB_AGE: Duration = Duration::from_mins(1);
/// Tables that are remembered; beyond that all are forgotten.
const MAX_TABLES: usize = 4096;
/// Time that decides about a shape, in milliseconds.
const SHAPE_MS: i64 = 600_000;
/// Time that a thumbnail shows, in milliseconds.
const THUMB_MS: i64 = 6 * 3_600_000;

/// Shape of the load of a table, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TableShape {
    pub(crate) shape: Option<Shape>,
    /// Skew of short windows, at their 99th percentile.
    pub(crate) window_skew: Option<f64>,
}

/// Size of a thumbnail in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThumbSize {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl ThumbSize {
    /// Reads `WxH`, each at most 256.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (width, height) = text.split_once('x')?;
        let side = |text: &str| text.parse().ok().filter(|side| (1..=256).contains(side));
        Some(Self { width: side(width)?, height: side(height)? })
    }
}

/// Small picture of the load of the last six hours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Thumb {
    w: usize,
    h: usize,
    /// One byte for each cell, row by row, in hexadecimal digits: 0 for none, else a step of the
    /// colour ramp, 10 to 255, that is anchored at the mean.
    data: String,
}

#[derive(Default)]
struct Kept {
    shape: Option<(Instant, TableShape)>,
    thumb: Option<(Instant, ThumbSize, Option<Thumb>)>,
}

/// What is known of tables.
#[derive(Default)]
pub(crate) struct TableLoads {
    kept: Mutex<HashMap<TableName, Kept>>,
}

impl TableLoads {
    fn lock(&self) -> MutexGuard<'_, HashMap<TableName, Kept>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() > MAX_TABLES {
            kept.clear();
        }
        kept
    }

    /// Returns the shape of the load of a table. Blocks.
    pub(crate) fn shape(&self, extension: &dyn Extension, table: &TableName) -> TableShape {
        let known = self.lock().get(table).and_then(|kept| kept.shape);
        if let Some((taken, shape)) = known
            && taken.elapsed() < SHAPE_AGE
        {
            return shape;
        }
        let to_ms = i64::try_from(extension.now_ms()).unwrap_or(i64::MAX);
        let span = (to_ms.saturating_sub(SHAPE_MS), to_ms);
        let found = extension.diagnose_load(table, span).map(|finding| finding.shape);
        let shape = TableShape {
            shape: found.ok(),
            window_skew: extension.window_skew(table, span).ok().flatten().map(round),
        };
        self.lock().entry(table.clone()).or_default().shape = Some((Instant::now(), shape));
        shape
    }

    /// Returns the thumbnail of a table; `None` if the load is not recorded, or there was none.
    /// Blocks.
    pub(crate) fn thumb(
        &self,
        extension: &dyn Extension,
        table: &TableName,
        size: ThumbSize,
    ) -> Option<Thumb> {
        if let Some((taken, known, thumb)) =
            self.lock().get(table).and_then(|kept| kept.thumb.as_ref())
            && taken.elapsed() < THUMB_AGE
            && *known == size
        {
            return thumb.clone();
        }
        let thumb = draw(extension, table, size);
        let kept = Some((Instant::now(), size, thumb.clone()));
        self.lock().entry(table.clone()).or_default().thumb = kept;
        thumb
    }
}

fn draw(extension: &dyn Extension, table: &TableName, size: ThumbSize) -> Option<Thumb> {
    let to_ms = i64::try_from(extension.now_ms()).unwrap_or(i64::MAX);
    let query = |metric| HeatQuery {
        from_ms: to_ms.saturating_sub(THUMB_MS),
        to_ms,
        metric,
        start: Box::default(),
        end: None,
        max_rows: size.height,
        max_columns: size.width,
    };
    let maps = extension.heat_maps(table, &[query(Metric::Reads), query(Metric::Writes)]).ok()?;
    let map = HeatMap::sum(&maps, size.height);
    (map.columns > 0 && map.max.iter().any(|max| *max > 0.0)).then(|| thumb_of(&map))
}

/// Returns the steps of the colour ramp: the mean of all cells is at about a third of it, so that
/// an even load is pale. A column that was not recorded is 0.
fn thumb_of(map: &HeatMap) -> Thumb {
    let scale = Scale::of([LoadLevel::of_rows(map, map.bounds.len(), &map.mean)]);
    let mut data = String::with_capacity(map.mean.len() * 2);
    for value in &map.mean {
        // Writing to a text does not fail.
        let _ = write!(data, "{:02x}", scale.step(f64::from(*value)));
    }
    Thumb { w: map.columns, h: map.bounds.len(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumb_has_one_byte_a_cell() {
        let map = HeatMap {
            columns: 2,
            bounds: vec![Box::default(), b"m".as_slice().into()],
            mean: vec![0.0, 1.0, 1.0, 100.0],
            max: vec![0.0, 1.0, 1.0, 100.0],
            ..HeatMap::default()
        };
        let thumb = thumb_of(&map);
        assert_eq!((thumb.w, thumb.h, thumb.data.len()), (2, 2, 8));
        assert_eq!(&thumb.data[..4], "000a");
        assert!(thumb.data[6..] > thumb.data[2..4]);
    }

    #[test]
    fn size_of_thumb_is_bounded() {
        assert_eq!(ThumbSize::of("104x20"), Some(ThumbSize { width: 104, height: 20 }));
        for wrong in ["", "0x9", "9x0", "257x1", "1x257", "9", "9x", "x9", "-1x9", "1x1x1"] {
            assert_eq!(ThumbSize::of(wrong), None, "{wrong}");
        }
    }
}
