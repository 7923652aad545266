//! Plans compared with filters after a full scan, and the tutorials' keys by number.

pub(crate) mod cases;
mod random;
mod runs;
mod serving;
mod tutorials;
mod unions;
