//! Server over an empty store, and a client that calls its services.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use halite_engine::env::Env;
use halite_engine::env::sim::SimEnv;
use halite_engine::{Engine, Options};
use halite_types::{Put, RowOp, TableName};
use halite_wire::exception::Exception;
use halite_wire::proto as pb;
use halite_wire::rpc::{FrameStatus, RpcLimits, decode_response, next_frame};
use halite_wire::service::{self, Service};
use pb::get_procedure_result_response::State;

use crate::base::call::Peer;
use crate::base::call_step::{CallOutcome, CallStep, Executor};
use crate::base::context::Context;
use crate::config::Addresses;
use crate::config::Config;
use crate::services::Services;
use crate::testing;

/// Server without sockets, and a client of it.
pub(crate) struct TestServer {
    pub(crate) services: Arc<Services>,
    pub(crate) context: Arc<Context>,
    pub(crate) peer: Arc<Peer>,
    directory: Option<tempfile::TempDir>,
}

impl TestServer {
    /// Creates a server over an empty store.
    pub(crate) fn new() -> Self {
        Self::over(tempfile::tempdir().unwrap(), Config::default())
    }

    /// Creates a server over an empty store with quotas.
    pub(crate) fn with_quotas() -> Self {
        Self::with(Config { quota_enabled: true, ..Config::default() })
    }

    /// Creates a server with this configuration.
    pub(crate) fn with(config: Config) -> Self {
        Self::over(tempfile::tempdir().unwrap(), config)
    }

    /// Creates a server over a simulated disk and clock.
    pub(crate) fn simulated(sim: &SimEnv) -> Self {
        Self::over_env(sim.env(), None, Config::default())
    }

