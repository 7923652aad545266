//! Gets and changes, alone and in batches.

use std::time::{Duration, Instant};

use halite_client::{Compressor, Config, connect, connect_with};
use halite_types::{
    Append, CheckAndMutate, Cluster, Delete, ErrorKind, Get, Increment, OpResult, Put, Result, Row,
    RowMutations, RowOp, TableExt, block_on,
};

use crate::server::{Server, name, spread};

fn put(row: &str, value: &str) -> RowOp {
    Put::new(row.to_owned()).add("f", "q", value).into()
}

fn value(row: &Row) -> Option<&str> {
    row.value("f", "q").map(|value| std::str::from_utf8(value).unwrap())
}

#[test]
fn put_is_read_with_every_registry_and_compressor() {
    let server = Server::start();
    let plain = [server.registry(), server.rpc_registry()].map(Config::new);
    let compressed = Compressor::ALL.map(|compressor| {
        let mut config = Config::new(server.registry());
        config.compressor = Some(compressor);
        config
    });
    for (number, config) in plain.into_iter().chain(compressed).enumerate() {
        let cluster = server.run(connect_with(config)).unwrap();
        assert_eq!(cluster.id(), server.cluster_id());
        let table = cluster.table(&name());
        server.run(async {
            let row = format!("row{number}");
            table.mutate(put(&row, "v")).await.unwrap();
            assert_eq!(value(&table.get(Get::new(row)).await.unwrap()), Some("v"));
            assert!(table.get(Get::new("missing")).await.unwrap().is_empty());
            assert_eq!(
                table.batch(vec![put("a", "1"), put("z", "2")]).await.unwrap(),
                vec![Ok(OpResult { processed: true, ..OpResult::default() }); 2]
            );
            let rows = table.get_all(["z", "missing", "a"].map(Get::new).to_vec()).await.unwrap();
            assert_eq!(rows.iter().map(value).collect::<Vec<_>>(), [Some("2"), None, Some("1")]);
        });
    }
}

#[test]
fn client_without_runtime_starts_its_own() {
    let server = Server::start();
    let uri = format!(
        "rpc://{}",
        match server.rpc_registry() {
            halite_client::RegistryKind::Rpc { servers } => servers.join(","),
            halite_client::RegistryKind::ZooKeeper { .. } => String::new(),
        }
    );
    let cluster = block_on(connect(&uri)).unwrap();
    let table = cluster.table(&name());
    drop(cluster);
    block_on(table.mutate(put("a", "1"))).unwrap();
    let mut rows = table.scan(halite_types::Scan::all());
    assert_eq!(block_on(rows.next()).unwrap().as_ref().and_then(value), Some("1"));
}

