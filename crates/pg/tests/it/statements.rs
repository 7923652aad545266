//! Statements: values in both forms, prepared statements, portals, settings, cancel and timeout.

use std::time::{Duration, Instant};

use tokio_postgres::types::Type;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::door::{Door, cancelled, code};

#[test]
fn rows_come_as_text_and_in_binary() {
    let door = Door::with_rows(3);
    let client = door.client();
    assert_eq!(
        door.rows(&client, "SELECT n, name, v FROM t WHERE n > 0"),
        ["1|row 1|10", "2|row 2|20"]
    );
    let rows =
        door.runtime.block_on(client.query("SELECT n, name, v FROM t WHERE n = $1", &[&2i64]));
    let rows = rows.expect("rows");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].get::<_, i64>("n"), 2);
    assert_eq!(rows[0].get::<_, &str>("name"), "row 2");
    assert_eq!(rows[0].get::<_, i64>("v"), 20);
}

#[test]
fn prepared_statement_has_the_types_of_its_columns() {
    let door = Door::with_rows(10);
    let client = door.client();
    door.runtime.block_on(async {
        let text =
            "SELECT name, v * 2 AS w FROM t WHERE n BETWEEN $1 AND $2 AND name <> $3 LIMIT $4";
        let statement = client.prepare(text).await.expect("a statement");
        assert_eq!(statement.params(), [Type::INT8, Type::INT8, Type::TEXT, Type::INT8]);
        let columns: Vec<_> =
            statement.columns().iter().map(|column| column.type_().clone()).collect();
        assert_eq!(columns, [Type::TEXT, Type::INT8]);
        for (from, count) in [(0i64, 2), (8, 1)] {
            let rows = client.query(&statement, &[&from, &(from + 5), &"row 8", &2i64]).await;
            assert_eq!(rows.expect("rows").len(), count, "{from}");
        }
        // Types that the client names.
        let statement =
            client.prepare_typed("SELECT name FROM t WHERE n = $1", &[Type::INT4]).await;
        let rows = client.query(&statement.expect("a statement"), &[&7i32]).await.expect("rows");
        assert_eq!(rows[0].get::<_, &str>(0), "row 7");
        // A value that no row has, as it is beyond the type.
        let error = client.prepare("SELECT nothing FROM t").await.expect_err("no such column");
        assert_eq!(code(&error), "42703");
        // The session continues after an error.
        assert_eq!(client.query("SELECT 1", &[]).await.expect("a row").len(), 1);
    });
}

#[test]
fn bound_values_narrow_what_is_read() {
    let door = Door::with_rows(1000);
    let client = door.client();
    let examined = || {
        let status = door.store.cluster_status().expect("a status");
        let of_table = status.regions.iter().filter(|load| load.region.table.to_string() == "t");
        of_table.map(|load| load.rows_examined).sum::<u64>()
    };
    let before = examined();
    let rows = door.runtime.block_on(client.query("SELECT v FROM t WHERE n = $1", &[&500i64]));
    assert_eq!(rows.expect("rows").len(), 1);
    assert!(examined() - before <= 2, "{} rows were examined for one", examined() - before);
}

#[test]
fn values_of_all_types_are_the_same_in_both_forms() {
    let door = Door::new();
    let client = door.client();
    let text = "SELECT true AS a, 1::smallint AS b, 2::int AS c, 3::bigint AS d, 1.5::real AS e, \
                -0.25::double AS f, 'x' AS g, NULL AS h, 12.50::decimal(10, 2) AS i, \
                '2024-03-15'::date AS j, make_array(1, NULL, 3) AS k, \
                '2024-03-15 10:00:00.5'::timestamp AS l";
    let shown = door.rows(&client, text);
    let expected = "t|1|2|3|1.5|-0.25|x|NULL|12.50|2024-03-15|{1,NULL,3}|2024-03-15 10:00:00.5";
    assert_eq!(shown, [expected]);
    let row = door.runtime.block_on(client.query_one(text, &[])).expect("a row");
    assert!(row.get::<_, bool>("a"));
    assert_eq!((row.get::<_, i16>("b"), row.get::<_, i32>("c"), row.get::<_, i64>("d")), (1, 2, 3));
    assert!((row.get::<_, f32>("e") - 1.5).abs() < f32::EPSILON);
    assert!((row.get::<_, f64>("f") + 0.25).abs() < f64::EPSILON);
    assert_eq!((row.get::<_, &str>("g"), row.get::<_, Option<&str>>("h")), ("x", None));
    assert_eq!(row.get::<_, Vec<Option<i64>>>("k"), [Some(1), None, Some(3)]);
    let micros = row.get::<_, std::time::SystemTime>("l");
    let since = micros.duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    assert_eq!(since, Duration::from_millis(1_710_496_800_500));
}

