//! `cargo xtask mutants`: intentionally planted bugs, each of which some part of the suite must
//! detect.
//!
//! All of them are planted in one copy of the tree, each behind a condition that holds when an
//! environment variable names the bug. So the copy is built once, and a bug costs only the tests
//! that detect it. Without a name everything must pass, which is checked first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::command::{cargo, command_output, root, target_dir};
use crate::steps::StepOutcome;

mod list;

use list::MUTANTS;

/// Environment variable that names the enabled bug.
const CHOSEN: &str = "HALITE_MUTANT";
/// Maximum time to detect a bug.
const MAX_TIME: Duration = Duration::from_mins(10);
/// The same for the step of `cargo xtask test`, to which other steps leave little of the processor.
const MAX_TIME_OF_STEP: Duration = Duration::from_mins(30);
const POLL: Duration = Duration::from_millis(50);

/// Code with which the engine tests if a bug is enabled.
const CONDITION: &str = "
/// Whether this planted bug is on.
pub(crate) fn mutant(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var(\"HALITE_MUTANT\").ok()).as_deref() == Some(name)
}
";
const CONDITION_FILE: &str = "crates/engine/src/lib.rs";

/// Bug to plant.
#[derive(Clone, Copy)]
struct Mutant {
    name: &'static str,
    /// Resulting incorrect behavior.
    breaks: &'static str,
    file: &'static str,
    /// Text in the file, which must occur once.
    find: &'static str,
    replace: &'static str,
    /// Parts of the suite that must detect it, the fastest first; one of them is enough.
    found_by: &'static [Suite],
    /// `true` if `cargo xtask test` plants it.
    quick: bool,
}

/// Part of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Suite {
    /// This number of random runs of the simulation.
    Seeds(u64),
    /// Tests of the simulation.
    Sim(&'static str),
    /// Unit tests of the engine.
    Unit(&'static str),
    /// Integration tests of the engine.
    It(&'static str),
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seeds(count) => write!(f, "sim --seeds {count}"),
            Self::Sim(filter) => write!(f, "cargo test -p halite-sim {filter}"),
            Self::Unit(filter) => write!(f, "cargo test -p halite-engine --lib {filter}"),
            Self::It(filter) => write!(f, "cargo test -p halite-engine --test it {filter}"),
        }
    }
}

impl Suite {
    fn arguments(self) -> Vec<String> {
        let text = match self {
            Self::Seeds(count) => {
                format!("run --quiet --package halite-sim -- --seeds {count} --failures 1")
            }
            Self::Sim(filter) => format!("test --package halite-sim --lib -- {filter}"),
            Self::Unit(filter) => format!("test --package halite-engine --lib -- {filter}"),
            Self::It(filter) => format!("test --package halite-engine --test it -- {filter}"),
        };
        text.split_whitespace().map(str::to_owned).collect()
    }
}

/// Result of a part of the suite.
enum SuiteResult {
    Passed,
    Failed,
    TimedOut,
}

/// `cargo xtask mutants [NAME...]`.
pub(crate) fn run(names: &[String]) -> Result<()> {
    let unknown = names.iter().find(|name| MUTANTS.iter().all(|mutant| mutant.name != **name));
    if let Some(name) = unknown {
        let all: Vec<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
        return Err(format!("unknown mutant {name:?}; expected one of {}", all.join(", ")));
    }
    let chosen: Vec<&Mutant> = MUTANTS
        .iter()
        .filter(|mutant| names.is_empty() || names.iter().any(|name| name == mutant.name))
        .collect();
    hunt(&chosen, MAX_TIME)
}

/// Runs the step of `cargo xtask test`: bugs that are detected in seconds.
pub(crate) fn step() -> Result<StepOutcome> {
    hunt(&quick(), MAX_TIME_OF_STEP).map(|()| StepOutcome::Done)
}

fn quick() -> Vec<&'static Mutant> {
    MUTANTS.iter().filter(|mutant| mutant.quick).collect()
}

