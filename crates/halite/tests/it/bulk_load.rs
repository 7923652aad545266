//! Bulk loading: external files become part of a table, completely or not at all, and every
//! rejection.

use std::ops::Bound;

use halite::{
    BulkLoad, CompactionKind, ErrorKind, Get, Put, RowRange, Scan, SnapshotDescriptor, Store,
    TableDescriptor, TableName,
};
use halite_engine::env::Env;
use halite_engine::env::sim::SimEnv;
use halite_engine::hfile::{Compression, StoreFileInfo, Writer, WriterOptions};
use halite_types::CellRef;
use halite_types::cell::make_key;

use crate::{format_row, reopen, store};

fn name() -> TableName {
    "t".parse().unwrap()
}

/// Writes a file as HBase's output formats do, without a sequence id: row and value of column `q`
/// at time 5.
fn write_file(env: &Env, path: &str, family: &str, rows: &[(&str, &str)], options: WriterOptions) {
    env.fs.create_dir_all(path.rsplit_once('/').unwrap().0).unwrap();
    let mut writer = Writer::create(env.fs.create(path).unwrap(), path, options).unwrap();
    for (row, value) in rows {
        let put = Put::new((*row).to_owned()).add_at(family, "q", 5, value);
        put.mutation().cells().iter().for_each(|cell| writer.append(cell).unwrap());
    }
    writer.finish(StoreFileInfo::default()).unwrap();
}

fn bulk() -> WriterOptions {
    WriterOptions { include_sequence_ids: false, ..WriterOptions::default() }
}

/// Stores a file at the path `/in/<name>` of the process.
pub(crate) fn file(
    sim: &SimEnv,
    name: &str,
    family: &str,
    rows: &[(&str, &str)],
) -> (halite::Bytes, String) {
    write_file(&sim.env(), &format!("outside/in/{name}"), family, rows, bulk());
    (family.to_owned().into(), format!("/in/{name}"))
}

fn load(files: Vec<(halite::Bytes, String)>) -> BulkLoad {
    BulkLoad { files, ..BulkLoad::default() }
}

fn put_at_5(store: &Store, row: &str, value: &str) {
    store.table("t").unwrap().put(Put::new(row.to_owned()).add_at("f", "q", 5, value)).unwrap();
}

fn get(store: &Store, row: &str) -> Vec<String> {
    format_row(&store.table("t").unwrap().get(Get::new(row.to_owned())).unwrap())
}

fn outside(sim: &SimEnv) -> Vec<String> {
    sim.fs.files().into_keys().filter(|path| path.starts_with("outside")).collect()
}

/// Every kind of life after the load.
fn through_everything(sim: &SimEnv, store: Store, check: impl Fn(&Store)) {
    check(&store);
    drop(store);
    sim.fs.kill();
    let store = reopen(sim);
    check(&store);
    let region = store.table("t").unwrap().regions().unwrap().remove(0);
    store.engine().split_region(&region.encoded_name, Some("m".into())).unwrap();
    check(&store);
    store.compact(name(), None, CompactionKind::Major).unwrap();
    check(&store);
    store.close().unwrap();
    let store = reopen(sim);
    assert_eq!(store.open_report().removed_files, 0);
    check(&store);
}

#[test]
fn loaded_cells_sort_between_earlier_and_later_writes() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put_at_5(&store, "a", "before, in a file");
    store.flush(name()).unwrap();
    put_at_5(&store, "b", "before, in memory");
    put_at_5(&store, "m", "before, in memory");
    put_at_5(&store, "x", "alone");
    let files = vec![
        file(
            &sim,
            "one",
            "f",
            &[("a", "loaded"), ("b", "loaded"), ("m", "loaded"), ("z", "loaded")],
        ),
        file(&sim, "two", "g", &[("a", "loaded")]),
    ];
    store.bulk_load(name(), load(files)).unwrap();
    assert_eq!(outside(&sim), [""; 0], "moved");
    put_at_5(&store, "m", "after");
    through_everything(&sim, store, |store| {
        assert_eq!(get(store, "a"), ["f:q@5=loaded", "g:q@5=loaded"]);
        assert_eq!(get(store, "b"), ["f:q@5=loaded"]);
        assert_eq!(get(store, "m"), ["f:q@5=after"]);
        assert_eq!(get(store, "x"), ["f:q@5=alone"]);
        assert_eq!(get(store, "z"), ["f:q@5=loaded"]);
    });
}

