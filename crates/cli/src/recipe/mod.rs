//! Steps of a recipe that need more than the recipe itself: the process that a check kills, plans
//! without tables, measurements as JSON, and processor time of the server.

mod bench_json;
mod declared_plans;
mod killed_writer;
mod processor_time;

pub(crate) use bench_json::{BenchContext, micros_per_operation};
pub(crate) use declared_plans::explain_declared;
pub(crate) use killed_writer::KilledWriter;
pub(crate) use processor_time::processor_time;
