//! Pipes, sockets, links, directories and unexpected names among the files of a store. `check`
//! reports them, `repair` continues and leaves or replaces them, and opening rejects them. None of
//! these waits for a pipe or writes through a link.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::damage::{create_killed_store, file, run, shell};
use crate::program::output;

/// A store with two rows in a file that was closed.
fn create_closed_store(data: &Path) {
    let (code, _, stderr) = shell(
        data,
        &[],
        "create 't', 'f'\nput 't', 'r0', 'f:q', 'v'\nput 't', 'r1', 'f:q', 'v'\nflush 't'\n",
    );
    assert_eq!(code, Some(0), "{stderr}");
}

/// Returns all entries below a directory: type, mode, and contents of files and links.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
        let bytes = match metadata.file_type() {
            of if of.is_file() => fs::read(&path).unwrap(),
            of if of.is_symlink() => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
            _ => Vec::new(),
        };
        if metadata.is_dir() {
            found.extend(tree(&path));
        }
        found.insert(path, (metadata.mode(), bytes));
    }
    found
}

/// Name of a kind of entry, and a function that creates one.
type UnexpectedFile = (&'static str, fn(&Path));

/// Kinds of entries that replace a regular file.
const KINDS: [UnexpectedFile; 5] = [
    ("a named pipe", |path| {
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    }),
    // The name of a socket has to be short.
    ("a socket", |path| {
        let short = tempfile::tempdir().unwrap();
        drop(UnixListener::bind(short.path().join("s")).unwrap());
        fs::rename(short.path().join("s"), path).unwrap();
    }),
    ("a directory", |path| fs::create_dir(path).unwrap()),
    ("a symbolic link to nothing", |path| symlink("/nowhere/at/all", path).unwrap()),
    ("a symbolic link", |path| symlink("..", path).unwrap()),
];

/// Replaces a file of a new store with an entry of another kind, and verifies the result of each
/// command.
fn check_replaced_file(part: &str, kind: UnexpectedFile, opens: bool, rows: usize) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    create_closed_store(data);
    let path = file(data, part);
    fs::remove_file(&path).unwrap();
    kind.1(&path);
    let case = format!("{} instead of {part}", kind.0);
    let before = tree(data);
    let (code, stdout, errors) = run("check", data, &[]);
    assert!(
        code == Some(1) && stdout.contains(path.to_str().unwrap()) && errors.is_empty(),
        "{case}: {code:?} {stdout}{errors}"
    );
    let (code, stdout, errors) = run("repair", data, &[]);
    assert!(
        code == Some(1) && stdout.contains(part) && errors.is_empty(),
        "{case}: {code:?} {stdout}{errors}"
    );
    assert!(tree(data) == before, "{case}: looking changes nothing");
    open_unrepaired_copy(data, &path, opens, &case);
    let (code, stdout, errors) = run("repair", data, &["--apply"]);
    assert!(code == Some(0) && errors.is_empty(), "{case}: {code:?} {stdout}{errors}");
    let (code, stdout, errors) = run("check", data, &[]);
    assert!(code == Some(0), "{case}: {code:?} {stdout}{errors}");
    assert_eq!(run("repair", data, &["--apply"]).1, "nothing to repair\n", "{case}");
    let (code, stdout, errors) =
        shell(data, &[], "put 't', 'r0', 'f:q', 'v'\ncount 't'\nflush 't'\n");
    assert!(
        code == Some(0) && stdout.contains(&format!("{rows} row(s)")),
        "{case}: {code:?} {stdout}{errors}"
    );
}

/// Opens an unrepaired copy: the unexpected entry remains, whether or not the store opens.
fn open_unrepaired_copy(data: &Path, path: &Path, opens: bool, case: &str) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    // `cp -a` copies pipes, sockets and links as they are.
    assert!(output(Command::new("cp").arg("-a").arg(data).arg(&copy)).status.success(), "{case}");
    let odd = copy.join(path.strip_prefix(data).unwrap());
    let kind = fs::symlink_metadata(&odd).unwrap().file_type();
    let (code, stdout, errors) = shell(&copy, &[], "count 't'\n");
    if opens {
        assert!(
            code == Some(0) && stdout.contains("2 row(s)"),
            "{case}: {code:?} {stdout}{errors}"
        );
    } else {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(
            code == Some(1) && stdout.is_empty() && errors.contains(name),
            "{case}: {code:?} {stdout}{errors}"
        );
        assert_cause_appears_once(&errors);
    }
    // Opening rewrites table descriptors and removes entries at the paths of older ones; the target
    // of a link remains.
    if odd.components().any(|part| part.as_os_str() == ".tabledesc") {
        return;
    }
    assert!(
        fs::symlink_metadata(&odd).is_ok_and(|is| is.file_type() == kind),
        "{case}: it is gone: {errors}"
    );
}

/// Asserts that an error contains its cause only once.
#[track_caller]
fn assert_cause_appears_once(errors: &str) {
    for line in errors.lines() {
        let parts: Vec<&str> = line.split(": ").collect();
        assert!(parts.windows(2).all(|pair| pair[0] != pair[1]), "{line}");
        assert!(line.matches("os error").count() <= 1, "{line}");
    }
}

#[test]
fn unexpected_file_kind_is_reported_or_replaced_without_blocking() {
    for kind in KINDS {
        for (part, opens, rows) in [
            ("halite/LOCK", false, 2),
            ("halite/MANIFEST", false, 2),
            ("manifests/", true, 2),
            // A dangling link counts as a missing file.
            ("hbase.id", kind.0 == "a symbolic link to nothing", 2),
            ("hbase.version", true, 2),
            (".tabledesc/", true, 2),
            (".regioninfo", true, 2),
            // Its rows are lost, and the one written afterwards is present.
            ("/f/", false, 1),
        ] {
            check_replaced_file(part, kind, opens, rows);
        }
    }
}

