//! Prerequisites: the tools for third-party software in the tests and for the fuzzer, and
//! downloads.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::command::{command_output, is_ci, run};
use crate::steps::StepOutcome;

/// Minimum Java version for HBase's jars.
const MIN_JAVA_VERSION: u32 = 17;

/// Calls `work` if the tools it needs are available; otherwise returns what is missing, which is an
/// error where nothing may be skipped.
pub(crate) fn with_tools(tools: &[&str], work: impl FnOnce() -> Result<()>) -> Result<StepOutcome> {
    run_unless_missing(tools.iter().find_map(|tool| missing(tool)), is_ci(), work)
}

/// Runs or skips `work`, depending on what is missing and on whether skipping is allowed.
fn run_unless_missing(
    missing: Option<String>,
    is_ci: bool,
    work: impl FnOnce() -> Result<()>,
) -> Result<StepOutcome> {
    match missing {
        Some(missing) if is_ci => Err(missing),
        Some(missing) => Ok(StepOutcome::Skipped(missing)),
        None => work().map(|()| StepOutcome::Done),
    }
}

/// Returns the problem with a tool, and the fix.
fn missing(tool: &str) -> Option<String> {
    match tool {
        "javac" => match command_output("javac", &["-version"]).as_deref().and_then(java_version) {
            Some(version) if version >= MIN_JAVA_VERSION => None,
            Some(version) => Some(format!(
                "this JDK is version {version}, HBase's jars need {MIN_JAVA_VERSION}; on Debian: \
                 apt install openjdk-{MIN_JAVA_VERSION}-jdk-headless"
            )),
            None => Some(format!(
                "JDK {MIN_JAVA_VERSION} (javac) not found in PATH; on Debian: apt install \
                 openjdk-{MIN_JAVA_VERSION}-jdk-headless"
            )),
        },
        "mvn" => command_output("mvn", &["-v"])
            .is_none()
            .then(|| "Maven (mvn) not found in PATH; on Debian: apt install maven".to_string()),
        "go" => command_output("go", &["version"])
            .is_none()
            .then(|| "Go (go) not found in PATH; on Debian: apt install golang-go".to_string()),
        "c++" => command_output("c++", &["--version"]).is_none().then(|| {
            "C++ compiler (c++) not found in PATH, and the fuzzer needs one; on Debian: apt \
             install g++"
                .to_string()
        }),
        "tsc" => command_output("tsc", &["--version"]).is_none().then(|| {
            "TypeScript's compiler (tsc) not found in PATH, and it checks the types of the web \
             page; on Debian: apt install node-typescript"
                .to_string()
        }),
        "chromium" => command_output("chromium", &["--version"]).is_none().then(|| {
            "Chromium (chromium) not found in PATH, and the web page is tested in it; on Debian: \
             apt install chromium fonts-noto-core fonts-noto-mono"
                .to_string()
        }),
        other => command_output(other, &["--version"])
            .is_none()
            .then(|| format!("{other} not found in PATH")),
    }
}

/// Parses the version: `javac 17.0.15` is 17; `javac 1.8.0_292` is 8.
fn java_version(answer: &str) -> Option<u32> {
    let line = answer.lines().find_map(|line| line.strip_prefix("javac "))?;
    let mut numbers =
        line.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok());
    match numbers.next()? {
        1 => numbers.next(),
        version => Some(version),
    }
}

/// Fills `folder` with the jars of a Maven file, unless it is already filled from the same file.
pub(crate) fn fetch(pom: &Path, folder: &Path) -> Result<()> {
    let stamp = folder.with_added_extension("pom.xml");
    let wanted = fs::read(pom).map_err(|error| format!("{}: {error}", pom.display()))?;
    if fs::read(&stamp).is_ok_and(|had| had == wanted) {
        return Ok(());
    }
    println!("fetching the jars of {} into {}", pom.display(), folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "-f"]).arg(pom).arg("dependency:copy-dependencies");
    run(maven.arg(format!("-DoutputDirectory={}", folder.display())))?;
    // Written last, so that an interrupted download is repeated.
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tool_skips_step_or_fails_in_ci() {
        let lacking =
            |is_ci| {
                run_unless_missing(Some("no c++".to_string()), is_ci, || {
                    Err("it was tried".to_string())
                })
            };
        assert!(matches!(lacking(false), Ok(StepOutcome::Skipped(why)) if why == "no c++"));
        assert!(matches!(lacking(true), Err(why) if why == "no c++"));
        assert!(matches!(run_unless_missing(None, true, || Ok(())), Ok(StepOutcome::Done)));
    }

    #[test]
    fn java_versions_are_parsed_in_both_formats() {
        assert_eq!(java_version("javac 17.0.15\n"), Some(17));
        assert_eq!(java_version("javac 1.8.0_292"), Some(8));
        assert_eq!(java_version("Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njavac 21"), Some(21));
        assert_eq!(java_version("command not found"), None);
    }
}
