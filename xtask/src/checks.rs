//! Checks that a change must pass, ordered by the cost of detecting a mistake.

use std::collections::HashMap;
use std::process::Command;

use crate::command::{Background, built, cargo, is_ci, root, run, run_and_watch, target_dir};
use crate::prerequisites::with_tools;
use crate::steps::{StepOutcome, Steps};
use crate::{Result, concurrency, fuzz, interop, mutants, page_types, sql, tidy};

/// Name of the task of [`background`].
pub(crate) const BACKGROUND: &str = "background";
/// Argument with which it ends with its input.
pub(crate) const UNTIL_INPUT_ENDS: &str = "--until-input-ends";

/// Environment variable for tests with a golden file: they rewrite it instead.
const UPDATE_GOLDEN: &str = "HALITE_UPDATE_GOLDEN";

/// Characters of the message of a failed test that the summary has.
const MAX_MESSAGE: usize = 300;

/// Runs the whole `cargo xtask test`.
pub(crate) fn run_all() -> Result<()> {
    let mut runners = Runners::default();
    let mut steps = Steps::new(is_ci());
    steps.step("format: cargo fmt --check", || {
        run(&mut cargo(["fmt", "--all", "--check"]))?;
        run(&mut cargo(["fmt", "--manifest-path", "bench/Cargo.toml", "--check"]))?;
        done(run(&mut cargo(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])))
    });
    steps.step("tidy", || done(tidy::run()));
    steps.step("the modules of the web page: types and unused code", page_types::step);
    // Its tests are among those of the workspace, which pass without it.
    steps.step("a browser for the tests of the web page", || with_tools(&["chromium"], || Ok(())));
    steps.step("clippy, warnings denied", || {
        let mut command = cargo(["clippy", "--workspace", "--all-targets", "--quiet"]);
        done(run(command.args(["--", "--deny", "warnings"])))
    });
    steps.step("the server without its optional features", || {
        done(run(&mut cargo([
            "check",
            "--quiet",
            "--package",
            "halite-server",
            "--no-default-features",
        ])))
    });
    // Many tests wait for the clock, for a server or for HBase: these use that time.
    let background = start_background();
    steps.step("tests: cargo test --workspace, with SQL", || {
        let mut command = cargo(["test", "--workspace", "--no-fail-fast"]);
        let command = with_more_threads(sql::with_sql(&mut command));
        let ran = run_and_watch(command, |line| runners.record(line));
        done(runners.name_failures(ran))
    });
    steps.step("documentation, warnings denied", || {
        // Libraries only: the program and the library share the name `halite`, so their pages would
        // collide.
        let mut command = cargo(["doc", "--workspace", "--no-deps", "--lib", "--quiet"]);
        done(run(command.env("RUSTDOCFLAGS", "--deny warnings")))
    });
    // With the features of the tests, whose libraries these programs have: for one package alone,
    // cargo would choose others and compile them again.
    steps.step("the programs of the workspace", || {
        let mut command = cargo(["build", "--quiet", "--workspace", "--bins", "--examples"]);
        done(run(sql::with_sql(&mut command)))
    });
    steps.step("simulation, short", || done(run(&mut built("halite-sim"))));
    steps.step("simulation of client and server, short", || done(run(&mut built("halite-world"))));
    for (title, part) in interop::PARTS {
        steps.step(title, part);
    }
    steps.step("the steps of `cargo xtask background`, which began with the tests", || {
        done(background?.wait())
    });
    steps.step("fuzzing: a minute of damaged frames, packets, declarations and files", fuzz::step);
    runners.print();
    steps.finish()
}

