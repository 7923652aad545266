//! `SPLIT ROLLING`: regions exist before their time range begins.
#![expect(clippy::unwrap_used, reason = "a test ends where something fails")]

use std::time::{Duration, Instant};

use halite::rowkey::language::Statement;
use halite::rowkey::split::extend_rolling_splits;
use halite::{BlockingCluster, Put, TableName, block_on};

/// 2024-03-15T08:30:00Z.
const NOW: i64 = 1_710_491_400_000;
const DAY: i64 = 86_400_000;

fn create(cluster: &BlockingCluster, name: &str) -> TableName {
    let text = format!(
        "CREATE TABLE {name} (v DOUBLE FAMILY d, ROW KEY (SALT(2 BY host), day DATE, host STRING)) \
         SPLIT ROLLING '1d'"
    );
    let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
    cluster.create_table(declaration.described(), &[]).unwrap();
    name.parse().unwrap()
}

#[test]
fn regions_of_next_days_are_created_and_others_kept() {
    let backend = crate::backends::Embedded::open();
    let name = create(&backend.cluster, "metrics");
    let table = backend.cluster.table("metrics").unwrap();
    let starts = || {
        table
            .regions()
            .unwrap()
            .iter()
            .map(|region| halite::key::to_hex(&region.start))
            .collect::<Vec<_>>()
    };
    table.put(Put::new(&b"\x01\x80\x00\x4d\x56host"[..]).add("d", "v", "1")).unwrap();
    let rolled =
        block_on(extend_rolling_splits(&**backend.cluster.cluster(), &name, NOW, 1)).unwrap();
    assert_eq!((rolled.created.len(), rolled.existing), (4, 0));
    assert_eq!(starts(), ["", "0080004d55", "0080004d56", "0180004d55", "0180004d56"]);
    let again =
        block_on(extend_rolling_splits(&**backend.cluster.cluster(), &name, NOW + 60_000, 1))
            .unwrap();
    assert_eq!((again.created.len(), again.existing), (0, 4));
    let next =
        block_on(extend_rolling_splits(&**backend.cluster.cluster(), &name, NOW + DAY, 1)).unwrap();
    assert_eq!((next.created.len(), next.existing), (2, 2));
    assert_eq!(table.scan(halite::Scan::all()).count(), 1);
    let plain = backend.cluster.cluster().admin();
    let descriptor = halite::TableDescriptor::new("plain".parse().unwrap())
        .family(halite::FamilyDescriptor::new("d"));
    block_on(plain.create_table(descriptor, Vec::new())).unwrap();
    let error = block_on(extend_rolling_splits(
        &**backend.cluster.cluster(),
        &"plain".parse().unwrap(),
        NOW,
        1,
    ))
    .unwrap_err();
    assert!(error.to_string().contains("does not declare SPLIT ROLLING"), "{error}");
}

#[test]
fn server_creates_rolling_regions_automatically() {
    let cluster = &crate::backends::served().cluster;
    create(cluster, "rolling");
    let table = cluster.table("rolling").unwrap();
    let until = Instant::now() + Duration::from_mins(2);
    // Of two salts, today and the next two days.
    while table.regions().unwrap().len() < 7 {
        assert!(Instant::now() < until, "{} regions", table.regions().unwrap().len());
        std::thread::sleep(Duration::from_millis(50));
    }
}
