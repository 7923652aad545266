//! Tests of SQL on an embedded store: files of statements in `tests/slt`, and what they cannot say.

mod history;
mod hooks;
mod limits;
mod loader;
mod prepared;
mod random;
mod reads;
mod slt;
mod store;
