//! Simulation of the engine on a disk that forgets: random operations against a model of HBase's rules, and crashes at
//! every call to the file system.
//!
//! ```text
//! generate.rs  random tables and steps           model/      every cell ever written, and what a read may see of them
//! store.rs     the engine, called from one thread   check.rs    answers against the model
//! world.rs     what a step does to both             recover.rs  what must be there after a crash
//! copies.rs    snapshots, clones and settings    load.rs     bulk loading
//! run.rs       a random run from a seed              crash.rs    a fixed workload, with a crash at every call
//! ```

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
