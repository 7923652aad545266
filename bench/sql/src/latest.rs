//! B9: the latest point of each device.

use halite::{Bytes, Put, SqlContext, TableName};

use crate::arguments::Arguments;
use crate::error::Result;
use crate::scanned::{last_examined, open, put_all, rows_of, split_at};
use crate::store::key;
use crate::timing::Race;

const DEVICES: u32 = 1000;

/// The newest point of each of 1,000 devices, by seeks and by reading all points.
pub(crate) async fn of_each_device(arguments: &Arguments) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let store = open(&folder.path().join("halite"), None)?;
    let sql = SqlContext::new(store.cluster().clone());
    sql.run(&format!(
        "CREATE TABLE p (v F64, ROW KEY (device I64, ts TIMESTAMP DESC)) {}",
        split_at(DEVICES, 4)
    ))
    .await?;
    let name = TableName::new("default", "p")?;
    let table = store.cluster().table(&name);
    let family = store.descriptor("p")?.families().next().ok_or("a family")?.name().clone();
    let rows = DEVICES * arguments.points;
    put_all(&table, rows, |row| {
        let ts = i64::from(row % arguments.points) * 1000;
        Put::new(point(row / arguments.points, ts)).add(&family, "v", 1.5_f64.to_be_bytes())
    })
    .await?;
    store.admin().flush(&name).await?;
    let devices = u64::from(DEVICES);
    let latest = "SELECT DISTINCT ON (device) device, ts, v FROM p ORDER BY device, ts DESC";
    // A condition that no region checks needs all points.
    let read_all = "SELECT DISTINCT ON (device) device, ts, v FROM p WHERE v * 2 > 0 ORDER BY \
                    device, ts DESC";
    let of_groups = "SELECT device, max(ts) FROM p GROUP BY device";
    let mut race =
        Race::new(["all points are read", "DISTINCT ON (device)", "max(ts) GROUP BY device"]);
    let mut examined = [0; 2];
    for _ in 0..arguments.long_rounds {
        race.run(0, &devices, rows_of(&sql, read_all)).await?;
        race.run(1, &devices, rows_of(&sql, latest)).await?;
        examined[0] = last_examined(&sql).await?;
        race.run(2, &devices, rows_of(&sql, of_groups)).await?;
        examined[1] = last_examined(&sql).await?;
    }
    let points = arguments.points;
    let title = format!("B9: the latest of {DEVICES} devices with {points} points each");
    race.print(&title, u64::from(rows));
    println!(
        "  {} and {} rows examined (goal: 2000); {:.0} and {:.0} times as fast (goal: 100)\n",
        examined[0],
        examined[1],
        race.seconds(0) / race.seconds(1),
        race.seconds(0) / race.seconds(2)
    );
    Ok(())
}

/// Returns the key of a point, as `ROW KEY (device I64, ts TIMESTAMP DESC)` encodes it.
fn point(device: u32, ts: i64) -> Bytes {
    let descending = (i64::MAX - ts).to_be_bytes();
    Bytes::from([&key(device)[..], &descending].concat())
}
