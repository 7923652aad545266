//! Data directories of commands: rejected directories, permissions of created ones, and the lock
//! holder.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::process::Signal;

use crate::program::{self, output_of};
use crate::serve::TestServer;

fn halite(arguments: &[&str], input: &str) -> Output {
    output_of(program::halite().args(arguments), input)
}

/// Returns all entries below a directory: files with their bytes, directories without.
fn tree(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut to_visit = vec![root.to_owned()];
    while let Some(directory) = to_visit.pop() {
        for entry in fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if path.is_dir() {
                to_visit.push(path.clone());
                found.insert(path, None);
            } else {
                found.insert(path.clone(), Some(fs::read(&path).unwrap()));
            }
        }
    }
    found
}

const ROWS: &str = "create 't', 'f'\nput 't', 'r', 'f:q', 'v'\nflush 't'\n";

#[test]
fn commands_leave_foreign_directory_unchanged() {
    let above = tempfile::tempdir().unwrap();
    let root = above.path().join("hbase");
    let text = root.to_str().unwrap();
    assert!(halite(&["shell", "-n", "--data", text], ROWS).status.success());
    fs::remove_dir_all(root.join("halite")).unwrap();
    let before = tree(&root);
    assert!(
        before.keys().any(|path| path.to_str().unwrap().contains("/f/")),
        "there is a store file"
    );
    let other = above.path().join("other");
    let other = other.to_str().unwrap();
    let commands: [&[&str]; 7] = [
        &["shell", "-n", "--data", text],
        &[
            "serve",
            "--zookeeper-port",
            "0",
            "--master-port",
            "0",
            "--regionserver-port",
            "0",
            "--http-port",
            "0",
            "--data",
            text,
        ],
        &["bench", "--rows", "10", "--data", text],
        &["lab", "E01", "--data", text],
        &["demo", "--data", text],
        &["copy", text, "t", other],
        &["copy", other, "t", text],
    ];
    assert!(halite(&["shell", "-n", "--data", other], ROWS).status.success());
    for arguments in commands {
        let output = halite(arguments, "list\n");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains("nothing has been changed") || stderr.contains("there is no store"),
            "{arguments:?}: {stderr}"
        );
        assert!(tree(&root) == before, "{arguments:?}");
    }
}

#[test]
fn store_is_private_under_any_umask() {
    for umask in ["000", "022", "077", "277"] {
        let above = tempfile::tempdir().unwrap();
        let root = above.path().join("store");
        let script = format!(
            "umask {umask}; exec '{}' shell -n --data '{}'",
            env!("CARGO_BIN_EXE_halite"),
            root.display()
        );
        let output =
            output_of(Command::new("sh").args(["-c", &script]).env_remove("HALITE_DATA"), ROWS);
        assert!(output.status.success(), "{umask}: {}", String::from_utf8_lossy(&output.stderr));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&root), 0o700, "{umask}");
        for path in tree(&root).keys() {
            assert_eq!(
                mode(path),
                if path.is_dir() { 0o700 } else { 0o600 },
                "{umask}: {}",
                path.display()
            );
        }
    }
}

#[test]
fn store_accessible_to_others_is_served_with_warning() {
    let root = tempfile::tempdir().unwrap();
    let text = root.path().to_str().unwrap();
    assert!(halite(&["shell", "-n", "--data", text], ROWS).status.success());
    for directory in ["", "data", "halite"] {
        fs::set_permissions(root.path().join(directory), fs::Permissions::from_mode(0o755))
            .unwrap();
    }
    let (code, log) = TestServer::start(&["--data", text]).end(Signal::TERM);
    assert_eq!(code, Some(0));
    assert!(log.contains("can be entered by other users") && log.contains("halite data"), "{log}");
}

#[test]
fn removed_lock_file_still_excludes_second_process() {
    let root = tempfile::tempdir().unwrap();
    let text = root.path().to_str().unwrap();
    assert!(halite(&["shell", "-n", "--data", text], ROWS).status.success());
    let served = TestServer::start(&["--data", text]);
    let address = format!("rpc://{}", served.address("master"));
    for round in 0..3 {
        fs::remove_file(root.path().join("halite/LOCK")).unwrap();
        let output = halite(&["shell", "-n", "--data", text], "put 't', 'intruder', 'f:q', 'v'\n");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("another process"), "{stderr}");
        let put = format!("put 't', 'r{round}', 'f:q', 'v'\nflush 't'\n");
        let output = halite(&["shell", "-n", "--connect", &address], &put);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(root.path().join("halite/LOCK").exists(), "it was made again");
    assert_eq!(served.end(Signal::KILL).0, None);
    let output = halite(&["shell", "-n", "--data", text], "scan 't'\n");
    let rows = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        ["r0", "r1", "r2"].iter().all(|row| rows.contains(row)) && !rows.contains("intruder"),
        "{rows}"
    );
}

#[test]
fn server_exits_on_wal_failure_and_keeps_acknowledged_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (root, moved) = (folder.path().join("store"), folder.path().join("moved"));
    let text = root.to_str().unwrap();
    assert!(halite(&["shell", "-n", "--data", text], ROWS).status.success());
    let served = TestServer::start(&[
        "--data",
        text,
        "--on-log-failure",
        "exit",
        "--wal-segment-size",
        "4k",
    ]);
    let address = format!("rpc://{}", served.address("master"));
    let put = |row: usize| format!("put 't', 'row{row}', 'f:q', '{}'\n", "v".repeat(2000));
    assert!(halite(&["shell", "-n", "--connect", &address], &put(0)).status.success());
    // The locked directory is no longer the store, which the server detects without a write.
    fs::rename(&root, &moved).unwrap();
    fs::create_dir(&root).unwrap();
    let (code, log) = served.wait();
    assert_eq!(code, Some(3), "{log}");
    assert!(
        log.contains("on-log-failure") && log.contains("the lock of") && log.contains("is lost"),
        "{log}"
    );
    let output =
        halite(&["shell", "-n", "--data", moved.to_str().unwrap()], "count 't'\nget 't', 'row0'\n");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("vvvv"), "{stdout}");
}
