//! Simulation program of client, server and engine: runs several seeds, or a single one to
//! reproduce a failure.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the program writes its output to the terminal"
)]

use std::process::ExitCode;

use halite_patience::arguments::parse_number;
use halite_world::run::{Plan, Report, play};

const HELP: &str = "\
Simulate clients, a server and its engine with faults, and check that every row is linearizable.

    --seed 0x2a        run one seed
    --seeds N          run N seeds (16)
    --first-seed SEED  first of several seeds (1)
    --log              print the events of each run in order
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
            "{failed} of {} seeds failed; run one with: cargo xtask world --seed SEED --log",
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
        let mut value = || {
            parse_number(&name, &arguments.next().ok_or_else(|| format!("{name} needs a number"))?)
        };
        match name.as_str() {
            "--seed" => (parsed.first_seed, parsed.seeds) = (value()?, 1),
            "--seeds" => parsed.seeds = value()?,
            "--first-seed" => parsed.first_seed = value()?,
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    Ok(Some(parsed))
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
        "seed {seed:#x}: {calls} calls, {failed} failed; {ops} operations on {rows} rows checked; \
         {scans} scans of {scanned} rows; {changes} region changes; {deaths} deaths and {stops} \
         stops; {jobs} background jobs; digest {:016x}",
        report.digest
    )
}