#[test]
fn every_mutation_has_same_result_as_embedded_store() {
    let server = Server::start();
    let (table, local) = (server.table(), server.engine.table(&name()).unwrap());
    let ops = |row: &str| -> Vec<RowOp> {
        let row = row.to_owned();
        let check = |value: &'static str| {
            CheckAndMutate::if_equals(
                row.clone(),
                "f",
                "q",
                value,
                Put::new(row.clone()).add("f", "c", "1"),
            )
        };
        let group = RowMutations::new(row.clone())
            .add(Put::new(row.clone()).add("f", "x", "1"))
            .add(Increment::new(row.clone()).add("g", "n", 4));
        let mut silent = Increment::new(row.clone()).add("f", "n", 1);
        silent.return_results = false;
        vec![
            put(&row, "v"),
            Increment::new(row.clone()).add("f", "n", 5).add("f", "m", -2).into(),
            Append::new(row.clone()).add("f", "q", "w").into(),
            silent.into(),
            check("nothing").into(),
            check("vw").into(),
            CheckAndMutate::if_not_exists(row.clone(), "f", "q", Delete::new(row.clone())).into(),
            CheckAndMutate::new(
                row.clone(),
                halite_types::Condition::Filter("PageFilter(1)".parse().unwrap()),
                Append::new(row.clone()).add("f", "q", "!"),
            )
            .into(),
            group.clone().into(),
            CheckAndMutate::if_equals(row.clone(), "f", "x", "1", group).into(),
            Delete::new(row.clone()).column("f", "m").into(),
        ]
    };
    let shown = |results: Vec<Result<OpResult>>| -> Vec<_> {
        let values = |row: &Row| {
            row.iter()
                .map(|cell| (cell.qualifier().to_vec(), cell.value().to_vec()))
                .collect::<Vec<_>>()
        };
        results
            .into_iter()
            .map(|result| result.map(|result| (result.processed, values(&result.row))))
            .collect()
    };
    let expected = shown(local.batch(ops("b")).unwrap());
    // In one batch, which must preserve the order within the row, and one by one.
    assert_eq!(shown(server.run(table.batch(ops("k"))).unwrap()), expected);
    let alone: Vec<_> = ops("z").into_iter().map(|op| server.run(table.mutate(op))).collect();
    assert_eq!(shown(alone), expected);
    let rows = server.run(table.get_all(["b", "k", "z"].map(Get::new).to_vec())).unwrap();
    let values = |row: &Row| {
        row.iter()
            .map(|cell| (cell.qualifier().to_vec(), cell.value().to_vec()))
            .collect::<Vec<_>>()
    };
    assert_eq!(values(&rows[0]), values(&rows[1]));
    assert_eq!(values(&rows[0]), values(&rows[2]));
}

#[test]
fn batch_over_all_regions_reports_result_per_operation() {
    let server = Server::start();
    let table = server.table();
    let rows: Vec<String> = (0..3000).map(spread).collect();
    let mut ops: Vec<RowOp> = rows.iter().map(|row| put(row, row)).collect();
    ops.insert(7, Put::new("b").add("nosuch", "q", "v").into());
    ops.insert(9, Put::new("").add("f", "q", "v").into());
    ops.insert(11, Put::new("b").add("f", "q", vec![0; 11 << 20]).into());
    let results = server.run(table.batch(ops)).unwrap();
    let failed: Vec<_> = results
        .iter()
        .enumerate()
        .filter_map(|(at, result)| Some((at, result.as_ref().err()?.kind())))
        .collect();
    assert_eq!(
        failed,
        [
            (7, ErrorKind::NoSuchFamily),
            (9, ErrorKind::InvalidRequest),
            (11, ErrorKind::InvalidRequest)
        ]
    );
    let text = results[7].as_ref().unwrap_err().message();
    assert!(
        text.starts_with("table t, region t,,") && text.contains("server 127.0.0.1,"),
        "{text}"
    );
    let read =
        server.run(table.get_all(rows.iter().map(|row| Get::new(row.clone())).collect())).unwrap();
    assert!(read.iter().zip(&rows).all(|(row, key)| value(row) == Some(key)));
}

#[test]
fn region_is_located_again_after_split_or_merge() {
    let server = Server::start();
    server.fill(('a'..='z').map(String::from));
    let table = server.table();
    let keys = || ('a'..='z').map(|key| Get::new(key.to_string())).collect::<Vec<_>>();
    assert_eq!(server.run(table.get_all(keys())).unwrap().iter().filter_map(value).count(), 26);
    server.engine.split_region(&server.region("j"), Some("k".into())).unwrap();
    assert_eq!(value(&server.run(table.get(Get::new("l"))).unwrap()), Some("l"));
    server.engine.merge_regions(&server.region("a"), &server.region("h"), false).unwrap();
    server
        .run(table.batch(vec![put("a", "A"), put("i", "I"), put("z", "Z")]))
        .unwrap()
        .into_iter()
        .for_each(|result| drop(result.unwrap()));
    let rows = server.run(table.get_all(keys())).unwrap();
    assert_eq!(rows.iter().filter_map(value).filter(|value| *value < "a").count(), 3);
}

