//! E16: keys padded to a multiple of eight bytes.

use halite_rowkey_tools::cell_cost::{DataBlockEncoding, RECOMMENDED};

use crate::cell_bytes::{mean_encoded_bytes, two_column_table};
use crate::samples::{java_heap_bytes, key_value_bytes};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E16",
    title: "Sixteen bytes are no better than fifteen",
    rules: &[],
    see: &["E15", "E17", "E43"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Keys of 15 bytes are filled up to 16, because machines have 64 bits and memory is read in \
         multiples of eight. Rows of 15, 16 and 17 bytes:",
    );
    let table = lab.create("aligned", &["f"], &[])?;
    for length in [15, 16, 17] {
        lab.put(&table, "k".repeat(length), "f:q", "12345678")?;
    }

    lab.section(Section::Outcome);
    let rows = lab.rows(&table, &ScanSpec::all())?;
    let bytes: Vec<(usize, usize)> = rows
        .iter()
        .map(|row| (row.key().len(), row.iter().map(|cell| key_value_bytes(&cell)).sum()))
        .collect();
    lab.data_table(
        &[">bytes of the key", ">bytes of its cell"],
        bytes.iter().map(|(key, cell)| [key.to_string(), cell.to_string()]),
    );
    lab.assert_claim(
        bytes == [(15, 45), (16, 46), (17, 47)],
        "A cell is as long as what is in it: each byte of the key is one byte of the cell, at 16 \
         as at any other length.",
    )?;
    lab.assert_claim(
        bytes.iter().all(|&(_, cell)| java_heap_bytes(cell) == 96),
        "As an object in the memory of a region server of HBase, all three take 96 bytes, because \
         the cell is rounded up as a whole: the filling gains nothing there either.",
    )?;
    in_files(lab)?;

    lab.section(Section::Why);
    lab.paragraph(
        "Cells are consecutive in blocks and in memory, with lengths in between: no key begins at \
         a multiple of eight, whatever its length. Keys are compared byte by byte, or eight bytes \
         at a time from wherever they begin.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "What counts is how many cells carry the key. Ten readings of one sensor, as ten columns \
         and as one:",
    );
    for column in 0..10 {
        table.inner().put(halite::Put::new("ten columns").add("f", [b'0' + column], [0; 8]))?;
    }
    table.inner().put(halite::Put::new("one column ").add("f", "0", [0; 80]))?;
    let of = |key: &str| -> anyhow::Result<usize> {
        let row = table.inner().get(halite::Get::new(key.to_owned()))?;
        Ok(row.iter().map(|cell| key_value_bytes(&cell)).sum())
    };
    let (ten, one) = (of("ten columns")?, of("one column ")?);
    lab.data_table(
        &["row", ">cells", ">bytes"],
        [
            ["ten readings, ten columns", "10", &ten.to_string()],
            ["ten readings, one column", "1", &one.to_string()],
        ],
    );
    lab.assert_claim(
        ten > 3 * one,
        format!(
            "{ten} bytes and {one}. The key has 11 bytes in both; none of them had to be saved."
        ),
    )
}

/// Writes rows with keys of 15, 16 and 17 bytes to store files.
fn in_files(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.paragraph(
        "2000 rows with two columns under keys of each length, written to store files, bytes for \
         each cell with index and bloom filter:",
    );
    let mut figures = Vec::new();
    for length in [15, 16, 17] {
        let keys: Vec<Vec<u8>> =
            (0..2000).map(|row| format!("{row:0length$}").into_bytes()).collect();
        let table = two_column_table(lab, &format!("files_{length}"), &keys)?;
        let rows = lab.rows(&table, &ScanSpec::all())?;
        let measure = |encoding| mean_encoded_bytes(&rows, encoding);
        let (plain, encoded) = (measure(DataBlockEncoding::None)?, measure(RECOMMENDED)?);
        figures.push((length, plain, encoded));
    }
    lab.data_table(
        &[">bytes of the key", ">plain", ">FAST_DIFF"],
        figures.iter().map(|(length, plain, encoded)| {
            [length.to_string(), format!("{plain:.1}"), format!("{encoded:.1}")]
        }),
    );
    let steps = |bytes: [f64; 3]| [bytes[1] - bytes[0], bytes[2] - bytes[1]];
    let (plain, encoded) =
        (steps([0, 1, 2].map(|at| figures[at].1)), steps([0, 1, 2].map(|at| figures[at].2)));
    lab.assert_claim(
        plain.iter().all(|step| (step - 1.0).abs() < 0.1)
            && encoded.iter().all(|step| step.abs() < 0.1),
        "Plain, a byte of key is a byte of file. Under FAST_DIFF the filling, which neighbours \
         share, takes nothing, at any length.",
    )
}
