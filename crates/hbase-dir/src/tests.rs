//! Directories that are made here from messages: what the sample of HBase does not contain.

use std::fs;
use std::path::{Path, PathBuf};

use halite_types::{ErrorKind, FamilyDescriptor, TableDescriptor};
use prost::Message as _;

use crate::file_list::{TRACKER, file_names};
use crate::messages::{
    BytesBytesPair, ColumnFamilySchema, FamilyFiles, PBUF, RegionInfoMessage, SnapshotDescription,
    SnapshotFile, SnapshotRegionManifest, StoreFileEntry, StoreFileList, TableNameMessage,
    TableSchema,
};
use crate::{
    LiveRegions, Liveness, list_logs, live_region, mob_file, read_snapshot, read_table,
    recorded_sequence,
};

const HEX: &str = "0123456789abcdef0123456789abcdef";

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

fn table_name() -> TableNameMessage {
    TableNameMessage { namespace: b"default".to_vec(), qualifier: b"t".to_vec() }
}

fn schema(attribute: Option<(&str, &str)>) -> Vec<u8> {
    let pair = |(first, second): (&str, &str)| BytesBytesPair {
        first: first.into(),
        second: second.into(),
    };
    let family = ColumnFamilySchema {
        name: b"f".to_vec(),
        attributes: attribute.map(pair).into_iter().collect(),
        configuration: Vec::new(),
    };
    let table = TableSchema {
        table_name: Some(table_name()),
        column_families: vec![family],
        ..TableSchema::default()
    };
    [&PBUF[..], &table.encode_to_vec()].concat()
}

fn file_list(timestamp: u64, name: &str) -> Vec<u8> {
    let entry = StoreFileEntry { name: name.to_owned(), size: 1 };
    let list = StoreFileList { timestamp, store_file: vec![entry], version: Some(1) };
    let message = list.encode_to_vec();
    let length = u32::try_from(message.len()).unwrap();
    let crc = crc32fast::hash(&message);
    [&length.to_be_bytes()[..], &message, &crc.to_be_bytes()].concat()
}

#[test]
fn newest_whole_file_list_counts() {
    let folder = tempfile::tempdir().unwrap();
    let family = FamilyDescriptor::new("f");
    let table = TableDescriptor::new("t".parse().unwrap()).set(TRACKER, "FILE");
    let names = || file_names(folder.path(), &table, &family);
    assert_eq!(names().unwrap(), [""; 0]);
    write(&folder.path().join("aa"), b"");
    assert_eq!(names().unwrap_err().kind(), ErrorKind::Corrupt, "its list is missing");
    let lists = folder.path().join(".filelist");
    write(&lists.join("f1.5"), &file_list(5, "bb"));
    write(&lists.join("f2.6"), &file_list(6, "cc"));
    assert_eq!(names().unwrap(), ["cc"]);
    let newest = file_list(7, "dd");
    write(&lists.join("f1.7"), &newest[..newest.len() - 1]);
    assert_eq!(names().unwrap(), ["cc"], "the newest list is incomplete");
    for bytes in [&b"\x7f\xff\xff\xff"[..], &[], &[0xff; 9]] {
        fs::remove_dir_all(&lists).unwrap();
        write(&lists.join("f1.8"), bytes);
        assert_eq!(names().unwrap_err().kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn tracker_of_a_family_in_any_case_counts() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join(".filelist/f1.5"), &file_list(5, "bb"));
    write(&folder.path().join("aa"), b"");
    let mut family = FamilyDescriptor::new("f");
    let table = TableDescriptor::new("t".parse().unwrap()).set(TRACKER, "default");
    assert_eq!(file_names(folder.path(), &table, &family).unwrap(), ["aa"]);
    family.attributes.insert(TRACKER.to_owned(), "file".to_owned());
    assert_eq!(file_names(folder.path(), &table, &family).unwrap(), ["bb"]);
}

#[test]
fn logs_are_listed_and_other_things_among_them_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let tables = ["t".parse().unwrap()];
    let list = || list_logs(root, root, &tables);
    assert!(list().unwrap_err().message().contains("--wal-dir"), "there is no directory WALs");
    write(&root.join("WALs/s,1,2/s.3"), b"log");
    write(&root.join("WALs/s,1,2/s.meta.4.meta"), b"");
    write(&root.join("WALs/s,0,1-splitting/s.2"), b"");
    let edits = root.join("data/default/t/ab/recovered.edits");
    for name in [
        "7.seqid",
        "9_seqid",
        "0000000000000000004.1700000000000",
        "0000000000000000005-s.2.temp",
        "0000000000000000006",
    ] {
        write(&edits.join(name), b"");
    }
    let found: Vec<(String, u64, bool)> = list()
        .unwrap()
        .into_iter()
        .map(|log| {
            (log.path.strip_prefix(root).unwrap().display().to_string(), log.bytes, log.is_meta)
        })
        .collect();
    let expected = [
        ("WALs/s,0,1-splitting/s.2", 0, false),
        ("WALs/s,1,2/s.3", 3, false),
        ("WALs/s,1,2/s.meta.4.meta", 0, true),
        ("data/default/t/ab/recovered.edits/0000000000000000006", 0, false),
    ];
    assert_eq!(found, expected.map(|(path, bytes, is_meta)| (path.to_owned(), bytes, is_meta)));
    let recorded = |wal_root| recorded_sequence(root, wal_root, &tables[0], "ab").unwrap();
    assert_eq!(recorded(root), 9);
    let other = tempfile::tempdir().unwrap();
    let edits = other.path().join("data/default/t/ab/recovered.edits");
    write(&edits.join("12.seqid"), b"");
    write(&edits.join("0000000000000000011"), b"more");
    write(&other.path().join("WALs/s,1,2/s.5"), b"");
    assert_eq!(recorded(other.path()), 12);
    let found = list_logs(root, other.path(), &tables).unwrap();
    assert_eq!(found.len(), 3, "parts of logs in both directories");
    let socket = root.join("WALs/s,1,2/socket");
    let _held = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert!(list().unwrap_err().message().contains("a log is expected here"));
}

