//! Checksums after every block: one CRC for each part of header and payload.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use halite_types::Result;

use super::damaged;

/// Checksum type of a block. The numbers are HBase's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChecksumType {
    /// No checksums: their space exists and contains zeros.
    Null,
    /// CRC of zlib.
    Crc32,
    /// Castagnoli's CRC, HBase's default.
    #[default]
    Crc32c,
}

impl ChecksumType {
    pub(super) fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Null,
            1 => Self::Crc32,
            2 => Self::Crc32c,
            _ => return None,
        })
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Crc32 => 1,
            Self::Crc32c => 2,
        }
    }

    /// Returns HBase's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Crc32 => "CRC32",
            Self::Crc32c => "CRC32C",
        }
    }

    fn sum(self, piece: &[u8]) -> u32 {
        match self {
            Self::Null => 0,
            Self::Crc32 => crc32fast::hash(piece),
            Self::Crc32c => crc32c::crc32c(piece),
        }
    }

    /// Appends the checksums of the block that begins at `start` of a buffer and ends with it, which
    /// is header and payload.
    pub(super) fn append(self, buffer: &mut Vec<u8>, start: usize, bytes_per_checksum: usize) {
        let covered_end = buffer.len();
        let mut at = start;
        while at < covered_end {
            let end = at.saturating_add(bytes_per_checksum.max(1)).min(covered_end);
            let sum = self.sum(buffer.get(at..end).unwrap_or_default());
            buffer.extend_from_slice(&sum.to_be_bytes());
            at = end;
        }
    }

    /// Compares the checksums of `covered` with the stored ones. Type NULL requires zeros: HBase
    /// writes nothing else, and a type byte with a flipped bit then does not disable the check.
    ///
    /// # Errors
    /// `Corrupt`, with both checksums.
    pub(super) fn verify(
        self,
        covered: &[u8],
        stored: &[u8],
        bytes_per_checksum: usize,
    ) -> Result<()> {
        let mut at = 0_usize;
        for (piece, stored) in covered.chunks(bytes_per_checksum.max(1)).zip(stored.chunks_exact(4))
        {
            let stored = stored.try_into().map_or(0, u32::from_be_bytes);
            let computed = self.sum(piece);
            let end = at.saturating_add(piece.len());
            if computed != stored {
                let name = self.name();
                return Err(damaged(format_args!(
                    "{name} of its bytes {at}..{end} is {computed:#010x}, the stored one is \
                     {stored:#010x}"
                )));
            }
            at = end;
        }
        Ok(())
    }
}

/// Returns the bytes of the checksums of `covered` bytes.
pub(super) fn checksum_bytes(covered: usize, bytes_per_checksum: usize) -> usize {
    covered.div_ceil(bytes_per_checksum.max(1)).saturating_mul(4)
}
