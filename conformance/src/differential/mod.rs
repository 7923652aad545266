//! Differential fuzzer: a random program runs on two implementations, their results are compared,
//! and a program with a difference is shrunk to a case for the conformance suite.
//!
//! [`program`] generates a program from a seed, [`difference`] runs it on two [`Implementation`]s,
//! [`shrink`] minimizes it. A program consists of lines in the language of the case files, so the
//! result can be copied into one.

mod generate;
mod implementation;
mod rng;
mod shrink;

use std::fmt;

use crate::script::{Case, ParseError};

pub use generate::{Profile, program};
pub use implementation::{Implementation, InMemoryOnly, SystemImplementation};
pub use shrink::shrink;

/// Program on whose last step two sides differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Lines up to the step.
    pub program: Vec<String>,
    /// Results of each line on each side.
    pub results: [Vec<Vec<String>>; 2],
}

impl fmt::Display for Difference {
    /// Formats a case with the results of the second side, then the results of the first at the
    /// last step.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "case found_by_the_differ")?;
        for (line, answer) in self.program.iter().zip(&self.results[1]) {
            writeln!(out, "{line}")?;
            answer.iter().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        writeln!(out, "# The first side answered to the last step:")?;
        match self.results[0].last() {
            Some(answer) if !answer.is_empty() => {
                answer.iter().try_for_each(|line| writeln!(out, "#     {line}"))
            }
            _ => writeln!(out, "#     (no answer)"),
        }
    }
}

/// Runs a program on both sides, step by step, up to the first on which they differ. Returns `None`
/// if there is none. The right side is the reference: steps at which it fails internally (`Io`) are
/// not compared.
///
/// # Errors
/// Returns [`ParseError`] if the program is not in the language; no step has run then.
pub fn difference(
    program: &[String],
    left: &mut dyn Implementation,
    right: &mut dyn Implementation,
) -> Result<Option<Difference>, ParseError> {
    let steps = parse(program)?.steps;
    left.begin();
    right.begin();
    let mut answers = [Vec::new(), Vec::new()];
    for (index, step) in steps.iter().enumerate() {
        // One after the other: the first must not delay the second into another millisecond.
        let both = [left.run_step(step), right.run_step(step)];
        // An internal failure of the right side is no evidence about the left one.
        let differ = both[0] != both[1] && !implementation::has_failed(&both[1]);
        answers.iter_mut().zip(both).for_each(|(all, one)| all.push(one));
        if differ {
            return Ok(Some(Difference { program: program[..=index].to_vec(), results: answers }));
        }
    }
    Ok(None)
}

fn parse(program: &[String]) -> Result<Case, ParseError> {
    let text = format!("case program\n{}\n", program.join("\n"));
    let nothing = || ParseError { line: 1, reason: "the program is empty".into() };
    Case::parse_file(&text)?.pop().ok_or_else(nothing)
}
