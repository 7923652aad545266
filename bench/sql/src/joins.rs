//! B7 and B12: rows by keys that another table or a list has.

use std::fmt::Write as _;
use std::sync::Arc;

use halite::sql::datafusion::arrow::array::{Int64Array, RecordBatch};
use halite::sql::datafusion::arrow::datatypes::{DataType, Field, Schema};
use halite::sql::datafusion::datasource::MemTable;
use halite::{Get, SqlContext};

use crate::arguments::Arguments;
use crate::error::Result;
use crate::scanned::{Scanned, last_examined, number, number_of};
use crate::store::{Numbers, key};
use crate::timing::Race;

/// Rows of the smaller side of the join.
const WANTED: u32 = 1000;
/// Gets of a call.
const GETS: usize = 256;
/// Keys of a list: a statement has at most 100,000 words.
const MAX_LISTED: u32 = 40_000;

/// B7: a thousand rows joined by the key of the table.
pub(crate) async fn by_key(table: &Scanned, arguments: &Arguments) -> Result<()> {
    let ids = some_ids(table.rows, WANTED);
    let list: Vec<i64> = ids.iter().map(|id| i64::from(*id)).collect();
    let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, false)]));
    let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(Int64Array::from(list))])?;
    let sql: SqlContext = table.sql.another();
    sql.session()
        .register_table("wanted", Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))?;
    let text = "SELECT sum(m.n) FROM wanted JOIN m ON m.id = wanted.k";
    let sum: i64 = ids.iter().map(|id| number(*id)).sum();
    let mut race = Race::new(["gets, 256 a call", "JOIN by the key"]);
    for _ in 0..arguments.rounds {
        race.run(0, &sum, gets(table, &ids)).await?;
        race.run(1, &sum, number_of(&sql, text)).await?;
    }
    let examined = last_examined(&sql).await?;
    race.print("B7: 1,000 rows joined by the key of the table (goal: 2)", ids.len() as u64);
    println!("  {examined} rows examined for {} (goal: as many)\n", ids.len());
    Ok(())
}

/// B12: a count of the rows of a list of keys, one in a hundred of the table.
pub(crate) async fn listed_keys(table: &Scanned, arguments: &Arguments) -> Result<()> {
    let ids = some_ids(table.rows, (table.rows / 100).clamp(1, MAX_LISTED));
    let mut text = "SELECT sum(n) FROM m WHERE id IN (".to_owned();
    for (at, id) in ids.iter().enumerate() {
        write!(text, "{}{id}", if at == 0 { "" } else { ", " })?;
    }
    text.push(')');
    let sum: i64 = ids.iter().map(|id| number(*id)).sum();
    let mut race = Race::new(["gets, 256 a call", "WHERE id IN (..)"]);
    for _ in 0..arguments.rounds {
        race.run(0, &sum, gets(table, &ids)).await?;
        race.run(1, &sum, number_of(&table.sql, &text)).await?;
    }
    let title = format!("B12: {} of {} rows by IN (goal: 1)", ids.len(), table.rows);
    race.print(&title, ids.len() as u64);
    println!();
    Ok(())
}

/// Adds up a column of rows that are got.
async fn gets(table: &Scanned, ids: &[u32]) -> Result<i64> {
    let mut sum = 0;
    for some in ids.chunks(GETS) {
        let get = |id: &u32| Get::new(key(*id)).column(table.family.clone(), "n");
        for row in table.table.get_all(some.iter().map(get).collect()).await? {
            let value = row.value(&table.family, b"n").ok_or("a row")?;
            sum += i64::from_be_bytes(value.try_into()?);
        }
    }
    Ok(sum)
}

/// Returns numbers below `rows`, each once, in order.
fn some_ids(rows: u32, count: u32) -> Vec<u32> {
    let mut numbers = Numbers::new(7);
    let mut ids = std::collections::BTreeSet::new();
    while ids.len() < count.min(rows) as usize {
        ids.insert(numbers.below(rows));
    }
    ids.into_iter().collect()
}
