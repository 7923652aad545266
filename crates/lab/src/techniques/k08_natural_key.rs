//! K08: a natural id as the whole key: right for random ids, wrong for increasing ids.

use bytes::Bytes;
use halite::rowkey::RegionSplitter;
use halite_rowkey_tools::lint::{KeySample, LintInput};
use halite_rowkey_tools::split_sample;

use crate::declared_keys::skew_for_keys;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K08",
    title: "A natural id as the whole key",
    rules: &["K-MONO"],
    see: &["K13", "K14", "K11"],
    run,
};

const ORDERS: usize = 100_000;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "An order has a number, a parcel a code, a session a UUID. If all queries specify it, it \
         is the whole key: nothing is shorter, and one get finds the row. Whether it also spreads \
         depends on how the ids are given out.",
    );
    lab.section(Section::Declaration);
    let text = "CREATE TABLE sessions (\n  user STRING FAMILY s QUALIFIER u,\n  ROW KEY (id UUID)\n\
                ) SPLIT INTO 16";
    let (table, key) = lab.declare(text)?;

    lab.section(Section::Demonstration);
    lab.write(&table, &key, &["id=0189c2a4-93f1-4d3a-8a55-0b1c2d3e4f50"], "s:u", "user_1")?;
    let found = lab.query(&table, &key, &["id=0189c2a4-93f1-4d3a-8a55-0b1c2d3e4f50"], None)?;
    lab.assert_claim(
        found.len() == 1 && found[0].key().len() == 16,
        "A UUID is 16 bytes, and the row is found by them.",
    )?;

    lab.paragraph(format!(
        "{ORDERS} ids in the order in which they are given out, on 16 regions of equal size in the \
         end, in windows of 2000:"
    ));
    let counted: Vec<Bytes> =
        (0..ORDERS).map(|id| Bytes::from(format!("{:010}", 4_000_000 + id))).collect();
    let random: Vec<Bytes> = (0..ORDERS).map(|_| uuid4(lab.rng())).collect();
    let boundaries = split_sample(counted.clone(), 16)?.keys;
    let (rising, even) = (
        skew_for_keys(&counted, &boundaries, 2_000),
        skew_for_keys(&random, &RegionSplitter::Uniform.split(16)?, 2_000),
    );
    lab.skews(&[("order numbers", &rising), ("random UUIDs", &even)]);
    lab.assert_claim(rising.max_over_mean < 1.01, "As a whole, order numbers are perfectly even.")?;
    lab.assert_claim(
        rising.window_median >= 0.9 * 16.0 && rising.window_effective_regions < 1.1,
        "At any moment one region does all the work: new numbers follow all existing ones.",
    )?;
    lab.assert_claim(
        even.max_over_mean < 1.1 && even.window_mean < 1.4,
        "Random UUIDs use all 16 regions at any moment.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Random ids cannot be read in the order in which they came. UUIDs of version 7 and ULIDs \
         begin with the time and rise as order numbers do. For ids that rise: a salt (K13), a hash \
         (K14), or their digits back to front (K11).",
    );
    let of = |keys: &[Bytes]| KeySample { keys: keys[..2_000].to_vec(), is_in_arrival_order: true };
    let (wrong, right) = (of(&counted), of(&random));
    let subject = |sample| LintInput { sample: Some(sample), ..LintInput::default() };
    lab.expect_finding_in("K-MONO", &subject(&wrong), &subject(&right))
}

/// Returns a UUID of version 4.
fn uuid4(chance: &mut fastrand::Rng) -> Bytes {
    let mut bytes = chance.u128(..).to_be_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Bytes::copy_from_slice(&bytes)
}
