//! Pages read over a socket, compared with the state of the store and with HBase's names.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use halite_engine::env::Env;
use halite_engine::env::sim::{FsCall, InjectedFault, SimEnv};
use halite_engine::{Engine, Options};
use halite_types::{FamilyDescriptor, Get, Put, ReadTier, TableDescriptor};
use halite_wire::convert::region::specifier;
use halite_wire::proto as pb;
use halite_wire::rpc::{self, Auth, RequestOptions, RpcLimits};
use halite_wire::service::{ClientGet, ClientMulti, ClientMutate, RpcMethod, Service};
use pb::mutation_proto::MutationType;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::config::Config;
use crate::server::{Server, ServerHandle};

struct Web {
    engine: Arc<Engine>,
    handle: ServerHandle,
    _directory: Option<tempfile::TempDir>,
}

impl Web {
    /// Starts a server over two tables, one of them with a row that was read twice.
    async fn start() -> Self {
        Self::with(|_| ()).await
    }

    /// Starts a server with settings changed from the defaults of a test.
    async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let env = Env::os(directory.path()).unwrap();
        Self::over(env, Some(directory), change).await
    }

    /// Starts a server over a store in another environment.
    async fn over(
        env: Env,
        directory: Option<tempfile::TempDir>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let engine = Engine::open(env, Options::default()).unwrap();
        for name in ["t1", "t2"] {
            let table = TableDescriptor::new(name.parse().unwrap())
                .family(FamilyDescriptor::new("f"))
                .family(FamilyDescriptor::new("g"));
            engine.create_table(table, Vec::new()).unwrap();
        }
        let table = engine.table(&"t1".parse().unwrap()).unwrap();
        table.batch(vec![Put::new("row").add("f", "q", "value").into()]).unwrap();
        for _ in 0..2 {
            table.get(&Get::new("row"), ReadTier::Disk).unwrap();
        }
        let mut config = Config {
            master_port: 0,
            regionserver_port: 0,
            http_port: Some(0),
            zookeeper_port: Some(0),
            ..Config::default()
        };
        change(&mut config);
        let handle = Server::start(Arc::clone(&engine), config).await.unwrap();
        Self { engine, handle, _directory: directory }
    }

    fn address(&self) -> SocketAddr {
        self.handle.addresses().http.unwrap()
    }

    /// Returns head and body of the response.
    async fn get(&self, path: &str) -> (String, String) {
        self.get_accepting(path, "*/*").await
    }

    /// As [`Self::get`], for a client that accepts these content types.
    async fn get_accepting(&self, path: &str, accepted: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accepted}");
        stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    async fn body(&self, path: &str) -> String {
        let (head, body) = self.get(path).await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{path}: {head}");
        body
    }
}

/// Returns the value of an attribute in the JSON of one bean.
fn attribute<'a>(bean: &'a str, name: &str) -> &'a str {
    let quoted = format!("\"{name}\": ");
    let line = bean
        .lines()
        .find_map(|line| line.trim().strip_prefix(&quoted))
        .unwrap_or_else(|| panic!("no {name} in {bean}"));
    line.trim_end_matches(',')
}

#[tokio::test]
async fn region_server_bean_reports_store_and_request_counts() {
    let web = Web::start().await;
    let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=Server").await;
    for (name, value) in [
        ("regionCount", "3"),
        ("storeCount", "5"),
        ("readRequestCount", "2"),
        ("writeRequestCount", "3"),
        ("storeFileCount", "0"),
    ] {
        assert_eq!(attribute(&bean, name), value, "{name}");
    }
    assert_eq!(attribute(&bean, "tag.clusterId"), format!("\"{}\"", web.handle.cluster_id()));
    assert_eq!(
        attribute(&bean, "memStoreSize"),
        web.engine
            .status()
            .regions
            .iter()
            .map(|load| load.memstore_data_bytes)
            .sum::<u64>()
            .to_string()
    );
    assert_ne!(attribute(&bean, "memStoreSize"), "0");
    let table = "t1".parse().unwrap();
    web.engine.flush(&table).unwrap();
    let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=Regions").await;
    let region = &web.engine.regions(&table).unwrap()[0].encoded_name;
    assert_eq!(
        attribute(
            &bean,
            &format!("Namespace_default_table_t1_region_{region}_metric_storeFileCount")
        ),
        "1"
    );
    let bean = web.body("/jmx?qry=Hadoop:sub=Tables,*").await;
    assert_eq!(
        (
            attribute(&bean, "numTables"),
            attribute(&bean, "Namespace_default_table_t1_metric_readRequestCount")
        ),
        ("3", "2")
    );
}

