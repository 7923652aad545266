//! E23: the followers of a user queried in a table keyed by follower.

use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E23",
    title: "Whom I follow is not who follows me",
    rules: &["Q-FULL"],
    see: &["E21", "E24"],
    run,
};

const USERS: u32 = 200;
const FOLLOWS: u32 = 10;

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY (user STRING, followed STRING)";
    const RIGHT: &str = "ROW KEY (followed STRING, user STRING)";
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "{USERS} users follow {FOLLOWS} others each. The table has the user and whom the user \
         follows, which is what the profile page shows."
    ));
    let (follows, by_user) =
        lab.declare(&format!("CREATE TABLE follows (since STRING FAMILY f, {WRONG})"))?;
    let pairs: Vec<(String, String)> = (0..USERS)
        .flat_map(|user| {
            (1..=FOLLOWS).map(move |step| {
                (format!("user_{user:03}"), format!("user_{:03}", (user + step * step) % USERS))
            })
        })
        .collect();
    let rows = pairs.iter().map(|(user, followed)| {
        Ok((by_user.encode(&[user.as_str().into(), followed.as_str().into()])?.to_vec(), "2024"))
    });
    lab.load(&follows, "f:since", rows.collect::<anyhow::Result<Vec<_>>>()?)?;
    lab.query(&follows, &by_user, &["user=user_100"], Some(3))?;
    lab.paragraph("When user_100 posts, the post goes to the feed of each follower.");

    lab.section(Section::Outcome);
    lab.explain(&by_user, &["followed=user_100"], None)?;
    let (found, read) = lab.query_counted(&follows, &by_user, &["followed=user_100"], None)?;
    let all = usize::try_from(USERS * FOLLOWS)?;
    lab.assert_claim(
        found.len() == 10 && read == all,
        format!(
            "For every post all {read} rows are read, of all users, to find {} followers.",
            found.len()
        ),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A relation between two sides is queried from both. A table answers it from the side that \
         its key begins with.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "Both directions are kept. Following writes a row in each table, unfollowing deletes both.",
    );
    let (followers, by_followed) =
        lab.declare(&format!("CREATE TABLE followers (since STRING FAMILY f, {RIGHT})"))?;
    let rows = pairs.iter().map(|(user, followed)| {
        Ok((
            by_followed.encode(&[followed.as_str().into(), user.as_str().into()])?.to_vec(),
            "2024",
        ))
    });
    lab.load(&followers, "f:since", rows.collect::<anyhow::Result<Vec<_>>>()?)?;
    let shown = lab.query(&followers, &by_followed, &["followed=user_100"], None)?;
    let (_, read) = lab.query_counted(&followers, &by_followed, &["followed=user_100"], None)?;
    lab.assert_claim(
        shown.len() == found.len() && read == shown.len(),
        format!("The same followers, and {read} rows read."),
    )?;
    let table = |key: &str| {
        format!(
            "CREATE TABLE f (since STRING FAMILY f, {key}) WITH QUERIES (fan_out: followed = ?)"
        )
    };
    lab.expect_finding("Q-FULL", &table(WRONG), &table(RIGHT))
}
