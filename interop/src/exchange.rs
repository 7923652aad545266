//! Tables from HBase's directory to a store, and from a store to HBase.
//!
//! HBase fills tables and is killed. Its directory is imported as it is then, exported for HBase
//! from there, and HBase, started again, clones the exported snapshots, reads them with
//! `TableSnapshotInputFormat`, and exports them further. It is stopped, and its directory and its
//! own exports are imported. Every cell, version and marker is compared with what HBase reads.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use halite::{Scan, to_string_binary};

use crate::Result;
use crate::clients::child;
use crate::clients::java::{compile, java};
use crate::clients::programs::source;
use crate::clients::server::{Server, hbase_root};
use crate::directory::compare;

/// Tables that HBase fills, and their names in files.
const TABLES: [(&str, &str); 3] =
    [("plain", "plain"), ("space:parts", "parts"), ("space:clone", "clone")];
/// Snapshots that HBase takes, with the table of each.
const SNAPSHOTS: [&str; 2] = ["monday", "halves"];
const HEAP: &str = "1g";
const LIMIT: Duration = Duration::from_mins(4);
/// Compressed logs have another format; the samples of the reader include plain ones.
const SETTINGS: [(&str, &str); 4] = [
    ("hbase.regionserver.wal.enablecompression", "true"),
    ("hbase.regionserver.wal.value.enablecompression", "true"),
    // No compaction but those that are requested.
    ("hbase.hstore.compactionThreshold", "100"),
    ("hbase.hstore.blockingStoreFiles", "200"),
];

struct Exchange<'a> {
    halite: &'a Path,
    jars: PathBuf,
    work: PathBuf,
    classes: String,
}

/// Exchanges tables with an HBase that is started for it.
///
/// # Errors
/// Returns an error if a program fails, or the two read different cells.
pub(crate) fn check(halite: &Path, jars: &Path, work: &Path) -> Result<()> {
    let work = std::path::absolute(work).map_err(|error| format!("{}: {error}", work.display()))?;
    let jars = jars.join("hbase-2.6.4");
    let classes = compile(&[source("java/exchange")], &jars, &work.join("classes"))?;
    let exchange = Exchange { halite, jars, work, classes };
    let server = exchange.start()?;
    exchange.run_java("fill", &server, &["fill"])?;
    server.kill();
    let root = hbase_root(&exchange.work);
    copy_tree(&root, &exchange.path("crashed"))?;
    exchange.import("crashed", &[], "of-crashed")?;
    exchange.export_all("of-crashed", &root)?;
    exchange.ask_hbase()?;
    let read = |name: &str| exchange.read_dump(name);
    for (table, name) in TABLES {
        exchange.check_import("of-crashed", table, &read(name)?, "a killed HBase")?;
        for of in ["back", "input", "back-in"] {
            let text = read(&format!("{of}-{name}"))?;
            compare(&read(name)?, &text).map_err(|why| format!("{of} of table {table}: {why}"))?;
        }
        exchange.import(
            &format!("again-{name}"),
            &["--snapshot", &back(name), table],
            "of-again",
        )?;
        exchange.check_import("of-again", table, &read(name)?, "its own export through HBase")?;
    }
    exchange.import_rest(&root)?;
    println!(
        "{} tables: Halite reads the directory of a killed and of a stopped HBase and its exports \
         as HBase does, and HBase reads those of Halite",
        TABLES.len()
    );
    Ok(())
}

/// Returns the name of the snapshot that Halite exports of a table.
fn back(name: &str) -> String {
    format!("back-{name}")
}