/// Every bean and attribute also exists in HBase 2.6.4, by the names of its `/jmx`.
#[tokio::test]
async fn bean_and_attribute_names_match_hbase() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/jmx/names.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let known: BTreeSet<&str> = text.lines().collect();
    let web = Web::start().await;
    let regions = web
        .engine
        .regions(&"t1".parse().unwrap())
        .unwrap()
        .into_iter()
        .chain(web.engine.regions(&"t2".parse().unwrap()).unwrap());
    let regions = regions.chain(web.engine.regions(&"hbase:namespace".parse().unwrap()).unwrap());
    let regions: Vec<String> = regions.map(|region| region.encoded_name).collect();
    let page = web.body("/jmx").await;
    let (mut bean, mut beans, mut strange) = (String::new(), 0, Vec::new());
    // Attributes are at this depth; deeper lines belong to one of them.
    for line in page.lines().filter_map(|line| line.strip_prefix("      \"")) {
        let (name, value) = line.split_once("\": ").unwrap();
        if name == "name" {
            bean = value.trim_matches(['"', ',']).replace("Hadoop:service=HBase,name=", "");
            beans += 1;
            continue;
        }
        let mut name = name
            .replace("Namespace_default_table_t1_", "Namespace_NAMESPACE_table_TABLE_")
            .replace("_table_t2_", "_table_TABLE_");
        name = name
            .replace("Namespace_hbase_table_namespace_", "Namespace_NAMESPACE_table_TABLE_")
            .replace("Namespace_default", "Namespace_NAMESPACE");
        regions.iter().for_each(|region| name = name.replace(region, "REGION"));
        // HBase has all attributes of a histogram if it has one.
        let ends = [
            "min",
            "max",
            "mean",
            "median",
            "25th_percentile",
            "75th_percentile",
            "90th_percentile",
            "95th_percentile",
            "98th_percentile",
        ];
        let ends = ends.into_iter().chain(["99th_percentile", "99.9th_percentile"]);
        if let Some(base) = ends.into_iter().find_map(|end| name.strip_suffix(&format!("_{end}"))) {
            name = format!("{base}_num_ops");
        }
        if !known.contains(format!("{bean} {name}").as_str()) {
            strange.push(format!("{bean} {name}"));
        }
    }
    assert_eq!(strange, [] as [&str; 0]);
    assert!(beans >= 13, "{beans}");
}

#[tokio::test]
async fn flushes_compactions_and_lookups_are_reported_by_kind() {
    let web = Web::start().await;
    let table = "t1".parse().unwrap();
    let server = "/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=Server";
    let bean = web.body(server).await;
    assert_eq!(
        (attribute(&bean, "FlushTime_num_ops"), attribute(&bean, "CompactionTime_num_ops")),
        ("0", "0")
    );
    let payload = web.engine.status().regions[0].memstore_data_bytes;
    web.engine.flush(&table).unwrap();
    let flushed = web.engine.status().regions[0].store_file_bytes;
    for _ in 0..2 {
        web.engine.table(&table).unwrap().get(&Get::new("row"), ReadTier::Disk).unwrap();
    }
    web.engine.compact(&table, None, halite_types::CompactionKind::Major).unwrap();
    let bean = web.body(server).await;
    let number = |name: &str| attribute(&bean, name).parse::<u64>().unwrap();
    assert_eq!(
        (number("FlushTime_num_ops"), number("flushedMemstoreBytes"), number("flushedOutputBytes")),
        (1, payload, flushed)
    );
    assert_eq!(
        (
            number("CompactionTime_num_ops"),
            number("MajorCompactionTime_num_ops"),
            number("majorCompactedInputBytes")
        ),
        (1, 1, flushed)
    );
    assert_eq!(
        (number("MajorCompactionInputFileCount_max"), number("MajorCompactionOutputFileCount_max")),
        (1, 1)
    );
    assert!(number("blockCacheDataHitCount") >= 1 && number("blockCacheDataMissCount") >= 1);
    let sum = |end: &str| {
        ["Data", "LeafIndex", "IntermediateIndex", "RootIndex", "BloomChunk"]
            .map(|kind| number(&format!("blockCache{kind}{end}")))
            .iter()
            .sum::<u64>()
    };
    assert_eq!(
        (sum("HitCount"), sum("MissCount")),
        (number("blockCacheHitCount"), number("blockCacheMissCount"))
    );
    let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=Master,sub=AssignmentManager").await;
    assert_eq!(
        (attribute(&bean, "SplitSubmittedCount"), attribute(&bean, "MergeTime_num_ops")),
        ("0", "0")
    );
}

