//! `halite import` of a root directory that HBase 2.6.4 wrote: tables, a clone with links, a split
//! table with references, and snapshots of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use halite::{CellRef, CellType, Scan};
use halite_engine::env::Env;
use halite_engine::hfile::{
    Cursor, DirectBlocks, Reader, StoreFileInfo, Writer, WriterOptions, info_key,
};
use halite_types::cell::{make_key, write_cell};

use crate::program::{halite, output};

/// Copies the sample into a directory, for a test that changes it.
fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn sample(folder: &Path) -> PathBuf {
    sample_of(folder, concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/hbase-root"))
}

/// Sample with values in MOB files: a table `blobs`, its snapshot `saved`, and the clone `copied`.
fn mob_sample(folder: &Path) -> PathBuf {
    sample_of(folder, concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/hbase-mob"))
}

fn sample_of(folder: &Path, path: &str) -> PathBuf {
    let root = folder.join("root");
    copy_tree(Path::new(path), &root);
    // As HBase leaves it when it stops.
    fs::create_dir_all(root.join("WALs/s,1,2")).unwrap();
    root
}

/// Returns all files of a directory with their contents.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// Runs the command and returns whether it succeeded, and everything it printed.
fn import(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = halite();
    let data = if arguments.contains(&"--data") { &[][..] } else { &["--data", "store"] };
    command.args(["import", "root"]).args(data).args(arguments).current_dir(folder);
    let output = output(&mut command);
    let printed = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(printed).unwrap())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// Returns all cells of a table, with versions and markers, as in the lists of the sample.
fn raw_cells(folder: &Path, table: &str) -> Vec<String> {
    let store = halite::open(folder.join("store")).unwrap();
    let rows = store.table(table).unwrap().scan(Scan::all().raw(true).all_versions());
    let mut cells = Vec::new();
    for row in rows {
        for cell in row.unwrap().cells() {
            let (family, qualifier) = (hex(cell.family()), hex(cell.qualifier()));
            let (row, value) = (hex(cell.row()), hex(cell.value()));
            let (time, kind) = (cell.timestamp(), cell.type_code());
            cells.push(format!("{row}\t{family}\t{qualifier}\t{time}\t{kind}\t{value}"));
        }
    }
    store.close().unwrap();
    cells
}

/// Returns the cells that a raw scan of HBase returned.
fn listed(folder: &Path, list: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.join("root").join(list)).unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn imported_tables_have_the_cells_of_hbase() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = contents(&sample(folder));
    let (ok, printed) = import(folder, &["--dry-run"]);
    assert!(ok && printed.contains("table hf_sp: families f; 2 regions"), "{printed}");
    assert!(!folder.join("store").exists());
    let (ok, printed) = import(folder, &[]);
    assert!(ok, "{printed}");
    for (table, list) in [
        ("hf_a", "hf_snap1.raw.tsv"),
        ("hf_clone", "hf_snap_links.raw.tsv"),
        ("hf_sp", "hf_snap_refs.raw.tsv"),
    ] {
        assert_eq!(raw_cells(folder, table), listed(folder, list), "{table}");
    }
    assert_eq!(contents(&folder.join("root")), before);
    for arguments in [&["hf_a"][..], &["hf_a", "--dry-run"]] {
        let (ok, printed) = import(folder, arguments);
        assert!(!ok && printed.contains("table hf_a exists already"), "{printed}");
    }
    let (ok, printed) = import(folder, &["hf_a", "--skip-existing"]);
    assert!(ok && printed.contains("hf_a exists already in the store; it is skipped"), "{printed}");
}

#[test]
fn imported_snapshots_have_the_cells_of_hbase() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sample(folder);
    for snapshot in ["hf_snap1", "hf_snap_links", "hf_snap_refs"] {
        let table = format!("new:{snapshot}");
        let (ok, printed) = import(folder, &["--snapshot", snapshot, &table]);
        assert!(ok, "{printed}");
        let list = listed(folder, &format!("{snapshot}.raw.tsv"));
        assert_eq!(raw_cells(folder, &table), list, "{snapshot}");
    }
    let (ok, printed) = import(folder, &["--snapshot", "../data"]);
    assert!(!ok && printed.contains("snapshot name"), "{printed}");
}

