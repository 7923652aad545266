//! K01: eight hexadecimal digits of MD5 in front of an id.

use bytes::Bytes;
use halite::rowkey::{RegionSplitter, Value};

use crate::declared_keys::{encode_keys, skew_for_keys};
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "K01",
    title: "Eight digits of MD5 in front of an id",
    rules: &["K-HEX"],
    see: &["K14", "K02", "K21"],
    run,
};

/// Computed with `MessageDigest.getInstance("MD5")` of Java 17.
const KEYS: [(&str, &str); 4] = [
    ("user_1", "3f49044c_user_1"),
    ("user_2", "15e1576a_user_2"),
    ("user_3", "a6f601b7_user_3"),
    ("user_12345", "bbfcd9b9_user_12345"),
];

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Ids that are counted up are spread by a digest in front of them, and the whole key stays \
         text: it can be typed, printed and read. This is the key of most tutorials: the first \
         eight hexadecimal digits of MD5, an underscore, the id.",
    );
    lab.section(Section::Declaration);
    let key = lab.key("ROW KEY TEXT '{md5(user):8}_{user}'")?;

    lab.section(Section::Demonstration);
    let table = lab.create("users", &["u"], &["40000000", "80000000", "c0000000"])?;
    for (user, _) in KEYS {
        lab.write(&table, &key, &[&format!("user={user}")], "u:id", user)?;
    }
    let right = KEYS.iter().filter(|(user, key)| {
        table
            .inner()
            .get(halite::Get::new(*key))
            .is_ok_and(|row| row.value("u", "id") == Some(user.as_bytes()))
    });
    lab.assert_claim(right.count() == 4, "They are the keys that Java's MessageDigest gives.")?;
    lab.explain(&key, &["user=user_12345"], None)?;
    let found = lab.query(&table, &key, &["user=user_12345"], None)?;
    lab.assert_claim(
        found.len() == 1,
        "The digest is computed from the requested id, so the row is found by its key.",
    )?;

    lab.paragraph(
        "20,000 ids in the order in which they are given out, on 16 regions as HBase's \
         HexStringSplit makes them:",
    );
    let ids: Vec<String> = (0..20_000).map(|id| format!("user_{id}")).collect();
    let keys: Vec<Bytes> = encode_keys(&key, ids.iter().map(|id| [Value::from(id.as_str())]))?;
    let skew = skew_for_keys(&keys, &RegionSplitter::HexString.split(16)?, 2_000);
    lab.skews(&[("md5, 8 digits", &skew)]);
    lab.assert_claim(
        skew.max_over_mean < 1.1 && skew.window_mean < 1.35,
        "All regions take their share, as a whole and at any moment.",
    )?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Nine bytes in front of every cell's key, where two bytes of the digest would spread as \
         well. No range of ids can be read any more. Eight digits are not the whole MD5: writers \
         and readers of these keys have to use the same number of digits.",
    );
    lab.expect_finding(
        "K-HEX",
        "ROW KEY (HASH(user BYTES 4 USING md5 HEX), user STRING)",
        "ROW KEY (HASH(user BYTES 2 USING md5), user STRING)",
    )
}
