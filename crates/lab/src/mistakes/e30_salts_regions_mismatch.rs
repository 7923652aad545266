//! E30: five salts on four regions.

use bytes::Bytes;
use halite_rowkey_tools::lint::LintInput;

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E30",
    title: "Five salts on four regions give one region two of them",
    rules: &["P-SALTREG"],
    see: &["E31", "E33"],
    run,
};

const ROWS: u64 = 5_000;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Rows are spread by their id: the salt is id mod 5, as a digit in front of the key. The \
         table was made with three split keys, 1, 2 and 3, as in many examples.",
    );
    let key = lab.key("ROW KEY TEXT '{salt(5 by id using modulo):1}{id U64}'")?;
    let table = lab.create("rows", &["r"], &["1", "2", "3"])?;
    let keys = (0..ROWS)
        .map(|id| Ok(Bytes::copy_from_slice(&key.encode(&[halite::rowkey::Value::Unsigned(id)])?)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    lab.load(&table, "r:v", keys.iter().map(|key| (key.clone(), "1")))?;

    lab.section(Section::Outcome);
    let skew = lab.distribution(&table)?;
    lab.assert_claim(
        skew.counts == [1000, 1000, 1000, 2000] && (skew.max_over_mean - 1.6).abs() < 0.01,
        "The last region has 40 % of all rows, 1.60 times the mean: keys that begin with 3 and \
         with 4 are after the last boundary.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "n split keys make n + 1 regions, and there is a region before the first split key. Five \
         salts need four split keys, 1 to 4; a salt 0 needs none.",
    );

    lab.section(Section::Right);
    let table = lab.create("rows_2", &["r"], &["1", "2", "3", "4"])?;
    lab.load(&table, "r:v", keys.iter().map(|key| (key.clone(), "1")))?;
    let even = lab.distribution(&table)?;
    lab.assert_claim(even.counts == [1000; 5], "Five regions with 1000 rows each.")?;
    lab.paragraph(
        "SPLIT BY SALT in the declaration of a table computes the split keys from the salts, so \
         that the two cannot differ.",
    );
    let wrong = [b"1", b"2", b"3"].map(|boundary| Bytes::from_static(boundary));
    let right = [b"1", b"2", b"3", b"4"].map(|boundary| Bytes::from_static(boundary));
    lab.expect_finding_in(
        "P-SALTREG",
        &LintInput { key: Some(&key), splits: Some(&wrong), ..LintInput::default() },
        &LintInput { key: Some(&key), splits: Some(&right), ..LintInput::default() },
    )
}