#[tokio::test]
async fn wal_bean_reports_segments_and_durations() {
    let web = Web::start().await;
    let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=WAL").await;
    assert_eq!(attribute(&bean, "appendCount"), "2");
    assert_ne!(
        (attribute(&bean, "AppendTime_num_ops"), attribute(&bean, "SyncTime_num_ops")),
        ("0", "0")
    );
    let bytes = || web.engine.wal_stats().bytes.to_string();
    let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=Server").await;
    assert_eq!(
        (attribute(&bean, "hlogFileCount"), attribute(&bean, "hlogFileSize")),
        ("1", &*bytes())
    );
    assert_ne!(bytes(), "0");
    web.engine.roll_wal().unwrap();
    assert_eq!((web.engine.wal_stats().segments, web.engine.wal_stats().rolls), (1, 1));
    for table in ["t1", "hbase:namespace"] {
        web.engine.flush(&table.parse().unwrap()).unwrap();
    }
    let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=Server").await;
    assert_eq!((attribute(&bean, "hlogFileCount"), attribute(&bean, "hlogFileSize")), ("0", "0"));
}

#[tokio::test]
async fn calls_are_counted_by_operation_and_outcome() {
    let web = Web::start().await;
    let region = web.engine.regions(&"t1".parse().unwrap()).unwrap().remove(0);
    let mut client = Client::connect(web.handle.addresses().regionserver).await;
    let gone = pb::RegionSpecifier { r#type: 2, value: "33b36c58f0da118f6c22fc0c24d60bf4".into() };
    for region in [specifier(&region), gone] {
        let mutation = pb::MutationProto {
            row: Some("r".into()),
            mutate_type: Some(MutationType::Delete.into()),
            ..Default::default()
        };
        client
            .call::<ClientMutate>(&pb::MutateRequest { region, mutation, ..Default::default() })
            .await;
    }
    let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=Server").await;
    assert_eq!((attribute(&bean, "Delete_num_ops"), attribute(&bean, "Put_num_ops")), ("2", "0"));
    let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=IPC").await;
    for (name, value) in [
        ("exceptions", "1"),
        ("exceptions.NotServingRegionException", "1"),
        ("exceptions.otherExceptions", "0"),
        ("RequestSize_num_ops", "2"),
        ("ResponseSize_num_ops", "2"),
        ("ProcessCallTime_num_ops", "2"),
        ("numActiveHandler", "0"),
    ] {
        assert_eq!(attribute(&bean, name), value, "{name}");
    }
    assert_ne!(attribute(&bean, "RequestSize_min"), "0");
    let body = web.body("/metrics").await;
    for line in [
        "halite_rpc_exceptions_by_class_total{exception=\"NotServingRegionException\"} 1",
        "halite_operation_duration_seconds_count{operation=\"Delete\"} 2",
    ] {
        assert!(body.lines().any(|found| found == line), "{line}:\n{body}");
    }
}

#[tokio::test]
async fn rejected_frames_and_failed_multi_actions_are_counted() {
    let web = Web::with(|config| {
        (config.limits.max_request_bytes, config.limits.max_result_bytes) = (100_000, 1);
    })
    .await;
    let region = specifier(&web.engine.regions(&"t1".parse().unwrap()).unwrap().remove(0));
    let gone = pb::RegionSpecifier { r#type: 2, value: "33b36c58f0da118f6c22fc0c24d60bf4".into() };
    let mut client = Client::connect(web.handle.addresses().regionserver).await;
    // One get fills the response and the other two do not fit; two gets of a region that does not
    // exist are one exception.
    let get = || pb::Action {
        get: Some(pb::Get { row: "row".into(), ..Default::default() }),
        ..Default::default()
    };
    let on = |region, count| pb::RegionAction {
        region,
        action: (0..count).map(|_| get()).collect(),
        ..Default::default()
    };
    client
        .call::<ClientMulti>(&pb::MultiRequest {
            region_action: vec![on(region, 3), on(gone, 2)],
            ..Default::default()
        })
        .await;
    // An unknown method, and a request of 200,000 announced bytes.
    client.send(b"\0\0\0\x0a\x08\x08\x07\x1a\x02gg\x20\x01\0").await;
    client.send(b"\0\x03\x0d\x40\x0a\x08\xac\x02\x1a\x03Get\x20\x01\xff\xff").await;
    let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=IPC").await;
    for (name, value) in [
        ("exceptions", "5"),
        ("exceptions.multiResponseTooLarge", "2"),
        ("exceptions.NotServingRegionException", "1"),
        ("exceptions.requestTooBig", "1"),
        ("exceptions.otherExceptions", "1"),
        ("RequestSize_num_ops", "1"),
    ] {
        assert_eq!(attribute(&bean, name), value, "{name}");
    }
    let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=Master,sub=IPC").await;
    assert_eq!(attribute(&bean, "exceptions"), "0");
    let body = web.body("/metrics").await;
    for line in [
        "halite_rpc_exceptions_by_class_total{exception=\"multiResponseTooLarge\"} 2",
        "halite_rpc_exceptions_by_class_total{exception=\"requestTooBig\"} 1",
        "halite_rpc_exceptions_total{service=\"ClientService\",method=\"Multi\"} 3",
        "halite_rpc_exceptions_total{service=\"ClientService\"} 2",
    ] {
        assert!(body.lines().any(|found| found == line), "{line}:\n{body}");
    }
}

#[tokio::test]
async fn only_reads_of_many_cells_use_handler_thread() {
    let web = Web::start().await;
    let region = specifier(&web.engine.regions(&"t1".parse().unwrap()).unwrap().remove(0));
    let table = web.engine.table(&"t1".parse().unwrap()).unwrap();
    for (row, cells) in [("half", 1001), ("long", 2001)] {
        table
            .batch(vec![
                (0..cells)
                    .fold(Put::new(row), |put, at| put.add("f", format!("{at:06}"), "v"))
                    .into(),
            ])
            .unwrap();
    }
    let mut client = Client::connect(web.handle.addresses().regionserver).await;
    let get = |row: &'static str| pb::Get { row: row.into(), ..Default::default() };
    let multi = |count| {
        let action = (0..count)
            .map(|_| pb::Action { get: Some(get("half")), ..Default::default() })
            .collect();
        pb::MultiRequest {
            region_action: vec![pb::RegionAction {
                region: region.clone(),
                action,
                ..Default::default()
            }],
            ..Default::default()
        }
    };
    let waited = async || {
        let bean = web.body("/jmx?qry=Hadoop:service=HBase,name=RegionServer,sub=IPC").await;
        attribute(&bean, "QueueCallTime_num_ops").to_owned()
    };
    for row in ["row", "half"] {
        client.call::<ClientGet>(&pb::GetRequest { region: region.clone(), get: get(row) }).await;
    }
    client.call::<ClientMulti>(&multi(2)).await;
    assert_eq!(waited().await, "0");
    client.call::<ClientGet>(&pb::GetRequest { region: region.clone(), get: get("long") }).await;
    assert_eq!(waited().await, "1");
    // Each of the gets is small, and together they are not.
    client.call::<ClientMulti>(&multi(3)).await;
    assert_eq!(waited().await, "2");
}

#[tokio::test]
async fn probes_and_metrics_distinguish_full_disk_from_stopped_store() {
    let sim = SimEnv::new(1);
    let web = Web::over(sim.env(), None, |_| ()).await;
    let table = web.engine.table(&"t1".parse().unwrap()).unwrap();
    let put = || {
        table
            .batch(vec![Put::new("row").add("f", "q", "value").into()])
            .and_then(|mut results| results.remove(0))
    };
    let probed = async || {
        let (health, body) = web.get("/health").await;
        let (ready, _) = web.get("/ready").await;
        let status = |head: &str| head[9..12].to_owned();
        let metrics = web.body("/metrics").await;
        let state = metrics
            .lines()
            .find_map(|line| {
                line.strip_prefix("halite_store_state{state=\"")?.strip_suffix("\"} 1.0")
            })
            .unwrap()
            .to_owned();
        (status(&health), status(&ready), state, body)
    };
    let (health, ready, state, body) = probed().await;
    assert_eq!([&*health, &ready, &state], ["200", "200", "open"]);
    assert!(
        body.contains("\"state\": \"open\"") && !body.contains("reason") && !body.contains("disk"),
        "{body}"
    );

    sim.fs.set_capacity(Some(sim.fs.used_bytes() + 1000));
    let (health, ready, state, body) = probed().await;
    assert_eq!([&*health, &ready, &state], ["200", "503", "refusing"]);
    assert_eq!(
        (attribute(&body, "state"), attribute(&body, "disk_free_bytes")),
        ("\"refusing\"", "1000")
    );
    assert!(attribute(&body, "reason").contains("make room"), "{body}");
    assert!(web.body("/metrics").await.contains("halite_disk_free_bytes 1000.0\n"));
    assert!(put().is_err());

    sim.fs.set_capacity(None);
    assert_eq!(probed().await.2, "open");
    sim.clock.advance_ms(1000);
    put().unwrap();

    sim.fs.inject(InjectedFault::next(FsCall::Sync, "wal", std::io::ErrorKind::Other));
    assert!(put().is_err());
    let (health, ready, state, body) = probed().await;
    assert_eq!([&*health, &ready, &state], ["503", "503", "stopped"]);
    assert!(attribute(&body, "reason").contains("syncing log segment"), "{body}");
    let reason = web.handle.store_stopped().await.unwrap();
    assert!(reason.message().contains("syncing log segment"), "{reason}");
    assert!(web.body("/").await.contains("stopped: syncing log segment"));
}

/// Client of the region server, with one call at a time.
struct Client {
    stream: TcpStream,
    input: BytesMut,
}

impl Client {
    async fn connect(address: SocketAddr) -> Self {
        let mut out = BytesMut::new();
        let version_info = Some(pb::VersionInfo {
            version: "2.6.4".to_owned(),
            version_major: Some(2),
            version_minor: Some(6),
            ..Default::default()
        });
        let header = pb::ConnectionHeader {
            service_name: Some(Service::Client.name().to_owned()),
            version_info,
            ..Default::default()
        };
        rpc::encode_connection(Auth::Simple, &header, &mut out).unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&out).await.unwrap();
        Self { stream, input: BytesMut::new() }
    }

    /// Sends a request and waits for any response.
    async fn call<C: RpcMethod>(&mut self, request: &C::Request) {
        let mut out = BytesMut::new();
        rpc::encode_request::<C>(1, request, RequestOptions::default(), None, &mut out).unwrap();
        self.send(&out).await;
    }

    /// Sends bytes and waits for any response.
    async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
        while !matches!(
            rpc::next_frame(&mut self.input, &RpcLimits::default()).unwrap(),
            rpc::FrameStatus::Frame(_)
        ) {
            assert!(self.stream.read_buf(&mut self.input).await.unwrap() > 0, "the server closed");
        }
    }
}

