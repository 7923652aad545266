//! Speed of store files beside HBase's reader and writer, on the same files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Result, hbase};

pub(crate) const HELP: &str = "\
Write store files with every encoding and codec, and measure Halite and then HBase with them: cells
written, scanned and sought, each on one thread, with the files in the page cache and no block
cache. HBase runs in one warm JVM; the fastest of several rounds counts for both.

    cargo xtask bench hfile [NAME-PART...]   all files, or those whose names contain a part

Names are SIZE-ENCODING-CODEC: small (8 bytes per value) or large (200), NONE, PREFIX, DIFF,
FAST_DIFF or ROW_INDEX_V1, and NONE, GZ, SNAPPY, LZ4 or ZSTD.
";

/// Megabytes written and scanned, and seeks, per second.
type Speeds = [f64; 3];

/// Runs both and prints their speeds with ratios. `program` is the example `hfile_speed`.
///
/// # Errors
/// Returns an error if a program fails, or HBase did not measure a file.
pub(crate) fn run(program: &Path, jars: &Path, work: &Path, chosen: &[String]) -> Result<()> {
    let files = work.join("files");
    let output = Command::new(program)
        .arg("--csv")
        .arg(&files)
        .args(chosen)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} ended with {}: {text}", program.display(), output.status));
    }
    let ours = parse(&String::from_utf8_lossy(&output.stdout))?;
    let printed = work.join("hbase.csv");
    hbase::measure_store_files(jars, &files, &printed)?;
    let text =
        fs::read_to_string(&printed).map_err(|error| format!("{}: {error}", printed.display()))?;
    let theirs = parse(&text)?;
    println!("Halite / HBase = ratio; MB of KeyValue bytes per second, seeks per second");
    println!("{:<26}{:>24}{:>24}{:>28}", "", "write", "scan", "seek");
    for (name, speeds) in &ours {
        let other = theirs.get(name).ok_or_else(|| format!("HBase did not measure {name}"))?;
        let cell = |at: usize| {
            let (one, two) = (speeds[at], other[at]);
            format!("{one:.0} / {two:.0} = {:.1}", one / two)
        };
        println!("{name:<26}{:>24}{:>24}{:>28}", cell(0), cell(1), cell(2));
    }
    Ok(())
}

fn parse(text: &str) -> Result<BTreeMap<String, Speeds>> {
    let line = |line: &str| {
        let (name, numbers) = line.split_once(',')?;
        let numbers: Vec<f64> =
            numbers.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some((name.to_owned(), numbers.try_into().ok()?))
    };
    text.lines().map(|text| line(text).ok_or_else(|| format!("not a result: {text}"))).collect()
}
