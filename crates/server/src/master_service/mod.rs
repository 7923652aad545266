//! Master RPC service: tables, namespaces, snapshots, switches, procedures and cluster status.
//!
//! ```text
//! routes.rs       dispatch of methods to handlers            request_context.rs   arguments of a handler
//! tables.rs       create, enable, disable, drop, truncate    families.rs          changes of families and trackers
//! describe.rs     table lists and descriptors                namespaces.rs        namespaces
//! regions.rs      split, merge, move, truncate               flush.rs             flushes, procedures by signature
//! snapshots.rs    take, list, restore, clone                 status.rs            cluster status
//! procedures.rs   procedure executor                         results.rs           results of procedures
//! quotas.rs       quotas, with throttles.rs                  quota_observer.rs    space usage against quotas
//! peers.rs        replication peers                          access.rs            permissions
//! hbck.rs         repairs                                    locks.rs             locks held by clients
//! switches.rs     balancer and chores                        servers.rs           servers, capabilities
//! schema.rs       descriptors and their messages             sanity.rs            checks of descriptors
//! names.rs        names of tables, regions, servers          errors.rs            errors with HBase's texts
//! ```
#![allow(
    clippy::unnecessary_wraps,
    clippy::trivially_copy_pass_by_ref,
    reason = "the handlers in one table have one shape"
)]

mod access;
mod describe;
pub(crate) mod errors;
mod families;
mod flush;
mod hbck;
mod locks;
pub(crate) mod names;
mod namespace_limits;
mod namespace_table;
mod namespaces;
mod peers;
mod procedures;
pub(crate) mod quota_observer;
mod quotas;
mod regions;
pub(crate) mod request_context;
mod results;
mod rolling_splits;
pub(crate) mod routes;
#[cfg(feature = "lint")]
mod row_keys;
mod sanity;
pub(crate) mod schema;
pub(crate) mod server_load;
mod servers;
mod snapshots;
mod status;
mod switches;
mod tables;
#[cfg(test)]
pub(crate) mod tests;
mod throttles;

use std::sync::Arc;

use halite_engine::Engine;
use halite_types::Result as StoreResult;
use tokio::sync::watch;

use crate::call::{Call, CallError, Reply};
use crate::config::Config;
use crate::context::Context;
use crate::outside::Machine;
use procedures::{Procedures, SUBMIT_WAIT};
pub(crate) use quota_observer::measure as measure_tables;
pub(crate) use quotas::put_in_force as put_quotas_in_force;
pub(crate) use rolling_splits::roll_regions;
pub(crate) use snapshots::delete_expired as delete_expired_snapshots;
pub(crate) use switches::clean_catalog;

/// State of the master between calls.
pub(crate) struct Master {
    procedures: Procedures,
    /// Procedures that clients poll by signature.
    signed_procedures: flush::SignedProcedures,
    switches: switches::Switches,
    namespace_table: namespace_table::NamespaceTable,
    namespace_limits: namespace_limits::NamespaceLimits,
    quotas: quotas::Quotas,
    servers: servers::Servers,
    locks: locks::Locks,
    /// Regions that were unassigned and not assigned again, by encoded name.
    unassigned: regions::Unassigned,
    pub(crate) request_rate: server_load::RequestRate,
    /// Reason for the process to stop, set once a client has requested it.
    stop: watch::Sender<Option<String>>,
}

impl Master {
    /// Creates the master's state for this engine.
    ///
    /// # Errors
    /// `Stopped` if the store accepts no writes until it is reopened.
    pub(crate) fn new(
        machine: &Machine,
        engine: &Arc<Engine>,
        config: &Config,
    ) -> StoreResult<Self> {
        let namespace_table = namespace_table::NamespaceTable::default();
        namespace_table.sync(engine);
        quotas::prepare(engine, config.quota_enabled);
        if let Some(stopped) = engine.write_failure() {
            return Err(stopped);
        }
        // A process that starts later has higher ids.
        Ok(Self {
            procedures: Procedures::new(machine, Arc::clone(engine.clock()), SUBMIT_WAIT),
            signed_procedures: flush::SignedProcedures::default(),
            switches: switches::Switches::load(engine),
            namespace_table,
            namespace_limits: namespace_limits::NamespaceLimits::default(),
            quotas: quotas::Quotas::default(),
            servers: servers::Servers::default(),
            locks: locks::Locks::default(),
            unassigned: regions::Unassigned::default(),
            request_rate: server_load::RequestRate::default(),
            stop: watch::Sender::new(None),
        })
    }

    /// Requests the end of the process. The first request determines the reason.
    pub(crate) fn request_stop(&self, why: &str) {
        self.stop.send_if_modified(|reason| {
            reason.is_none() && reason.replace(why.to_owned()).is_none()
        });
    }

    /// Waits until a client requests the end of the process, and returns the reason.
    pub(crate) async fn stop_requested(&self) -> String {
        let mut stop = self.stop.subscribe();
        let reason = stop.wait_for(Option::is_some).await.map(|reason| reason.clone());
        // The sender lives as long as `self`.
        reason.ok().flatten().unwrap_or_default()
    }

    /// Returns the counters and durations of the procedures that HBase's dashboards display.
    pub(crate) fn procedure_times(&self) -> &[procedures::ProcedureTimes] {
        self.procedures.times()
    }

    /// Closes the procedure executor. Running procedures finish; waiting ones fail.
    pub(crate) fn close(&self) {
        self.procedures.close();
    }
}

/// Answers a call of `MasterService`, `HbckService` or `LockService`. May block: it runs on a
/// separate thread.
pub(crate) fn call(context: &Arc<Context>, call: &Call) -> Result<Reply, CallError> {
    routes::answer(context, call)
}
