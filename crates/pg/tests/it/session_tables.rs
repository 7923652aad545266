//! Temporary tables, views and comments, as clients see them.

use crate::clients::{has, printed};
use crate::door::{Door, code};

#[test]
fn temporary_tables_and_views_are_of_their_connection() {
    let door = Door::with_rows(3);
    let (client, other) = (door.client(), door.client());
    door.runtime.block_on(async {
        client.batch_execute("CREATE TEMP TABLE kept AS SELECT n FROM t").await.expect("a table");
        client
            .batch_execute("CREATE VIEW high AS SELECT * FROM t WHERE v > 5")
            .await
            .expect("view");
    });
    assert_eq!(door.rows(&client, "SELECT count(*) FROM kept"), ["3"]);
    assert_eq!(door.rows(&client, "SELECT n FROM high WHERE n < 2"), ["1"]);
    let classes = "SELECT relname, relkind, relpersistence FROM pg_class \
                   WHERE relname IN ('kept', 'high', 't') ORDER BY relname";
    assert_eq!(
        door.rows(&client, classes),
        ["high|v|p", "kept|r|t", "t|r|p"].map(|line| { line.replace("v|p", "v|t") })
    );
    assert_eq!(door.rows(&other, classes), ["t|r|p"]);
    let views = "SELECT schemaname, viewname FROM pg_views";
    assert_eq!(door.rows(&client, views), ["pg_temp|high"]);
    assert_eq!(door.rows(&other, views), [""; 0]);
    door.runtime.block_on(async {
        let error = other.simple_query("SELECT * FROM kept").await.expect_err("no such table");
        assert_eq!(code(&error), "42P01");
        // Parameters of the rows.
        let insert = client.prepare("INSERT INTO kept SELECT $1::bigint").await.expect("prepared");
        assert_eq!(client.execute(&insert, &[&9i64]).await.expect("a row"), 1);
        client.batch_execute("DISCARD ALL").await.expect("nothing is left");
        for name in ["kept", "high"] {
            let error = client.simple_query(&format!("SELECT * FROM {name}")).await;
            assert_eq!(code(&error.expect_err("no such table")), "42P01", "{name}");
        }
    });
}

#[test]
fn views_keep_the_forms_of_clients() {
    let door = Door::with_rows(3);
    let client = door.client();
    let view = "CREATE VIEW sorted AS SELECT CAST(n AS text) COLLATE \"C\" AS n FROM t";
    door.runtime.block_on(async { client.batch_execute(view).await.expect("a view") });
    assert_eq!(door.rows(&client, "SELECT count(n) FROM sorted"), ["3"]);
}

#[test]
fn comments_are_described() {
    let door = Door::with_rows(1);
    let client = door.client();
    door.runtime.block_on(async {
        let text = "COMMENT ON TABLE t IS 'rows of a test'; COMMENT ON COLUMN t.v IS 'ten times n'";
        client.batch_execute(text).await.expect("comments");
    });
    let of_table = "SELECT obj_description('t'::regclass, 'pg_class')";
    assert_eq!(door.rows(&client, of_table), ["rows of a test"]);
    let of_columns = "SELECT a.attname, col_description(a.attrelid, a.attnum) \
                      FROM pg_attribute AS a WHERE a.attrelid = 't'::regclass ORDER BY a.attnum";
    assert_eq!(door.rows(&client, of_columns), ["n|NULL", "name|NULL", "v|ten times n"]);
}

#[test]
fn psql_lists_views_and_comments() {
    if !has("psql") {
        return;
    }
    let door = Door::with_rows(3);
    let statements = "COMMENT ON COLUMN t.v IS 'ten times n'; \
                      CREATE VIEW high AS SELECT n, v FROM t WHERE v > 5";
    let shown = printed(&door, &["-c", statements, "-c", "\\dv", "-c", "\\d+ t", "-c", "\\d high"]);
    assert!(shown.contains("| high |"), "{shown}");
    assert!(shown.contains("ten times n"), "{shown}");
    assert!(shown.contains("View \"pg_temp.high\""), "{shown}");
}
