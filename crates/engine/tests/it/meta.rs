//! `hbase:meta` as HBase's clients query it, with requests captured from them.

use std::ops::Bound;
use std::sync::Arc;

use halite_engine::env::sim::SimEnv;
use halite_engine::hfile::Comparator;
use halite_engine::scan::{ScanLimits, StopReason};
use halite_engine::{Engine, MetaView, Options};
use halite_types::{
    Bytes, CompactionKind, CompareOp, Delete, ErrorKind, FamilyDescriptor, Filter, Get, Put,
    ReadTier, RegionInfo, Row, RowOp, RowRange, Scan, ServerName, TableDescriptor, TimeRange,
};

/// Three tables whose names make the order of meta differ from that of bytes.
fn engine() -> Arc<Engine> {
    let engine = Engine::open(SimEnv::new(1).env(), Options::default()).unwrap();
    engine.create_namespace("ns", halite_types::Attributes::new()).unwrap();
    create(&engine, "t1", &["b", "k,m"]);
    create(&engine, "t10", &[]);
    create(&engine, "t1-x", &["b"]);
    create(&engine, "ns:t", &[]);
    engine
}

fn create(engine: &Engine, name: &str, splits: &[&'static str]) {
    let table = TableDescriptor::new(name.parse().unwrap()).family(FamilyDescriptor::new("f"));
    engine.create_table(table, splits.iter().map(|&split| Bytes::from(split)).collect()).unwrap();
}

fn view(engine: &Engine) -> MetaView {
    engine
        .meta(
            &Arc::new(ServerName {
                host: "example.org".into(),
                port: 16020,
                start_code: 1_700_000_000_000,
            }),
            ReadTier::Disk,
        )
        .unwrap()
}

/// Returns the row's name without the id of its region: `t1,b`.
fn short(row: &Row) -> String {
    let text = String::from_utf8_lossy(row.key()).into_owned();
    text.rsplit_once(',').map_or(text.clone(), |(start, _)| start.to_owned())
}

fn rows(engine: &Engine, scan: &Scan) -> Vec<Row> {
    view(engine).scan(scan).unwrap().next_rows(ScanLimits::default()).unwrap().rows
}

fn shorts(engine: &Engine, scan: &Scan) -> Vec<String> {
    rows(engine, scan).iter().map(short).collect()
}

fn scan(start: Bound<&'static str>, end: Bound<&'static str>, reverse: bool) -> Scan {
    let bytes = |text: &'static str| Bytes::from(text);
    Scan {
        range: RowRange { start: start.map(bytes), end: end.map(bytes) },
        ..Scan::all().family("info").reverse(reverse)
    }
}

fn text(row: &Row, qualifier: &str) -> String {
    String::from_utf8_lossy(row.value("info", qualifier).unwrap()).into_owned()
}

#[test]
fn region_row_matches_hbase() {
    let engine = engine();
    let [row] =
        &rows(&engine, &scan(Bound::Included("t1,b,"), Bound::Excluded("t1,c,"), false))[..]
    else {
        panic!("one region begins at b")
    };
    let qualifiers: Vec<_> =
        row.iter().map(|cell| String::from_utf8_lossy(cell.qualifier()).into_owned()).collect();
    assert_eq!(
        qualifiers,
        ["regioninfo", "seqnumDuringOpen", "server", "serverstartcode", "sn", "state"]
    );
    assert_eq!(
        (text(row, "server"), text(row, "sn"), text(row, "state")),
        ("example.org:16020".into(), "example.org,16020,1700000000000".into(), "OPEN".into())
    );
    assert_eq!(row.value("info", "serverstartcode").unwrap(), 1_700_000_000_000_i64.to_be_bytes());
    assert_eq!(row.value("info", "seqnumDuringOpen").unwrap(), 1_i64.to_be_bytes());
    assert!(row.value("info", "regioninfo").unwrap().starts_with(b"PBUF\x08"));
    let region = RegionInfo::encoded_name_in(row.key()).unwrap();
    assert_eq!(&engine.region(region).unwrap().info().full_name(), row.key());
}

#[test]
fn reverse_meta_scan_finds_region_of_row() {
    let engine = engine();
    let find = |end: &'static str| {
        let mut scanner =
            view(&engine).scan(&scan(Bound::Included("t1,,"), Bound::Included(end), true)).unwrap();
        let batch = scanner.next_rows(ScanLimits { results: 1, ..ScanLimits::default() }).unwrap();
        assert_eq!(scanner.stats().rows_examined(), 1, "no more rows are produced than requested");
        (batch.rows.iter().map(short).collect::<Vec<_>>(), batch.stopped)
    };
    assert_eq!(find("t1,a,99999999999999"), (vec!["t1,".into()], StopReason::RegionEnd));
    assert_eq!(find("t1,b,99999999999999"), (vec!["t1,b".into()], StopReason::Results));
    assert_eq!(find("t1,k,zz,99999999999999").0, ["t1,k,m"]);
    assert_eq!(find("t1,k,99999999999999").0, ["t1,b"]);
    assert_eq!(find("t1,,99999999999999").0, ["t1,"]);
    let missing = scan(Bound::Included("t2,,"), Bound::Included("t2,row,99999999999999"), true);
    assert_eq!(shorts(&engine, &missing), [""; 0]);
    // The asynchronous client reads the preceding regions as well.
    assert_eq!(
        shorts(
            &engine,
            &scan(Bound::Included("t1,,"), Bound::Included("t1,zz,99999999999999"), true)
        ),
        ["t1,k,m", "t1,b", "t1,"]
    );
}

