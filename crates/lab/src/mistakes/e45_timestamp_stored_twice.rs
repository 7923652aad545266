//! E45: the time of the key stored in a column again.

use halite::Put;
use halite::rowkey::Value;

use crate::samples::{MINUTE, T0, key_value_bytes};
use crate::{Page, PageWriter, ScanSpec, Section};

pub(super) const PAGE: Page = Page {
    id: "E45",
    title: "The time is in the key already",
    rules: &["K-TIMEDUP"],
    see: &["E17", "E44"],
    run,
};

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    const KEY: &str = "ROW KEY (SALT(16 BY device), device STRING, ts TIMESTAMP DESC)";
    lab.section(Section::Wrong);
    lab.paragraph(
        "Points of sensors have a family data with two columns, value and timestamp. The key has \
         the time too.",
    );
    let wrong = format!(
        "CREATE TABLE sensor_data (value DOUBLE FAMILY data, timestamp TIMESTAMP FAMILY data, \
         {KEY})"
    );
    let (table, key) = lab.declare(&wrong)?;
    let row = |minute: i64| -> anyhow::Result<Vec<u8>> {
        Ok(key.encode(&["s1".into(), Value::Signed(T0 + minute * MINUTE)])?.to_vec())
    };
    let points = (0..100).map(|index| {
        Ok(Put::new(row(index)?).add("data", "value", 20.5_f64.to_be_bytes()).add(
            "data",
            "timestamp",
            (T0 + index * MINUTE).to_be_bytes(),
        ))
    });
    lab.load_puts(&table, points.collect::<anyhow::Result<Vec<_>>>()?)?;

    lab.section(Section::Outcome);
    let bytes = |rows: &[halite::Row], column: &[u8]| -> usize {
        rows.iter()
            .flat_map(halite::Row::iter)
            .filter(|cell| cell.qualifier() == column)
            .map(|cell| key_value_bytes(&cell))
            .sum::<usize>()
            / rows.len()
    };
    let rows = lab.rows(&table, &ScanSpec::all())?;
    let (value, time) = (bytes(&rows, b"value"), bytes(&rows, b"timestamp"));
    lab.assert_claim(
        time > value,
        format!(
            "The value's cell has {value} bytes, the time's {time}: more than half of the table is \
             times, and each cell of it has one besides, its timestamp."
        ),
    )?;
    lab.paragraph("A program corrects the clock of a device by an hour, in the column:");
    lab.put(&table, row(7)?, "data:timestamp", (T0 - 53 * MINUTE).to_be_bytes())?;
    let found = lab.query_rows(&table, &key, &["device=s1", "ts=2024-03-15T00:07:00Z"], None)?;
    let stored = found
        .first()
        .and_then(|row| row.value("data", "timestamp"))
        .map(<[u8]>::to_vec)
        .unwrap_or_default();
    lab.assert_claim(
        stored == (T0 - 53 * MINUTE).to_be_bytes(),
        "Now the row that is found for 00:07 says that it is of 23:07 of the day before. A row key \
         cannot change, so the two have parted.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "The column is there because a row without it does not show its time as text. The key \
         contains it, in a form that programs have to decode.",
    );

    lab.section(Section::Right);
    lab.paragraph("The declaration takes it apart for every reader, so the column has no purpose.");
    let right = format!("CREATE TABLE sensor_data_2 (value DOUBLE FAMILY d QUALIFIER v, {KEY})");
    let (table, key) = lab.declare(&right)?;
    let points = (0..100).map(|index| {
        Ok(Put::new(row(index)?).add_at("d", "v", T0 + index * MINUTE, 20.5_f64.to_be_bytes()))
    });
    lab.load_puts(&table, points.collect::<anyhow::Result<Vec<_>>>()?)?;
    let newest = lab.query(&table, &key, &["device=s1"], Some(2))?;
    let shown = newest
        .first()
        .map(|row| key.decode(row.key()).map(|decoded| key.format_values(&decoded)))
        .transpose()?
        .unwrap_or_default();
    lab.assert_claim(
        shown == "device = 's1', ts = 2024-03-15T01:39:00Z",
        "The time is read from the key.",
    )?;
    let rows = lab.rows(&table, &ScanSpec::all())?;
    let now = bytes(&rows, b"v");
    lab.assert_claim(
        now * 2 < value + time,
        format!("A point has {now} bytes in place of {}.", value + time),
    )?;
    lab.paragraph(
        "The point was also written with its time as the timestamp of its cell. Then a scan for a \
         range of timestamps finds it, and leaves out whole files that are older.",
    );
    let late = lab.count(&table, &ScanSpec::all().times(T0 + 90 * MINUTE, T0 + 200 * MINUTE)?)?;
    lab.assert_claim(late == 10, "The last ten minutes by timestamps are ten rows.")?;
    lab.expect_finding("K-TIMEDUP", &wrong, &right)
}
