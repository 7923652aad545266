//! List of steps with headings, timings and a summary at the end.

use std::time::{Duration, Instant};

use crate::Result;

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
    results: Vec<(&'static str, Duration, StepStatus)>,
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
        let start = Instant::now();
        let ending = match work() {
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
        self.results.push((title, start.elapsed(), ending));
    }

    /// Prints the summary.
    ///
    /// # Errors
    /// Returns an error if a step failed.
    pub(crate) fn finish(self) -> Result<()> {
        println!("\n==== summary");
        for (title, time, ending) in &self.results {
            let seconds = time.as_secs_f64();
            match ending {
                StepStatus::Passed => println!("{seconds:7.1} s  ok       {title}"),
                StepStatus::Skipped(reason) => {
                    println!("{seconds:7.1} s  skipped  {title}: {reason}");
                }
                StepStatus::Failed(message) => {
                    println!("{seconds:7.1} s  FAILED   {title}: {message}");
                }
            }
        }
        let total: Duration = self.results.iter().map(|(_, time, _)| *time).sum();
        println!("{:7.1} s  in all", total.as_secs_f64());
        match self.failures() {
            0 => Ok(()),
            1 => Err("a step failed; its output is above".to_string()),
            count => Err(format!("{count} steps failed; their output is above")),
        }
    }

    fn failures(&self) -> usize {
        self.results.iter().filter(|(_, _, ending)| matches!(ending, StepStatus::Failed(_))).count()
    }
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
    fn failed_step_fails_run_and_skipped_step_does_not() {
        assert!(ran_after_a_failure(true).1.is_err());
        let mut steps = Steps::new(false);
        steps.step("absent", || Ok(StepOutcome::Skipped("no JDK".to_string())));
        assert_eq!(steps.finish(), Ok(()));
    }
}
