//! K14: a digest before a key or instead of it: every client computes the same one.

use halite::key::to_hex;

use crate::counting_table::CountingTable;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K14",
    title: "A hash in front of the key, or in its place",
    rules: &["K-TRUNC", "K-ENTROPY"],
    see: &["K13", "K01", "K29"],
    run,
};

/// First eight bytes of the digests of "abc", as printed in their standards (RFC 1321, FIPS 180-4).
const STANDARD: [(&str, u16, &str); 4] = [
    ("md5", 16, "900150983cd24fb0"),
    ("sha1", 20, "a9993e364706816a"),
    ("sha256", 32, "ba7816bf8f01cfea"),
    ("sha512", 64, "ddaf35a193617aba"),
];

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A digest spreads keys as a salt does, over as many places as its bytes have values, and \
         it can be computed again from the key: reading one row takes one get. It precedes the \
         field, or replaces it where the field is long and only queried as a whole.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE users (\n  name STRING FAMILY u QUALIFIER n,\n  ROW KEY (HASH(id \
                BYTES 2 USING md5), id STRING)\n) SPLIT INTO 16";
    let (table, key) = lab.declare(text)?;
    lab.paragraph(
        "Instead of the field: the hash contains its type, and nothing else of it is in the key.",
    );
    let replaced = lab.key("ROW KEY (HASH(url STRING BYTES 16 USING sha256))")?;

    lab.section(Section::Demonstration);
    lab.write(&table, &key, &["id=user_1"], "u:n", "Ada")?;
    lab.write(&table, &key, &["id=user_2"], "u:n", "Grace")?;
    lab.explain(&key, &["id=user_2"], None)?;
    let (counted, reads) = CountingTable::wrap(lab.dyn_table(&table)?);
    let found = lab.execute_plan(counted, &lab.plan(&key, &["id=user_2"], None)?)?;
    let name = found.first().and_then(|row| row.value("u", "n"));
    lab.assert_claim(
        name == Some(b"Grace") && (reads.gets(), reads.scans()) == (1, 0),
        "The row of user_2 is found by one get.",
    )?;
    let again = lab.encode_key(&key, &["id=user_2"])?;
    lab.assert_claim(
        found.first().is_some_and(|row| row.key() == again),
        "Computed again, the key is the same.",
    )?;
    digests(lab)?;
    let url = "url=https://example.org/catalogue/2024/spring/shoes?colour=green&size=41";
    let short = lab.encode(&replaced, &[url])?;
    lab.assert_claim(
        short.len() == 16,
        "A long address becomes 16 bytes. It cannot be read back from them, so it belongs into a \
         column too.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Neighbors are separated: a range or a prefix of the hashed field is a scan of the whole \
         table. Hash only what is always queried by equality. Two bytes distinguish 65,536 values, \
         which is enough to spread rows; more of them only make the key longer. A hash instead of \
         a field has to be long enough that no two values meet: 16 bytes are.",
    );
    let (short, long) = (
        "ROW KEY (HASH(url STRING BYTES 2), ts TIMESTAMP)",
        "ROW KEY (HASH(url BYTES 2), url STRING, ts TIMESTAMP)",
    );
    lab.expect_finding("K-TRUNC", short, long)?;
    lab.expect_finding(
        "K-ENTROPY",
        "ROW KEY (HASH(id BYTES 16 USING md5 HEX), id STRING)",
        "ROW KEY (HASH(id BYTES 2 USING md5), id STRING)",
    )
}

/// Compares the four digests with those printed in their standards.
fn digests(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.paragraph("Of the id \"abc\", the first eight bytes under each function:");
    let mut rows = Vec::new();
    let mut right = 0;
    for (function, bytes, standard) in STANDARD {
        let key = format!("ROW KEY (HASH(id STRING BYTES {bytes} USING {function}))").parse()?;
        let (once, twice) =
            (lab.encode_key(&key, &["id=abc"])?, lab.encode_key(&key, &["id=abc"])?);
        right += usize::from(
            once == twice && once.len() == usize::from(bytes) && to_hex(&once[..8]) == standard,
        );
        rows.push([function.to_owned(), bytes.to_string(), to_hex(&once[..8])]);
    }
    lab.data_table(&["function", ">bytes", "of abc"], rows);
    lab.assert_claim(
        right == 4,
        "They are what the standards of MD5, SHA-1, SHA-256 and SHA-512 print for it.",
    )
}
