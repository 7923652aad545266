//! Atomic types of the memstore, of commits and of the log, and what the log's callers wait with:
//! those of `std`, or loom's if the crate is built with `--cfg halite_loom`. Loom tries every
//! interleaving and every value that a load may return.

#[cfg(halite_loom)]
pub(crate) use loom::{
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering},
    thread::{Thread, current as current_thread, park},
};
#[cfg(not(halite_loom))]
pub(crate) use std::{
    sync::Mutex,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering},
    thread::{Thread, current as current_thread, park},
};