/// Returns the MOB files of the sample, but those of the clone.
fn mob_files(root: &Path) -> Vec<PathBuf> {
    contents(&root.join("mobdir/data/default/blobs")).into_keys().collect()
}

#[test]
fn values_in_mob_files_are_imported_as_plain_ones() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = contents(&mob_sample(folder));
    let note = "table copied: family f had IS_MOB and is without it here: 4 values (721 bytes)";
    for arguments in [&["--dry-run"][..], &[]] {
        let (ok, printed) = import(folder, arguments);
        assert!(ok && printed.contains(note), "{printed}");
    }
    let (_, printed) = import(folder, &["copied", "--dry-run", "--data", "other"]);
    for part in ["1 regions; 1 files (5,102 bytes) to link, 0 files", "  MOB: 3 files to write"] {
        assert!(printed.contains(part), "{printed}");
    }
    let (ok, printed) = import(folder, &["--snapshot", "saved", "again"]);
    assert!(ok, "{printed}");
    for (table, list) in
        [("blobs", "blobs.raw.tsv"), ("copied", "copied.raw.tsv"), ("again", "blobs.raw.tsv")]
    {
        assert_eq!(raw_cells(folder, table), listed(folder, list), "{table}");
    }
    assert_eq!(contents(&folder.join("root")), before);
    let store = halite::open(folder.join("store")).unwrap();
    let descriptor = store.table("blobs").unwrap().descriptor().unwrap();
    let attributes = &descriptor.find_family(b"f").unwrap().attributes;
    assert!(!attributes.keys().any(|name| name.contains("MOB")), "{attributes:?}");
    store.close().unwrap();
}

/// HBase's compaction of MOB files loads a file of references whose cells keep their sequence ids.
#[test]
fn loaded_files_with_their_own_sequence_ids_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = mob_sample(folder);
    let family = root.join("data/default/blobs/5b88c6a3760af34bb1020927453f2b9a/f");
    let env = Env::os(&family).unwrap();
    for path in contents(&family).into_keys() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let reader = Arc::new(Reader::open(env.fs.open(name).unwrap(), name).unwrap());
        let options = WriterOptions { include_tags: true, ..WriterOptions::default() };
        let loaded = format!("{name}_SeqId_30_");
        let file = env.fs.create(&loaded).unwrap();
        let mut writer = Writer::create(file, &loaded, options).unwrap();
        writer.set_info(info_key::BULK_LOAD_TIME, 5_i64.to_be_bytes().to_vec());
        writer.set_info(info_key::KEEP_SEQUENCE_IDS, vec![0xff]);
        let mut cursor = Cursor::new(reader, DirectBlocks);
        cursor.seek_to_first().unwrap();
        while let Some(cell) = cursor.peek() {
            writer.append(cell).unwrap();
            cursor.advance().unwrap();
        }
        writer.finish(StoreFileInfo::default()).unwrap();
        fs::remove_file(path).unwrap();
    }
    for more in [&["--dry-run"][..], &[]] {
        let (ok, printed) = import(folder, &[&["blobs"][..], more].concat());
        assert!(!ok && printed.contains("SKIP_RESET_SEQ_ID"), "{printed}");
    }
}

#[test]
fn missing_or_damaged_mob_file_ends_import_without_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = mob_sample(folder);
    let before = contents(&root);
    let mut errors = 0;
    for path in mob_files(&root) {
        let whole = fs::read(&path).unwrap();
        let mut damaged = whole.clone();
        damaged[60] ^= 1;
        for bytes in [None, Some(damaged), Some(whole[..200].to_vec())] {
            match bytes {
                None => fs::remove_file(&path).unwrap(),
                Some(bytes) => fs::write(&path, bytes).unwrap(),
            }
            let (ok, printed) = import(folder, &["blobs", "--data", "other"]);
            if ok {
                // No cell is left that refers to it.
                fs::remove_dir_all(folder.join("other")).unwrap();
                continue;
            }
            errors += 1;
            let name = path.file_name().unwrap().to_str().unwrap();
            for part in ["cell of row '", "column f:big", name, "restore"] {
                assert!(printed.contains(part), "{part} is not in: {printed}");
            }
            assert!(!folder.join("other").exists(), "nor is there an empty store");
        }
        fs::write(&path, whole).unwrap();
    }
    assert_eq!(errors, 6, "the store files refer to two MOB files");
    assert_eq!(contents(&root), before);
}