#[test]
fn bulk_load_can_keep_original_files() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let files = load(vec![file(&sim, "one", "f", &[("a", "loaded"), ("z", "loaded")])]).copied();
    store.bulk_load(name(), files.clone()).unwrap();
    store.bulk_load(name(), files).unwrap();
    assert_eq!(outside(&sim), ["outside/in/one"]);
    sim.env().fs.remove_file("outside/in/one").unwrap();
    through_everything(&sim, store, |store| {
        assert_eq!(get(store, "a"), ["f:q@5=loaded"]);
        assert_eq!(get(store, "z"), ["f:q@5=loaded"]);
    });
}

/// A cut file takes the room of itself, not once for each region, and none is loaded without room
/// for all.
#[test]
fn cut_file_needs_room_for_itself() {
    let sim = SimEnv::new(1);
    let mut options = halite::Options::default();
    options.disk_reserve_bytes = Some(1 << 20);
    let store = halite::Builder::new().options(options).open_with_env(sim.env()).unwrap();
    let table = TableDescriptor::new(name()).family(halite::FamilyDescriptor::new("f"));
    store.create_table(table, &[b"h", b"p"]).unwrap();
    let value = "v".repeat(100_000);
    let rows = ["a", "b", "i", "k", "q", "r"].map(|row| (row, &value[..]));
    let load = load(vec![file(&sim, "one", "f", &rows)]).copied();
    let bytes = u64::try_from(sim.fs.files()["outside/in/one"].len()).unwrap();
    assert!(bytes > 600_000);
    let set_free = |bytes: u64| {
        sim.fs.set_capacity(Some(sim.fs.used_bytes() + (1 << 20) + bytes));
    };
    let is_there = |row: &str| !get(&store, row).is_empty();
    set_free(bytes / 2);
    for refused in
        [store.bulk_load(name(), load.clone()), store.engine().check_bulk_load(&name(), &load)]
    {
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DiskFull, "{error}");
        assert!(!error.message().contains("regions"), "{error}");
    }
    assert!(!rows.iter().any(|(row, _)| is_there(row)), "nothing is loaded");
    // One and a half, for three regions.
    set_free(bytes + bytes / 2);
    store.engine().check_bulk_load(&name(), &load).unwrap();
    store.bulk_load(name(), load).unwrap();
    assert!(rows.iter().all(|(row, _)| is_there(row)));
}

#[test]
fn loaded_cells_no_client_could_write_are_rejected() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let long = vec![b'r'; 32_768];
    let cells: [(&[u8], u8, ErrorKind); 3] = [
        (b"", 4, ErrorKind::Corrupt),
        (&long, 4, ErrorKind::InvalidRequest),
        (b"r", 7, ErrorKind::InvalidRequest),
    ];
    for (at, (row, type_code, expected)) in cells.into_iter().enumerate() {
        let key = make_key(row, b"f", b"q", 5, type_code);
        let env = sim.env();
        env.fs.create_dir_all("outside/in").unwrap();
        let mut writer =
            Writer::create(env.fs.create(&format!("outside/in/{at}")).unwrap(), "x", bulk())
                .unwrap();
        writer.append(CellRef::new(&key, b"v", b"", 0)).unwrap();
        writer.finish(StoreFileInfo::default()).unwrap();
        for verify in [true, false] {
            let load = BulkLoad { verify, ..load(vec![("f".into(), format!("/in/{at}"))]) };
            let error = store.bulk_load(name(), load).unwrap_err();
            assert_eq!(error.kind(), expected, "{error}");
        }
    }
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 0);
}

