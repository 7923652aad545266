//! What others have published and parts of the tests run: which tools that needs, the fuzzer's among them, and fetching it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::checks::is_ci;
use crate::command::{answer, run};
use crate::steps::Outcome;

/// The oldest Java that HBase's jars are run with.
const JAVA_MIN: u32 = 17;

/// Does `work` if the tools it needs are there; says what is missing if not, which is a failure where nothing may be skipped.
pub(crate) fn with_tools(tools: &[&str], work: impl FnOnce() -> Result<()>) -> Result<Outcome> {
    without(tools.iter().find_map(|tool| missing(tool)), is_ci(), work)
}

/// What becomes of `work` if this is missing, and whether nothing may be skipped.
fn without(missing: Option<String>, is_ci: bool, work: impl FnOnce() -> Result<()>) -> Result<Outcome> {
    match missing {
        Some(missing) if is_ci => Err(missing),
        Some(missing) => Ok(Outcome::Skipped(missing)),
        None => work().map(|()| Outcome::Done),
    }
}

/// What is wrong with a tool, and the mend.
fn missing(tool: &str) -> Option<String> {
    match tool {
        "javac" => match answer("javac", &["-version"]).as_deref().and_then(java_version) {
            Some(version) if version >= JAVA_MIN => None,
            Some(version) => {
                Some(format!("this JDK is version {version}, HBase's jars want {JAVA_MIN}; on Debian: apt install openjdk-{JAVA_MIN}-jdk-headless"))
            }
            None => Some(format!("there is no JDK {JAVA_MIN} (javac) in PATH; on Debian: apt install openjdk-{JAVA_MIN}-jdk-headless")),
        },
        "mvn" => answer("mvn", &["-v"]).is_none().then(|| "there is no Maven (mvn) in PATH; on Debian: apt install maven".to_string()),
        "go" => answer("go", &["version"]).is_none().then(|| "there is no Go (go) in PATH; on Debian: apt install golang-go".to_string()),
        "c++" => answer("c++", &["--version"])
            .is_none()
            .then(|| "there is no C++ compiler (c++) in PATH, and the fuzzer is written in that language; on Debian: apt install g++".to_string()),
        other => answer(other, &["--version"]).is_none().then(|| format!("there is no {other} in PATH")),
    }
}

/// `javac 17.0.15` is 17; `javac 1.8.0_292` is 8.
fn java_version(answer: &str) -> Option<u32> {
    let line = answer.lines().find_map(|line| line.strip_prefix("javac "))?;
    let mut numbers = line.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok());
    match numbers.next()? {
        1 => numbers.next(),
        version => Some(version),
    }
}

/// Fills `folder` with the jars that a Maven file names, unless it is filled from just this file.
pub(crate) fn fetched(pom: &Path, folder: &Path) -> Result<()> {
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
    // Written last, so that a fetch that broke off is done again.
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_a_tool_is_skipped_and_where_nothing_may_be_it_fails() {
        let lacking = |is_ci| without(Some("no c++".to_string()), is_ci, || Err("it was tried".to_string()));
        assert!(matches!(lacking(false), Ok(Outcome::Skipped(why)) if why == "no c++"));
        assert!(matches!(lacking(true), Err(why) if why == "no c++"));
        assert!(matches!(without(None, true, || Ok(())), Ok(Outcome::Done)));
    }

    #[test]
    fn versions_of_java_are_read_in_both_spellings() {
        assert_eq!(java_version("javac 17.0.15\n"), Some(17));
        assert_eq!(java_version("javac 1.8.0_292"), Some(8));
        assert_eq!(java_version("Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njavac 21"), Some(21));
        assert_eq!(java_version("command not found"), None);
    }
}