#[test]
fn gohbase_and_asynchbase_find_region_with_colon_after_row() {
    let engine = engine();
    let first = |scan: &Scan| shorts(&engine, scan).into_iter().next();
    assert_eq!(
        first(&scan(Bound::Excluded("t1"), Bound::Included("t1,c,:"), true)).as_deref(),
        Some("t1,b")
    );
    assert_eq!(
        first(&scan(Bound::Unbounded, Bound::Included("t1,c,:"), true)).as_deref(),
        Some("t1,b")
    );
    // Without a stop row, a lookup of a missing table returns the last region of the preceding
    // table.
    assert_eq!(
        first(&scan(Bound::Unbounded, Bound::Included("t1-a,row,:"), true)).as_deref(),
        Some("t1,k,m")
    );
    assert_eq!(first(&scan(Bound::Unbounded, Bound::Included("a,row,:"), true)), None);
    assert!(view(&engine).get(&Get::new(vec![0; 17])).unwrap().is_empty());
}

#[test]
fn meta_scan_lists_regions_of_one_table() {
    let engine = engine();
    assert_eq!(
        shorts(&engine, &scan(Bound::Included("t1,,"), Bound::Excluded("t1 ,,"), false)),
        ["t1,", "t1,b", "t1,k,m"]
    );
    assert_eq!(
        shorts(&engine, &scan(Bound::Included("t1-x,,"), Bound::Excluded("t1-x ,,"), false)),
        ["t1-x,", "t1-x,b"]
    );
    let all =
        ["ns:t", "ns:t,", "t1", "t1,", "t1,b", "t1,k,m", "t1-x", "t1-x,", "t1-x,b", "t10", "t10,"];
    assert_eq!(shorts(&engine, &Scan::all()), all);
    assert_eq!(
        shorts(&engine, &Scan::all().reverse(true)),
        all.into_iter().rev().collect::<Vec<_>>()
    );
}

#[test]
fn table_state_is_stored_in_own_row() {
    let engine = engine();
    let state = |table: &'static str| {
        view(&engine)
            .get(&Get::new(table).column("table", "state"))
            .unwrap()
            .value("table", "state")
            .map(<[u8]>::to_vec)
    };
    assert_eq!(
        (state("t1"), state("ns:t"), state("t"), state("t1,")),
        (Some(vec![8, 0]), Some(vec![8, 0]), None, None)
    );
    engine.disable_table(&"t1".parse().unwrap()).unwrap();
    assert_eq!(state("t1"), Some(vec![8, 1]));
    // The regions stay there, closed, with the server that had them.
    let rows = rows(&engine, &scan(Bound::Included("t1,,"), Bound::Excluded("t1 ,,"), false));
    assert_eq!(
        rows.iter().map(|row| (text(row, "state"), text(row, "server"))).collect::<Vec<_>>(),
        vec![("CLOSED".into(), "example.org:16020".into()); 3]
    );
}

