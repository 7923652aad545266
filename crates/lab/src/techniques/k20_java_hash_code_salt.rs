//! K20: Java's hashCode in three digits as a salt.

use halite_rowkey_tools::lint::{KeySample, LintInput};

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K20",
    title: "Java's hashCode in three digits as a salt",
    rules: &["K-NEGMOD"],
    see: &["K21", "K22"],
    run,
};

/// Returns `String.hashCode`.
fn hash_code(text: &str) -> i32 {
    text.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(unit.into()))
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "Every Java client has String.hashCode at hand, so it often makes the salt: its remainder \
         by 1000, as three digits. The digits have to be three, or salts do not sort as numbers, \
         and the remainder must not be negative: Math.floorMod, not %.",
    );
    lab.section(Section::Declaration);
    let key = lab.key("ROW KEY TEXT '{salt(1000 by id using java):3}{id}'")?;

    lab.section(Section::Demonstration);
    let id = "20150524002300_1232";
    let salted = lab.encode(&key, &[&format!("id={id}")])?;
    lab.assert_claim(&salted[..] == b"79720150524002300_1232", "Its salt is 797.")?;
    lab.data_table(
        &["of 20150524002300_1232", ">"],
        [
            ["hashCode()".to_owned(), hash_code(id).to_string()],
            ["hashCode() % 1000".to_owned(), (hash_code(id) % 1000).to_string()],
            [
                "Math.floorMod(hashCode(), 1000)".to_owned(),
                hash_code(id).rem_euclid(1000).to_string(),
            ],
        ],
    );
    lab.assert_claim(
        hash_code(id) % 1000 == -203 && hash_code(id).rem_euclid(1000) == 797,
        "The remainder that % gives is negative: -203.",
    )?;

    let table = lab.create("orders", &["o"], &["250", "500", "750"])?;
    for second in 0..4 {
        lab.write(
            &table,
            &key,
            &[&format!("id=2015052400230{second}_1232")],
            "o:n",
            second.to_string(),
        )?;
    }
    let rows = lab.scan(&table, &ScanSpec::all())?;
    let regions: std::collections::BTreeSet<_> =
        rows.iter().map(|row| crate::samples::region_for_key(row.key(), table.splits())).collect();
    lab.assert_claim(
        regions.len() >= 2,
        format!("Orders of four seconds in a row lie in {} of four regions.", regions.len()),
    )?;
    let found = lab.query(&table, &key, &["id=20150524002302_1232"], None)?;
    lab.assert_claim(found.len() == 1, "Each is found under its one key.")?;

    lab.section(Section::Costs);
    lab.paragraph(
        "Texts that differ in one digit get salts at a fixed distance, here 151: a pattern, not \
         random, so the spread of real keys has to be checked. The default, murmur3, has no such \
         pattern. And three digits take three bytes, where two would hold 65,536 salts.",
    );
    let sample = |salt: fn(i32) -> i32| {
        let salted = |second| {
            let id = format!("201505240{second:05}_1232");
            format!("{:03}{id}", salt(hash_code(&id))).into()
        };
        KeySample { keys: (0..200).map(salted).collect(), is_in_arrival_order: false }
    };
    let (wrong, right) = (sample(|hash| hash % 1000), sample(|hash| hash.rem_euclid(1000)));
    let of = |sample| LintInput { sample: Some(sample), ..LintInput::default() };
    lab.expect_finding_in("K-NEGMOD", &of(&wrong), &of(&right))
}
