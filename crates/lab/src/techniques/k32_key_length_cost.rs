//! K32: the cost of key length; multiples of eight gain nothing.

use halite::rowkey::{KeySchema, Value};
use halite_rowkey_tools::cell_cost::{DataBlockEncoding, RECOMMENDED};

use crate::cell_bytes::{mean_encoded_bytes, two_column_table};
use crate::samples::{SECOND, T0, java_heap_bytes, key_value_bytes};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K32",
    title: "How long a key may be",
    rules: &["K-LEN"],
    see: &["K33", "K34", "K29"],
    run,
};

/// Prefix of keys of 100 bytes.
const PATH: &str = "factory/hall/machine/part/measuring-point/of/temperature/in/degrees";
/// Encoded points.
const ROWS: u64 = 2_000;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A key should be as short as its fields allow: it is part of every cell of its row, in the \
         log, in memory and on the wire. Ten to a hundred bytes are usual. That 16 bytes, or \
         multiples of eight, are special is a common but wrong claim.",
    );
    lab.section(Section::Declaration);
    lab.paragraph("A sensor and a time as text, as two numbers, and as two numbers after a salt:");
    let text = lab.key("ROW KEY TEXT '{sensor:12}_{rev(ts):19}'")?;
    let numbers = lab.key("ROW KEY (sensor U32, ts TIMESTAMP DESC)")?;
    let salted = lab.key("ROW KEY (SALT(16 BY sensor), sensor U32, ts TIMESTAMP DESC)")?;

    lab.section(Section::Demonstration);
    cells_by_length(lab, [&text, &numbers, &salted])?;
    encoded_by_key(lab, &numbers)?;

    lab.section(Section::Costs);
    lab.paragraph(
        "A key can also be too short: a digest of two bytes instead of a name confuses names.",
    );
    lab.expect_finding(
        "K-LEN",
        "ROW KEY (tenant CHAR(64), url CHAR(128), ts TIMESTAMP)",
        "ROW KEY (DICT(tenant, 4), DICT(url, 4), ts TIMESTAMP)",
    )
}

/// Reads back cells under keys of several lengths, and compares their bytes on disk and in a heap.
fn cells_by_length(lab: &mut PageWriter, keys: [&KeySchema; 3]) -> anyhow::Result<()> {
    let table = lab.create("lengths", &["f"], &[])?;
    let given = ["sensor=4711", "ts=2024-03-15"];
    for key in keys {
        let row = lab.encode_key(key, &given)?;
        lab.load(&table, "f:q", [(row, [0_u8; 8])])?;
    }
    for length in [15, 16, 17, 100] {
        lab.load(&table, "f:q", [(vec![b'z'; length], [0_u8; 8])])?;
    }
    lab.paragraph(
        "Keys of these and of some other lengths, each with one value of eight bytes, read back \
         from the table:",
    );
    let mut cells: Vec<(usize, usize)> = Vec::new();
    for row in lab.rows(&table, &ScanSpec::all())? {
        cells.extend(row.iter().map(|cell| (row.key().len(), key_value_bytes(&cell))));
    }
    cells.sort_unstable();
    let heap = java_heap_bytes;
    lab.data_table(
        &[">key", ">cell", ">object in Java", ""],
        cells.iter().map(|&(key, cell)| {
            let content = match key {
                12 => "two numbers",
                13 => "salt and two numbers",
                32 => "text",
                _ => "",
            };
            [key.to_string(), cell.to_string(), heap(cell).to_string(), content.to_owned()]
        }),
    );
    let of =
        |length: usize| cells.iter().find(|(key, _)| *key == length).map_or(0, |(_, cell)| *cell);
    lab.assert_claim(
        cells.iter().all(|&(key, cell)| cell == key + of(12) - 12),
        "Each byte of the key is one byte of the cell; nothing is rounded.",
    )?;
    lab.assert_claim(
        [15, 16, 17].map(|length| heap(of(length))) == [96, 96, 96],
        "In a Java heap the cell is rounded up to eight bytes as a whole: 15, 16 and 17 bytes of \
         key take the same 96.",
    )?;
    lab.assert_claim(
        of(32) - of(12) == 20,
        "The text takes 20 bytes more than the numbers, in every cell.",
    )
}

