//! What all patterns have in common: the trait, the settings, and the keys.

use halite::Bytes;
use halite::rowkey::{KeySchema, Value};

use super::super::Shape;
use super::operation::{NewRow, Operation};

/// Operations of a shape.
pub(in crate::traffic) trait Pattern: Send {
    /// Returns a row that the table has before the operations, by its number from 0.
    fn row(&self, number: u64) -> NewRow;

    /// Returns the next operation.
    fn next(&mut self) -> Operation;

    /// Returns the keys at which the regions after the first begin, of a table with this many
    /// regions; `None` if the declaration of the key decides.
    fn splits(&self, regions: u64) -> Option<Vec<Bytes>>;

    /// Returns the units of the schedule that an operation takes.
    fn units(&self, _: &Operation) -> u64 {
        1
    }
}

/// Settings of a pattern.
#[derive(Clone, Debug)]
pub(in crate::traffic) struct PatternConfig {
    pub(in crate::traffic) shape: Shape,
    pub(in crate::traffic) seed: u64,
    /// Rows that are loaded; at least 100.
    pub(in crate::traffic) rows: u64,
    pub(in crate::traffic) rate: u64,
    /// Numbers of the first row and after the last, of a table whose rows are numbered without end.
    pub(in crate::traffic) numbers: std::ops::Range<u64>,
}

/// Writer of keys of a declaration.
pub(super) struct KeyWriter(KeySchema);

impl KeyWriter {
    pub(super) fn new(key: &KeySchema) -> Self {
        Self(key.clone())
    }

    /// Returns the key of values, which must be in the order and of the types of the declaration.
    pub(super) fn key(&self, values: &[Value<'_>]) -> Bytes {
        self.0.encode(values).expect("the values are those of the shape's own declaration").into()
    }

    /// Returns the key that consists of one number.
    pub(super) fn numbered(&self, number: u64) -> Bytes {
        self.key(&[Value::Unsigned(number)])
    }

    /// Returns the start keys of regions with equal parts of the numbers below `end`.
    pub(super) fn numbered_splits(&self, end: u64, regions: u64) -> Vec<Bytes> {
        let regions = regions.min(end);
        (1..regions).map(|at| self.numbered(at * end / regions)).collect()
    }
}
