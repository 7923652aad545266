//! Drivers that others wrote, of the registries of their languages: psycopg and `SQLAlchemy` by
//! pip, pgJDBC by Maven, node-postgres by npm, pgx by go. Their programs are in `tests/clients`.
//! Where a language or a registry is not there, the tests say so and pass, except in CI.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::{has, skipped, text};
use crate::door::Door;

/// Version of pgJDBC.
const PGJDBC: &str = "42.7.7";

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Returns the folder of the packages of a language, which are installed once. `wanted` is the file
/// that names them, or their version.
fn installed(
    language: &str,
    wanted: &str,
    install: impl FnOnce(&Path) -> Vec<Command>,
) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pg-clients").join(language);
    let done = folder.join("done");
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Some(folder);
    }
    std::fs::create_dir_all(&folder).expect("a folder");
    for mut command in install(&folder) {
        let ran = command.output().expect("the installer runs");
        if !ran.status.success() {
            let why = format!("{language}: {command:?}: {}", text(&ran));
            assert!(std::env::var_os("CI").is_none(), "{why}");
            skipped(&why);
            return None;
        }
    }
    std::fs::write(done, wanted).expect("the mark that the packages are installed");
    Some(folder)
}

/// Runs a program on a port of its own, which must succeed.
fn works(mut program: Command) {
    let door = Door::new();
    let ran = program.arg(door.address.port().to_string()).output().expect("it runs");
    assert!(ran.status.success(), "{program:?}: {}", text(&ran));
}

#[test]
fn programs_in_python_work() {
    if !has("python3") {
        return;
    }
    let file = programs().join("requirements.txt");
    let wanted = std::fs::read_to_string(&file).expect("the list of packages");
    let folder = installed("python", &wanted, |folder| {
        let mut create = Command::new("python3");
        create.args(["-m", "venv"]).arg(folder);
        let mut install = Command::new(folder.join("bin/python"));
        install.args(["-m", "pip", "install", "-q", "-r"]).arg(&file);
        vec![create, install]
    });
    let Some(folder) = folder else { return };
    for program in ["psycopg_client.py", "sqlalchemy_client.py"] {
        let mut command = Command::new(folder.join("bin/python"));
        command.arg(programs().join(program));
        works(command);
    }
}

#[test]
fn pgjdbc_works_with_the_catalog_as_tools_ask_it() {
    if !has("java") || !has("mvn") {
        return;
    }
    let folder = installed("java", PGJDBC, |folder| {
        let mut copy = Command::new("mvn");
        copy.args(["-q", "-B", "dependency:copy"]).current_dir(folder);
        copy.arg(format!("-Dartifact=org.postgresql:postgresql:{PGJDBC}"));
        copy.arg(format!("-DoutputDirectory={}", folder.display()));
        vec![copy]
    });
    let Some(folder) = folder else { return };
    let mut command = Command::new("java");
    command.arg("-cp").arg(folder.join(format!("postgresql-{PGJDBC}.jar")));
    command.arg(programs().join("Pgjdbc.java"));
    works(command);
}

#[test]
fn node_postgres_works() {
    if !has("node") || !has("npm") {
        return;
    }
    let file = programs().join("package.json");
    let wanted = std::fs::read_to_string(&file).expect("the list of packages");
    let folder = installed("node", &wanted, |folder| {
        std::fs::copy(&file, folder.join("package.json")).expect("the list of packages");
        let mut install = Command::new("npm");
        install.args(["install", "--no-audit", "--no-fund", "--silent"]).current_dir(folder);
        vec![install]
    });
    let Some(folder) = folder else { return };
    let mut command = Command::new("node");
    command.arg(programs().join("node_client.js")).env("NODE_PATH", folder.join("node_modules"));
    works(command);
}

#[test]
fn pgx_works() {
    if !has("go") {
        return;
    }
    let source = programs().join("pgx");
    let read = |name| std::fs::read_to_string(source.join(name)).expect("a file");
    let wanted = format!("{}{}", read("go.mod"), read("main.go"));
    let folder = installed("go", &wanted, |folder| {
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(folder.join("pgx_client")).arg(".").current_dir(&source);
        vec![build]
    });
    let Some(folder) = folder else { return };
    works(Command::new(folder.join("pgx_client")));
}
