//! Store files of every kind that the writer creates, with difficult cells for readers.

use std::fs;
use std::path::Path;

use halite_engine::env::Env;
use halite_engine::hfile::{
    ChecksumType, Comparator, Compression, DataBlockEncoding, HashKind, StoreFileInfo, Writer,
    WriterOptions,
};
use halite_types::cell::{CellRef, make_key, write_tag};
use halite_types::schema::BloomType;

use crate::Result;

/// Family of every cell; HBase checks it against the name of the directory.
const FAMILY: &str = "f";
/// Row prefixes: empty, control bytes, non-ASCII bytes, and bytes that sort next to separators.
const ROW_STARTS: [&[u8]; 8] =
    [b"", b"\x00", b"\x01\xff", b"row", b"row-", b"row,", b"user/alpha", b"\xff\xff"];
const TYPES: [u8; 8] = [4, 4, 4, 4, 8, 10, 12, 14];
/// Timestamps at both ends of a table's range, and ones in between that most cells share.
const TIMESTAMPS: [i64; 5] = [0, 1, 1_700_000_000_000, 1_700_000_000_001, i64::MAX - 1];

/// Cell that owns its bytes.
pub(crate) struct OwnedCell {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    pub(crate) tags: Vec<u8>,
    pub(crate) sequence: u64,
}

impl OwnedCell {
    pub(crate) fn view(&self) -> CellRef<'_> {
        CellRef::new(&self.key, &self.value, &self.tags, self.sequence)
    }
}

/// Store file to write.
pub(crate) struct SampleFile {
    pub(crate) name: &'static str,
    pub(crate) cells: Vec<OwnedCell>,
    options: WriterOptions,
    store: StoreFileInfo,
}

impl SampleFile {
    fn new(name: &'static str, count: usize, change: impl FnOnce(&mut WriterOptions)) -> Self {
        let mut options = WriterOptions {
            block_bytes: 4096,
            created_ms: 1_700_000_000_000,
            ..WriterOptions::default()
        };
        change(&mut options);
        let cells = cells(count, &options);
        Self { name, cells, options, store: StoreFileInfo::flushed(1 << 40) }
    }

    /// Returns `true` if one byte of it is changed after writing, to verify that HBase detects it.
    pub(crate) fn is_damaged(&self) -> bool {
        self.name.starts_with("damaged")
    }

    /// Writes the file to `work/f/NAME`.
    pub(crate) fn write(&self, work: &Path) -> Result<()> {
        let failed = |error: halite_types::Error| format!("{}: {error}", self.name);
        let env = Env::os(work.join(FAMILY)).map_err(failed)?;
        let file = env.fs.create(self.name).map_err(|error| format!("{}: {error}", self.name))?;
        let mut writer = Writer::create(file, self.name, self.options.clone()).map_err(failed)?;
        for cell in &self.cells {
            writer.append(cell.view()).map_err(failed)?;
        }
        writer.finish(self.store.clone()).map_err(failed)?;
        if self.is_damaged() { damage(&work.join(FAMILY).join(self.name)) } else { Ok(()) }
    }
}

/// Returns all samples. The reader selects its checks by name: damage in `damaged` ones must be
/// detected.
pub(crate) fn all() -> Vec<SampleFile> {
    let mut samples = vec![
        SampleFile::new("plain", 3000, |_| ()),
        SampleFile::new("empty", 0, |_| ()),
        SampleFile::new("one", 1, |_| ()),
        SampleFile::new("default-blocks", 6000, |options| options.block_bytes = 64 << 10),
        SampleFile::new("gz", 3000, |options| options.compression = Compression::Gz),
        SampleFile::new("snappy", 3000, |options| options.compression = Compression::Snappy),
        SampleFile::new("lz4", 3000, |options| options.compression = Compression::Lz4),
        SampleFile::new("zstd", 3000, |options| options.compression = Compression::Zstd),
        SampleFile::new("zstd-level", 3000, |options| {
            options.compression = Compression::Zstd;
            options.codec_settings.zstd_level = 19;
        }),
        SampleFile::new("gz-level", 3000, |options| {
            options.compression = Compression::Gz;
            options.codec_settings.gz_level = 1;
        }),
        SampleFile::new("snappy-chunks", 6000, |options| chunks(options, Compression::Snappy)),
        SampleFile::new("lz4-chunks", 6000, |options| chunks(options, Compression::Lz4)),
        SampleFile::new("zstd-chunks", 6000, |options| chunks(options, Compression::Zstd)),
        SampleFile::new("snappy-empty", 0, |options| options.compression = Compression::Snappy),
        SampleFile::new("zstd-empty", 0, |options| options.compression = Compression::Zstd),
        SampleFile::new("tags", 3000, |options| options.include_tags = true),
        SampleFile::new("gz-tags", 2000, |options| {
            (options.compression, options.include_tags) = (Compression::Gz, true);
        }),
        encoded("prefix", DataBlockEncoding::Prefix),
        encoded("diff", DataBlockEncoding::Diff),
        encoded("fast-diff", DataBlockEncoding::FastDiff),
        encoded("row-index", DataBlockEncoding::RowIndexV1),
        SampleFile::new("fast-diff-raw-tags", 3000, |options| {
            (options.encoding, options.include_tags, options.compress_tags) =
                (DataBlockEncoding::FastDiff, true, false);
        }),
        SampleFile::new("diff-no-sequence-ids", 3000, |options| {
            (options.encoding, options.include_sequence_ids) = (DataBlockEncoding::Diff, false);
        }),
        SampleFile::new("no-sequence-ids", 3000, |options| options.include_sequence_ids = false),
        SampleFile::new("crc32", 2000, |options| {
            (options.checksum, options.bytes_per_checksum) = (ChecksumType::Crc32, 512);
        }),
        SampleFile::new("no-checksums", 1000, |options| options.checksum = ChecksumType::Null),
        SampleFile::new("bloom-none", 1000, |options| options.bloom = BloomType::None),
        SampleFile::new("bloom-rowcol", 6000, |options| {
            (options.bloom, options.bloom_chunk_bytes) = (BloomType::RowCol, 1024);
        }),
        SampleFile::new("bloom-chunks", 6000, |options| options.bloom_chunk_bytes = 256),
        SampleFile::new("bloom-jenkins", 2000, |options| options.bloom_hash = HashKind::Jenkins),
        SampleFile::new("bloom-murmur3", 2000, |options| options.bloom_hash = HashKind::Murmur3),
        SampleFile::new("deep-index", 8000, |options| {
            (options.block_bytes, options.index_chunk_bytes, options.min_index_entries) =
                (512, 512, 4);
        }),
        SampleFile::new("meta-order", 2000, |options| options.comparator = Comparator::Meta),
        SampleFile::new("damaged", 3000, |_| ()),
    ];
    samples.push(SampleFile {
        store: StoreFileInfo::default(),
        ..SampleFile::new("bulk", 2000, |options| options.include_sequence_ids = false)
    });
    let merged = StoreFileInfo::compacted(1 << 40, true, vec!["0123456789abcdef".to_string()]);
    samples.push(SampleFile { store: merged, ..SampleFile::new("major", 2000, |_| ()) });
    samples
}

