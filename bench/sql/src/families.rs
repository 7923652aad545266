//! B12: a condition on a narrow family, and a column of a wide one.

use halite::{Comparator, CompareOp, Filter, Put, Scan, SqlContext, TableName};

use crate::arguments::Arguments;
use crate::error::Result;
use crate::scanned::{number_of, open, put_all};
use crate::store::key;
use crate::timing::Race;

/// Bytes of a cell of the wide family.
const WIDE_BYTES: usize = 500;
/// One row in this many satisfies the condition.
const ONE_OF: u32 = 100;
/// Most rows of the table: each is half a kilobyte.
const MAX_ROWS: u32 = 2_000_000;

/// Counts a wide column of the rows that satisfy a condition on a narrow one.
pub(crate) async fn narrow_condition(arguments: &Arguments) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let store = open(&folder.path().join("halite"), None)?;
    let sql = SqlContext::new(store.cluster().clone());
    let create = "CREATE TABLE w (c1 I64 FAMILY n, c2 STRING FAMILY w, ROW KEY (id I64))";
    sql.run(create).await?;
    let name = TableName::new("default", "w")?;
    let table = store.cluster().table(&name);
    let rows = arguments.scanned.min(MAX_ROWS);
    let wide = "w".repeat(WIDE_BYTES);
    put_all(&table, rows, |id| {
        let number = i64::from(id % ONE_OF).to_be_bytes();
        Put::new(key(id)).add("n", "c1", number).add("w", "c2", &wide)
    })
    .await?;
    store.admin().flush(&name).await?;
    let mut race = Race::new(["scan of both families", "scan, families on demand", "count(c2)"]);
    let expected = i64::from(rows.div_ceil(ONE_OF));
    let scan = |is_on_demand| {
        let number = 0_i64.to_be_bytes().to_vec();
        let filter = Filter::SingleColumnValue {
            family: "n".into(),
            qualifier: "c1".into(),
            op: CompareOp::Equal,
            comparator: Comparator::Binary(number.into()),
            filter_if_missing: true,
            latest_version_only: true,
            exclude: false,
        };
        let scan = Scan::all().column("n", "c1").column("w", "c2").filter(filter);
        scan.load_families_on_demand(is_on_demand)
    };
    for _ in 0..arguments.long_rounds {
        for (at, is_on_demand) in [(0, false), (1, true)] {
            let read = async {
                let mut read = table.scan(scan(is_on_demand));
                let mut count = 0;
                loop {
                    let some = read.next_rows().await?;
                    if some.is_empty() {
                        return Ok(count);
                    }
                    count += i64::try_from(some.len())?;
                }
            };
            race.run(at, &expected, read).await?;
        }
        race.run(2, &expected, number_of(&sql, "SELECT count(c2) FROM w WHERE c1 = 0")).await?;
    }
    race.print("B12: condition on a narrow family (goal of count(c2): 0.5)", u64::from(rows));
    println!();
    Ok(())
}
