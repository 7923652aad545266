//! Declared row keys through the public API: a struct as a key, a table that stores its
//! declaration, scans over its fields.

use halite::rowkey::KeySchema;
use halite::rowkey::language::{Statement, TableDeclaration};
use halite::rowkey::typed::TsMillis;
use halite::{Put, RowKey, block_on};
use halite_engine::env::sim::SimEnv;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, RowKey)]
#[row_key(table = "sensor_data", salt(16, by = "device_id"))]
struct SensorKey<'a> {
    device_id: &'a str,
    #[key(desc)]
    ts: TsMillis,
}

const T0: i64 = 1_710_460_800_000;

#[test]
fn struct_rows_are_queried_by_field_in_key_order() {
    let sim = SimEnv::new(1);
    let store = super::reopen(&sim);
    let text = format!("CREATE TABLE sensor_data (v DOUBLE FAMILY d, {})", SensorKey::SCHEMA);
    let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
    store.create_table(declaration.described(), &[]).unwrap();
    let table = store.table(SensorKey::TABLE).unwrap();
    let devices: Vec<String> = (0..40).map(|device| format!("s{device:02}")).collect();
    for device in &devices {
        for minute in 0..5 {
            let key = SensorKey { device_id: device, ts: TsMillis(T0 + minute * 60_000) };
            table.put(Put::new(key.encode().unwrap()).add("d", "v", "1")).unwrap();
        }
    }
    let found = |scan: halite::Result<halite::rowkey::Scatter>| {
        let mut rows = scan.unwrap();
        let mut keys: Vec<(String, i64)> = Vec::new();
        while let Some(row) = block_on(rows.next()).unwrap() {
            let key = SensorKey::decode(row.key()).unwrap();
            keys.push((key.device_id.to_owned(), (key.ts.0 - T0) / 60_000));
        }
        keys
    };
    let table = store.cluster().table(&SensorKey::TABLE.parse().unwrap());
    let newest = found(SensorKey::scan().device_id("s07").limit(2).rows(table.clone()));
    assert_eq!(newest, [("s07".to_owned(), 4), ("s07".to_owned(), 3)]);
    let middle = found(
        SensorKey::scan().ts(TsMillis(T0 + 60_000)..TsMillis(T0 + 180_000)).rows(table.clone()),
    );
    let wanted: Vec<_> =
        devices.iter().flat_map(|device| [(device.clone(), 2), (device.clone(), 1)]).collect();
    assert_eq!(middle, wanted);
}

#[test]
fn key_declaration_in_descriptor_survives_restart() {
    let sim = SimEnv::new(2);
    let text = "CREATE TABLE t (v DOUBLE FAMILY d QUALIFIER 'x', ROW KEY (SALT(4 BY a), a STRING)) \
                WITH QUERIES (one: a = ?)";
    let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
    let store = super::reopen(&sim);
    store.create_table(declaration.described(), &[]).unwrap();
    store.close().unwrap();
    let store = super::reopen(&sim);
    let table = block_on(store.cluster().table(&"t".parse().unwrap()).descriptor()).unwrap();
    assert_eq!(KeySchema::from_descriptor(&table).unwrap().unwrap(), declaration.key);
    assert_eq!(TableDeclaration::from_descriptor(&table).unwrap().unwrap(), declaration);
}
