//! Seed corpora of the fuzzer: valid requests, replies and sessions to be damaged.

use std::path::PathBuf;

use bytes::BytesMut;
use halite_rowkey::{KeySchema, SaltGenerator, series};
use halite_types::cell::CellParts;
use halite_types::{CellType, Cells, CellsBuilder, Get, Put, Scan, TableDescriptor};
use halite_wire::cellblock::CellBlockFormat;
use halite_wire::convert;
use halite_wire::proto as pb;
use halite_wire::rpc::{
    Auth, RequestOptions, encode_connection, encode_exception, encode_request, encode_response,
};
use halite_wire::service::{self, RpcMethod, Service};
use halite_wire::{exception, zk};

/// Placeholder for the encoded name of a region, with the same length: the real name is known only
/// at run time.
pub(crate) const REGION: &str = "0123456789abcdef0123456789abcdef";

/// Environment variable with the directory of the fuzzer's corpus.
const FOLDER: &str = "HALITE_FUZZ_CORPUS_DIR";

/// Writes the common seeds of a target, and additional ones, into the directory named by the
/// environment, if it is set.
pub(crate) fn write(target: &str, more: Vec<Vec<u8>>) {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let seeds = match target {
        "frames" => for_frames(),
        "server" => for_server(),
        "rowkey" => for_rowkey(),
        "disk" => for_disk(),
        "codecs" | "hbase_wal" | "pg" | "sql" => Vec::new(),
        _ => for_zookeeper(),
    };
    for (number, seed) in seeds.into_iter().chain(more).enumerate() {
        let path = folder.join(format!("seed-{number}"));
        std::fs::write(&path, seed).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

fn for_frames() -> Vec<Vec<u8>> {
    let connection = connection();
    let mut seeds = vec![[&[0], &connection[..6], &connection[10..]].concat()];
    for (service, frame) in requests() {
        let index = Service::ALL.iter().position(|other| *other == service).expect("a service");
        seeds
            .push([&[1, 0, u8::try_from(index).expect("few services")], frame.as_slice()].concat());
    }
    seeds.extend(responses().iter().map(|frame| [&[2, 0, 0], frame.as_slice()].concat()));
    seeds
}

fn for_server() -> Vec<Vec<u8>> {
    let mut seeds = vec![[&[0][..], &connection()].concat()];
    for (service, frame) in requests() {
        let choice = match service {
            Service::Client => 1,
            Service::Master => 2,
            _ => 3,
        };
        let piece = &frame[4..];
        let length = u16::try_from(piece.len()).expect("seeds are small").to_be_bytes();
        seeds.push([&[choice], &length[..], piece].concat());
    }
    seeds.extend(sessions().iter().map(|packets| [&[5], packets.as_slice()].concat()));
    seeds
}

/// Returns whole files, each unchanged and with one change, read in every way.
fn for_disk() -> Vec<Vec<u8>> {
    let ways = [0, 2, 4 | 8, 16, 32 | 64, 1];
    let files = (0..4).flat_map(|store| (0..30).map(move |file| [store, file]));
    // For a log, a byte in front selects the record.
    let changes: [&[u8]; 5] =
        [&[], &[1, 3, 0, 9, 2], &[3, 0, 1, 10], &[0, 0, 60, 2, 7, 7], &[2, 3, 0, 30, 1]];
    let numbered = files.flat_map(|[store, file]| {
        changes.iter().zip(ways).map(move |(changes, way)| [&[store, file, way], *changes].concat())
    });
    numbered.collect()
}

fn for_zookeeper() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> =
        sessions().iter().map(|packets| [&[0], packets.as_slice()].concat()).collect();
    seeds.push([&[1], answers().as_slice()].concat());
    seeds
}

fn connection() -> Vec<u8> {
    let header = pb::ConnectionHeader {
        user_info: Some(pb::UserInformation { effective_user: "seed".to_owned(), real_user: None }),
        service_name: Some(Service::Client.name().to_owned()),
        cell_block_codec_class: Some("org.apache.hadoop.hbase.codec.KeyValueCodec".to_owned()),
        cell_block_compressor_class: Some("org.apache.hadoop.io.compress.GzipCodec".to_owned()),
        ..Default::default()
    };
    let mut out = BytesMut::new();
    encode_connection(Auth::Simple, &header, &mut out).expect("a small header");
    out.to_vec()
}

fn frame<C: RpcMethod>(message: &C::Request, cells: &[Cells]) -> (Service, Vec<u8>) {
    let mut out = BytesMut::new();
    let block = CellBlockFormat::default().block(cells).expect("small cells");
    let cells = (!cells.is_empty()).then_some(&block);
    encode_request::<C>(1, message, RequestOptions::default(), cells, &mut out)
        .expect("a small request");
    (C::METHOD.service(), out.to_vec())
}

fn region() -> pb::RegionSpecifier {
    let encoded = pb::region_specifier::RegionSpecifierType::EncodedRegionName;
    pb::RegionSpecifier { r#type: encoded.into(), value: REGION.as_bytes().into() }
}

fn one_cell() -> Cells {
    let mut cells = CellsBuilder::default();
    let (row, family, qualifier) = (b"row".as_slice(), b"f".as_slice(), b"q".as_slice());
    cells.push_parts(CellParts {
        row,
        family,
        qualifier,
        timestamp: 1,
        cell_type: CellType::Put,
        value: b"value",
        tags: &[],
    });
    cells.finish()
}

fn put() -> pb::MutationProto {
    let value = pb::mutation_proto::column_value::QualifierValue {
        qualifier: Some("q".into()),
        value: Some("v".into()),
        ..Default::default()
    };
    pb::MutationProto {
        row: Some("row".into()),
        mutate_type: Some(pb::mutation_proto::MutationType::Put.into()),
        column_value: vec![pb::mutation_proto::ColumnValue {
            family: "f".into(),
            qualifier_value: vec![value],
        }],
        timestamp: Some(1),
        durability: Some(pb::mutation_proto::Durability::UseDefault.into()),
        ..Default::default()
    }
}

fn requests() -> Vec<(Service, Vec<u8>)> {
    let get = convert::get::to_proto(&Get::new("a").column("f", "q")).expect("a get");
    let scan = convert::scan::to_proto(&Scan::prefix("a").into()).expect("a scan");
    let cells = one_cell();
    let action = |index, get, mutation| pb::Action {
        index: Some(index),
        get,
        mutation,
        ..Default::default()
    };
    let counted =
        pb::MutationProto { column_value: Vec::new(), associated_cell_count: Some(1), ..put() };
    let actions = vec![
        action(0, Some(get.clone()), None),
        action(1, None, Some(put())),
        action(2, None, Some(counted.clone())),
    ];
    let multi = pb::RegionAction {
        region: region(),
        atomic: Some(false),
        action: actions,
        ..Default::default()
    };
    let check = convert::condition::to_proto(&halite_types::CheckAndMutate::if_not_exists(
        "row",
        "f",
        "q",
        Put::new("row").add("f", "q", "v"),
    ));
    let table = TableDescriptor::new("s".parse().expect("a name"))
        .family(halite_types::FamilyDescriptor::new("f"));
    let mutate = |mutation, condition| pb::MutateRequest {
        region: region(),
        mutation,
        condition,
        ..Default::default()
    };
    vec![
        frame::<service::ClientGet>(&pb::GetRequest { region: region(), get: get.clone() }, &[]),
        frame::<service::ClientScan>(
            &pb::ScanRequest {
                region: Some(region()),
                scan: Some(scan),
                number_of_rows: Some(10),
                ..Default::default()
            },
            &[],
        ),
        frame::<service::ClientMutate>(&mutate(put(), None), &[]),
        frame::<service::ClientMutate>(&mutate(counted, check.ok()), std::slice::from_ref(&cells)),
        frame::<service::ClientMulti>(
            &pb::MultiRequest { region_action: vec![multi], ..Default::default() },
            &[cells],
        ),
        frame::<service::MasterCreateTable>(
            &pb::CreateTableRequest {
                table_schema: convert::schema::to_proto(&table),
                split_keys: vec!["k".into()],
                ..Default::default()
            },
            &[],
        ),
        frame::<service::MasterGetTableDescriptors>(
            &pb::GetTableDescriptorsRequest::default(),
            &[],
        ),
        frame::<service::MasterGetClusterStatus>(&pb::GetClusterStatusRequest::default(), &[]),
        frame::<service::AdminGetRegionInfo>(
            &pb::GetRegionInfoRequest { region: region(), ..Default::default() },
            &[],
        ),
    ]
}

fn responses() -> Vec<Vec<u8>> {
    let cells = [one_cell()];
    let block = CellBlockFormat::default().block(&cells).expect("small cells");
    let scan = pb::ScanResponse {
        cells_per_result: vec![1],
        scanner_id: Some(7),
        more_results: Some(true),
        ..Default::default()
    };
    let (mut with_cells, mut without) = (BytesMut::new(), BytesMut::new());
    encode_response(1, &scan, Some(&block), &mut with_cells).expect("a small answer");
    encode_exception(
        2,
        &exception::Exception::new(exception::ExceptionKind::DoNotRetry, "no"),
        &mut without,
    );
    vec![with_cells.to_vec(), without.to_vec()]
}

fn sessions() -> Vec<Vec<u8>> {
    let path = || "/hbase/meta-region-server".to_owned();
    let requests = [
        zk::Request::Exists { path: path(), watch: true },
        zk::Request::GetData { path: path(), watch: false },
        zk::Request::GetChildren2 { path: "/hbase".to_owned(), watch: false },
        zk::Request::SetWatches {
            relative_zxid: 1,
            data: vec![path()],
            exist: vec![],
            child: vec!["/".to_owned()],
        },
        zk::Request::Auth { kind: 0, scheme: "digest".to_owned(), auth: "a:b".into() },
        zk::Request::Ping,
        zk::Request::CloseSession,
    ];
    let mut whole = BytesMut::new();
    zk::ConnectRequest {
        timeout_ms: 10_000,
        password: vec![0; 16].into(),
        read_only: Some(false),
        ..Default::default()
    }
    .encode(&mut whole);
    for (xid, request) in (1..).zip(&requests) {
        zk::encode_request(xid, request, &mut whole);
    }
    vec![whole.to_vec(), b"ruok".to_vec(), b"mntr".to_vec()]
}

fn answers() -> Vec<u8> {
    let mut out = BytesMut::new();
    zk::ConnectResponse {
        timeout_ms: 10_000,
        session_id: 5,
        password: vec![1; 16].into(),
        ..Default::default()
    }
    .encode(&mut out);
    zk::encode_reply(1, 9, Ok(&zk::Reply::Data("content".into(), zk::Stat::default())), &mut out);
    zk::encode_reply(
        2,
        9,
        Ok(&zk::Reply::Children(vec!["a".to_owned(), "b".to_owned()])),
        &mut out,
    );
    zk::WatchEvent { kind: zk::WatchKind::DataChanged, path: "/hbase".to_owned() }.encode(&mut out);
    out.to_vec()
}

/// Statements and keys as they are declared and printed.
const STATEMENTS: &str = include_str!("../../crates/rowkey/testdata/statements.txt");
const KEYS: &str = include_str!("../../crates/rowkey/testdata/keys.txt");

/// Keys of every profile, transform and type, each with values in the format of `FieldType::parse`.
const SCHEMAS: &[(&str, &[&str])] = &[
    ("(SALT(16 BY device_id), device_id STRING, ts TIMESTAMP DESC)", &["s1", "2024-03-15"]),
    (
        "(a STRING, b BYTES DESC, c BOOL, d U8, e I64 DESC, f STRING NULLABLE)",
        &["a", "x'00ff'", "true", "7", "-1", "z"],
    ),
    (
        "(HASH(host BYTES 2 USING md5), host STRING, BUCKET(ts, '15m'), ts TIMESTAMP)",
        &["h", "2024-03-15"],
    ),
    (
        "(CONST 'v1', REVERSE(phone) CHAR(11), BITREV(id) U64, IPV4(ip), TRUNC(name, 4))",
        &["13812345678", "5", "10.0.0.1", "ab"],
    ),
    (
        "(f F32, g F64 DESC, d DECIMAL, u UUID, i IPV6, day DATE, w BYTES(3))",
        &[
            "1.5",
            "-2.5",
            "3.14",
            "00112233-4455-6677-8899-aabbccddeeff",
            "::1",
            "2024-03-15",
            "x'010203'",
        ],
    ),
    ("(SALT(1000 USING random), ts TIMESTAMP(us), writer U16 DESC)", &["2024-03-15", "7"]),
    ("(a I8, b STRING, c DECIMAL DESC, d BYTES) PROFILE ORDERED", &["1", "b", "12.5", "x'ff'"]),
    ("(a BYTES, b STRING DESC NULLABLE) PROFILE ORDERED COMPAT", &["x'01'", "z"]),
    (
        "(SALT(8 USING phoenix), a STRING, b I64 DESC, c DECIMAL, d STRING NULLABLE) PROFILE \
         PHOENIX",
        &["a", "5", "1.5", "d"],
    ),
    (
        "TEXT '{receiver}_{rev(ts):19}_{sender}' WHERE receiver MATCHES '[^_]+'",
        &["u1", "2024-03-15", "u2"],
    ),
    ("TEXT '{salt(1000 by k using java):3}{k}'", &["20150524002300_1232"]),
    ("TEXT '{md5(id):8}_{id}_{n I64:10}_{bucket(ts,15m):10}'", &["user_1", "7", "2024-03-15"]),
];

/// Returns the schemas, and some keys of each.
pub(crate) fn schemas() -> Vec<(KeySchema, Vec<Vec<u8>>)> {
    let of = |&(text, values): &(&str, &[&str])| {
        let schema: KeySchema = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let parsed = schema.fields().iter().zip(values).map(|(field, value)| {
            field.ty.parse(value).unwrap_or_else(|error| panic!("{text}: {error}"))
        });
        let keys = schema
            .encode_with(&parsed.collect::<Vec<_>>(), &SaltGenerator::seeded(1))
            .map(|key| key.to_vec())
            .into_iter()
            .collect();
        (schema, keys)
    };
    SCHEMAS.iter().map(of).collect()
}

fn for_rowkey() -> Vec<Vec<u8>> {
    let blocks = STATEMENTS.split("====\n").chain(KEYS.split("====\n"));
    let mut seeds: Vec<Vec<u8>> = blocks
        .filter_map(|block| block.split("\n----\n").next())
        .map(|text| [&[0], text.as_bytes()].concat())
        .collect();
    for (number, (schema, keys)) in (0..).zip(schemas()) {
        seeds.push([&[0], schema.to_text().as_bytes()].concat());
        for key in keys {
            let length = u16::try_from(key.len()).expect("a short key").to_be_bytes();
            seeds.push([&[1, number], &key[..]].concat());
            seeds.push([&[2, number], &length[..], &key, &key].concat());
        }
    }
    for value in [0.0, 20.5, f64::NAN, 1e300] {
        let points: Vec<_> = (0..40)
            .map(|index| series::Point {
                offset: index * 1000,
                value: value + if index % 7 == 0 { 0.1 } else { 0.0 },
            })
            .collect();
        seeds.extend(series::pack(&points).map(|packed| [&[3], &packed[..]].concat()));
    }
    seeds
}
