//! Conversions between `halite-types` and HBase's messages, for servers and clients.
//!
//! | module | types | messages |
//! |---|---|---|
//! | [`get`], [`scan`] | `Get`, `Scan` | `Get`, `Scan` |
//! | [`mutate`] | `Put`, `Delete`, `Increment`, `Append` | `MutationProto`, with its cells in the message or in the cell block |
//! | [`aggregate`] | `Aggregation`, `Aggregates` | Halite's method of `AggregateService` |
//! | [`condition`] | `CheckAndMutate` | `Condition` |
//! | [`filter`], [`comparator`] | `Filter`, `Comparator` | messages named after HBase's classes |
//! | [`result`] | `Row` | `Result`, `ScanResponse` |
//! | [`region`], [`server`] | `RegionInfo`, `ServerName` | `RegionInfo`, `RegionSpecifier`, `ServerName` |
//! | [`schema`] | `TableDescriptor`, `TableName`, namespaces | `TableSchema`, `TableName`, `NamespaceDescriptor` |
//! | [`meta`] | region locations | rows of `hbase:meta` |
//! | [`snapshot`] | `SnapshotDescriptor` | `SnapshotDescription` |
//! | [`status`] | `RegionLoad`, `ClusterStatus` | `RegionLoad`, `ClusterStatus` |
//!
//! Functions that decode requests fail with an [`Exception`], which has the class that HBase
//! returns. Functions that decode responses fail with [`halite_types::Error`]. No message causes a
//! panic. All messages of a frame have their cells in one cell block. A function with the parameter
//! `cells: &mut Cells` removes those of its message from the front, so messages must be decoded in
//! their order in the frame.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub mod aggregate;
pub mod comparator;
pub mod condition;
pub mod filter;
pub mod get;
pub mod meta;
pub mod mutate;
pub mod region;
pub mod result;
pub mod scan;
pub mod schema;
mod selection;
pub mod server;
pub mod snapshot;
pub mod status;

use halite_types::key::to_string_binary;

use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;

/// Maximum bytes of an external name in a message.
const MAX_DISPLAY_BYTES: usize = 256;

/// Result of decoding a client's message.
pub type Result<T, E = Exception> = std::result::Result<T, E>;

/// Returns the exception for a request that will always be invalid.
fn refused(message: impl Into<String>) -> Exception {
    Exception::new(ExceptionKind::DoNotRetry, message)
}

/// Returns Java's message for a missing class.
fn class_not_found(name: &str) -> String {
    let end = name.floor_char_boundary(MAX_DISPLAY_BYTES);
    format!("java.lang.ClassNotFoundException: {}", name.get(..end).unwrap_or_default())
}

/// Formats bytes as HBase prints them, for a message, cut to a readable length.
pub fn display_bytes(bytes: &[u8]) -> String {
    match bytes.split_at_checked(MAX_DISPLAY_BYTES) {
        Some((front, rest)) if !rest.is_empty() => {
            format!("{}... ({} bytes)", to_string_binary(front), bytes.len())
        }
        _ => to_string_binary(bytes),
    }
}

/// Returns the value of an attribute of an operation.
fn attribute<'a>(attributes: &'a [pb::NameBytesPair], name: &str) -> Option<&'a [u8]> {
    attributes.iter().find(|attribute| attribute.name == name).map(pb::NameBytesPair::value)
}

/// Returns an attribute that is a Java boolean: one byte, not 0 for `true`. `None` if it is
/// missing.
fn flag(attributes: &[pb::NameBytesPair], name: &str) -> Result<Option<bool>> {
    match attribute(attributes, name) {
        None => Ok(None),
        Some([byte]) => Ok(Some(*byte != 0)),
        Some(bytes) => {
            Err(refused(format!("attribute {name} has {} bytes; give one, 0 or ff", bytes.len())))
        }
    }
}

#[cfg(test)]
mod tests;
