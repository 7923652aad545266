//! The cells of a store file, in their order: for people, or tab-separated as the sample dumps of HBase's files.

use std::io::Write;
use std::sync::Arc;

use halite_engine::hfile::{Cursor, DirectBlocks, Reader};
use halite_types::CellRef;
use halite_types::key::print_bytes;
use sha2::{Digest, Sha256};

use halite_types::key::hexadecimal;

/// Values above this length are given by their digest.
const VALUE_BYTES_MAX: usize = 64;

/// Writes every cell.
///
/// # Errors
/// Damage, a failed read, or the output's.
pub(crate) fn write(out: &mut impl Write, reader: Arc<Reader>, tsv: bool) -> anyhow::Result<()> {
    if tsv {
        writeln!(out, "#row\tfamily\tqualifier\ttimestamp\ttype\tmvcc\ttags\tvalue")?;
    }
    let mut cursor = Cursor::new(reader, DirectBlocks);
    cursor.seek_to_first()?;
    while let Some(cell) = cursor.peek() {
        if tsv {
            write_tsv(out, cell)?;
        } else {
            write_text(out, cell)?;
        }
        cursor.advance()?;
    }
    Ok(())
}

fn write_tsv(out: &mut impl Write, cell: CellRef<'_>) -> std::io::Result<()> {
    let (row, family, qualifier, tags) =
        (hexadecimal(cell.row()), hexadecimal(cell.family()), hexadecimal(cell.qualifier()), hexadecimal(cell.tags()));
    let (timestamp, code, sequence, value) = (cell.timestamp(), cell.type_code(), cell.sequence(), value(cell.value(), hexadecimal));
    writeln!(out, "{row}\t{family}\t{qualifier}\t{timestamp}\t{code}\t{sequence}\t{tags}\t{value}")
}

fn write_text(out: &mut impl Write, cell: CellRef<'_>) -> std::io::Result<()> {
    let kind = cell.cell_type().map_or_else(|| cell.type_code().to_string(), |kind| kind.name().to_owned());
    let column = format!("{}:{}", print_bytes(cell.family()), print_bytes(cell.qualifier()));
    let (row, timestamp, sequence, value) = (print_bytes(cell.row()), cell.timestamp(), cell.sequence(), value(cell.value(), print_bytes));
    let tags = if cell.tags().is_empty() { String::new() } else { format!(" tags={}", hexadecimal(cell.tags())) };
    writeln!(out, "{row} {column} timestamp={timestamp} {kind} sequence={sequence}{tags} value={value}")
}

fn value(value: &[u8], print: impl Fn(&[u8]) -> String) -> String {
    if value.len() <= VALUE_BYTES_MAX { print(value) } else { format!("sha256:{}:{}", hexadecimal(&Sha256::digest(value)), value.len()) }
}
