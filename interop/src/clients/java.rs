//! Compilation and start of Java programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::child;
use crate::Result;

/// Packages that HBase's jars and `JRuby` access, closed since Java 16.
pub(crate) const OPENED_PACKAGES: [&str; 9] = [
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
];

/// Options for short programs: the fast compiler and the serial collector start soonest and take
/// the least CPU time from the server.
const SHORT_RUN_OPTIONS: [&str; 3] = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"];

/// Returns a Java command with class path `path` and minimum log level `level`, without its class
/// and arguments.
pub(crate) fn java(path: &str, level: &str) -> Command {
    let mut command = Command::new("java");
    command
        .args(OPENED_PACKAGES)
        .args(SHORT_RUN_OPTIONS)
        .arg(format!("-Dlog4j2.level={level}"))
        .args(["-cp", path]);
    command
}

/// As [`java`], for a program that runs long enough for the optimizing compiler.
pub(crate) fn steady(path: &str, level: &str) -> Command {
    let mut command = Command::new("java");
    command
        .args(OPENED_PACKAGES)
        .arg("-Xmx1500m")
        .arg(format!("-Dlog4j2.level={level}"))
        .args(["-cp", path]);
    command
}

/// Compiles the sources in some directories; returns the class path to run them with.
pub(crate) fn compile(folders: &[PathBuf], jars: &Path, classes: &Path) -> Result<String> {
    let mut compiler = Command::new("javac");
    compiler
        .args([
            "-nowarn",
            "-XDignore.symbol.file",
            "-J-XX:TieredStopAtLevel=1",
            "-J-XX:+UseSerialGC",
            "-cp",
        ])
        .arg(jars.join("*"))
        .arg("-d")
        .arg(classes);
    for folder in folders {
        compiler.args(sources(folder)?);
    }
    let log = classes.with_added_extension("javac.log");
    child::run(&mut compiler, &log, Duration::from_mins(2))
        .map_err(|error| format!("javac {error}"))?;
    Ok(format!("{}:{}/*", classes.display(), jars.display()))
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut sources = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|ending| ending == "java") {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}
