//! Filters: `{name of the Java class, message of the same simple name}`, and filters inside filters the same way.
//!
//! All of HBase's own filters are there. A `FilterWrapper` is the filter it holds. Where a Java field may be null and the
//! type has no place for that, the type says what null amounts to: no family or qualifier is an empty one, which no cell
//! has; a `PrefixFilter` without a prefix passes no row.

mod read;
mod write;

use halite_types::{Error, ErrorKind, Filter};

use super::{Result, refused};
use crate::proto as pb;

/// Filters in filters; deeper ones are refused, for each level costs stack.
const DEPTH_MAX: usize = 100;

/// The filter of a message.
///
/// # Errors
/// `DoNotRetryIOException` as in HBase: `java.lang.ClassNotFoundException: foo.Bar` for a class that is not HBase's own, content
/// that is not its message, arguments the Java class does not take, filters nested more than 100 deep.
pub fn from_proto(proto: &pb::Filter) -> Result<Filter> {
    read::filter(proto, 0)
}

/// The message of a filter.
///
/// # Errors
/// `Unsupported` for a filter that HBase has no class for; `InvalidRequest` for filters nested more than 100 deep.
pub fn to_proto(filter: &Filter) -> halite_types::Result<pb::Filter> {
    write::filter(filter, 0)
}

fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("more than {DEPTH_MAX} filters inside one another; make the lists flat"))
}
