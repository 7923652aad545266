//! Version that clients see.

/// Version of PostgreSQL whose behaviour clients may expect.
pub(crate) const SERVER_VERSION: &str = concat!("16.0 (Halite ", env!("CARGO_PKG_VERSION"), ")");
