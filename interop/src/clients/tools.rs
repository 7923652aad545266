//! HBase's own tools: `RowCounter` on `MapReduce`, and `LoadTestTool`, which verifies every value
//! it reads.

use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::java::java;
use super::programs::{ClientEnv, configuration, prepare, run};
use super::server::{Server, free_ports};
use super::{child, client_env};
use crate::Result;

const ROW_COUNTER: &str = "org.apache.hadoop.hbase.mapreduce.RowCounter";
const LOAD_TEST: &str = "org.apache.hadoop.hbase.util.LoadTestTool";
const LIMIT: Duration = Duration::from_mins(4);

/// Keys of a basic load.
const KEYS: u32 = 500;
/// Keys of the load during which the server crashes.
const CRASH_KEYS: u32 = 20_000;
/// Log size at which the server is killed, a fraction of the size of [`CRASH_KEYS`].
const CRASH_AT_BYTES: u64 = 2 << 20;

/// Counts rows with one map task per region.
pub(crate) fn row_counter(around: &ClientEnv) -> Result<()> {
    let (rows, splits) = (3000, ["00500", "01000", "02000", "02999"]);
    prepare(around, "mr_table", rows, &splits)?;
    // The log contains the type and the counters of the job.
    let mut command = tool(around, ROW_COUNTER, "INFO")?;
    run(command.arg("mr_table"), around, "row-counter")?;
    let log = child::text(&around.work.join("row-counter.log"));
    let maps = format!("number of splits:{}", splits.len() + 1);
    let counted = log.lines().filter(|line| line.trim() == format!("ROWS={rows}")).count();
    if !log.contains(&maps) || counted == 0 {
        return Err(format!(
            "RowCounter did not print {maps:?} and \"ROWS={rows}\"\n{}",
            child::tail(&around.work.join("row-counter.log"))
        ));
    }
    println!("RowCounter: {rows} rows, a map for each of {} regions", splits.len() + 1);
    Ok(())
}

/// Writes with concurrent verifying reads, updates, and multi-row writes and reads.
pub(crate) fn load_test(around: &ClientEnv) -> Result<()> {
    let keys = KEYS.to_string();
    let rounds: [&[&str]; 4] = [
        &[
            "-tn",
            "lt_single",
            "-families",
            "cf1,cf2",
            "-write",
            "3:200:4",
            "-read",
            "100:4",
            "-bloom",
            "ROW",
        ],
        &[
            "-tn",
            "lt_single",
            "-families",
            "cf1,cf2",
            "-update",
            "50:4",
            "-read",
            "100:4",
            "-skip_init",
        ],
        &["-tn", "lt_many", "-write", "3:200:4", "-multiput", "-data_block_encoding", "FAST_DIFF"],
        &["-tn", "lt_many", "-read", "100:4", "-multiget_batchsize", "10", "-skip_init"],
    ];
    for (number, arguments) in rounds.into_iter().enumerate() {
        let start = Instant::now();
        let mut command = tool(around, LOAD_TEST, "ERROR")?;
        run(
            command.args(arguments).args(["-num_keys", &keys]),
            around,
            &format!("load-test-{number}"),
        )?;
        println!(
            "LoadTestTool {}: {keys} keys, no failure ({:.1} s)",
            arguments[2..].join(" "),
            start.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

/// Kills the server while a load is being written, restarts it, and verifies every key.
pub(crate) fn crash(halite: &Path, jars: &Path, work: &Path) -> Result<()> {
    let data = work.join("data");
    let ports = free_ports()?;
    let keys = CRASH_KEYS.to_string();
    let server = Server::persistent(halite, &data, ports, &work.join("halite-before.log"), &[])?;
    let around = client_env(jars, work, server.zookeeper)?;
    let log = work.join("crash-write.log");
    let mut writer = child::start(
        tool(&around, LOAD_TEST, "ERROR")?.args([
            "-tn",
            "lt_crash",
            "-write",
            "3:200:4",
            "-multiput",
            "-num_keys",
            &keys,
        ]),
        &log,
    )?;
    let written_bytes = await_load(&mut writer, &data, &log)?;
    server.kill();
    if child::wait(&mut writer, Duration::ZERO)?.is_some() {
        return Err(
            "the load was written before the server was killed: raise CRASH_KEYS".to_string()
        );
    }
    let server = Server::persistent(halite, &data, ports, &work.join("halite-after.log"), &[])?;
    child::finish(&mut writer, &log, LIMIT).map_err(|error| format!("the writer {error}"))?;
    run(
        tool(&around, LOAD_TEST, "ERROR")?.args([
            "-tn",
            "lt_crash",
            "-read",
            "100:4",
            "-skip_init",
            "-num_keys",
            &keys,
        ]),
        &around,
        "crash-read",
    )?;
    server.stop()?;
    println!(
        "LoadTestTool: the server was killed after {written_bytes} bytes of {keys} keys and restarted: every \
         key exists"
    );
    Ok(())
}

/// Waits until the load is far enough for a crash in the middle of it. Returns the number of bytes.
fn await_load(writer: &mut Child, data: &Path, log: &Path) -> Result<u64> {
    let end = Instant::now() + LIMIT;
    loop {
        let bytes = bytes_below(data);
        if bytes >= CRASH_AT_BYTES {
            return Ok(bytes);
        }
        if child::wait(writer, Duration::ZERO)?.is_some() || Instant::now() > end {
            child::kill(writer);
            return Err(format!(
                "the load did not reach {CRASH_AT_BYTES} bytes below {}\n{}",
                data.display(),
                child::tail(log)
            ));
        }
        sleep(Duration::from_millis(5));
    }
}

/// Returns the total size of all files below a directory; files deleted concurrently count as
/// empty.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = folder.read_dir() else {
        return 0;
    };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_below(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.filter_map(std::result::Result::ok).map(size).sum()
}

fn tool(around: &ClientEnv, class: &str, level: &str) -> Result<Command> {
    let path = format!(
        "{}:{}/*",
        configuration(around)?.display(),
        around.jars.join("hbase-2.6.4").display()
    );
    let mut command = java(&path, level);
    command.arg(class);
    Ok(command)
}
