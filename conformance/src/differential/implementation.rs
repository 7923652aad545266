//! Two sides of a comparison, and the comparable format of their results.

use crate::runner::{self, CLOCK_START_MS, SystemUnderTest, result_format};
use crate::script::{Command, ScriptStep};

/// Executor of the steps of a program.
pub trait Implementation: Send {
    /// Starts a program.
    fn begin(&mut self);
    /// Executes a step. Returns the lines of its result; an error is formatted by its kind.
    fn run_step(&mut self, step: &ScriptStep) -> Vec<String>;
}

/// Adapter from a system under test to one side of a comparison.
pub struct SystemImplementation<S> {
    system: S,
    clock: i64,
}

impl<S: SystemUnderTest> SystemImplementation<S> {
    /// Creates the side for a system.
    pub fn new(system: S) -> Self {
        Self { system, clock: CLOCK_START_MS }
    }

    /// Returns the system.
    pub fn into_inner(self) -> S {
        self.system
    }
}

impl<S: SystemUnderTest + Send> Implementation for SystemImplementation<S> {
    fn begin(&mut self) {
        self.clock = CLOCK_START_MS;
        self.system.set_clock(self.clock);
    }

    fn run_step(&mut self, step: &ScriptStep) -> Vec<String> {
        match runner::execute(step, &mut self.system, &mut self.clock) {
            Ok(lines) => lines.iter().map(|line| comparable(line)).collect(),
            Err(error) => vec![comparable(&result_format::error_line(&error))],
        }
    }
}

/// Side on which nothing is written to files and nothing is merged. The results must not depend on
/// that, if the program satisfies [`Profile::left_in_memory`](super::Profile::left_in_memory).
pub struct InMemoryOnly<S>(pub S);

impl<S: Implementation> Implementation for InMemoryOnly<S> {
    fn begin(&mut self) {
        self.0.begin();
    }

    fn run_step(&mut self, step: &ScriptStep) -> Vec<String> {
        match step.command {
            Ok(Command::Flush | Command::Minor | Command::Compact | Command::Major) => Vec::new(),
            _ => self.0.run_step(step),
        }
    }
}

/// Returns `true` if the implementation failed at a step instead of rejecting it.
pub(super) fn has_failed(answer: &[String]) -> bool {
    answer.iter().any(|line| line.starts_with("error: Io"))
}

/// Reduces errors to their kind, except internal failures, and erases times of the cluster's clock:
/// programs use times far below or above them.
fn comparable(line: &str) -> String {
    if let Some(error) = line.strip_prefix("error: ") {
        let kind = error.split(':').next().unwrap_or(error);
        return if kind == "Io" {
            line.replace(['\n', '\r'], " ")
        } else {
            format!("error: {kind}")
        };
    }
    let is_now = |word: &str| {
        word.strip_prefix('@').is_some_and(|digits| {
            digits.len() == 13 && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    line.split(' ')
        .map(|word| if is_now(word) { "@now" } else { word })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clock_timestamps_are_erased() {
        assert_eq!(comparable("a f:q @1732300000000 Put = @5"), "a f:q @now Put = @5");
        assert_eq!(
            comparable("a f:q @9223372036854775806 Put = v"),
            "a f:q @9223372036854775806 Put = v"
        );
        assert_eq!(
            comparable("error: NoSuchFamily: table t has no family x"),
            "error: NoSuchFamily"
        );
    }
}
