//! Atomic types of the memstore and of commits: those of `std`, or loom's if the crate is built
//! with `--cfg halite_loom`. Loom tries every interleaving and every value that a load may return.

#[cfg(halite_loom)]
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
#[cfg(not(halite_loom))]
pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
