//! The simulation as a program: some seeds, or the one that failed.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a task talks to the person at the terminal")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_sim::run::{Failure, run};
use halite_sim::world::Tally;

const HELP: &str = "\
Simulates the engine: random operations, crashes and failures against a model of HBase.

    --seed 0x2a     one run, of this seed
    --seeds N       N runs (16; or HALITE_SIM_SEEDS)
    --first-seed SEED  the first seed of several (1)
    --steps N       steps of each run (1000)
    --threads N     runs at a time (one for each core)
    --failures N    stops after so many runs that failed (5)
";

/// Runs of at most this many seeds are told one by one.
const SEEDS_TOLD: u64 = 64;
/// How often a long run says how far it is.
const PROGRESS: Duration = Duration::from_secs(10);

struct Arguments {
    first: u64,
    seeds: u64,
    steps: u64,
    threads: u64,
    failures: u64,
}

/// What all threads together have done.
struct Campaign {
    start: Instant,
    told: Instant,
    done: u64,
    failed: Vec<u64>,
    total: Tally,
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
    let now = Instant::now();
    let campaign = Mutex::new(Campaign { start: now, told: now, done: 0, failed: Vec::new(), total: Tally::default() });
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 1..arguments.threads.clamp(1, arguments.seeds.max(1)) {
            scope.spawn(|| work(&arguments, &next, &campaign));
        }
        work(&arguments, &next, &campaign);
    });
    let campaign = locked(&campaign);
    println!("{}", campaign.summary(&arguments));
    if campaign.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn locked(campaign: &Mutex<Campaign>) -> MutexGuard<'_, Campaign> {
    campaign.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes seeds until there are none left, or enough have failed.
fn work(arguments: &Arguments, next: &AtomicU64, campaign: &Mutex<Campaign>) {
    while (locked(campaign).failed.len() as u64) < arguments.failures {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= arguments.seeds {
            return;
        }
        let seed = arguments.first.wrapping_add(number);
        let result = std::panic::catch_unwind(|| run(seed, arguments.steps));
        let result = result.unwrap_or_else(|_| Err(Failure::panicked(seed, arguments.steps)));
        locked(campaign).note(arguments, seed, result.map(|report| report.tally));
    }
}

impl Campaign {
    fn note(&mut self, arguments: &Arguments, seed: u64, result: Result<Tally, Failure>) {
        self.done += 1;
        match result {
            Ok(tally) => {
                self.total.add(&tally);
                if arguments.seeds <= SEEDS_TOLD {
                    println!("seed {seed:#x}: {tally}");
                }
            }
            Err(failure) => {
                self.failed.push(seed);
                eprintln!("{failure}\n");
            }
        }
        if arguments.seeds > SEEDS_TOLD && self.told.elapsed() >= PROGRESS {
            self.told = Instant::now();
            eprintln!("{} of {} seeds, {} failed, {:.1} seeds/s", self.done, arguments.seeds, self.failed.len(), self.speed());
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a figure to look at")]
    fn speed(&self) -> f64 {
        self.done as f64 / self.start.elapsed().as_secs_f64().max(1e-9)
    }

    fn summary(&self, arguments: &Arguments) -> String {
        let failed = if self.failed.is_empty() {
            "none failed".to_owned()
        } else {
            format!("{} FAILED: {}", self.failed.len(), self.failed.iter().map(|seed| format!("{seed:#x}")).collect::<Vec<_>>().join(" "))
        };
        let (seconds, speed, threads) = (self.start.elapsed().as_secs_f64(), self.speed(), arguments.threads);
        let first = arguments.first;
        format!(
            "{} seeds from {first:#x} with {} steps in {seconds:.1} s, {speed:.1} seeds/s on {threads} threads; {failed}\nin all: {}",
            self.done, arguments.steps, self.total
        )
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let seeds = std::env::var("HALITE_SIM_SEEDS").ok().map(|text| number("HALITE_SIM_SEEDS", &text)).transpose()?;
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let mut parsed = Arguments { first: 1, seeds: seeds.unwrap_or(16), steps: 1000, threads, failures: 5 };
    while let Some(name) = arguments.next() {
        if matches!(name.as_str(), "--help" | "-h") {
            return Ok(None);
        }
        let mut value = || number(&name, &arguments.next().ok_or_else(|| format!("{name} needs a number"))?);
        match name.as_str() {
            "--seed" => (parsed.first, parsed.seeds) = (value()?, 1),
            "--seeds" => parsed.seeds = value()?,
            "--first-seed" => parsed.first = value()?,
            "--steps" => parsed.steps = value()?,
            "--threads" => parsed.threads = value()?,
            "--failures" => parsed.failures = value()?.max(1),
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
