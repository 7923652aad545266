//! C05: the time to live of a family, in seconds.

use std::time::{Duration, Instant};

use halite::FamilyDescriptor;

use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "C05",
    title: "TTL: cells that end by themselves",
    rules: &[],
    see: &["C07", "C06", "C04"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "A family with a TTL forgets its cells when they are that many seconds old, by their \
         timestamps. Nothing has to delete them and no marker is written: a reader does not see \
         them any more, and the next compaction leaves them out.",
    );
    lab.section(Section::Demonstration);
    let table =
        lab.create_with_families("sessions", &[FamilyDescriptor::new("s").ttl_seconds(2)])?;
    let began = Instant::now();
    lab.put(&table, "user_1", "s:token", "abc")?;
    sleep_until(began, 700);
    lab.paragraph("Less than a second later:");
    let early = lab.get(&table, "user_1")?;
    lab.assert_claim(early.len() == 1, "The cell is there.")?;
    lab.flush(&table)?;
    sleep_until(began, 2_700);
    lab.paragraph("When more than two seconds are over:");
    let late = lab.get(&table, "user_1")?;
    lab.assert_claim(
        late.is_empty(),
        "It is gone for every reader, though no compaction has run.",
    )?;
    lab.major_compact(&table)?;
    let raw = lab.scan(&table, &ScanSpec::all().raw())?;
    lab.assert_claim(
        raw.is_empty(),
        "After a compaction a raw scan, which sees what is stored, finds nothing either.",
    )?;
    lab.paragraph(
        "The TTL is one of cells, not of rows: a row whose name was written today and whose mail \
         was written last year loses its mail.",
    );
    let parts =
        lab.create_with_families("parts", &[FamilyDescriptor::new("p").ttl_seconds(3600)])?;
    let an_hour_ago = now_ms() - 3_700_000;
    parts
        .inner()
        .put(halite::Put::new("r").add_at("p", "old", an_hour_ago, "x").add("p", "new", "x"))?;
    let row = lab.get(&parts, "r")?;
    lab.assert_claim(
        row.len() == 1 && row.value("p", "new").is_some(),
        "Of a row with one cell of an hour ago and one of now, the one of now is left.",
    )
}

fn sleep_until(began: Instant, ms: u64) {
    std::thread::sleep(Duration::from_millis(ms).saturating_sub(began.elapsed()));
}

fn now_ms() -> i64 {
    let since =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