#[test]
fn cut_or_missing_snapshot_manifest_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = mob_sample(folder).join(".hbase-snapshot/saved/data.manifest");
    let whole = fs::read(&path).unwrap();
    for bytes in [None, Some(&whole[..0]), Some(&whole[..700])] {
        match bytes {
            None => fs::remove_file(&path).unwrap(),
            Some(bytes) => fs::write(&path, bytes).unwrap(),
        }
        let (ok, printed) = import(folder, &["--snapshot", "saved"]);
        assert!(
            !ok && printed.contains("data.manifest: ") && printed.contains("restore"),
            "{printed}"
        );
    }
    let (_, printed) = import(folder, &["nosuch"]);
    assert!(printed.contains("halite: table nosuch: it does not exist: "), "{printed}");
    let (_, printed) = import(folder, &["--snapshot", "nosuch"]);
    assert!(printed.contains("halite: snapshot nosuch: it does not exist: "), "{printed}");
}

#[test]
fn bare_files_that_refer_to_mob_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = mob_sample(folder);
    let region = root.join("data/default/blobs/5b88c6a3760af34bb1020927453f2b9a");
    fs::remove_file(region.join(".regioninfo")).unwrap();
    fs::rename(region, folder.join("bare")).unwrap();
    fs::remove_dir_all(&root).unwrap();
    fs::rename(folder.join("bare"), &root).unwrap();
    let (ok, printed) = import(folder, &["--hfiles", "t"]);
    assert!(!ok && printed.contains("refers to values in MOB files"), "{printed}");
}

#[test]
fn bare_files_are_loaded_into_new_and_existing_tables() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let region = root.join("data/default/hf_a/f1398270e8056b2c10668848e20f759b");
    fs::rename(region, folder.join("bare")).unwrap();
    fs::remove_dir_all(&root).unwrap();
    fs::remove_dir_all(folder.join("bare/recovered.edits")).unwrap();
    fs::rename(folder.join("bare"), &root).unwrap();
    let before = contents(&root);
    let mut cells = Vec::new();
    for expected in ["1 files linked", "1 copied"] {
        let (ok, printed) = import(folder, &["--hfiles", "t"]);
        assert!(ok && printed.contains(expected), "{printed}");
        cells.push(raw_cells(folder, "t"));
    }
    // Loading the files again adds equal cells only.
    cells[1].dedup();
    assert!(!cells[0].is_empty() && cells[1] == cells[0]);
    assert_eq!(contents(&root), before);
}

#[test]
fn bare_files_in_staging_of_the_store_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let (ok, printed) = import(folder, &["hf_sp"]);
    assert!(ok, "{printed}");
    let region = root.join("data/default/hf_a/f1398270e8056b2c10668848e20f759b");
    let job = folder.join("store/staging/job");
    copy_tree(&region.join("g"), &job.join("g"));
    let before = contents(&job);
    for expected in ["1 files linked", "1 copied"] {
        let mut command = halite();
        command.args(["import", "store/staging/job", "t", "--hfiles", "--data", "store"]);
        let output = output(command.current_dir(folder));
        let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!(output.status.success() && printed.contains(expected), "{printed}");
        assert!(!raw_cells(folder, "t").is_empty());
        assert_eq!(contents(&job), before);
    }
}

