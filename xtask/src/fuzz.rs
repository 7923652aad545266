//! `cargo xtask fuzz`: builds the targets of `fuzz/` with coverage and runs them concurrently.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use crate::Result;
use crate::command::{cargo, command_output, run, target_dir};
use crate::prerequisites::with_tools;
use crate::steps::StepOutcome;

const TARGETS: [&str; 10] = [
    "frames",
    "zookeeper",
    "server",
    "rowkey",
    "disk",
    "codecs",
    "merged_cells",
    "hbase_wal",
    "pg",
    "sql",
];

const HELP: &str = "\
Fuzz the decoders of network data, declarations and keys, of store files inside their checksums, of HBase's
logs, and texts of SQL, guided by code coverage.

    cargo xtask fuzz                   fuzz every target for a minute, as `cargo xtask test` does
    cargo xtask fuzz TARGET SECONDS    fuzz one target: frames, zookeeper, server, rowkey, disk,
                                       codecs, hbase_wal, merged_cells, pg, sql
    cargo xtask fuzz TARGET FILE       rerun a failed input

The fuzzer needs a C++ compiler. Without one `cargo xtask test` skips it, or fails if CI=true is set.
";

/// Time per target in `cargo xtask test`, in seconds.
const SECONDS: u32 = 60;

/// Additional time for a target's last input and its report. One input may take half a minute.
const LAST_INPUT: Duration = Duration::from_mins(3);

/// Flags with which the compiler counts every branch and reports every comparison to the fuzzer.
/// The stable compiler supports all of them.
const COVERAGE: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
];

/// Libraries that bytes of strangers reach before code of the repository, or below it.
const FUZZED_LIBRARIES: [&str; 8] = [
    "bzip2",
    "libbz2_rs_sys",
    "lz4_flex",
    "lzma_rs",
    "miniz_oxide",
    "roaring",
    "snap",
    "sqlparser",
];

/// Environment variable with which cargo runs this program in place of the compiler.
pub(crate) const COMPILER: &str = "HALITE_FUZZ_COMPILER";

/// `cargo xtask fuzz`.
pub(crate) fn run_named(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => run_targets(&TARGETS, SECONDS),
        [help] if help == "--help" => {
            print!("{HELP}");
            Ok(())
        }
        [target, what] => {
            let target = TARGETS
                .into_iter()
                .find(|name| name == target)
                .ok_or_else(|| format!("unknown target {target:?}; expected one of {TARGETS:?}"))?;
            match what.parse() {
                Ok(seconds) => run_targets(&[target], seconds),
                Err(_) => {
                    run(Command::new(build()?.join(target)).arg(what).env("TMPDIR", folder("tmp")?))
                }
            }
        }
        _ => Err(HELP.to_string()),
    }
}

/// Runs the step of `cargo xtask test`.
pub(crate) fn step() -> Result<StepOutcome> {
    with_tools(&["c++"], || run_targets(&TARGETS, SECONDS))
}

