//! K32: what the length of a key costs, and that multiples of eight gain nothing.

use crate::samples::key_value_bytes;
use crate::{Lab, Page, Part, Read};

pub(super) const PAGE: Page = Page { id: "K32", title: "How long a key may be", rules: &["K-LEN"], see: &["K33", "K34", "K29"], run };

/// Bytes of a Java object of class KeyValue without its array, and of the head of an array (HBase 2.6.4, `KeyValue.heapSize`, 64-bit JVM with
/// compressed references).
const OBJECT: usize = 32;
const ARRAY_HEAD: usize = 16;

fn run(lab: &mut Lab) -> anyhow::Result<()> {
    lab.part(Part::Purpose);
    lab.say(
        "A key should be as short as its fields allow: it stands in every cell of its row, in the log, in memory and on the wire. Ten to a hundred bytes are \
         usual. That 16 bytes, or multiples of eight, are special is often said, and does not hold.",
    );
    lab.part(Part::Declared);
    lab.say("A sensor and a time as text, as two numbers, and as two numbers behind a salt:");
    let text = lab.key("ROW KEY TEXT '{sensor:12}_{rev(ts):19}'")?;
    let numbers = lab.key("ROW KEY (sensor U32, ts TIMESTAMP DESC)")?;
    let salted = lab.key("ROW KEY (SALT(16 BY sensor), sensor U32, ts TIMESTAMP DESC)")?;

    lab.part(Part::Shown);
    let table = lab.create("lengths", &["f"], &[])?;
    let given = ["sensor=4711", "ts=2024-03-15"];
    for key in [&text, &numbers, &salted] {
        let row = lab.key_of(key, &given)?;
        lab.load(&table, "f:q", [(row, [0_u8; 8])])?;
    }
    for length in [15, 16, 17, 100] {
        lab.load(&table, "f:q", [(vec![b'z'; length], [0_u8; 8])])?;
    }
    lab.say("Keys of these and of some other lengths, each with one value of eight bytes, read back from the table:");
    let mut cells: Vec<(usize, usize)> = Vec::new();
    for row in lab.rows(&table, &Read::all())? {
        cells.extend(row.iter().map(|cell| (row.key().len(), key_value_bytes(&cell))));
    }
    cells.sort_unstable();
    let heap = |cell: usize| OBJECT + (ARRAY_HEAD + cell).div_ceil(8) * 8;
    lab.figures(
        &[">key", ">cell", ">object in Java", ""],
        cells.iter().map(|&(key, cell)| {
            let which = match key {
                12 => "two numbers",
                13 => "salt and two numbers",
                32 => "text",
                _ => "",
            };
            [key.to_string(), cell.to_string(), heap(cell).to_string(), which.to_owned()]
        }),
    );
    let of = |length: usize| cells.iter().find(|(key, _)| *key == length).map_or(0, |(_, cell)| *cell);
    lab.claim(cells.iter().all(|&(key, cell)| cell == key + of(12) - 12), "Each byte of the key is one byte of the cell; nothing is rounded.")?;
    lab.claim(
        [15, 16, 17].map(|length| heap(of(length))) == [96, 96, 96],
        "In a Java heap the cell is rounded up to eight bytes as a whole: 15, 16 and 17 bytes of key take the same 96.",
    )?;
    lab.claim(of(32) - of(12) == 20, "The text takes 20 bytes more than the numbers, in every cell.")?;

    lab.part(Part::Costs);
    lab.say(
        "A key can also be too short: a digest of two bytes in the place of a name mixes names up. And length is not what files cost. Under a block encoding \
         a cell writes what its key does not share with the one before: in HBase 2.6.4, 100 bytes that neighbours share take 16.9 bytes a cell, value \
         included, and 12 bytes in numbers 15.4.",
    );
    lab.caught("K-LEN", "ROW KEY (tenant CHAR(64), url CHAR(128), ts TIMESTAMP)", "ROW KEY (DICT(tenant, 4), DICT(url, 4), ts TIMESTAMP)")
}
