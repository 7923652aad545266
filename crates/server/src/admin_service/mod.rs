//! Region server's administration service: region metrics, flushes, compactions.
//!
//! The master's port serves it too, as in HBase: clients send it requests about the region that
//! represents a table's large values. In Halite these are part of the table.
//!
//! ```text
//! regions.rs   list and details of regions            maintenance.rs         flushes, compactions, caches
//! server.rs    server info, its log                   recent_compactions.rs  recently requested compactions
//! space.rs     disk usage against limits              slow_log.rs            slow and large calls
//! routes.rs    table of methods                       state.rs               state between calls
//! ```
#![allow(
    clippy::unnecessary_wraps,
    clippy::trivially_copy_pass_by_ref,
    reason = "the handlers in one table have one shape"
)]

mod maintenance;
mod recent_compactions;
mod regions;
mod routes;
mod server;
mod slow_log;
mod space;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use routes::answer;
pub(crate) use state::AdminService;