#[test]
fn missing_disabled_and_dropped_tables_are_distinguished() {
    let server = Server::start();
    let cluster = server.connect();
    let missing = cluster.table(&"nowhere".parse().unwrap());
    let error = server.run(missing.get(Get::new("r"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSuchTable);
    assert!(error.message().contains("table nowhere does not exist"), "{error}");
    assert_eq!(
        server.run(missing.batch(vec![put("a", "b"), put("c", "d")])).unwrap_err().kind(),
        ErrorKind::NoSuchTable
    );
    let table = cluster.table(&name());
    server.run(table.mutate(put("a", "1"))).unwrap();
    server.engine.disable_table(&name()).unwrap();
    let error = server.run(table.mutate(put("a", "2"))).unwrap_err();
    assert!(
        error.kind() == ErrorKind::TableDisabled
            && error.message().contains("table t is disabled; enable it first"),
        "{error:?}"
    );
    server.engine.drop_table(&name()).unwrap();
    assert_eq!(server.run(table.get(Get::new("a"))).unwrap_err().kind(), ErrorKind::NoSuchTable);
}

#[test]
fn concurrent_callers_share_connection() {
    let server = Server::start();
    let table = server.connect_with(|config| config.max_calls_in_flight = 7).table(&name());
    server.run(async {
        let tasks: Vec<_> = (0..64)
            .map(|caller| {
                let table = std::sync::Arc::clone(&table);
                tokio::spawn(async move {
                    for turn in 0..20 {
                        let row = format!("{}-{turn}", spread(caller));
                        table.mutate(put(&row, &row)).await.unwrap();
                        assert_eq!(
                            value(&table.get(Get::new(row.clone())).await.unwrap()),
                            Some(&row[..])
                        );
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn cluster_address_is_read_from_configuration_file() {
    let server = Server::start();
    let halite_client::RegistryKind::ZooKeeper { quorum, .. } = server.registry() else {
        panic!("the lookup goes through ZooKeeper")
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hbase-site.xml");
    let property = |name: &str, value: &str| {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    };
    let all = [
        property("hbase.zookeeper.quorum", &quorum.join(",")),
        property("hbase.rpc.timeout", "50000"),
    ]
    .concat();
    std::fs::write(&path, format!("<configuration>{all}</configuration>")).unwrap();
    let cluster = server.run(connect(&format!("site:{}", path.display()))).unwrap();
    assert_eq!(cluster.id(), server.cluster_id());
    let missing = server.run(connect("site:/nowhere/hbase-site.xml")).unwrap_err();
    assert!(missing.message().contains("/nowhere/hbase-site.xml"), "{missing}");
}

#[test]
fn restarted_server_is_located_again() {
    let mut server = Server::start();
    server.fill(["a", "k", "z"].map(String::from));
    let cluster = server.connect();
    let (table, admin) = (cluster.table(&name()), cluster.admin());
    let keys = || ["a", "k", "z"].map(Get::new).to_vec();
    assert_eq!(server.run(table.get_all(keys())).unwrap().len(), 3);
    assert!(server.run(admin.is_enabled(&name())).unwrap());
    let mut rows = table.scan(halite_types::Scan::all().max_result_bytes(1));
    assert_eq!(server.run(rows.next()).unwrap().as_ref().and_then(value), Some("a"));
    server.restart();
    let read: Vec<_> = std::iter::from_fn(|| server.run(rows.next()).unwrap()).collect();
    assert_eq!(read.iter().map(value).collect::<Vec<_>>(), [Some("k"), Some("z")]);
    assert_eq!(
        server.run(table.get_all(keys())).unwrap().iter().map(value).collect::<Vec<_>>(),
        [Some("a"), Some("k"), Some("z")]
    );
    server.restart();
    server
        .run(table.batch(vec![put("a", "A"), put("z", "Z")]))
        .unwrap()
        .into_iter()
        .for_each(|result| drop(result.unwrap()));
    assert!(server.run(admin.is_enabled(&name())).unwrap());
}

/// Runs an operation that must succeed, again if the machine stopped it for longer than its
/// timeout.
fn run_patiently<T, F: Future<Output = Result<T>>>(
    server: &Server,
    mut operation: impl FnMut() -> F,
) -> T {
    let begun = Instant::now();
    loop {
        match server.run(operation()) {
            Err(error)
                if matches!(error.kind(), ErrorKind::Io | ErrorKind::Busy)
                    && begun.elapsed() < Duration::from_mins(2) => {}
            result => return result.unwrap(),
        }
    }
}

/// Availability is given up for consistency: while the server is gone, reads wait and fail at their
/// deadline, though the client has read the row before; afterwards they return what was
/// acknowledged last. Histories with killed servers are searched for stale reads by `world/`.
#[test]
fn p16_reads_without_their_server_fail_and_are_never_stale() {
    let mut server = Server::start();
    let cluster = run_patiently(&server, || {
        let mut config = Config::new(server.registry());
        config.operation_timeout_ms = 700;
        connect_with(config)
    });
    let table = cluster.table(&name());
    for newer in ["1", "2"] {
        run_patiently(&server, || table.mutate(put("a", newer)));
        let found = run_patiently(&server, || table.get(Get::new("a")));
        assert_eq!(value(&found), Some(newer));
    }
    let resume = server.stop();
    for _ in 0..2 {
        let error = server.run(table.get(Get::new("a"))).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::Busy), "{error:?}");
    }
    assert!(server.run(table.mutate(put("a", "3"))).is_err());
    resume(&mut server);
    let found = run_patiently(&server, || table.get(Get::new("a")));
    assert_eq!(value(&found), Some("2"), "a write that was never sent is not there");
}

#[test]
fn batch_result_is_independent_of_call_and_region_sizes() {
    let server = Server::start();
    let splits = ('b'..='z').map(|key| key.to_string().into()).collect();
    let table = halite_types::TableDescriptor::new("many".parse().unwrap())
        .family(halite_types::FamilyDescriptor::new("f"));
    server.engine.create_table(table, splits).unwrap();
    let small =
        server.connect_with(|config| (config.max_multi_actions, config.meta_prefetch) = (6, 3));
    let table = small.table(&"many".parse().unwrap());
    let rows: Vec<String> = (0..500).map(spread).collect();
    // Twice each row: the second value counts, though the calls are small.
    let ops = rows
        .iter()
        .map(|row| put(row, "first"))
        .chain(rows.iter().map(|row| put(row, row)))
        .collect();
    server.run(table.batch(ops)).unwrap().into_iter().for_each(|result| drop(result.unwrap()));
    let read =
        server.run(table.get_all(rows.iter().map(|row| Get::new(row.clone())).collect())).unwrap();
    assert!(read.iter().zip(&rows).all(|(row, key)| value(row) == Some(key)));
}

#[test]
fn large_cells_are_written_and_read_unchanged() {
    let server = Server::start();
    let value: Vec<u8> =
        (0..9 << 20).map(|at: u32| at.to_be_bytes()[3] ^ at.to_be_bytes()[1]).collect();
    for compressor in [None, Some(Compressor::Snappy)] {
        let table = server.connect_with(|config| config.compressor = compressor).table(&name());
        server.run(async {
            let ops =
                ["a", "b", "k"].map(|row| Put::new(row).add("f", "large", &value).into()).to_vec();
            table.batch(ops).await.unwrap().into_iter().for_each(|result| drop(result.unwrap()));
            let rows = table.get_all(["b", "k"].map(Get::new).to_vec()).await.unwrap();
            assert!(rows.iter().all(|row| row.value("f", "large") == Some(&value[..])));
            let mut rows = table.scan(halite_types::Scan::all());
            let mut seen = 0;
            while let Some(row) = rows.next().await.unwrap() {
                assert_eq!(row.value("f", "large"), Some(&value[..]));
                seen += 1;
            }
            assert_eq!(seen, 3);
        });
    }
}
