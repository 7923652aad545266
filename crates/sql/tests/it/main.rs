//! Tests of SQL on an embedded store: files of statements in `tests/slt`, and what they cannot say.

mod aggregates;
mod bad_input;
mod damage;
mod direct;
mod faults;
mod history;
mod hooks;
mod interposed;
mod limits;
mod loader;
mod metamorphic;
mod model;
mod parts;
mod points;
mod prepared;
mod prepared_writes;
mod races;
mod random;
mod random_text;
mod reads;
mod shortened;
mod slt;
mod statistics;
mod store;
mod tutorials;
mod writers;