#[test]
fn points_of_a_bucket_row_are_a_list_of_objects() {
    let door = Door::new();
    let client = door.client();
    for text in [
        "CREATE TABLE m (p SERIES(F64) FAMILY t, q SERIES(I32) FAMILY t, \
         ROW KEY (device STRING, BUCKET(ts, '1h')))",
        "UPSERT INTO m (device, ts, p) VALUES ('a', '2024-03-15 10:00:01', 1.5), \
         ('a', '2024-03-15 10:30:00.5', -2)",
    ] {
        door.rows(&client, text);
    }
    let text = "SELECT device, ts, p, q FROM m WITH (BUCKETS) WHERE ts >= '2024-03-15'";
    let points = r#"{"{\"ts\": \"2024-03-15 10:00:01+00\", \"value\": 1.5}","{\"ts\": \"2024-03-15 10:30:00.5+00\", \"value\": -2}"}"#;
    let expected = format!("a|2024-03-15 10:00:00+00|{points}|NULL");
    assert_eq!(door.rows(&client, text), [expected]);
    let prepared = door.runtime.block_on(client.prepare(text)).expect("a statement");
    let types: Vec<u32> = prepared.columns().iter().map(|column| column.type_().oid()).collect();
    assert_eq!(types, [25, 1184, 3807, 3807]);
}

#[test]
fn portal_gives_as_many_rows_as_are_asked_for() {
    let door = Door::with_rows(100);
    let mut client = door.client();
    door.runtime.block_on(async {
        let transaction = client.transaction().await.expect("a transaction");
        let portal = transaction.bind("SELECT n FROM t ORDER BY n", &[]).await.expect("a portal");
        let mut found = Vec::new();
        for count in [30, 30, 30, 10, 0] {
            let rows = transaction.query_portal(&portal, 30).await.expect("rows");
            assert_eq!(rows.len(), count);
            found.extend(rows.iter().map(|row| row.get::<_, i64>(0)));
        }
        assert_eq!(found, (0..100).collect::<Vec<_>>());
        transaction.commit().await.expect("the end");
    });
}

#[test]
fn cursor_is_fetched_and_closed() {
    let door = Door::with_rows(10);
    let client = door.client();
    let rows = |text: &str| door.rows(&client, text);
    rows("BEGIN; DECLARE c CURSOR FOR SELECT n FROM t ORDER BY n");
    assert_eq!(rows("FETCH 2 FROM c"), ["0", "1"]);
    assert_eq!(rows("MOVE 3 IN c; FETCH c"), ["5"]);
    assert_eq!(rows("FETCH ALL FROM c"), ["6", "7", "8", "9"]);
    assert!(rows("FETCH c").is_empty());
    assert!(rows("CLOSE c; COMMIT").is_empty());
    assert_eq!(door.error(&client, "FETCH c"), "34000");
    assert_eq!(door.error(&client, "DECLARE c CURSOR FOR SELECT 1"), "25P01");
    rows("DECLARE h CURSOR WITH HOLD FOR SELECT n FROM t ORDER BY n");
    assert_eq!(rows("FETCH h"), ["0"]);
    assert_eq!(rows("FETCH h"), ["1"]);
}

#[test]
fn two_connections_do_not_share_settings() {
    let door = Door::new();
    let (one, other) = (door.client(), door.client());
    let shown = |client, name: &str| door.rows(client, &format!("SHOW {name}"));
    door.rows(&one, "SET statement_timeout = '7s'; SET halite.bad_cells = 'null'");
    assert_eq!(shown(&one, "statement_timeout"), ["7s"]);
    assert_eq!(shown(&one, "halite.bad_cells"), ["null"]);
    assert_eq!(shown(&other, "statement_timeout"), ["5min"]);
    assert_eq!(shown(&other, "halite.bad_cells"), ["fail"]);
    assert_eq!(shown(&other, "halite.max_rows_examined"), ["50000000"]);
    door.rows(&one, "RESET statement_timeout");
    assert_eq!(shown(&one, "statement_timeout"), ["5min"]);
    door.rows(&one, "DISCARD ALL");
    assert_eq!(shown(&one, "halite.bad_cells"), ["fail"]);
}

#[test]
fn cancel_ends_the_scan() {
    let door = Door::with_rows(2000);
    let client = door.client();
    let token = client.cancel_token();
    let heavy = "SELECT count(*) FROM t AS a, t AS b, t AS c WHERE a.v + b.v + c.v < 0";
    door.runtime.block_on(async {
        let started = Instant::now();
        let done = cancelled(&client, heavy).await;
        assert_eq!(code(&done.expect_err("a cancelled statement")), "57014");
        assert!(started.elapsed() < Duration::from_mins(2), "{:?}", started.elapsed());
        // A cancel that comes late ends nothing.
        token.cancel_query(NoTls).await.expect("a request to cancel");
        // It is sent, and not yet received.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(client.query("SELECT 1", &[]).await.expect("a row").len(), 1);
    });
}

