//! Medians of rounds, as lines with ratios.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::error::Result;

/// Microseconds per call of one contestant.
pub(crate) struct Timed {
    name: &'static str,
    /// Median and mean of each round.
    rounds: Vec<(f64, f64)>,
}

impl Timed {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, rounds: Vec::new() }
    }

    /// Adds a round: the time of each call, in nanoseconds.
    pub(crate) fn add(&mut self, mut calls: Vec<u64>) {
        calls.sort_unstable();
        let median = calls.get(calls.len() / 2).copied().unwrap_or(0);
        let sum: u64 = calls.iter().sum();
        let mean = sum as f64 / calls.len().max(1) as f64;
        self.rounds.push((median as f64 / 1e3, mean / 1e3));
    }

    fn middle(&self, of: fn(&(f64, f64)) -> f64) -> f64 {
        middle(self.rounds.iter().map(of))
    }
}

/// Returns the median of some numbers.
pub(crate) fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Nanoseconds since a moment.
pub(crate) fn since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Prints contestants with their ratios to the first one.
pub(crate) fn print(title: &str, contestants: &[Timed]) {
    println!("{title}");
    println!("  {:<38} {:>9} {:>9} {:>7}", "", "p50 us", "mean us", "ratio");
    let base = contestants.first().map_or(1.0, |one| one.middle(|round| round.0));
    for one in contestants {
        let (median, mean) = (one.middle(|round| round.0), one.middle(|round| round.1));
        println!("  {:<38} {median:>9.2} {mean:>9.2} {:>7.2}", one.name, median / base);
    }
    println!();
}

/// What one run of a contestant took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lap {
    pub(crate) seconds: f64,
    /// Processor time of all threads of this process, those of the store included.
    pub(crate) cpu_seconds: f64,
}

/// Moment from which a lap counts.
pub(crate) struct Clock {
    start: Instant,
    cpu: f64,
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { cpu: cpu_seconds(), start: Instant::now() }
    }

    pub(crate) fn stop(&self) -> Lap {
        let seconds = self.start.elapsed().as_secs_f64();
        Lap { seconds, cpu_seconds: cpu_seconds() - self.cpu }
    }
}

/// Contestants that run for seconds, with their rounds.
pub(crate) struct Race {
    names: Vec<&'static str>,
    laps: Vec<Vec<Lap>>,
}

impl Race {
    pub(crate) fn new<const N: usize>(names: [&'static str; N]) -> Self {
        Self { names: names.to_vec(), laps: vec![Vec::new(); N] }
    }

    /// Adds a round of a contestant.
    pub(crate) fn add(&mut self, contestant: usize, lap: Lap) {
        self.laps[contestant].push(lap);
    }

    /// Times a call, and checks its answer.
    pub(crate) async fn run<T: PartialEq + std::fmt::Debug>(
        &mut self,
        contestant: usize,
        expected: &T,
        call: impl Future<Output = Result<T>>,
    ) -> Result<()> {
        let clock = Clock::start();
        let answer = call.await?;
        self.add(contestant, clock.stop());
        if answer == *expected {
            return Ok(());
        }
        let name = self.names[contestant];
        Err(format!("{name}: the answer is {answer:?} instead of {expected:?}").into())
    }

    /// Returns the median seconds of a contestant.
    pub(crate) fn seconds(&self, contestant: usize) -> f64 {
        middle(self.laps[contestant].iter().map(|lap| lap.seconds))
    }

    /// Prints the contestants with their ratios to the first one, per row.
    pub(crate) fn print(&self, title: &str, rows: u64) {
        println!("{title}");
        println!("  {:<38} {:>9} {:>11} {:>11} {:>7}", "", "ms", "M rows/s", "CPU ns/row", "ratio");
        let base = self.seconds(0);
        for (at, name) in self.names.iter().enumerate() {
            let seconds = self.seconds(at);
            let cpu = middle(self.laps[at].iter().map(|lap| lap.cpu_seconds));
            println!(
                "  {name:<38} {:>9.1} {:>11.2} {:>11.0} {:>7.2}",
                seconds * 1e3,
                rows as f64 / seconds / 1e6,
                cpu * 1e9 / rows as f64,
                seconds / base
            );
        }
    }
}
