//! Medians of rounds, as lines with ratios.

use std::time::Instant;

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
        let mut values: Vec<f64> = self.rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    }
}

/// Nanoseconds since a moment.
pub(crate) fn since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Prints contestants with their ratios to the first one.
pub(crate) fn print(title: &str, contestants: &[Timed]) {
    println!("{title}");
    println!("  {:<34} {:>9} {:>9} {:>7}", "", "p50 us", "mean us", "ratio");
    let base = contestants.first().map_or(1.0, |one| one.middle(|round| round.0));
    for one in contestants {
        let (median, mean) = (one.middle(|round| round.0), one.middle(|round| round.1));
        println!("  {:<34} {median:>9.2} {mean:>9.2} {:>7.2}", one.name, median / base);
    }
    println!();
}
