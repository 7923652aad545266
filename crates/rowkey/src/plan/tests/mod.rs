//! Plans against filtering after a full scan, and the tutorials' keys by their numbers.

mod cases;
mod random;
mod tutorials;
