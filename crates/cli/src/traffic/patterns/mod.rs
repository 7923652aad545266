//! Operations of each shape, from a seed and the rows that the table has.
//!
//! ```text
//! users.rs      even, hot-row, periodic      numbered.rs   hot-range, sweep
//! growing.rs    frontier, tombstone-head     devices.rs    hot-prefix
//! countries.rs  salt-imbalance               operation.rs  one operation, and how a store runs it
//! pattern.rs    what all of them share
//! ```

mod countries;
mod devices;
mod growing;
mod numbered;
mod operation;
mod pattern;
#[cfg(test)]
mod tests;
mod users;

use halite::rowkey::KeySchema;

use super::Shape;
pub(super) use operation::{Operation, OperationKind};
use pattern::KeyWriter;
pub(super) use pattern::{Pattern, PatternConfig};

/// Creates the pattern of a shape, with keys of this declaration, which must be that of the shape.
pub(super) fn build(config: &PatternConfig, key: &KeySchema) -> Box<dyn Pattern> {
    let keys = KeyWriter::new(key);
    match config.shape {
        Shape::Even | Shape::Periodic => Box::new(users::Users::even(keys, config)),
        Shape::HotRow => Box::new(users::Users::with_celebrity(keys, config)),
        Shape::Frontier => Box::new(growing::Events::new(keys, config)),
        Shape::TombstoneHead => Box::new(growing::Tasks::new(keys, config)),
        Shape::HotPrefix => Box::new(devices::Devices::new(keys, config)),
        Shape::HotRange => Box::new(numbered::Orders::new(keys, config)),
        Shape::Sweep => Box::new(numbered::Pages::new(keys, config)),
        Shape::SaltImbalance => Box::new(countries::Countries::new(keys, config)),
    }
}
