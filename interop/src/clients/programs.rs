//! The clients: how each is built and run, and what it says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::java::{self, java};
use super::server::{site, write};
use super::{child, masks};
use crate::Result;

/// How long one client may take. With Halite each takes seconds; with HBase on a busy machine two minutes.
const LIMIT: Duration = Duration::from_secs(400);

/// What a client needs besides itself.
pub(crate) struct Surroundings {
    /// Holds a folder of jars for each file of `interop/maven`, by its name.
    pub(crate) jars: PathBuf,
    /// For what is built and printed.
    pub(crate) work: PathBuf,
    /// Where the server's ZooKeeper listens, on 127.0.0.1.
    pub(crate) zookeeper: u16,
}

/// A client: the name of its transcript, and what it says when it is run.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Surroundings, &str) -> Result<String>,
}

/// Those that may run beside the others, because they touch nothing but their own tables.
pub(crate) const APART: [Program; 2] = [Program { name: "gohbase", run: gohbase }, Program { name: "asynchbase-1.8.2", run: asynchbase }];

/// Those that change what the whole cluster shares.
pub(crate) const IN_TURN: [Program; 5] = [
    Program { name: "hbase-shell-2.4.17", run: shell },
    Program { name: "hbase-client-2.6.4", run: |around, name| hbase_client(around, name, "2.6.4", "v2") },
    Program { name: "hbase-client-2.4.17", run: |around, name| hbase_client(around, name, "2.4.17", "v2") },
    Program { name: "hbase-client-3.0.0-beta-1", run: |around, name| hbase_client(around, name, "3.0.0-beta-1", "v3") },
    Program { name: "hbase-mapreduce-2.6.4", run: bulk_loads },
];

impl Surroundings {
    fn file(&self, name: &str, ending: &str) -> PathBuf {
        self.work.join(format!("{name}.{ending}"))
    }

    fn port(&self) -> String {
        self.zookeeper.to_string()
    }
}

/// A folder of the clients' sources.
pub(crate) fn source(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(folder)
}

/// Our program for HBase's Java client; `api` names the folder with what differs between its major versions.
fn hbase_client(around: &Surroundings, name: &str, version: &str, api: &str) -> Result<String> {
    let path = compiled(around, version, api)?;
    let transcript = around.file(name, "txt");
    run(java(&path, "ERROR").args(["Main", &around.port()]).arg(&transcript), around, name)?;
    read(&transcript)
}

/// Our program for jobs that write store files, and the tools that load them.
fn bulk_loads(around: &Surroundings, name: &str) -> Result<String> {
    let folders = ["java/common", "java/v2", "java/mapreduce"].map(source);
    let path = java::compile(&folders, &around.jars.join("hbase-2.6.4"), &around.work.join("classes-mapreduce"))?;
    let transcript = around.file(name, "txt");
    run(java(&path, "ERROR").args(["BulkLoads", &around.port()]).arg(&transcript).arg(around.work.join("files-to-load")), around, name)?;
    read(&transcript)
}

/// Compiles our Java programs for a version of HBase's client; returns their class path.
pub(crate) fn compiled(around: &Surroundings, version: &str, api: &str) -> Result<String> {
    let folders = [source("java/common"), source("java").join(api)];
    java::compile(&folders, &around.jars.join(format!("hbase-{version}")), &around.work.join(format!("classes-{version}")))
}

/// Makes a table for programs that make none.
pub(crate) fn prepare(around: &Surroundings, table: &str, rows: u32, splits: &[&str]) -> Result<()> {
    let path = compiled(around, "2.6.4", "v2")?;
    let mut command = java(&path, "ERROR");
    run(command.args(["Prepare", &around.port(), table, &rows.to_string()]).args(splits), around, &format!("prepare-{table}"))
}

fn asynchbase(around: &Surroundings, name: &str) -> Result<String> {
    let table = "as_table";
    prepare(around, table, 0, &["h", "p"])?;
    let path = java::compile(&[source("asynchbase")], &around.jars.join("asynchbase-1.8.2"), &around.work.join("classes-asynchbase"))?;
    let transcript = around.file(name, "txt");
    run(java(&path, "ERROR").args(["AsyncHbase", &around.port()]).arg(&transcript).arg(table), around, name)?;
    read(&transcript)
}

fn gohbase(around: &Surroundings, name: &str) -> Result<String> {
    let program = around.work.join("gohbase-client");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(".").current_dir(source("gohbase"));
    run(&mut build, around, "gohbase-build")?;
    let transcript = around.file(name, "txt");
    run(Command::new(&program).arg(around.port()).arg(&transcript), around, name)?;
    read(&transcript)
}

/// The stock shell, given a script as if somebody typed it: it goes on after an error, and prints each line it reads.
fn shell(around: &Surroundings, name: &str) -> Result<String> {
    let jars = around.jars.join("hbase-2.4.17");
    let ruby = ruby_sources(around, &jars)?;
    let configuration = configuration(around)?;
    let path = format!("{}:{}/*", configuration.display(), jars.display());
    let mut command = java(&path, "ERROR");
    command.arg(format!("-Dhbase.ruby.sources={}", ruby.display()));
    command.args(["org.jruby.Main", "-X+O"]).arg(ruby.join("jar-bootstrap.rb"));
    let (output, log) = (around.file(name, "txt"), around.file(name, "log"));
    let mut child = child::start_reading(&mut command, &source("shell/commands.rb"), &output, &log)?;
    child::finish(&mut child, &log, LIMIT).map_err(|error| format!("{name} {error}"))?;
    Ok(masks::shell(&child::text(&output)))
}

/// The shell's own sources, out of its jar: it reads them as files.
fn ruby_sources(around: &Surroundings, jars: &Path) -> Result<PathBuf> {
    let folder = around.work.join("ruby");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut unpack = Command::new("jar");
    run(unpack.arg("-xf").arg(jars.join("hbase-shell-2.4.17.jar")).current_dir(&folder), around, "unpack-shell")?;
    Ok(folder)
}

/// A folder with a configuration that leads HBase's programs to the server.
pub(crate) fn configuration(around: &Surroundings) -> Result<PathBuf> {
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

pub(crate) fn run(command: &mut Command, around: &Surroundings, name: &str) -> Result<()> {
    child::run(command, &around.file(name, "log"), LIMIT).map_err(|error| format!("{name} {error}"))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
