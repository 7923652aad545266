//! Execution of HBase's code.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Result;

/// Maximum duration of HBase's programs.
const LIMIT: Duration = Duration::from_mins(10);

/// Maximum duration of a measurement.
const MEASURE_LIMIT: Duration = Duration::from_hours(1);

/// Packages that HBase's jars access, closed since Java 16.
const OPENED_PACKAGES: [&str; 6] = [
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
];

/// Families of HBase's codec classes, with one configuration each in `java/codecs`.
pub(crate) const CODECS: [&str; 2] = ["aircompressor", "native"];

/// Reads every store file below `work` with a family of codec classes; HBase's output for `NAME` is
/// written to `NAME.printed` in `work`.
pub(crate) fn read_store_files(jars: &Path, codecs: &str, work: &Path) -> Result<()> {
    run(jars, codecs, "ReadStoreFiles.java", &[work])
}

/// Reads the tables below `root`; HBase's output is written to the file `printed`.
pub(crate) fn read_directory(jars: &Path, root: &Path, printed: &Path) -> Result<()> {
    run(jars, CODECS[0], "ReadDirectory.java", &[root, printed])
}

/// Reads the exceptions and cell blocks below `work` and writes the result next to each.
pub(crate) fn read_wire(jars: &Path, work: &Path) -> Result<()> {
    run(jars, CODECS[0], "Wire.java", &[work])
}

/// Measures reads and writes of the files in `files`; the result is one line for each in `printed`.
pub(crate) fn measure_store_files(jars: &Path, files: &Path, printed: &Path) -> Result<()> {
    run_for(MEASURE_LIMIT, jars, CODECS[1], "HFileSpeed.java", &[files, printed])
}

fn run(jars: &Path, codecs: &str, program: &str, arguments: &[&Path]) -> Result<()> {
    run_for(LIMIT, jars, codecs, program, arguments)
}

fn run_for(
    limit: Duration,
    jars: &Path,
    codecs: &str,
    program: &str,
    arguments: &[&Path],
) -> Result<()> {
    let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("java");
    let classes = std::env::join_paths([java.join("codecs").join(codecs), jars.join("*")])
        .map_err(|error| format!("the path of the jars cannot be passed to Java: {error}"))?;
    let mut child = Command::new("java")
        .args(OPENED_PACKAGES)
        .args(["-Xmx1g", "-Dlog4j2.level=ERROR", "-cp"])
        .arg(classes)
        .arg(java.join(program))
        .args(arguments)
        .spawn()
        .map_err(|error| {
            format!("cannot start java: {error}; install a JDK 17 and add it to PATH")
        })?;
    match halite_patience::wait(&mut child, limit)
        .map_err(|error| format!("cannot wait for {program}: {error}"))?
    {
        Some(status) if status.success() => Ok(()),
        Some(status) => {
            Err(format!("{program} ended with {status}; the errors that HBase found are above"))
        }
        None => {
            halite_patience::kill(&mut child);
            Err(format!("{program} did not exit within {} s", limit.as_secs()))
        }
    }
}