#[test]
fn crashed_or_damaged_directory_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let refused = |path: &str, bytes: &[u8], message: &str| {
        let path = root.join(path);
        let old = fs::read(&path).ok();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let (ok, printed) = import(folder, &["--dry-run"]);
        assert!(!ok && printed.contains(message), "dry run: {printed}");
        let (ok, printed) = import(folder, &[]);
        assert!(!ok && printed.contains(message), "{printed}");
        assert!(printed.contains(path.parent().unwrap().to_str().unwrap()), "{printed}");
        match old {
            Some(old) => fs::write(&path, old).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    };
    refused("WALs/s,1,2/s.3", b"PWAL\x02\x08\x00\x01entry", "the log's entry at byte 7");
    refused("WALs/s,1,2/s.3", b"PAWL", "not a log of HBase");
    let hfiles = "data/default/hf_a/91040b6b7fec03ab55bb4cdab9afc5d9/recovered.hfiles";
    refused(&format!("{hfiles}/f"), b"", "start and stop HBase cleanly, or import a snapshot");
    let region = "data/default/hf_sp/727ff881236755e282cf668d2763e616";
    let half =
        format!("{region}/f/b8d8eff8cdb243e2845cc6a95f83fef4.3d733c4f291b8fd11a80602986174d12");
    refused(&half, b"PBUF\x0a\x02\xff\xff\x10\x00", "the reference has no row");
    refused(&half, b"PBUF\x0a\xff\xff\xff\xff\x0f", "");
    refused(&format!("{region}/f/t=..-ab"), b"", "not the name of a store file");
    refused(&format!("{region}/f/abcd.ef"), b"PBUF\x0a\x03\x00\x01a\x10\x00", "neither in data");
    refused(&format!("{region}/.regioninfo"), b"PBUF\x7f", "regioninfo");
    refused("data/default/hf_a/.tabledesc/.tableinfo.0000000002", b"", "PBUF");
    fs::remove_dir_all(root.join("WALs")).unwrap();
    let (ok, printed) = import(folder, &[]);
    assert!(!ok && printed.contains("--wal-dir") && printed.contains("--ignore-logs"), "{printed}");
    fs::create_dir_all(root.join("WALs/s,1,2")).unwrap();
    // A log without an entry was closed by a server that had flushed everything.
    fs::write(root.join("WALs/s,1,2/s.3"), b"PWAL\x02\x08\x00\0\0\0\0LAWP").unwrap();
    let (ok, printed) = import(folder, &["hf_a"]);
    assert!(ok, "{printed}");
    fs::create_dir(root.join("halite")).unwrap();
    let (ok, printed) = import(folder, &[]);
    assert!(!ok && printed.contains("is a store of Halite"), "{printed}");
}

/// Returns a protobuf field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()][..], bytes].concat()
}

/// Returns an entry of a log: puts into a region as of a sequence id up to 16,383.
fn entry(region: &str, sequence: u16, cells: &[(&str, &str)]) -> Vec<u8> {
    let [low, high] = [sequence & 0x7f | 0x80, sequence >> 7].map(|byte| byte.to_be_bytes()[1]);
    // A time of 2023 in milliseconds, and the number of cells.
    let [time, count] = [&b"\x20\x80\xd0\x95\xff\xbc\x31"[..], b"\x38"];
    let cell_count = [u8::try_from(cells.len()).unwrap()];
    let numbers = [&[0x18, low, high][..], time, count, &cell_count].concat();
    let key = [field(1, region.as_bytes()), field(2, b"hf_a"), numbers].concat();
    let mut entry = vec![u8::try_from(key.len()).unwrap()];
    entry.extend_from_slice(&key);
    for (row, value) in cells {
        let (row, value) = (row.as_bytes(), value.as_bytes());
        let key = make_key(row, b"f", b"of_log", 5, CellType::Put.code());
        write_cell(&mut entry, CellRef::new(&key, value, &[], 0));
    }
    entry
}

const LOG_HEADER: &[u8] = b"PWAL\x02\x08\x00";
/// Region of the sample's table `hf_a` from row `m` on, whose sequence ids are below 9,020.
const REGION: &str = "91040b6b7fec03ab55bb4cdab9afc5d9";

