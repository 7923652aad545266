//! E33: the rule that the number of salts equals the number of regions.

use bytes::Bytes;
use halite::rowkey::{KeySchema, Splits};
use halite_rowkey_tools::lint::LintInput;
use halite_rowkey_tools::simulate::Skew;

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E33",
    title: "Salts and regions need to divide, not to be equal",
    rules: &["P-SALTREG"],
    see: &["E07", "E30"],
    run,
};

const ROWS: usize = 8_000;

fn salted(salts: u32) -> anyhow::Result<KeySchema> {
    Ok(format!("ROW KEY (SALT({salts} BY id), id STRING)").parse()?)
}

fn keys(key: &KeySchema) -> anyhow::Result<Vec<Bytes>> {
    (0..ROWS)
        .map(|index| {
            Ok(Bytes::copy_from_slice(&key.encode(&[format!("user_{index:06}").as_str().into()])?))
        })
        .collect()
}

/// Split keys of 16 regions, one for each of 16 salts.
fn sixteen_boundaries() -> Vec<Bytes> {
    (1..16_u8).map(|salt| Bytes::from(vec![salt])).collect()
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "There should be as many salts as regions, says a rule. A table was made with 16 regions \
         for 16 salts. Then it turned out that each salt is a scan more for every range that is \
         read, so the program takes three salts. The regions are there, it is thought, and will \
         fill up later.",
    );
    let three = salted(3)?;
    let table = lab.create_with_splits("users", &["u"], sixteen_boundaries())?;
    lab.load(&table, "u:n", keys(&three)?.into_iter().map(|key| (key, "1")))?;

    lab.section(Section::Outcome);
    let skew = lab.distribution(&table)?;
    lab.assert_claim(
        skew.empty_regions == 13 && (5.2..5.7).contains(&skew.max_over_mean),
        format!(
            "13 regions of 16 are empty, and the greatest has {:.1} times the mean.",
            skew.max_over_mean
        ),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "All rows of a salt lie side by side, and a region that holds the beginning of a salt \
         holds as much of it as its end allows. What the rule means is that no region may hold \
         more salts than another. That they are equal is one way; but regions split as they grow, \
         and after the first split the rule is broken, without any harm.",
    );
    let mut figures = Vec::new();
    let mut worst = Vec::new();
    for (salts, regions) in [(16, 16), (32, 16), (48, 16), (16, 8), (16, 10)] {
        let key = salted(salts)?;
        let splits = Splits::into_regions(&key, regions, None)?.keys;
        let all = keys(&key)?;
        let skew = Skew::from_keys(all.iter().map(|key| &key[..]), &splits, 0);
        worst.push(skew.max_over_mean);
        figures.push([
            salts.to_string(),
            regions.to_string(),
            format!("{:.2}", skew.max_over_mean),
            skew.empty_regions.to_string(),
        ]);
    }
    lab.data_table(&[">salts", ">regions", ">max/mean", ">empty"], figures);
    let [equal, twice, thrice, half, ten] = worst[..] else { anyhow::bail!("there are five") };
    lab.assert_claim(
        [equal, twice, thrice, half].iter().all(|skew| *skew < 1.15) && (1.2..1.4).contains(&ten),
        "Where the regions divide the salts, the rows lie evenly. 16 salts on 10 regions do not: \
         six regions get two salts, and four get one.",
    )?;

    lab.section(Section::Right);
    lab.paragraph(
        "Take more salts than regions at first, a multiple, so that regions can be moved apart for \
         a long time: 32 salts on 16 regions. SPLIT BY SALT x m gives each salt m regions where \
         one is not enough.",
    );
    let key = lab.key("ROW KEY (SALT(32 BY id), id STRING)")?;
    let right =
        lab.create_with_splits("users_2", &["u"], Splits::into_regions(&key, 16, None)?.keys)?;
    lab.load(&right, "u:n", keys(&key)?.into_iter().map(|key| (key, "1")))?;
    let even = lab.stored_skew(&right)?;
    lab.assert_claim(
        even.empty_regions == 0 && even.max_over_mean < 1.15,
        format!(
            "No region is empty, and the greatest has {:.2} times the mean.",
            even.max_over_mean
        ),
    )?;
    lab.paragraph(
        "The number of salts cannot be changed later without moving rows: a row is looked for \
         under the salt that is computed now.",
    );
    lab.expect_finding_in(
        "P-SALTREG",
        &LintInput { key: Some(&three), splits: Some(table.splits()), ..LintInput::default() },
        &LintInput { key: Some(&key), splits: Some(right.splits()), ..LintInput::default() },
    )
}