#[tokio::test]
async fn single_attribute_is_returned_and_unknown_one_rejected() {
    let web = Web::start().await;
    let body = web.body("/jmx?get=java.lang:type=Runtime::Pid").await;
    assert_eq!(attribute(&body, "Pid"), std::process::id().to_string());
    assert!(!body.contains("Uptime"), "{body}");
    assert!(
        web.get("/jmx?get=java.lang:type=Runtime::Nothing").await.0.starts_with("HTTP/1.1 400 ")
    );
    assert_eq!(web.body("/jmx?qry=no.such:*").await, "{\n  \"beans\": []\n}");
    assert!(web.get("/nowhere").await.0.starts_with("HTTP/1.1 404 "));
}

#[tokio::test]
async fn prometheus_samples_have_type_and_end_marker() {
    let web = Web::start().await;
    let (head, body) = web.get("/metrics").await;
    assert!(head.contains("content-type: application/openmetrics-text"), "{head}");
    assert!(body.ends_with("# EOF\n"));
    for line in [
        "halite_table_read_requests_total{table=\"t1\"} 2",
        "halite_table_write_requests_total{table=\"t1\"} 1",
        "halite_table_regions{table=\"t2\"} 1.0",
    ] {
        assert!(body.lines().any(|found| found == line), "{line}:\n{body}");
    }
    let mut families = BTreeSet::new();
    for line in body.lines().filter(|line| *line != "# EOF") {
        if let Some(named) = line.strip_prefix("# TYPE ") {
            assert!(families.insert(named.split(' ').next().unwrap()), "twice: {line}");
        } else if !line.starts_with('#') {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            let name = sample.split('{').next().unwrap();
            let family = ["_total", "_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix))
                .unwrap_or(name);
            assert!(families.contains(family) || families.contains(name), "no type: {line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
    let resident =
        body.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes ")).unwrap();
    assert!(resident.parse::<f64>().unwrap() > 1e6, "{resident}");
    let value = |name: &str| {
        let line = body.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse::<f64>().unwrap()
    };
    let allocator = value("halite_allocator_bytes ");
    assert!(allocator > 1e5 && allocator <= resident.parse::<f64>().unwrap(), "{allocator}");
    assert!(value("halite_memstore_bytes ") >= 0.0);
}

#[tokio::test]
async fn status_page_lists_addresses_and_tables() {
    let web = Web::start().await;
    let page = web.body("/").await;
    let addresses = web.handle.addresses();
    for said in [
        format!("{}", addresses.zookeeper.unwrap()),
        format!("{}", addresses.regionserver),
        web.handle.cluster_id().to_owned(),
    ] {
        assert!(page.contains(&said), "{said}:\n{page}");
    }
    let t1 = page.lines().find(|line| line.starts_with("t1 ")).unwrap();
    assert_eq!(t1.split_whitespace().skip(5).collect::<Vec<_>>(), ["2", "1"]);
}

#[tokio::test]
async fn shutdown_completes_with_idle_client_connections() {
    let web = Web::start().await;
    let mut silent = TcpStream::connect(web.address()).await.unwrap();
    let mut half = TcpStream::connect(web.address()).await.unwrap();
    half.write_all(b"GET /metrics HT").await.unwrap();
    web.body("/").await;
    tokio::time::timeout(Duration::from_mins(2), web.handle.shutdown()).await.unwrap();
    for stream in [&mut silent, &mut half] {
        assert!(matches!(stream.read(&mut [0; 8]).await, Ok(0) | Err(_)));
    }
}

#[tokio::test]
async fn hbase_shell_lists_running_tasks() {
    let web = Web::start().await;
    for filter in ["general", "all", "rpc"] {
        assert_eq!(
            web.body(&format!("/rs-status?format=json&filter={filter}"))
                .await
                .split_whitespace()
                .collect::<String>(),
            "[]"
        );
    }
    assert!(web.body("/rs-status").await.contains("t1"));
}

#[tokio::test]
async fn router_of_caller_answers_other_paths_and_browsers() {
    let router = axum::Router::new().fallback(|request: axum::extract::Request| async move {
        format!("router: {}", request.uri().path())
    });
    let web = Web::with(|config| config.web = Some(router)).await;
    let html = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";
    for (path, accepted) in
        [("/", html), ("/tables", "*/*"), ("/api/cluster", "*/*"), ("/rs-status", "*/*")]
    {
        let (_, body) = web.get_accepting(path, accepted).await;
        assert_eq!(body, format!("router: {path}"));
    }
    for path in ["/", "/status.txt"] {
        assert!(web.body(path).await.starts_with("Halite "), "{path}");
    }
    assert_eq!(web.body("/rs-status?format=json").await, "[]");
    for path in ["/metrics", "/jmx", "/health", "/ready"] {
        assert!(!web.body(path).await.starts_with("router: "), "{path}");
    }
    // Without a router, browsers get the page of text too.
    let plain = Web::start().await;
    assert!(plain.get_accepting("/", html).await.1.contains("t1"));
    assert!(plain.get("/tables").await.0.starts_with("HTTP/1.1 404 "));
}
