//! E43: keys of 32 and 65 bytes, compared with a rule of 16.

use crate::manual_keys::md5_hex;
use crate::samples::{T0, reversed};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E43",
    title: "Text and digits make a key of 13 bytes one of 65",
    rules: &["K-HEX"],
    see: &["E16", "E17"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Keys should have 16 bytes at most, says a rule, and the example under it is a sensor and \
         a reversed time as text. To spread load, the MD5 of it goes in front.",
    );
    let table = lab.create("points", &["d"], &[])?;
    let text = format!("sensor_00042_{}", reversed(T0));
    let hashed = format!("{}_{text}", md5_hex(&text, 32)?);
    lab.put(&table, &text, "d:v", "20.5")?;
    lab.put(&table, &hashed, "d:v", "20.5")?;

    lab.section(Section::Outcome);
    let lengths: Vec<usize> =
        lab.rows(&table, &ScanSpec::all())?.iter().map(|row| row.key().len()).collect();
    lab.assert_claim(
        lengths.contains(&32) && lengths.contains(&65),
        "The key has 32 bytes, twice what the rule allows, and 65 with the digest in front.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A time is eight bytes, and 19 digits. A number below four thousand million is four bytes, \
         and here twelve characters. A digest is 16 bytes and 32 digits, and all of it where one \
         byte would spread the load over 256 regions.",
    );

    lab.section(Section::Right);
    lab.paragraph("The same as what it is:");
    let mut figures = vec![("text", 32), ("MD5 and text", 65)];
    let given = ["sensor=42", "ts=2024-03-15"];
    let plain = lab.key("ROW KEY (sensor U32, ts TIMESTAMP DESC)")?;
    let short = lab.encode(&plain, &given)?;
    let salted = lab.key("ROW KEY (SALT(16 BY sensor), sensor U32, ts TIMESTAMP DESC)")?;
    let spread = lab.encode(&salted, &given)?;
    figures.extend([("sensor, time", short.len()), ("salt, sensor, time", spread.len())]);
    lab.data_table(
        &["key", ">bytes"],
        figures.iter().map(|(name, bytes)| [(*name).to_owned(), bytes.to_string()]),
    );
    lab.assert_claim(short.len() == 12 && spread.len() == 13, "12 bytes, and 13 with a salt.")?;
    let back = lab.decode(&salted, &spread)?;
    lab.assert_claim(
        back == "sensor = 42, ts = 2024-03-15T00:00:00Z",
        "They are read back as sensor and time, so the bytes need not be read.",
    )?;
    lab.paragraph(
        "Names that are no numbers get numbers from a dictionary, or stay text: on disk a block \
         encoding leaves out what neighbours share. What it cannot leave out is a digest.",
    );
    lab.expect_finding(
        "K-HEX",
        "ROW KEY (HASH(sensor BYTES 16 USING md5 HEX), sensor U32, ts TIMESTAMP DESC)",
        "ROW KEY (SALT(16 BY sensor), sensor U32, ts TIMESTAMP DESC)",
    )
}
