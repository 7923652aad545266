//! Simulation program: runs several seeds, or a single one to reproduce a failure.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the program writes its output to the terminal"
)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halite_patience::arguments::parse_number;
use halite_sim::run::{Failure, run};
use halite_sim::world::RunStats;

const HELP: &str = "\
Simulate the engine: random operations, crashes and failures compared with a model of HBase.

    --seed 0x2a        run one seed
    --seeds N          run N seeds (16; or HALITE_SIM_SEEDS)
    --first-seed SEED  first of several seeds (1)
    --steps N          steps per run (1000)
    --threads N        concurrent runs (one per core)
    --failures N       stop after N failed runs (5)
";

/// Maximum number of seeds for which each run is printed.
const MAX_PRINTED_SEEDS: u64 = 64;
/// Interval of progress reports in a long run.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

struct Arguments {
    first_seed: u64,
    seeds: u64,
    steps: u64,
    threads: u64,
    failures: u64,
}

/// Combined results of all threads.
struct Campaign {
    start: Instant,
    last_progress: Instant,
    done: u64,
    failed: Vec<u64>,
    total: RunStats,
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
    let campaign = Mutex::new(Campaign {
        start: now,
        last_progress: now,
        done: 0,
        failed: Vec::new(),
        total: RunStats::default(),
    });
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

/// Runs seeds until none are left, or enough have failed.
fn work(arguments: &Arguments, next: &AtomicU64, campaign: &Mutex<Campaign>) {
    while (locked(campaign).failed.len() as u64) < arguments.failures {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= arguments.seeds {
            return;
        }
        let seed = arguments.first_seed.wrapping_add(number);
        let result = std::panic::catch_unwind(|| run(seed, arguments.steps));
        let result = result.unwrap_or_else(|_| Err(Failure::panicked(seed, arguments.steps)));
        locked(campaign).record(arguments, seed, result.map(|report| report.stats));
    }
}

impl Campaign {
    fn record(&mut self, arguments: &Arguments, seed: u64, result: Result<RunStats, Failure>) {
        self.done += 1;
        match result {
            Ok(tally) => {
                self.total.add(&tally);
                if arguments.seeds <= MAX_PRINTED_SEEDS {
                    println!("seed {seed:#x}: {tally}");
                }
            }
            Err(failure) => {
                self.failed.push(seed);
                eprintln!("{failure}\n");
            }
        }
        if arguments.seeds > MAX_PRINTED_SEEDS && self.last_progress.elapsed() >= PROGRESS_INTERVAL
        {
            self.last_progress = Instant::now();
            eprintln!(
                "{} of {} seeds, {} failed, {:.1} seeds/s",
                self.done,
                arguments.seeds,
                self.failed.len(),
                self.speed()
            );
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "the printed rate may be rounded")]
    fn speed(&self) -> f64 {
        self.done as f64 / self.start.elapsed().as_secs_f64().max(1e-9)
    }

    fn summary(&self, arguments: &Arguments) -> String {
        let failed = if self.failed.is_empty() {
            "none failed".to_owned()
        } else {
            format!(
                "{} FAILED: {}",
                self.failed.len(),
                self.failed.iter().map(|seed| format!("{seed:#x}")).collect::<Vec<_>>().join(" ")
            )
        };
        let (seconds, speed, threads) =
            (self.start.elapsed().as_secs_f64(), self.speed(), arguments.threads);
        let first = arguments.first_seed;
        format!(
            "{} seeds from {first:#x} with {} steps in {seconds:.1} s, {speed:.1} seeds/s on \
             {threads} threads; {failed}\ntotals: {}",
            self.done, arguments.steps, self.total
        )
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let seeds = std::env::var("HALITE_SIM_SEEDS")
        .ok()
        .map(|text| parse_number("HALITE_SIM_SEEDS", &text))
        .transpose()?;
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let mut parsed =
        Arguments { first_seed: 1, seeds: seeds.unwrap_or(16), steps: 1000, threads, failures: 5 };
    while let Some(name) = arguments.next() {
        if matches!(name.as_str(), "--help" | "-h") {
            return Ok(None);
        }
        let mut value = || {
            parse_number(&name, &arguments.next().ok_or_else(|| format!("{name} needs a number"))?)
        };
        match name.as_str() {
            "--seed" => (parsed.first_seed, parsed.seeds) = (value()?, 1),
            "--seeds" => parsed.seeds = value()?,
            "--first-seed" => parsed.first_seed = value()?,
            "--steps" => parsed.steps = value()?,
            "--threads" => parsed.threads = value()?,
            "--failures" => parsed.failures = value()?.max(1),
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    Ok(Some(parsed))
}
