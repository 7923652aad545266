//! Flushes of tables, and the procedures that clients before 2.6 start by a signature.

use bytes::Bytes;
use halite_engine::Engine;
use halite_types::{SnapshotDescriptor, TableName};
use halite_wire::exception::ExceptionKind;
use halite_wire::proto as pb;

use super::lookup::check_enabled;
use super::request_context::{Failure, RequestContext, nonce};
use super::state::procedures::Nonce;
use super::state::signed_procedures::{FLUSH, SNAPSHOT};
use crate::base::call::CallError;
use crate::base::names::{is_meta, table_name};

/// HBase's suggested wait for a procedure, in milliseconds.
const EXPECTED_MS: i64 = 60_000;

/// Handles `FlushTable`: flushes the named families, which must exist, or all (HBase:
/// `FlushTableProcedure`).
pub(super) fn table(
    request_context: &RequestContext<'_>,
    request: &pb::FlushTableRequest,
) -> Result<pb::FlushTableResponse, CallError> {
    let name = table_name(&request.table_name)?;
    let nonce = nonce(request.nonce_group(), request.nonce());
    let id = start(request_context, &name, &request.column_family, nonce)?;
    Ok(pb::FlushTableResponse { proc_id: Some(id) })
}

fn start(
    request_context: &RequestContext<'_>,
    name: &TableName,
    families: &[Bytes],
    nonce: Nonce,
) -> Result<u64, CallError> {
    check_enabled(request_context.engine(), name)?;
    check_families(request_context.engine(), name, families)?;
    let (table, families) = (name.clone(), families.to_vec());
    // Not queued with the table's other procedures: a flush does not depend on them.
    request_context.start("FlushTableProcedure", None, nonce, Failure::InResult, move |engine| {
        if is_meta(&table) { Ok(()) } else { Ok(engine.flush_families(&table, &families)?) }
    })
}

fn check_families(engine: &Engine, name: &TableName, families: &[Bytes]) -> Result<(), CallError> {
    if is_meta(name) {
        return Ok(());
    }
    let table = engine.descriptor(name)?;
    match families.iter().find(|family| table.find_family(family).is_none()) {
        Some(family) => {
            let text = format!(
                "Column family {} does not exist in table {name}",
                halite_types::key::to_string_binary(family)
            );
            Err(CallError::new(ExceptionKind::NoSuchColumnFamily, text))
        }
        None => Ok(()),
    }
}

/// Handles `ExecProcedure`: flushes and snapshots.
pub(super) fn exec(
    request_context: &RequestContext<'_>,
    request: &pb::ExecProcedureRequest,
) -> Result<pb::ExecProcedureResponse, CallError> {
    let procedure = &request.procedure;
    let instance = procedure.instance().to_owned();
    let setting = |name: &str| {
        procedure.configuration.iter().find(|pair| pair.name == name).map(|pair| pair.value.clone())
    };
    match &procedure.signature[..] {
        FLUSH => {
            let name: TableName = instance.parse()?;
            let families = setting("family").unwrap_or_default();
            let families: Vec<Bytes> = families
                .split(',')
                .filter(|family| !family.is_empty())
                .map(|family| Bytes::from(family.to_owned()))
                .collect();
            let id = start(request_context, &name, &families, Nonce::default())?;
            request_context.state.signed_procedures.record(
                &request_context.state.procedures,
                FLUSH,
                &instance,
                id,
            );
        }
        SNAPSHOT => {
            let table = setting("table").ok_or_else(|| {
                CallError::do_not_retry("the snapshot names no table; set it as \"table\"")
            })?;
            let snapshot = SnapshotDescriptor::new(instance, table.parse()?)
                .owner(request_context.peer.user.clone());
            super::snapshots::start(request_context, snapshot, Nonce::default())?;
        }
        other => return Err(not_registered(other)),
    }
    Ok(pb::ExecProcedureResponse { expected_timeout: Some(EXPECTED_MS), return_data: None })
}

/// Handles `ExecProcedureWithRet`. No procedure returns a value.
pub(super) fn exec_with_answer(
    _: &RequestContext<'_>,
    request: &pb::ExecProcedureRequest,
) -> Result<pb::ExecProcedureResponse, CallError> {
    Err(not_registered(&request.procedure.signature))
}

/// Handles `IsProcedureDone`.
pub(super) fn is_done(
    request_context: &RequestContext<'_>,
    request: &pb::IsProcedureDoneRequest,
) -> Result<pb::IsProcedureDoneResponse, CallError> {
    let procedure = request.procedure.clone().unwrap_or_default();
    let signature = [FLUSH, SNAPSHOT].into_iter().find(|known| *known == procedure.signature);
    let signature = signature.ok_or_else(|| not_registered(&procedure.signature))?;
    let master = request_context.state;
    let done =
        master.signed_procedures.is_done(&master.procedures, signature, procedure.instance())?;
    Ok(pb::IsProcedureDoneResponse { done: Some(done), snapshot: None })
}

fn not_registered(signature: &str) -> CallError {
    CallError::do_not_retry(format!("The procedure is not registered: {signature}"))
}
