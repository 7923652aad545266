//! E06: a page of a feed read with a start row and a limit, and no stop row.

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E06",
    title: "A limit does not keep a scan within a user",
    rules: &["Q-OPEN"],
    see: &["E03", "E11"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "Posts are stored under their author and a number of four digits. user_1 has two, user_10 \
         and user_2 have one each.",
    );
    let table = lab.create("posts", &["p"], &[])?;
    for (row, text) in [
        ("user_1_0001", "hello"),
        ("user_1_0005", "rain"),
        ("user_10_0001", "tea"),
        ("user_2_0001", "private"),
    ] {
        lab.put(&table, row, "p:text", text)?;
    }
    lab.paragraph(
        "The page of user_1 shows three posts. The scan starts at user_1_ with a limit of rows.",
    );
    let wrong = ScanSpec::from_row("user_1_").limit(3);

    lab.section(Section::Outcome);
    let found = lab.scan(&table, &wrong)?;
    lab.assert_claim(
        found.len() == 3
            && found.iter().filter(|row| row.key().starts_with(b"user_1_")).count() == 2
            && found[2].key() == b"user_2_0001",
        "The third post is user_2's. A user with fewer posts than fit on a page is shown those of \
         the next user, private ones too.",
    )?;
    lab.paragraph(
        "It does not show in tests, where all users have enough posts, and not for most users of a \
         new application, where each has a page of them.",
    );

    lab.section(Section::Why);
    lab.paragraph(
        "A start row specifies only where to begin; a table is one long list of rows, and user_2 \
         follows user_1 in it. (user_10 comes before user_1_, because 0 sorts before _; see E11.) \
         A limit counts rows, not users.",
    );

    lab.section(Section::Right);
    lab.paragraph("The scan is bounded by the prefix, and the limit holds within it.");
    let found = lab.scan(&table, &ScanSpec::prefix("user_1_").limit(3))?;
    lab.assert_claim(
        found.len() == 2 && found.iter().all(|row| row.key().starts_with(b"user_1_")),
        "Two posts, both of user_1.",
    )?;
    lab.paragraph("With the declared key no start row is needed, and the range has both ends.");
    let key = lab.key("ROW KEY TEXT '{user}_{post:4}' WHERE user MATCHES 'user_[0-9]+'")?;
    let plan = lab.explain(&key, &["user=user_1"], Some(3))?;
    let ends = crate::manual_keys::bounds(&plan);
    lab.assert_claim(
        ends.iter().all(|(start, stop)| start == "user_1_" && stop == "user_1`"),
        "It ends with the successor of user_1_.",
    )?;
    let planned = lab.query(&table, &key, &["user=user_1"], Some(3))?;
    lab.assert_claim(planned == found, "The same two posts.")?;
    lab.expect_finding_in_scan("Q-OPEN", &key, &wrong, &ScanSpec::prefix("user_1_").limit(3))
}
