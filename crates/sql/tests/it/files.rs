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
#[cfg(feature = "files")]
fn parquet_files_of_each_codec_are_joined_with_tables_and_written_into_them() {
    use halite_sql::datafusion::dataframe::DataFrameWriteOptions;
    use halite_sql::datafusion::prelude::ParquetReadOptions;

    let store = store();
    let columns = "at TIMESTAMP, exact DECIMAL(12, 2), raw BYTES, flag BOOL, m MAP(STRING, I64) FAMILY \
                   maps PREFIX 'm'";
    let create = |name: &str| {
        format!("CREATE TABLE {name} (place STRING, {columns}, ROW KEY (id STRING, u UUID))")
    };
    store.run(&create("places")).expect("a table");
    let u = "'6f9619ff-8b86-d011-b42d-00c04fc964ff'";
    let rows = format!(
        "UPSERT INTO places (id, u, place, at, exact, raw, flag, m['a']) VALUES \
         ('d1', {u}, 'north', '2026-11-01 12:00:00.5', 12.25, X'00ff', true, 1), \
         ('d2', {u}, 'south', NULL, NULL, NULL, false, NULL)"
    );
    store.run(&rows).expect("rows");
    let fields = "id, u, place, at, exact, raw, flag";
    let all = |more: &str, from: &str| {
        store.rows(&format!("SELECT {fields}{more} FROM {from} ORDER BY id"))
    };
    let directory = tempfile::tempdir().expect("a directory");
    for codec in ["uncompressed", "snappy", "gzip(6)", "brotli(1)", "lz4_raw", "zstd(1)"] {
        let name = codec.split('(').next().expect("a name");
        let path = directory.path().join(format!("{name}.parquet"));
        let path = path.to_str().expect("a path");
        store.runtime.block_on(async {
            let session = store.sql.session();
            let mut answer = store.sql.run("SELECT * FROM places").await.expect("rows");
            let batches = answer.batches().await.expect("rows");
            let options = DataFrameWriteOptions::new().with_single_file_output(true);
            let mut parquet = session.copied_table_options().parquet;
            parquet.global.compression = Some(codec.to_owned());
            let rows = session.read_batches(batches).expect("rows");
            rows.write_parquet(path, options, Some(parquet)).await.expect("a file");
            let name = format!("{name}_file");
            // Metadata of fields tells UUID from other bytes.
            let options = ParquetReadOptions::default().skip_metadata(false);
            session.register_parquet(name, path, options).await.expect("it");
        });
        assert_eq!(all(", m", &format!("{name}_file")), all(", m", "places"), "{codec}");
        let joined = format!(
            "SELECT p.place, count(*), sum(r.v) FROM {name}_file p JOIN readings r \
             ON r.device = p.id GROUP BY p.place ORDER BY p.place"
        );
        assert_eq!(store.rows(&joined), ["north|2|4.0", "south|1|7.0"]);
        let plan = store.rows(&format!("EXPLAIN ANALYZE {joined}")).join("\n");
        assert!(plan.contains("3 rows examined"), "{plan}");
        store.run(&create(&format!("{name}_copy"))).expect("a table");
        let copy = format!("INSERT INTO {name}_copy ({fields}) SELECT {fields} FROM {name}_file");
        store.run(&copy).expect("rows");
        assert_eq!(all("", &format!("{name}_copy")), all("", "places"), "{codec}");
    }
    // Statements name no files.
    let file = directory.path().join("zstd.parquet");
    for text in [
        format!("SELECT * FROM '{}'", file.display()),
        format!("SELECT * FROM \"{}\"", file.display()),
        format!("CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION '{}'", file.display()),
        format!("COPY (SELECT 1) TO '{}' STORED AS PARQUET", file.display()),
        "SELECT * FROM read_parquet('a')".to_owned(),
    ] {
        assert!(store.run(&text).is_err(), "{text}");
    }
}

#[test]
#[cfg(feature = "files")]
fn damaged_parquet_file_is_an_error() {
    use halite_sql::datafusion::dataframe::DataFrameWriteOptions;
    use halite_sql::datafusion::prelude::ParquetReadOptions;

    let store = store();
    let directory = tempfile::tempdir().expect("a directory");
    let whole = directory.path().join("whole.parquet");
    store.runtime.block_on(async {
        let rows = store.sql.session().sql("SELECT 1 AS one").await.expect("a row");
        let options = DataFrameWriteOptions::new().with_single_file_output(true);
        rows.write_parquet(whole.to_str().expect("a path"), options, None).await.expect("a file");
    });
    let whole = std::fs::read(&whole).expect("the file");
    let cut = whole[..whole.len() - 9].to_vec();
    for (name, bytes) in [("other", b"id,place\n".to_vec()), ("cut", cut), ("whole", whole)] {
        let path = directory.path().join(format!("{name}_file.parquet"));
        std::fs::write(&path, bytes).expect("a file");
        let path = path.to_str().expect("a path");
        let registered = store.runtime.block_on(async {
            let session = store.sql.session();
            session.register_parquet(name, path, ParquetReadOptions::default()).await
        });
        let is_read = registered.is_ok() && store.run(&format!("SELECT * FROM {name}")).is_ok();
        assert_eq!(is_read, name == "whole", "{name}");
    }
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
