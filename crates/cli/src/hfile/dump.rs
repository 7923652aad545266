//! Cells of a store file, in order: human-readable, or tab-separated like the sample dumps of
//! HBase's files.

use std::io::Write;
use std::sync::Arc;

use halite_engine::hfile::{Cursor, DirectBlocks, Reader};
use halite_types::CellRef;
use halite_types::key::to_string_binary;
use sha2::{Digest, Sha256};

use halite_types::key::to_hex;

/// Maximum length of a printed value; longer ones are printed as a digest.
const MAX_VALUE_BYTES: usize = 64;

/// Writes every cell.
///
/// # Errors
/// Returns an error if the file is damaged, a read fails, or the output cannot be written.
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
        (to_hex(cell.row()), to_hex(cell.family()), to_hex(cell.qualifier()), to_hex(cell.tags()));
    let (timestamp, code, sequence, value) =
        (cell.timestamp(), cell.type_code(), cell.sequence_id(), value(cell.value(), to_hex));
    writeln!(out, "{row}\t{family}\t{qualifier}\t{timestamp}\t{code}\t{sequence}\t{tags}\t{value}")
}

fn write_text(out: &mut impl Write, cell: CellRef<'_>) -> std::io::Result<()> {
    let kind = cell
        .cell_type()
        .map_or_else(|| cell.type_code().to_string(), |kind| kind.name().to_owned());
    let column =
        format!("{}:{}", to_string_binary(cell.family()), to_string_binary(cell.qualifier()));
    let (row, timestamp, sequence, value) = (
        to_string_binary(cell.row()),
        cell.timestamp(),
        cell.sequence_id(),
        value(cell.value(), to_string_binary),
    );
    let tags = if cell.tags().is_empty() {
        String::new()
    } else {
        format!(" tags={}", to_hex(cell.tags()))
    };
    writeln!(
        out,
        "{row} {column} timestamp={timestamp} {kind} sequence={sequence}{tags} value={value}"
    )
}

fn value(value: &[u8], print: impl Fn(&[u8]) -> String) -> String {
    if value.len() <= MAX_VALUE_BYTES {
        print(value)
    } else {
        format!("sha256:{}:{}", to_hex(&Sha256::digest(value)), value.len())
    }
}
