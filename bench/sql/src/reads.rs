//! Reads: one row by its key, and the newest rows of a range.

use std::sync::Arc;
use std::time::Instant;

use halite::rowkey::plan::{Condition, Predicate};
use halite::rowkey::{KeyQuery, Plan, PlanOptions, Scatter, ScatterOptions};
use halite::sql::datafusion::arrow::array::AsArray as _;
use halite::sql::datafusion::arrow::datatypes::Int64Type;
use halite::sql::datafusion::common::ScalarValue;
use halite::sql::{Prepared as Statement, SqlContext};
use halite::{Get, Scan, TableExt as _, TableName};

use crate::arguments::Arguments;
use crate::error::Result;
use crate::store::{Numbers, Prepared, key};
use crate::timing::{Timed, print, since};

/// Rows of the newest messages.
const NEWEST: usize = 100;

/// B1: a prepared SELECT by the whole key.
pub(crate) async fn by_key(store: &Prepared, arguments: &Arguments) -> Result<()> {
    let table = store.store.cluster().table(&TableName::new("default", "t")?);
    let text = "SELECT name, n FROM t WHERE id = $1";
    let (direct, planned) = (store.sql.prepare(text).await?, store.planned.prepare(text).await?);
    let mut sqlite = store.sqlite.prepare("SELECT name, n FROM t WHERE id = ?1")?;
    let mut timed = [
        Timed::new("Table::get"),
        Timed::new("prepared SELECT"),
        Timed::new("the same, by DataFusion"),
        Timed::new("SQLite, prepared"),
    ];
    for round in 0..arguments.rounds {
        let ids = || {
            let mut numbers = Numbers::new(u64::from(round));
            (0..arguments.calls).map(move |_| numbers.below(arguments.rows))
        };
        let mut calls = Vec::new();
        for id in ids() {
            let start = Instant::now();
            let get = Get::new(key(id)).column(store.family.clone(), "name");
            let row = table.get(get.column(store.family.clone(), "n")).await?;
            let name = row.value(&store.family, b"name").map_or(0, <[u8]>::len);
            calls.push(since(start));
            check(name > 0, "Table::get")?;
        }
        timed[0].add(std::mem::take(&mut calls));
        for id in ids() {
            calls.push(select(&store.sql, &direct, id).await?);
        }
        timed[1].add(std::mem::take(&mut calls));
        for id in ids().take(arguments.calls as usize / 20) {
            calls.push(select(&store.planned, &planned, id).await?);
        }
        timed[2].add(std::mem::take(&mut calls));
        for id in ids() {
            let start = Instant::now();
            let read =
                |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
            let (name, n) = sqlite.query_row([id], read)?;
            calls.push(since(start));
            check(!name.is_empty() && n == i64::from(id) * 7, "SQLite")?;
        }
        timed[3].add(calls);
    }
    print("B1: one row by its key", &timed);
    Ok(())
}

/// Runs a prepared SELECT of one row; returns its nanoseconds.
async fn select(sql: &SqlContext, statement: &Statement, id: u32) -> Result<u64> {
    let start = Instant::now();
    let mut answer =
        sql.run_prepared(statement, &[ScalarValue::Int64(Some(i64::from(id)))]).await?;
    let batch = answer.next_batch().await?.ok_or("a row")?;
    let name = batch.column(0).as_string_view().value(0).len();
    let n = batch.column(1).as_primitive::<Int64Type>().value(0);
    check(answer.next_batch().await?.is_none(), "one row")?;
    let elapsed = since(start);
    check(name > 0 && n == i64::from(id) * 7, "SELECT")?;
    Ok(elapsed)
}

fn check(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(format!("{what}: the answer is not the row's").into()) }
}

/// B2, the tutorial's C10: the newest hundred messages of a user.
pub(crate) async fn newest_of_a_user(store: &Prepared, arguments: &Arguments) -> Result<()> {
    let table = store.store.cluster().table(&TableName::new("default", "inbox")?);
    let descriptor = table.descriptor().await?;
    let schema = halite::rowkey::KeySchema::from_descriptor(&descriptor).ok_or("a key")??;
    let schema = Arc::new(schema);
    let text = "SELECT * FROM inbox WHERE receiver_id = $1 ORDER BY created_at DESC LIMIT 100";
    let (direct, planned) = (store.sql.prepare(text).await?, store.planned.prepare(text).await?);
    let mut sqlite = store
        .sqlite
        .prepare("SELECT * FROM inbox WHERE receiver_id = ?1 ORDER BY created_at DESC LIMIT 100")?;
    let mut timed = [
        Timed::new("Plan and Scatter"),
        Timed::new("prepared SELECT"),
        Timed::new("the same, by DataFusion"),
        Timed::new("SQLite, prepared"),
    ];
    let calls_of_round = (arguments.calls / 20).max(1);
    let mut examined = (0, 0);
    for round in 0..arguments.rounds {
        let users = || {
            let mut numbers = Numbers::new(u64::from(round));
            (0..calls_of_round).map(move |_| format!("user_{}", numbers.below(store.users)))
        };
        let mut calls = Vec::new();
        for user in users() {
            let start = Instant::now();
            let mut query = KeyQuery::all();
            let predicate = Predicate::Equals(halite::rowkey::Value::Text(user.into()));
            query.conditions.push(Condition { field: 0, predicate });
            query.limit = Some(NEWEST);
            let plan = Arc::new(Plan::new(&schema, &query, &PlanOptions::default())?);
            let options = ScatterOptions::default();
            let mut scatter = Scatter::new(Arc::clone(&table), plan, Scan::all(), &options, None)?;
            let (mut rows, mut bytes) = (0, 0);
            while let Some(row) = scatter.next().await? {
                rows += 1;
                bytes += row.value(&store.family, b"body").map_or(0, <[u8]>::len);
            }
            calls.push(since(start));
            check(rows == NEWEST && bytes > 0, "Scatter")?;
        }
        timed[0].add(std::mem::take(&mut calls));
        let before = rows_examined(store)?;
        for user in users() {
            calls.push(newest(&store.sql, &direct, &user).await?);
        }
        examined = (rows_examined(store)? - before, u64::from(calls_of_round) * NEWEST as u64);
        timed[1].add(std::mem::take(&mut calls));
        for user in users().take(calls_of_round as usize / 4 + 1) {
            calls.push(newest(&store.planned, &planned, &user).await?);
        }
        timed[2].add(std::mem::take(&mut calls));
        for user in users() {
            let start = Instant::now();
            let mut rows = sqlite.query([&user])?;
            let mut count = 0;
            while let Some(row) = rows.next()? {
                count += usize::from(!row.get_ref(3)?.as_str()?.is_empty());
            }
            calls.push(since(start));
            check(count == NEWEST, "SQLite")?;
        }
        timed[3].add(calls);
    }
    print("B2: the newest 100 rows of a user", &timed);
    let (examined, returned) = examined;
    println!("  {examined} rows examined for {returned} of the prepared SELECT\n");
    Ok(())
}

async fn newest(sql: &SqlContext, statement: &Statement, user: &str) -> Result<u64> {
    let start = Instant::now();
    let mut answer = sql.run_prepared(statement, &[ScalarValue::from(user)]).await?;
    let mut rows = 0;
    while let Some(batch) = answer.next_batch().await? {
        rows += batch.num_rows();
    }
    let elapsed = since(start);
    check(rows == NEWEST, "SELECT")?;
    Ok(elapsed)
}

fn rows_examined(store: &Prepared) -> Result<u64> {
    Ok(store.store.cluster_status()?.regions.iter().map(|load| load.rows_examined).sum())
}
