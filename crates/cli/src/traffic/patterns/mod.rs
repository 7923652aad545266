//! Operations of each shape, from a seed and the rows that the table has.
//!
//! ```text
//! users.rs      even, hot-row, periodic      numbered.rs   hot-range, sweep
//! growing.rs    frontier, tombstone-head     devices.rs    hot-prefix
//! countries.rs  salt-imbalance               operation.rs  one operation, and how a store runs it
//! ```

mod countries;
mod devices;
mod growing;
mod numbered;
mod operation;
#[cfg(test)]
mod tests;
mod users;

use halite::Bytes;
use halite::rowkey::{KeySchema, Value};

use super::Shape;
pub(super) use operation::{NewRow, Operation, OperationKind};

/// Operations of a shape.
pub(super) trait Pattern: Send {
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
pub(super) struct PatternConfig {
    pub(super) shape: Shape,
    pub(super) seed: u64,
    /// Rows that are loaded; at least 100.
    pub(super) rows: u64,
    pub(super) rate: u64,
    /// Numbers of the first row and after the last, of a table whose rows are numbered without end.
    pub(super) numbers: std::ops::Range<u64>,
}

impl PatternConfig {
    /// Creates the pattern, with keys of this declaration, which must be that of the shape.
    pub(super) fn build(&self, key: &KeySchema) -> Box<dyn Pattern> {
        let keys = KeyWriter(key.clone());
        match self.shape {
            Shape::Even | Shape::Periodic => Box::new(users::Users::even(keys, self)),
            Shape::HotRow => Box::new(users::Users::with_celebrity(keys, self)),
            Shape::Frontier => Box::new(growing::Events::new(keys, self)),
            Shape::TombstoneHead => Box::new(growing::Tasks::new(keys, self)),
            Shape::HotPrefix => Box::new(devices::Devices::new(keys, self)),
            Shape::HotRange => Box::new(numbered::Orders::new(keys, self)),
            Shape::Sweep => Box::new(numbered::Pages::new(keys, self)),
            Shape::SaltImbalance => Box::new(countries::Countries::new(keys, self)),
        }
    }
}

/// Writer of keys of a declaration.
struct KeyWriter(KeySchema);

impl KeyWriter {
    /// Returns the key of values, which must be in the order and of the types of the declaration.
    fn key(&self, values: &[Value<'_>]) -> Bytes {
        self.0.encode(values).expect("the values are those of the shape's own declaration").into()
    }

    /// Returns the key that consists of one number.
    fn numbered(&self, number: u64) -> Bytes {
        self.key(&[Value::Unsigned(number)])
    }

    /// Returns the start keys of regions with equal parts of the numbers below `end`.
    fn numbered_splits(&self, end: u64, regions: u64) -> Vec<Bytes> {
        let regions = regions.min(end);
        (1..regions).map(|at| self.numbered(at * end / regions)).collect()
    }
}
