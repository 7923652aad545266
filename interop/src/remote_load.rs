//! Bulk load into a real HBase by Halite's command: files from CSV, cut at the regions of a table.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Result;
use crate::clients::child;

/// Maximum duration of a command.
const LIMIT: Duration = Duration::from_mins(2);
const ROWS: usize = 10_000;

/// Writes files for a table with one region, loads them into one with three, and counts its rows.
/// The files have the encoding and codec of their family.
///
/// # Errors
/// Returns an error if a command fails or a row is missing.
pub(crate) fn check(halite: &Path, work: &Path, zookeeper: u16) -> Result<()> {
    let folder = work.join("load");
    // Left over from an earlier run.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let write = |name: &str, text: String| {
        fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"))
    };
    let rows = (0..ROWS).map(|row| format!("r{row:05},{row}"));
    let lines: Vec<String> = std::iter::once("id,v".to_owned()).chain(rows).collect();
    write("in.csv", lines.join("\n"))?;
    let family = "{NAME => 'f', DATA_BLOCK_ENCODING => 'FAST_DIFF', COMPRESSION => 'GZ'}";
    let tables = format!(
        "create 'written', {family}\ncreate 'loaded', {family}, SPLITS => ['r03', 'r06']\n"
    );
    write("create", tables)?;
    write("count", "count 'loaded'\nget 'loaded', 'r07777'\n".to_owned())?;
    let uri = format!("zk://127.0.0.1:{zookeeper}/hbase");
    let run = |name: &str, arguments: &[&str]| {
        let log = folder.join(name).with_extension("log");
        let mut command = Command::new(halite);
        command.args(arguments).args(["--connect", &uri]).current_dir(&folder);
        child::run(&mut command, &log, LIMIT).map_err(|error| format!("{name} {error}"))?;
        Ok::<_, String>(child::text(&log))
    };
    run("create", &["shell", "-n", "create"])?;
    let from = ["hfile", "write", "--table", "written", "--csv", "in.csv"];
    let to = ["--to", "out", "--key", "id", "--column", "f:v"];
    run("write", &[&from[..], &to].concat())?;
    let loaded = run("bulkload", &["bulkload", "out", "loaded"])?;
    let counted = run("count", &["shell", "-n", "count"])?;
    if !loaded.contains("into 3 regions of loaded") {
        return Err(format!("bulkload said: {loaded}"));
    }
    if !counted.contains(&format!("=> {ROWS}")) || !counted.contains("value=7777") {
        return Err(format!("after the bulk load: {counted}"));
    }
    println!("bulkload: {}", loaded.lines().next().unwrap_or_default());
    Ok(())
}
