//! E48: the belief that salts speed up jobs over a whole table.

use std::time::{Duration, Instant};

use bytes::Bytes;
use halite::Scan;
use halite::rowkey::{KeySchema, Value};

use crate::manual_keys::perfect_splits;
use crate::samples::{MINUTE, T0};
use crate::table::LabTable;
use crate::{Page, PageWriter, Section};

pub(super) const PAGE: Page = Page {
    id: "E48",
    title: "A job is as fast as its largest split, salted or not",
    rules: &[],
    see: &["E08", "E33"],
    run,
};

const ROWS: i64 = 6_000;
const REGIONS: u32 = 16;

fn keys(key: &KeySchema) -> anyhow::Result<Vec<Bytes>> {
    let value = |index: i64| {
        [Value::Signed(T0 + index * MINUTE), Value::Unsigned((index % 97).unsigned_abs())]
    };
    (0..ROWS).map(|index| Ok(Bytes::copy_from_slice(&key.encode(&value(index))?))).collect()
}

/// Reads each region on a separate thread, as a job has a task for each, and returns the total
/// duration and the rows of each region.
fn job(table: &LabTable) -> anyhow::Result<(Duration, Vec<usize>)> {
    let starts = std::iter::once(Bytes::new()).chain(table.splits().iter().cloned());
    let ends = table.splits().iter().cloned().map(Some).chain(std::iter::once(None));
    let begun = Instant::now();
    let counts = std::thread::scope(|scope| {
        let task = |(start, end): (Bytes, Option<Bytes>)| {
            scope.spawn(move || -> halite::Result<usize> {
                let scan = Scan::all().start(start);
                let rows = table
                    .inner()
                    .scan(end.map_or_else(|| scan.clone(), |end| scan.clone().stop(end)));
                rows.map(|row| row.map(|_| 1)).sum()
            })
        };
        let tasks: Vec<_> = starts.zip(ends).map(task).collect();
        tasks
            .into_iter()
            .map(|task| Ok(task.join().map_err(|_| anyhow::anyhow!("a task panicked"))??))
            .collect::<anyhow::Result<Vec<_>>>()
    })?;
    Ok((begun.elapsed(), counts))
}

fn run(lab: &mut PageWriter) -> anyhow::Result<()> {
    lab.section(Section::Wrong);
    lab.paragraph(
        "A job over all rows took hours. The table was recreated with salts and a region for each, \
         the job took minutes, and the salts are praised for it. The same rows in three tables:",
    );
    let plain: KeySchema = "ROW KEY (ts TIMESTAMP, id U32)".parse()?;
    let salted: KeySchema = "ROW KEY (SALT(16 BY ts, id), ts TIMESTAMP, id U32)".parse()?;
    let plain_keys = keys(&plain)?;
    let boundaries = perfect_splits(&plain_keys, REGIONS)?;
    let tables = [
        ("time, one region", lab.create("one", &["f"], &[])?, plain_keys.clone()),
        (
            "time, 16 regions of equal size",
            lab.create_with_splits("split", &["f"], boundaries)?,
            plain_keys,
        ),
        (
            "salt, time, 16 regions",
            lab.create_with_splits(
                "salted",
                &["f"],
                halite::rowkey::Splits::by_salt(&salted, 1, None)?.keys,
            )?,
            keys(&salted)?,
        ),
    ];
    for (_, table, keys) in &tables {
        lab.load(table, "f:v", keys.iter().map(|key| (key.clone(), "1")))?;
    }

    lab.section(Section::Outcome);
    lab.paragraph(format!(
        "A job has a task for each region, and is done when the last one is. {ROWS} rows:"
    ));
    let mut largest = Vec::new();
    let mut figures = Vec::new();
    for (name, table, _) in &tables {
        let (took, counts) = job(table)?;
        lab.measurement(format!(
            "{name}: all regions read at the same time in {:.1} ms",
            took.as_secs_f64() * 1000.0
        ));
        let most = counts.iter().copied().max().unwrap_or_default();
        anyhow::ensure!(
            i64::try_from(counts.iter().sum::<usize>())? == ROWS,
            "the tasks of {name} read {counts:?}"
        );
        largest.push(most);
        figures.push([(*name).to_owned(), counts.len().to_string(), most.to_string()]);
    }
    lab.data_table(&["table", ">tasks", ">rows of the longest task"], figures);
    lab.assert_claim(
        largest[0] == 6_000 && largest[1] == 375,
        "With 16 equal regions the longest task has a sixteenth of the rows, without any salt.",
    )?;
    lab.assert_claim(
        largest[2] > largest[1] && largest[2] * 4 < 5 * largest[1],
        "With salts it does not shrink; it grows a little, because hashes are never exactly even.",
    )?;

    lab.section(Section::Why);
    lab.paragraph(
        "What made the job fast is that the table had many regions of the same size. Salts come \
         with that, because their split keys are known before there is any data. They are one way \
         to it, not the cause.",
    );

    lab.section(Section::Right);
    lab.paragraph(
        "For jobs, split where the rows are: SPLIT FROM SAMPLE of the keys that are there. Salts \
         are for writes that would all go to one place, and for jobs over a range of what they \
         spread:",
    );
    let quarter = |table: &LabTable, key: &KeySchema| -> anyhow::Result<usize> {
        let found =
            lab.query_rows(table, key, &["ts=2024-03-15T00:00:00Z..2024-03-15T06:00:00Z"], None)?;
        let regions: std::collections::BTreeSet<usize> = found
            .iter()
            .map(|row| crate::samples::region_for_key(row.key(), table.splits()))
            .collect();
        anyhow::ensure!(found.len() == 360, "six hours are {} rows", found.len());
        Ok(regions.len())
    };
    let (one, many) = (quarter(&tables[1].1, &plain)?, quarter(&tables[2].1, &salted)?);
    lab.data_table(
        &["six hours of 100", ">regions that have them"],
        [
            ["time, 16 regions of equal size", &one.to_string()],
            ["salt, time, 16 regions", &many.to_string()],
        ],
    );
    lab.assert_claim(
        one == 1 && many == 16,
        "Six hours in order of time lie in one region, and one task reads them. Under salts all 16 \
         have a part.",
    )
}
