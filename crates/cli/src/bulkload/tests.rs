//! Loads into an embedded store: what is refused before anything is loaded, and the plan.

use std::fs;
use std::path::Path;

use halite::{FamilyDescriptor, Get, Put, Store, TableDescriptor};
use halite_engine::env::Env;
use halite_engine::hfile::{StoreFileInfo, Writer, WriterOptions};
use halite_types::cell::{make_key, write_tag};
use halite_types::{CellRef, CellType};

use super::*;

/// Writes a file with these rows of a family to `DIR/folder/name`.
fn write_file(directory: &Path, folder: &str, name: &str, family: &str, rows: &[&str]) {
    fs::create_dir_all(directory.join(folder)).unwrap();
    let out = Env::os(directory.join(folder)).unwrap().fs.create(name).unwrap();
    let mut writer = Writer::create(out, name, WriterOptions::default()).unwrap();
    for row in rows {
        let put = Put::new((*row).to_owned()).add_at(family, "q", 5, "loaded");
        put.mutation().cells().iter().for_each(|cell| writer.append(cell).unwrap());
    }
    writer.finish(StoreFileInfo::default()).unwrap();
}

/// Store with a table of two regions, and a job that loads `DIR` of a directory.
fn rig() -> (Store, LoadJob, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = halite::open(directory.path().join("store")).unwrap();
    let table = TableDescriptor::new("t".parse().unwrap())
        .family(FamilyDescriptor::new("f"))
        .family(FamilyDescriptor::new("g"));
    store.create_table(table, &[b"m"]).unwrap();
    let job = LoadJob {
        directory: directory.path().join("in"),
        table: "t".parse().unwrap(),
        verify: true,
        moves: false,
        server_path: None,
    };
    (store, job, directory)
}

#[test]
fn embedded_load_cuts_files_and_keeps_the_source() {
    let (store, mut job, _directory) = rig();
    write_file(&job.directory, "f", "one", "f", &["a", "z"]);
    write_file(&job.directory, "g", "two", "g", &["n"]);
    let backend = Backend::from(store.clone());
    let plan = job.plan(&backend).unwrap();
    let parts: Vec<usize> = plan.iter().map(|load| load.parts.len()).collect();
    assert_eq!(parts, [1, 2]);
    assert!(store.table("t").unwrap().get(Get::new("a")).unwrap().is_empty(), "only planned");
    let report = job.run(&backend).unwrap();
    assert_eq!((report.files, report.cells, report.cut_files, report.regions), (2, 3, 1, 2));
    for row in ["a", "n", "z"] {
        assert_eq!(store.table("t").unwrap().get(Get::new(row)).unwrap().len(), 1, "{row}");
    }
    assert!(job.directory.join("f/one").exists());
    job.moves = true;
    job.run(&backend).unwrap();
    assert!(!job.directory.join("f/one").exists());
}

#[test]
fn unloadable_files_are_refused_before_any_is_loaded() {
    let (store, mut job, directory) = rig();
    let backend = Backend::from(store.clone());
    let refused = |job: &LoadJob| {
        let error = format!("{:#}", job.run(&backend).err().unwrap());
        assert!(store.table("t").unwrap().get(Get::new("a")).unwrap().is_empty());
        error
    };
    write_file(&job.directory, "f", "one", "f", &["a"]);
    write_file(&job.directory, "nosuch", "two", "nosuch", &["a"]);
    assert!(refused(&job).contains("table t has no family nosuch; it has f, g"));
    fs::remove_dir_all(job.directory.join("nosuch")).unwrap();
    write_file(&job.directory, "g", "other", "f", &["a"]);
    assert!(refused(&job).contains("in the directory of family g and has cells of f"));
    fs::write(job.directory.join("g/other"), "no store file").unwrap();
    assert!(refused(&job).contains("other"));
    fs::remove_file(job.directory.join("g/other")).unwrap();
    write_file(&job.directory, "g", "other", "g", &[]);
    assert!(refused(&job).contains("has no cells"));
    fs::remove_dir_all(job.directory.join("g")).unwrap();
    let mut damaged = fs::read(job.directory.join("f/one")).unwrap();
    damaged[40] ^= 1;
    fs::write(job.directory.join("f/one"), damaged).unwrap();
    assert!(refused(&job).contains("damaged"));
    job.server_path = Some("/elsewhere".into());
    assert!(refused(&job).contains("--server-path is for a cluster"));
    job.directory = directory.path().join("empty");
    fs::create_dir(&job.directory).unwrap();
    job.server_path = None;
    assert!(refused(&job).contains("has no store files"));
}

/// Copies a file of the engine's samples to `DIR/f/NAME`.
fn copy_sample(directory: &Path, name: &str) {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/testdata/hfile");
    fs::create_dir_all(directory.join("f")).unwrap();
    fs::copy(samples.join(name), directory.join("f").join(name)).unwrap();
}

