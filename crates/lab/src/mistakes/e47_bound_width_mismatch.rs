//! E47: bounds of twelve digits for keys of fourteen.

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E47",
    title: "Bounds of fewer digits than the keys",
    rules: &["K-LOCAL"],
    see: &["E10", "E20"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY (time STRING, id U32)";
    const RIGHT: &str = "ROW KEY (ts TIMESTAMP, id U32)";
    lab.section(Section::Wrong);
    lab.paragraph(
        "Calls are stored under their time with 14 digits, to the second, and a number. Those of a \
         period are read by bounds of 12 digits, to the minute.",
    );
    let table = lab.create("calls", &["c"], &[])?;
    let calls = [
        "20150101000000_1",
        "20150523235959_2",
        "20150524000000_3",
        "20150524000030_4",
        "20150524000100_5",
    ];
    for call in calls {
        lab.put(&table, call, "c:n", "1")?;
    }

    lab.section(Section::Outcome);
    lab.paragraph("From 1 January, up to and without 24 May:");
    let found = lab.count(&table, &ScanSpec::from_row("201501010000").to("201505240000"))?;
    lab.assert_claim(
        found == 2,
        "That works. A text sorts before every longer one that begins with it, so both bounds fall \
         just in front of their minute.",
    )?;
    lab.paragraph(
        "Up to and with midnight of 24 May, as a second program queries it; a zero byte after the \
         stop row includes it:",
    );
    let included = lab.count(&table, &ScanSpec::from_row("201501010000").to("201505240000\0"))?;
    lab.assert_claim(
        included == 2,
        "The call of midnight is not found. The stop row is included, but no key is equal to it: \
         all have two digits more.",
    )?;
    lab.paragraph(
        "From 1 January to the millisecond, as a third program writes its times, with 17 digits:",
    );
    let finer = lab.count(&table, &ScanSpec::from_row("20150101000000000").to("201505240000"))?;
    lab.assert_claim(
        finer == 2,
        "The call of the first second is found, but only because _ sorts after the digit that the \
         bound has at that position.",
    )?;
    lab.put(&table, "20150101000000", "c:n", "1")?;
    let alone = lab.count(&table, &ScanSpec::from_row("20150101000000000").to("201501010001"))?;
    lab.assert_claim(
        alone == 1,
        "A call that was stored without a number, at the same second, is left out: it is shorter \
         than the bound, and so in front of it.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "As text, a time has an order only among texts of the same form. Bounds of another length \
         fall in front of a minute or into the middle of one, depending on which bound it is and \
         what follows the digits. It was right once by coincidence.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "A time is declared as a time. Bounds are times too, whatever digits they are written \
         with, and each states whether it is included.",
    );
    let (table, key) =
        lab.declare(&format!("CREATE TABLE calls_2 (n STRING FAMILY c, {RIGHT})"))?;
    for (id, time) in [
        "2015-01-01T00:00:00Z",
        "2015-05-23T23:59:59Z",
        "2015-05-24T00:00:00Z",
        "2015-05-24T00:00:30Z",
        "2015-05-24T00:01:00Z",
    ]
    .iter()
    .enumerate()
    {
        let row = lab.encode_key(&key, &[&format!("ts={time}"), &format!("id={}", id + 1)])?;
        table.inner().put(halite::Put::new(row).add("c", "n", "1"))?;
    }
    let without = lab.query(&table, &key, &["ts>=2015-01-01", "ts<2015-05-24"], None)?;
    let with = lab.query(&table, &key, &["ts>=2015-01-01", "ts<=2015-05-24T00:00:00Z"], None)?;
    let finer = lab.query_rows(
        &table,
        &key,
        &["ts>=2015-01-01T00:00:00.000Z", "ts<2015-05-24T00:00:00.000Z"],
        None,
    )?;
    lab.assert_claim(
        without.len() == 2 && with.len() == 3 && finer.len() == 2,
        "Two calls before 24 May, three with its midnight, and the same two by bounds to the \
         millisecond.",
    )?;
    lab.expect_finding("K-LOCAL", WRONG, RIGHT)
}