/// Returns the values of the cells that logs had.
fn values_of_logs(folder: &Path) -> Vec<String> {
    let qualifier = hex(b"of_log");
    let cells = raw_cells(folder, "hf_a");
    let of_logs = cells.iter().filter(|cell| cell.split('\t').nth(2) == Some(&qualifier[..]));
    of_logs.map(|cell| cell.rsplit('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn cells_in_logs_only_are_recovered_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let first = entry(REGION, 9020, &[("n", "first"), ("o", "other"), ("a", "outside")]);
    let second = entry(REGION, 9021, &[("n", "second")]);
    let flushed = entry(REGION, 1, &[("n", "flushed")]);
    let foreign = entry("0123456789abcdef0123456789abcdef", 9022, &[("n", "foreign")]);
    let logs = root.join("WALs/s,1,2-splitting");
    fs::create_dir_all(&logs).unwrap();
    let log = [LOG_HEADER, &flushed, &first, &foreign, &second, &first[..9]].concat();
    fs::write(logs.join("s.3"), log).unwrap();
    // HBase had recovered the first entry when it was killed, too.
    let edits = root.join("data/default/hf_a").join(REGION).join("recovered.edits");
    fs::create_dir_all(&edits).unwrap();
    fs::write(edits.join("0000000000000000120"), [LOG_HEADER, &first].concat()).unwrap();
    fs::write(edits.join("0000000000000000121.temp"), b"PWAL").unwrap();
    let before = contents(&root);
    let (ok, printed) = import(folder, &["hf_a", "--dry-run"]);
    assert!(ok && printed.contains("logs: 3 entries (5 cells) of 1 regions"), "{printed}");
    assert!(printed.contains("the log ends inside the entry at byte"), "{printed}");
    assert!(!folder.join("store").exists());
    let (ok, printed) = import(folder, &["hf_a", "hf_a", "default:hf_a"]);
    assert!(ok && printed.contains("3 entries recovered from logs"), "{printed}");
    let [second, other] = ["second", "other"].map(|value| hex(value.as_bytes()));
    assert_eq!(
        values_of_logs(folder),
        [second.clone(), other],
        "the second of equal cells hides the first"
    );
    assert_eq!(contents(&root), before);
    let left = fs::read_dir(folder.join("store/staging")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
    fs::remove_dir_all(folder.join("store")).unwrap();
    let (ok, printed) = import(folder, &["hf_a", "--ignore-logs"]);
    assert!(ok && values_of_logs(folder).is_empty(), "{printed}");
    // The region was opened or closed after the first entry, so that was flushed before.
    fs::write(edits.join("9020.seqid"), b"").unwrap();
    fs::remove_dir_all(folder.join("store")).unwrap();
    let (ok, printed) = import(folder, &["hf_a"]);
    assert!(ok && printed.contains("1 entries recovered from logs"), "{printed}");
    assert_eq!(values_of_logs(folder), [second]);
}

#[test]
fn parts_of_logs_below_wal_directory_are_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    sample(folder);
    let logs = folder.join("logs");
    fs::create_dir_all(logs.join("WALs")).unwrap();
    let edits = logs.join("data/default/hf_a").join(REGION).join("recovered.edits");
    fs::create_dir_all(&edits).unwrap();
    let part = entry(REGION, 9020, &[("n", "part")]);
    fs::write(edits.join("0000000000000009020"), [LOG_HEADER, &part].concat()).unwrap();
    let (ok, printed) = import(folder, &["hf_a", "--wal-dir", logs.to_str().unwrap()]);
    assert!(ok, "{printed}");
    assert_eq!(values_of_logs(folder), [hex(b"part")]);
    // The root directory, by another path, is not a second directory.
    copy_tree(&logs, &folder.join("root"));
    std::os::unix::fs::symlink("root", folder.join("link")).unwrap();
    for same in ["root", "./root", "link"] {
        let (ok, printed) =
            import(folder, &["hf_a", "--wal-dir", same, "--dry-run", "--data", "other"]);
        assert!(ok && printed.contains("logs: 1 entries (1 cells)"), "{same}: {printed}");
    }
    let (ok, printed) = import(folder, &["hf_a", "--wal-dir", "nosuch", "--data", "other"]);
    assert!(!ok && printed.contains("the directory of --wal-dir, nosuch"), "{printed}");
}

#[test]
fn damaged_log_of_meta_is_left_out_without_the_logs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    fs::create_dir_all(root.join("data/hbase/meta/1588230740")).unwrap();
    fs::write(root.join("WALs/s,1,2/s.meta.3.meta"), b"PWAL\x02\x08\x00\x01entry").unwrap();
    let (ok, printed) = import(folder, &["hf_sp"]);
    assert!(!ok && printed.contains("import without the logs"), "{printed}");
    for arguments in [&["hf_sp", "--ignore-logs", "--dry-run"][..], &["hf_sp", "--ignore-logs"]] {
        let (ok, printed) = import(folder, arguments);
        assert!(ok && printed.contains("warning: hbase:meta is not used"), "{printed}");
        assert!(printed.contains("s.meta.3.meta"), "{printed}");
    }
    assert_eq!(raw_cells(folder, "hf_sp"), listed(folder, "hf_snap_refs.raw.tsv"));
}

#[test]
fn damage_inside_an_unclosed_log_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let [first, second, third] =
        [9020, 9021, 9022].map(|sequence| entry(REGION, sequence, &[("n", "value")]));
    // A bit of the length of the second key: it seems to end after the log.
    let damaged = [b"\xff\xff\x01", &second[1..]].concat();
    let log = [LOG_HEADER, &first, &damaged, &third].concat();
    fs::write(root.join("WALs/s,1,2/s.3"), &log).unwrap();
    let at = LOG_HEADER.len() + first.len();
    let (left, next) = (log.len() - at, log.len() - third.len());
    for arguments in [&["hf_a", "--dry-run"][..], &["hf_a"]] {
        let (ok, printed) = import(folder, arguments);
        let warning = format!("s.3: the log is damaged at byte {at}: {left} bytes");
        assert!(ok && printed.contains("warning: ") && printed.contains(&warning), "{printed}");
        assert!(
            printed.contains(&format!("with what seems to be an entry at byte {next}")),
            "{printed}"
        );
    }
    assert_eq!(values_of_logs(folder), [hex(b"value")]);
}

