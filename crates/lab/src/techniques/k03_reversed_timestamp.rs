//! K03: a time in eight bytes that decrease as it increases.

use halite::key::to_hex;

use crate::samples::{HOUR, T0, reversed};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "K03",
    title: "A time in eight bytes, newest first",
    rules: &[],
    see: &["K12", "E01"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Purpose);
    lab.paragraph(
        "HBase sorts rows in ascending order only, and most readers want what is newest. \
         Long.MAX_VALUE - t puts it first: the number falls as the time rises.",
    );
    lab.section(Section::Declaration);
    let key = lab.key("ROW KEY (sensor STRING, ts TIMESTAMP DESC)")?;
    lab.section(Section::Demonstration);
    let table = lab.create("readings", &["r"], &[])?;
    let times = ["2024-03-15T00:00:00Z", "2024-03-15T01:00:00Z", "2024-03-15T02:00:00Z"];
    for (hour, time) in times.iter().enumerate() {
        lab.write(
            &table,
            &key,
            &["sensor=s1", &format!("ts={time}")],
            "r:v",
            format!("{hour} o'clock"),
        )?;
    }
    let found = lab.scan(&table, &ScanSpec::all())?;
    let first = found.first().and_then(|row| row.value("r", "v"));
    lab.assert_claim(
        first == Some(b"2 o'clock"),
        "The rows were written in the order of their times, and the newest is read first.",
    )?;

    lab.paragraph("The eight bytes of a time are the same in every notation of them:");
    let bytes = key_bytes(lab, "ROW KEY (ts TIMESTAMP DESC)")?;
    let ordered = key_bytes(lab, "ROW KEY (ts I64 DESC) PROFILE ORDERED")?;
    let subtracted = (i64::MAX - T0).to_be_bytes();
    lab.data_table(
        &["of 2024-03-15T00:00:00Z", "bytes"],
        [
            ["Bytes.toBytes(Long.MAX_VALUE - t)".to_owned(), to_hex(&subtracted)],
            ["TIMESTAMP DESC".to_owned(), to_hex(&bytes)],
            ["HBase's OrderedInt64, descending".to_owned(), to_hex(&ordered)],
        ],
    );
    lab.assert_claim(
        bytes == subtracted && to_hex(&bytes) == "7ffffe71c09773ff",
        "A descending TIMESTAMP is Long.MAX_VALUE - t, byte for byte.",
    )?;
    lab.assert_claim(
        ordered[1..] == subtracted,
        "OrderedInt64 in descending order is one byte that says so, and the same eight.",
    )?;
    let before_1970 = time_key_bytes(lab, "ROW KEY (ts TIMESTAMP DESC)", -HOUR)?;
    lab.assert_claim(
        before_1970 > bytes,
        "A time before 1970 sorts last, as the oldest; subtracting from Long.MAX_VALUE would \
         overflow there.",
    )?;

    lab.section(Section::Costs);
    let digits = reversed(T0).len();
    lab.assert_claim(
        digits == 19 && bytes.len() == 8,
        "As decimal digits the same time takes 19 bytes instead of 8, in every cell of the row.",
    )?;
    lab.paragraph(
        "Such a key is not human-readable; halite key decode and the declared table decode it. \
         Reading oldest first is a reversed scan, which is somewhat slower than a forward one.",
    );
    Ok(())
}

fn key_bytes(lab: &PageWriter, declared: &str) -> anyhow::Result<Vec<u8>> {
    time_key_bytes(lab, declared, T0)
}

fn time_key_bytes(lab: &PageWriter, declared: &str, time: i64) -> anyhow::Result<Vec<u8>> {
    Ok(lab.encode_key(&declared.parse()?, &[&format!("ts={time}")])?.to_vec())
}
