//! Dictionaries of `DICT` fields in a table: permanent numbers, and one number per value, whichever
//! client requests it first.
#![expect(clippy::unwrap_used, reason = "a test ends where something fails")]

use std::collections::BTreeSet;
use std::sync::Arc;

use halite::rowkey::plan::{KeyQuery, Plan, PlanOptions};
use halite::rowkey::{Dictionary, KeyResolver, KeySchema, Scatter, ScatterOptions, Value};
use halite::{
    BlockingCluster, ErrorKind, FamilyDescriptor, Put, Scan, TableDescriptor, TableName, block_on,
};

const KEY: &str = "(SALT(4 BY metric), DICT(metric, 1), DICT(host, 2), ts TIMESTAMP DESC)";

fn open(cluster: &BlockingCluster, name: &str, key: &KeySchema) -> Dictionary {
    block_on(Dictionary::open(&**cluster.cluster(), &name.parse().unwrap(), key)).unwrap()
}

fn values(metric: &str, host: &str, ts: i64) -> Vec<Value<'static>> {
    vec![
        Value::Text(metric.to_owned().into()),
        Value::Text(host.to_owned().into()),
        Value::Signed(ts),
    ]
}

fn numbers_last(cluster: &BlockingCluster, table: &str) {
    let key: KeySchema = KEY.parse().unwrap();
    let name: TableName = table.parse().unwrap();
    cluster
        .create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("d")), &[])
        .unwrap();
    let dictionary = open(cluster, table, &key);
    let rows = cluster.table(table).unwrap();
    for index in 0..60 {
        let values = values(
            ["cpu", "disk\0", "cp"][index % 3],
            &format!("host{}", index % 7),
            i64::try_from(index).unwrap(),
        );
        assert_eq!(
            key.encode_with(&values, &dictionary).is_err(),
            index < 7
                && (index < 3
                    || dictionary
                        .dictionary_id(1, format!("host{}", index % 7).as_bytes())
                        .is_none())
        );
        block_on(dictionary.assign(&values)).unwrap();
        rows.put(
            Put::new(key.encode_with(&values, &dictionary).unwrap().to_vec()).add("d", "v", "1"),
        )
        .unwrap();
    }
    assert_eq!(
        (1..=3).map(|id| dictionary.dictionary_value(0, id).unwrap()).collect::<Vec<_>>(),
        [&b"cpu"[..], b"disk\0", b"cp"]
    );
    // Another process reads them, and plans queries with them.
    let again = Arc::new(open(cluster, table, &key));
    let key = Arc::new(key);
    let count = |condition: &str| {
        let options =
            PlanOptions { resolver: Some(Arc::clone(&again) as _), ..PlanOptions::default() };
        let plan = Arc::new(
            Plan::new(&key, &KeyQuery::all().with_condition(&key, condition).unwrap(), &options)
                .unwrap(),
        );
        let mut found = Scatter::new(
            cluster.cluster().table(&name),
            plan,
            Scan::all(),
            &ScatterOptions::default(),
            None,
        )
        .unwrap();
        let mut count = 0;
        while block_on(found.next()).unwrap().is_some() {
            count += 1;
        }
        count
    };
    assert_eq!(
        (count("metric=cpu"), count("metric=cp"), count("host=host6"), count("metric=gpu")),
        (20, 20, 8, 0)
    );
}

#[test]
fn dictionary_numbers_are_stable_and_used_by_queries() {
    numbers_last(&crate::backends::Embedded::open().cluster, "dict_numbers");
    numbers_last(&crate::backends::served().cluster, "dict_numbers");
}

#[test]
fn concurrent_writers_assign_one_number_per_value() {
    let backend = crate::backends::Embedded::open();
    let key: KeySchema = KEY.parse().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (key, cluster) = (&key, &backend.cluster);
            scope.spawn(move || {
                let dictionary = open(cluster, "t", key);
                for index in 0..30 {
                    block_on(dictionary.assign(&values(
                        &format!("m{}", (index * 7 + writer) % 30),
                        "h",
                        0,
                    )))
                    .unwrap();
                }
            });
        }
    });
    let dictionary = open(&backend.cluster, "t", &key);
    let ids: BTreeSet<_> = (0..30)
        .map(|index| dictionary.dictionary_id(0, format!("m{index}").as_bytes()).unwrap())
        .collect();
    assert_eq!(ids.len(), 30, "two values have one number");
    for index in 0..30 {
        let name = format!("m{index}");
        let id = dictionary.dictionary_id(0, name.as_bytes()).unwrap();
        assert_eq!(dictionary.dictionary_value(0, id).unwrap(), name.as_bytes());
    }
}

#[test]
fn full_dictionary_is_reported() {
    let backend = crate::backends::Embedded::open();
    let key: KeySchema = "(DICT(metric, 1), host STRING)".parse().unwrap();
    let dictionary = open(&backend.cluster, "t", &key);
    let of = |index: u32| [Value::Text(format!("m{index}").into()), Value::Text("h".into())];
    (0..255).for_each(|index| block_on(dictionary.assign(&of(index))).unwrap());
    let error = block_on(dictionary.assign(&of(255))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(
        error.to_string().contains("the dictionary of metric has no more numbers of 1 bytes"),
        "{error}"
    );
    assert!(key.encode_with(&of(254), &dictionary).is_ok());
}