#[test]
fn meta_reads_apply_selections_filters_and_limits() {
    let engine = engine();
    let count = |scan: Scan| rows(&engine, &scan).iter().map(Row::len).sum::<usize>();
    assert_eq!(count(Scan::all()), 7 * 6 + 4);
    assert_eq!(
        (
            count(Scan::all().family("table")),
            count(Scan::all().family("rep_barrier")),
            count(Scan::all().column("info", "server"))
        ),
        (4, 0, 7)
    );
    assert_eq!(count(Scan::all().family("info").family_limit(2).family_offset(1)), 14);
    assert_eq!(count(Scan::all().filter(Filter::FirstKeyOnly)), 11);
    assert_eq!(
        count(Scan::all().filter(Filter::Qualifier(
            CompareOp::Equal,
            halite_types::Comparator::Binary("sn".into())
        ))),
        7
    );
    assert_eq!(
        shorts(&engine, &Scan::all().filter(Filter::Prefix("t1-".into()))),
        ["t1-x", "t1-x,", "t1-x,b"]
    );
    assert_eq!(count(Scan::all().time_range(TimeRange::new(0, 1).unwrap())), 0);
    assert_eq!(
        view(&engine).scan(&Scan::all().family("no")).err().unwrap().kind(),
        ErrorKind::NoSuchFamily
    );
    assert_eq!(
        view(&engine).scan(&Scan::all().batch(2).filter(Filter::Page(1))).err().unwrap().kind(),
        ErrorKind::IncompatibleFilter
    );

    let mut pieces = view(&engine)
        .scan(&scan(Bound::Included("t10,,"), Bound::Unbounded, false).batch(4))
        .unwrap();
    let mut next = || pieces.next_rows(ScanLimits { results: 1, ..ScanLimits::default() }).unwrap();
    let (first, second) = (next(), next());
    assert_eq!(
        (first.rows[0].len(), first.rows[0].is_partial(), first.stopped),
        (4, true, StopReason::Results)
    );
    assert_eq!(
        (second.rows[0].len(), second.rows[0].is_partial(), second.stopped),
        (2, false, StopReason::RegionEnd)
    );
}

#[test]
fn meta_view_follows_splits_merges_and_writes() {
    let engine = engine();
    let table = "t10".parse().unwrap();
    let regions = |engine: &Engine| {
        rows(engine, &scan(Bound::Included("t10,,"), Bound::Excluded("t10 ,,"), false))
    };
    engine.table(&table).unwrap().batch(vec![Put::new("a").add("f", "q", "v").into()]).unwrap();
    let before = view(&engine);
    engine
        .split_region(&engine.regions(&table).unwrap()[0].encoded_name, Some("m".into()))
        .unwrap();
    let after = regions(&engine);
    assert_eq!(after.iter().map(short).collect::<Vec<_>>(), ["t10,", "t10,m"]);
    assert!(
        after
            .iter()
            .all(|row| row.value("info", "seqnumDuringOpen").unwrap() == 2_i64.to_be_bytes())
    );
    let held = before
        .scan(&scan(Bound::Included("t10,,"), Bound::Unbounded, false))
        .unwrap()
        .next_rows(ScanLimits::default())
        .unwrap();
    assert_eq!(
        held.rows.iter().map(short).collect::<Vec<_>>(),
        ["t10,"],
        "a view is of one moment"
    );
    let names: Vec<_> =
        engine.regions(&table).unwrap().into_iter().map(|region| region.encoded_name).collect();
    engine.merge_regions(&names[0], &names[1], false).unwrap();
    assert_eq!(regions(&engine).iter().map(short).collect::<Vec<_>>(), ["t10,"]);
}