#[test]
fn sequence_ids_in_loaded_file_are_ignored() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put_at_5(&store, "a", "before");
    let put = Put::new("a").add_at("f", "q", 5, "loaded");
    let env = sim.env();
    env.fs.create_dir_all("outside/in").unwrap();
    let mut writer =
        Writer::create(env.fs.create("outside/in/x").unwrap(), "x", WriterOptions::default())
            .unwrap();
    put.mutation()
        .cells()
        .iter()
        .for_each(|cell| writer.append(cell.with_sequence_id(1 << 40)).unwrap());
    writer.finish(StoreFileInfo::flushed(1 << 40)).unwrap();
    store.bulk_load(name(), load(vec![("f".into(), "/in/x".into())])).unwrap();
    put_at_5(&store, "a", "after");
    through_everything(&sim, store, |store| assert_eq!(get(store, "a"), ["f:q@5=after"]));
}

#[test]
fn open_scan_does_not_see_concurrent_bulk_load() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    put_at_5(&store, "a", "before");
    put_at_5(&store, "b", "before");
    let table = store.table("t").unwrap();
    let mut small = Scan::all();
    small.max_result_bytes = 1;
    let mut rows = table.scan(small);
    assert_eq!(rows.next().unwrap().unwrap().key(), &b"a"[..]);
    store
        .bulk_load(name(), load(vec![file(&sim, "one", "f", &[("b", "loaded"), ("c", "loaded")])]))
        .unwrap();
    let rest: Vec<_> = rows.map(|row| format_row(&row.unwrap())).collect();
    assert_eq!(rest, [["f:q@5=before"]]);
    assert_eq!(table.scan(Scan::all()).count(), 3);
}

#[test]
fn unloadable_files_are_rejected_by_name_and_not_moved() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let region = store.table("t").unwrap().regions().unwrap().remove(0);
    store.engine().split_region(&region.encoded_name, Some("m".into())).unwrap();
    let first = store.engine().table(&name()).unwrap().regions()[0].clone();
    let refuse = |bad: (halite::Bytes, String), kind: ErrorKind, text: &str| {
        let files = vec![file(&sim, "good", "f", &[("a", "v")]), bad];
        let before = outside(&sim);
        let error = first.bulk_load(&load(files)).unwrap_err();
        assert!(error.kind() == kind && error.message().contains(text), "{error:?}");
        assert_eq!(outside(&sim), before);
        sim.env().fs.remove_file("outside/in/good").unwrap();
    };
    refuse(file(&sim, "both", "f", &[("a", "v"), ("z", "v")]), ErrorKind::WrongRegion, "row z");
    refuse(
        file(&sim, "other", "f", &[("n", "v")]),
        ErrorKind::WrongRegion,
        "does not fit inside region",
    );
    refuse(
        ("nosuch".into(), file(&sim, "data", "f", &[("a", "v")]).1),
        ErrorKind::NoSuchFamily,
        "nosuch",
    );
    refuse(
        ("g".into(), file(&sim, "family", "f", &[("a", "v")]).1),
        ErrorKind::InvalidRequest,
        "holds cells of another",
    );
    refuse(file(&sim, "empty", "f", &[]), ErrorKind::InvalidRequest, "no cell");
    refuse(("f".into(), "/in/missing".into()), ErrorKind::InvalidRequest, "/in/missing");
    sim.fs.write("outside/in/text", "no store file").unwrap();
    refuse(("f".into(), "/in/text".into()), ErrorKind::Corrupt, "/in/text");
    let whole = file(&sim, "whole", "f", &[("a", "v")]);
    let bytes = sim.fs.read("outside/in/whole").unwrap();
    for cut in [bytes.len() - 1, bytes.len() / 2, 100, 0] {
        sim.fs.write("outside/in/whole", &bytes[..cut]).unwrap();
        refuse(whole.clone(), ErrorKind::Corrupt, "/in/whole");
    }
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 0);
    drop(first);
    store.close().unwrap();
    assert_eq!(reopen(&sim).open_report().removed_files, 0);
}

