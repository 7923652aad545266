//! Between the nouns of `halite-types` and HBase's messages, both ways, for servers and for clients.
//!
//! | room | types | messages |
//! |---|---|---|
//! | [`get`], [`scan`] | `Get`, `Scan` | `Get`, `Scan` |
//! | [`mutate`] | `Put`, `Delete`, `Increment`, `Append` | `MutationProto`, with its cells inside or in the cell block |
//! | [`condition`] | `CheckAndMutate` | `Condition` |
//! | [`filter`], [`comparator`] | `Filter`, `Comparator` | the messages named after HBase's classes |
//! | [`result`] | `Row` | `Result`, `ScanResponse` |
//! | [`region`], [`server`] | `RegionInfo`, [`server::ServerName`] | `RegionInfo`, `RegionSpecifier`, `ServerName` |
//! | [`schema`] | `TableDescriptor`, `TableName`, namespaces | `TableSchema`, `TableName`, `NamespaceDescriptor` |
//! | [`meta`] | where regions are | rows of `hbase:meta` |
//! | [`snapshot`] | `SnapshotDescriptor` | `SnapshotDescription` |
//! | [`status`] | `RegionLoad`, `ClusterStatus` | `RegionLoad`, `ClusterStatus` |
//!
//! What a client sends is read by functions that fail with an [`Exception`]: the class is the one HBase answers with. What a
//! server answers is read by functions that fail with [`halite_types::Error`]. No message from outside panics, whatever it
//! holds. Cells stand in one cell block for all messages of a frame: a function that takes `cells: &mut Cells` takes
//! those of its message off the front, so messages are to be read in the order in which they stand.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

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

use halite_types::key::print_bytes;

use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;

/// Bytes of a name from outside that a message shows.
const SHOWN_BYTES_MAX: usize = 256;

/// The outcome of reading what a client sent.
pub type Result<T, E = Exception> = std::result::Result<T, E>;

/// A request that is wrong for ever.
fn refused(message: impl Into<String>) -> Exception {
    Exception::new(ExceptionKind::DoNotRetry, message)
}

/// Java's words for a class that is not there.
fn class_not_found(name: &str) -> String {
    let end = name.floor_char_boundary(SHOWN_BYTES_MAX);
    format!("java.lang.ClassNotFoundException: {}", name.get(..end).unwrap_or_default())
}

/// Bytes as HBase prints them, for a message: no more of them than a person reads.
pub fn shown(bytes: &[u8]) -> String {
    match bytes.split_at_checked(SHOWN_BYTES_MAX) {
        Some((front, rest)) if !rest.is_empty() => format!("{}... ({} bytes)", print_bytes(front), bytes.len()),
        _ => print_bytes(bytes),
    }
}

/// The value of an attribute of an operation.
fn attribute<'a>(attributes: &'a [pb::NameBytesPair], name: &str) -> Option<&'a [u8]> {
    attributes.iter().find(|attribute| attribute.name == name).map(pb::NameBytesPair::value)
}

/// An attribute that is Java's boolean: one byte, not 0 for true. `None` if it is not there.
fn flag(attributes: &[pb::NameBytesPair], name: &str) -> Result<Option<bool>> {
    match attribute(attributes, name) {
        None => Ok(None),
        Some([byte]) => Ok(Some(*byte != 0)),
        Some(bytes) => Err(refused(format!("attribute {name} has {} bytes; give one, 0 or ff", bytes.len()))),
    }
}

#[cfg(test)]
mod tests;