#[test]
fn symlinked_lock_file_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (data, precious) = (folder.path().join("store"), folder.path().join("precious"));
    create_closed_store(&data);
    fs::write(&precious, "mine").unwrap();
    fs::remove_file(data.join("halite/LOCK")).unwrap();
    symlink(&precious, data.join("halite/LOCK")).unwrap();
    let (code, stdout, errors) = shell(&data, &[], "count 't'\n");
    assert!(
        code == Some(1)
            && stdout.is_empty()
            && errors.contains("halite/LOCK: this is a symbolic link, not a file"),
        "{code:?} {stdout}{errors}"
    );
    let (code, stdout, _) = run("check", &data, &[]);
    assert!(
        code == Some(1)
            && stdout.contains("1 store files")
            && stdout.contains("LOCK is a symbolic link, expected a file"),
        "{code:?} {stdout}"
    );
    assert_eq!(run("repair", &data, &["--apply"]).0, Some(0));
    assert_eq!(
        (fs::read(&precious).unwrap(), run("check", &data, &[]).0),
        (b"mine".to_vec(), Some(0))
    );
}

#[test]
fn unexpected_wal_segment_kind_is_reported_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    create_killed_store(data);
    let segment = file(data, ".wal");
    fs::rename(&segment, folder.path().join("hbase.wal")).unwrap();
    for (kind, make) in &KINDS[..3] {
        make(&segment);
        let before = tree(data);
        for (command, more) in [("check", &[][..]), ("repair", &[]), ("repair", &["--apply"])] {
            let (code, stdout, errors) = run(command, data, more);
            let words = format!("{} is not a log segment: it is {kind}", segment.display());
            assert!(
                code == Some(1) && stdout.contains(&words) && errors.is_empty(),
                "{command}: {code:?} {stdout}{errors}"
            );
        }
        let (code, _, errors) = shell(data, &[], "count 't'\n");
        assert!(code == Some(1) && errors.contains(kind), "{code:?} {errors}");
        assert!(tree(data) == before, "{kind}");
        fs::remove_file(&segment).or_else(|_| fs::remove_dir(&segment)).unwrap();
    }
    fs::rename(folder.path().join("hbase.wal"), &segment).unwrap();
    assert!(shell(data, &[], "count 't'\n").1.contains("10 row(s)"));
}

#[test]
fn non_utf8_name_is_reported_and_kept_by_repair() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    create_closed_store(data);
    let odd = |directory: &Path, name: &[u8]| directory.join(OsStr::from_bytes(name));
    let family = file(data, "/f/").parent().unwrap().to_owned();
    let (table, harmless) = (odd(&data.join("data/default"), b"t\xff"), odd(data, b"\xfe"));
    fs::create_dir(&table).unwrap();
    fs::write(odd(&table, b"q\xff"), "mine").unwrap();
    fs::write(odd(&family, b"\xff"), "mine").unwrap();
    fs::write(odd(&data.join("halite/wal"), b"w\xff"), "mine").unwrap();
    fs::write(&harmless, "mine").unwrap();
    fs::remove_file(data.join("halite/MANIFEST")).unwrap();
    for (command, more) in
        [("check", &[][..]), ("repair", &[]), ("repair", &["--apply"]), ("check", &[])]
    {
        let (code, stdout, errors) = run(command, data, more);
        assert!(code == Some(1) && errors.is_empty(), "{command}: {code:?} {stdout}{errors}");
        for name in ["data/default/t\\xff ", "/f/\\xff ", "halite/wal/w\\xff ", "\\xfe "] {
            assert!(stdout.contains(name), "{command}: {name}: {stdout}");
        }
    }
    let (code, _, errors) = shell(data, &[], "count 't'\n");
    assert!(code == Some(1) && errors.contains("\\xff"), "{code:?} {errors}");
    for path in [odd(&family, b"\xff"), odd(&data.join("halite/wal"), b"w\xff")] {
        fs::remove_file(path).unwrap();
    }
    assert_eq!(fs::read(odd(&table, b"q\xff")).unwrap(), b"mine");
    fs::remove_dir_all(table).unwrap();
    assert_eq!(
        (run("check", data, &[]).0, run("repair", data, &[]).0),
        (Some(0), Some(0)),
        "the one beside the store is harmless"
    );
    let (code, stdout, errors) = shell(data, &[], "count 't'\n");
    assert!(
        code == Some(0) && stdout.contains("2 row(s)") && harmless.exists(),
        "{code:?} {stdout}{errors}"
    );
}

#[test]
fn error_prints_its_cause_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    create_closed_store(data);
    // A name that is too long for the file system fails on every user, the superuser too.
    let long = data.join("x".repeat(300));
    for arguments in [["check"], ["repair"]] {
        assert_cause_appears_once(&run(arguments[0], &long, &[]).2);
    }
    let (code, _, errors) = shell(&long, &[], "list\n");
    assert!(
        code == Some(1) && errors.contains("name too long") | errors.contains("too long"),
        "{errors}"
    );
    assert_cause_appears_once(&errors);
    fs::remove_dir_all(data.join("halite/wal")).unwrap();
    let (code, _, errors) = shell(data, &[], "list\n");
    assert!(code == Some(1) && errors.contains("os error"), "{errors}");
    assert_cause_appears_once(&errors);
    fs::remove_dir_all(data.join("halite")).unwrap();
    fs::write(data.join("halite"), "").unwrap();
    let (code, _, errors) = run("repair", data, &["--apply"]);
    assert!(
        code == Some(3) && errors.contains("halite is a file, expected a directory"),
        "{errors}"
    );
    assert_cause_appears_once(&errors);
}
