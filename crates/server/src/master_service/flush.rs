//! Flushes of tables, and the procedures that clients before 2.6 start by a signature.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use halite_engine::Engine;
use halite_types::{SnapshotDescriptor, TableName};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::asked::{Asked, Failure, check_enabled, nonce};
use super::names::{is_meta, table_name};
use super::procedures::{Nonce, Procedures};
use crate::call::Fault;

/// The signature of flushes (HBase: `MasterFlushTableProcedureManager`).
const FLUSH: &str = "flush-table-proc";
/// The signature of snapshots (HBase: `SnapshotManager.ONLINE_SNAPSHOT_CONTROLLER_DESCRIPTION`).
pub(super) const SNAPSHOT: &str = "online-snapshot";

/// What HBase says a client should wait, in milliseconds.
const EXPECTED_MS: i64 = 60_000;

/// The procedures that clients ask about by a signature and an instance, the newest of each.
#[derive(Debug, Default)]
pub(crate) struct Signed(Mutex<HashMap<(&'static str, String), u64>>);

impl Signed {
    fn lock(&self) -> MutexGuard<'_, HashMap<(&'static str, String), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a procedure.
    pub(crate) fn remember(&self, procedures: &Procedures, signature: &'static str, instance: &str, id: u64) {
        let mut known = self.lock();
        known.retain(|_, id| procedures.find(*id).is_some());
        known.insert((signature, instance.to_owned()), id);
    }

    /// Whether it is done. One that is not known is: it was started long ago, or by an earlier process.
    ///
    /// # Errors
    /// What the procedure met.
    pub(crate) fn is_done(&self, procedures: &Procedures, signature: &'static str, instance: &str) -> Result<bool, Fault> {
        let key = (signature, instance.to_owned());
        let id = self.lock().get(&key).copied();
        match id.and_then(|id| procedures.find(id)).map(|procedure| procedure.outcome) {
            Some(None) => Ok(false),
            Some(Some(Err(exception))) => {
                self.lock().remove(&key);
                Err(exception.into())
            }
            Some(Some(Ok(_))) | None => Ok(true),
        }
    }
}

/// `FlushTable`: all families are written; those named must be there (HBase: `FlushTableProcedure`).
pub(super) fn table(asked: &Asked<'_>, request: &pb::FlushTableRequest) -> Result<pb::FlushTableResponse, Fault> {
    let name = table_name(&request.table_name)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let id = start(asked, &name, &request.column_family, nonce)?;
    Ok(pb::FlushTableResponse { proc_id: Some(id) })
}

fn start(asked: &Asked<'_>, name: &TableName, families: &[Bytes], nonce: Nonce) -> Result<u64, Fault> {
    check_enabled(asked.engine(), name)?;
    check_families(asked.engine(), name, families)?;
    let table = name.clone();
    // Not in the line of the table's other procedures: a flush needs none of them to be done.
    asked.start("FlushTableProcedure", None, nonce, Failure::InResult, move |engine| if is_meta(&table) { Ok(()) } else { Ok(engine.flush(&table)?) })
}

fn check_families(engine: &Engine, name: &TableName, families: &[Bytes]) -> Result<(), Fault> {
    if is_meta(name) {
        return Ok(());
    }
    let table = engine.descriptor(name)?;
    match families.iter().find(|family| table.find_family(family).is_none()) {
        Some(family) => {
            let text = format!("Column family {} does not exist in table {name}", halite_types::key::print_bytes(family));
            Err(Fault::new(ExceptionKind::NoSuchColumnFamily, text))
        }
        None => Ok(()),
    }
}

/// `ExecProcedure`: flushes and snapshots.
pub(super) fn exec(asked: &Asked<'_>, request: &pb::ExecProcedureRequest) -> Result<pb::ExecProcedureResponse, Fault> {
    let procedure = &request.procedure;
    let instance = procedure.instance().to_owned();
    let setting = |name: &str| procedure.configuration.iter().find(|pair| pair.name == name).map(|pair| pair.value.clone());
    match &procedure.signature[..] {
        FLUSH => {
            let name: TableName = instance.parse()?;
            let families = setting("family").unwrap_or_default();
            let families: Vec<Bytes> = families.split(',').filter(|family| !family.is_empty()).map(|family| Bytes::from(family.to_owned())).collect();
            let id = start(asked, &name, &families, Nonce::default())?;
            asked.context.master.signed.remember(&asked.context.master.procedures, FLUSH, &instance, id);
        }
        SNAPSHOT => {
            let table = setting("table").ok_or_else(|| Fault::do_not_retry("the snapshot names no table; set it as \"table\""))?;
            let snapshot = SnapshotDescriptor::new(instance, table.parse()?).owner(asked.peer.user.clone());
            super::snapshots::start(asked, snapshot, Nonce::default())?;
        }
        other => return Err(not_registered(other)),
    }
    Ok(pb::ExecProcedureResponse { expected_timeout: Some(EXPECTED_MS), return_data: None })
}

/// `ExecProcedureWithRet`: there is none that returns anything.
pub(super) fn exec_with_answer(_: &Asked<'_>, request: &pb::ExecProcedureRequest) -> Result<pb::ExecProcedureResponse, Fault> {
    Err(not_registered(&request.procedure.signature))
}

/// `IsProcedureDone`.
pub(super) fn is_done(asked: &Asked<'_>, request: &pb::IsProcedureDoneRequest) -> Result<pb::IsProcedureDoneResponse, Fault> {
    let procedure = request.procedure.clone().unwrap_or_default();
    let signature = [FLUSH, SNAPSHOT].into_iter().find(|known| *known == procedure.signature);
    let signature = signature.ok_or_else(|| not_registered(&procedure.signature))?;
    let master = &asked.context.master;
    let done = master.signed.is_done(&master.procedures, signature, procedure.instance())?;
    Ok(pb::IsProcedureDoneResponse { done: Some(done), snapshot: None })
}

fn not_registered(signature: &str) -> Fault {
    Fault::do_not_retry(format!("The procedure is not registered: {signature}"))
}