/// Encodes the same points under keys that share more or less with their neighbours.
fn encoded_by_key(lab: &mut PageWriter, numbers: &KeySchema) -> anyhow::Result<()> {
    lab.paragraph(format!(
        "Length is not what files cost. Under a block encoding a cell writes what its key does not \
         share with the one before. {ROWS} points with two columns each, under a key of 12 bytes, \
         one of 100 that neighbours share most of, and one of 100 that they share nothing of; read \
         back and written to store files under each encoding, bytes for each cell with its part of \
         index and bloom filter:"
    ));
    let (path, random) = (
        lab.key("ROW KEY TEXT '{path}_{sensor:12}_{rev(ts):19}'")?,
        lab.key("ROW KEY (id BYTES(92), n U64)")?,
    );
    let points: Vec<(u64, i64)> =
        (0..ROWS).map(|index| (index % 10, T0 + SECOND * index.cast_signed())).collect();
    let [mut of_numbers, mut of_path, mut of_random] = [const { Vec::new() }; 3];
    for &(sensor, time) in &points {
        of_numbers.push(numbers.encode(&[Value::Unsigned(sensor), Value::Signed(time)])?.to_vec());
        of_path.push(
            path.encode(&[PATH.into(), Value::Unsigned(sensor), Value::Signed(time)])?.to_vec(),
        );
        let id: Vec<u8> = (0..92).map(|_| lab.rng().u8(..)).collect();
        of_random
            .push(random.encode(&[Value::Bytes(id.into()), Value::Unsigned(sensor)])?.to_vec());
    }
    let keys = [
        ("12 bytes, numbers", of_numbers),
        ("100 bytes, shared", of_path),
        ("100 bytes, random", of_random),
    ];
    let mut figures = Vec::new();
    for (at, (name, keys)) in keys.into_iter().enumerate() {
        let table = two_column_table(lab, &format!("points_{at}"), &keys)?;
        let rows = lab.rows(&table, &ScanSpec::all())?;
        let measure = |encoding| mean_encoded_bytes(&rows, encoding);
        let each: Vec<f64> =
            DataBlockEncoding::ALL.into_iter().map(measure).collect::<anyhow::Result<_>>()?;
        figures.push((name, each));
    }
    let line = |(name, each): &(&str, Vec<f64>)| -> [String; 6] {
        let mut each = each.iter().map(|bytes| format!("{bytes:.1}"));
        std::array::from_fn(|at| match at {
            0 => (*name).to_owned(),
            _ => each.next().unwrap_or_default(),
        })
    };
    lab.data_table(
        &["key", ">NONE", ">PREFIX", ">DIFF", ">FAST_DIFF", ">ROW_INDEX_V1"],
        figures.iter().map(line),
    );
    let of = |key: usize, encoding: DataBlockEncoding| {
        let at = DataBlockEncoding::ALL.iter().position(|other| *other == encoding);
        at.map_or(0.0, |at| figures[key].1[at])
    };
    let [short, shared, random] = [0, 1, 2].map(|key| of(key, RECOMMENDED));
    lab.assert_claim(
        shared < short + 4.0 && random > 3.0 * shared,
        "Under FAST_DIFF the shared key of 100 bytes takes hardly more than the one of 12, and the \
         random one of 100 more than three times as much.",
    )?;
    lab.assert_claim(
        [0, 1, 2]
            .iter()
            .all(|&key| of(key, DataBlockEncoding::RowIndexV1) > of(key, DataBlockEncoding::None)),
        "ROW_INDEX_V1 leaves nothing out: it is for finding rows in a block, and costs a little.",
    )
}
