//! Functions for forms of PostgreSQL that DataFusion reads otherwise, and for bytes and maps of
//! cells.

mod at_time_zone;
mod decode_cell;
mod map_entries;
mod shown_as_text;
mod to_bytes;

use std::sync::{Arc, RwLock};

use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;

use super::settings::Settings;

pub(crate) use at_time_zone::AT_TIME_ZONE;
pub(crate) use decode_cell::DECODE_CELL;
pub(crate) use shown_as_text::shown_as_text;
pub(crate) use to_bytes::{TO_BYTES, read_bytes};

/// Registers the functions with a session.
pub(super) fn register(session: &SessionContext, settings: &Arc<RwLock<Settings>>) {
    session.register_udf(decode_cell::decode_cell(settings));
    session.register_udf(at_time_zone::at_time_zone());
    session.register_udf(to_bytes::to_bytes());
    session.register_udf(ScalarUDF::new_from_impl(map_entries::MapEntries::new()));
}
