//! Files and tables of a program, joined with those of the cluster.

use std::sync::Arc;

use halite_sql::datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use halite_sql::datafusion::arrow::datatypes::DataType;
use halite_sql::datafusion::common::ScalarValue;
use halite_sql::datafusion::datasource::MemTable;
use halite_sql::datafusion::prelude::CsvReadOptions;

use crate::store::{Rows, TestStore};

fn store() -> TestStore {
    let store = TestStore::new();
    store.run("CREATE TABLE readings (v F64, ROW KEY (device STRING, at I64))").expect("a table");
    store
        .run(
            "UPSERT INTO readings (device, at, v) VALUES ('d1', 1, 1.5), ('d1', 2, 2.5), \
             ('d2', 1, 7), ('d9', 1, 9)",
        )
        .expect("rows");
    store
}

#[test]
fn csv_files_are_joined_with_tables_and_written_into_them() {
    let store = store();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("places.csv");
    std::fs::write(&path, "id,place\nd1,north\nd2,south\nd3,west\n").expect("a file");
    let path = path.to_str().expect("a path");
    store.runtime.block_on(async {
        let session = store.sql.session();
        session.register_csv("places", path, CsvReadOptions::new()).await.expect("a file");
    });
    let joined = "SELECT p.place, count(*), sum(r.v) FROM places p JOIN readings r ON r.device = p.id \
                  GROUP BY p.place ORDER BY p.place";
    assert_eq!(store.rows(joined), ["north|2|4.0", "south|1|7.0"]);
    // The few values of the file become ranges of the key.
    let plan = store.rows(&format!("EXPLAIN ANALYZE {joined}")).join("\n");
    assert!(plan.contains("the other side's values left"), "{plan}");
    assert!(plan.contains("3 rows examined"), "{plan}");
    store.run("CREATE TABLE devices (place STRING, ROW KEY (id STRING))").expect("a table");
    store.run("INSERT INTO devices (id, place) SELECT id, place FROM places").expect("rows");
    assert_eq!(store.rows("SELECT id FROM devices WHERE place = 'west'"), ["d3"]);
    // Another session of the program sees it as well.
    let other = store.sql.another();
    let rows = store.runtime.block_on(async {
        let mut answer = other.run("SELECT count(*) FROM places").await.expect("a count");
        Rows::of(&mut answer).await.expect("rows")
    });
    assert_eq!(rows.rows, [["3"]]);
}

#[test]
fn query_takes_values_for_parameters() {
    let store = store();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 5]));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).expect("a batch");
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).expect("a table");
    store.sql.session().register_table("numbers", Arc::new(table)).expect("a table");
    store.runtime.block_on(async {
        let values = [ScalarValue::from("d1"), ScalarValue::from(2i64)];
        let text = "SELECT v FROM readings WHERE device = $1 AND at = $2";
        let mut answer = store.sql.query(text, &values).await.expect("rows");
        assert_eq!(answer.schema().field(0).data_type(), &DataType::Float64);
        assert_eq!(Rows::of(&mut answer).await.expect("rows").rows, [["2.5"]]);
        let text = "SELECT r.device FROM readings r JOIN numbers m ON m.n = r.at WHERE r.v > $1";
        let mut answer = store.sql.query(text, &[ScalarValue::from(5.0)]).await.expect("rows");
        let mut rows = Rows::of(&mut answer).await.expect("rows").rows;
        rows.sort();
        assert_eq!(rows, [["d2"], ["d9"]]);
        let missing = store.sql.query("SELECT $1::bigint", &[]).await.err().expect("no value");
        assert_eq!(missing.state.code(), "42P02");
    });
}