#[test]
fn flipped_bit_is_detected_before_load_unless_checks_disabled() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let rows: Vec<String> = (0..200).map(|row| format!("row-{row:03}")).collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|row| (row.as_str(), "value")).collect();
    write_file(
        &sim.env(),
        "outside/in/odd",
        "f",
        &rows,
        WriterOptions { block_bytes: 512, ..bulk() },
    );
    let odd = || ("f".into(), "/in/odd".into());
    let middle = sim
        .fs
        .read("outside/in/odd")
        .unwrap()
        .windows(7)
        .position(|bytes| bytes == b"row-100")
        .unwrap();
    sim.fs.corrupt("outside/in/odd", middle, 1).unwrap();
    let error = store.bulk_load(name(), load(vec![odd()])).unwrap_err();
    assert!(error.kind() == ErrorKind::Corrupt && error.message().contains("/in/odd"), "{error:?}");
    store.bulk_load(name(), BulkLoad { verify: false, ..load(vec![odd()]) }).unwrap();
    assert_eq!(get(&store, "row-000"), ["f:q@5=value"]);
    assert_eq!(
        store.table("t").unwrap().get(Get::new("row-100")).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn bulk_load_places_files_into_all_regions_or_none() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let region = store.table("t").unwrap().regions().unwrap().remove(0);
    store.engine().split_region(&region.encoded_name, Some("m".into())).unwrap();
    let low = file(&sim, "low", "f", &[("a", "v"), ("l", "v")]);
    let high = file(&sim, "high", "f", &[("m", "v"), ("z", "v")]);
    let both = file(&sim, "both", "f", &[("a", "v"), ("z", "v")]);
    let wrong = ("g".into(), both.1.clone());
    let error = store.bulk_load(name(), load(vec![low.clone(), high.clone(), wrong])).unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidRequest && error.message().contains("/in/both"),
        "{error:?}"
    );
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 0);
    let admin = store.cluster().admin();
    halite::block_on(admin.bulk_load(&name(), load(vec![high, low]))).unwrap();
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 4);
    assert_eq!(
        store.bulk_load(name(), BulkLoad::new()).unwrap_err().kind(),
        ErrorKind::InvalidRequest
    );
}

/// Returns the rows of `t` with the region each is read from.
fn rows_by_region(store: &Store) -> Vec<String> {
    let table = store.table("t").unwrap();
    let regions = table.regions().unwrap();
    let of = |region: &halite::RegionInfo| {
        let end = if region.end.is_empty() {
            Bound::Unbounded
        } else {
            Bound::Excluded(region.end.clone())
        };
        let range = RowRange { start: Bound::Included(region.start.clone()), end };
        let rows = table
            .scan(Scan { range, ..Scan::all() })
            .map(|row| String::from_utf8(row.unwrap().key().to_vec()).unwrap());
        rows.collect::<Vec<_>>().join(" ")
    };
    regions.iter().map(of).collect()
}

#[test]
fn file_across_regions_is_split_at_region_ends() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    for key in ["d", "h", "p"] {
        let regions = store.table("t").unwrap().regions().unwrap();
        let region = regions.iter().find(|region| region.contains(key.as_bytes())).unwrap();
        store.engine().split_region(&region.encoded_name, Some(key.into())).unwrap();
    }
    put_at_5(&store, "d", "before");
    // None of its rows are in the third region.
    let files = || {
        vec![
            file(
                &sim,
                "wide",
                "f",
                &[("a", "w"), ("c", "w"), ("d", "w"), ("g", "w"), ("p", "w"), ("q", "w")],
            ),
            file(&sim, "low", "g", &[("b", "l"), ("c", "l")]),
        ]
    };
    store.bulk_load(name(), load(files()).copied()).unwrap();
    assert_eq!(outside(&sim), ["outside/in/low", "outside/in/wide"]);
    for path in outside(&sim) {
        sim.env().fs.remove_file(&path).unwrap();
    }
    assert_eq!(rows_by_region(&store), ["a b c", "d g", "", "p q"]);
    assert_eq!(get(&store, "d"), ["f:q@5=w"]);
    store.bulk_load(name(), load(files())).unwrap();
    assert_eq!(outside(&sim), [""; 0], "taken over");
    put_at_5(&store, "q", "after");
    let check = |store: &Store| {
        assert_eq!(get(store, "c"), ["f:q@5=w", "g:q@5=l"]);
        assert_eq!(
            (get(store, "d").concat(), get(store, "q").concat()),
            ("f:q@5=w".to_owned(), "f:q@5=after".to_owned())
        );
        assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 7);
    };
    check(&store);
    drop(store);
    sim.fs.kill();
    let store = reopen(&sim);
    check(&store);
    store.compact(name(), None, CompactionKind::Major).unwrap();
    check(&store);
    store.close().unwrap();
    check(&reopen(&sim));
}

