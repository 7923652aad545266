//! Plans against filtering after a full scan, and the tutorials' keys by their numbers.

pub(crate) mod cases;
mod random;
mod tutorials;
