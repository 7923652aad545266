//! Scale of amounts: how dark an amount is.

use halite_heat::HeatMap;

/// Least step of the ramp for an amount above zero, so that little differs from nothing.
pub const FIRST_STEP: u8 = 10;
/// Columns longer than this, in milliseconds, show their largest amount instead of the mean.
pub const COARSE_MS: i64 = 120_000;
/// The knee is the mean divided by this: the fair share is at a third of the ramp.
pub(super) const KNEE_PARTS: f64 = 3.0;
/// The top is at least the mean times this.
pub(super) const TOP_MEANS: f64 = 20.0;
/// The knee is at least the top divided by this.
pub(super) const MAX_TOP_KNEES: f64 = 4000.0;
/// Least top.
const MIN_TOP: f64 = 1e-9;

/// How much load a map has: what a scale depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadLevel {
    /// Sum of the shown amounts of the recorded cells.
    pub sum: f64,
    /// Number of recorded cells.
    pub cells: u64,
    /// Largest amount of a cell.
    pub largest: f64,
}

impl LoadLevel {
    /// Returns the level of a map.
    #[must_use]
    pub fn of_map(map: &HeatMap) -> Self {
        Self::of_map_rows(map, map.bounds.len())
    }

    /// As [`Self::of_map`], if only the first `rows` ranges set the top.
    #[must_use]
    pub fn of_map_rows(map: &HeatMap, rows: usize) -> Self {
        Self::of_rows(map, rows, shown(map))
    }

    /// Returns the level of a map of which `shown` amounts are drawn. Only the first `rows` ranges
    /// set the top: others are the sum of many.
    #[must_use]
    pub fn of_rows(map: &HeatMap, rows: usize, shown: &[f32]) -> Self {
        let columns = map.columns.max(1);
        let is_gap: Vec<bool> =
            (0..columns).map(|column| map.gaps.iter().any(|gap| gap.contains(&column))).collect();
        let mut level = Self::default();
        for (cell, (shown, max)) in shown.iter().zip(&map.max).enumerate() {
            if is_gap[cell % columns] {
                continue;
            }
            level.sum += f64::from(*shown);
            level.cells += 1;
            if cell / columns < rows {
                level.largest = level.largest.max(f64::from(*max));
            }
        }
        level
    }

    fn plus(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            cells: self.cells + other.cells,
            largest: self.largest.max(other.largest),
        }
    }

    /// Returns the mean amount of a cell.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a number of cells")]
    pub fn mean(self) -> f64 {
        if self.cells == 0 { 0.0 } else { self.sum / self.cells as f64 }
    }
}

/// Scale from amounts to the 256 steps of the ramp: linear up to the knee, logarithmic beyond it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Amount up to which the scale is about linear: a third of the fair share.
    pub knee: f64,
    /// Amount of the last step.
    pub top: f64,
}

impl Scale {
    /// Returns the scale that several maps share.
    #[must_use]
    pub fn of(levels: impl IntoIterator<Item = LoadLevel>) -> Self {
        let all = levels.into_iter().fold(LoadLevel::default(), LoadLevel::plus);
        let mean = all.mean();
        let full = all.largest.max(TOP_MEANS * mean).max(MIN_TOP);
        let knee = (mean / KNEE_PARTS).max(full / MAX_TOP_KNEES);
        Self { knee, top: full.max(2.0 * knee) }
    }

    /// Returns the step of an amount: 0 for none, else 10 to 255.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "steps are from 0 to 255"
    )]
    pub fn step(self, amount: f64) -> u8 {
        // An amount that is no number is no amount.
        if amount.is_nan() || amount <= 0.0 {
            return 0;
        }
        let part = (amount / self.knee).ln_1p() / (self.top / self.knee).ln_1p();
        (part * 255.0).clamp(f64::from(FIRST_STEP), 255.0) as u8
    }

    /// Returns the amount at a place of the ramp, from 0 to 1.
    #[must_use]
    pub fn amount(self, place: f64) -> f64 {
        self.knee * (place * (self.top / self.knee).ln_1p()).exp_m1()
    }

    /// Returns the fair share: the mean amount of a cell.
    #[must_use]
    pub fn fair_share(self) -> f64 {
        self.knee * KNEE_PARTS
    }
}

/// Returns the amounts that are drawn: the largest of coarse columns, so that a short spike stays
/// visible, else the means.
pub(super) fn shown(map: &HeatMap) -> &[f32] {
    if map.column_ms > COARSE_MS { &map.max } else { &map.mean }
}
