//! Clients and statements of the sampled operations in one cell of the heat.

use halite_heat::operations::{Causes, fingerprint};
use halite_types::TableName;
use serde::Serialize;
use utoipa::ToSchema;

use crate::call::Call;
use crate::statistics::round;

/// Operations of a cell that are examined, at most.
const MAX_OPERATIONS: usize = 100_000;
/// Clients and statements of an answer, each.
const MAX_CAUSES: usize = 5;

/// Client with its share.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClientShare {
    addr: String,
    user: String,
    version: String,
    /// Share of the operations in the cell, 0 to 1.
    share: f64,
}

/// Kind of call with its share.
#[derive(Serialize, ToSchema)]
pub(crate) struct StatementShare {
    fingerprint: String,
    text: String,
    /// Share of the operations in the cell, 0 to 1.
    share: f64,
}

/// Causes of the load in a cell.
#[derive(Default)]
pub(super) struct CellCauses {
    pub(super) clients: Vec<ClientShare>,
    pub(super) statements: Vec<StatementShare>,
    /// Sampled operations in the cell; `None` if none are logged here.
    pub(super) operations: Option<usize>,
    /// Rate of the log.
    pub(super) sampled: Option<String>,
}

impl CellCauses {
    /// Returns the causes of the load of some keys in a span of time, as far as operations are
    /// logged: a cell has other statistics too. They are those of the reads, or of the writes, of
    /// both without a kind.
    pub(super) fn of(
        call: &Call,
        table: &TableName,
        (span, is_read): ((i64, i64), Option<bool>),
        is_in_cell: impl Fn(&halite_heat::operations::Call) -> bool,
    ) -> Self {
        let extension = call.site.extension();
        let Ok(logged) = extension.logged_calls(table, span, MAX_OPERATIONS) else {
            return Self::default();
        };
        let is_of_kind = |logged: &&halite_heat::operations::Call| {
            is_read.is_none_or(|is_read| logged.kind.is_read() == is_read)
        };
        let in_cell = logged.calls.iter().filter(is_of_kind).filter(|logged| is_in_cell(logged));
        let causes = Causes::of(in_cell, MAX_CAUSES);
        let client =
            |cause: halite_heat::operations::Cause<halite_heat::operations::Client>| ClientShare {
                addr: cause.what.address.to_string(),
                user: cause.what.user.to_string(),
                version: cause.what.version.to_string(),
                share: round(cause.share),
            };
        let statement = |cause: halite_heat::operations::Cause<String>| StatementShare {
            fingerprint: fingerprint(&cause.what),
            share: round(cause.share),
            text: cause.what,
        };
        Self {
            clients: causes.clients.into_iter().map(client).collect(),
            statements: causes.statements.into_iter().map(statement).collect(),
            operations: Some(causes.sampled),
            sampled: Some(super::operations::sampled(&logged)),
        }
    }
}
