//! A list of steps with headings, timings and one summary at the end.

use std::time::{Duration, Instant};

use crate::Result;

/// How a step ended, if it did not fail.
pub(crate) enum Outcome {
    Done,
    /// It needs something that is not here; the text says what and how to get it.
    Skipped(String),
}

enum Ending {
    Passed,
    Skipped(String),
    Failed(String),
}

/// Steps that ran so far.
pub(crate) struct Steps {
    /// Whether to go on after a failure, so that one run shows all of them.
    go_on: bool,
    endings: Vec<(&'static str, Duration, Ending)>,
}

impl Steps {
    /// No steps yet.
    pub(crate) fn new(go_on: bool) -> Self {
        Self { go_on, endings: Vec::new() }
    }

    /// Runs a step under its heading, unless an earlier failure ended the list.
    pub(crate) fn step(&mut self, title: &'static str, work: impl FnOnce() -> Result<Outcome>) {
        if !self.go_on && self.failures() > 0 {
            return;
        }
        println!("\n==== {title}");
        let start = Instant::now();
        let ending = match work() {
            Ok(Outcome::Done) => Ending::Passed,
            Ok(Outcome::Skipped(reason)) => {
                println!("skipped: {reason}");
                Ending::Skipped(reason)
            }
            Err(message) => {
                println!("FAILED: {message}");
                Ending::Failed(message)
            }
        };
        self.endings.push((title, start.elapsed(), ending));
    }

    /// Prints the summary.
    ///
    /// # Errors
    /// If a step failed.
    pub(crate) fn finish(self) -> Result<()> {
        println!("\n==== summary");
        for (title, time, ending) in &self.endings {
            let seconds = time.as_secs_f64();
            match ending {
                Ending::Passed => println!("{seconds:7.1} s  ok       {title}"),
                Ending::Skipped(reason) => println!("{seconds:7.1} s  skipped  {title}: {reason}"),
                Ending::Failed(message) => println!("{seconds:7.1} s  FAILED   {title}: {message}"),
            }
        }
        let total: Duration = self.endings.iter().map(|(_, time, _)| *time).sum();
        println!("{:7.1} s  in all", total.as_secs_f64());
        match self.failures() {
            0 => Ok(()),
            1 => Err("a step failed; its output stands above".to_string()),
            count => Err(format!("{count} steps failed; their output stands above")),
        }
    }

    fn failures(&self) -> usize {
        self.endings.iter().filter(|(_, _, ending)| matches!(ending, Ending::Failed(_))).count()
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
            Ok(Outcome::Done)
        });
        (ran, steps.finish())
    }

    #[test]
    fn a_person_sees_the_first_failure_and_ci_sees_all() {
        assert!(!ran_after_a_failure(false).0);
        assert!(ran_after_a_failure(true).0);
    }

    #[test]
    fn a_failed_step_fails_the_whole_and_a_skipped_one_does_not() {
        assert!(ran_after_a_failure(true).1.is_err());
        let mut steps = Steps::new(false);
        steps.step("absent", || Ok(Outcome::Skipped("no JDK".to_string())));
        assert_eq!(steps.finish(), Ok(()));
    }
}