#[test]
fn descriptor_with_the_highest_number_counts() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("data/default/t/.tabledesc");
    let name = "t".parse().unwrap();
    let put = |number: u64, versions: &str, missing: usize| {
        let bytes = schema(Some(("VERSIONS", versions)));
        let path = format!(".tableinfo.{number:010}.{}", bytes.len() + missing);
        write(&directory.join(path), &bytes);
    };
    put(9, "3", 0);
    put(10, "4", 0);
    put(11, "5", 1);
    let table = read_table(folder.path(), &name, Liveness::Derived).unwrap();
    assert_eq!(table.descriptor.families().next().unwrap().attributes["VERSIONS"], "4");
    let bytes = schema(Some(("IS_MOB", "true")));
    write(&directory.join(format!(".tableinfo.0000000012.{}", bytes.len())), &bytes);
    let table = read_table(folder.path(), &name, Liveness::Derived).unwrap();
    assert_eq!(table.mob_families, ["f"]);
    assert_eq!(table.descriptor.families().next().unwrap().attributes.get("IS_MOB"), None);
}

#[test]
fn mob_file_is_found_in_archive_and_odd_names_refused() {
    let folder = tempfile::tempdir().unwrap();
    let table = "mob".parse().unwrap();
    let family = FamilyDescriptor::new("f");
    let find = |name: &str| mob_file(folder.path(), &table, &family, name);
    // As named by HBase 2.6.4 for this table.
    let region = "default/mob/d03fd4b3e06fa777620047d45772c63d/f";
    let error = find("a_b").unwrap_err();
    assert!(error.message().contains(&format!("mobdir/data/{region}/a_b")), "{error}");
    let path = folder.path().join("archive/data").join(region).join("a_b");
    write(&path, b"x");
    assert_eq!(find("a_b").unwrap(), path);
    for name in ["", "../a", "a/b", "a=b", "."] {
        assert_eq!(find(name).unwrap_err().kind(), ErrorKind::Corrupt, "{name}");
    }
}

