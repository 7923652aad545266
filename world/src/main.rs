//! Simulation program of client, server and engine: runs several seeds, or a single one to
//! reproduce a failure.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to the person at the terminal"
)]

use std::process::ExitCode;

use halite_world::run::{Plan, Report, play};

const HELP: &str = "\
Simulates clients, a server and its engine in trouble, and checks that every row is linearizable.

    --seed 0x2a     one run, of this seed
    --seeds N       N runs (16)
    --first-seed SEED  the first seed of several (1)
    --log           what happened in each run, in order
";

struct Arguments {
    first_seed: u64,
    seeds: u64,
    log: bool,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("halite-world: {message}\n\n{HELP}");
            return ExitCode::FAILURE;
        }
    };
    let mut failed = 0;
    for seed in arguments.first_seed..arguments.first_seed.saturating_add(arguments.seeds) {
        match play(&Plan::from_seed(seed)) {
            Ok(report) => {
                if arguments.log {
                    println!("{}", report.log.join("\n"));
                }
                println!("{}", line(seed, &report));
                failed += u64::from(!report.violations.is_empty());
                report
                    .violations
                    .iter()
                    .take(5)
                    .for_each(|wrong| eprintln!("seed {seed:#x}: {wrong}"));
            }
            Err(error) => {
                eprintln!("seed {seed:#x}: the simulation failed: {error}");
                failed += 1;
            }
        }
    }
    if failed > 0 {
        eprintln!(
            "{failed} of {} seeds failed; one alone: cargo xtask world --seed SEED --log",
            arguments.seeds
        );
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let mut parsed = Arguments { first_seed: 1, seeds: 16, log: false };
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--help" | "-h" => return Ok(None),
            "--log" => {
                parsed.log = true;
                continue;
            }
            _ => {}
        }
        let mut value =
            || number(&name, &arguments.next().ok_or_else(|| format!("{name} needs a number"))?);
        match name.as_str() {
            "--seed" => (parsed.first_seed, parsed.seeds) = (value()?, 1),
            "--seeds" => parsed.seeds = value()?,
            "--first-seed" => parsed.first_seed = value()?,
            _ => return Err(format!("there is no argument {name}")),
        }
    }
    Ok(Some(parsed))
}

/// Parses a decimal number, or a hexadecimal one after `0x`.
fn number(name: &str, text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| format!("{name} {text}: {error}"))
}

fn line(seed: u64, report: &Report) -> String {
    let Report {
        calls,
        failed,
        rows,
        ops,
        scans,
        scanned_rows: scanned,
        changes,
        deaths,
        stops,
        jobs,
        ..
    } = report;
    format!(
        "seed {seed:#x}: {calls} calls, {failed} failed; {ops} operations on {rows} rows checked; {scans} scans of {scanned} rows; {changes} changes of regions; {deaths} deaths and {stops} stops; {jobs} jobs in the background; digest {:016x}",
        report.digest
    )
}
