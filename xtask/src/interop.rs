//! The part that needs Java: HBase's own code looks at what Halite does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::checks::is_ci;
use crate::command::{cargo, root, run, target_dir};
use crate::jars::{fetched, with_tools};
use crate::steps::{Outcome, Steps};

type Part = (&'static str, fn() -> Result<Outcome>);

/// Each part with its heading.
pub(crate) const PARTS: [Part; 7] = [
    ("interop: HBase reads store files that Halite wrote", || written_by_halite("store-files")),
    ("interop: HBase's region engine opens a directory that Halite closed", || written_by_halite("directory")),
    ("interop: HBase reads and writes exceptions and cell blocks as Halite does", || written_by_halite("wire")),
    ("interop: HBase still answers the conformance battery as recorded", conformance),
    ("interop: clients that others wrote say of Halite what they say of HBase", || of_a_server("clients", &[])),
    ("interop: the Rust client on a real HBase, alone and as a cluster that loses a server", remote),
    ("interop: RowCounter, and LoadTestTool through a crash", || of_a_server("tools", &[])),
];

/// `cargo xtask interop`; with arguments only the part of the clients, and they are `halite-interop`'s own.
pub(crate) fn run_parts(arguments: &[String]) -> Result<()> {
    let mut steps = Steps::new(is_ci());
    if !arguments.is_empty() {
        steps.step("interop: HBase's clients", || of_a_server("clients", arguments));
        return steps.finish();
    }
    for (title, part) in PARTS {
        steps.step(title, part);
    }
    steps.finish()
}

/// A part that lets clients loose on a server, and needs each version of HBase's jars that they are of.
fn of_a_server(part: &str, arguments: &[String]) -> Result<Outcome> {
    with_tools(&["javac", "mvn", "go"], || {
        fetched_all(&["hbase-2.6.4", "hbase-2.4.17", "hbase-3.0.0-beta-1", "asynchbase-1.8.2"])?;
        run(&mut cargo(["build", "--quiet", "--package", "halite-cli", "--package", "halite-interop"]))?;
        let_loose(part, &target_dir().join("debug/halite"), arguments)
    })
}

/// The Rust client: its examples are the programs, and the conformance battery is one of them.
fn remote() -> Result<Outcome> {
    with_tools(&["javac", "mvn"], || {
        fetched_all(&["hbase-2.6.4"])?;
        run(&mut cargo(["build", "--quiet", "--package", "halite-client", "--package", "halite-conformance", "--examples"]))?;
        run(&mut cargo(["build", "--quiet", "--package", "halite-interop"]))?;
        let_loose("remote", &target_dir().join("debug/halite"), &[])
    })
}

/// `cargo xtask bench server`: the program as it is released, beside a real HBase.
pub(crate) fn bench_servers(arguments: &[String]) -> Result<()> {
    bench("bench", &["javac", "mvn"], arguments)
}

/// `cargo xtask bench client`: the client as it is released, beside clients that others wrote.
pub(crate) fn bench_clients(arguments: &[String]) -> Result<()> {
    run(&mut cargo(["build", "--quiet", "--release", "--package", "halite-client", "--example", "load"]))?;
    bench("client-bench", &["javac", "mvn", "go"], arguments)
}

fn bench(part: &str, tools: &[&str], arguments: &[String]) -> Result<()> {
    let outcome = with_tools(tools, || {
        fetched_all(&["hbase-2.6.4"])?;
        run(&mut cargo(["build", "--quiet", "--release", "--package", "halite-cli"]))?;
        run(&mut cargo(["build", "--quiet", "--package", "halite-interop"]))?;
        let_loose(part, &target_dir().join("release/halite"), arguments)
    })?;
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::Skipped(missing) => Err(missing),
    }
}

fn fetched_all(versions: &[&str]) -> Result<()> {
    versions
        .iter()
        .try_for_each(|version| fetched(&root().join("interop/maven").join(version).with_added_extension("xml"), &jars_of_clients().join(version)))
}

fn let_loose(part: &str, halite: &Path, arguments: &[String]) -> Result<()> {
    let mut command = Command::new(target_dir().join("debug/halite-interop"));
    command.arg(part).arg(jars_of_clients()).arg(target_dir().join("interop").join(part)).arg(halite);
    run(command.args(arguments).current_dir(root()))
}

fn jars_of_clients() -> PathBuf {
    target_dir().join("interop/jars")
}

fn written_by_halite(part: &str) -> Result<Outcome> {
    with_jars(|jars| {
        let work = target_dir().join("interop").join(part);
        let mut command = cargo(["run", "--quiet", "--package", "halite-interop", "--", part]);
        run(command.arg(jars).arg(work))
    })
}

/// The answers in the case files are HBase's; its own region engine is asked again.
fn conformance() -> Result<Outcome> {
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

/// Does `work` with the folder of HBase's jars, or says what is missing for it.
fn with_jars(work: impl FnOnce(&Path) -> Result<()>) -> Result<Outcome> {
    with_tools(&["javac", "mvn"], || {
        let folder = target_dir().join("interop/lib");
        fetched(&root().join("interop/pom.xml"), &folder)?;
        work(&folder)
    })
}
