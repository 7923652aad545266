//! The differential fuzzer: a random program runs on two implementations, their answers are compared, and where they differ the
//! program is shrunk to a case of the battery.
//!
//! [`program`] makes a program from a seed, [`difference`] runs it on two [`Side`]s, [`shrink`] makes it small. A program is lines
//! of the language of the case files, so what is left of it can be copied into one.

mod chance;
mod generate;
mod shrink;
mod side;

use std::fmt;

use crate::script::{Case, Malformed};

pub use generate::{Profile, program};
pub use shrink::shrink;
pub use side::{Apart, Side, SubjectSide};

/// A program on whose last step two sides do not agree.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The lines up to the step.
    pub program: Vec<String>,
    /// What each side answered to each of them.
    pub answers: [Vec<Vec<String>>; 2],
}

impl fmt::Display for Difference {
    /// As a case with the answers of the second side, then the answers of the first to the last step.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "case found_by_the_differ")?;
        for (line, answer) in self.program.iter().zip(&self.answers[1]) {
            writeln!(out, "{line}")?;
            answer.iter().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
        writeln!(out, "# The first side answered to the last step:")?;
        match self.answers[0].last() {
            Some(answer) if !answer.is_empty() => answer.iter().try_for_each(|line| writeln!(out, "#     {line}")),
            _ => writeln!(out, "#     (no answer)"),
        }
    }
}

/// Runs a program on both sides, step by step, up to the first on which they differ; `None` if there is none. The right side is
/// the one that is taken for right: steps at which it fails inside (`Io`) are not compared.
///
/// # Errors
/// [`Malformed`] if the program is not in the language; nothing has run then.
pub fn difference(program: &[String], left: &mut dyn Side, right: &mut dyn Side) -> Result<Option<Difference>, Malformed> {
    let steps = parse(program)?.steps;
    left.begin();
    right.begin();
    let mut answers = [Vec::new(), Vec::new()];
    for (at, step) in steps.iter().enumerate() {
        // One after the other: what the first does must not slow the second down into another millisecond.
        let both = [left.answer(step), right.answer(step)];
        // What the right side fails at by itself tells nothing about the left one.
        let differ = both[0] != both[1] && !side::has_failed(&both[1]);
        answers.iter_mut().zip(both).for_each(|(all, one)| all.push(one));
        if differ {
            return Ok(Some(Difference { program: program[..=at].to_vec(), answers }));
        }
    }
    Ok(None)
}

fn parse(program: &[String]) -> Result<Case, Malformed> {
    let text = format!("case program\n{}\n", program.join("\n"));
    let nothing = || Malformed { line: 1, reason: "the program is empty".into() };
    Case::parse_file(&text)?.pop().ok_or_else(nothing)
}
