//! The keys that are looked at together, with what is known beside them.

/// Keys of one form, in the order in which they were sampled.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen<'k> {
    pub(super) keys: Vec<&'k [u8]>,
    /// The time of a cell of each key's row, in milliseconds; empty if no times are known.
    pub(super) times_ms: Vec<i64>,
    /// What time it is, if that is known.
    pub(super) now_ms: Option<i64>,
    /// Whether numbers are not taken for times, to see what they are else.
    pub(super) no_times: bool,
}

impl Seen<'_> {
    /// Those of the keys that `wanted` takes.
    pub(super) fn only(&self, mut wanted: impl FnMut(&[u8]) -> bool) -> Self {
        let places: Vec<usize> = (0..self.keys.len()).filter(|&at| wanted(self.keys[at])).collect();
        self.at(&places)
    }

    /// The keys at these places.
    pub(super) fn at(&self, places: &[usize]) -> Self {
        let times_ms = if self.times_ms.is_empty() { Vec::new() } else { places.iter().map(|&at| self.times_ms[at]).collect() };
        Self { keys: places.iter().map(|&at| self.keys[at]).collect(), times_ms, now_ms: self.now_ms, no_times: self.no_times }
    }
}
