//! Built commands on damaged stores: their messages, the stream they print them to, and their exit
//! codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use rustix::process::Signal;

use crate::program::{self, output_of};
use crate::serve::TestServer;

fn halite(arguments: &[&str], input: &str) -> Output {
    output_of(program::halite().args(arguments), input)
}

/// Exit code, output and errors of a command on a store.
pub(crate) fn run(command: &str, data: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    decode_output(&halite(&[&[command, data.to_str().unwrap()], more].concat(), ""))
}

fn decode_output(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Lines for the shell on a store.
pub(crate) fn shell(data: &Path, more: &[&str], lines: &str) -> (Option<i32>, String, String) {
    decode_output(&halite(
        &[&["shell", "-n", "--data", data.to_str().unwrap()], more].concat(),
        lines,
    ))
}

/// A store with a row in a file, whose server was killed after it had written rows to the log. The
/// server records no heat: a kill while the hidden table of the heat is created would leave an
/// unreferenced directory, about which `check` warns.
pub(crate) fn create_killed_store(data: &Path) {
    let (code, _, stderr) =
        shell(data, &[], "create 't', 'f'\nput 't', 'r0', 'f:q', 'in a file'\nflush 't'\n");
    assert_eq!(code, Some(0), "{stderr}");
    let served = TestServer::start(&["--data", data.to_str().unwrap(), "--heat-level", "off"]);
    let address = format!("rpc://{}", served.address("master"));
    let puts = (1..=9)
        .map(|row| format!("put 't', 'r{row}', 'f:q', 'value {row} in the log'"))
        .collect::<Vec<_>>()
        .join("\n");
    let written = halite(&["shell", "-n", "--connect", &address], &puts);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    assert_eq!(served.end(Signal::KILL).0, None);
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

/// Returns the file of a store whose path contains `part`.
pub(crate) fn file(data: &Path, part: &str) -> PathBuf {
    let mut found: Vec<PathBuf> =
        files(data).into_iter().filter(|path| path.to_str().unwrap().contains(part)).collect();
    found.sort();
    found.pop().unwrap_or_else(|| panic!("no {part} in {}", data.display()))
}

/// Flips a bit of the first byte of `text` in a file.
fn damage(path: &Path, text: &str) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(text.len()).position(|bytes| bytes == text.as_bytes()).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn check_of_sound_store_prints_no_errors() {
    let folder = tempfile::tempdir().unwrap();
    create_killed_store(folder.path());
    let (code, stdout, errors) = run("check", folder.path(), &[]);
    assert!(
        code == Some(0)
            && stdout.ends_with("\nsound\n")
            && stdout.contains("1 log segments with ")
            && errors.is_empty(),
        "{code:?} {stdout}{errors}"
    );
    assert_eq!(
        run("repair", folder.path(), &[]),
        (Some(0), "nothing to repair\n".to_owned(), String::new())
    );
    let nothing = folder.path().join("nothing");
    for command in ["check", "repair"] {
        let (code, stdout, errors) = run(command, &nothing, &[]);
        assert!(
            code == Some(3) && stdout.is_empty() && errors.contains("there is no directory"),
            "{code:?} {stdout}{errors}"
        );
    }
}

#[test]
fn damaged_store_file_is_named_by_check_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    create_killed_store(data);
    let damaged = file(data, "/f/");
    damage(&damaged, "in a file");
    let name = damaged.to_str().unwrap();
    let (code, stdout, errors) = run("check", data, &[]);
    assert!(
        code == Some(1)
            && stdout.contains(&format!("error: store file {name}"))
            && stdout.contains("1 errors, 0 warnings"),
        "{code:?} {stdout}{errors}"
    );
    let (code, stdout, errors) = shell(data, &[], "scan 't'\n");
    let all = format!("{stdout}{errors}");
    assert!(code != Some(0) && all.contains(name) && all.contains("damaged"), "{code:?} {all}");
}

#[test]
fn damaged_manifest_is_rejected_and_repaired_from_copy() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    create_killed_store(data);
    let manifest = data.join("halite/MANIFEST");
    let mut bytes = fs::read(&manifest).unwrap();
    bytes[30] ^= 1;
    fs::write(&manifest, &bytes).unwrap();
    let name = manifest.to_str().unwrap();
    let (code, stdout, errors) = shell(data, &[], "count 't'\n");
    assert!(
        code == Some(1)
            && stdout.is_empty()
            && errors.contains(name)
            && errors.contains("halite repair"),
        "{code:?} {stdout}{errors}"
    );
    let (code, stdout, _) = run("check", data, &[]);
    assert!(
        code == Some(1) && stdout.contains(&format!("error: manifest {name}")),
        "{code:?} {stdout}"
    );
    let (code, stdout, errors) = run("repair", data, &[]);
    assert!(
        code == Some(1)
            && stdout.contains("certain: ")
            && stdout.contains("nothing has been changed"),
        "{code:?} {stdout}{errors}"
    );
    assert_eq!(fs::read(&manifest).unwrap(), bytes, "it was not carried out");
    let (code, stdout, errors) = run("repair", data, &["--apply"]);
    assert!(
        code == Some(0) && stdout.contains("done; what was replaced is in "),
        "{code:?} {stdout}{errors}"
    );
    let (code, stdout, errors) = run("check", data, &[]);
    assert!(code == Some(0) && stdout.ends_with("\nsound\n"), "{code:?} {stdout}{errors}");
    let (code, stdout, errors) = shell(data, &[], "count 't'\n");
    assert!(code == Some(0) && stdout.contains("10 row(s)"), "{code:?} {stdout}{errors}");
    assert_eq!(run("repair", data, &[]).1, "nothing to repair\n");
}

