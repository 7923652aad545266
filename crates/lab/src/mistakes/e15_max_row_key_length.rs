//! E15: the maximum row key length, which is not 64 KB.

use halite::{ErrorKind, Get, Put};

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E15",
    title: "A row key has at most 32,767 bytes, not 64 KB",
    rules: &["K-LEN"],
    see: &["E16", "E17"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Pages of a crawler are stored under their address. Addresses may be long, and a row key \
         can have up to 64 KB, so nothing is checked.",
    );
    let table = lab.create("pages", &["p"], &[])?;
    let calls = table.inner().clone();
    let put = |length: usize| calls.put(Put::new(vec![b'a'; length]).add("p", "title", "x"));
    put(32_767)?;
    lab.statement("put 'pages', 'a' * 32767, 'p:title', 'x'", Vec::new());

    lab.section(Section::Outcome);
    let longer = lab.expect_call_error("put 'pages', 'a' * 32768, 'p:title', 'x'", put(32_768))?;
    lab.assert_claim(
        longer.kind() == ErrorKind::InvalidRequest,
        "32,767 bytes are written. One more is refused, half way to 64 KB.",
    )?;
    let got =
        lab.expect_call_error("get 'pages', 'a' * 32768", calls.get(Get::new(vec![b'a'; 32_768])))?;
    let empty = lab.expect_call_error("put 'pages', '', 'p:title', 'x'", put(0))?;
    lab.assert_claim(
        got.kind() == ErrorKind::InvalidRequest && empty.kind() == ErrorKind::InvalidRequest,
        "So is a get of such a key, and a key without any bytes.",
    )?;
    let found = calls.get(Get::new(vec![b'a'; 32_767]))?;
    lab.assert_claim(found.key().len() == 32_767, "The longest key there is can be read back.")?;

    lab.section(Section::Why);
    lab.paragraph(
        "Every cell contains the length of the row in two bytes before it, and Java reads two \
         bytes as a number with a sign: 32,767 is Short.MAX_VALUE. A row of one cell with such a \
         key is 32 KB long, one of ten columns 320 KB.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "An address that is only looked up alone, and never as one of a range, is hashed: 16 bytes \
         for any length. The address itself is a value, stored once.",
    );
    let (table, key) = lab.declare(
        "CREATE TABLE pages_2 (url STRING FAMILY p, ROW KEY (HASH(address STRING BYTES 16 USING \
         sha256)))",
    )?;
    let address = format!("https://example.org/{}", "a/".repeat(20_000));
    let row = key.encode(&[address.as_str().into()])?;
    table.inner().put(Put::new(row.to_vec()).add("p", "url", &address))?;
    lab.statement(
        "put 'pages_2', HASH(<an address of 40,020 bytes>), 'p:url', <the address>",
        Vec::new(),
    );
    let found = table.inner().get(Get::new(row.to_vec()))?;
    lab.assert_claim(
        row.len() == 16 && found.value("p", "url") == Some(address.as_bytes()),
        "A page with an address of 40,020 bytes is stored under a key of 16.",
    )?;
    lab.expect_finding(
        "K-LEN",
        "ROW KEY (site CHAR(64), address CHAR(200))",
        "ROW KEY (site CHAR(64), HASH(address STRING BYTES 16 USING sha256))",
    )
}
