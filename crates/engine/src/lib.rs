//! Halite's storage engine: regions of sorted, versioned cells on a local disk.
pub mod env;
pub mod memstore;
