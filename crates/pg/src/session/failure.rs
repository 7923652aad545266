//! Why a message was not worked off.

use crate::connection::io::Gone;
use crate::error::PgError;

/// Why a message was not worked off.
pub(crate) enum Failure {
    Error(PgError),
    Gone,
}

impl From<PgError> for Failure {
    fn from(error: PgError) -> Self {
        Self::Error(error)
    }
}

impl From<Gone> for Failure {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}
