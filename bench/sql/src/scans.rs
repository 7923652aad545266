//! B3 to B5: counts, columns and groups of a whole table.

use std::sync::Arc;

use halite::sql::datafusion::arrow::array::{AsArray as _, RecordBatch};
use halite::sql::datafusion::arrow::datatypes::{Int64Type, UInt64Type};
use halite::sql::datafusion::datasource::MemTable;
use halite::sql::datafusion::prelude::{SessionConfig, SessionContext};
use halite::{Filter, Scan};

use crate::arguments::Arguments;
use crate::error::Result;
use crate::scanned::{Scanned, TAGS, batches, number_of, rows_of};
use crate::timing::{Clock, Race};

/// The statement of B5, which runs beside gets in B10.
pub(crate) const GROUPED: &str =
    "SELECT tag, count(*) AS c, sum(n) AS s, avg(v) AS a FROM m GROUP BY tag";

/// B3: the rows of a table.
pub(crate) async fn count(table: &Scanned, arguments: &Arguments) -> Result<()> {
    let mut race = Race::new([
        "scan, FirstKeyOnly and KeyOnly",
        "count(*)",
        "count(*), one part",
        "count(n), a column",
        "sum(n)",
    ]);
    let rows = i64::from(table.rows);
    let first_cells = || {
        let filter = Filter::All(vec![Filter::FirstKeyOnly, Filter::KeyOnly(false)]);
        Scan::all().filter(filter)
    };
    let alone = table.sql.another();
    alone.change(|settings| settings.set("halite.partitions", "1"))?;
    for _ in 0..arguments.long_rounds {
        race.run(0, &rows, raw(table, first_cells())).await?;
        race.run(1, &rows, number_of(&table.sql, "SELECT count(*) FROM m")).await?;
        race.run(2, &rows, number_of(&alone, "SELECT count(*) FROM m")).await?;
        race.run(3, &rows, number_of(&table.sql, "SELECT count(n) FROM m")).await?;
        let sum = rows * (rows - 1) / 2 * 7;
        race.run(4, &sum, number_of(&table.sql, "SELECT sum(n) FROM m")).await?;
    }
    race.print("B3: rows of a table (goal: 1.1)", u64::from(table.rows));
    println!();
    Ok(())
}

/// Reads a table by its own call, and returns the rows.
async fn raw(table: &Scanned, scan: Scan) -> Result<i64> {
    let mut rows = table.table.scan(scan);
    let mut count = 0;
    loop {
        let some = rows.next_rows().await?;
        if some.is_empty() {
            return Ok(count);
        }
        count += i64::try_from(some.len())?;
    }
}

/// B4 and B5: three columns as Arrow, and groups of them.
pub(crate) async fn columns_and_groups(table: &Scanned, arguments: &Arguments) -> Result<()> {
    const COLUMNS: &str = "SELECT n, v, tag FROM m";
    let memory = SessionContext::new_with_config(SessionConfig::new());
    let columns = batches(&table.sql, COLUMNS).await?;
    memory.register_table("m", Arc::new(in_memory(columns)?))?;
    let mut race = Race::new([
        "scan of 3 of 4 columns",
        "SELECT n, v, tag",
        "GROUP BY tag, DataFusion in memory",
        "GROUP BY tag",
        "GROUP BY tag, one part",
    ]);
    let alone = table.sql.another();
    alone.change(|settings| settings.set("halite.partitions", "1"))?;
    let rows = u64::from(table.rows);
    let expected = (TAGS.min(rows), i64::from(table.rows));
    let scan = || {
        ["n", "v", "tag"]
            .into_iter()
            .fold(Scan::all(), |scan, column| scan.column(table.family.clone(), column))
    };
    for _ in 0..arguments.long_rounds {
        race.run(0, &i64::from(table.rows), raw(table, scan())).await?;
        race.run(1, &rows, rows_of(&table.sql, COLUMNS)).await?;
        let clock = Clock::start();
        let groups = memory.sql(GROUPED).await?.collect().await?;
        race.add(2, clock.stop());
        if groups_of(&groups)? != expected {
            return Err("DataFusion in memory has other groups".into());
        }
        for (at, sql) in [(3, &table.sql), (4, &alone)] {
            let grouped = async { groups_of(&batches(sql, GROUPED).await?) };
            race.run(at, &expected, grouped).await?;
        }
    }
    race.print("B4, B5: columns of a whole table, and groups of them", rows);
    let (read, both) = (race.seconds(1), race.seconds(1) + race.seconds(2));
    println!(
        "  B4: {:.2} of the rows/s of a scan (goal: 0.6)\n  B5: {:.2} times B4 and DataFusion in \
         memory (goal: 1.2)\n",
        race.seconds(0) / read,
        race.seconds(3) / both
    );
    Ok(())
}

/// Returns the number of groups, and the rows of all.
fn groups_of(batches: &[RecordBatch]) -> Result<(u64, i64)> {
    let groups = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let mut rows = 0;
    for batch in batches {
        let counts = batch.column(1);
        rows += match counts.as_primitive_opt::<Int64Type>() {
            Some(counts) => counts.values().iter().sum::<i64>(),
            None => {
                let counts = counts.as_primitive_opt::<UInt64Type>().ok_or("counts")?;
                i64::try_from(counts.values().iter().sum::<u64>())?
            }
        };
    }
    Ok((groups, rows))
}

/// Returns batches as a table in as many parts as there are processors.
pub(crate) fn in_memory(batches: Vec<RecordBatch>) -> Result<MemTable> {
    let schema = batches.first().ok_or("a batch")?.schema();
    let parts = std::thread::available_parallelism()?.get();
    let mut divided: Vec<Vec<RecordBatch>> = vec![Vec::new(); parts];
    for (at, batch) in batches.into_iter().enumerate() {
        divided[at % parts].push(batch);
    }
    Ok(MemTable::try_new(schema, divided)?)
}
