//! E27: retention queried by cohort in a table whose key begins with the date.

use halite::Put;
use halite::rowkey::Value;

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E27",
    title: "Retention by cohort wants the cohort first",
    rules: &[],
    see: &["E21", "E26"],
    run,
};

const COHORTS: i64 = 10;
const USERS: i64 = 60;
/// 2024-03-01, in days since 1970.
const FIRST: i64 = 19_783;
/// One cohort over eight days.
const QUESTION: &[&str] = &["cohort=2024-03-05", "day=2024-03-05..2024-03-12"];

/// Returns `true` if a user of a cohort returns after this many days. The probability falls with
/// each day.
fn returns_after(chance: &mut fastrand::Rng, after: i64) -> bool {
    chance.i64(0..10) < 10 - after
}

/// Visit of a user: the day of the cohort, the day of the visit, and the number of the user.
type Visit = (i64, i64, i64);

/// Returns users as bits of a cell.
fn bitmap(users: &[i64]) -> Vec<u8> {
    let mut bits = vec![0_u8; usize::try_from(USERS).map_or(0, |users| users.div_ceil(8))];
    for &user in users {
        if let Some(byte) = usize::try_from(user / 8).ok().and_then(|at| bits.get_mut(at)) {
            *byte |= 1 << (user % 8);
        }
    }
    bits
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(format!(
        "A visit is a row of the day, the cohort (the day on which the user came first) and the \
         user. Retention is queried for one cohort over its first days. {COHORTS} cohorts of \
         {USERS} users, whose users come back less and less over ten days.",
    ));
    let (visits, by_day) = lab.declare(
        "CREATE TABLE visits (n STRING FAMILY v, ROW KEY (day DATE, cohort DATE, user STRING))",
    )?;
    let mut seen: Vec<Visit> = Vec::new();
    for cohort in 0..COHORTS {
        for (after, user) in (0..10).flat_map(|after| (0..USERS).map(move |user| (after, user))) {
            if returns_after(lab.rng(), after) {
                seen.push((FIRST + cohort, FIRST + cohort + after, user));
            }
        }
    }
    let (day, cohort) = (Value::Signed, Value::Signed);
    let rows = seen.iter().map(|&(first, at, user)| {
        Ok((
            by_day
                .encode(&[day(at), cohort(first), format!("u{user:03}").as_str().into()])?
                .to_vec(),
            "",
        ))
    });
    lab.load(&visits, "v:n", rows.collect::<anyhow::Result<Vec<_>>>()?)?;

    lab.section(Section::Outcome);
    let start = |at: i64| -> anyhow::Result<Vec<u8>> {
        Ok(by_day.encode(&[day(at), cohort(0), "".into()])?[..4].to_vec())
    };
    let read = lab.count(&visits, &ScanSpec::from_row(start(FIRST + 4)?).to(start(FIRST + 11)?))?;
    let (found, exact) = lab.query_counted(&visits, &by_day, QUESTION, None)?;
    let ranges = lab.plan(&by_day, QUESTION, None)?.ranges().count();
    lab.assert_claim(
        read > 3 * found.len(),
        format!(
            "{read} rows are read, the visits of all cohorts on these seven days, for {} of this \
             cohort.",
            found.len()
        ),
    )?;
    lab.assert_claim(
        ranges == 7 && exact == found.len(),
        "With the declared key it is a range for each day, which reads no row too many; a quarter \
         of a year would be 90 ranges.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "The day is given as a range, and fields after a range do not narrow a key any further. \
         What is given as one value belongs in front of what is given as a range.",
    );

    lab.section(Section::Right);
    salted(lab, &seen, found.len())?;
    bitmaps(lab, &seen)
}

/// Reads the visits of the question under a key that begins with the cohort.
fn salted(lab: &mut PageWriter, seen: &[Visit], found: usize) -> anyhow::Result<()> {
    lab.paragraph(
        "The cohort in front of the day; a salt of the user in front of both, since the \
                   visits of today's cohort would all go to one place.",
    );
    let (right, by_cohort) = lab.declare(
        "CREATE TABLE visits_2 (n STRING FAMILY v, ROW KEY (SALT(16 BY user), cohort \
                     DATE, day DATE, user STRING)) SPLIT BY SALT",
    )?;
    let rows = seen.iter().map(|&(first, at, user)| {
        let user = format!("u{user:03}");
        let values = [user.as_str().into(), Value::Signed(first), Value::Signed(at)];
        let place = |name: &str| {
            ["user", "cohort", "day"].iter().position(|known| *known == name).unwrap_or_default()
        };
        let values: Vec<_> =
            by_cohort.fields().iter().map(|field| values[place(&field.name)].clone()).collect();
        Ok((by_cohort.encode(&values)?.to_vec(), ""))
    });
    lab.load(&right, "v:n", rows.collect::<anyhow::Result<Vec<_>>>()?)?;
    let (found_2, read_2) = lab.query_counted(&right, &by_cohort, QUESTION, None)?;
    lab.assert_claim(
        found_2.len() == found && read_2 == found,
        format!("The same {found} visits, and {read_2} rows read, over all 16 salts."),
    )
}

/// Counts the users that come back by one cell for each cohort and day.
fn bitmaps(lab: &mut PageWriter, seen: &[Visit]) -> anyhow::Result<()> {
    lab.paragraph(
        "That still reads a row for each visit. Where only numbers are wanted, one cell holds the \
         users of a cohort and a day as bits, and who came on the first day and the eighth is the \
         bits that both cells have. (With ids of any size the bits are a roaring bitmap; the table \
         is the same.)",
    );
    let (bits, key) = lab
        .declare("CREATE TABLE cohorts (users BYTES FAMILY b, ROW KEY (cohort DATE, day DATE))")?;
    let mut puts = Vec::new();
    for first in FIRST..FIRST + COHORTS {
        for at in first..first + 10 {
            let users: Vec<i64> = seen
                .iter()
                .filter(|visit| visit.0 == first && visit.1 == at)
                .map(|visit| visit.2)
                .collect();
            puts.push(
                Put::new(key.encode(&[Value::Signed(first), Value::Signed(at)])?.to_vec()).add(
                    "b",
                    "users",
                    bitmap(&users),
                ),
            );
        }
    }
    lab.load_puts(&bits, puts)?;
    let cells =
        lab.query_rows(&bits, &key, &["cohort=2024-03-05", "day=2024-03-05,2024-03-12"], None)?;
    let [first, eighth] = &cells[..] else { anyhow::bail!("two days are two rows") };
    let of = |row: &halite::Row| row.value("b", "users").unwrap_or_default().to_vec();
    let both: u32 = of(first).iter().zip(of(eighth)).map(|(a, b)| (a & b).count_ones()).sum();
    let there = |at: i64| {
        seen.iter()
            .filter(move |visit| visit.0 == FIRST + 4 && visit.1 == FIRST + 4 + at)
            .map(|visit| visit.2)
    };
    let counted = there(0).filter(|user| there(7).any(|other| other == *user)).count();
    lab.assert_claim(
        usize::try_from(both)? == counted && counted > 0,
        format!(
            "Of the cohort of 5 March {both} of {} users came a week later: two cells of {} bytes, \
             and the same number as by counting visits.",
            there(0).count(),
            of(first).len()
        ),
    )
}