#[test]
fn damaged_wal_is_rejected_unless_skip_is_requested() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    create_killed_store(data);
    let segment = file(data, ".wal");
    damage(&segment, "value 5");
    let damaged = fs::read(&segment).unwrap();
    let name = segment.to_str().unwrap();
    let commands: [&[&str]; 3] = [
        &["shell", "-n", "--data", data.to_str().unwrap()],
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
            data.to_str().unwrap(),
        ],
        &["bench", "--rows", "10", "--data", data.to_str().unwrap()],
    ];
    for arguments in commands {
        let (code, stdout, errors) = decode_output(&halite(arguments, "count 't'\n"));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{arguments:?}: {errors}");
        for word in [
            name,
            "damaged at byte",
            "whole writes follow",
            "wal-recovery = skip-damaged",
            "nothing has been changed",
        ] {
            assert!(errors.contains(word), "{arguments:?}: no {word}: {errors}");
        }
    }
    assert_eq!(fs::read(&segment).unwrap(), damaged);
    let (code, stdout, _) = run("check", data, &[]);
    assert!(
        code == Some(1) && stdout.contains(&format!("error: log segment {name}")),
        "{code:?} {stdout}"
    );
    let (code, stdout, errors) = run("repair", data, &["--apply"]);
    assert!(
        stdout.contains("the repair does not change it") || stdout.contains("nothing to repair"),
        "{code:?} {stdout}{errors}"
    );
    let (code, stdout, errors) = shell(data, &["--wal-recovery", "skip-damaged"], "count 't'\n");
    assert!(code == Some(0) && stdout.contains("9 row(s)"), "{code:?} {stdout}{errors}");
    assert!(
        errors.contains("damaged bytes left out of log segment") && errors.contains(".torn"),
        "{errors}"
    );
    let kept = file(data, ".torn");
    assert!(
        String::from_utf8_lossy(&fs::read(kept).unwrap()).contains("in the log"),
        "what was left out is kept"
    );
    let (code, stdout, errors) = shell(data, &[], "count 't'\n");
    assert!(
        code == Some(0) && stdout.contains("9 row(s)") && errors.is_empty(),
        "told once: {code:?} {stdout}{errors}"
    );
}

#[test]
fn server_logs_bytes_cut_from_torn_wal() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    create_killed_store(data);
    let segment = file(data, ".wal");
    // The mark at the end of the last group: no write is in it.
    let mut bytes = fs::read(&segment).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[written] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let (_, log) = TestServer::start(&["--data", data.to_str().unwrap()]).end(Signal::TERM);
    assert!(
        log.contains("WARN torn end of the log cut off")
            && log.contains("writes=0")
            && log.contains(".torn"),
        "{log}"
    );
    let (code, stdout, errors) = shell(data, &[], "count 't'\n");
    assert!(code == Some(0) && stdout.contains("10 row(s)"), "{code:?} {stdout}{errors}");
}

#[test]
fn stale_manifest_is_reported_by_commands_and_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    assert_eq!(shell(data, &[], "create 't', 'f'\n").0, Some(0));
    let before = fs::read(data.join("halite/MANIFEST")).unwrap();
    assert_eq!(shell(data, &[], "put 't', 'r', 'f:q', 'v'\n").0, Some(0));
    fs::write(data.join("halite/MANIFEST"), before).unwrap();
    fs::remove_dir_all(data.join("manifests")).unwrap();
    let (code, stdout, errors) = shell(data, &[], "count 't'\n");
    assert!(code == Some(0) && stdout.contains("0 row(s)"), "{code:?} {stdout}{errors}");
    for word in ["1 files with cells that are nowhere else", "halite/quarantine/", "halite repair"]
    {
        assert!(errors.contains(word), "no {word}: {errors}");
    }
    let (code, stdout, errors) = run("repair", data, &["--apply"]);
    assert!(code == Some(0) && stdout.contains("done; "), "{code:?} {stdout}{errors}");
    let (code, stdout, errors) = shell(data, &[], "count 't'\n");
    assert!(
        code == Some(0) && stdout.contains("1 row(s)") && errors.is_empty(),
        "{code:?} {stdout}{errors}"
    );
}
