//! E13: a hash of which every program uses another number of digits.

use crate::manual_keys::md5_hex;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E13",
    title: "One hash, three widths, three keys",
    rules: &["K-ENTROPY"],
    see: &["E04", "E17"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Users are stored under a prefix of the MD5 of their id and the id. The length of the \
         prefix is specified in three places: the design contains MD5(id)_id, its example shows \
         four digits, the program that writes takes eight.",
    );
    let table = lab.create("users", &["u"], &[])?;
    for user in ["user_1", "user_2", "user_3", "user_12345"] {
        lab.put(&table, format!("{}_{user}", md5_hex(user, 8)?), "u:name", user)?;
    }

    lab.section(Section::Outcome);
    lab.paragraph("A second program reads user_12345 by the design, a third one by the example.");
    let whole = lab.get(&table, format!("{}_user_12345", md5_hex("user_12345", 32)?))?;
    let four = lab.get(&table, format!("{}_user_12345", md5_hex("user_12345", 4)?))?;
    lab.assert_claim(
        whole.is_empty() && four.is_empty(),
        "Neither finds the user. To both it looks as if there were none.",
    )?;
    lab.put(&table, format!("{}_user_12345", md5_hex("user_12345", 4)?), "u:name", "user_12345")?;
    let rows = lab.rows(&table, &crate::ScanSpec::all())?;
    let same = rows.iter().filter(|row| row.value("u", "name") == Some(b"user_12345")).count();
    lab.assert_claim(same == 2, "The third one creates it then, and the user is there twice.")?;

    lab.section(Section::Why);
    lab.paragraph(
        "The width of a hash is a part of the key as much as the id is. It was never written down \
         as such: programs and documents repeat it, each from memory.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "The declaration is the only place, and the table stores it: every program that opens the \
         table creates the same keys.",
    );
    let text = "ROW KEY TEXT '{md5(id):8}_{id}'";
    let key = lab.key(text)?;
    let mut made = Vec::new();
    for (user, expected) in [
        ("user_1", "3f49044c_user_1"),
        ("user_2", "15e1576a_user_2"),
        ("user_3", "a6f601b7_user_3"),
        ("user_12345", "bbfcd9b9_user_12345"),
    ] {
        made.push(lab.encode(&key, &[&format!("id={user}")])? == expected);
    }
    lab.assert_claim(
        made.iter().all(|right| *right),
        "These are the first eight digits of the MD5 of each id, as any tool computes them.",
    )?;
    let found = lab.query(&table, &key, &["id=user_12345"], None)?;
    lab.assert_claim(
        found.len() == 1 && found[0].key() == b"bbfcd9b9_user_12345",
        "The user is found, where the first program wrote it.",
    )?;
    lab.paragraph(
        "How many digits there should be is a question of its own: four are 65,536 places, more \
         than any table has regions.",
    );
    lab.expect_finding(
        "K-ENTROPY",
        "ROW KEY TEXT '{md5(id):32}_{id}'",
        "ROW KEY TEXT '{md5(id):4}_{id}'",
    )
}
