//! Interoperability tests: HBase's own code reads files and messages written by Halite, and the
//! results are compared with the written data.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program reports to the person at the terminal"
)]

mod bench;
mod client_bench;
mod clients;
mod directory;
mod error;
mod exchange;
mod hbase;
mod hfile_bench;
mod pretty_printer;
mod remote;
mod remote_load;
mod remote_recipes;
mod samples;
mod wire;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

pub(crate) use error::Result;
use samples::SampleFile;

const USAGE: &str = "\
usage: halite-interop store-files|directory|wire JARS WORK
       halite-interop clients JARS WORK HALITE [--record|--verify] [CLIENT...]
       halite-interop tools JARS WORK HALITE [--verify]
       halite-interop remote|exchange JARS WORK HALITE
       halite-interop hfile-bench JARS WORK PROGRAM [--help|NAME-PART...]
       halite-interop bench|client-bench JARS WORK HALITE [--help|OPTIONS]

JARS contains HBase's jars; from `clients` on, it is a directory with one directory of jars for each
file in interop/maven. WORK is a directory whose contents are deleted. HALITE is the tested program.
`cargo xtask interop` fetches the jars and runs this program.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [part, jars, work, rest @ ..] = &arguments[..] else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match empty(Path::new(work)).and_then(|()| run(part, Path::new(jars), Path::new(work), rest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("interop: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(part: &str, jars: &Path, work: &Path, rest: &[String]) -> Result<()> {
    match (part, rest) {
        ("store-files", []) => store_files(jars, work),
        ("directory", []) => directory::check(jars, work),
        ("wire", []) => wire::check(jars, work),
        ("clients", [halite, rest @ ..]) => {
            let (flags, only): (Vec<_>, Vec<_>) =
                rest.iter().cloned().partition(|argument| argument.starts_with("--"));
            clients::check(
                Path::new(halite),
                jars,
                work,
                clients::Mode::from_name(flags.first().map(String::as_str))?,
                &only,
            )
        }
        ("bench", [_, help, ..]) if help == "--help" => {
            print!("{}", bench::HELP);
            Ok(())
        }
        ("bench", [halite, rest @ ..]) => bench::run(Path::new(halite), jars, work, rest),
        ("client-bench", [_, help, ..]) if help == "--help" => {
            print!("{}", client_bench::HELP);
            Ok(())
        }
        ("client-bench", [halite, rest @ ..]) => {
            client_bench::run(Path::new(halite), jars, work, rest)
        }
        ("hfile-bench", [_, help, ..]) if help == "--help" => {
            print!("{}", hfile_bench::HELP);
            Ok(())
        }
        ("hfile-bench", [program, chosen @ ..]) => {
            hfile_bench::run(Path::new(program), jars, work, chosen)
        }
        ("exchange", [halite]) => exchange::check(Path::new(halite), jars, work),
        ("remote", [halite]) => remote::check(Path::new(halite), jars, work),
        ("tools", [halite, rest @ ..]) => {
            let mode = clients::Mode::from_name(rest.first().map(String::as_str))?;
            clients::check_tools(Path::new(halite), jars, work, mode)
        }
        _ => Err(USAGE.to_string()),
    }
}

/// Replaces a directory by an empty one.
fn empty(folder: &Path) -> Result<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

/// Writes every sample, reads them all with HBase in one process for each family of codecs, and
/// compares.
fn store_files(jars: &Path, work: &Path) -> Result<()> {
    let samples = samples::all();
    for sample in &samples {
        sample.write(work)?;
    }
    for codecs in hbase::CODECS {
        hbase::read_store_files(jars, codecs, work)?;
        let problems: Vec<String> = samples
            .iter()
            .filter(|sample| !sample.is_damaged())
            .filter_map(|sample| compare(sample, work).err())
            .collect();
        for problem in &problems {
            println!("{problem}");
        }
        if !problems.is_empty() {
            let (wrong, all) = (problems.len(), samples.len());
            return Err(format!(
                "HBase reads {wrong} of {all} files differently ({codecs} codecs)"
            ));
        }
    }
    println!(
        "{} files: HBase reads every cell, key and filter correctly ({} codecs)",
        samples.len(),
        hbase::CODECS.join(" and ")
    );
    Ok(())
}

fn compare(sample: &SampleFile, work: &Path) -> Result<()> {
    let path = work.join(format!("{}.printed", sample.name));
    let text = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    pretty_printer::check(&String::from_utf8_lossy(&text), &sample.cells)
        .map_err(|difference| format!("{}: {difference}", sample.name))
}
