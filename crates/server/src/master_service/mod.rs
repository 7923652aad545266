//! What the master answers: tables, namespaces, snapshots, switches, procedures, the state of the cluster.
//!
//! ```text
//! routes.rs      which handler answers which method          asked.rs       what a handler is given
//! tables.rs      create, enable, disable, drop, truncate     families.rs    changes of a table's families and trackers
//! describe.rs    which tables there are and what they are    namespaces.rs  the same for namespaces
//! regions.rs     split, merge, move, truncate                flush.rs       flushes, and procedures by signature
//! snapshots.rs   taken, listed, restored, cloned             status.rs      the state of the cluster
//! procedures.rs  work with an id                             results.rs     what became of it
//! quotas.rs      quotas, with throttles.rs and space.rs      peers.rs       replication peers
//! access.rs      permissions                                 hbck.rs        repairs             locks.rs    of clients
//! switches.rs    balancer and chores                         servers.rs     servers, capabilities
//! schema.rs      descriptors and their messages              sanity.rs      what a descriptor may say
//! names.rs       names of tables, regions, servers           faults.rs      refusals in HBase's words
//! ```
#![allow(clippy::unnecessary_wraps, clippy::trivially_copy_pass_by_ref, reason = "the handlers in one table have one shape")]

mod access;
pub(crate) mod asked;
mod describe;
mod families;
pub(crate) mod faults;
mod flush;
mod hbck;
pub(crate) mod load;
mod locks;
pub(crate) mod names;
mod namespace_limits;
mod namespace_table;
mod namespaces;
mod peers;
mod procedures;
mod quotas;
mod regions;
mod results;
mod rolling;
pub(crate) mod routes;
mod row_keys;
mod sanity;
pub(crate) mod schema;
mod servers;
mod snapshots;
pub(crate) mod space;
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

use crate::call::{Call, Fault, Reply};
use crate::config::Config;
use crate::context::Context;
use crate::outside::Machine;
use procedures::{MOMENT, Procedures};
pub(crate) use quotas::put_in_force as put_quotas_in_force;
pub(crate) use rolling::roll_regions;
pub(crate) use snapshots::delete_expired as delete_expired_snapshots;
pub(crate) use space::measure as measure_tables;
pub(crate) use switches::clean_catalog;

/// What the master keeps between calls.
pub(crate) struct Master {
    procedures: Procedures,
    /// Those that clients ask about by a signature.
    signed: flush::Signed,
    switches: switches::Switches,
    namespace_table: namespace_table::NamespaceTable,
    namespace_limits: namespace_limits::NamespaceLimits,
    quotas: quotas::Quotas,
    servers: servers::Servers,
    locks: locks::Locks,
    /// Regions that were unassigned and not assigned again, by encoded name.
    unassigned: regions::Unassigned,
    pub(crate) request_rate: load::RequestRate,
    /// Why the process shall end, once somebody has asked for it.
    stop: watch::Sender<Option<String>>,
}

impl Master {
    /// What the master keeps for this engine.
    ///
    /// # Errors
    /// `Stopped` if the store takes no writes until it is opened again.
    pub(crate) fn new(machine: &Machine, engine: &Arc<Engine>, config: &Config) -> StoreResult<Self> {
        let namespace_table = namespace_table::NamespaceTable::default();
        namespace_table.follow(engine);
        quotas::prepare(engine, config.quotas_enabled);
        if let Some(stopped) = engine.write_failure() {
            return Err(stopped);
        }
        // A process that starts later has later ids.
        Ok(Self {
            procedures: Procedures::new(machine, Arc::clone(engine.clock()), MOMENT),
            signed: flush::Signed::default(),
            switches: switches::Switches::load(engine),
            namespace_table,
            namespace_limits: namespace_limits::NamespaceLimits::default(),
            quotas: quotas::Quotas::default(),
            servers: servers::Servers::default(),
            locks: locks::Locks::default(),
            unassigned: regions::Unassigned::default(),
            request_rate: load::RequestRate::default(),
            stop: watch::Sender::new(None),
        })
    }

    /// Asks for the end of the process. The first to ask gives the reason.
    pub(crate) fn request_stop(&self, why: &str) {
        self.stop.send_if_modified(|reason| reason.is_none() && reason.replace(why.to_owned()).is_none());
    }

    /// Waits until a client asks for the end of the process, and gives the reason.
    pub(crate) async fn stop_requested(&self) -> String {
        let mut stop = self.stop.subscribe();
        let reason = stop.wait_for(Option::is_some).await.map(|reason| reason.clone());
        // The sender lives as long as this does.
        reason.ok().flatten().unwrap_or_default()
    }

    /// How procedures went that dashboards ask for.
    pub(crate) fn procedure_times(&self) -> &[procedures::ProcedureTimes] {
        self.procedures.times()
    }

    /// Ends what the master is at. Waits for the procedures that run; those that wait are not done.
    pub(crate) fn close(&self) {
        self.procedures.close();
    }
}

/// Answers a call of `MasterService`, `HbckService` or `LockService`. May take its time: it has a thread of its own.
pub(crate) fn call(context: &Arc<Context>, call: &Call) -> Result<Reply, Fault> {
    routes::answer(context, call)
}
