//! E26: daily active users, keyed by date and user.

use bytes::Bytes;
use halite::rowkey::{KeySchema, Splits, Value};

use crate::distribution::WINDOW;
use crate::manual_keys::perfect_splits;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E26",
    title: "The date in front writes a whole day into one place",
    rules: &["K-MONO"],
    see: &["E08", "E28"],
    run,
};

const DAYS: i64 = 16;
const USERS: usize = 800;
/// 2024-03-15, in days since 1970.
const FIRST_DAY: i64 = 19_797;

fn keys(key: &KeySchema, visits: &[(i64, String)], date_first: bool) -> anyhow::Result<Vec<Bytes>> {
    let one = |(day, user): &(i64, String)| {
        let (day, user) = (Value::Signed(*day), Value::from(user.as_str()));
        let values = if date_first { [day, user] } else { [user, day] };
        Ok(Bytes::copy_from_slice(&key.encode(&values)?))
    };
    visits.iter().map(one).collect()
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const WRONG: &str = "ROW KEY (day DATE, user STRING)";
    const RIGHT: &str = "ROW KEY (SALT(16 BY user), day DATE, user STRING)";
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "Who was there on a day is written as a row of the date and the user, so that the users of \
         a day are counted by one scan. {USERS} users, {DAYS} days; the 16 regions are again as \
         good as planned ones.",
    ));
    let wrong = lab.key(WRONG)?;
    let mut visits = Vec::new();
    for day in FIRST_DAY..FIRST_DAY + DAYS {
        let mut users: Vec<_> = (0..USERS).collect();
        lab.rng().shuffle(&mut users);
        visits.extend(users.into_iter().map(|user| (day, format!("user_{user:04}"))));
    }
    let wrong_keys = keys(&wrong, &visits, true)?;
    let table = lab.create_with_splits("visits", &["v"], perfect_splits(&wrong_keys, 16)?)?;
    lab.load(&table, "v:n", wrong_keys.iter().map(|key| (key.clone(), "")))?;

    lab.section(Section::Outcome);
    let whole = lab.stored_skew(&table)?;
    let skew = lab.skew(&table, &wrong_keys);
    lab.skews(&[("day, user", &skew)]);
    lab.assert_claim(
        whole.max_over_mean < 1.01 && skew.window_mean > 14.0,
        format!(
            "In the end the regions are equal; during each {WINDOW} writes the busiest has {:.1} \
             times the mean of 16.",
            skew.window_mean
        ),
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "A date grows like a time, in larger steps. All writes of today lie between today and \
         tomorrow, and that is one region, tomorrow the next one.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "A salt of the user in front. The users of a day are 16 short scans in place of one, and \
         each writer finds all 16 regions.",
    );
    let right = lab.key(RIGHT)?;
    let right_keys = keys(&right, &visits, true)?;
    let table =
        lab.create_with_splits("visits_2", &["v"], Splits::by_salt(&right, 1, None)?.keys)?;
    lab.load(&table, "v:n", right_keys.iter().map(|key| (key.clone(), "")))?;
    let even = lab.skew(&table, &right_keys);
    lab.skews(&[("day, user", &skew), ("salt of user, day, user", &even)]);
    lab.assert_claim(
        even.window_mean < 1.7,
        format!(
            "During each {WINDOW} writes the busiest region has {:.2} times the mean.",
            even.window_mean
        ),
    )?;
    let found = lab.query_rows(&table, &right, &["day=2024-03-20"], None)?;
    lab.assert_claim(
        found.len() == USERS,
        format!("The users of 20 March, over all salts, are {USERS}."),
    )?;
    lab.expect_finding("K-MONO", WRONG, RIGHT)
}
