//! Lets HBase's own code read what Halite writes, and compares what it says with what was written.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this program reports to the person at the terminal")]

mod directory;
mod hbase;
mod printed;
mod samples;
mod wire;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use samples::Sample;

/// Failure in words.
pub(crate) type Result<T, E = String> = std::result::Result<T, E>;

const USAGE: &str = "usage: halite-interop store-files|directory|wire JARS WORK, where JARS holds HBase's jars and WORK is a folder to be emptied; \
                     `cargo xtask interop` fetches the jars and runs this";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [part, jars, work] = &arguments[..] else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let done = match part.as_str() {
        "store-files" => empty(Path::new(work)).and_then(|()| store_files(Path::new(jars), Path::new(work))),
        "directory" => empty(Path::new(work)).and_then(|()| directory::check(Path::new(jars), Path::new(work))),
        "wire" => empty(Path::new(work)).and_then(|()| wire::check(Path::new(jars), Path::new(work))),
        _ => Err(USAGE.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("interop: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Makes a new folder in place of an old one.
fn empty(folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

/// Writes every sample, has HBase read them all in one process, and compares.
fn store_files(jars: &Path, work: &Path) -> Result<()> {
    let samples = samples::all();
    for sample in &samples {
        sample.write(work)?;
    }
    hbase::read_store_files(jars, work)?;
    let problems: Vec<String> = samples.iter().filter(|sample| !sample.is_damaged()).filter_map(|sample| compare(sample, work).err()).collect();
    for problem in &problems {
        println!("{problem}");
    }
    if problems.is_empty() {
        println!("{} files: HBase reads every cell, key and filter as written", samples.len());
        return Ok(());
    }
    Err(format!("HBase reads {} of {} files otherwise than they were written", problems.len(), samples.len()))
}

fn compare(sample: &Sample, work: &Path) -> Result<()> {
    let path = work.join(format!("{}.printed", sample.name));
    let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    printed::check(&String::from_utf8_lossy(&text), &sample.cells).map_err(|difference| format!("{}: {difference}", sample.name))
}
