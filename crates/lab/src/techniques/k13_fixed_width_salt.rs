//! K13: a salt of fixed length before increasing keys, with as many regions as salts.

use bytes::Bytes;
use halite::rowkey::Splits;
use halite_rowkey_tools::simulate::{Skew, panel_of_keys};

use crate::declared_keys::skew_for_keys;
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K13",
    title: "A salt in front, and as many regions as salts",
    rules: &["P-SALTREG"],
    see: &["K14", "K16", "K22"],
    run,
};

/// Number of salted keys, large enough that random variation does not hide the effect of the salts.
const ORDERS: u32 = 200_000;
/// Orders written in one moment.
const WINDOW: usize = 2_000;
const DECLARED: &str = "ROW KEY (SALT(16 BY id), id STRING)";

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Order numbers rise, so new orders are adjacent, at the end of the table, and one region \
         takes every write. A salt in front of the number spreads them: a number below n, of fixed \
         length, computed from the key itself.",
    );
    lab.section(Section::Declaration);
    let (table, key) = lab.declare(
        "CREATE TABLE orders (\n  total DECIMAL FAMILY o QUALIFIER t,\n  ROW KEY (SALT(16 BY id), \
         id STRING)\n) SPLIT BY SALT",
    )?;

    lab.section(Section::Demonstration);
    for id in 1001..1005 {
        lab.write(&table, &key, &[&format!("id=order-{id}")], "o:t", "9.90")?;
    }
    let rows = lab.scan(&table, &ScanSpec::all())?;
    let salts: std::collections::BTreeSet<_> = rows.iter().map(|row| row.key()[0]).collect();
    lab.assert_claim(
        rows.len() == 4 && salts.len() == 3,
        "Four orders in a row lie under three salts: \\x07, \\x0B and \\x0F.",
    )?;
    lab.assert_claim(
        table.splits().len() == 15,
        "The table has 16 regions, each beginning with its salt.",
    )?;

    lab.paragraph(format!(
        "{ORDERS} orders, written in the order of their numbers, in windows of {WINDOW}:"
    ));
    let salts = |count: u32| {
        format!("ROW KEY (SALT({count} BY id), id STRING)").parse().map_err(anyhow::Error::from)
    };
    let sixteen = boundaries(&key, 16)?;
    let (even, (plain_splits, unsalted)) = (distribution(&key, &sixteen)?, unsalted());
    let ten = distribution(&key, &boundaries(&key, 10)?)?;
    let three = distribution(&salts(3)?, table.splits())?;
    lab.skews(&[
        ("no salt", &unsalted),
        ("16 salts, 16 regions", &even),
        ("16 salts, 10 regions", &ten),
        ("3 salts, 16 regions", &three),
    ]);
    let plain = "ROW KEY (id STRING)".parse()?;
    let plain_keys: Vec<Bytes> = ids().map(Bytes::from).collect();
    lab.picture(
        "The same orders without a salt and with one",
        vec![
            panel_of_keys(&plain, &plain_keys, &plain_splits, &unsalted),
            panel_of_keys(&key, &keys(&key)?, &sixteen, &even),
        ],
    );
    lab.assert_claim(
        unsalted.window_mean > 15.0,
        "Without a salt, every window goes to one region, or to two where it crosses a boundary.",
    )?;
    lab.assert_claim(
        even.max_over_mean < 1.05 && even.window_mean < 1.35,
        "With 16 salts on 16 regions all of them work all the time.",
    )?;
    lab.assert_claim(
        (1.2..1.35).contains(&ten.max_over_mean),
        "With 16 salts on 10 regions, six regions hold two salts and four hold one.",
    )?;
    lab.assert_claim(
        three.empty_regions == 13 && (5.3..5.5).contains(&three.max_over_mean),
        "With 3 salts on 16 regions 13 regions stay empty.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "A query that does not specify the order runs once for each salt, and the results are \
         merged (K22). Take as many salts as there may be busy regions one day, not more: salts \
         cannot be changed without moving rows, and a salt may grow over several regions later.",
    );
    let table = |regions| {
        format!(
            "CREATE TABLE orders (total DECIMAL FAMILY o QUALIFIER t, {DECLARED}) SPLIT INTO \
             {regions}"
        )
    };
    lab.expect_finding("P-SALTREG", &table(10), &table(8))
}

fn boundaries(key: &halite::rowkey::KeySchema, regions: u32) -> anyhow::Result<Vec<Bytes>> {
    Ok(Splits::into_regions(key, regions, None)?.keys)
}

fn ids() -> impl Iterator<Item = String> {
    (0..ORDERS).map(|id| format!("order-{id:08}"))
}

fn distribution(key: &halite::rowkey::KeySchema, boundaries: &[Bytes]) -> anyhow::Result<Skew> {
    Ok(skew_for_keys(&keys(key)?, boundaries, WINDOW))
}

fn keys(key: &halite::rowkey::KeySchema) -> anyhow::Result<Vec<Bytes>> {
    ids().map(|id| Ok(Bytes::copy_from_slice(&key.encode(&[id.as_str().into()])?))).collect()
}

/// Returns the numbers without a salt, on 16 regions that finally have equal sizes.
fn unsalted() -> (Vec<Bytes>, Skew) {
    let keys: Vec<Bytes> = ids().map(Bytes::from).collect();
    let boundaries: Vec<Bytes> =
        (1..16).map(|region| keys[keys.len() * region / 16].clone()).collect();
    let skew = skew_for_keys(&keys, &boundaries, WINDOW);
    (boundaries, skew)
}
