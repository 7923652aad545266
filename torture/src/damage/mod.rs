//! Damaged files: small stores, closed and killed, in which one file is changed, cut, swapped or
//! removed. Afterwards every row is correct, or an error reports that it is not.
//!
//! ```text
//! template.rs  varied stores and their contents      file_damage.rs  damage to a file
//! verdict.rs   outcome of the damage
//! ```

mod file_damage;
mod template;
mod verdict;

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::context::Context;
use crate::report::{FindingKind, copy};
use file_damage::FileDamage;
use template::Template;
use verdict::{Judge, Verdict};

const PART: &str = "damage";

/// Trials per store, each on a fresh copy.
const TRIALS: u32 = 300;
/// Maximum duration of a trial.
const TRIAL_LIMIT: Duration = Duration::from_mins(1);
/// Number of trials of which one also runs the built command.
const COMMAND_EVERY: u32 = 150;

/// Runs trials until the time is over.
pub(crate) fn turn(context: &Context, seed: u64, until: Instant) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let folder = context.memory_folder(PART);
    let whole = folder.path().join("whole");
    let template = match Template::make(&whole, &mut rng) {
        Ok(template) => Arc::new(template),
        Err(error) => {
            return context.report.find(
                PART,
                FindingKind::Wrong,
                seed,
                Some(&whole),
                format!("creating a store: {error}"),
            );
        }
    };
    context.report.count(
        PART,
        if template.is_closed { "stores closed" } else { "stores killed" },
        1,
    );
    for trial in 0..TRIALS {
        if Instant::now() >= until {
            return;
        }
        let directory = folder.path().join("damaged");
        let failed = |error: std::io::Error| {
            context.report.find(
                PART,
                FindingKind::Wrong,
                seed,
                None,
                format!("a copy of a store: {error}"),
            );
        };
        if let Err(error) = copy(&whole, &directory) {
            return failed(error);
        }
        let harm = match FileDamage::choose(&directory, &mut rng)
            .and_then(|harm| harm.apply(&directory).map(|()| harm))
        {
            Ok(harm) => harm,
            Err(error) => return failed(error),
        };
        let judge = Judge::new(Arc::clone(&template), harm.clone(), directory.clone(), rng.fork());
        let command = (trial % COMMAND_EVERY == COMMAND_EVERY - 1).then(|| context.program.clone());
        record_verdict(context, seed, &whole, &harm, &judge_in_thread(judge, command));
        if let Err(error) = std::fs::remove_dir_all(&directory) {
            return failed(error);
        }
    }
}

/// Returns the verdict of a judge that runs on a separate thread: a panic is a finding, and so is a
/// judge that does not end.
fn judge_in_thread(judge: Judge, command: Option<std::path::PathBuf>) -> Verdict {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        // The receiver may have timed out.
        let _ = sender.send(judge.judge(command.as_deref()));
    });
    match receiver.recv_timeout(TRIAL_LIMIT) {
        Ok(verdict) => verdict,
        Err(mpsc::RecvTimeoutError::Timeout) => Verdict::finding(
            FindingKind::Hung,
            format!("the trial did not finish within {TRIAL_LIMIT:?}"),
        ),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let why = thread.join().err().and_then(|why| {
                why.downcast_ref::<String>()
                    .cloned()
                    .or_else(|| why.downcast_ref().map(|text: &&str| (*text).to_owned()))
            });
            Verdict::finding(FindingKind::Died, format!("a panic: {}", why.unwrap_or_default()))
        }
    }
}

fn record_verdict(
    context: &Context,
    seed: u64,
    whole: &Path,
    harm: &FileDamage,
    verdict: &Verdict,
) {
    let report = &context.report;
    report.count(PART, "files damaged", 1);
    report.count(PART, format!("damaged: {}", harm.class()), 1);
    for outcome in &verdict.outcomes {
        report.count(PART, *outcome, 1);
    }
    for (fault, text) in &verdict.findings {
        // The undamaged store and the damage are more useful than the remains of a store that has
        // since been opened.
        report.find(PART, *fault, seed, Some(whole), format!("{harm}: {text}"));
    }
}
