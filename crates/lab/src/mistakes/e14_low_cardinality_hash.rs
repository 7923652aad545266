//! E14: a hash of a field with few values.

use bytes::Bytes;
use halite::rowkey::{KeySchema, Splits, Value};
use halite_rowkey_tools::lint::{KeySample, LintInput};

use crate::samples::{SECOND, T0, Zipf};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E14",
    title: "Eight values hashed are eight places",
    rules: &["K-LOWCARD"],
    see: &["E04", "E34"],
    run,
};

const CITIES: [&str; 8] =
    ["shanghai", "beijing", "shenzhen", "guangzhou", "chengdu", "hangzhou", "wuhan", "nanjing"];
const ORDERS: usize = 8_000;

fn keys(key: &KeySchema, orders: &[(usize, i64, u64)]) -> anyhow::Result<Vec<Bytes>> {
    let one = |&(city, ts, id): &(usize, i64, u64)| {
        Ok(Bytes::copy_from_slice(&key.encode(&[
            CITIES[city].into(),
            Value::Signed(ts),
            Value::Unsigned(id),
        ])?))
    };
    orders.iter().map(one).collect()
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY (HASH(city BYTES 2 USING md5), city STRING, ts TIMESTAMP, id U64)";
    const RIGHT: &str = "ROW KEY (SALT(16 BY city, id), city STRING, ts TIMESTAMP, id U64)";
    lab.section(Section::Wrong);
    lab.paragraph(
        "Orders of eight cities would be written to eight places in the table, the newest of each \
         city. So a hash of the city goes in front, which is known to spread load, and the table \
         is made with 16 regions of equal parts of all hashes.",
    );
    let wrong = lab.key(WRONG)?;
    let table =
        lab.create_with_splits("orders", &["o"], Splits::into_regions(&wrong, 16, None)?.keys)?;
    lab.paragraph(format!(
        "{ORDERS} orders come in; as cities are, the second has half as many as the first, the \
         third a third."
    ));
    let zipf = Zipf::new(8, 1.0);
    let orders: Vec<_> = (0_i64..)
        .zip(1_u64..)
        .take(ORDERS)
        .map(|(index, id)| (zipf.sample(lab.rng()), T0 + index * SECOND, id))
        .collect();
    let wrong_keys = keys(&wrong, &orders)?;
    lab.load(&table, "o:v", wrong_keys.iter().map(|key| (key.clone(), "1")))?;

    lab.section(Section::Outcome);
    let skew = lab.distribution(&table)?;
    lab.assert_claim(
        skew.empty_regions >= 8 && skew.max_over_mean > 5.0,
        format!(
            "{} of 16 regions are empty and stay so; the greatest has {:.1} times the mean.",
            skew.empty_regions, skew.max_over_mean
        ),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "Equal values have equal hashes. Eight cities are eight places after hashing, only \
         elsewhere, and a city with a third of the orders is a third of the load in one place. A \
         hash spreads values, not rows: it can spread load over as many places as there are \
         values, and no more.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "What spreads the load has to have many values. The salt is computed from the city and the \
         order's number.",
    );
    let right = lab.key(RIGHT)?;
    let right_keys = keys(&right, &orders)?;
    let table =
        lab.create_with_splits("orders_2", &["o"], Splits::by_salt(&right, 1, None)?.keys)?;
    lab.load(&table, "o:v", right_keys.iter().map(|key| (key.clone(), "1")))?;
    let even = lab.stored_skew(&table)?;
    lab.assert_claim(
        even.empty_regions == 0 && even.max_over_mean < 1.2,
        format!(
            "All 16 regions are used, the greatest {:.2} times as much as the mean one.",
            even.max_over_mean
        ),
    )?;
    lab.paragraph(
        "The price: the orders of a city lie under all salts. They are read as 16 ranges, and \
         merged.",
    );
    let found = lab.query(&table, &right, &["city=wuhan"], Some(3))?;
    let ids: Vec<_> = orders
        .iter()
        .filter(|order| CITIES[order.0] == "wuhan")
        .take(3)
        .map(|order| order.2)
        .collect();
    let first = keys(
        &right,
        &orders.iter().filter(|order| ids.contains(&order.2)).copied().collect::<Vec<_>>(),
    )?;
    lab.assert_claim(
        found.iter().map(halite::Row::key).eq(first.iter().map(|key| &key[..])),
        "They come in the order of their times all the same.",
    )?;
    let sample = |keys: &[Bytes]| KeySample { keys: keys.to_vec(), is_in_arrival_order: true };
    let (bad, good) = (sample(&wrong_keys), sample(&right_keys));
    lab.expect_finding_in(
        "K-LOWCARD",
        &LintInput { key: Some(&wrong), sample: Some(&bad), ..LintInput::default() },
        &LintInput { key: Some(&right), sample: Some(&good), ..LintInput::default() },
    )
}
