//! Bad input that only clients of the port see: files of the server, settings that are not theirs,
//! values that are none of PostgreSQL's, and places of errors.

use std::path::Path;

use halite_pg::{Access, Config, Users};
use tokio_postgres::error::ErrorPosition;

use crate::door::{Door, code};
use crate::raw::{Raw, startup};

/// Statements by which PostgreSQL or DataFusion reach files and programs of the server.
fn reaching(file: &Path) -> Vec<String> {
    let file = file.display();
    [
        format!("COPY t FROM '{file}'"),
        format!("COPY t TO '{file}.out'"),
        format!("COPY (SELECT 1) TO '{file}.out'"),
        format!("COPY (SELECT 1) TO '{file}.out' STORED AS CSV"),
        format!("COPY t FROM PROGRAM 'cat {file}'"),
        format!("COPY t TO PROGRAM 'cat > {file}.out'"),
        format!("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '{file}'"),
        format!("CREATE UNBOUNDED EXTERNAL TABLE x (a INT) STORED AS CSV LOCATION '{file}'"),
        format!("CREATE TABLE x AS SELECT * FROM '{file}'"),
        format!("SELECT * FROM '{file}'"),
        format!("SELECT * FROM \"{file}\""),
        format!("SELECT * FROM \"file://{file}\""),
        format!("SELECT * FROM 'file://{file}'"),
        format!("TABLE \"{file}\""),
        format!("SELECT * FROM read_csv('{file}')"),
        format!("SELECT * FROM read_csv_auto('{file}')"),
        format!("SELECT * FROM read_parquet('{file}')"),
        format!("SELECT * FROM read_json('{file}')"),
        format!("SELECT * FROM parquet_metadata('{file}')"),
        format!("SELECT pg_read_file('{file}')"),
        format!("SELECT pg_read_binary_file('{file}')"),
        format!("SELECT * FROM pg_ls_dir('{file}')"),
        format!("SELECT lo_import('{file}')"),
        format!("SELECT lo_export(1, '{file}.out')"),
        format!("INSERT INTO '{file}.out' SELECT 1"),
        format!("INSERT INTO \"{file}.out\" SELECT 1"),
        format!("LOAD '{file}'"),
        format!("CREATE FUNCTION f() RETURNS int AS '{file}' LANGUAGE c"),
        format!("EXPLAIN COPY t TO '{file}.out'"),
        format!("EXPLAIN SELECT * FROM '{file}'"),
        format!("WITH x AS (SELECT * FROM '{file}') SELECT * FROM x"),
        format!("SELECT (SELECT count(*) FROM '{file}')"),
        format!("DECLARE c CURSOR WITH HOLD FOR SELECT * FROM '{file}'"),
        format!("SET datafusion.catalog.location = '{file}'"),
    ]
    .into()
}

#[test]
fn no_file_of_the_server_is_reachable() {
    let door = Door::with_rows(1);
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("secret.csv");
    std::fs::write(&file, "n,name,v\n7,secret,7\n").expect("a file");
    let client = door.client();
    for text in reaching(&file) {
        let simple = door.runtime.block_on(client.simple_query(&text)).err().map(|error| {
            assert!(!format!("{error:?}").contains("secret,7"), "{text}: {error:?}");
            code(&error)
        });
        let prepared = door.runtime.block_on(client.query(&text, &[])).err();
        let prepared = prepared.map(|error| code(&error));
        for code in [simple, prepared] {
            let code = code.unwrap_or_else(|| panic!("{text}: no error"));
            let expected = ["0A000", "42501", "42601", "42883", "42P01"];
            assert!(expected.contains(&code.as_str()), "{text}: {code}");
        }
    }
    // Those that name a file by COPY and foreign settings are not permitted to any user.
    for text in [
        format!("COPY t FROM '{}'", file.display()),
        format!("COPY t FROM PROGRAM 'cat {}'", file.display()),
        "SET datafusion.execution.batch_size = 1".to_owned(),
    ] {
        assert_eq!(door.error(&client, &text), "42501", "{text}");
    }
    // Nothing was read, and nothing written.
    assert_eq!(door.rows(&client, "SELECT count(*) FROM t"), ["1"]);
    let files = std::fs::read_dir(directory.path()).expect("the directory").count();
    assert_eq!(files, 1);
}

