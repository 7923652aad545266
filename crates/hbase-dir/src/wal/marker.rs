//! Markers among the entries of a log: cells of a family of their own that are no data.

use halite_types::{CellRef, Error, Result};
use prost::Message;

use super::WalEntry;

/// Family of the markers.
const FAMILY: &[u8] = b"METAFAMILY";
/// Qualifier of the marker of a compaction.
const COMPACTION: &[u8] = b"HBASE::COMPACTION";

/// Maximum bytes of a marker: the names of the compacted files.
const MAX_BYTES: usize = 4 << 20;

/// Compaction that a server finished: the files of its output are in place, and some of those of
/// its input may still be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionMarker {
    /// Family.
    pub family: Vec<u8>,
    /// Names of the compacted files.
    pub inputs: Vec<String>,
    /// Names of the files that replace them.
    pub outputs: Vec<String>,
}

/// HBase's `CompactionDescriptor`.
#[derive(Clone, PartialEq, Message)]
struct CompactionDescriptor {
    #[prost(bytes = "vec", required, tag = "1")]
    table_name: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "2")]
    encoded_region_name: Vec<u8>,
    #[prost(bytes = "vec", required, tag = "3")]
    family_name: Vec<u8>,
    #[prost(string, repeated, tag = "4")]
    compaction_input: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    compaction_output: Vec<String>,
}

impl WalEntry {
    /// Returns the cells that are data.
    pub fn data(&self) -> impl Iterator<Item = CellRef<'_>> {
        self.cells.iter().filter(|cell| cell.family() != FAMILY)
    }

    /// Returns the compactions that the entry tells of. Other markers (flushes, bulk loads,
    /// openings and closings of regions) tell nothing that the directories do not: HBase moves
    /// files to their places before it writes them.
    ///
    /// # Errors
    /// `Corrupt` for a marker that cannot be decoded: with the files of a compaction and those that
    /// replace them, deleted cells could return.
    pub fn compactions(&self) -> Result<Vec<CompactionMarker>> {
        let markers = self
            .cells
            .iter()
            .filter(|cell| cell.family() == FAMILY && cell.qualifier() == COMPACTION);
        let mut found = Vec::new();
        for marker in markers {
            let damaged = |why: &dyn std::fmt::Display| {
                Error::corrupt(format!(
                    "the marker of a compaction with sequence id {} is damaged: {why}; restore \
                     the log, or import without the logs",
                    self.sequence
                ))
            };
            let bytes = marker.value().len();
            if bytes > MAX_BYTES {
                return Err(damaged(&format_args!("it has {bytes} bytes; at most {MAX_BYTES}")));
            }
            let of = CompactionDescriptor::decode(marker.value()).map_err(|why| damaged(&why))?;
            if of.encoded_region_name == self.region {
                found.push(CompactionMarker {
                    family: of.family_name,
                    inputs: of.compaction_input,
                    outputs: of.compaction_output,
                });
            }
        }
        Ok(found)
    }
}
