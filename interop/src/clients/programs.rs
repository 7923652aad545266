//! Clients: build, execution and output of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::java::{self, java};
use super::server::{site, write};
use super::{child, normalize};
use crate::Result;

/// Maximum duration of a client. With Halite each takes seconds; with HBase on a busy machine two
/// minutes.
const LIMIT: Duration = Duration::from_secs(400);

/// Environment of a client.
pub(crate) struct ClientEnv {
    /// Directory with one subdirectory of jars for each file of `interop/maven`, by its name.
    pub(crate) jars: PathBuf,
    /// Directory for build results and output.
    pub(crate) work: PathBuf,
    /// Port of the server's ZooKeeper on 127.0.0.1.
    pub(crate) zookeeper: u16,
}

/// Client: the name of its transcript, and the function that runs it and returns its output.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&ClientEnv, &str) -> Result<String>,
}

/// Clients that may run concurrently, because they access only their own tables.
pub(crate) const CONCURRENT: [Program; 3] = [
    Program { name: "gohbase", run: gohbase },
    Program { name: "asynchbase-1.8.2", run: asynchbase },
    Program { name: "tutorials-2.6.4", run: c17_tutorials },
];

/// Clients that change state shared by the whole cluster.
pub(crate) const SEQUENTIAL: [Program; 5] = [
    Program { name: "hbase-shell-2.4.17", run: shell },
    Program {
        name: "hbase-client-2.6.4",
        run: |around, name| hbase_client(around, name, "2.6.4", "v2"),
    },
    Program {
        name: "hbase-client-2.4.17",
        run: |around, name| hbase_client(around, name, "2.4.17", "v2"),
    },
    Program {
        name: "hbase-client-3.0.0-beta-1",
        run: |around, name| hbase_client(around, name, "3.0.0-beta-1", "v3"),
    },
    Program { name: "hbase-mapreduce-2.6.4", run: bulk_loads },
];

impl ClientEnv {
    fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.work.join(format!("{name}.{ending}"))
    }

    fn port(&self) -> String {
        self.zookeeper.to_string()
    }
}

/// Returns a directory of the clients' sources.
pub(crate) fn source(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(folder)
}

/// Runs our program for HBase's Java client; `api` names the directory with the code specific to a
/// major version.
fn hbase_client(around: &ClientEnv, name: &str, version: &str, api: &str) -> Result<String> {
    let path = compiled(around, version, api)?;
    let transcript = around.file(name, "txt");
    run(java(&path, "ERROR").args(["Main", &around.port()]).arg(&transcript), around, name)?;
    read(&transcript)
}

/// Runs the programs of the tutorials on hbase-client alone: the acceptance of C17 in their list.
/// What they print on a Halite server is compared with what they print on HBase.
fn c17_tutorials(around: &ClientEnv, name: &str) -> Result<String> {
    let path = java::compile(
        &[source("java/tutorials")],
        &around.jars.join("hbase-2.6.4"),
        &around.work.join("classes-tutorials"),
    )?;
    let transcript = around.file(name, "txt");
    run(java(&path, "ERROR").args(["Tutorials", &around.port()]).arg(&transcript), around, name)?;
    read(&transcript)
}

/// Runs our program for jobs that write store files, and the tools that load them.
fn bulk_loads(around: &ClientEnv, name: &str) -> Result<String> {
    let folders = ["java/common", "java/v2", "java/mapreduce"].map(source);
    let path = java::compile(
        &folders,
        &around.jars.join("hbase-2.6.4"),
        &around.work.join("classes-mapreduce"),
    )?;
    let transcript = around.file(name, "txt");
    run(
        java(&path, "ERROR")
            .args(["BulkLoads", &around.port()])
            .arg(&transcript)
            .arg(around.work.join("files-to-load")),
        around,
        name,
    )?;
    read(&transcript)
}

/// Compiles our Java programs for a version of HBase's client; returns their class path.
pub(crate) fn compiled(around: &ClientEnv, version: &str, api: &str) -> Result<String> {
    let folders = [source("java/common"), source("java").join(api)];
    java::compile(
        &folders,
        &around.jars.join(format!("hbase-{version}")),
        &around.work.join(format!("classes-{version}")),
    )
}

/// Creates a table for programs that do not create one.
pub(crate) fn prepare(around: &ClientEnv, table: &str, rows: u32, splits: &[&str]) -> Result<()> {
    let path = compiled(around, "2.6.4", "v2")?;
    let mut command = java(&path, "ERROR");
    run(
        command.args(["Prepare", &around.port(), table, &rows.to_string()]).args(splits),
        around,
        &format!("prepare-{table}"),
    )
}

fn asynchbase(around: &ClientEnv, name: &str) -> Result<String> {
    let table = "as_table";
    prepare(around, table, 0, &["h", "p"])?;
    let path = java::compile(
        &[source("asynchbase")],
        &around.jars.join("asynchbase-1.8.2"),
        &around.work.join("classes-asynchbase"),
    )?;
    let transcript = around.file(name, "txt");
    run(
        java(&path, "ERROR").args(["AsyncHbase", &around.port()]).arg(&transcript).arg(table),
        around,
        name,
    )?;
    read(&transcript)
}