#[test]
fn statement_timeout_ends_the_statement() {
    let door = Door::with_rows(2000);
    let client = door.client();
    door.rows(&client, "SET statement_timeout = 300");
    let heavy = "SELECT count(*) FROM t AS a, t AS b, t AS c WHERE a.v + b.v + c.v < 0";
    let started = Instant::now();
    assert_eq!(door.error(&client, heavy), "57014");
    assert!(started.elapsed() < Duration::from_mins(2), "{:?}", started.elapsed());
    door.rows(&client, "SET statement_timeout = 0");
    assert_eq!(door.rows(&client, "SELECT 1"), ["1"]);
}

#[test]
fn transactions_are_accepted_around_reads() {
    let door = Door::with_rows(3);
    let client = door.client();
    assert_eq!(door.rows(&client, "BEGIN; SELECT count(*) FROM t; COMMIT"), ["3"]);
    door.rows(&client, "BEGIN");
    assert_eq!(door.error(&client, "SELECT * FROM missing"), "42P01");
    assert_eq!(door.error(&client, "SELECT 1"), "25P02");
    door.rows(&client, "COMMIT");
    assert_eq!(door.rows(&client, "SELECT 1"), ["1"]);
    door.rows(&client, "BEGIN");
    assert_eq!(door.error(&client, "CREATE TABLE u (ROW KEY (k I64))"), "0A000");
    door.rows(&client, "ROLLBACK");
    assert_eq!(door.error(&client, "BEGIN ISOLATION LEVEL SERIALIZABLE"), "0A000");
}

#[test]
fn error_after_a_savepoint_fails_what_follows_it_only() {
    let door = Door::new();
    let client = door.client();
    assert_eq!(door.error(&client, "SAVEPOINT a"), "25P01");
    door.rows(&client, "BEGIN; SAVEPOINT a");
    assert_eq!(door.error(&client, "SELECT * FROM missing"), "42P01");
    assert_eq!(door.error(&client, "RELEASE a"), "25P02");
    assert_eq!(door.rows(&client, "ROLLBACK TO a; SELECT 1; RELEASE a; COMMIT"), ["1"]);
}

#[test]
fn clients_find_tables_and_their_keys() {
    let door = Door::with_rows(1);
    let client = door.client();
    let rows = |text: &str| door.rows(&client, text);
    let shown = "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c \
                 LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                 WHERE c.relkind IN ('r', 'p', '') AND n.nspname !~ '^pg_toast' \
                 AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1, 2";
    assert_eq!(rows(shown), ["public|t"]);
    let oid = rows(
        "SELECT c.oid FROM pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(t)$' \
         COLLATE pg_catalog.default",
    );
    let [oid] = oid.as_slice() else { panic!("one table: {oid:?}") };
    assert_eq!(&rows("SELECT 't'::regclass")[0], oid);
    assert_eq!(rows(&format!("SELECT {oid}::bigint::regclass")), ["t"]);
    let columns = format!(
        "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), \
         (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d \
         WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull \
         FROM pg_catalog.pg_attribute a WHERE a.attrelid = '{oid}' AND a.attnum > 0 \
         ORDER BY a.attnum"
    );
    let expected = ["n|bigint|NULL|t", "name|text|NULL|f", "v|bigint|NULL|f"];
    assert_eq!(rows(&columns), expected);
    let key = format!(
        "SELECT c2.relname, i.indisprimary, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), \
         pg_catalog.pg_get_constraintdef(con.oid, true) FROM pg_catalog.pg_class c, \
         pg_catalog.pg_class c2, pg_catalog.pg_index i LEFT JOIN pg_catalog.pg_constraint con ON \
         (conrelid = i.indrelid AND conindid = i.indexrelid AND contype IN ('p', 'u', 'x')) \
         WHERE c.oid = '{oid}' AND c.oid = i.indrelid AND i.indexrelid = c2.oid"
    );
    let definition = "CREATE UNIQUE INDEX t_key ON public.t USING row_key (n I64)";
    assert_eq!(rows(&key), [format!("t_key|t|{definition}|PRIMARY KEY (n)")]);
    // Tables that hold nothing, whatever is asked of them.
    let policies = "SELECT pol.polname, array(select rolname from pg_catalog.pg_roles where oid = \
                    any (pol.polroles) order by 1), pg_get_anything(pol.oid) FROM \
                    pg_catalog.pg_policy pol UNION SELECT a, b, c FROM pg_catalog.pg_publication \
                    ORDER BY 1";
    assert!(rows(policies).is_empty());
    assert_eq!(rows("SELECT count(*) FROM pg_catalog.pg_policy"), ["0"]);
    assert_eq!(rows("SELECT to_regtype('uuid'), 'int8'::regtype"), ["2950|20"]);
    let schemas = "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg/_%' ESCAPE '/' \
                   ORDER BY 1";
    assert_eq!(rows(schemas), ["halite", "information_schema", "public"]);
    let position = "SELECT a.attname, (k.keys).n FROM pg_attribute a JOIN (SELECT indrelid, \
                    information_schema._pg_expandarray(indkey) AS keys FROM pg_index) k \
                    ON a.attrelid = k.indrelid AND a.attnum = (k.keys).x";
    assert_eq!(rows(position), ["n|1"]);
    rows("SET application_name = 'x'");
    assert_eq!(rows("SELECT current_setting('application_name')"), ["x"]);
    assert_eq!(rows("SELECT current_setting('none', true)"), ["NULL"]);
    assert_eq!(door.error(&client, "SELECT current_setting('none')"), "42704");
    // What is looked up by has the names of the statement.
    rows("CREATE TABLE second (v I64, ROW KEY (x STRING))");
    let names = "SELECT oid::regclass FROM pg_class WHERE relkind = 'r' ORDER BY 1";
    assert_eq!(rows(names), ["second", "t"]);
    let names = "SELECT x.oid::regclass FROM pg_class x WHERE relkind = 'r' ORDER BY 1";
    assert_eq!(rows(names), ["second", "t"]);
    let keys = "SELECT pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 1";
    assert_eq!(rows(keys), ["PRIMARY KEY (n)", "PRIMARY KEY (x)"]);
}

