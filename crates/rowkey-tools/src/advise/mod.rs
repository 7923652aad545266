//! Advice before a table exists: whether a store of this kind fits, and what a load takes.

pub mod capacity;
pub mod fit;
mod measured;

pub use capacity::{Capacity, Load, capacity};
pub use fit::{Answer, Data, Fit, Query, fit};
pub use measured::Measured;
