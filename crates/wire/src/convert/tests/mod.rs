//! Tests of conversion: compared with bytes written by HBase, as round trips, and with arbitrary
//! input.

mod filter;
mod hostile;
mod mutate;
mod query;
mod result;
pub(super) mod strategies;

use bytes::Bytes;
use halite_types::cell::CellParts;
use halite_types::{CellType, Cells, CellsBuilder};

/// Returns the bytes of hexadecimal digits; blanks between them are ignored.
pub(super) fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Returns puts of the row `r` as decoded from a cell block: family, qualifier, timestamp, value.
fn puts(cells: &[(&str, &str, i64, &str)]) -> Cells {
    let mut out = CellsBuilder::default();
    for (family, qualifier, timestamp, value) in cells {
        let (family, qualifier, value) =
            (family.as_bytes(), qualifier.as_bytes(), value.as_bytes());
        let cell_type = CellType::Put;
        out.push_parts(CellParts {
            row: b"r",
            family,
            qualifier,
            timestamp: *timestamp,
            cell_type,
            value,
            tags: b"",
        });
    }
    out.finish()
}

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
