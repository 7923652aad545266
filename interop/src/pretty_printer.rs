//! Comparison of the output of `HFilePrettyPrinter` with the original cells.

use std::fmt::Write as _;

use halite_types::cell::{CellRef, tags};

use crate::Result;
use crate::samples::OwnedCell;

/// Characters that HBase prints literally, besides letters and digits; every other byte becomes
/// `\xHH` (as `Bytes.toStringBinary`).
const PLAIN: &[u8] = b" `~!@#$%^&*()-_=+[]{}|;:'\",.<>/?";

/// Checks that HBase printed exactly these cells, counted them, and printed no warnings.
pub(crate) fn check(text: &str, cells: &[OwnedCell]) -> Result<()> {
    if let Some(warning) = text.lines().find(|line| !line.starts_with("K: ") && is_complaint(line))
    {
        return Err(format!("HBase says: {warning}"));
    }
    let mut lines = text.lines().filter(|line| line.starts_with("K: "));
    for (number, cell) in cells.iter().enumerate() {
        let expected = line(cell.view());
        match lines.next() {
            Some(found) if found == expected => {}
            Some(found) => {
                return Err(format!(
                    "cell {number} of {}:\n  written  {expected}\n  read     {found}",
                    cells.len()
                ));
            }
            None => return Err(format!("HBase prints {number} cells of {}", cells.len())),
        }
    }
    let more = lines.count();
    if more > 0 {
        return Err(format!(
            "HBase prints {more} cells in addition to the {} written ones",
            cells.len()
        ));
    }
    for count in
        [format!("entries={},", cells.len()), format!("Scanned kv count -> {}", cells.len())]
    {
        if !text.contains(&count) {
            return Err(format!("HBase did not print {count:?}"));
        }
    }
    Ok(())
}

fn is_complaint(line: &str) -> bool {
    ["WARNING", "ERROR", "Exception"].iter().any(|word| line.contains(word))
}

/// Formats a cell as HBase does.
fn line(cell: CellRef<'_>) -> String {
    let mut text = format!(
        "K: {}/{}:{}/",
        binary(cell.row()),
        binary(cell.family()),
        binary(cell.qualifier())
    );
    let kind = cell.cell_type().map_or("?", |kind| kind.name());
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "{}/{kind}/vlen={}/seqid={} V: {}",
        cell.timestamp(),
        cell.value().len(),
        cell.sequence_id(),
        binary(cell.value())
    );
    for (number, (kind, data)) in tags(cell.tags()).enumerate() {
        let _ = write!(text, " T[{number}]: [Tag type : {kind}, value : {}]", binary(data));
    }
    text
}

/// Formats bytes as HBase does.
pub(crate) fn binary(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || PLAIN.contains(byte) {
            text.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use halite_types::cell::{make_key, write_tag};

    fn cell() -> OwnedCell {
        let mut tags = Vec::new();
        write_tag(&mut tags, 8, b"\x00a");
        OwnedCell {
            key: make_key(b"r\\", b"f", b"\xff", 7, 4),
            value: b"v".to_vec(),
            tags,
            sequence: 9,
        }
    }

    const LINE: &str =
        "K: r\\x5C/f:\\xFF/7/Put/vlen=1/seqid=9 V: v T[0]: [Tag type : 8, value : \\x00a]";
    const COUNTS: &str = "    entries=1,\nScanned kv count -> 1";

    #[test]
    fn cell_is_printed_like_hbase() {
        assert_eq!(line(cell().view()), LINE);
        assert_eq!(check(&format!("{LINE}\n{COUNTS}"), &[cell()]), Ok(()));
    }

    #[test]
    fn every_kind_of_difference_is_reported() {
        let cells = [cell()];
        assert!(
            check(&format!("{}\n{COUNTS}", LINE.replace("seqid=9", "seqid=8")), &cells).is_err()
        );
        assert!(check(COUNTS, &cells).is_err_and(|text| text.contains("0 cells of 1")));
        assert!(
            check(&format!("{LINE}\n{LINE}\n{COUNTS}"), &cells)
                .is_err_and(|text| text.contains("1 cells in addition"))
        );
        assert!(
            check(&format!("WARNING, previous row\n{LINE}\n{COUNTS}"), &cells)
                .is_err_and(|text| text.contains("previous row"))
        );
        assert!(check(&format!("{LINE}\n    entries=2,\nScanned kv count -> 1"), &cells).is_err());
    }
}
