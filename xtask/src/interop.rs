//! Tests that need Java: HBase's own code reads Halite's output.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::command::{built, cargo, is_ci, root, run, target_dir};
use crate::prerequisites::{fetch, with_tools};
use crate::steps::{StepOutcome, Steps};

type InteropPart = (&'static str, fn() -> Result<StepOutcome>);

/// Packages whose programs and examples the parts run. They are built with one command, because
/// cargo selects the features of dependencies for all packages of a command together.
const PROGRAMS: [&str; 4] = ["halite-cli", "halite-interop", "halite-client", "halite-conformance"];

/// Parts with their headings.
pub(crate) const PARTS: [InteropPart; 8] = [
    ("interop: HBase reads store files that Halite wrote", || written_by_halite("store-files")),
    ("interop: HBase's region engine opens a directory that Halite closed", || {
        written_by_halite("directory")
    }),
    ("interop: HBase and Halite encode exceptions and cell blocks equally", || {
        written_by_halite("wire")
    }),
    ("interop: HBase still answers the conformance battery as recorded", conformance),
    ("interop: third-party clients print the same for Halite and HBase", || {
        client_part("clients", &[])
    }),
    (
        "interop: the Rust client on a real HBase, alone and as a cluster that loses a server",
        remote,
    ),
    ("interop: tables from a killed and a stopped HBase to Halite, and back", exchange),
    ("interop: RowCounter, and LoadTestTool through a crash", || client_part("tools", &[])),
];

/// Heading of [`build`].
const BUILD_TITLE: &str = "interop: the tested programs";

/// Builds the programs of all parts, which do not call cargo after it.
fn build() -> Result<StepOutcome> {
    let mut command = cargo(["build", "--quiet", "--bins", "--examples"]);
    PROGRAMS.iter().for_each(|package| {
        command.args(["--package", package]);
    });
    run(&mut command).map(|()| StepOutcome::Done)
}

/// `cargo xtask interop`; with arguments, runs only the part of the clients and passes the
/// arguments to `halite-interop`.
pub(crate) fn run_parts(arguments: &[String]) -> Result<()> {
    let mut steps = Steps::new(is_ci());
    steps.step(BUILD_TITLE, build);
    if !arguments.is_empty() {
        steps.step("interop: HBase's clients", || client_part("clients", arguments));
        return steps.finish();
    }
    for (title, part) in PARTS {
        steps.step(title, part);
    }
    steps.finish()
}

/// Runs a part with clients on a server, which needs the HBase jars of each client version.
fn client_part(part: &str, arguments: &[String]) -> Result<StepOutcome> {
    with_tools(&["javac", "mvn", "go"], || {
        fetch_all(&["hbase-2.6.4", "hbase-2.4.17", "hbase-3.0.0-beta-1", "asynchbase-1.8.2"])?;
        run_clients(part, &target_dir().join("debug/halite"), arguments)
    })
}

/// Runs the part of the Rust client: its examples are the programs, and the conformance suite is
/// one of them.
fn remote() -> Result<StepOutcome> {
    with_tools(&["javac", "mvn"], || {
        fetch_all(&["hbase-2.6.4"])?;
        run_clients("remote", &target_dir().join("debug/halite"), &[])
    })
}

/// Runs the part of the directories: imports from HBase, and exports to it.
fn exchange() -> Result<StepOutcome> {
    with_tools(&["javac", "mvn"], || {
        fetch_all(&["hbase-2.6.4"])?;
        run_clients("exchange", &target_dir().join("debug/halite"), &[])
    })
}

/// `cargo xtask bench server`: compares the release build with a real HBase.
pub(crate) fn bench_servers(arguments: &[String]) -> Result<()> {
    bench("bench", &["javac", "mvn"], arguments)
}

/// `cargo xtask bench hfile`.
pub(crate) fn bench_store_files(arguments: &[String]) -> Result<()> {
    run(&mut cargo([
        "build",
        "--quiet",
        "--release",
        "--package",
        "halite-engine",
        "--example",
        "hfile_speed",
    ]))?;
    let outcome = with_jars(|jars| {
        let mut command =
            cargo(["run", "--quiet", "--package", "halite-interop", "--", "hfile-bench"]);
        command.arg(jars).arg(target_dir().join("interop/hfile-bench"));
        run(command.arg(target_dir().join("release/examples/hfile_speed")).args(arguments))
    })?;
    require(outcome)
}

/// `cargo xtask bench client`: compares the release build of the client with third-party clients.
pub(crate) fn bench_clients(arguments: &[String]) -> Result<()> {
    run(&mut cargo([
        "build",
        "--quiet",
        "--release",
        "--package",
        "halite-client",
        "--example",
        "load",
    ]))?;
    bench("client-bench", &["javac", "mvn", "go"], arguments)
}

fn bench(part: &str, tools: &[&str], arguments: &[String]) -> Result<()> {
    let outcome = with_tools(tools, || {
        fetch_all(&["hbase-2.6.4"])?;
        run(&mut cargo(["build", "--quiet", "--release", "--package", "halite-cli"]))?;
        run(&mut cargo(["build", "--quiet", "--package", "halite-interop"]))?;
        run_clients(part, &target_dir().join("release/halite"), arguments)
    })?;
    require(outcome)
}

/// Returns the missing tools of a skipped step as an error.
fn require(outcome: StepOutcome) -> Result<()> {
    match outcome {
        StepOutcome::Done => Ok(()),
        StepOutcome::Skipped(missing) => Err(missing),
    }
}

fn fetch_all(versions: &[&str]) -> Result<()> {
    versions.iter().try_for_each(|version| {
        fetch(
            &root().join("interop/maven").join(version).with_added_extension("xml"),
            &client_jars().join(version),
        )
    })
}

fn run_clients(part: &str, halite: &Path, arguments: &[String]) -> Result<()> {
    let mut command = built("halite-interop");
    command.arg(part).arg(client_jars()).arg(target_dir().join("interop").join(part)).arg(halite);
    run(command.args(arguments))
}

fn client_jars() -> PathBuf {
    target_dir().join("interop/jars")
}

fn written_by_halite(part: &str) -> Result<StepOutcome> {
    with_jars(|jars| {
        let work = target_dir().join("interop").join(part);
        run(built("halite-interop").arg(part).arg(jars).arg(work))
    })
}

/// Verifies HBase's results in the case files with its own region engine.
fn conformance() -> Result<StepOutcome> {
    with_jars(|jars| {
        let classes = target_dir().join("interop/conformance");
        let mut compiler = Command::new("javac");
        compiler.args(["-nowarn", "-cp"]).arg(jars.join("*")).arg("-d").arg(&classes);
        run(compiler.args(java_sources(&root().join("conformance/java"))?))?;
        let class_path = format!("{}:{}", classes.display(), jars.join("*").display());
        let mut java = Command::new("java");
        java.arg("@conformance/java/jvm.options").args(["-cp", &class_path]).current_dir(root());
        run(java.args(["halite.conformance.Main", "--check", "conformance/cases"]))
    })
}

fn java_sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            sources.extend(java_sources(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "java") {
            sources.push(path);
        }
    }
    Ok(sources)
}

/// Calls `work` with the directory of HBase's jars, or returns what is missing for it.
fn with_jars(work: impl FnOnce(&Path) -> Result<()>) -> Result<StepOutcome> {
    with_tools(&["javac", "mvn"], || {
        let folder = target_dir().join("interop/lib");
        fetch(&root().join("interop/pom.xml"), &folder)?;
        work(&folder)
    })
}