#[test]
fn damaged_file_across_regions_is_not_loaded() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let region = store.table("t").unwrap().regions().unwrap().remove(0);
    store.engine().split_region(&region.encoded_name, Some("row-050".into())).unwrap();
    let rows: Vec<String> = (0..200).map(|row| format!("row-{row:03}")).collect();
    let rows: Vec<(&str, &str)> = rows.iter().map(|row| (row.as_str(), "value")).collect();
    write_file(
        &sim.env(),
        "outside/in/odd",
        "f",
        &rows,
        WriterOptions { block_bytes: 512, ..bulk() },
    );
    let middle = sim
        .fs
        .read("outside/in/odd")
        .unwrap()
        .windows(7)
        .position(|bytes| bytes == b"row-100")
        .unwrap();
    sim.fs.corrupt("outside/in/odd", middle, 1).unwrap();
    let odd = || vec![("f".into(), "/in/odd".into())];
    let error = store.bulk_load(name(), load(odd())).unwrap_err();
    assert!(error.kind() == ErrorKind::Corrupt && error.message().contains("/in/odd"), "{error:?}");
    assert_eq!(store.table("t").unwrap().scan(Scan::all()).count(), 0);
    // Without verification the file is rewritten, which detects the damage; the partial output is
    // deleted.
    let error = store.bulk_load(name(), BulkLoad { verify: false, ..load(odd()) }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(outside(&sim), ["outside/in/odd"]);
    drop(store);
    sim.fs.kill();
    assert_eq!(reopen(&sim).open_report().removed_files, 0);
}

#[test]
fn missing_codec_is_named() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let (family, path) = file(&sim, "odd", "f", &[("a", "v")]);
    // The trailer's codec, `60 02` for NONE, becomes one that this build does not contain.
    let bytes = sim.fs.read("outside/in/odd").unwrap();
    let trailer = bytes.len() - 4096;
    let at = trailer + bytes[trailer..].windows(2).position(|pair| pair == [0x60, 2]).unwrap();
    sim.fs.corrupt("outside/in/odd", at + 1, 2 ^ 8).unwrap();
    let error = store.bulk_load(name(), load(vec![(family, path)])).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Unsupported && error.message().contains("BROTLI"),
        "{error:?}"
    );
}

#[test]
fn bulk_load_accepts_read_only_but_not_disabled_table() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    let files = load(vec![file(&sim, "one", "f", &[("a", "v")])]);
    let region = store.engine().table(&name()).unwrap().regions()[0].clone();
    let table = TableDescriptor::clone(&store.list_tables().unwrap()[0]);
    store.alter_table(table.set("READONLY", "true")).unwrap();
    store.bulk_load(name(), load(vec![file(&sim, "two", "f", &[("b", "v")])])).unwrap();
    assert_eq!(get(&store, "b"), ["f:q@5=v"]);
    store.disable_table(name()).unwrap();
    assert_eq!(
        store.bulk_load(name(), files.clone()).unwrap_err().kind(),
        ErrorKind::TableDisabled
    );
    assert_eq!(region.bulk_load(&files).unwrap_err().kind(), ErrorKind::NoSuchRegion);
    assert_eq!(outside(&sim), ["outside/in/one"]);
}