/// Makes data blocks of several chunks of a codec, of at most 218,422 bytes each.
fn chunks(options: &mut WriterOptions, codec: Compression) {
    (options.block_bytes, options.compression) = (600_000, codec);
}

/// Returns a sample in an encoding, with compressed tags where the encoding has a form for it.
fn encoded(name: &'static str, encoding: DataBlockEncoding) -> SampleFile {
    SampleFile::new(name, 4000, |options| {
        (options.encoding, options.include_tags) = (encoding, true);
    })
}

/// Changes a byte in the middle of the first data block.
fn damage(path: &Path) -> Result<()> {
    const AT: usize = 1000;
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut bytes = fs::read(path).map_err(failed)?;
    let byte =
        bytes.get_mut(AT).ok_or_else(|| format!("{}: too short to damage", path.display()))?;
    *byte ^= 0x10;
    fs::write(path, bytes).map_err(failed)
}

/// Returns deterministic cells in file order, without duplicate keys.
fn cells(count: usize, options: &WriterOptions) -> Vec<OwnedCell> {
    let mut chance = SeededRng(0x5eed);
    let mut cells: Vec<OwnedCell> = (0..count).map(|_| cell(&mut chance, count, options)).collect();
    cells.sort_by(|a, b| options.comparator.compare(&a.key, &b.key));
    cells.dedup_by(|later, earlier| later.key == earlier.key);
    cells
}

fn cell(chance: &mut SeededRng, count: usize, options: &WriterOptions) -> OwnedCell {
    let number = chance.below(count / 5 + 1);
    let row = match options.comparator {
        Comparator::Meta => [
            &b"table,"[..],
            chance.pick(&ROW_STARTS[3..7]),
            format!("{number},16{number:011}.").as_bytes(),
        ]
        .concat(),
        Comparator::Cell => [chance.pick(&ROW_STARTS), format!("{number:05}").as_bytes()].concat(),
    };
    let qualifier = match chance.below(8) {
        0 => Vec::new(),
        1 => vec![0, 0xff],
        _ => format!("c{}", chance.below(20)).into_bytes(),
    };
    let type_code = chance.pick(&TYPES);
    let qualifier = if type_code == 10 || type_code == 14 { Vec::new() } else { qualifier };
    let timestamp = chance.pick(&TIMESTAMPS);
    let value_bytes = if type_code == 4 { chance.pick(&[0, 1, 8, 8, 8, 100, 1500]) } else { 0 };
    let mut tags = Vec::new();
    if options.include_tags {
        for _ in 0..chance.below(3) {
            let bytes = chance.below(12);
            write_tag(&mut tags, chance.pick(&[1, 8, 64]), &chance.bytes(bytes));
        }
    }
    let sequence =
        if options.include_sequence_ids { chance.next() >> chance.pick(&[24, 40, 60]) } else { 0 };
    let key = make_key(&row, FAMILY.as_bytes(), &qualifier, timestamp, type_code);
    OwnedCell { key, value: chance.bytes(value_bytes), tags, sequence }
}

/// Deterministic pseudorandom numbers (xorshift).
struct SeededRng(u64);

impl SeededRng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or_default() % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_be_bytes()[3]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_reproducible_and_contain_every_cell_type() {
        let (once, again) = (all(), all());
        for (one, other) in once.iter().zip(&again) {
            assert!(one.cells.iter().zip(&other.cells).all(|(a, b)| (
                &a.key, &a.value, &a.tags, a.sequence
            ) == (
                &b.key, &b.value, &b.tags, b.sequence
            )));
        }
        let plain = &once[0].cells;
        assert!(plain.len() > 2000, "{}", plain.len());
        assert!(TYPES.iter().all(|code| plain.iter().any(|cell| cell.view().type_code() == *code)));
    }
}
