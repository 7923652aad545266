//! The two sides of a comparison, and their answers in a form in which they can be compared.

use crate::runner::{self, CLOCK_START_MS, Subject, answer};
use crate::script::{Command, Step};

/// What answers the steps of a program.
pub trait Side: Send {
    /// A program begins.
    fn begin(&mut self);
    /// Does a step; the lines of its answer, an error by its kind.
    fn answer(&mut self, step: &Step) -> Vec<String>;
}

/// An implementation that the battery runs on, as a side.
pub struct SubjectSide<S> {
    subject: S,
    clock: i64,
}

impl<S: Subject> SubjectSide<S> {
    /// The side of that implementation.
    pub fn new(subject: S) -> Self {
        Self { subject, clock: CLOCK_START_MS }
    }

    /// The implementation.
    pub fn into_inner(self) -> S {
        self.subject
    }
}

impl<S: Subject + Send> Side for SubjectSide<S> {
    fn begin(&mut self) {
        self.clock = CLOCK_START_MS;
        self.subject.set_clock(self.clock);
    }

    fn answer(&mut self, step: &Step) -> Vec<String> {
        match runner::execute(step, &mut self.subject, &mut self.clock) {
            Ok(lines) => lines.iter().map(|line| comparable(line)).collect(),
            Err(error) => vec![comparable(&answer::error_line(&error))],
        }
    }
}

/// A side on which nothing is written to files and nothing is merged: the answers must not depend on it, if the program keeps to
/// what [`Profile::placed_apart`](super::Profile::placed_apart) says.
pub struct Apart<S>(pub S);

impl<S: Side> Side for Apart<S> {
    fn begin(&mut self) {
        self.0.begin();
    }

    fn answer(&mut self, step: &Step) -> Vec<String> {
        match step.command {
            Ok(Command::Flush | Command::Minor | Command::Compact | Command::Major) => Vec::new(),
            _ => self.0.answer(step),
        }
    }
}

/// Whether the implementation failed at a step, instead of refusing it.
pub(super) fn has_failed(answer: &[String]) -> bool {
    answer.iter().any(|line| line.starts_with("error: Io"))
}

/// Errors by their kind alone, except those that say what failed inside, and times of the cluster's clock erased: programs write times far below or above them.
fn comparable(line: &str) -> String {
    if let Some(error) = line.strip_prefix("error: ") {
        let kind = error.split(':').next().unwrap_or(error);
        return if kind == "Io" { line.replace(['\n', '\r'], " ") } else { format!("error: {kind}") };
    }
    let is_now = |word: &str| word.strip_prefix('@').is_some_and(|digits| digits.len() == 13 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    line.split(' ').map(|word| if is_now(word) { "@now" } else { word }).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_clock_stamped_is_erased_and_nothing_else() {
        assert_eq!(comparable("a f:q @1732300000000 Put = @5"), "a f:q @now Put = @5");
        assert_eq!(comparable("a f:q @9223372036854775806 Put = v"), "a f:q @9223372036854775806 Put = v");
        assert_eq!(comparable("error: NoSuchFamily: table t has no family x"), "error: NoSuchFamily");
    }
}
