//! Keys that are examined together, with additional facts about them.

/// Keys of one shape, in the order in which they were sampled.
#[derive(Clone, Debug, Default)]
pub(super) struct SampledKeys<'k> {
    pub(super) keys: Vec<&'k [u8]>,
    /// Time of a cell of each key's row, in milliseconds; empty if no times are known.
    pub(super) times_ms: Vec<i64>,
    /// Current time, if known.
    pub(super) now_ms: Option<i64>,
    /// `true` if values are not interpreted as times, nor as doubtful identifiers and addresses, to
    /// find the alternatives.
    pub(super) is_plain: bool,
}

/// Minimum confidence of identifiers that are not doubtful.
const NO_DOUBT: f64 = 0.9;

impl SampledKeys<'_> {
    /// Returns `true` if identifiers of this confidence are skipped in a search for alternatives.
    pub(super) fn passes_over(&self, sure: f64) -> bool {
        self.is_plain && sure < NO_DOUBT
    }

    /// Returns the keys that satisfy `is_selected`.
    pub(super) fn only(&self, mut is_selected: impl FnMut(&[u8]) -> bool) -> Self {
        let places: Vec<usize> =
            (0..self.keys.len()).filter(|&at| is_selected(self.keys[at])).collect();
        self.select(&places)
    }

    /// Returns the keys at these indexes.
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
