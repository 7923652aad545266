//! What `DBeaver` asks when it connects and when its tree is opened: `testdata/dbeaver.sql`.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::door::Door;

/// Statement of the fixture.
#[derive(Debug, Default)]
struct Statement {
    title: String,
    /// Number of its rows; `None` for any.
    rows: Option<usize>,
    /// Values of its parameters, as written.
    with: Vec<String>,
    text: String,
}

/// Value of a parameter.
enum Given {
    Number(i64),
    Text(String),
}

/// Tables of the test, by what the fixture calls their numbers.
struct Numbers {
    schema: i64,
    table: i64,
    key: i64,
}

impl Statement {
    /// Returns what is wrong with its answer: an error, or another number of rows.
    fn problem(&self, rows: Result<usize, String>) -> Option<String> {
        match rows {
            Ok(rows) if self.rows.is_some_and(|count| count != rows) => {
                Some(format!("{}: {rows} rows", self.title))
            }
            Ok(_) => None,
            Err(error) => Some(format!("{}: {error}", self.title)),
        }
    }
}

fn statements() -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    for line in include_str!("../testdata/dbeaver.sql").lines() {
        let directive = line.strip_prefix("-- ").and_then(|line| line.split_once(": "));
        match directive {
            Some(("title", title)) => {
                statements.push(Statement { title: title.to_owned(), ..Statement::default() });
            }
            Some((name, value)) if !statements.is_empty() => {
                let last = statements.last_mut().expect("a title");
                match name {
                    "rows" => last.rows = value.parse().ok(),
                    "with" => last.with = value.split(", ").map(ToOwned::to_owned).collect(),
                    _ => panic!("{line}"),
                }
            }
            _ if line.starts_with("--") => {}
            _ => {
                if let Some(last) = statements.last_mut() {
                    last.text.push_str(line);
                    last.text.push('\n');
                }
            }
        }
    }
    statements
}

impl Numbers {
    fn given(&self, written: &str) -> Given {
        match written {
            "schema" => Given::Number(self.schema),
            "table" => Given::Number(self.table),
            "key" => Given::Number(self.key),
            text if text.starts_with('\'') => Given::Text(text.trim_matches('\'').to_owned()),
            number => Given::Number(number.parse().expect("a number")),
        }
    }

    /// Returns the statement with its values in it.
    fn filled(&self, statement: &Statement) -> String {
        let with = statement.with.iter().zip(1..);
        with.fold(statement.text.clone(), |text, (written, at)| {
            let value = match self.given(written) {
                Given::Number(number) => number.to_string(),
                Given::Text(text) => format!("'{text}'"),
            };
            text.replace(&format!("${at}"), &value)
        })
    }
}

fn door() -> (Door, Client) {
    let door = Door::new();
    let client = door.client();
    for text in [
        "CREATE TABLE readings (v DOUBLE FAMILY d, tags MAP(STRING, STRING) FAMILY g, \
         ROW KEY (device STRING, ts TIMESTAMP DESC))",
        "CREATE TABLE \"Other\" (n DECIMAL(10, 2), ROW KEY (id I64))",
        "UPSERT INTO readings (device, ts, v) VALUES ('a', '2024-03-15', 1.5), ('b', '2024-03-15', 2)",
    ] {
        door.rows(&client, text);
    }
    (door, client)
}

fn numbers(door: &Door, client: &Client) -> Numbers {
    let number = |name: &str| {
        let text = format!("SELECT oid FROM pg_catalog.pg_class WHERE relname = '{name}'");
        door.rows(client, &text).pop().and_then(|oid| oid.parse().ok()).expect("a number")
    };
    Numbers { schema: 2200, table: number("readings"), key: number("readings_key") }
}

/// Returns rows as text, each value with the name of its column.
fn named_rows(door: &Door, client: &Client, text: &str) -> Result<Vec<Vec<String>>, String> {
    let messages = door.runtime.block_on(client.simple_query(text));
    let messages = messages.map_err(|error| match error.as_db_error() {
        Some(error) => error.to_string(),
        None => error.to_string(),
    })?;
    let rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let named = |row: &tokio_postgres::SimpleQueryRow| {
        let names = row.columns().iter().map(tokio_postgres::SimpleColumn::name);
        let value = |(at, name)| format!("{name}={}", row.get(at).unwrap_or("NULL"));
        names.enumerate().map(value).collect()
    };
    Ok(rows.map(named).collect())
}