fn gohbase(around: &ClientEnv, name: &str) -> Result<String> {
    let program = around.work.join("gohbase-client");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(".").current_dir(source("gohbase"));
    run(&mut build, around, "gohbase-build")?;
    let transcript = around.file(name, "txt");
    run(Command::new(&program).arg(around.port()).arg(&transcript), around, name)?;
    read(&transcript)
}

/// Runs the stock shell with a script as interactive input: it continues after an error, and prints
/// each line it reads.
fn shell(around: &ClientEnv, name: &str) -> Result<String> {
    let jars = around.jars.join("hbase-2.4.17");
    let ruby = ruby_sources(around, &jars)?;
    let configuration = configuration(around)?;
    let path = format!("{}:{}/*", configuration.display(), jars.display());
    let mut command = java(&path, "ERROR");
    command.arg(format!("-Dhbase.ruby.sources={}", ruby.display()));
    command.args(["org.jruby.Main", "-X+O"]).arg(ruby.join("jar-bootstrap.rb"));
    let (output, log) = (around.file(name, "txt"), around.file(name, "log"));
    let mut child =
        child::start_reading(&mut command, &source("shell/commands.rb"), &output, &log)?;
    child::finish(&mut child, &log, LIMIT).map_err(|error| format!("{name} {error}"))?;
    Ok(normalize::shell(&child::text(&output)))
}

/// Extracts the shell's sources from its jar, because the shell reads them as files.
fn ruby_sources(around: &ClientEnv, jars: &Path) -> Result<PathBuf> {
    let folder = around.work.join("ruby");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut unpack = Command::new("jar");
    run(
        unpack.arg("-xf").arg(jars.join("hbase-shell-2.4.17.jar")).current_dir(&folder),
        around,
        "unpack-shell",
    )?;
    Ok(folder)
}

/// Returns a directory with a configuration that connects HBase's programs to the server.
pub(crate) fn configuration(around: &ClientEnv) -> Result<PathBuf> {
    let folder = around.work.join(format!("conf-{}", around.zookeeper));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let properties = [
        ("hbase.zookeeper.quorum", "127.0.0.1".to_string()),
        ("hbase.zookeeper.property.clientPort", around.port()),
        ("hbase.client.pause", "50".to_string()),
    ];
    write(&folder.join("hbase-site.xml"), &site(&properties))?;
    Ok(folder)
}

pub(crate) fn run(command: &mut Command, around: &ClientEnv, name: &str) -> Result<()> {
    child::run(command, &around.file(name, "log"), LIMIT).map_err(|error| format!("{name} {error}"))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::transcript;

    /// The sources of the programs, without their comments.
    fn tutorials_java() -> String {
        let source = fs::read_to_string(source("java/tutorials").join("Tutorials.java"));
        let source = source.expect("the programs of the tutorials");
        let is_code = |line: &&str| !line.trim_start().starts_with(['*', '/']);
        source.lines().filter(is_code).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn c17_programs_of_the_tutorials_need_hbase_client_alone() {
        assert!(CONCURRENT.iter().any(|program| program.name == "tutorials-2.6.4"));
        let code = tutorials_java();
        for import in code.lines().filter_map(|line| line.strip_prefix("import ")) {
            let import = import.trim_start_matches("static ");
            assert!(
                import.starts_with("java.") || import.starts_with("org.apache.hadoop."),
                "{import} is neither of Java nor of HBase's client"
            );
        }
        for call in [
            ".withStartRow(",
            ".withStopRow(",
            ".setLimit(",
            ".addColumn(",
            "Bytes.toBytes(",
            "TableName.valueOf(",
            ".getTable(",
        ] {
            assert!(code.contains(call), "the programs of the tutorials do not call {call}");
        }
    }

    /// The recorded output, which is HBase's and has to be Halite's, has both sides of the error of
    /// the tutorials: their range is empty, and the corrected one has the hours of a day.
    #[test]
    fn c17_programs_of_the_tutorials_find_rows_after_correction() {
        let recorded = fs::read_to_string(transcript::path("tutorials-2.6.4"));
        let recorded = recorded.expect("the recorded transcript");
        let after = |title: &str| {
            let found = recorded.lines().find_map(|line| line.strip_prefix(title));
            found.unwrap_or_else(|| panic!("no {title} in {recorded}"))
        };
        assert_eq!(after("start "), "s1_9223370326393975807, stop s1_9223370326480375808");
        assert_eq!(after("last 24 hours, from the earlier time: "), "0 rows");
        assert_eq!(after("last 24 hours: "), "25 rows");
        assert_eq!(after("newest: "), "1 rows");
        assert_eq!(after("feed of user_001: "), "2 rows");
    }
}