#[test]
fn references_to_mob_files_are_refused_and_protected_cells_counted() {
    let (store, mut job, directory) = rig();
    let backend = Backend::from(store.clone());
    copy_sample(&job.directory, "enc-diff-ctags.hfile");
    let error = format!("{:#}", job.run(&backend).err().unwrap());
    assert!(error.contains("refers to values in MOB files"), "{error}");
    assert!(job.plan(&backend).is_err(), "nor is it planned");
    // A store has no MOB files, whatever the family says.
    let table = TableDescriptor::new("mob".parse().unwrap())
        .family(FamilyDescriptor::new("f").set("IS_MOB", "true"));
    store.create_table(table, &[]).unwrap();
    job.table = "mob".parse().unwrap();
    let error = format!("{:#}", job.run(&backend).err().unwrap());
    assert!(error.contains("refers to values in MOB files"), "{error}");
    job.table = "t".parse().unwrap();
    job.directory = directory.path().join("protected");
    fs::create_dir_all(job.directory.join("f")).unwrap();
    let out = Env::os(job.directory.join("f")).unwrap().fs.create("one").unwrap();
    let options = WriterOptions { include_tags: true, ..WriterOptions::default() };
    let mut writer = Writer::create(out, "one", options).unwrap();
    let mut tags = Vec::new();
    write_tag(&mut tags, 2, b"label");
    let key = make_key(b"a", b"f", b"q", 7, CellType::Put.code());
    writer.append(CellRef::new(&key, b"value", &tags, 0)).unwrap();
    writer.finish(StoreFileInfo::default()).unwrap();
    assert_eq!(job.run(&backend).unwrap().protected_files, 1);
}

#[cfg(unix)]
#[test]
fn links_are_copied_and_not_moved() {
    let (store, mut job, directory) = rig();
    let backend = Backend::from(store.clone());
    let elsewhere = directory.path().join("elsewhere");
    write_file(&elsewhere, "f", "one", "f", &["a"]);
    fs::create_dir_all(job.directory.join("f")).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("f/one"), job.directory.join("f/one")).unwrap();
    job.moves = true;
    let error = format!("{:#}", job.run(&backend).err().unwrap());
    assert!(error.contains("by a symbolic link"), "{error}");
    job.moves = false;
    assert_eq!(job.run(&backend).unwrap().cells, 1);
    assert!(elsewhere.join("f/one").exists());
    // A link to the directory of a family.
    fs::remove_dir_all(job.directory.join("f")).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("f"), job.directory.join("f")).unwrap();
    job.moves = true;
    let error = format!("{:#}", job.run(&backend).err().unwrap());
    assert!(error.contains("elsewhere/f/one by a symbolic link"), "{error}");
    assert!(elsewhere.join("f/one").exists());
    // The directory itself may be named by a link.
    std::os::unix::fs::symlink(&elsewhere, directory.path().join("named")).unwrap();
    job.directory = directory.path().join("named");
    job.run(&backend).unwrap();
    assert!(!elsewhere.join("f/one").exists());
}

#[test]
fn files_of_an_hbase_are_not_moved() {
    let (store, mut job, directory) = rig();
    let backend = Backend::from(store.clone());
    let root = directory.path().join("hbase");
    for (place, is_refused) in [("archive/data/default/t/ab", true), ("staging/job", false)] {
        job.directory = root.join(place);
        job.moves = true;
        write_file(&job.directory, "f", "one", "f", &["a"]);
        fs::write(root.join("hbase.version"), "8").unwrap();
        match job.run(&backend) {
            Ok(_) => assert!(!is_refused, "{place}"),
            Err(error) => {
                let error = format!("{error:#}");
                assert!(is_refused && error.contains("the root directory of an HBase"), "{error}");
            }
        }
        assert_eq!(job.directory.join("f/one").exists(), is_refused);
    }
}

#[test]
fn merged_family_takes_no_files() {
    let (store, mut job, _directory) = rig();
    let table = TableDescriptor::new("sums".parse().unwrap())
        .family(FamilyDescriptor::new("f").set("MERGE", "SUM"));
    store.create_table(table, &[]).unwrap();
    write_file(&job.directory, "f", "one", "f", &["a"]);
    job.table = "sums".parse().unwrap();
    let backend = Backend::from(store.clone());
    for error in [job.run(&backend).err().unwrap(), job.plan(&backend).err().unwrap()] {
        assert!(format!("{error:#}").contains("merges its cells"), "{error:#}");
    }
    // As the servers of a cluster load, region by region.
    let file = job.directory.join("f/one").to_str().unwrap().to_owned();
    let region = store.engine().regions(&job.table).unwrap().remove(0);
    let region = store.engine().region(&region.encoded_name).unwrap();
    let error = region.bulk_load(&BulkLoad::new().file("f", file)).unwrap_err();
    assert!(error.message().contains("merges its cells"), "{error}");
}