#[test]
fn errors_have_codes_and_places() {
    let door = Door::with_rows(1);
    let client = door.client();
    for (text, expected) in [
        ("SELEC 1", "42601"),
        ("SELECT * FROM missing", "42P01"),
        ("SELECT missing FROM t", "42703"),
        ("SELECT missing(1)", "42883"),
        ("SHOW missing", "42704"),
        ("SELECT 1 / 0", "22012"),
        ("SELECT $1", "42P02"),
        ("COPY t TO '/tmp/x'", "42501"),
        ("COPY t FROM '/etc/passwd'", "42501"),
        ("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'", "0A000"),
        ("SELECT * FROM '/etc/passwd'", "42P01"),
        ("SELECT * FROM \"/etc/passwd\"", "42P01"),
        ("SET datafusion.execution.batch_size = 1", "42501"),
    ] {
        assert_eq!(door.error(&client, text), expected, "{text}");
    }
    let error = door.runtime.block_on(client.simple_query("SELECT 1;\n SELEC 2"));
    let error = error.expect_err("no statement");
    let position = error.as_db_error().and_then(|error| error.position().cloned());
    let position = position.map(|position| format!("{position:?}"));
    assert_eq!(position.as_deref(), Some("Original(12)"));
}

#[test]
fn tags_and_empty_texts_are_those_of_postgresql() {
    let door = Door::with_rows(3);
    let client = door.client();
    let tag = |text: &str| {
        let messages = door.runtime.block_on(client.simple_query(text)).expect("an answer");
        messages.iter().find_map(|message| match message {
            SimpleQueryMessage::CommandComplete(rows) => Some(*rows),
            _ => None,
        })
    };
    assert_eq!(tag("SELECT * FROM t"), Some(3));
    assert_eq!(tag("SET application_name = 'x'"), Some(0));
    for text in ["", " ;; -- nothing"] {
        let _ = door.runtime.block_on(client.simple_query(text)).expect("an answer");
    }
    let shown = door.rows(&client, "EXPLAIN SELECT * FROM t WHERE n = 1");
    assert!(shown.iter().any(|line| line.contains("gets")), "{shown:?}");
    assert!(door.rows(&client, "SELECT version()")[0].starts_with("PostgreSQL 16."));
}

#[test]
fn statement_of_an_altered_table_is_prepared_again() {
    let door = Door::with_rows(3);
    let client = door.client();
    door.runtime.block_on(async {
        let statement = client.prepare("SELECT * FROM t").await.expect("a statement");
        assert_eq!(client.query(&statement, &[]).await.expect("rows").len(), 3);
        let adopt = "ALTER TABLE t ADOPT ROW KEY (n U64) FORCE";
        client.batch_execute(adopt).await.expect("another key");
        let error = client.query(&statement, &[]).await.expect_err("other columns");
        assert_eq!(code(&error), "0A000");
    });
}
