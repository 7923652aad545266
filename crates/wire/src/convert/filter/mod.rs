//! Filters: `{name of the Java class, message of the same simple name}`, and nested filters in the
//! same format.
//!
//! All of HBase's filters are supported. A `FilterWrapper` is converted to the filter it contains.
//! If a Java field may be null and the type cannot represent that, the type documents the
//! equivalent: a null family or qualifier is an empty one, which no cell has; a `PrefixFilter`
//! without a prefix passes no row.

mod read;
mod write;

use halite_types::{Error, ErrorKind, Filter};

use super::{Result, refused};
use crate::proto as pb;

/// Maximum nesting depth of filters; each level uses stack.
const MAX_DEPTH: usize = 100;

/// Returns the filter of a message.
///
/// # Errors
/// `DoNotRetryIOException` as in HBase: `java.lang.ClassNotFoundException: foo.Bar` for a class
/// that is not HBase's own, content that is not its message, arguments the Java class rejects,
/// filters nested more than 100 deep.
pub fn from_proto(proto: &pb::Filter) -> Result<Filter> {
    read::filter(proto, 0)
}

/// Returns the message of a filter.
///
/// # Errors
/// `Unsupported` for a filter without a class in HBase; `InvalidRequest` for filters nested more
/// than 100 deep.
pub fn to_proto(filter: &Filter) -> halite_types::Result<pb::Filter> {
    write::filter(filter, 0)
}

fn too_deep() -> Error {
    Error::new(
        ErrorKind::InvalidRequest,
        format!("more than {MAX_DEPTH} nested filters; flatten the lists"),
    )
}
