//! `ClientService`, for reads and writes of clients: gets, mutations, multis, scans, endpoints.
//!
//! | file | purpose |
//! |---|---|
//! | `get.rs`, `mutate.rs`, `multi.rs`, `scan.rs`, `exec.rs`, `bulk_load.rs` | methods, by name |
//! | `load_paths.rs` | files that may be bulk loaded |
//! | `scanner.rs`, `scan_metrics.rs` | scanner between two calls, metrics of a scan |
//! | `region.rs` | region of a request, and the errors of its operations |
//! | `aggregate.rs`, `row_mutations.rs` | endpoints |
//! | `decode.rs` | decoding of calls |
//! | `routes.rs`, `state.rs` | table of methods, state between calls |
//!
//! A call is first attempted in memory ([`ReadTier::Memory`](halite_types::ReadTier)). It continues
//! as [`CallStep::Deferred`](crate::base::call_step::CallStep) on a handler thread in these cases:
//! it waits for the disk or for a row, examines many cells, compares much data, or compiles regular
//! expressions. The limits are in `base/inline.rs`.

mod aggregate;
mod bulk_load;
mod decode;
mod exec;
mod get;
mod load_paths;
mod multi;
mod mutate;
mod region;
mod region_aggregates;
mod routes;
mod row_mutations;
mod scan;
mod scan_metrics;
mod scanner;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use routes::answer;
pub(crate) use state::ClientService;
