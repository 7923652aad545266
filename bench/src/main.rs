//! Runs the same workloads on Halite, fjall and RocksDB with the same data and prints medians and
//! ratios.
//!
//! Each engine runs each workload in a separate process, because CPU time, memory and bytes written
//! are measured per process, and because one engine's leftovers (threads, allocations, a warm heap)
//! would affect the next. The parent starts children one after another, with the engines in turn,
//! and only formats their output.

mod arguments;
mod data;
mod engine;
mod error;
mod large;
mod output;
mod report;
mod usage;
mod workload;

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use arguments::{Arguments, Task};
pub(crate) use error::Result;
use report::{Report, Taken};
use workload::Workload;

/// Number of the signal that ends a process at once.
const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();

fn main() -> ExitCode {
    let done = arguments::read(std::env::args().skip(1)).and_then(|task| match task {
        Task::Help => {
            print!("{}", arguments::HELP);
            Ok(())
        }
        Task::Compare(arguments) => compare(&arguments),
        Task::Child { engine, workload, folder, arguments } => {
            workload::run(&engine, workload, &folder, &arguments)
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the parent: every run, every workload, every engine.
fn compare(arguments: &Arguments) -> Result<()> {
    println!("{}", arguments.headline()?);
    if let Some(warning) = usage::busy_warning() {
        println!("{warning}");
    }
    let mut report = Report::default();
    let done = measure_all(arguments, &mut report);
    // A late failure does not lose hours of measurements.
    print!("{report}");
    done
}

fn measure_all(arguments: &Arguments, report: &mut Report) -> Result<()> {
    for run in 0..arguments.runs {
        for &workload in &arguments.workloads {
            for turn in 0..arguments.engines.len() {
                let engine = &arguments.engines[(turn + run) % arguments.engines.len()];
                let folder = arguments.folder.join(format!("{engine}-{}", workload.name()));
                measure(engine, workload, &folder, arguments, report)?;
            }
        }
        eprintln!("run {} of {} is done", run + 1, arguments.runs);
    }
    Ok(())
}

/// Measures one workload on one engine, in an empty directory that is deleted afterwards.
fn measure(
    engine: &str,
    workload: Workload,
    folder: &Path,
    arguments: &Arguments,
    report: &mut Report,
) -> Result<()> {
    remove(folder)?;
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for part in workload.parts() {
        let output = child(engine, *part, folder, arguments)?;
        if report.take(engine, &output)? == Taken::Skipped {
            eprintln!("{engine} {} is skipped", workload.name());
            break;
        }
    }
    remove(folder)
}

fn child(engine: &str, part: Workload, folder: &Path, arguments: &Arguments) -> Result<String> {
    let program =
        std::env::current_exe().map_err(|error| format!("this program's own path: {error}"))?;
    let output = Command::new(program)
        .arg("--child")
        .args([engine, part.name()])
        .arg(folder)
        .args(arguments.for_children())
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("{engine} {}: cannot start: {error}", part.name()))?;
    let is_expected = if part.is_killed() {
        output.status.signal() == Some(SIGKILL)
    } else {
        output.status.success()
    };
    if !is_expected {
        return Err(format!("{engine} {}: {}", part.name(), output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{engine} {}: {error}", part.name()))
}

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}
