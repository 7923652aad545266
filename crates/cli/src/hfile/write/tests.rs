//! Store files from small CSV files, and what a failure leaves.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use halite::rowkey::language::{Statement, statements};
use halite::{FamilyDescriptor, Scan, Store, TableDescriptor};
use halite_types::BulkLoad;

use super::*;
use crate::hfile::open;

/// Store with a table of two regions, and a directory for files.
struct Rig {
    backend: Backend,
    store: Store,
    directory: tempfile::TempDir,
}

impl Rig {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = halite::open(directory.path().join("store")).unwrap();
        let table = TableDescriptor::new("t".parse().unwrap())
            .family(FamilyDescriptor::new("f").set("DATA_BLOCK_ENCODING", "FAST_DIFF"))
            .family(FamilyDescriptor::new("g"));
        store.create_table(table, &[b"m"]).unwrap();
        Self { backend: Backend::from(store.clone()), store, directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn job(&self, text: &str) -> WriteJob {
        fs::write(self.path("in.csv"), text).unwrap();
        WriteJob {
            table: "t".parse().unwrap(),
            to: self.path("out"),
            input: InputArgs {
                path: self.path("in.csv"),
                separator: b',',
                quote: Some(b'"'),
                names: None,
            },
            mapping: MappingArgs {
                keys: vec!["id".into()],
                family: Some("f".into()),
                ..MappingArgs::default()
            },
            skip_empty: false,
            assign: false,
            max_bad: 0,
            memory: 1 << 20,
            max_file_bytes: 1 << 30,
            now_ms: 7,
        }
    }

    fn error(&self, job: &WriteJob) -> String {
        let error = format!("{:#}", job.run(&self.backend).err().unwrap());
        let left: Vec<_> = fs::read_dir(self.directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "store" && name != "in.csv")
            .collect();
        assert_eq!(left, [""; 0], "a failure leaves nothing");
        error
    }

    /// Loads the output and returns the cells of the table as `row/family:qualifier@time=value`.
    fn loaded(&self) -> Vec<String> {
        let mut load = BulkLoad::new();
        for (family, path) in files(&self.path("out")) {
            load = load.file(family, path.display().to_string());
        }
        self.store.bulk_load("t", load).unwrap();
        let rows = self.store.table("t").unwrap().scan(Scan::all().all_versions());
        let text = |bytes: &[u8]| halite::to_string_binary(bytes);
        rows.flat_map(|row| {
            let row = row.unwrap();
            row.iter()
                .map(|cell| {
                    format!(
                        "{}/{}:{}@{}={}",
                        text(cell.row()),
                        text(cell.family()),
                        text(cell.qualifier()),
                        cell.timestamp(),
                        text(cell.value())
                    )
                })
                .collect::<Vec<_>>()
        })
        .collect()
    }
}

/// Returns the files below a directory with their families, by path.
fn files(directory: &Path) -> Vec<(String, PathBuf)> {
    let mut found = BTreeMap::new();
    for family in fs::read_dir(directory).unwrap() {
        let family = family.unwrap();
        for file in fs::read_dir(family.path()).unwrap() {
            let name = family.file_name().into_string().unwrap();
            found.insert(file.unwrap().path(), name);
        }
    }
    found.into_iter().map(|(path, family)| (family, path)).collect()
}

#[test]
fn target_may_be_a_link_or_have_a_long_name() {
    let rig = Rig::new();
    let mut job = rig.job("id,name\na,A\n");
    fs::create_dir(rig.path("real")).unwrap();
    std::os::unix::fs::symlink(rig.path("real"), rig.path("out")).unwrap();
    job.run(&rig.backend).unwrap();
    assert_eq!(files(&rig.path("real")).len(), 1);
    job.to = rig.path(&"n".repeat(250));
    job.run(&rig.backend).unwrap();
    assert_eq!(files(&job.to).len(), 1);
}

#[test]
fn lines_become_sorted_files_cut_at_regions() {
    let rig = Rig::new();
    let mut job = rig.job("\u{feff}id,name,age,at\nz,Zoe,3,9\na,\"A, \"\"B\"\"\",1,5\nm,Moe,2,5\n");
    job.mapping.columns = vec!["g:years=age:int".into()];
    job.mapping.timestamp = Some("at".into());
    let report = job.run(&rig.backend).unwrap();
    let expected = OutputCounts { files: 4, rows: 3, cells: 6, regions: 2, ..report.written };
    assert_eq!(report.written, expected);
    for (family, path) in files(&rig.path("out")) {
        let reader = open(&path).unwrap();
        reader.verify().unwrap();
        let encoding = reader.info().get("DATA_BLOCK_ENCODING").map(<[u8]>::to_vec);
        assert_eq!(encoding.is_some(), family == "f");
        assert!(reader.is_bulk_loaded(), "it has a time of bulk load");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o666;
        assert_eq!(mode(&path), mode(path.parent().unwrap()));
    }
    assert_eq!(
        rig.loaded(),
        [
            "a/f:name@5=A, \\x22B\\x22",
            "a/g:years@5=\\x00\\x00\\x00\\x01",
            "m/f:name@5=Moe",
            "m/g:years@5=\\x00\\x00\\x00\\x02",
            "z/f:name@9=Zoe",
            "z/g:years@9=\\x00\\x00\\x00\\x03"
        ]
        .map(|text| text.replace("\\x22", "\""))
    );
}

#[test]
fn last_of_equal_cells_counts_also_on_disk() {
    let rig = Rig::new();
    let lines: Vec<String> = (0..4000).map(|at| format!("{:03},{at}", at % 500)).collect();
    let mut job = rig.job(&format!("id,v\n{}", lines.join("\n")));
    (job.memory, job.max_file_bytes) = (20_000, 1000);
    let report = job.run(&rig.backend).unwrap();
    assert!(report.runs > 3 && report.written.files > 1, "{} runs", report.runs);
    assert_eq!((report.written.cells, report.replaced), (500, 3500));
    let loaded = rig.loaded();
    assert_eq!((loaded.len(), &loaded[7][..]), (500, "007/f:v@7=3507"));
}

#[test]
fn bad_lines_are_left_out_up_to_the_limit() {
    let rig = Rig::new();
    let text = "id,n\na,1\nb\n,3\nd,x\n\"e\",5\n";
    let mut job = rig.job(text);
    job.mapping.columns = vec!["f:n=n:long".into()];
    job.max_bad = 2;
    let error = rig.error(&job);
    assert!(error.contains("line 5: f:n: \"x\" is no long; that is more than 2 bad"), "{error}");
    job.max_bad = 0;
    let error = rig.error(&job);
    assert!(error.contains("line 3: it has 1 columns and not 2; no bad line is"), "{error}");
    job.max_bad = 3;
    let report = job.run(&rig.backend).unwrap();
    assert_eq!((report.lines, report.bad_lines, report.written.rows), (5, 3, 2));
}

#[test]
fn failures_leave_nothing() {
    let rig = Rig::new();
    let mut job = rig.job("id,v\na,1\n");
    job.mapping.family = Some("nosuch".into());
    assert!(rig.error(&job).contains("has no family nosuch; it has f, g"));
    let job = rig.job("id,v\n");
    assert!(rig.error(&job).contains("no line that becomes a cell"));
    let job = rig.job("");
    assert!(rig.error(&job).contains("it is empty"));
    let mut job = rig.job("id,v\na,1\n");
    job.to = rig.path("store");
    assert!(job.run(&rig.backend).err().unwrap().to_string().contains("is a store of Halite"));
    job.to = rig.path("full");
    fs::create_dir_all(rig.path("full/f")).unwrap();
    assert!(job.run(&rig.backend).err().unwrap().to_string().contains("is not empty"));
    // An empty directory becomes the output.
    fs::create_dir(rig.path("out")).unwrap();
    rig.job("id,v\na,1\n").run(&rig.backend).unwrap();
    assert_eq!(rig.loaded(), ["a/f:v@7=1"]);
}

#[test]
fn declared_key_is_encoded_from_its_fields() {
    let rig = Rig::new();
    let statement = "CREATE TABLE s (v STRING, ROW KEY (device STRING, ts TIMESTAMP DESC))";
    let declared = statements(statement).unwrap().remove(0);
    let Statement::CreateTable(declared) = declared else { panic!("{statement}") };
    let family = declared.columns[0].family.clone();
    rig.store.create_table(declared.described(), &[]).unwrap();
    let mut job = rig.job("device,when,v\nd1,2024-03-15T08:00:00Z,x\n,oops,y\nd1,2024-03-16,z\n");
    job.table = "s".parse().unwrap();
    (job.mapping.keys, job.mapping.family) = (vec!["ts=when".into()], Some(family));
    job.max_bad = 1;
    let report = job.run(&rig.backend).unwrap();
    assert_eq!((report.written.rows, report.bad_lines), (2, 1));
    let key = halite::rowkey::KeySchema::from_descriptor(&declared.described()).unwrap().unwrap();
    let (_, file) = files(&rig.path("out")).remove(0);
    let first = open(&file).unwrap().first_key().unwrap().to_vec();
    let row = halite_types::cell::key_row(&first).to_vec();
    let shown = key.format_values(&key.decode(&row).unwrap());
    assert_eq!(shown, "device = 'd1', ts = 2024-03-16T00:00:00Z");
}

#[test]
fn import_tsv_columns_need_no_header() {
    let rig = Rig::new();
    let mut job = rig.job("x|n'1|5\n");
    job.input.separator = b'|';
    job.input.quote = None;
    job.mapping =
        MappingArgs { import_tsv: Some("HBASE_ROW_KEY,f:n,g".into()), ..MappingArgs::default() };
    job.input.names = Some(Vec::new());
    job.run(&rig.backend).unwrap();
    assert_eq!(rig.loaded(), ["x/f:n@7=n'1", "x/g:@7=5"]);
}

#[test]
fn unclosed_quote_and_large_cell_are_refused() {
    let rig = Rig::new();
    let error = rig.error(&rig.job("id,a\nr1,\"x\nr2,b\n"));
    assert!(error.contains("begins in line 2: it has no closing quote"), "{error}");
    let error = rig.error(&rig.job(&format!("id,a\nr1,{}\n", "x".repeat(11 << 20))));
    assert!(error.contains("over the limit of 10485760"), "{error}");
}