#[test]
fn every_range_returns_rows_in_comparator_order() {
    let engine = engine();
    let all: Vec<Vec<u8>> =
        rows(&engine, &Scan::all()).iter().map(|row| row.key().to_vec()).collect();
    let order = |a: &[u8], b: &[u8]| Comparator::Meta.compare_rows(a, b);
    assert!(all.windows(2).all(|pair| order(&pair[0], &pair[1]).is_lt()));
    let others = [
        "",
        "a",
        "t",
        "t1 ,,",
        "t1,",
        "t1,,",
        "t1,b",
        "t1,b,",
        "t1,b,:",
        "t1,b,9",
        "t1,k,m,:",
        "t1,k,zz,99999999999999",
        "t1-x",
        "t1-x,b,:",
        "u",
    ];
    let keys: Vec<Vec<u8>> =
        all.iter().cloned().chain(others.map(|key| key.as_bytes().to_vec())).collect();
    let bounds: Vec<Bound<Bytes>> = keys
        .iter()
        .flat_map(|key| [Bound::Included(key.clone().into()), Bound::Excluded(key.clone().into())])
        .chain([Bound::Unbounded])
        .collect();
    for start in &bounds {
        for end in &bounds {
            let is_in = |row: &&Vec<u8>| {
                let starts = match start {
                    Bound::Unbounded => true,
                    Bound::Included(start) => order(row, start).is_ge(),
                    Bound::Excluded(start) => order(row, start).is_gt(),
                };
                let ends = match end {
                    Bound::Unbounded => true,
                    Bound::Included(end) => order(row, end).is_le(),
                    Bound::Excluded(end) => order(row, end).is_lt(),
                };
                starts && ends
            };
            let mut expected: Vec<Vec<u8>> = all.iter().filter(is_in).cloned().collect();
            for reverse in [false, true] {
                let scan = Scan {
                    range: RowRange { start: start.clone(), end: end.clone() },
                    ..Scan::all().reverse(reverse)
                };
                let found: Vec<Vec<u8>> =
                    rows(&engine, &scan).iter().map(|row| row.key().to_vec()).collect();
                assert_eq!(found, expected, "{start:?} {end:?} {reverse}");
                expected.reverse();
            }
        }
    }
}

fn write(engine: &Engine, ops: Vec<RowOp>) {
    let applied = engine.meta_overlay_region().unwrap().apply(ops);
    applied.ticket.wait().unwrap();
    applied.results.into_iter().for_each(|result| drop(result.unwrap()));
}

#[test]
fn client_rows_are_merged_with_computed_rows() {
    let engine = engine();
    let all = shorts(&engine, &Scan::all());
    let put = |row: &'static str, family: &'static str| Put::new(row).add(family, "q", "v").into();
    write(
        &engine,
        vec![
            put("t1,a,5", "info"),
            put("t1,b,", "info"),
            put("t1-y,,1", "rep_barrier"),
            put("zz,,1", "info"),
            put("t1", "table"),
        ],
    );
    let with = [
        "ns:t", "ns:t,", "t1", "t1,", "t1,a", "t1,b", "t1,b", "t1,k,m", "t1-x", "t1-x,", "t1-x,b",
        "t1-y,", "t10", "t10,", "zz,",
    ];
    assert_eq!(shorts(&engine, &Scan::all()), with);
    assert_eq!(
        shorts(&engine, &Scan::all().reverse(true)),
        with.into_iter().rev().collect::<Vec<_>>()
    );
    assert_eq!(
        shorts(&engine, &scan(Bound::Included("t1,a,"), Bound::Excluded("t1,b,:"), false)),
        ["t1,a", "t1,b", "t1,b"]
    );
    assert_eq!(
        shorts(&engine, &scan(Bound::Excluded("t1-x,b"), Bound::Unbounded, false)),
        ["t1-x,b", "t10,", "zz,"],
        "one has nothing in this family"
    );
    let table = view(&engine).get(&Get::new("t1")).unwrap();
    assert_eq!(
        table.iter().map(|cell| cell.qualifier().to_vec()).collect::<Vec<_>>(),
        [b"q".to_vec(), b"state".to_vec()]
    );
    write(
        &engine,
        with.iter()
            .map(|row| Delete::new(*row).into())
            .chain(
                [
                    Delete::new("t1,a,5"),
                    Delete::new("t1,b,"),
                    Delete::new("t1-y,,1"),
                    Delete::new("zz,,1"),
                ]
                .map(Into::into),
            )
            .collect(),
    );
    assert_eq!(shorts(&engine, &Scan::all()), all, "computed cells cannot be deleted");
    assert_eq!(
        rows(&engine, &Scan::all().family("info").raw(true).versions(9))
            .iter()
            .filter(|row| row.iter().any(|cell| cell.is_delete()))
            .count(),
        18,
        "every row that was deleted keeps its marker"
    );
}

