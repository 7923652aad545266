//! The part that needs Java: HBase's own code looks at what Halite does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::checks::is_ci;
use crate::command::{answer, cargo, root, run, target_dir};
use crate::steps::{Outcome, Steps};

/// The oldest Java that HBase's jars are run with.
const JAVA_MIN: u32 = 17;

type Part = (&'static str, fn() -> Result<Outcome>);

/// Each part with its heading.
pub(crate) const PARTS: [Part; 4] = [
    ("interop: HBase reads store files that Halite wrote", || written_by_halite("store-files")),
    ("interop: HBase's region engine opens a directory that Halite closed", || written_by_halite("directory")),
    ("interop: HBase reads and writes exceptions and cell blocks as Halite does", || written_by_halite("wire")),
    ("interop: HBase still answers the conformance battery as recorded", conformance),
];

/// `cargo xtask interop`.
pub(crate) fn run_parts() -> Result<()> {
    let mut steps = Steps::new(is_ci());
    for (title, part) in PARTS {
        steps.step(title, part);
    }
    steps.finish()
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
    match missing_tools() {
        Some(missing) if is_ci() => Err(missing),
        Some(missing) => Ok(Outcome::Skipped(missing)),
        None => work(&jars()?).map(|()| Outcome::Done),
    }
}

fn missing_tools() -> Option<String> {
    let java = answer("javac", &["-version"]).as_deref().and_then(java_version);
    let maven = answer("mvn", &["-v"]).is_some();
    let what = match (java, maven) {
        (Some(version), true) if version >= JAVA_MIN => return None,
        (Some(version), _) if version < JAVA_MIN => format!("this JDK is version {version}, HBase's jars want {JAVA_MIN}"),
        (None, _) => format!("there is no JDK {JAVA_MIN} (javac) in PATH"),
        _ => "there is no Maven (mvn) in PATH".to_string(),
    };
    Some(format!("{what}; on Debian: apt install openjdk-{JAVA_MIN}-jdk-headless maven"))
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

/// The folder of HBase's jars, fetched if `interop/pom.xml` is not the one it was fetched for.
fn jars() -> Result<PathBuf> {
    let pom = root().join("interop/pom.xml");
    let folder = target_dir().join("interop/lib");
    let stamp = target_dir().join("interop/lib.pom.xml");
    let wanted = fs::read(&pom).map_err(|error| format!("{}: {error}", pom.display()))?;
    if fs::read(&stamp).is_ok_and(|had| had == wanted) {
        return Ok(folder);
    }
    println!("fetching HBase's jars into {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "-f"]).arg(&pom).arg("dependency:copy-dependencies");
    maven.arg(format!("-DoutputDirectory={}", folder.display()));
    run(&mut maven)?;
    // Written last, so that a fetch that broke off is done again.
    fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_java_are_read_in_both_spellings() {
        assert_eq!(java_version("javac 17.0.15\n"), Some(17));
        assert_eq!(java_version("javac 1.8.0_292"), Some(8));
        assert_eq!(java_version("Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njavac 21"), Some(21));
        assert_eq!(java_version("command not found"), None);
    }
}
