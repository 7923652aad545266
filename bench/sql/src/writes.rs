//! Writes: one row at a time, and in batches.

use std::time::Instant;

use halite::sql::datafusion::common::ScalarValue;
use halite::sql::{Prepared as Statement, SqlContext};
use halite::{Put, TableExt as _, TableName};

use crate::arguments::Arguments;
use crate::error::Result;
use crate::scanned::put_all;
use crate::store::{Prepared, key};
use crate::timing::{Race, Timed, print, since};

/// Rows of a batch.
const BATCH: u32 = 100;
/// Rows of a statement that writes those of a query.
const COPIED: u32 = 100_000;

/// Returns the rows that no other round writes.
fn fresh(arguments: &Arguments, round: u32, contestant: u32, count: u32) -> std::ops::Range<u32> {
    let first = arguments.rows + (round * 8 + contestant) * arguments.calls;
    first..first + count
}

fn put(store: &Prepared, id: u32) -> Put {
    Put::new(key(id)).add(store.family.clone(), "name", format!("the name of row {id}")).add(
        store.family.clone(),
        "n",
        (i64::from(id) * 7).to_be_bytes().to_vec(),
    )
}

fn values(id: u32) -> [ScalarValue; 3] {
    let name = format!("the name of row {id}");
    [i64::from(id).into(), ScalarValue::Utf8View(Some(name)), (i64::from(id) * 7).into()]
}

async fn run(sql: &SqlContext, statement: &Statement, values: &[ScalarValue]) -> Result<()> {
    let answer = sql.run_prepared(statement, values).await?;
    if answer.tag().is_some_and(|tag| tag.ends_with(" 0") && tag != "INSERT 0 0") {
        return Err("a row was not written".into());
    }
    Ok(())
}

/// Prepared UPSERT, INSERT and DELETE of one row.
pub(crate) async fn single_rows(store: &Prepared, arguments: &Arguments) -> Result<()> {
    let table = store.store.cluster().table(&TableName::new("default", "t")?);
    let sql = &store.sql;
    let upsert = sql.prepare("UPSERT INTO t (id, name, n) VALUES ($1, $2, $3)").await?;
    let insert = sql.prepare("INSERT INTO t (id, name, n) VALUES ($1, $2, $3)").await?;
    let delete = sql.prepare("DELETE FROM t WHERE id = $1").await?;
    let insert_text = "INSERT OR REPLACE INTO t (id, name, n) VALUES (?1, ?2, ?3)";
    let mut sqlite = store.sqlite.prepare(insert_text)?;
    let mut timed = [
        Timed::new("put"),
        Timed::new("prepared UPSERT"),
        Timed::new("prepared INSERT"),
        Timed::new("prepared DELETE by key"),
        Timed::new("SQLite, INSERT OR REPLACE"),
    ];
    let count = arguments.calls / 4;
    for round in 0..arguments.rounds {
        let mut calls = Vec::new();
        for id in fresh(arguments, round, 0, count) {
            let start = Instant::now();
            table.mutate(put(store, id).into()).await?;
            calls.push(since(start));
        }
        timed[0].add(std::mem::take(&mut calls));
        for (place, statement) in [(1, &upsert), (2, &insert)] {
            for id in fresh(arguments, round, place, count) {
                let start = Instant::now();
                run(sql, statement, &values(id)).await?;
                calls.push(since(start));
            }
            timed[place as usize].add(std::mem::take(&mut calls));
        }
        for id in fresh(arguments, round, 1, count) {
            let start = Instant::now();
            run(sql, &delete, &[i64::from(id).into()]).await?;
            calls.push(since(start));
        }
        timed[3].add(std::mem::take(&mut calls));
        for id in fresh(arguments, round, 4, count) {
            let start = Instant::now();
            let name = format!("the name of row {id}");
            sqlite.execute(rusqlite::params![id, name, i64::from(id) * 7])?;
            calls.push(since(start));
        }
        timed[4].add(calls);
    }
    print("Writes of one row", &timed);
    Ok(())
}

/// B8: UPSERT by batches.
pub(crate) async fn batches(store: &Prepared, arguments: &Arguments) -> Result<()> {
    let table = store.store.cluster().table(&TableName::new("default", "t")?);
    let sql = &store.sql;
    let row = |at: u32| format!("(${}, ${}, ${})", 3 * at + 1, 3 * at + 2, 3 * at + 3);
    let rows: Vec<String> = (0..BATCH).map(row).collect();
    let rows = rows.join(", ");
    let upsert = sql.prepare(&format!("UPSERT INTO t (id, name, n) VALUES {rows}")).await?;
    let insert = sql.prepare(&format!("INSERT INTO t (id, name, n) VALUES {rows}")).await?;
    let mut timed = [
        Timed::new("batch of 100 puts"),
        Timed::new("prepared UPSERT of 100 rows"),
        Timed::new("prepared INSERT of 100 rows"),
    ];
    let count = arguments.calls / BATCH * BATCH;
    for round in 0..arguments.rounds {
        let mut calls = Vec::new();
        let starts =
            |contestant: u32| fresh(arguments, round, contestant, count).step_by(BATCH as usize);
        for first in starts(5) {
            let start = Instant::now();
            let puts = (first..first + BATCH).map(|id| put(store, id).into()).collect();
            for result in table.batch(puts).await? {
                result?;
            }
            calls.push(since(start));
        }
        timed[0].add(std::mem::take(&mut calls));
        for (place, statement) in [(1, &upsert), (2, &insert)] {
            for first in starts(5 + place) {
                let start = Instant::now();
                let values: Vec<ScalarValue> = (first..first + BATCH).flat_map(values).collect();
                run(sql, statement, &values).await?;
                calls.push(since(start));
            }
            timed[place as usize].add(std::mem::take(&mut calls));
        }
    }
    print("B8: batches of 100 rows", &timed);
    Ok(())
}

/// B8: the rows of a query, written into another table.
pub(crate) async fn of_a_query(store: &Prepared, arguments: &Arguments) -> Result<()> {
    let rows = arguments.rows.min(COPIED);
    let tag = format!("INSERT 0 {rows}");
    let mut race = Race::new([
        "puts, 1,000 a batch",
        "UPSERT .. SELECT",
        "INSERT .. SELECT, which looks first",
    ]);
    for _ in 0..arguments.long_rounds {
        for at in 0..3 {
            let create = "CREATE TABLE copied (name STRING, n I64 NOT NULL, ROW KEY (id I64))";
            store.sql.run(create).await?;
            let table = store.store.cluster().table(&TableName::new("default", "copied")?);
            let query = format!("INTO copied SELECT id, name, n FROM t WHERE id < {rows}");
            let copy = async {
                let verb = match at {
                    0 => {
                        put_all(&table, rows, |id| put(store, id)).await?;
                        return Ok(tag.clone());
                    }
                    1 => "UPSERT",
                    _ => "INSERT",
                };
                let answer = store.sql.run(&format!("{verb} {query}")).await?;
                Ok(answer.tag().unwrap_or_default().replace("UPSERT ", "INSERT 0 "))
            };
            race.run(at, &tag, copy).await?;
            let name = TableName::new("default", "copied")?;
            store.store.disable_table(&name)?;
            store.store.drop_table(&name)?;
        }
    }
    race.print("B8: rows of a query (goals: 0.8 and 0.6 of the rows/s of puts)", u64::from(rows));
    println!();
    Ok(())
}