#[test]
fn compressed_and_store_files_are_loaded_and_snapshotted() {
    let sim = SimEnv::new(1);
    let store = store(&sim);
    write_file(
        &sim.env(),
        "outside/in/gz",
        "f",
        &[("a", "zipped")],
        WriterOptions { compression: Compression::Gz, ..bulk() },
    );
    store.bulk_load(name(), load(vec![("f".into(), "/in/gz".into())])).unwrap();
    store.create_snapshot(SnapshotDescriptor::new("s", name())).unwrap();
    put_at_5(&store, "a", "after");
    store.compact(name(), None, CompactionKind::Major).unwrap();
    store.clone_snapshot("s", "c").unwrap();
    let clone = store.table("c").unwrap();
    clone.put(Put::new("a").add_at("f", "q", 5, "in the clone")).unwrap();
    assert_eq!(format_row(&clone.get(Get::new("a")).unwrap()), ["f:q@5=in the clone"]);
    drop((clone, store));
    sim.fs.kill();
    let store = reopen(&sim);
    assert_eq!(
        format_row(&store.table("c").unwrap().get(Get::new("a")).unwrap()),
        ["f:q@5=in the clone"]
    );
    assert_eq!(get(&store, "a"), ["f:q@5=after"]);
}

#[test]
fn bulk_load_token_directory_is_removed_with_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let store = halite::open(&root).unwrap();
    store
        .create_table(TableDescriptor::new(name()).family(halite::FamilyDescriptor::new("f")), &[])
        .unwrap();
    assert_eq!(
        store.engine().prepare_bulk_load(&"no".parse().unwrap(), "me").unwrap_err().kind(),
        ErrorKind::NoSuchTable
    );
    let token = store.engine().prepare_bulk_load(&name(), "a/../me").unwrap();
    assert!(token.starts_with(&format!("{}/staging/a_.._me__t__", root.display())), "{token}");
    let env = Env::os(&token).unwrap();
    write_file(&env, "f/loaded", "f", &[("a", "v")], bulk());
    write_file(&env, "f/left", "f", &[("b", "v")], bulk());
    std::fs::create_dir(directory.path().join("mine")).unwrap();
    std::fs::write(directory.path().join("mine/file"), "mine").unwrap();
    std::os::unix::fs::symlink(directory.path().join("mine"), format!("{token}/link")).unwrap();
    store.bulk_load(name(), load(vec![("f".into(), format!("{token}/f/loaded"))])).unwrap();
    assert!(!std::path::Path::new(&token).join("f/loaded").exists());
    for bad in [
        "",
        "/etc",
        &format!("{}/staging", root.display()),
        &format!("{token}/.."),
        &format!("{token}/f"),
        &format!("{}/data", root.display()),
    ] {
        assert_eq!(
            store.engine().clean_up_bulk_load(bad).unwrap_err().kind(),
            ErrorKind::InvalidRequest,
            "{bad}"
        );
    }
    store.engine().clean_up_bulk_load(&token).unwrap();
    store.engine().clean_up_bulk_load(&token).unwrap();
    assert!(!std::path::Path::new(&token).exists() && directory.path().join("mine/file").exists());
    assert_eq!(get(&store, "a"), ["f:q@5=v"]);
    store.close().unwrap();
    assert_eq!(get(&halite::open(&root).unwrap(), "a"), ["f:q@5=v"]);
}

#[test]
fn bulk_load_does_not_move_live_store_file() {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path()).unwrap();
    store
        .create_table(TableDescriptor::new(name()).family(halite::FamilyDescriptor::new("f")), &[])
        .unwrap();
    put_at_5(&store, "a", "v");
    store.flush(name()).unwrap();
    let region = store.table("t").unwrap().regions().unwrap().remove(0).encoded_name;
    let family = directory.path().join(format!("data/default/t/{region}/f"));
    let own = std::fs::read_dir(family).unwrap().next().unwrap().unwrap().path();
    let error =
        store.bulk_load(name(), load(vec![("f".into(), own.display().to_string())])).unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidRequest
            && error.message().contains("lies in the store directory"),
        "{error}"
    );
    assert!(own.exists());
}