#[test]
fn dry_run_refuses_what_an_import_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let region = root.join("data/default/hf_a/f1398270e8056b2c10668848e20f759b");
    copy_tree(&region.join("g"), &folder.join("bare/g"));
    fs::create_dir(folder.join("foreign")).unwrap();
    fs::write(folder.join("foreign/letter"), "text").unwrap();
    let (ok, printed) = import(folder, &["hf_sp"]);
    assert!(ok, "{printed}");
    let long = "t".repeat(200);
    let refused = |arguments: &[&str], message: &str| {
        for more in [&["--dry-run"][..], &[]] {
            let arguments = [&["import"][..], arguments, more].concat();
            let output = output(halite().args(&arguments).current_dir(folder));
            let printed = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success(), "{arguments:?}");
            assert!(printed.contains(message), "{arguments:?}: {printed}");
        }
    };
    refused(&["root", "hf_a", "--data", "foreign"], "foreign is not a store and not empty");
    refused(&["bare", "--hfiles", "hf_sp", "--data", "store"], "family g");
    refused(&["root", "--snapshot", "hf_snap1", &long, "--data", "store"], "choose a shorter one");
    let of_space = format!("{long}{long}:t");
    refused(&["root", "--snapshot", "hf_snap1", &of_space, "--data", "store"], "shorter one");
    for inside in ["store", "store/data", "store/archive"] {
        fs::create_dir_all(folder.join(inside)).unwrap();
        refused(&[inside, "--snapshot", "x", "--data", "store"], "store of Halite");
        refused(&[inside, "--hfiles", "x", "--data", "other"], "`halite copy`");
    }
    copy_tree(&folder.join("bare"), &folder.join("store/staging/job"));
    refused(&["store/staging/job", "--hfiles", "x", "--data", "other"], "`halite copy`");
    refused(&["store/staging", "--hfiles", "x", "--data", "store"], "`halite copy`");
    let names: Vec<_> = fs::read_dir(folder.join("foreign")).unwrap().collect();
    assert_eq!(names.len(), 1);
    assert!(!folder.join("other").exists());
}