    /// Creates a server whose store has these options.
    pub(crate) fn over_options(options: Options) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self::over_engine(
            Engine::open(Env::os(directory.path()).unwrap(), options).unwrap(),
            Some(directory),
            Config::default(),
        )
    }

    fn over(directory: tempfile::TempDir, config: Config) -> Self {
        Self::over_env(Env::os(directory.path()).unwrap(), Some(directory), config)
    }

    fn over_env(env: Env, directory: Option<tempfile::TempDir>, config: Config) -> Self {
        Self::over_engine(Engine::open(env, Options::default()).unwrap(), directory, config)
    }

    fn over_engine(
        engine: Arc<Engine>,
        directory: Option<tempfile::TempDir>,
        config: Config,
    ) -> Self {
        let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let addresses = Addresses {
            master: address(16_000),
            regionserver: address(16_020),
            http: Some(address(16_010)),
            zookeeper: None,
        };
        let mut context =
            Context::new(crate::outside::Machine::Os, engine, config, addresses).unwrap();
        context.start_code = 1_700_000_000_000;
        let peer = testing::peer(&context, Service::Master, Some((2, 6)));
        let services = Arc::new(Services::over(context).unwrap());
        let context = Arc::clone(&services.context);
        Self { services, context, peer: Arc::new(peer), directory }
    }

    /// Returns a server over the same store after a restart of the process.
    pub(crate) fn restarted(mut self) -> Self {
        let directory = self.directory.take().unwrap();
        let config = self.context.config.clone();
        self.services.master.close();
        Arc::clone(&self.context.engine).close().unwrap();
        drop(self);
        Self::over(directory, config)
    }

    /// Returns the same server with a client of that version.
    pub(crate) fn with_client(mut self, major: u32, minor: u32) -> Self {
        self.peer = Arc::new(Peer { version: Some((major, minor)), ..Peer::clone(&self.peer) });
        self
    }

    /// Calls a method; of the client service only one that an administration thread answers.
    pub(crate) fn call<C: service::RpcMethod>(
        &self,
        request: &C::Request,
    ) -> Result<C::Response, Exception> {
        let call = testing::call::<C>(&self.peer, request);
        // A method of the client service must be one that an administration thread answers.
        let CallStep::Done(CallOutcome::Ready(answer)) =
            self.services.answer(&Arc::new(call), Executor::Admin)
        else {
            panic!("{} is not answered at once", C::METHOD.name())
        };
        let reply = answer.map_err(|fault| fault.exception().clone())?;
        let mut frame = reply.encode(1, None).unwrap();
        let FrameStatus::Frame(frame) = next_frame(&mut frame, &RpcLimits::default()).unwrap()
        else {
            panic!("no frame")
        };
        Ok(decode_response(&frame).unwrap().result.unwrap().message().unwrap())
    }

    /// Waits until a procedure has finished.
    pub(crate) fn finish(&self, id: Option<u64>) -> Result<(), Exception> {
        loop {
            let result =
                self.call::<service::MasterGetProcedureResult>(&pb::GetProcedureResultRequest {
                    proc_id: id.unwrap(),
                })?;
            match result.state() {
                State::Running => std::thread::yield_now(),
                State::NotFound => panic!("procedure {id:?} is not known"),
                State::Finished => return procedure_result(&result),
            }
        }
    }

    /// Waits until the store's status satisfies `is_wanted`; the engine's threads change it.
    pub(crate) fn wait_until(&self, is_wanted: impl Fn(&halite_types::ClusterStatus) -> bool) {
        while !is_wanted(&self.context.engine.status()) {
            std::thread::yield_now();
        }
    }

    /// Creates a table with these families and split keys.
    pub(crate) fn create(&self, table: &str, families: &[&str], splits: &[&str]) -> TableName {
        let request = pb::CreateTableRequest {
            table_schema: schema(table, families),
            split_keys: splits.iter().map(|key| Bytes::copy_from_slice(key.as_bytes())).collect(),
            ..Default::default()
        };
        self.finish(self.call::<service::MasterCreateTable>(&request).unwrap().proc_id).unwrap();
        name(table)
    }

    /// Disables a table.
    pub(crate) fn disable(&self, table: &str) {
        let request =
            pb::DisableTableRequest { table_name: name_message(table), ..Default::default() };
        self.finish(self.call::<service::MasterDisableTable>(&request).unwrap().proc_id).unwrap();
    }

    /// Writes rows into family `f` of a table.
    pub(crate) fn put(&self, table: &str, rows: &[&str]) {
        let ops = rows
            .iter()
            .map(|row| RowOp::from(Put::new((*row).to_owned()).add("f", "q", "value")))
            .collect();
        let results = self.context.engine.table(&name(table)).unwrap().batch(ops).unwrap();
        results.into_iter().for_each(|result| drop(result.unwrap()));
    }

    /// Returns the start keys of a table's regions.
    pub(crate) fn starts(&self, table: &str) -> Vec<String> {
        let regions = self.context.engine.regions(&name(table)).unwrap();
        regions.iter().map(|region| String::from_utf8(region.start.to_vec()).unwrap()).collect()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.services.master.close();
        self.context.engine.stop_threads();
    }
}

/// Returns the error in the result of a finished procedure.
fn procedure_result(result: &pb::GetProcedureResultResponse) -> Result<(), Exception> {
    let Some(generic) =
        result.exception.as_ref().and_then(|exception| exception.generic_exception.as_ref())
    else {
        return Ok(());
    };
    let name = generic.class_name().to_owned();
    let value = Some(format!("{name}: {}", generic.message()).into());
    Err(Exception::from_pair(&pb::NameBytesPair { name, value }))
}

pub(crate) fn name(table: &str) -> TableName {
    table.parse().unwrap()
}

pub(crate) fn name_message(table: &str) -> pb::TableName {
    halite_wire::convert::schema::table_name_to_proto(&name(table))
}

/// Returns a schema of a table whose families have no attributes.
pub(crate) fn schema(table: &str, families: &[&str]) -> pb::TableSchema {
    let family = |name: &&str| pb::ColumnFamilySchema {
        name: (*name).to_owned().into(),
        ..Default::default()
    };
    pb::TableSchema {
        table_name: Some(name_message(table)),
        column_families: families.iter().map(family).collect(),
        ..Default::default()
    }
}

/// Returns the class of an exception without its package.
pub(crate) fn class<T: std::fmt::Debug>(result: Result<T, Exception>) -> String {
    let exception = result.unwrap_err();
    exception.class().rsplit('.').next().unwrap_or_default().to_owned()
}
