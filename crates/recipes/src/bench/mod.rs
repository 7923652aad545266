//! Measurement of a recipe under load: an open loop, in which operations are due at fixed times
//! whether earlier ones are done or not, so that a slow store cannot hide by being asked less.

mod measured;
mod metered_cluster;
mod part;
mod report;
mod run;
mod silence;
mod size;

pub(crate) use measured::Measured;
pub use part::Part;
pub use report::{BenchReport, OperationReport};
pub use run::run_bench;
pub use silence::Silence;
pub use size::stored_bytes;
pub(crate) use size::table_bytes;

use std::time::Duration;

/// Load of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct BenchConfig {
    /// Operations per second, at least 1.
    pub rate: u64,
    /// Duration.
    pub duration: Duration,
    /// Operations in progress at the same time, at least 1.
    pub threads: usize,
    /// Percentage of operations that write, at most 100; `None` for the share of the recipe.
    pub writes: Option<u8>,
    /// Time after which the load is stopped if no operation has succeeded, while some are in
    /// progress or fail: a client may wait for minutes for a server that is gone.
    pub max_silence: Duration,
}
