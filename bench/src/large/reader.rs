//! Gets and short scans with verified answers.

use std::time::Instant;

use super::latencies::Latencies;
use super::phase::Phase;
use super::rows::Stage;
use crate::Result;
use crate::data::{KEY_BYTES, Rows};

/// Rows of a short scan.
pub(super) const SCAN_ROWS: usize = 100;

/// Reader of one thread, with the latencies of its operations.
///
/// An answer is copied while the time runs and verified afterwards.
pub(super) struct Reader<'a> {
    phase: &'a Phase<'a>,
    stage: Stage,
    latencies: Latencies,
    /// Value of a get; keys and values of a scan.
    answer: Vec<u8>,
    /// End in `answer` of each row of a scan.
    ends: Vec<usize>,
    expected: Vec<u8>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(phase: &'a Phase, stage: Stage) -> Result<Self> {
        Ok(Self {
            phase,
            stage,
            latencies: Latencies::new()?,
            answer: Vec::new(),
            ends: Vec::with_capacity(SCAN_ROWS),
            expected: Vec::new(),
        })
    }

    pub(super) fn into_latencies(self) -> Latencies {
        self.latencies
    }

    /// Gets a row and returns the time of the answer.
    ///
    /// # Errors
    /// A failed get, and an answer that is not the last write of the row.
    pub(super) fn get(&mut self, row: u64) -> Result<Instant> {
        let key = Rows::key(row);
        let answer = &mut self.answer;
        answer.clear();
        let before = Instant::now();
        let found = self.phase.store.get(&key, &mut |value| answer.extend_from_slice(value))?;
        let after = Instant::now();
        self.latencies.record(after - before);
        let found = found.then_some(&self.answer[..]);
        if self.phase.rows.is_right(row, found, self.stage, &mut self.expected) {
            return Ok(after);
        }
        let what = if found.is_some() { "a wrong value" } else { "nothing" };
        Err(format!("a get of row {row} returned {what}"))
    }

    /// Scans `SCAN_ROWS` rows from the key of a row on and returns the time of the answer.
    ///
    /// # Errors
    /// A failed scan, rows that are not in order or not in the range, a value that is not the last
    /// write of its row, and missing rows.
    pub(super) fn scan(&mut self, row: u64) -> Result<Instant> {
        let start = Rows::key(row);
        let (answer, ends) = (&mut self.answer, &mut self.ends);
        answer.clear();
        ends.clear();
        let before = Instant::now();
        self.phase.store.scan_from(&start, SCAN_ROWS, &mut |key, value| {
            answer.extend_from_slice(key);
            answer.extend_from_slice(value);
            ends.push(answer.len());
        })?;
        let after = Instant::now();
        self.latencies.record(after - before);
        self.check_scan(&start).map_err(|what| format!("a scan from row {row} returned {what}"))?;
        Ok(after)
    }

    fn check_scan(&mut self, start: &[u8; KEY_BYTES]) -> Result<()> {
        let (mut begin, mut last) = (0, &start[..]);
        for (index, end) in self.ends.iter().enumerate() {
            let row_bytes = &self.answer[begin..*end];
            begin = *end;
            let (key, value) = row_bytes.split_at_checked(KEY_BYTES).ok_or("a short key")?;
            let row = self.phase.rows.row_of(key).ok_or("an unknown key")?;
            if key < last || (key == last && index > 0) {
                return Err(format!("row {row} out of order"));
            }
            if !self.phase.rows.is_right(row, Some(value), self.stage, &mut self.expected) {
                return Err(format!("a wrong value of row {row}"));
            }
            last = key;
        }
        let count = self.ends.len();
        if count == SCAN_ROWS || (count < SCAN_ROWS && self.is_near_end(start)) {
            return Ok(());
        }
        Err(format!("{count} rows, not {SCAN_ROWS}"))
    }

    /// Returns `true` if fewer rows than a short scan returns may follow a key. Keys are evenly
    /// distributed, and more than half of the rows are never deleted.
    fn is_near_end(&self, key: &[u8; KEY_BYTES]) -> bool {
        let (first, _) = key.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let share_after = 1.0 - u64::from_be_bytes(*first) as f64 / u64::MAX as f64;
        share_after * (self.phase.rows.count() as f64) < SCAN_ROWS as f64 * 4.0
    }
}