#[test]
fn errors_point_into_the_text_that_was_sent() {
    let door = Door::with_rows(1);
    let client = door.client();
    for (text, code, position) in [
        ("SELECT n,\n  nam FROM t", "42703", 13),
        ("SELECT 1; SELECT nam FROM t", "42703", 18),
        ("/* \u{e4} */ SELECT nam FROM t", "42703", 16),
        ("SELECT * FROM tt", "42P01", 15),
        ("SELECT uper(name) FROM t", "42883", 8),
        ("UPDATE t SET vv = 1 WHERE n = 0", "42703", 14),
        ("SELEC 1", "42601", 1),
        ("SELECT name FROM t ORDER BY name COLLATE \"de_DE\"", "0A000", 42),
        ("SELECT count(*) FROM t WHERE name COLLATE \"de-x-icu\" < 'a'", "0A000", 43),
    ] {
        let error = door.runtime.block_on(client.simple_query(text)).expect_err(text);
        let error = error.as_db_error().expect("an error of the server");
        assert_eq!(error.code().code(), code, "{text}: {error}");
        assert_eq!(error.position(), Some(&ErrorPosition::Original(position)), "{text}: {error}");
    }
}

#[test]
fn text_with_a_zero_byte_and_roles() {
    let line = Users::line("rob", Access::Read, "secret").expect("a line");
    let users = Users::parse(&line).expect("users");
    let door = Door::with(Config { users: Some(users), ..Config::default() });
    let client = door.try_client("rob", Some("secret")).expect("a session");
    let asked = door.runtime.block_on(client.query("SELECT $1::text", &[&"a\0b"]));
    assert_eq!(code(&asked.expect_err("a zero byte")), "22021");
    for text in ["UPSERT INTO t VALUES (1)", "CREATE TABLE x (ROW KEY (k I64))"] {
        let error = door.runtime.block_on(client.simple_query(text)).expect_err(text);
        let error = error.as_db_error().expect("an error of the server");
        assert_eq!(error.code().code(), "42501", "{text}");
        assert!(error.message().contains("connect as a user"), "{error}");
    }
}

#[test]
fn other_schema_is_no_place_for_names_without_one() {
    let door = Door::with_rows(3);
    let client = door.client();
    for path in ["staging", "'staging'", "staging, public", "public, staging", "pg_catalog", "''"] {
        assert_eq!(door.error(&client, &format!("SET search_path TO {path}")), "0A000", "{path}");
        let text = format!("SET search_path = {path}; DELETE FROM t WHERE n = 1");
        assert_eq!(door.error(&client, &text), "0A000", "{path}");
    }
    for path in ["public", "public,\"$user\"", "'public'", "\"$user\", public", "DEFAULT"] {
        door.rows(&client, &format!("SET SESSION search_path TO {path}"));
    }
    assert_eq!(door.rows(&client, "SHOW search_path"), ["public"]);
    assert_eq!(door.rows(&client, "SELECT count(*) FROM t"), ["3"]);
    // The startup message has settings by name and as options.
    for (name, value, expected) in [
        ("search_path", "staging", Some("0A000")),
        ("options", "-c search_path=staging", Some("0A000")),
        ("options", "--search-path=public,\\ staging", Some("0A000")),
        ("options", "-c search_path=\"$user\",\\ public", None),
    ] {
        let mut raw = Raw::connect(&door);
        raw.send(&startup(&[("user", "ann"), (name, value)]));
        match expected {
            Some(_) => assert_eq!(raw.error_at_end().as_deref(), expected, "{value}"),
            None => drop(raw.until(b'Z')),
        }
    }
}

#[test]
fn collations_that_hold_are_taken() {
    let door = Door::with_rows(3);
    let client = door.client();
    for collation in ["\"C\"", "\"POSIX\"", "\"default\"", "pg_catalog.\"default\""] {
        let text = format!("SELECT name FROM t ORDER BY name COLLATE {collation} DESC LIMIT 1");
        assert_eq!(door.rows(&client, &text), ["row 2"], "{collation}");
    }
    // Without it, the comparison would be another one.
    let text = "SELECT 1 WHERE 'a' = 'A' COLLATE \"und-u-ks-level2\"";
    assert_eq!(door.error(&client, text), "0A000");
    assert_eq!(door.error(&client, "DELETE FROM t WHERE name COLLATE \"de_DE\" < 'z'"), "0A000");
    assert_eq!(door.rows(&client, "SELECT count(*) FROM t"), ["3"]);
}
