//! Master RPC service: tables, namespaces, snapshots, switches, procedures and cluster status.
//!
//! ```text
//! routes.rs       dispatch of methods to handlers            request_context.rs   arguments of a handler
//! state/          state between calls                        lookup.rs            tables and namespaces by name
//! tables.rs       create, enable, disable, drop, truncate    families.rs          changes of families and trackers
//! describe.rs     table lists and descriptors                namespaces.rs        namespaces
//! regions.rs      split, merge, move, truncate               flush.rs             flushes, procedures by signature
//! snapshots.rs    take, list, restore, clone                 status.rs            cluster status
//! server_load.rs  load of the server                         results.rs           results of procedures
//! quotas.rs       quotas, with throttles.rs                  quota_observer.rs    space usage against quotas
//! peers.rs        replication peers                          access.rs            permissions
//! hbck.rs         repairs                                    locks.rs             locks held by clients
//! switches.rs     balancer and chores                        servers.rs           servers, capabilities
//! sanity.rs       checks of descriptors                      trackers.rs          rules of store file trackers
//! cleanup.rs      periodic cleanup                           rolling_splits.rs    regions of future time ranges
//! row_keys.rs     warnings about row keys                errors.rs            errors of the master
//! ```
#![allow(
    clippy::unnecessary_wraps,
    clippy::trivially_copy_pass_by_ref,
    reason = "the handlers in one table have one shape"
)]

mod access;
mod cleanup;
mod describe;
mod errors;
mod families;
mod flush;
mod hbck;
mod locks;
mod lookup;
mod namespaces;
mod peers;
mod quota_observer;
mod quotas;
mod regions;
mod request_context;
mod results;
mod rolling_splits;
mod routes;
#[cfg(feature = "lint")]
mod row_keys;
mod sanity;
mod server_load;
mod servers;
mod snapshots;
pub(crate) mod state;
mod status;
mod switches;
mod tables;
#[cfg(test)]
mod tests;
mod throttles;
mod trackers;

pub(crate) use cleanup::{clean_catalog, delete_expired_snapshots};
pub(crate) use quota_observer::measure as measure_tables;
pub(crate) use quotas::put_in_force as put_quotas_in_force;
pub(crate) use rolling_splits::roll_regions;
pub(crate) use routes::answer;
pub(crate) use sanity::log_unwritten_codecs;
pub(crate) use state::Master;
