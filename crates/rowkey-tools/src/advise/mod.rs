//! Advice before a table exists: whether a store of this kind fits, and what a load takes.

pub mod capacity;
mod certainty;
pub mod declared;
pub mod fit;
mod grounds;
mod measured;
mod regions;
mod sample;
#[cfg(test)]
mod tests;
mod tree;
mod typical;

pub use capacity::{Capacity, Load, capacity};
pub use certainty::Certainty;
pub use declared::{DeclaredCapacity, DeclaredLoad, FamilyBytes, declared_capacity};
pub use fit::{Answer, Data, Fit, Ground, Query, Store, fit};
pub use measured::Measured;