/// Plants the bugs, builds, verifies that all tests pass without a bug, and then that each bug is
/// detected.
fn hunt(mutants: &[&Mutant], max_time: Duration) -> Result<()> {
    let start = Instant::now();
    let tree = plant_and_build(mutants)?;
    println!("{:7.1} s  built", start.elapsed().as_secs_f64());
    let mut controls: BTreeSet<Suite> = BTreeSet::new();
    let mut survivors = Vec::new();
    for mutant in mutants {
        let start = Instant::now();
        let mut found = None;
        for suite in mutant.found_by {
            if !matches!(suite, Suite::Seeds(_)) && controls.insert(*suite) {
                check_control(&tree, *suite, max_time)?;
            }
            let left = max_time.saturating_sub(start.elapsed());
            match run_suite(&tree, *suite, Some(mutant.name), left)?.0 {
                SuiteResult::Failed => {
                    found = Some(*suite);
                    break;
                }
                SuiteResult::Passed => {}
                SuiteResult::TimedOut => break,
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        if let Some(suite) = found {
            println!("{seconds:7.1} s  found     {:24} {} ({suite})", mutant.name, mutant.breaks);
        } else {
            println!("{seconds:7.1} s  SURVIVED  {:24} {}", mutant.name, mutant.breaks);
            survivors.push(mutant.name);
        }
    }
    let max_seeds = mutants
        .iter()
        .flat_map(|mutant| mutant.found_by)
        .filter_map(|suite| if let Suite::Seeds(count) = suite { Some(*count) } else { None });
    if let Some(max_seeds) = max_seeds.max() {
        check_control(&tree, Suite::Seeds(max_seeds), max_time)?;
    }
    println!(
        "{:7.1} s  in all; {} of {} mutants found",
        start.elapsed().as_secs_f64(),
        mutants.len() - survivors.len(),
        mutants.len()
    );
    if survivors.is_empty() {
        Ok(())
    } else {
        Err(format!("mutant {} is not detected: add a test that finds it", survivors.join(", ")))
    }
}

/// Plants all bugs in a copy of the tree, builds the parts of the suite that detect these, and
/// returns the copy.
fn plant_and_build(mutants: &[&Mutant]) -> Result<PathBuf> {
    let tree = target_dir().join("mutants/tree");
    plant(&tree)?;
    for suite in [Suite::Seeds(1), Suite::Sim(""), Suite::Unit(""), Suite::It("")] {
        let is_used =
            |other: &Suite| std::mem::discriminant(other) == std::mem::discriminant(&suite);
        if mutants.iter().any(|mutant| mutant.found_by.iter().any(is_used)) {
            build(&tree, suite)?;
        }
    }
    Ok(tree)
}

/// Verifies that a part of the suite passes without a bug, and that it is not empty.
fn check_control(tree: &Path, suite: Suite, max_time: Duration) -> Result<()> {
    let (ran, output) = run_suite(tree, suite, None, max_time)?;
    if !matches!(ran, SuiteResult::Passed) {
        return Err(format!("`{suite}` fails without a mutant:\n{output}"));
    }
    if !matches!(suite, Suite::Seeds(_)) && count_tests(&output) == 0 {
        return Err(format!("`{suite}` runs no test; fix the list of mutants"));
    }
    Ok(())
}

/// Returns the number of tests that ran, according to their runners.
fn count_tests(output: &str) -> u64 {
    let counts = output
        .lines()
        .filter_map(|line| line.strip_prefix("running ")?.split(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

/// Copies the current tree with every bug planted. Unchanged files are left alone, so that little
/// is rebuilt.
fn plant(tree: &Path) -> Result<()> {
    let listed = command_output(
        "git",
        &[
            "-C",
            &root().to_string_lossy(),
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
    );
    let listed = listed.ok_or("`git ls-files` cannot be run; the mutants need a checkout")?;
    let mut planted: BTreeMap<&str, String> = BTreeMap::new();
    for mutant in MUTANTS {
        let text = match planted.remove(mutant.file) {
            Some(text) => text,
            None => std::fs::read_to_string(root().join(mutant.file))
                .map_err(|error| format!("{}: {error}", mutant.file))?,
        };
        planted.insert(mutant.file, apply_mutant(mutant, &text)?);
    }
    let lib = std::fs::read_to_string(root().join(CONDITION_FILE))
        .map_err(|error| format!("{CONDITION_FILE}: {error}"))?;
    planted.insert(CONDITION_FILE, lib + CONDITION);
    for path in listed.lines() {
        let bytes = match planted.get(path) {
            Some(text) => text.clone().into_bytes(),
            // Removed and not committed.
            None if !root().join(path).is_file() => continue,
            None => std::fs::read(root().join(path)).map_err(|error| format!("{path}: {error}"))?,
        };
        write_changed(&tree.join(path), &bytes)?;
    }
    Ok(())
}

fn write_changed(path: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(path, bytes))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the text with the bug in it.
fn apply_mutant(mutant: &Mutant, text: &str) -> Result<String> {
    match text.matches(mutant.find).count() {
        1 => Ok(text.replacen(
            mutant.find,
            &mutant.replace.replace("MUTANT", &format!("crate::mutant({:?})", mutant.name)),
            1,
        )),
        count => Err(format!(
            "mutant {}: its text occurs {count} times in {}, expected once:\n{}",
            mutant.name, mutant.file, mutant.find
        )),
    }
}

/// Returns a command in the copy, which has a separate target directory: in a shared one, cargo
/// would take the crates of the copy for those of the tree, because it names builds by paths inside
/// of the workspace.
fn command(tree: &Path, arguments: &[String]) -> Command {
    let mut command = cargo(arguments);
    command
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target_dir().join("mutants/target"))
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.env_remove(CHOSEN).stdin(Stdio::null()).process_group(0);
    command
}

fn build(tree: &Path, suite: Suite) -> Result<()> {
    let mut arguments = suite.arguments();
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    arguments.truncate(end);
    match suite {
        Suite::Seeds(_) => "build".clone_into(&mut arguments[0]),
        _ => arguments.push("--no-run".to_owned()),
    }
    crate::command::run(&mut command(tree, &arguments))
}

/// Runs a part of the suite under a bug. Returns its result and its output.
fn run_suite(
    tree: &Path,
    suite: Suite,
    mutant: Option<&str>,
    time: Duration,
) -> Result<(SuiteResult, String)> {
    let log = target_dir().join("mutants/output.txt");
    let failed = |error: std::io::Error| format!("{}: {error}", log.display());
    let file = std::fs::File::create(&log).map_err(failed)?;
    let errors = file.try_clone().map_err(failed)?;
    let mut command = command(tree, &suite.arguments());
    if let Some(name) = mutant {
        command.env(CHOSEN, name);
    }
    let start = Instant::now();
    let mut child = command
        .stdout(file)
        .stderr(errors)
        .spawn()
        .map_err(|error| format!("cannot start `{suite}`: {error}"))?;
    let ran = loop {
        match child.try_wait().map_err(|error| format!("`{suite}`: {error}"))? {
            Some(status) if status.success() => break SuiteResult::Passed,
            Some(_) => break SuiteResult::Failed,
            None if start.elapsed() > time => {
                // Kills its child processes, too.
                let _ = Command::new("kill")
                    .args(["-KILL", "--", &format!("-{}", child.id())])
                    .status();
                let _ = child.wait();
                break SuiteResult::TimedOut;
            }
            None => std::thread::sleep(POLL),
        }
    };
    Ok((ran, std::fs::read_to_string(&log).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Mutant = Mutant {
        name: "sample",
        breaks: "",
        file: "a.rs",
        find: "if a {",
        replace: "if a && !MUTANT {",
        found_by: &[Suite::Seeds(1)],
        quick: false,
    };

    #[test]
    fn replaced_text_of_mutant_occurs_once() {
        assert_eq!(
            apply_mutant(&SAMPLE, "x; if a { y }").unwrap(),
            "x; if a && !crate::mutant(\"sample\") { y }"
        );
        for text in ["nothing", "if a { if a {"] {
            assert!(apply_mutant(&SAMPLE, text).unwrap_err().contains("mutant sample"));
        }
    }

    #[test]
    fn every_mutant_applies_and_has_unique_name() {
        let mut texts: BTreeMap<&str, String> = BTreeMap::new();
        let mut names = BTreeSet::new();
        for mutant in MUTANTS {
            let text = texts
                .remove(mutant.file)
                .unwrap_or_else(|| std::fs::read_to_string(root().join(mutant.file)).unwrap());
            texts.insert(mutant.file, apply_mutant(mutant, &text).unwrap());
            assert!(names.insert(mutant.name) && !mutant.found_by.is_empty(), "{}", mutant.name);
        }
        assert!(names.len() >= 25 && MUTANTS.iter().any(|mutant| mutant.quick));
    }

    #[test]
    fn executed_tests_are_counted() {
        assert_eq!(
            count_tests("\nrunning 3 tests\ntest a ... ok\nrunning 1 test\nrunning late\n"),
            4
        );
        assert_eq!(count_tests("running 0 tests\n"), 0);
    }
}
