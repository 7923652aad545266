//! Damaged files: small stores, closed and killed, in which one file is changed, cut, swapped or removed. Afterwards every row is right,
//! or something says that it is not.
//!
//! ```text
//! template.rs  stores with a bit of everything, and what is in them      harm.rs  what is done to a file
//! verdict.rs   what came of it
//! ```

mod harm;
mod template;
mod verdict;

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::Context;
use crate::report::{Fault, copy};
use harm::Harm;
use template::Template;
use verdict::{Judge, Verdict};

const PART: &str = "damage";

/// Times that a store is damaged, each time as it was at first.
const TRIALS: u32 = 300;
/// No trial takes longer.
const TRIAL_LIMIT: Duration = Duration::from_mins(1);
/// Of so many trials one goes through the built command as well.
const COMMAND_EVERY: u32 = 150;

/// Tortures until the time is over.
pub(crate) fn turn(context: &Context, seed: u64, until: Instant) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let folder = context.quick_folder(PART);
    let whole = folder.path().join("whole");
    let template = match Template::make(&whole, &mut rng) {
        Ok(template) => Arc::new(template),
        Err(error) => return context.report.find(PART, Fault::Wrong, seed, Some(&whole), format!("making a store: {error}")),
    };
    context.report.count(PART, if template.is_closed { "stores closed" } else { "stores killed" }, 1);
    for trial in 0..TRIALS {
        if Instant::now() >= until {
            return;
        }
        let directory = folder.path().join("damaged");
        let failed = |error: std::io::Error| context.report.find(PART, Fault::Wrong, seed, None, format!("a copy of a store: {error}"));
        if let Err(error) = copy(&whole, &directory) {
            return failed(error);
        }
        let harm = match Harm::choose(&directory, &mut rng).and_then(|harm| harm.carry_out(&directory).map(|()| harm)) {
            Ok(harm) => harm,
            Err(error) => return failed(error),
        };
        let judge = Judge::new(Arc::clone(&template), harm.clone(), directory.clone(), rng.fork());
        let command = (trial % COMMAND_EVERY == COMMAND_EVERY - 1).then(|| context.program.clone());
        tell(context, seed, &whole, &harm, &judged(judge, command));
        if let Err(error) = std::fs::remove_dir_all(&directory) {
            return failed(error);
        }
    }
}

/// What a judge says, on a thread of its own: a panic is a finding, and so is one that does not end.
fn judged(judge: Judge, command: Option<std::path::PathBuf>) -> Verdict {
    let (tell, told) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        // Nobody may be listening any more.
        let _ = tell.send(judge.judge(command.as_deref()));
    });
    match told.recv_timeout(TRIAL_LIMIT) {
        Ok(verdict) => verdict,
        Err(mpsc::RecvTimeoutError::Timeout) => Verdict::finding(Fault::Hung, format!("nothing came of it within {TRIAL_LIMIT:?}")),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let why = thread
                .join()
                .err()
                .and_then(|why| why.downcast_ref::<String>().cloned().or_else(|| why.downcast_ref().map(|text: &&str| (*text).to_owned())));
            Verdict::finding(Fault::Died, format!("a panic: {}", why.unwrap_or_default()))
        }
    }
}

fn tell(context: &Context, seed: u64, whole: &Path, harm: &Harm, verdict: &Verdict) {
    let report = &context.report;
    report.count(PART, "files damaged", 1);
    report.count(PART, format!("damaged: {}", harm.class()), 1);
    for outcome in &verdict.outcomes {
        report.count(PART, *outcome, 1);
    }
    for (fault, text) in &verdict.findings {
        // The whole store and what is done to it say more than the remains of a store that has been opened since.
        report.find(PART, *fault, seed, Some(whole), format!("{harm}: {text}"));
    }
}
