//! B11: more groups than memory.

use std::process::Command;

use halite::SqlContext;

use crate::arguments::{Arguments, Child};
use crate::error::Result;
use crate::scanned::{Scanned, number_of, open};
use crate::timing::Clock;

/// Blocks of files that the process which groups keeps.
const CACHE_BYTES: u64 = 32 << 20;
/// Memory with which nothing spills.
const PLENTY_BYTES: usize = 8 << 30;
/// Rows of which the groups may take [`MEMORY_BYTES`].
const ROWS: u64 = 10_000_000;
const MEMORY_BYTES: u64 = 256 << 20;
const LEAST_BYTES: u64 = 64 << 20;

/// Groups all rows of a table, each of them another group, in processes of their own: one with a
/// part of the memory that this takes, one with all.
pub(crate) fn many(table: Scanned, arguments: &Arguments) -> Result<()> {
    let (folder, rows) = (table.folder.clone(), table.rows);
    let limit = (MEMORY_BYTES * u64::from(rows) / ROWS).max(LEAST_BYTES);
    // The children open the store, one after the other; its directory lives as long as the table.
    let kept = table.close()?;
    println!("B11: {rows} rows in as many groups");
    println!("  {:<38} {:>9} {:>11} {:>11}", "", "s", "CPU s", "RSS MiB");
    for memory in [usize::try_from(limit)?, PLENTY_BYTES] {
        for _ in 0..arguments.long_rounds.min(2) {
            let child = format!("{memory}:{}", folder.display());
            let status =
                Command::new(std::env::current_exe()?).args(["--child", &child]).status()?;
            if !status.success() {
                return Err(format!("grouping in {} MiB failed", memory >> 20).into());
            }
        }
    }
    let mib = (limit >> 20) + 200;
    drop(kept);
    println!("  goal: at most {mib} MiB with the limit, in at most 4 times the time\n");
    Ok(())
}

/// Groups the rows of a store in this process, and prints what it took.
pub(crate) async fn in_child(child: &Child) -> Result<()> {
    let store = open(&child.store, Some(CACHE_BYTES))?;
    let sql = SqlContext::with_memory(store.cluster().clone(), child.memory);
    let clock = Clock::start();
    let text = "SELECT count(*) FROM (SELECT g, count(*) AS c FROM m GROUP BY g) WHERE c = 1";
    let groups = number_of(&sql, text).await?;
    let lap = clock.stop();
    let name = format!("{} MiB for statements", child.memory >> 20);
    let name = if child.memory == PLENTY_BYTES { "no limit".to_owned() } else { name };
    println!(
        "  {name:<38} {:>9.2} {:>11.2} {:>11}",
        lap.seconds,
        lap.cpu_seconds,
        peak_bytes()? >> 20
    );
    let rows = number_of(&sql, "SELECT count(*) FROM m").await?;
    if groups == rows { Ok(()) } else { Err(format!("{groups} groups of {rows} rows").into()) }
}

/// Returns the most memory that was resident in this process, in bytes.
fn peak_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("VmHWM")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kilobytes * 1024)
}
