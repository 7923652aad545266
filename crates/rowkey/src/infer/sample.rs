//! Keys that are examined together, with additional facts about them.

/// Keys of one form, in the order in which they were sampled.
#[derive(Clone, Debug, Default)]
pub(super) struct SampledKeys<'k> {
    pub(super) keys: Vec<&'k [u8]>,
    /// The time of a cell of each key's row, in milliseconds; empty if no times are known.
    pub(super) times_ms: Vec<i64>,
    /// Current time, if known.
    pub(super) now_ms: Option<i64>,
    /// `true` if values are not taken for times, nor for identifiers and addresses that are
    /// doubted, to see what they are else.
    pub(super) is_plain: bool,
}

/// From here on identifiers are not doubted.
const NO_DOUBT: f64 = 0.9;

impl SampledKeys<'_> {
    /// Returns `true` if something else is looked for than identifiers that are so sure.
    pub(super) fn passes_over(&self, sure: f64) -> bool {
        self.is_plain && sure < NO_DOUBT
    }

    /// Those of the keys that `wanted` takes.
    pub(super) fn only(&self, mut wanted: impl FnMut(&[u8]) -> bool) -> Self {
        let places: Vec<usize> = (0..self.keys.len()).filter(|&at| wanted(self.keys[at])).collect();
        self.select(&places)
    }

    /// Returns the keys at these places.
    pub(super) fn select(&self, places: &[usize]) -> Self {
        let times_ms = if self.times_ms.is_empty() {
            Vec::new()
        } else {
            places.iter().map(|&at| self.times_ms[at]).collect()
        };
        Self {
            keys: places.iter().map(|&at| self.keys[at]).collect(),
            times_ms,
            now_ms: self.now_ms,
            is_plain: self.is_plain,
        }
    }
}