/// `cargo xtask background`: the steps of [`run_all`] that wait for nothing but the processor and
/// almost all have target directories of their own.
pub(crate) fn background() -> Result<()> {
    let mut runners = Runners::default();
    let mut steps = Steps::new(is_ci());
    // For the step that runs them.
    steps.step("the build of the fuzz targets", || {
        with_tools(&["c++"], || fuzz::build().map(|_| ()))
    });
    steps.step("mutants: a few planted bugs must be found", mutants::step);
    // Without RocksDB, whose library is rarely installed; its source file is small.
    steps.step("the workspace of bench/: clippy and tests", || {
        let bench = ["--manifest-path", "bench/Cargo.toml", "--no-default-features"];
        run(cargo(["clippy", "--quiet", "--all-targets"])
            .args(bench)
            .args(["--", "--deny", "warnings"]))?;
        let ran = run_and_watch(cargo(["test"]).args(bench), |line| runners.record(line));
        done(runners.name_failures(ran))
    });
    steps.step(
        "threads: the memstore and the read point in every interleaving",
        concurrency::loom_step,
    );
    runners.print();
    steps.finish()
}

/// Starts [`background`] beside other work.
fn start_background() -> Result<Background> {
    let program = std::env::current_exe().map_err(|error| format!("xtask: {error}"))?;
    // The threads of the web page have a niceness, too, and its tests wait for their answers.
    let log = target_dir().join("background.txt");
    Background::start(Command::new(program).args([BACKGROUND, UNTIL_INPUT_ENDS]), &log)
}

/// `cargo xtask sim`; the arguments are passed to the simulation.
pub(crate) fn simulation(arguments: &[String]) -> Result<()> {
    if !has_simulation() {
        return Err("the simulation has no program; run its tests with cargo test -p halite-sim"
            .to_string());
    }
    let mut command =
        cargo(["run", "--quiet", "--profile", "sim", "--package", "halite-sim", "--"]);
    run(command.args(arguments))
}

/// `cargo xtask world`; the arguments are passed to the simulation.
pub(crate) fn world(arguments: &[String]) -> Result<()> {
    let mut command = cargo(["run", "--quiet", "--package", "halite-world", "--"]);
    run(command.args(arguments))
}

/// `cargo xtask golden --update`.
pub(crate) fn update_golden() -> Result<()> {
    let mut command = cargo(["test", "--workspace", "--quiet"]);
    run(sql::with_sql(&mut command).env(UPDATE_GOLDEN, "1"))?;
    println!("golden files are rewritten; review `git diff` before committing it");
    Ok(())
}

/// Has the tests of a program run on twice as many threads as there are processors: many wait for a
/// server, a child process or the clock, some of them minutes.
fn with_more_threads(command: &mut Command) -> &mut Command {
    const THREADS: &str = "RUST_TEST_THREADS";
    if std::env::var_os(THREADS).is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(THREADS, (2 * processors).to_string());
    }
    command
}

fn has_simulation() -> bool {
    root().join("sim/src/main.rs").exists()
}

fn done(result: Result<()>) -> Result<StepOutcome> {
    result.map(|()| StepOutcome::Done)
}

/// Last line of each test runner, and the tests that failed, for the end of the log.
#[derive(Default)]
struct Runners {
    current: String,
    results: Vec<(String, String)>,
    /// Failed tests of the current runner.
    failed: Vec<String>,
    /// Places and messages of panics in it, by the names of their threads, which are those of the
    /// tests.
    panics: HashMap<String, String>,
    /// Thread whose message are the next lines.
    panicked: Option<String>,
    /// Failed tests of all runners, with what they said.
    failures: Vec<String>,
}

impl Runners {
    fn record(&mut self, line: &str) {
        let line = line.trim();
        self.record_message(line);
        if let Some(name) =
            line.strip_prefix("Running ").or_else(|| line.strip_prefix("Doc-tests "))
        {
            self.current = runner_name(name);
        } else if line.starts_with("test result: ") {
            let name = std::mem::take(&mut self.current);
            self.end_runner(&name);
            self.results.push((name, line.to_string()));
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failed.push(name.to_string());
        } else if let Some((name, rest)) =
            line.strip_prefix("thread '").and_then(|rest| rest.split_once("' "))
            && let Some((_, place)) = rest.split_once("panicked at ")
        {
            self.panics.insert(name.to_string(), place.to_string());
            self.panicked = Some(name.to_string());
        }
    }

