//! Simulation of the engine on a disk that forgets: random operations against a model of HBase's rules, several callers at once,
//! crashes at every call to the file system, failed calls and flipped bits.
//!
//! ```text
//! generate.rs  random tables and steps              model/      every cell ever written, and what a read may see of them
//! store.rs     the engine, called from one thread   check.rs    answers against the model
//! world.rs     what a step does to both             log.rs      what a crash may take back, in each mode of durability
//! burst.rs     callers whose writes are under way   recover.rs  the next start, and what must be there
//! trouble.rs   failed calls, full disks, bits       copies.rs   snapshots, clones and settings
//! load.rs      bulk loading                         run.rs      a random run from a seed
//! crash.rs     a fixed workload, with a crash at every call
//! ```
//!
//! Everything is one thread, so a seed is a run. What threads do to each other is for loom, the thread sanitizer and
//! `crates/engine/tests/it/threads.rs`. Whether all of this finds what it is there for is what `cargo xtask mutants` asks.

pub mod burst;
pub mod check;
mod copies;
pub mod crash;
pub mod generate;
mod load;
mod log;
pub mod model;
mod recover;
pub mod run;
mod show;
pub mod store;
#[cfg(test)]
mod tests;
pub mod trouble;
pub mod world;