#[test]
fn snapshot_with_one_manifest_per_region_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join(".hbase-snapshot/s");
    let mut description =
        SnapshotDescription { name: "s".to_owned(), table: Some("t".to_owned()), version: Some(2) };
    write(&directory.join(".snapshotinfo"), &description.encode_to_vec());
    write(&directory.join(".tabledesc/.tableinfo"), &schema(None));
    let manifest = |file: &str, bytes: u64| SnapshotRegionManifest {
        region_info: Some(RegionInfoMessage {
            region_id: 1,
            table_name: table_name(),
            start_key: None,
            end_key: None,
            offline: None,
            split: None,
            replica_id: None,
        }),
        family_files: vec![FamilyFiles {
            family_name: b"f".to_vec(),
            store_files: vec![SnapshotFile {
                name: file.to_owned(),
                reference: None,
                file_size: Some(bytes),
            }],
        }],
    };
    let path = directory.join("region-manifest.x");
    let link = format!("other=ab-{HEX}_SeqId_7_");
    write(&path, &manifest(&link, 3).encode_to_vec());
    let target = format!("archive/data/default/other/ab/f/{HEX}_SeqId_7_");
    write(&folder.path().join(&target), b"abc");
    let table = read_snapshot(folder.path(), "s").unwrap();
    let file = &table.regions[0].files[0];
    assert_eq!((&file.path, file.bytes), (&folder.path().join(&target), 3));
    assert_eq!((file.loaded_sequence, &file.rows), (Some(7), &None));
    write(&path, &manifest(&link, 4).encode_to_vec());
    let error = read_snapshot(folder.path(), "s").unwrap_err();
    assert!(error.message().contains("the snapshot says 4"), "{error}");
    for name in ["../f", "a/b", ""] {
        write(&path, &manifest(name, 3).encode_to_vec());
        assert_eq!(read_snapshot(folder.path(), "s").unwrap_err().kind(), ErrorKind::Corrupt);
    }
    description.version = None;
    write(&directory.join(".snapshotinfo"), &description.encode_to_vec());
    assert_eq!(read_snapshot(folder.path(), "s").unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn manifest_of_countless_messages_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join(".hbase-snapshot/s");
    let description =
        SnapshotDescription { name: "s".to_owned(), table: Some("t".to_owned()), version: Some(2) };
    write(&directory.join(".snapshotinfo"), &description.encode_to_vec());
    let family = schema(None)[PBUF.len()..].to_vec();
    let table = [&[0x0a, u8::try_from(family.len()).unwrap()][..], &family].concat();
    let delimiter = |length: usize| {
        let mut bytes = Vec::new();
        prost::encode_length_delimiter(length, &mut bytes).unwrap();
        bytes
    };
    // Manifests of regions, and files of a family within one: all of them empty.
    let files = b"\x12\0".repeat(2_000_000);
    let of_family = [&[0x1a][..], &delimiter(files.len()), &files].concat();
    let region = [&[0x12][..], &delimiter(of_family.len()), &of_family].concat();
    for messages in [b"\x12\0".repeat(2_000_001), region] {
        write(&directory.join("data.manifest"), &[&table[..], &messages].concat());
        let error = read_snapshot(folder.path(), "s").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        for part in ["data.manifest: ", "more than 2000000 messages", "restore"] {
            assert!(error.message().contains(part), "{error}");
        }
    }
}

#[test]
fn region_without_its_file_has_the_rows_of_meta() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let directory = root.join("data/default/t");
    write(&directory.join(".tabledesc/.tableinfo"), &schema(None));
    let region = RegionInfoMessage {
        region_id: 5,
        table_name: table_name(),
        start_key: None,
        end_key: Some(b"m".to_vec()),
        offline: None,
        split: None,
        replica_id: None,
    };
    let row = [&PBUF[..], &region.encode_to_vec()].concat();
    let (name, live) = live_region(root, &row, b"OPEN").unwrap().unwrap();
    write(&directory.join(&name.1).join("f").join(HEX), b"");
    // Left over from something that HBase did not finish.
    fs::create_dir(directory.join("abcd")).unwrap();
    let error = read_table(root, &name.0, Liveness::Derived).unwrap_err();
    for part in [".regioninfo: this file is missing", "copy data/hbase/meta", "start and stop"] {
        assert!(error.message().contains(part), "{error}");
    }
    let listed = LiveRegions::from([(name.clone(), live)]);
    let table = read_table(root, &name.0, Liveness::Listed(&listed)).unwrap();
    let [found] = &table.regions[..] else { panic!("{:?}", table.regions) };
    assert_eq!(
        (&found.encoded_name, &found.start[..], &found.end[..]),
        (&name.1, &b""[..], &b"m"[..])
    );
    assert_eq!(found.files.len(), 1);
    assert_eq!((table.unlisted_regions, &table.unknown_regions[..]), (1, &[][..]));
    // A file that was not written to its end is as none.
    let info = directory.join(&name.1).join(".regioninfo");
    for bytes in [&b""[..], b"PB", b"PBUF\x7f\x08\x05", b"PBUF\x02\x08\xff"] {
        write(&info, bytes);
        let error = read_table(root, &name.0, Liveness::Derived).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        let again = read_table(root, &name.0, Liveness::Listed(&listed)).unwrap();
        assert_eq!(again.regions, table.regions, "{bytes:?}");
    }
    fs::remove_file(info).unwrap();
    // Hidden files, and logs, are no rows.
    let unknown = directory.join("abcd");
    write(&unknown.join("f/.filelist/f1.5"), b"");
    write(&unknown.join("recovered.edits/0000000000000000004"), b"");
    let read = || read_table(root, &name.0, Liveness::Listed(&listed)).unwrap();
    assert_eq!(read().unknown_regions, [""; 0].map(PathBuf::from));
    write(&unknown.join("f").join(HEX), b"");
    let table = read();
    assert_eq!((table.unlisted_regions, table.unknown_regions), (1, vec![unknown]));
    assert_eq!(table.regions.len(), 1);
}