#[test]
fn newest_of_computed_and_client_cell_is_returned() {
    let engine = engine();
    let row = Bytes::copy_from_slice(
        rows(&engine, &scan(Bound::Included("t1,b,"), Bound::Excluded("t1,c,"), false))[0].key(),
    );
    let server = |versions: u32| {
        let row = view(&engine)
            .get(&Get::new(row.clone()).column("info", "server").versions(versions))
            .unwrap();
        row.iter()
            .map(|cell| String::from_utf8_lossy(cell.value()).into_owned())
            .collect::<Vec<_>>()
    };
    let assigned = view(&engine)
        .get(&Get::new(row.clone()).column("info", "server"))
        .unwrap()
        .cells()
        .first()
        .unwrap()
        .timestamp();
    write(
        &engine,
        vec![Put::new(row.clone()).add_at("info", "server", assigned - 1, "old:1").into()],
    );
    assert_eq!(
        (server(1), server(3)),
        (
            vec!["example.org:16020".to_owned()],
            vec!["example.org:16020".to_owned(), "old:1".to_owned()]
        )
    );
    write(&engine, vec![Put::new(row.clone()).add_at("info", "server", assigned, "new:1").into()]);
    assert_eq!(server(1), ["new:1"]);
    write(&engine, vec![Delete::new(row.clone()).up_to(assigned).into()]);
    assert_eq!(server(3), ["example.org:16020"]);
}

#[test]
fn client_rows_survive_crash_and_are_dropped_with_table() {
    let env = SimEnv::new(1);
    let engine = Engine::open(env.env(), Options::default()).unwrap();
    create(&engine, "t1", &[]);
    write(
        &engine,
        vec![
            Put::new("t1,x,1").add("info", "q", "v").into(),
            Put::new("t10,x,1").add("info", "q", "v").into(),
        ],
    );
    assert_eq!((engine.descriptors().len(), engine.status().regions.len()), (1, 1));
    assert_eq!(shorts(&engine, &Scan::all()), ["t1", "t1,", "t1,x", "t10,x"]);
    engine.set_meta_attributes([("REGION_REPLICATION".to_owned(), "3".to_owned())].into()).unwrap();
    drop(engine);
    let engine = Engine::open(env.env(), Options::default()).unwrap();
    assert_eq!(engine.meta_attributes()["REGION_REPLICATION"], "3");
    assert_eq!(shorts(&engine, &Scan::all()), ["t1", "t1,", "t1,x", "t10,x"]);
    engine.disable_table(&"t1".parse().unwrap()).unwrap();
    engine.drop_table(&"t1".parse().unwrap()).unwrap();
    assert_eq!(shorts(&engine, &Scan::all()), ["t10,x"]);
}

#[test]
fn merged_region_lists_parents_until_they_are_cleared() {
    let env = SimEnv::new(1);
    let engine = Engine::open(env.env(), Options::default()).unwrap();
    create(&engine, "t", &["m"]);
    let table = "t".parse().unwrap();
    engine
        .table(&table)
        .unwrap()
        .batch(vec![
            Put::new("a").add("f", "q", "v").into(),
            Put::new("z").add("f", "q", "v").into(),
        ])
        .unwrap();
    let parents = engine.regions(&table).unwrap();
    engine.merge_regions(&parents[1].encoded_name, &parents[0].encoded_name, false).unwrap();
    let named = |engine: &Engine| {
        let row = &rows(engine, &scan(Bound::Included("t,,"), Bound::Unbounded, false))[0];
        row.iter()
            .filter(|cell| cell.qualifier().starts_with(b"merge"))
            .map(|cell| (cell.qualifier().to_vec(), cell.value().to_vec()))
            .collect::<Vec<_>>()
    };
    let before = named(&engine);
    assert_eq!(
        before.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>(),
        [b"merge0000", b"merge0001"]
    );
    assert!(
        before[0].1.starts_with(b"PBUF") && before[0].1.windows(2).any(|pair| pair == [0x22, 1]),
        "the first one ends at m"
    );
    drop(engine);
    let engine = Engine::open(env.env(), Options::default()).unwrap();
    assert_eq!(named(&engine), before);
    assert_eq!(engine.clear_merge_parents().unwrap(), 0);
    assert_eq!(named(&engine), before);
    engine.compact(&table, None, CompactionKind::Major).unwrap();
    assert_eq!(named(&engine), before);
    assert_eq!(engine.clear_merge_parents().unwrap(), 1);
    assert_eq!((named(&engine), engine.clear_merge_parents().unwrap()), (vec![], 0));
    drop(engine);
    let engine = Engine::open(env.env(), Options::default()).unwrap();
    assert_eq!(named(&engine), []);
}

