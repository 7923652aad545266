//! Which handler answers which method.

use std::sync::Arc;

use halite_wire::service::{self, Method};

use super::asked::Asked;
use super::{describe, families, namespaces, results, tables};
use crate::call::{Call, Fault, Reply};
use crate::context::Context;

/// `Method => handler` lines into one match.
macro_rules! routes {
    ($asked:expr, $call:expr; $($method:ident => $handler:path,)*) => {
        match $call.method {
            $(Method::$method => $asked.serve::<service::$method>($call, $handler),)*
            other => Err(Fault::unknown_method(other)),
        }
    };
}

/// Answers a call of the master's services.
pub(super) fn answer(context: &Arc<Context>, call: &Call) -> Result<Reply, Fault> {
    routes! { Asked::new(context, call), call;
        // Tables.
        MasterCreateTable => tables::create,
        MasterDeleteTable => tables::delete,
        MasterEnableTable => tables::enable,
        MasterDisableTable => tables::disable,
        MasterTruncateTable => tables::truncate,
        MasterModifyTable => tables::modify,
        MasterAddColumn => families::add,
        MasterModifyColumn => families::modify,
        MasterDeleteColumn => families::delete,
        MasterModifyTableStoreFileTracker => families::modify_table_tracker,
        MasterModifyColumnStoreFileTracker => families::modify_family_tracker,
        MasterGetTableDescriptors => describe::descriptors,
        MasterGetTableNames => describe::names,
        MasterGetTableState => describe::state,
        MasterListTableDescriptorsByNamespace => describe::descriptors_by_namespace,
        MasterListTableNamesByNamespace => describe::names_by_namespace,
        MasterListTableDescriptorsByState => describe::descriptors_by_state,
        MasterListTableNamesByState => describe::names_by_state,
        MasterGetSchemaAlterStatus => describe::alter_status,

        // Namespaces.
        MasterCreateNamespace => namespaces::create,
        MasterModifyNamespace => namespaces::modify,
        MasterDeleteNamespace => namespaces::delete,
        MasterGetNamespaceDescriptor => namespaces::descriptor,
        MasterListNamespaceDescriptors => namespaces::descriptors,
        MasterListNamespaces => namespaces::names,

        // Procedures.
        MasterGetProcedureResult => results::result,
        MasterGetProcedures => results::list,
        MasterAbortProcedure => results::abort,
        MasterGetLocks => results::locks,
    }
}
