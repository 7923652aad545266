//! Cells with owners, and HBase's own dumps of its files.
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use halite_engine::env::{MemoryFile, MemoryReader};
use halite_engine::hfile::{
    BlockSource, Comparator, Cursor, DirectBlocks, Reader, StoreFileInfo, Writer, WriterOptions,
};
use halite_types::CellRef;
use halite_types::cell::{make_key, write_tag};

/// A cell that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnedCell {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
    pub(super) tags: Vec<u8>,
    pub(super) sequence: u64,
}

impl OwnedCell {
    pub(super) fn from_cell(cell: CellRef<'_>) -> Self {
        Self {
            key: cell.key().to_vec(),
            value: cell.value().to_vec(),
            tags: cell.tags().to_vec(),
            sequence: cell.sequence_id(),
        }
    }

    pub(super) fn put(row: &[u8], qualifier: &[u8], timestamp: i64, value: &[u8]) -> Self {
        Self {
            key: make_key(row, b"f", qualifier, timestamp, 4),
            value: value.to_vec(),
            tags: Vec::new(),
            sequence: 0,
        }
    }

    pub(super) fn with_tag(mut self, kind: u8, data: &[u8]) -> Self {
        write_tag(&mut self.tags, kind, data);
        self
    }

    pub(super) fn view(&self) -> CellRef<'_> {
        CellRef::new(&self.key, &self.value, &self.tags, self.sequence)
    }
}

pub(super) fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/hfile").join(name)
}

pub(super) fn sample(name: &str) -> Vec<u8> {
    std::fs::read(path_of(&format!("{name}.hfile"))).unwrap()
}

pub(super) fn open(bytes: Vec<u8>) -> halite_types::Result<Arc<Reader>> {
    Reader::open(Arc::new(MemoryReader::new(bytes)), "data/default/t/1f/f/9a").map(Arc::new)
}

pub(super) fn read_all<S: BlockSource>(
    reader: &Arc<Reader>,
    source: S,
) -> halite_types::Result<Vec<OwnedCell>> {
    let mut cursor = Cursor::new(reader.clone(), source);
    cursor.seek_to_first()?;
    let mut cells = Vec::new();
    while let Some(cell) = cursor.peek() {
        cells.push(OwnedCell::from_cell(cell));
        cursor.advance()?;
    }
    Ok(cells)
}

pub(super) fn sample_cells(name: &str) -> (Arc<Reader>, Vec<OwnedCell>) {
    let reader = open(sample(name)).unwrap();
    let cells = read_all(&reader, DirectBlocks).unwrap();
    (reader, cells)
}

/// Writes cells and returns the bytes of the file.
pub(super) fn write(options: &WriterOptions, cells: &[OwnedCell], store: StoreFileInfo) -> Vec<u8> {
    let file = MemoryFile::default();
    let mut writer = Writer::create(Box::new(file.clone()), "new", options.clone()).unwrap();
    for cell in cells {
        writer.append(cell.view()).unwrap();
    }
    let written = writer.finish(store).unwrap();
    let bytes = file.take_bytes();
    assert_eq!((written.bytes, written.cells), (bytes.len() as u64, cells.len() as u64));
    bytes
}

/// Returns `true` if key `a` is before key `b` in the order of `comparator`.
pub(super) fn is_before(comparator: Comparator, a: &[u8], b: &[u8]) -> bool {
    comparator.compare(a, b).is_lt()
}

/// Returns the lines of HBase's dump of a file.
pub(super) fn dump(name: &str) -> Vec<String> {
    let packed = std::fs::read(path_of(&format!("{name}.tsv.gz"))).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

/// Formats a cell as in HBase's dump.
pub(super) fn line(cell: CellRef<'_>) -> String {
    let value = if cell.value().len() <= 64 {
        hex(cell.value())
    } else {
        format!("sha256:{}:{}", hex(&sha256(cell.value())), cell.value().len())
    };
    let (row, family, qualifier, tags) =
        (hex(cell.row()), hex(cell.family()), hex(cell.qualifier()), hex(cell.tags()));
    format!(
        "{row}\t{family}\t{qualifier}\t{}\t{}\t{}\t{tags}\t{value}",
        cell.timestamp(),
        cell.type_code(),
        cell.sequence_id()
    )
}

/// Parses a cell of HBase's dump; a long value is replaced by its digest.
pub(super) fn parse_line(line: &str) -> OwnedCell {
    let columns: Vec<&str> = line.split('\t').collect();
    let value = if columns[7].starts_with("sha256:") {
        columns[7].as_bytes().to_vec()
    } else {
        unhex(columns[7])
    };
    let key = make_key(
        &unhex(columns[0]),
        &unhex(columns[1]),
        &unhex(columns[2]),
        columns[3].parse().unwrap(),
        columns[4].parse().unwrap(),
    );
    OwnedCell { key, value, tags: unhex(columns[6]), sequence: columns[5].parse().unwrap() }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect()
}

/// FIPS 180-4. The constants are the fractional parts of roots of primes, so they are computed
/// here.
fn sha256(message: &[u8]) -> Vec<u8> {
    let primes: Vec<u32> = (2..312).filter(|n| (2..*n).all(|d| n % d != 0)).collect();
    let fraction = |prime: u32, root: u32| -> u32 {
        // The integer root of prime * 2^(32 * root) is the root of the prime in 32.32 fixed point.
        let target = u128::from(prime) << (32 * root);
        let (mut low, mut high) = (0_u128, 1_u128 << 37);
        while high - low > 1 {
            let middle = u128::midpoint(low, high);
            if middle.pow(root) <= target { low = middle } else { high = middle }
        }
        u32::try_from(low & 0xffff_ffff).unwrap()
    };
    let k: Vec<u32> = primes[..64].iter().map(|&prime| fraction(prime, 3)).collect();
    let mut state: Vec<u32> = primes[..8].iter().map(|&prime| fraction(prime, 2)).collect();
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut w: Vec<u32> =
            block.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        for i in 16..64 {
            let (a, b) = (w[i - 15], w[i - 2]);
            let small =
                |x: u32, r: u32, s: u32, t: u32| x.rotate_right(r) ^ x.rotate_right(s) ^ (x >> t);
            w.push(
                w[i - 16]
                    .wrapping_add(small(a, 7, 18, 3))
                    .wrapping_add(w[i - 7])
                    .wrapping_add(small(b, 17, 19, 10)),
            );
        }
        let mut v = state.clone();
        for i in 0..64 {
            let big = |x: u32, r: u32, s: u32, t: u32| {
                x.rotate_right(r) ^ x.rotate_right(s) ^ x.rotate_right(t)
            };
            let choose = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let one = v[7]
                .wrapping_add(big(v[4], 6, 11, 25))
                .wrapping_add(choose)
                .wrapping_add(k[i])
                .wrapping_add(w[i]);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            let two = big(v[0], 2, 13, 22).wrapping_add(majority);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(one);
            v[0] = one.wrapping_add(two);
        }
        state.iter_mut().zip(&v).for_each(|(state, v)| *state = state.wrapping_add(*v));
    }
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}
