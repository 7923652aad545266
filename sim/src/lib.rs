//! Simulation of the engine on a disk that loses unsynced data: random operations against a model
//! of HBase's rules, concurrent callers, crashes at every file-system call, failed calls and
//! flipped bits.
//!
//! ```text
//! generate.rs   random tables and steps              model/      every cell ever written, and what a read may return
//! store.rs      the engine, called from one thread   check.rs    results compared with the model
//! world.rs      effect of a step on both             log.rs      what a crash may undo, in each durability mode
//! burst.rs      callers with pending writes          recover.rs  the next start, and what must exist then
//! faults.rs     failed calls, full disks, bits       clones.rs   snapshots, clones and settings
//! bulk_load.rs  bulk loading                         run.rs      a random run from a seed
//! crash.rs      a fixed workload, with a crash at every call
//! ```
//!
//! Everything runs in one thread, so a seed determines a run. Thread interactions are tested by
//! loom, the thread sanitizer and `crates/engine/tests/it/threads.rs`. `cargo xtask mutants`
//! verifies that the simulation detects faults.

mod bulk_load;
pub mod burst;
pub mod check;
mod clones;
pub mod crash;
mod display;
pub mod faults;
pub mod generate;
mod log;
pub mod model;
mod recover;
pub mod run;
pub mod step;
pub mod store;
#[cfg(test)]
mod tests;
pub mod world;
