//! K33: the size of keys: rows, times columns, times length.

use halite::Put;
use halite_rowkey_tools::cell_cost::{DataBlockEncoding, RECOMMENDED};

use crate::cell_bytes::mean_encoded_bytes;
use crate::samples::key_value_bytes;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K33",
    title: "Keys of ten million rows",
    rules: &["F-DBE"],
    see: &["K32", "K35"],
    run,
};

const ROWS: usize = 500;
const KEY_BYTES: usize = 100;

/// Returns eight bytes that share little with those of other cells.
fn value(row: usize, column: u8) -> [u8; 8] {
    (row as u64 * 8 + u64::from(column) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Ten million rows with keys of 100 bytes are 1,000,000,000 bytes of keys: that is quickly \
         computed, and it counts each key once. HBase writes a key into every cell. A row of five \
         columns has it five times.",
    );
    lab.section(Section::Declaration);
    let key = lab.key("ROW KEY (customer CHAR(92), seq U64)")?;

    lab.section(Section::Demonstration);
    lab.paragraph(format!(
        "{ROWS} rows with keys of {KEY_BYTES} bytes, once with one column and once with five, read \
         back and measured:"
    ));
    let (mut bytes_of_keys, mut encoded) = (Vec::new(), Vec::new());
    for (name, columns) in [("one", 1_u8), ("five", 5)] {
        let table = lab.create(name, &["f"], &[])?;
        let puts = (0..ROWS).map(|row| {
            let bytes = key
                .encode(&[
                    format!("{:092}", row / 10).as_str().into(),
                    halite::rowkey::Value::Unsigned(row as u64),
                ])?
                .to_vec();
            Ok((0..columns).fold(Put::new(bytes), |put, column| {
                put.add("f", [b'a' + column], value(row, column))
            }))
        });
        lab.load_puts(&table, puts.collect::<anyhow::Result<Vec<_>>>()?)?;
        let rows = lab.rows(&table, &ScanSpec::all())?;
        let keys: usize =
            rows.iter().flat_map(halite::Row::iter).map(|cell| cell.row().len()).sum();
        let cells: usize =
            rows.iter().flat_map(halite::Row::iter).map(|cell| key_value_bytes(&cell)).sum();
        bytes_of_keys.push((columns, keys, cells));
        let measure = |encoding| mean_encoded_bytes(&rows, encoding);
        encoded.push((measure(DataBlockEncoding::None)?, measure(RECOMMENDED)?));
    }
    let line = |&(columns, keys, cells): &(u8, usize, usize)| {
        [
            columns.to_string(),
            keys.to_string(),
            format!("{} %", keys * 100 / cells),
            (keys * (10_000_000 / ROWS)).to_string(),
        ]
    };
    lab.data_table(
        &[">columns", ">bytes of keys", ">of the cells", ">with 10,000,000 rows"],
        bytes_of_keys.iter().map(line),
    );
    lab.assert_claim(
        bytes_of_keys[0].1 * 20_000 == 1_000_000_000,
        "With one column, ten million rows have 1,000,000,000 bytes of keys.",
    )?;
    lab.assert_claim(
        bytes_of_keys[1].1 == 5 * bytes_of_keys[0].1,
        "With five columns they have five times that.",
    )?;

    lab.assert_claim(
        encoded.iter().all(|(plain, encoded)| encoded * 5.0 < *plain),
        format!(
            "In files a block encoding leaves out what a key shares with the one before. Written to \
             store files, these cells take {:.1} and {:.1} bytes each without an encoding, and {:.1} \
             and {:.1} under FAST_DIFF, value, index and bloom filter included.",
            encoded[0].0, encoded[1].0, encoded[0].1, encoded[1].1
        ),
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "The bytes of keys pass through the log, the memstore and the wire as they are. What helps \
         everywhere is fewer cells: values that are always read together in one column, or points \
         of a time slice in one row.",
    );
    let table = |with: &str| {
        format!("CREATE TABLE t (v DOUBLE FAMILY f, ROW KEY (customer CHAR(92), seq U64)){with}")
    };
    lab.expect_finding("F-DBE", &table(""), &table(" WITH (DATA_BLOCK_ENCODING = 'FAST_DIFF')"))
}