    /// Adds a line to the message of the last panic, up to its end.
    fn record_message(&mut self, line: &str) {
        let Some(message) = self.panicked.as_ref().and_then(|name| self.panics.get_mut(name))
        else {
            return;
        };
        let ends = ["stack backtrace:", "note: ", "----"].iter().any(|end| line.starts_with(end));
        if ends || line.is_empty() || message.len() > MAX_MESSAGE {
            self.panicked = None;
            return;
        }
        message.push(' ');
        message.extend(line.chars().take(MAX_MESSAGE));
    }

    fn end_runner(&mut self, runner: &str) {
        let (failed, panics) = (std::mem::take(&mut self.failed), std::mem::take(&mut self.panics));
        for name in failed {
            let message = panics.get(&name).map_or("", String::as_str);
            self.failures.push(format!("{runner}: {name}: {message}"));
        }
    }

    /// Adds the tests that failed since the last call to the error of their step, with what they
    /// said: the end of a long log is what is read.
    fn name_failures(&mut self, ran: Result<()>) -> Result<()> {
        self.end_runner("a runner that did not end");
        let failures = std::mem::take(&mut self.failures);
        ran.map_err(|message| {
            let lines = failures.iter().map(|failure| format!("\n    {failure}"));
            message + &lines.collect::<String>()
        })
    }

    fn print(&self) {
        println!("\n==== test runners");
        for (name, result) in &self.results {
            println!("{result} [{name}]");
        }
    }
}

/// Converts `unittests src/lib.rs (target/debug/deps/halite_engine-0123)` to
/// `halite_engine src/lib.rs`.
fn runner_name(text: &str) -> String {
    let Some((source, binary)) = text.split_once(" (") else {
        return format!("{text} doc-tests");
    };
    let file = binary.trim_end_matches(')').rsplit('/').next().unwrap_or_default();
    let package = file.rsplit_once('-').map_or(file, |(name, _)| name);
    format!("{package} {}", source.trim_start_matches("unittests "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_result_names_its_runner() {
        let mut runners = Runners::default();
        for line in [
            "     Running unittests src/lib.rs (target/debug/deps/halite_engine-5c3a)",
            "test result: ok. 3 passed; 0 failed",
            "     Running tests/it/main.rs (target/debug/deps/it-77aa)",
            "test result: FAILED. 1 passed; 1 failed",
            "   Doc-tests halite",
            "test result: ok. 2 passed; 0 failed",
        ] {
            runners.record(line);
        }
        let names: Vec<_> = runners.results.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["halite_engine src/lib.rs", "it tests/it/main.rs", "halite doc-tests"]);
        assert_eq!(runners.results[1].1, "test result: FAILED. 1 passed; 1 failed");
    }

    #[test]
    fn failed_tests_are_named_with_their_messages() {
        let mut runners = Runners::default();
        for line in [
            "     Running tests/browser/main.rs (target/debug/deps/browser-77aa)",
            "test shapes::sweep ... FAILED",
            "test shapes::even ... ok",
            "test shapes::odd - should panic ... FAILED",
            "thread 'shapes::sweep' (19403) panicked at crates/cli/tests/browser/shapes.rs:108:9:",
            "[0.38, 0.64]",
            "of three",
            "stack backtrace:",
            "test result: FAILED. 1 passed; 2 failed",
            "test shapes::cut ... FAILED",
            "error: 1 target failed:",
        ] {
            runners.record(line);
        }
        let error = runners.name_failures(Err("`cargo test` failed".to_string())).unwrap_err();
        assert_eq!(
            error.lines().map(str::trim).collect::<Vec<_>>(),
            [
                "`cargo test` failed",
                "browser tests/browser/main.rs: shapes::sweep: \
                 crates/cli/tests/browser/shapes.rs:108:9: [0.38, 0.64] of three",
                "browser tests/browser/main.rs: shapes::odd - should panic:",
                "a runner that did not end: shapes::cut:",
            ]
        );
        assert_eq!(runners.name_failures(Ok(())), Ok(()));
    }
}