impl Exchange<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn start(&self) -> Result<Server> {
        let settings = SETTINGS.map(|(name, value)| (name, value.to_owned()));
        Server::hbase_with(&self.jars, &self.work, HEAP, &settings)
    }

    fn run_java(&self, log: &str, server: &Server, arguments: &[&str]) -> Result<()> {
        let root = format!("file://{}", hbase_root(&self.work).display());
        let mut command = java(&self.classes, "ERROR");
        command.args(["Exchange", &server.zookeeper.to_string(), &root]).args(arguments);
        child::run(&mut command, &self.path(log).with_extension("log"), LIMIT)
            .map_err(|error| format!("Exchange {log} {error}"))
    }

    /// Has HBase recover, and read and export everything; then stops it.
    fn ask_hbase(&self) -> Result<()> {
        // The sessions of the killed servers would have to expire first.
        fs::remove_dir_all(self.path("hbase/zookeeper"))
            .map_err(|error| format!("removing the state of ZooKeeper: {error}"))?;
        let server = self.start()?;
        let mut words = Vec::new();
        for (table, name) in TABLES {
            words.extend(["dump".to_owned(), table.to_owned(), self.text(name)]);
            let (snapshot, cloned) = (back(name), format!("cloned_{name}"));
            words.extend(["clone".to_owned(), snapshot.clone(), cloned.clone()]);
            words.extend(["dump".to_owned(), cloned, self.text(&snapshot)]);
            let restored = self.text(&format!("restored-{name}"));
            let read = self.text(&format!("input-{name}"));
            words.extend(["input".to_owned(), snapshot.clone(), restored, read]);
            words.extend([
                "export".to_owned(),
                snapshot.clone(),
                self.text(&format!("again-{name}")),
            ]);
            words.extend(["restore".to_owned(), snapshot, table.to_owned()]);
            words.extend([
                "dump".to_owned(),
                table.to_owned(),
                self.text(&format!("back-in-{name}")),
            ]);
        }
        for snapshot in SNAPSHOTS {
            let cloned = format!("of_{snapshot}");
            words.extend(["clone".to_owned(), snapshot.to_owned(), cloned.clone()]);
            words.extend(["dump".to_owned(), cloned, self.text(snapshot)]);
            words.extend(["export".to_owned(), snapshot.to_owned(), self.text("exported")]);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.run_java("ask", &server, &words)?;
        server.stop_hbase()
    }

    /// Imports the directory of the stopped HBase, and what it exported.
    fn import_rest(&self, root: &Path) -> Result<()> {
        self.import(&root.display().to_string(), &[], "of-stopped")?;
        for (table, name) in TABLES {
            self.check_import("of-stopped", table, &self.read_dump(name)?, "a stopped HBase")?;
        }
        for snapshot in SNAPSHOTS {
            for (directory, store) in [("crashed", "of-snapshot"), ("exported", "of-export")] {
                self.import(directory, &["--snapshot", snapshot, snapshot], store)?;
                let expected = self.read_dump(snapshot)?;
                self.check_import(store, snapshot, &expected, "a snapshot of HBase")?;
            }
        }
        Ok(())
    }

    /// Runs the command with a store.
    fn run_halite(&self, log: &str, arguments: &[&str], store: &str) -> Result<()> {
        let mut command = Command::new(self.halite);
        command.args(arguments).arg("--data").arg(self.path(store));
        let log = self.path(log).with_extension("log");
        child::run(&mut command, &log, LIMIT)
            .map_err(|error| format!("halite {}: {error}", arguments.join(" ")))
    }

    fn import(&self, directory: &str, more: &[&str], store: &str) -> Result<()> {
        let directory = self.text(directory);
        self.run_halite(
            &format!("import-{store}"),
            &[&["import", &directory], more].concat(),
            store,
        )
    }

    fn export_all(&self, store: &str, to: &Path) -> Result<()> {
        let to = to.display().to_string();
        for (table, name) in TABLES {
            let arguments =
                ["export", "--hbase-snapshot", table, "--to", &to, "--name", &back(name), "--copy"];
            self.run_halite(&format!("export-{name}"), &arguments, store)?;
        }
        Ok(())
    }

    fn read_dump(&self, name: &str) -> Result<String> {
        let path = self.path(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Compares what a store has with what HBase read.
    fn check_import(&self, store: &str, table: &str, hbase: &str, of: &str) -> Result<()> {
        let halite = dump(&self.path(store), table).map_err(|why| format!("{store}: {why}"))?;
        compare(&halite, hbase).map_err(|why| format!("table {table} of {of}: {why}"))?;
        if !halite.lines().any(|line| line.starts_with("cell ")) {
            return Err(format!("table {table} of {of} is empty"));
        }
        Ok(())
    }
}

/// Returns the output of `Exchange.java` as computed by Halite.
fn dump(store: &Path, table: &str) -> halite::Result<String> {
    let store = halite::open(store)?;
    let mut text = String::new();
    for (word, scan) in [("cell", Scan::all()), ("raw", Scan::all().raw(true).all_versions())] {
        for row in store.table(table)?.scan(scan) {
            for cell in &row? {
                let (row, family) = (to_string_binary(cell.row()), to_string_binary(cell.family()));
                let (qualifier, value) =
                    (to_string_binary(cell.qualifier()), to_string_binary(cell.value()));
                let (at, kind) = (cell.timestamp(), cell.type_code());
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{word} {row} {family}:{qualifier} {at} {kind} = {value}");
            }
        }
    }
    store.close()?;
    Ok(text)
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    let failed = |error: std::io::Error| format!("copying {}: {error}", from.display());
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let target = to.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target).map_err(failed)?;
        }
    }
    Ok(())
}