fn run_targets(targets: &[&str], seconds: u32) -> Result<()> {
    let programs = build()?;
    let running = targets
        .iter()
        .map(|target| start(&programs, target, seconds).map(|child| (*target, child)))
        .collect::<Result<Vec<_>>>()?;
    // All of them end automatically, and each is awaited even if another has failed.
    let limit = Duration::from_secs(u64::from(seconds)) + LAST_INPUT;
    let failures: Vec<String> = running
        .into_iter()
        .filter_map(|(target, child)| wait_for_end(target, child, limit).err())
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Builds the targets and returns their directory.
pub(crate) fn build() -> Result<PathBuf> {
    let version = command_output("rustc", &["-vV"]).ok_or("`rustc -vV` cannot be run")?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or("`rustc -vV` printed no host")?;
    let wrapper = std::env::current_exe().map_err(|error| format!("xtask: {error}"))?;
    // With an explicit target, the arguments of `compile` tell what is not for build scripts.
    let mut command = cargo([
        "build",
        "--quiet",
        "--release",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target",
        host,
    ]);
    command.arg("--target-dir").arg(target_dir().join("fuzz"));
    // Cargo knows nothing of what a wrapper adds, and would keep crates that were built otherwise.
    let mut hasher = DefaultHasher::new();
    (COVERAGE, FUZZED_LIBRARIES).hash(&mut hasher);
    command.env("RUSTFLAGS", format!("--cfg=coverage_{:x}", hasher.finish()));
    run(command.env("RUSTC_WRAPPER", wrapper).env(COMPILER, "1"))?;
    Ok(target_dir().join("fuzz").join(host).join("release"))
}

/// Replaces this program, which cargo has run as its `RUSTC_WRAPPER`, by the compiler.
///
/// Only code that the fuzzer is for counts its branches: in libraries that would take minutes to
/// compile, and make every input slower.
pub(crate) fn compile(arguments: &[String]) -> String {
    let Some((compiler, arguments)) = arguments.split_first() else {
        return format!("{COMPILER} is set, but there is no compiler to run");
    };
    let mut command = Command::new(compiler);
    command.args(arguments);
    if is_fuzzed(arguments) {
        command.args(COVERAGE);
    }
    format!("cannot start {compiler}: {}", command.exec())
}

/// Returns `true` if the compiler's arguments are those of a crate that counts its branches: one of
/// the repository or of [`FUZZED_LIBRARIES`]; not a build script or a macro.
fn is_fuzzed(arguments: &[String]) -> bool {
    let after = |name| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let is_named = |name: &str| {
        name.starts_with("halite") || FUZZED_LIBRARIES.contains(&name) || TARGETS.contains(&name)
    };
    after("--target").is_some() && after("--crate-name").is_some_and(is_named)
}

fn start(programs: &Path, target: &str, seconds: u32) -> Result<Child> {
    let (corpus, found) =
        (folder(&format!("corpus/{target}"))?, folder(&format!("found/{target}"))?);
    let log = log(target);
    let failed = |error: std::io::Error| format!("{}: {error}", log.display());
    let output = File::create(&log).map_err(failed)?;
    let mut command = Command::new(programs.join(target));
    command
        .args(["-timeout=30", "-rss_limit_mb=1024", "-max_len=8192", "-print_final_stats=1"])
        .arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/", found.display())).arg(&corpus);
    command.env("HALITE_FUZZ_CORPUS_DIR", &corpus).env("TMPDIR", folder("tmp")?);
    command.stdout(output.try_clone().map_err(failed)?).stderr(output);
    command.spawn().map_err(|error| format!("cannot start {target}: {error}"))
}

fn wait_for_end(target: &str, mut child: Child, limit: Duration) -> Result<()> {
    let status = halite_patience::wait(&mut child, limit)
        .map_err(|error| format!("cannot wait for {target}: {error}"))?;
    let Some(status) = status else {
        halite_patience::kill(&mut child);
        return Err(format!(
            "{target} did not exit within {} s; its log: {}",
            limit.as_secs(),
            log(target).display()
        ));
    };
    let text = fs::read(log(target))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default();
    if status.success() {
        let runs = text
            .lines()
            .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
            .unwrap_or("?");
        println!("{target}: {} inputs, nothing found", runs.trim());
        return Ok(());
    }
    let lines: Vec<&str> = text.lines().collect();
    println!("{}", lines[lines.len().saturating_sub(40)..].join("\n"));
    let found = target_dir().join("fuzz/found").join(target);
    Err(format!(
        "{target} failed ({status}); the input is the newest file in {}: cargo xtask fuzz {target} \
         FILE",
        found.display()
    ))
}

fn log(target: &str) -> PathBuf {
    target_dir().join("fuzz").join(format!("{target}.log"))
}

fn folder(name: &str) -> Result<PathBuf> {
    let folder = target_dir().join("fuzz").join(name);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fuzzed_crates_count_their_branches() {
        let is_fuzzed =
            |line: &str| is_fuzzed(&line.split(' ').map(str::to_owned).collect::<Vec<String>>());
        assert!(is_fuzzed("--crate-name halite_engine --edition=2024 --target x86_64"));
        assert!(is_fuzzed("--crate-name disk src/disk.rs --target x86_64"));
        assert!(is_fuzzed("--target x86_64 --crate-name sqlparser"));
        assert!(!is_fuzzed("--crate-name tokio --target x86_64"));
        assert!(!is_fuzzed("--crate-name build_script_build --target x86_64"));
        assert!(!is_fuzzed("--crate-name halite_derive --crate-type proc-macro"));
        assert!(!is_fuzzed("-vV"));
    }
}
