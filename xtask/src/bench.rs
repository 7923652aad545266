//! `cargo xtask bench NAME`: builds a benchmark with optimizations and runs it.

use std::path::{Path, PathBuf};

use crate::command::{cargo, run};
use crate::{Result, interop};

const LIST: &str = "\
Run a benchmark. Arguments after the name are passed to the benchmark, including --help.

    cargo xtask bench stores      Halite, fjall and RocksDB with the same data in one run
    cargo xtask bench server      HBase's PerformanceEvaluation on `halite serve` and on a real HBase
    cargo xtask bench client      the Rust client, gohbase and HBase's Java client, on `halite serve`
                                  and on a real HBase
    cargo xtask bench hfile       store files of every encoding and codec, beside HBase's reader and
                                  writer
    cargo xtask bench dispatch    where the server executes calls: on the connection's task, on other
                                  threads, or both
    cargo xtask bench embedded    HBase's PerformanceEvaluation and YCSB on the embedded store
                                  (`halite bench`)
    cargo xtask bench sql         SQL on the embedded store, the store's own calls and SQLite
    cargo xtask bench pages       latency of a load on `halite serve` with five open web pages, and
                                  without any
";

/// Environment variable in which RocksDB's crate looks for the library.
const ROCKSDB_LIB_DIR: &str = "ROCKSDB_LIB_DIR";

/// Runs the benchmark named by the first argument.
pub(crate) fn run_named(name: &str, arguments: &[String]) -> Result<()> {
    match name {
        "stores" => stores(arguments),
        "server" => interop::bench_servers(arguments),
        "client" => interop::bench_clients(arguments),
        "hfile" => interop::bench_store_files(arguments),
        "dispatch" => run(cargo([
            "run",
            "--release",
            "--quiet",
            "--package",
            "halite-server",
            "--example",
            "dispatch",
            "--",
        ])
        .args(arguments)),
        "embedded" => {
            run(cargo(["run", "--release", "--quiet", "--package", "halite-cli", "--", "bench"])
                .args(arguments))
        }
        "sql" => run(cargo(["run", "--release", "--quiet"])
            .args(["--manifest-path", "bench/sql/Cargo.toml", "--"])
            .args(arguments)),
        "pages" => run(cargo(["bench", "--package", "halite-cli", "--bench", "open_pages", "--"])
            .args(arguments)),
        _ => Err(format!("unknown benchmark {name:?}; `cargo xtask bench` lists them")),
    }
}

/// `cargo xtask bench`.
pub(crate) fn run_or_list(arguments: &[String]) -> Result<()> {
    if let Some((name, rest)) = arguments.split_first() {
        return run_named(name, rest);
    }
    print!("{LIST}");
    Ok(())
}

fn stores(arguments: &[String]) -> Result<()> {
    let mut command = cargo(["run", "--release", "--quiet", "--manifest-path", "bench/Cargo.toml"]);
    if let Some(folder) = rocksdb_library() {
        command.env(ROCKSDB_LIB_DIR, folder);
    } else {
        println!(
            "RocksDB is skipped: its library is missing. On Debian: apt install librocksdb-dev \
             clang; elsewhere set {ROCKSDB_LIB_DIR}."
        );
        command.arg("--no-default-features");
    }
    run(command.arg("--").args(arguments))
}

/// Returns the directory of librocksdb: from the environment, or of the distribution.
fn rocksdb_library() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os(ROCKSDB_LIB_DIR) {
        return Some(folder.into());
    }
    let folders = [
        "/usr/lib".to_string(),
        "/usr/local/lib".to_string(),
        format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH),
    ];
    folders.into_iter().map(PathBuf::from).find(|folder| has_rocksdb(folder))
}

fn has_rocksdb(folder: &Path) -> bool {
    folder.join("librocksdb.so").exists() || folder.join("librocksdb.a").exists()
}