#[test]
fn namespace_of_a_failed_import_is_not_left() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let odd = std::ffi::OsStr::from_bytes(b"odd\xff");
    fs::rename(sample(folder), folder.join(odd)).unwrap();
    let mut command = halite();
    command.arg("import").arg(odd).args(["--snapshot", "hf_snap1", "new:t", "--data", "store"]);
    let output = output(command.current_dir(folder));
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && printed.contains("is not UTF-8"), "{printed}");
    let store = halite::open(folder.join("store")).unwrap();
    let error = store.drop_namespace("new").unwrap_err();
    assert_eq!(error.kind(), halite::ErrorKind::NoSuchNamespace);
    store.close().unwrap();
}

#[test]
fn failed_import_leaves_no_new_store() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let file = contents(&root.join("data/default/hf_a")).into_iter().find(|(_, bytes)| {
        // A store file, by the kind of its first block.
        bytes.starts_with(b"DATABLK")
    });
    let (path, whole) = file.unwrap();
    let mut damaged = whole.clone();
    damaged[60] ^= 1;
    fs::write(&path, damaged).unwrap();
    let failed = |data: &str| {
        let (ok, printed) = import(folder, &["hf_a", "--data", data]);
        assert!(!ok && printed.contains("damaged"), "{printed}");
    };
    failed("new/of/three");
    assert!(!folder.join("new").exists());
    fs::create_dir(folder.join("empty")).unwrap();
    failed("empty");
    assert_eq!(fs::read_dir(folder.join("empty")).unwrap().count(), 0);
    // A store that was there stays.
    let (ok, printed) = import(folder, &["hf_sp", "--data", "store"]);
    assert!(ok, "{printed}");
    failed("store");
    assert!(!raw_cells(folder, "hf_sp").is_empty());
    fs::write(&path, whole).unwrap();
    let (ok, printed) = import(folder, &["hf_a", "--data", "new/of/three"]);
    assert!(ok, "{printed}");
}

#[test]
fn store_inside_the_source_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let before = contents(&root);
    std::os::unix::fs::symlink(&root, folder.join("link")).unwrap();
    for data in ["root/new", "root", "link/data/new", "link/../root"] {
        for more in [&["--dry-run"][..], &[]] {
            let (ok, printed) = import(folder, &[&["hf_a", "--data", data][..], more].concat());
            assert!(!ok && printed.contains("with --data"), "{data}: {printed}");
        }
    }
    assert_eq!(contents(&root), before);
    // The default is there, too.
    let output = output(halite().args(["import", ".", "hf_a"]).current_dir(&root));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && printed.contains("halite-data, is inside"), "{printed}");
    assert_eq!(contents(&root), before);
}

#[test]
fn references_of_a_family_without_mob_now_are_resolved() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tables = mob_sample(folder).join("data/default/blobs/.tabledesc");
    let path = fs::read_dir(tables).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(&path).unwrap();
    let is_mob = b"IS_MOB\x12\x04true";
    let at = bytes.windows(is_mob.len()).position(|part| part == is_mob).unwrap();
    // Anything else is false to HBase.
    bytes[at + is_mob.len() - 4..][..4].copy_from_slice(b"nope");
    fs::write(&path, bytes).unwrap();
    for arguments in [&["blobs", "--dry-run"][..], &["blobs"]] {
        let (ok, printed) = import(folder, arguments);
        let note = "table blobs: family f is without IS_MOB, and had references";
        assert!(ok && printed.contains(note), "{printed}");
    }
    assert_eq!(raw_cells(folder, "blobs"), listed(folder, "blobs.raw.tsv"));
}

#[test]
fn choice_of_regions_after_a_crash_requires_meta() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let root = sample(folder);
    let daughter = entry("727ff881236755e282cf668d2763e616", 9020, &[("a", "v"), ("z", "v")]);
    fs::write(root.join("WALs/s,1,2/s.3"), [LOG_HEADER, &daughter].concat()).unwrap();
    let (ok, printed) = import(folder, &["hf_sp"]);
    assert!(
        !ok && printed.contains("without hbase:meta it is unknown which are live"),
        "{printed}"
    );
}
