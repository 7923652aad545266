//! Services of a server, and the service that answers each call.

use std::sync::Arc;

use halite_engine::Engine;
use halite_types::Result;
use halite_wire::service::Service;

use crate::admin_service::{self, AdminService};
use crate::base::call::Call;
use crate::base::call_step::{CallStep, Executor};
use crate::base::context::Context;
use crate::client_service::{self, ClientService};
use crate::config::{Addresses, Config};
use crate::master_service::{self, Master};
use crate::outside::Machine;
use crate::registry;

/// Services of a server, with the state that they share.
pub(crate) struct Services {
    pub(crate) context: Arc<Context>,
    pub(crate) client: Arc<ClientService>,
    pub(crate) admin: Arc<AdminService>,
    pub(crate) master: Arc<Master>,
}

impl Services {
    /// Returns the services of a server of this engine at these addresses, without sockets.
    ///
    /// # Errors
    /// `Io` if the operating system cannot create threads, `Stopped` if the store accepts no writes
    /// until it is reopened.
    pub(crate) fn new(
        machine: Machine,
        engine: Arc<Engine>,
        config: Config,
        addresses: Addresses,
    ) -> Result<Self> {
        Self::over(Context::new(machine, engine, config, addresses)?)
    }

    /// Returns the services that share this state.
    ///
    /// # Errors
    /// `Stopped` if the store accepts no writes until it is reopened.
    pub(crate) fn over(context: Context) -> Result<Self> {
        let context = Arc::new(context);
        let master = Arc::new(Master::new(Arc::clone(&context))?);
        // The engine returns them once: a start that fails must leave them to the next one.
        context.nonces.add_replayed(&context.engine.take_replayed_nonces());
        if let Err(error) = master_service::put_quotas_in_force(&master) {
            tracing::error!(
                "quotas are not in force, since hbase:quota cannot be read: {error}; enable the \
                 table if it is disabled, and if it has been altered disable and drop it; the next \
                 start reads it, or creates it again"
            );
        }
        Ok(Self {
            client: Arc::new(ClientService::new(Arc::clone(&context))),
            admin: Arc::new(AdminService::new(Arc::clone(&context))),
            master,
            context,
        })
    }

    /// Answers a call, or a part of it; `executor` is the executor that runs this function.
    pub(crate) fn answer(&self, call: &Arc<Call>, executor: Executor) -> CallStep {
        match call.method.service() {
            Service::Client => client_service::answer(&self.client, call, executor),
            Service::ClientMeta | Service::BootstrapNode | Service::ConnectionRegistry => {
                registry::answer(&self.context, call).into()
            }
            Service::Admin => admin_service::answer(&self.admin, call).into(),
            _ => master_service::answer(&self.master, call).into(),
        }
    }

    /// Ends the threads of the services. Running calls and procedures finish first.
    pub(crate) fn close(&self) {
        self.context.handler_pool.close();
        self.context.admin_pool.close();
        self.master.close();
        self.client.scanners.close();
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};
    use halite_engine::{Nonce, Options};
    use halite_types::{ErrorKind, FamilyDescriptor, Increment, TableDescriptor, TableName};

    use super::*;

    #[test]
    fn failed_start_leaves_replayed_nonces_to_next() {
        let sim = SimEnv::new(1);
        let open = || Engine::open(sim.env(), Options::default()).unwrap();
        let name: TableName = "t".parse().unwrap();
        let first = open();
        let table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("f"));
        first.create_table(table, Vec::new()).unwrap();
        let nonce = Nonce { group: 7, number: 9 };
        let region = first.table(&name).unwrap().region_for_row(b"row").unwrap();
        let applied =
            region.apply_with_nonce(Increment::new("row").add("f", "n", 1).into(), Some(nonce));
        applied.ticket.wait().unwrap();
        sim.fs.kill();

        let engine = open();
        sim.fs.inject(InjectedFault::next(FsCall::Sync, "wal", std::io::ErrorKind::Other));
        let addresses = Addresses {
            master: (Ipv4Addr::LOCALHOST, 16_000).into(),
            regionserver: (Ipv4Addr::LOCALHOST, 16_020).into(),
            http: None,
            zookeeper: None,
        };
        let start = Services::new(Machine::Os, Arc::clone(&engine), Config::default(), addresses);
        assert_eq!(start.err().map(|error| error.kind()), Some(ErrorKind::Stopped));
        assert_eq!(engine.take_replayed_nonces(), [nonce]);
    }
}
