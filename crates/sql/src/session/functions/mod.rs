//! Functions for forms of PostgreSQL that DataFusion reads otherwise.

mod at_time_zone;
mod to_bytes;

use datafusion::prelude::SessionContext;

pub(crate) use at_time_zone::AT_TIME_ZONE;
pub(crate) use to_bytes::{TO_BYTES, read_bytes};

/// Registers the functions with a session.
pub(super) fn register(session: &SessionContext) {
    session.register_udf(at_time_zone::at_time_zone());
    session.register_udf(to_bytes::to_bytes());
}
