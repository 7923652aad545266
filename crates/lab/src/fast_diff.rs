//! Encoder of HBase's block encoding `FAST_DIFF`: the size of cells in the data blocks of a store
//! file.
//!
//! ```text
//!   flag | [bytes of the key] | [bytes of the value] | common | rest of the key | rest of the timestamp | [type] | [value]
//! ```
//! A part in brackets is omitted if it equals that of the previous cell. Source:
//! `FastDiffDeltaEncoder` of HBase 2.6; a test compares the bytes with a block that HBase wrote.

use halite::{FamilyDescriptor, Row};

use crate::page_writer::PageWriter;
use crate::table::LabTable;

/// Plain bytes after which a new block begins, with a whole key.
const BLOCK_BYTES: usize = 65_536;
/// Bytes of timestamp and type at the end of a key.
const STAMP_BYTES: usize = 9;

const SAME_KEY_LENGTH: u8 = 0x08;
const SAME_VALUE_LENGTH: u8 = 0x10;
const SAME_TYPE: u8 = 0x20;
const SAME_VALUE: u8 = 0x40;

/// Returns the bytes of the cells of these rows in blocks of 64 KB, and the number of cells. All
/// cells count as written at the same time.
pub(crate) fn encoded_size(rows: &[Row]) -> (usize, usize) {
    let (mut bytes, mut cells, mut plain) = (0, 0, 0);
    let mut before: Option<(Vec<u8>, Vec<u8>)> = None;
    for cell in rows.iter().flat_map(Row::iter) {
        let mut key = cell.key().to_vec();
        let stamp = key.len().saturating_sub(STAMP_BYTES);
        key[stamp..stamp + 8].copy_from_slice(&crate::samples::T0.to_be_bytes());
        let mut out = Vec::new();
        write(
            &mut out,
            before.as_ref().map(|(key, value)| (&key[..], &value[..])),
            &key,
            cell.value(),
        );
        bytes += out.len();
        cells += 1;
        plain += 8 + key.len() + cell.value().len();
        before = Some((key, cell.value().to_vec()));
        if plain >= BLOCK_BYTES {
            (before, plain) = (None, 0);
        }
    }
    (bytes, cells)
}

/// Returns the mean number of bytes of one encoded cell.
#[expect(clippy::cast_precision_loss, reason = "bytes of a small table")]
pub(crate) fn mean_encoded_bytes(rows: &[Row]) -> f64 {
    let (bytes, cells) = encoded_size(rows);
    bytes as f64 / cells.max(1) as f64
}

/// Creates a table with two columns of eight bytes per row under these keys. The values share
/// little, so that a block encoding writes them whole.
pub(crate) fn two_column_table(
    lab: &mut PageWriter,
    name: &str,
    keys: &[Vec<u8>],
) -> anyhow::Result<LabTable> {
    let table = lab.make(name, [FamilyDescriptor::new("d")], Vec::new())?;
    for (column, number) in [("d:v1", 1_u64), ("d:v2", 2)] {
        lab.load(
            &table,
            column,
            keys.iter().zip(0_u64..).map(|(key, at)| {
                (key.clone(), (2 * at + number).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes())
            }),
        )?;
    }
    Ok(table)
}

/// Appends a cell after another one, or the first cell of a block. Keys are flat: length of the
/// row, row, length of the family, family, qualifier, timestamp, type.
fn write(out: &mut Vec<u8>, before: Option<(&[u8], &[u8])>, key: &[u8], value: &[u8]) {
    let front = key.len() - STAMP_BYTES;
    let Some((old_key, old_value)) = before else {
        out.push(0);
        [key.len(), value.len(), 0].into_iter().for_each(|number| compressed(out, number));
        out.extend_from_slice(key);
        return out.extend_from_slice(value);
    };
    let old_front = old_key.len() - STAMP_BYTES;
    let alike = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let common = alike(&key[..front], &old_key[..old_front]);
    let common_time = alike(&key[front..front + 8], &old_key[old_front..old_front + 8]).min(7);
    let is = |holds: bool, bit: u8| if holds { bit } else { 0 };
    let flag = u8::try_from(common_time).unwrap_or(0)
        | is(key.len() == old_key.len(), SAME_KEY_LENGTH)
        | is(value.len() == old_value.len(), SAME_VALUE_LENGTH)
        | is(key.last() == old_key.last(), SAME_TYPE)
        | is(value == old_value, SAME_VALUE);
    out.push(flag);
    if flag & SAME_KEY_LENGTH == 0 {
        compressed(out, key.len());
    }
    if flag & SAME_VALUE_LENGTH == 0 {
        compressed(out, value.len());
    }
    compressed(out, common);
    let row_end = 2 + usize::from(u16::from_be_bytes([key[0], key[1]]));
    if common < row_end {
        // The family is that of the first cell of the block.
        let qualifier = row_end + 1 + usize::from(key[row_end]);
        out.extend_from_slice(&key[common..row_end]);
        out.extend_from_slice(&key[qualifier..front]);
    } else {
        out.extend_from_slice(&key[common..front]);
    }
    out.extend_from_slice(&key[front + common_time..front + 8]);
    if flag & SAME_TYPE == 0 {
        out.extend_from_slice(&key[front + 8..]);
    }
    if flag & SAME_VALUE == 0 {
        out.extend_from_slice(value);
    }
}

/// Appends a number with seven bits in each byte, least significant first.
fn compressed(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap_or(0));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Block of a file that HBase 2.6.4 wrote with `FAST_DIFF`, without its header; each cell is
    /// followed by its sequence id.
    const BLOCK: &[u8] = b"\x00\x15\x04\x00\x00\x04row1\x01fcol1\x00\x00\x01\x8b\xcf\xe5\x68\x05\
                           \x04AAAA\x07\x7f\x0c\x00\x06\x2f\x02\x0b2\x00BB\x8e\x01\x2c\x27\x16\x01\
                           \x01\x05row10\x63ol1\x05C\x00\x07\x15\x00\x01\x04row2col1\x05\x0c\x09";

    fn key(row: &str, qualifier: &str, last: u8, kind: u8) -> Vec<u8> {
        let row_bytes = u16::try_from(row.len()).expect("a short row").to_be_bytes();
        let stamp = [0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, last, kind];
        [&row_bytes[..], row.as_bytes(), b"\x01f", qualifier.as_bytes(), &stamp].concat()
    }

    #[test]
    fn cells_are_encoded_as_hbase_encodes_them() {
        let cells: [(Vec<u8>, &[u8], &[u8]); 5] = [
            (key("row1", "col1", 5, 4), b"AAAA", b"\x07"),
            (key("row1", "col1", 0, 4), b"AAAA", b"\x06"),
            (key("row1", "col2", 0, 4), b"BB", b"\x8e\x01\x2c"),
            (key("row10", "col1", 5, 4), b"C", b"\x00"),
            (key("row2", "col1", 5, 12), b"", b"\x09"),
        ];
        let mut out = Vec::new();
        let mut before = None;
        for (key, value, sequence) in &cells {
            write(&mut out, before, key, value);
            out.extend_from_slice(sequence);
            before = Some((&key[..], *value));
        }
        assert_eq!(out, BLOCK);
    }
}
