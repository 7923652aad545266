//! List of steps with headings, timings and a summary at the end.

use std::time::{Duration, Instant};

use crate::Result;

/// Line before the results of all steps.
pub(crate) const SUMMARY: &str = "\n==== summary\n";

/// Outcome of a step that did not fail.
pub(crate) enum StepOutcome {
    Done,
    /// A prerequisite is missing; the text names it and how to install it.
    Skipped(String),
}

enum StepStatus {
    Passed,
    Skipped(String),
    Failed(String),
}

/// Steps that have run.
pub(crate) struct Steps {
    /// Continues after a failure, so that one run reports all of them.
    keep_going: bool,
    results: Vec<StepResult>,
}

struct StepResult {
    title: &'static str,
    time: Duration,
    /// Processor time of the programs of the step, if the system tells it.
    processor_time: Option<Duration>,
    status: StepStatus,
}

impl Steps {
    /// Creates an empty list.
    pub(crate) fn new(keep_going: bool) -> Self {
        Self { keep_going, results: Vec::new() }
    }

    /// Runs a step under its heading, unless an earlier failure ended the list.
    pub(crate) fn step(&mut self, title: &'static str, work: impl FnOnce() -> Result<StepOutcome>) {
        if !self.keep_going && self.failures() > 0 {
            return;
        }
        println!("\n==== {title}");
        let (start, processor_start) = (Instant::now(), children_processor_time());
        let status = match work() {
            Ok(StepOutcome::Done) => StepStatus::Passed,
            Ok(StepOutcome::Skipped(reason)) => {
                println!("skipped: {reason}");
                StepStatus::Skipped(reason)
            }
            Err(message) => {
                println!("FAILED: {message}");
                StepStatus::Failed(message)
            }
        };
        let processor_time = children_processor_time()
            .zip(processor_start)
            .map(|(now, before)| now.saturating_sub(before));
        self.results.push(StepResult { title, time: start.elapsed(), processor_time, status });
    }

    /// Prints the summary.
    ///
    /// # Errors
    /// Returns an error if a step failed.
    pub(crate) fn finish(self) -> Result<()> {
        print!("{SUMMARY}");
        for StepResult { title, time, processor_time, status } in &self.results {
            let times = format_times(*time, *processor_time);
            match status {
                StepStatus::Passed => println!("{times}  ok       {title}"),
                StepStatus::Skipped(reason) => println!("{times}  skipped  {title}: {reason}"),
                StepStatus::Failed(message) => println!("{times}  FAILED   {title}: {message}"),
            }
        }
        let total = self.results.iter().map(|result| result.time).sum();
        let processor_total = self.results.iter().map(|result| result.processor_time).sum();
        println!("{}  in all", format_times(total, processor_total));
        match self.failures() {
            0 => Ok(()),
            1 => Err("a step failed; its output is above".to_string()),
            count => Err(format!("{count} steps failed; their output is above")),
        }
    }

    fn failures(&self) -> usize {
        let is_failed = |result: &&StepResult| matches!(result.status, StepStatus::Failed(_));
        self.results.iter().filter(is_failed).count()
    }
}

fn format_times(time: Duration, processor_time: Option<Duration>) -> String {
    let seconds = time.as_secs_f64();
    processor_time.map_or_else(
        || format!("{seconds:7.1} s"),
        |processor_time| format!("{seconds:7.1} s {:7.1} s of cpu", processor_time.as_secs_f64()),
    )
}

/// Returns the processor time of all programs that this one started and that have ended, on Linux.
fn children_processor_time() -> Option<Duration> {
    /// Length of a clock tick in `/proc`, the same on every architecture of Linux.
    const TICK: Duration = Duration::from_millis(10);
    parse_children_ticks(&std::fs::read_to_string("/proc/self/stat").ok()?)
        .map(|ticks| TICK * ticks)
}

/// Returns the user and system ticks of children in a line of `/proc/PID/stat` (proc(5)).
fn parse_children_ticks(line: &str) -> Option<u32> {
    // The second field, the program's name in parentheses, may contain spaces.
    let mut fields = line.rsplit_once(") ")?.1.split(' ').skip(13);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    Some(ticks()? + ticks()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran_after_a_failure(go_on: bool) -> (bool, Result<()>) {
        let mut steps = Steps::new(go_on);
        steps.step("breaks", || Err("broken".to_string()));
        let mut ran = false;
        steps.step("follows", || {
            ran = true;
            Ok(StepOutcome::Done)
        });
        (ran, steps.finish())
    }

    #[test]
    fn local_run_stops_at_first_failure_ci_continues() {
        assert!(!ran_after_a_failure(false).0);
        assert!(ran_after_a_failure(true).0);
    }

    #[test]
    fn children_ticks_are_fields_16_and_17() {
        let line = "7 (a) b c) S 1 2 3 4 5 6 7 8 9 10 11 12 130 40 15 16";
        assert_eq!(parse_children_ticks(line), Some(170));
        assert_eq!(parse_children_ticks("7 (a) S 1 2"), None);
    }

    #[test]
    fn failed_step_fails_run_and_skipped_step_does_not() {
        assert!(ran_after_a_failure(true).1.is_err());
        let mut steps = Steps::new(false);
        steps.step("absent", || Ok(StepOutcome::Skipped("no JDK".to_string())));
        assert_eq!(steps.finish(), Ok(()));
    }
}