#[test]
fn statements_answer_as_simple_queries() {
    let (door, client) = door();
    let numbers = numbers(&door, &client);
    let mut wrong = Vec::new();
    for statement in statements() {
        let rows = named_rows(&door, &client, &numbers.filled(&statement));
        wrong.extend(statement.problem(rows.map(|rows| rows.len())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn statements_answer_as_prepared_ones() {
    let (door, client) = door();
    let numbers = numbers(&door, &client);
    let mut wrong = Vec::new();
    for statement in statements() {
        let text = statement.text.trim().trim_end_matches(';');
        let given: Vec<Given> = statement.with.iter().map(|one| numbers.given(one)).collect();
        let values = given.iter().map(|one| match one {
            Given::Number(number) => number as &(dyn ToSql + Sync),
            Given::Text(text) => text as &(dyn ToSql + Sync),
        });
        let values: Vec<&(dyn ToSql + Sync)> = values.collect();
        let rows = door.runtime.block_on(client.query(text, &values));
        let rows = rows.map(|rows| rows.len()).map_err(|error| format!("{error:?}"));
        wrong.extend(statement.problem(rows));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn answers_say_what_is_there() {
    let (door, client) = door();
    let numbers = numbers(&door, &client);
    let all = statements();
    let rows = |title: &str| {
        let statement = all.iter().find(|one| one.title == title).expect(title);
        named_rows(&door, &client, &numbers.filled(statement)).expect(title)
    };
    let has = |title: &str, values: &[&str]| {
        let rows = rows(title);
        let is_found = |row: &Vec<String>| values.iter().all(|one| row.iter().any(|of| of == one));
        assert!(rows.iter().any(is_found), "{title}: {values:?} are not in {rows:?}");
    };
    let (table, key) = (numbers.table.to_string(), numbers.key.to_string());
    has("databases", &["datname=halite", "oid=5", "datallowconn=t"]);
    has("schema and user", &["current_schema=public", "session_user=ann"]);
    has("search path", &["search_path=public"]);
    has("search path after a reset", &["reset_val=public"]);
    has("setting", &["name=standard_conforming_strings", "setting=on"]);
    has("schemas", &["nspname=public", "oid=2200", "description=NULL"]);
    has("schemas", &["nspname=pg_catalog"]);
    has("one schema", &["schema_id=2200"]);
    has("types", &["typname=timestamptz", "oid=1184", "relkind=NULL", "base_type_name=NULL"]);
    has("types", &["typname=_text", "typelem=25", "typcategory=A"]);
    has("roles", &["rolname=halite", "rolcanlogin=t"]);
    has("access methods", &["amname=row_key", "amtype=i"]);
    for title in ["tables, and their partitions", "tables, and their sequences", "one table"] {
        let oid = format!("oid={table}");
        has(title, &["relname=readings", &oid, "relkind=r", "partition_key=NULL"]);
    }
    has("tables, and their partitions", &["relname=Other"]);
    let columns = rows("columns of a table");
    let found: Vec<[&str; 4]> = columns
        .iter()
        .map(|row| {
            let value = |name: &str| {
                let found = row.iter().find_map(|one| one.strip_prefix(name)?.strip_prefix('='));
                found.expect("a column")
            };
            [value("attname"), value("atttypid"), value("attnum"), value("attnotnull")]
        })
        .collect();
    let expected = [
        ["device", "25", "1", "t"],
        ["ts", "1184", "2", "t"],
        ["v", "701", "3", "f"],
        ["tags", "3802", "4", "t"],
    ];
    assert_eq!(found, expected);
    let of = format!("conrelid={table}");
    has("constraints of a table", &["contype=p", "conkey={1,2}", "consrc_copy=NULL", &of]);
    let index = format!("indexrelid={key}");
    has("indexes of a table", &["relname=readings_key", "keys={1,2}", "indisprimary=t", &index]);
    let definition = "CREATE UNIQUE INDEX readings_key ON public.readings USING row_key \
                      (device STRING, ts TIMESTAMP DESC)";
    assert!(rows("definition of an index")[0][0].ends_with(definition));
    let words = rows("keywords").remove(0).remove(0);
    let (_, words) = words.split_once('=').expect("words");
    let words: Vec<&str> = words.split(',').collect();
    assert!(["upsert", "versions", "window"].iter().all(|word| words.contains(word)), "{words:?}");
    assert!(!["select", "end-exec", "null"].iter().any(|word| words.contains(word)), "{words:?}");
}

#[test]
fn settings_are_those_of_the_session() {
    let door = Door::new();
    let (one, other) = (door.client(), door.client());
    door.rows(&one, "SET application_name = 'DBeaver'");
    let text = "SELECT setting, reset_val, s.context FROM pg_settings AS s \
                WHERE name = 'application_name'";
    assert_eq!(door.rows(&one, text), ["DBeaver||user"]);
    assert_eq!(door.rows(&other, text), ["||user"]);
    let fixed =
        "SELECT pg_settings.setting FROM pg_catalog.pg_settings WHERE name = 'server_encoding'";
    assert_eq!(door.rows(&one, fixed), ["UTF8"]);
}

#[test]
fn lists_are_written_as_text() {
    let door = Door::new();
    let client = door.client();
    let kept = "SELECT x FROM (VALUES ('a'), ('b'), ('c,\"')) AS v (x) WHERE x";
    let rows = |condition: &str| door.rows(&client, &format!("{kept} {condition} ORDER BY x"));
    assert_eq!(rows("= ANY ('{a,\"c,\\\"\"}'::text[])"), ["a", "c,\""]);
    assert_eq!(rows("<> ALL ('{a,\"c,\\\"\"}'::varchar[])"), ["b"]);
    // What is compared with NULL is not known.
    assert!(rows("<> ALL ('{a,NULL}'::text[])").is_empty());
    assert_eq!(rows("<> ALL ('{a,\"NULL\"}'::text[])"), ["b", "c,\""]);
    assert_eq!(door.rows(&client, "SELECT ('{3,4}'::int8[])[2]"), ["4"]);
}
