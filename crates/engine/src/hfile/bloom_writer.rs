//! Writer of a bloom filter in chunks, during the writing of a file.

use super::block_header::BlockKind;
use super::block_writer::BlockWriter;
use super::bloom::{BLOOM_VERSION, MAX_HASH_COUNT, bit_positions};
use super::hash::HashKind;
use super::index::{IndexEntry, write_root};
use super::vint::write_vlong;
use halite_types::{Error, Result};

/// Maximum number of times that a partly filled chunk is halved (`io.storefile.bloom.max.fold`).
const MAX_FOLD: u32 = 7;
/// Comparator class that a ROWCOL filter specifies for its chunk keys.
const CELL_COMPARATOR: &str = "org.apache.hadoop.hbase.CellComparatorImpl";

/// Layout of the chunks of a filter before folding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BloomLayout {
    bytes: usize,
    hash_count: u32,
    max_keys: u64,
}

impl BloomLayout {
    /// HBase's computation: the maximum keys per chunk that keep the error rate, after the number
    /// of hash functions is rounded.
    fn new(chunk_bytes: usize, error_rate: f32) -> Option<Self> {
        let bytes =
            chunk_bytes.checked_next_multiple_of(1 << MAX_FOLD).filter(|&bytes| bytes > 0)?;
        let bits = u32::try_from(bytes).ok()?.checked_mul(8)?;
        let rate = Some(f64::from(error_rate)).filter(|rate| *rate > 0.0 && *rate < 1.0)?;
        let ln2 = std::f64::consts::LN_2;
        let ideal = whole(f64::from(bits) * (ln2 * ln2 / -rate.ln()));
        let hash_count = whole(
            (ln2 * f64::from(bits / u32::try_from(ideal).ok().filter(|&ideal| ideal > 0)?)).ceil(),
        );
        let hash_count = u32::try_from(hash_count).ok().filter(|&count| count > 0)?;
        assert!(hash_count as usize <= MAX_HASH_COUNT, "a reader accepts the number of hashes");
        let k = f64::from(hash_count);
        let max_keys = whole(-f64::from(bits) / k * (1.0 - (rate.ln() / k).exp()).ln());
        Some(Self { bytes, hash_count, max_keys: max_keys.max(1) })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the numbers are positive and below 2^32"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

/// Bloom filter that is being written.
pub(super) struct BloomWriter {
    layout: BloomLayout,
    hash: HashKind,
    /// `true` if the keys are flat keys, as in a ROWCOL filter.
    keys_are_cells: bool,
    chunk: Option<Chunk>,
    ready: Vec<ReadyChunk>,
    index: Vec<IndexEntry>,
    last_key: Vec<u8>,
    total_keys: u64,
    total_max_keys: u64,
    total_bytes: u64,
}

struct Chunk {
    first_key: Vec<u8>,
    bits: Bits,
    keys: u64,
}

/// Set bits of a chunk. A chunk is folded when it is closed, so one with few keys need not be
/// allocated in its full size.
enum Bits {
    /// Byte offsets and the bit in each.
    Sparse(Vec<(usize, u8)>),
    Dense(Vec<u8>),
}

impl Bits {
    /// Maximum number of bits that are stored as a list.
    const MAX_SPARSE_BITS: usize = 1024;

    fn set(&mut self, byte: usize, mask: u8, bytes: usize) {
        if let Self::Sparse(places) = self {
            if places.len() < Self::MAX_SPARSE_BITS {
                places.push((byte, mask));
                return;
            }
            let few = std::mem::replace(self, Self::Sparse(Vec::new()));
            *self = Self::Dense(few.folded(bytes));
        }
        if let Self::Dense(bits) = self {
            bits[byte] |= mask;
        }
    }

    /// Returns the bits folded to `bytes` bytes.
    fn folded(self, bytes: usize) -> Vec<u8> {
        match self {
            Self::Sparse(places) => {
                let mut bits = vec![0; bytes];
                places.into_iter().for_each(|(byte, mask)| bits[byte % bytes] |= mask);
                bits
            }
            Self::Dense(mut bits) => {
                assert_eq!(bits.len() % bytes, 0, "a chunk is folded to a part of its size");
                let (kept, folded) = bits.split_at_mut(bytes);
                for part in folded.chunks(bytes) {
                    kept.iter_mut().zip(part).for_each(|(kept, bits)| *kept |= bits);
                }
                bits.truncate(bytes);
                bits
            }
        }
    }
}

struct ReadyChunk {
    first_key: Vec<u8>,
    bits: Vec<u8>,
}

impl BloomWriter {
    /// Returns a writer of an empty filter.
    ///
    /// # Errors
    /// `InvalidRequest` if no filter of that size has that error rate.
    pub(super) fn new(
        chunk_bytes: usize,
        error_rate: f32,
        hash: HashKind,
        keys_are_cells: bool,
    ) -> Result<Self> {
        // A lookup in a ROWCOL filter probes twice, so each probe may have half the error rate.
        let rate = if keys_are_cells { halved(error_rate) } else { error_rate };
        let shape = BloomLayout::new(chunk_bytes, rate).ok_or_else(|| {
            Error::invalid(format!(
                "no bloom filter has chunks of {chunk_bytes} bytes and an error rate of \
                 {error_rate}; the rate must be between 0 and 1"
            ))
        })?;
        Ok(Self {
            layout: shape,
            hash,
            keys_are_cells,
            chunk: None,
            ready: Vec::new(),
            index: Vec::new(),
            last_key: Vec::new(),
            total_keys: 0,
            total_max_keys: 0,
            total_bytes: 0,
        })
    }

    /// Returns the last added key; `None` if there is none.
    pub(super) fn last_key(&self) -> Option<&[u8]> {
        (self.total_keys > 0).then_some(&self.last_key)
    }

    /// Adds a key, unless it is equal to the last one.
    pub(super) fn add(&mut self, key: &[u8]) {
        if self.last_key() == Some(key) {
            return;
        }
        self.close_full_chunk();
        let bytes = self.layout.bytes;
        let chunk = self.chunk.get_or_insert_with(|| Chunk {
            first_key: key.to_vec(),
            bits: Bits::Sparse(Vec::new()),
            keys: 0,
        });
        for (byte, mask) in
            bit_positions(self.hash, self.layout.hash_count, key, bytes).into_iter().flatten()
        {
            chunk.bits.set(byte, mask, bytes);
        }
        chunk.keys += 1;
        self.total_keys += 1;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    fn close_full_chunk(&mut self) {
        if self.chunk.as_ref().is_some_and(|chunk| chunk.keys >= self.layout.max_keys) {
            self.close_chunk();
        }
    }

    fn close_chunk(&mut self) {
        let Some(Chunk { first_key, bits, keys }) = self.chunk.take() else { return };
        let mut max_keys = self.layout.max_keys;
        let mut bytes = self.layout.bytes;
        while bytes.is_multiple_of(2) && max_keys > 2 * keys {
            bytes /= 2;
            max_keys /= 2;
        }
        assert!(keys <= max_keys, "a chunk has no more keys than its error rate allows");
        self.total_max_keys += max_keys;
        self.total_bytes += bytes as u64;
        self.ready.push(ReadyChunk { first_key, bits: bits.folded(bytes) });
    }

    /// Writes the closed chunks. Called after each data block.
    pub(super) fn write_ready(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        self.close_full_chunk();
        for chunk in std::mem::take(&mut self.ready) {
            let pointer = blocks.write(BlockKind::BloomChunk, &chunk.bits)?;
            self.index.push(IndexEntry { key: chunk.first_key, handle: pointer });
        }
        Ok(())
    }

    /// Writes all chunks. Called after the last data block.
    pub(super) fn write_last(&mut self, blocks: &mut BlockWriter) -> Result<()> {
        self.close_chunk();
        self.write_ready(blocks)
    }

    /// Writes the meta block, if any key was added.
    pub(super) fn write_meta(&self, blocks: &mut BlockWriter, kind: BlockKind) -> Result<()> {
        assert!(
            self.chunk.is_none() && self.ready.is_empty(),
            "all chunks of a filter are written before its meta block"
        );
        if self.total_keys == 0 {
            return Ok(());
        }
        let comparator = if self.keys_are_cells { CELL_COMPARATOR } else { "" };
        let mut payload = Vec::new();
        payload.extend_from_slice(&BLOOM_VERSION.to_be_bytes());
        payload.extend_from_slice(&self.total_bytes.to_be_bytes());
        payload.extend_from_slice(&self.layout.hash_count.to_be_bytes());
        payload.extend_from_slice(&self.hash.code().to_be_bytes());
        payload.extend_from_slice(&self.total_keys.to_be_bytes());
        payload.extend_from_slice(&self.total_max_keys.to_be_bytes());
        payload
            .extend_from_slice(&u32::try_from(self.index.len()).unwrap_or(u32::MAX).to_be_bytes());
        write_vlong(&mut payload, i64::try_from(comparator.len()).unwrap_or(0));
        payload.extend_from_slice(comparator.as_bytes());
        write_root(&mut payload, &self.index);
        blocks.write(kind, &payload).map(|_| ())
    }
}

/// Returns the error rate of each of two probes, in the single precision that HBase uses.
#[expect(clippy::cast_possible_truncation, reason = "HBase rounds here too")]
fn halved(rate: f32) -> f32 {
    (1.0 - f64::from(1.0 - rate).sqrt()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_layout_equals_hbases() {
        let shape = |bytes, rate| BloomLayout::new(bytes, rate).unwrap();
        assert_eq!(
            shape(131_072, 0.01),
            BloomLayout { bytes: 131_072, hash_count: 7, max_keys: 109_306 }
        );
        assert_eq!(
            shape(131_072, halved(0.01)),
            BloomLayout { bytes: 131_072, hash_count: 8, max_keys: 95_069 }
        );
        assert_eq!(shape(200, 0.01), BloomLayout { bytes: 256, hash_count: 7, max_keys: 213 });
    }

    #[test]
    fn sparse_and_dense_bits_fold_to_the_same_chunk() {
        let places: Vec<(usize, u8)> = (0..2 * Bits::MAX_SPARSE_BITS)
            .map(|number| (number * 7919 % 8192, 1 << (number % 8)))
            .collect();
        for count in
            [0, 1, Bits::MAX_SPARSE_BITS, Bits::MAX_SPARSE_BITS + 1, 2 * Bits::MAX_SPARSE_BITS]
        {
            let mut bits = Bits::Sparse(Vec::new());
            let mut right = vec![0; 1024];
            for (byte, mask) in &places[..count] {
                bits.set(*byte, *mask, 8192);
                right[byte % 1024] |= mask;
            }
            assert_eq!(matches!(bits, Bits::Sparse(_)), count <= Bits::MAX_SPARSE_BITS);
            assert_eq!(bits.folded(1024), right, "{count} bits");
        }
    }

    #[test]
    fn invalid_layouts_are_rejected() {
        for (bytes, rate) in
            [(0, 0.01), (128, 0.0), (128, 1.0), (128, f32::NAN), (usize::MAX, 0.01), (128, -1.0)]
        {
            assert!(
                BloomWriter::new(bytes, rate, HashKind::Murmur, false).is_err(),
                "{bytes} {rate}"
            );
        }
    }
}
