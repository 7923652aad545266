//! The simulation as a program: some seeds, or the one that failed.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to the person at the terminal")]

use std::process::ExitCode;

use halite_sim::run::{Report, run};

const HELP: &str = "\
Simulates the engine: random operations, crashes and failures against a model of HBase.

    --seed 0x2a     one run, of this seed
    --seeds N       N runs (16; or HALITE_SIM_SEEDS)
    --from SEED     the first seed of several (1)
    --steps N       steps of each run (1000)
";

struct Arguments {
    first: u64,
    seeds: u64,
    steps: u64,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("halite-sim: {message}\n\n{HELP}");
            return ExitCode::FAILURE;
        }
    };
    for seed in arguments.first..arguments.first.saturating_add(arguments.seeds) {
        match run(seed, arguments.steps) {
            Ok(report) => println!("{}", line(seed, &report)),
            Err(failure) => {
                eprintln!("{failure}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let seeds = std::env::var("HALITE_SIM_SEEDS").ok().map(|text| number("HALITE_SIM_SEEDS", &text)).transpose()?;
    let mut parsed = Arguments { first: 1, seeds: seeds.unwrap_or(16), steps: 1000 };
    while let Some(name) = arguments.next() {
        if matches!(name.as_str(), "--help" | "-h") {
            return Ok(None);
        }
        let mut value = || number(&name, &arguments.next().ok_or_else(|| format!("{name} needs a number"))?);
        match name.as_str() {
            "--seed" => (parsed.first, parsed.seeds) = (value()?, 1),
            "--seeds" => parsed.seeds = value()?,
            "--from" => parsed.first = value()?,
            "--steps" => parsed.steps = value()?,
            _ => return Err(format!("there is no argument {name}")),
        }
    }
    Ok(Some(parsed))
}

/// A number in decimal, or in hexadecimal behind `0x`.
fn number(name: &str, text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| format!("{name} {text}: {error}"))
}

fn line(seed: u64, report: &Report) -> String {
    let tally = &report.tally;
    format!(
        "seed {seed:#x}: {} writes; answers checked: {} with one right answer, {} with several, {} not; {} crashes, {} of {} writes under way kept; {} flushes, {} memstores condensed, {} compactions, {} splits and merges, {} of snapshots, {} loads",
        tally.writes,
        tally.checked.certain,
        tally.checked.doubtful,
        tally.checked.unknown,
        tally.crashes,
        tally.in_flight_kept,
        tally.in_flight,
        tally.flushes,
        tally.condensations,
        tally.compactions,
        tally.region_changes,
        tally.copies,
        tally.loads
    )
}
