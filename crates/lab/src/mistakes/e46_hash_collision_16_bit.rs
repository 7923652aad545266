//! E46: sixteen bits of a hash instead of a name.

use std::collections::HashSet;

use bytes::Bytes;
use halite::rowkey::KeySchema;
use halite_rowkey_tools::lint::{LintInput, LoadEstimate};

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E46",
    title: "Sixteen bits of a hash do not tell 10,000 hosts apart",
    rules: &["K-TRUNC"],
    see: &["E16", "E25"],
    run,
};

const HOSTS: u32 = 10_000;

fn name(host: u32) -> String {
    format!("host{host:05}.example.org")
}

fn codes(key: &KeySchema) -> anyhow::Result<Vec<Bytes>> {
    (0..HOSTS)
        .map(|host| Ok(Bytes::copy_from_slice(&key.encode(&[name(host).as_str().into()])?)))
        .collect()
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY (HASH(host STRING BYTES 2 USING md5))";
    const RIGHT: &str = "ROW KEY (HASH(host BYTES 2 USING md5), host STRING)";
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "Names of hosts are long, so 16 bits of a hash replace them in the key: 65,536 codes for \
         {HOSTS} hosts, far more than are needed. Each host's state is a row, with its name in a \
         column."
    ));
    let wrong = lab.key(WRONG)?;
    let table = lab.create("state", &["s"], &[])?;
    lab.load(
        &table,
        "s:host",
        codes(&wrong)?.into_iter().zip(0..).map(|(key, host)| (key, name(host))),
    )?;

    lab.section(Section::Outcome);
    let there = lab.rows(&table, &crate::ScanSpec::all())?.len();
    let lost = usize::try_from(HOSTS)? - there;
    lab.assert_claim(
        (640..810).contains(&lost),
        format!(
            "The table has {there} rows. {lost} hosts have no row of their own: another host of \
             the same code wrote over it."
        ),
    )?;
    let mut wrongly = None;
    for host in 0..HOSTS {
        let row = table
            .inner()
            .get(halite::Get::new(wrong.encode(&[name(host).as_str().into()])?.to_vec()))?;
        if let Some(other) = row.value("s", "host").filter(|other| *other != name(host).as_bytes())
        {
            wrongly = Some((name(host), String::from_utf8_lossy(other).into_owned()));
            break;
        }
    }
    let Some((queried, returned)) = wrongly else {
        anyhow::bail!("no host has the row of another")
    };
    lab.assert_claim(
        queried != returned,
        format!("A query for {queried} returns the state of {returned}."),
    )?;

    lab.section(Section::Why);
    let expected = |codes: f64| f64::from(HOSTS) - codes * (1.0 - (1.0 - 1.0 / codes).powi(10_000));
    lab.paragraph(
        "Hashes meet long before the codes run out: among 300 hosts with 16 bits it is more likely \
         than not that two share one. Of n hosts and m codes, about n * n / (2 * m) have to share.",
    );
    lab.data_table(
        &[">bits", ">of 10,000 hosts without a code of their own"],
        [("8", 256.0), ("16", 65_536.0), ("32", 4_294_967_296.0)]
            .map(|(bits, codes)| [bits.to_owned(), format!("{:.2}", expected(codes))]),
    );
    lab.assert_claim(
        (expected(65_536.0) - 725.0).abs() < 5.0,
        "725 are to be expected with 16 bits.",
    )?;

    lab.section(Section::Right);
    lab.paragraph(
        "A hash may precede the name to spread load, but not replace it. Or it is wide enough: \
         with 8 bytes even a million hosts share a code once in 37 million times. Or a dictionary \
         gives each name a number, DICT(host, 4), and no two the same.",
    );
    let right = lab.key(RIGHT)?;
    let keys = codes(&right)?;
    let table = lab.create("state_2", &["s"], &[])?;
    lab.load(&table, "s:host", keys.into_iter().zip(0..).map(|(key, host)| (key, name(host))))?;
    let there = lab.rows(&table, &crate::ScanSpec::all())?.len();
    let wide: HashSet<Bytes> =
        codes(&"(HASH(host STRING BYTES 8 USING md5))".parse()?)?.into_iter().collect();
    lab.assert_claim(
        u32::try_from(there)? == HOSTS,
        format!("With the name after the hash there are {there} rows."),
    )?;
    lab.assert_claim(
        u32::try_from(wide.len())? == HOSTS,
        "With 8 bytes of hash and no name there are as many different keys.",
    )?;
    let right: KeySchema = RIGHT.parse()?;
    let load = LoadEstimate { rows: Some(HOSTS.into()), ..LoadEstimate::default() };
    lab.expect_finding_in(
        "K-TRUNC",
        &LintInput { key: Some(&wrong), load, ..LintInput::default() },
        &LintInput { key: Some(&right), load, ..LintInput::default() },
    )
}
