//! State of the master between calls.
//!
//! | file | purpose |
//! |---|---|
//! | `procedures.rs`, `signed_procedures.rs` | procedure executor, procedures by signature |
//! | `stored_switches.rs` | switches and their stored values |
//! | `namespace_table.rs`, `namespace_limits.rs` | table of namespaces, limits of a namespace |
//! | `quota_changes.rs` | lock of changes of quotas |
//! | `decommissioned_servers.rs`, `unassigned.rs` | decommissioned servers, unassigned regions |
//! | `client_locks.rs` | locks of clients |
//! | `request_rate.rs` | requests per second |

pub(crate) mod client_locks;
pub(crate) mod decommissioned_servers;
pub(crate) mod namespace_limits;
pub(crate) mod namespace_table;
pub(crate) mod procedures;
pub(crate) mod quota_changes;
pub(crate) mod request_rate;
pub(crate) mod signed_procedures;
pub(crate) mod stored_switches;
pub(crate) mod unassigned;

use std::sync::Arc;

use halite_types::schema::SYSTEM_NAMESPACE;
use halite_types::{Result as StoreResult, TableName};

use crate::base::call::CallError;
use crate::base::context::Context;
use crate::base::quota_table;
use client_locks::Locks;
use decommissioned_servers::DecommissionedServers;
use namespace_limits::{NamespaceLimits, NewResource};
use namespace_table::NamespaceTable;
use procedures::{Procedures, SUBMIT_WAIT};
use quota_changes::QuotaChanges;
use request_rate::RequestRate;
use signed_procedures::SignedProcedures;
use stored_switches::Switches;
use unassigned::Unassigned;

/// State of the master between calls.
pub(crate) struct Master {
    /// State shared with the other services.
    pub(crate) context: Arc<Context>,
    pub(crate) procedures: Procedures,
    /// Procedures that clients poll by signature.
    pub(crate) signed_procedures: SignedProcedures,
    pub(crate) switches: Switches,
    pub(crate) namespace_table: NamespaceTable,
    namespace_limits: NamespaceLimits,
    pub(crate) quota_changes: QuotaChanges,
    pub(crate) decommissioned_servers: DecommissionedServers,
    pub(crate) locks: Locks,
    /// Regions that were unassigned and not assigned again, by encoded name.
    pub(crate) unassigned: Unassigned,
    pub(crate) request_rate: RequestRate,
}

impl Master {
    /// Creates the master's state for the engine of a server.
    ///
    /// # Errors
    /// `Stopped` if the store accepts no writes until it is reopened.
    pub(crate) fn new(context: Arc<Context>) -> StoreResult<Self> {
        let engine = &context.engine;
        let namespace_table = NamespaceTable::default();
        namespace_table.sync(engine);
        quota_table::prepare(engine, context.config.quota_enabled);
        if let Some(stopped) = engine.write_failure() {
            return Err(stopped);
        }
        Ok(Self {
            // A process that starts later has higher ids.
            procedures: Procedures::new(&context.machine, Arc::clone(engine.clock()), SUBMIT_WAIT),
            signed_procedures: SignedProcedures::default(),
            switches: Switches::load(engine),
            namespace_table,
            namespace_limits: NamespaceLimits::default(),
            quota_changes: QuotaChanges::default(),
            decommissioned_servers: DecommissionedServers::default(),
            locks: Locks::default(),
            unassigned: Unassigned::default(),
            request_rate: RequestRate::default(),
            context,
        })
    }

    /// Runs `work` for a table if its namespace has room for it. Only namespaces of clients have
    /// limits, and only if quotas are on.
    ///
    /// # Errors
    /// `QuotaExceededException`; errors of `work`.
    pub(crate) fn with_room<T>(
        &self,
        table: &TableName,
        wanted: NewResource<'_>,
        work: impl FnOnce() -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        if !self.context.config.quota_enabled || table.namespace() == SYSTEM_NAMESPACE {
            return work();
        }
        self.namespace_limits.with_room(&self.context.engine, table, wanted, work)
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