#[test]
fn all_replicas_of_region_have_same_location() {
    let engine = engine();
    let table = TableDescriptor::new("r".parse().unwrap())
        .family(FamilyDescriptor::new("f"))
        .set("REGION_REPLICATION", 3);
    engine.create_table(table, Vec::new()).unwrap();
    let row = &rows(&engine, &scan(Bound::Included("r,,"), Bound::Unbounded, false))[0];
    assert_eq!(row.len(), 1 + 3 * 5);
    for column in ["server", "server_0001", "server_0002"] {
        assert_eq!(text(row, column), "example.org:16020");
    }
    assert_eq!(
        (text(row, "state_0002"), row.value("info", "serverstartcode_0001").unwrap().len()),
        ("OPEN".into(), 8)
    );
}

#[test]
fn empty_merge_parents_are_listed_until_cleared() {
    let env = SimEnv::new(1);
    let engine = Engine::open(env.env(), Options::default()).unwrap();
    create(&engine, "t", &["m"]);
    let parents = engine.regions(&"t".parse().unwrap()).unwrap();
    engine.merge_regions(&parents[0].encoded_name, &parents[1].encoded_name, false).unwrap();
    let cells = |engine: &Engine| {
        rows(engine, &scan(Bound::Included("t,,"), Bound::Unbounded, false))[0].len()
    };
    assert_eq!(cells(&engine), 6 + 2);
    assert_eq!((engine.clear_merge_parents().unwrap(), cells(&engine)), (1, 6));
}

#[test]
fn large_overlay_is_not_reloaded_by_nonblocking_reads() {
    let engine = engine();
    let server = Arc::new(ServerName {
        host: "example.org".into(),
        port: 16020,
        start_code: 1_700_000_000_000,
    });
    let in_memory = || engine.meta(&server, ReadTier::Memory).map(drop);
    let put = |row: u32, bytes: usize| -> RowOp {
        Put::new(format!("zz,{row:04},1")).add("info", "q", "v".repeat(bytes)).into()
    };
    write(&engine, vec![put(0, 10)]);
    in_memory().unwrap();
    write(&engine, (0..100).map(|row| put(row, 10 << 10)).collect());
    assert_eq!(in_memory().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(
        shorts(&engine, &Scan::all()).iter().filter(|row| row.starts_with("zz,")).count(),
        100
    );
    in_memory().unwrap();
}

#[test]
fn region_replicas_in_meta_are_limited() {
    let engine = engine();
    let table = TableDescriptor::new("r".parse().unwrap())
        .family(FamilyDescriptor::new("f"))
        .set("REGION_REPLICATION", 65_535);
    engine.create_table(table, Vec::new()).unwrap();
    let [row] = &rows(&engine, &scan(Bound::Included("r,"), Bound::Excluded("r,~"), false))[..]
    else {
        panic!("one region")
    };
    assert_eq!(row.len(), 1 + 5 * 16);
}

#[test]
fn client_rows_stay_in_one_region_despite_attributes() {
    let engine = engine();
    engine.set_meta_attributes([("MAX_FILESIZE".to_owned(), "1".to_owned())].into()).unwrap();
    let region = engine.meta_overlay_region().unwrap();
    for file in 0..3 {
        let put = |row: u32| {
            Put::new(format!("zz,{row:03},{file}")).add("info", "q", "v".repeat(1 << 10)).into()
        };
        write(&engine, (0..100).map(put).collect());
        region.flush().unwrap();
    }
    assert!(region.request_compaction(None, CompactionKind::Major).unwrap());
    while engine.run_one_job().unwrap() {}
    assert_eq!(
        shorts(&engine, &Scan::all()).iter().filter(|row| row.starts_with("zz,")).count(),
        300
    );
    let split = engine.split_region(&region.info().encoded_name, Some(Bytes::from("zz,050")));
    assert_eq!(split.unwrap_err().kind(), ErrorKind::NoSuchRegion);
}
