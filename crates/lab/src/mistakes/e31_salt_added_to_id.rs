//! E31: a salt that is added to the id instead of prefixed to it.

use bytes::Bytes;

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E31",
    title: "A number plus a number is a sum, not a prefix",
    rules: &["K-MONO"],
    see: &["E07", "E30"],
    run,
};

const FIRST: u64 = 100_000;
const ROWS: u64 = 4_000;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "Rows are to be spread by a salt, and the key is written as (id % 5) + id. Both are \
         numbers, so the plus adds them. The table has five regions, from 1, 2, 3 and 4; ids are \
         counted up from {FIRST}.",
    ));
    let table = lab.create("rows", &["r"], &["1", "2", "3", "4"])?;
    let wrong: Vec<String> = (FIRST..FIRST + ROWS).map(|id| ((id % 5) + id).to_string()).collect();
    lab.load(&table, "r:v", wrong.iter().map(|key| (key.clone(), "1")))?;
    lab.data_table(
        &[">id", ">id % 5", "key"],
        (FIRST + 14..FIRST + 18)
            .map(|id| [id.to_string(), (id % 5).to_string(), ((id % 5) + id).to_string()]),
    );

    lab.section(Section::Outcome);
    let skew = lab.distribution(&table)?;
    lab.assert_claim(
        skew.empty_regions == 4,
        "All rows are in one region of five. The key is a number that grows, with a small disorder \
         in its last digit.",
    )?;
    lab.assert_claim(
        wrong.windows(2).filter(|pair| pair[0] < pair[1]).count() * 5 >= (wrong.len() - 1) * 4,
        "From one row to the next the key rises in four of five cases. Nor can the id be read back \
         from a key without trying.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A row key is bytes. As soon as numbers are combined with an arithmetic operator, or with \
         text by an implicit conversion, the result depends on the language and on the types of \
         that line.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "The salt is declared as such. It is a byte of its own in front, whatever the type of the \
         id.",
    );
    let (right, key) = lab.declare(
        "CREATE TABLE rows_2 (v STRING FAMILY r, ROW KEY (SALT(5 BY id USING modulo), id U64)) \
         SPLIT BY SALT",
    )?;
    let keys = (FIRST..FIRST + ROWS)
        .map(|id| Ok(Bytes::copy_from_slice(&key.encode(&[halite::rowkey::Value::Unsigned(id)])?)));
    let keys = keys.collect::<anyhow::Result<Vec<_>>>()?;
    lab.load(&right, "r:v", keys.iter().map(|key| (key.clone(), "1")))?;
    let even = lab.distribution(&right)?;
    lab.assert_claim(even.counts == [800; 5], "Five regions with 800 rows each.")?;
    let one = lab.encode(&key, &["id=100017"])?;
    let back = lab.decode(&key, &one)?;
    lab.assert_claim(
        one[0] == 2 && back == "id = 100017",
        "The salt of 100017 is 2, and the id is read back from the key.",
    )?;
    let wrong = "ROW KEY (id U64)";
    lab.expect_finding("K-MONO", wrong, "ROW KEY (SALT(5 BY id USING modulo), id U64)")
}
