//! Tables of the tutorials as the recipes declare them: their names, their typed keys, and bytes of
//! keys that the tutorials confuse.

use halite::rowkey::language::{Statement, TableDeclaration, statements};
use halite_recipes::find_recipe;

/// Returns the declarations of a recipe's tables.
fn tables(recipe: &str) -> Vec<TableDeclaration> {
    let parsed = statements(&find_recipe(recipe).unwrap().statements()).unwrap();
    let table = |statement| match statement {
        Statement::CreateTable(table) => table,
        other => panic!("{recipe}: {other:?}"),
    };
    parsed.into_iter().map(table).collect()
}

/// Returns the name and the key of each table.
fn keys(recipe: &str) -> Vec<(String, String)> {
    let key = |table: TableDeclaration| {
        (table.descriptor.name().qualifier().to_owned(), table.key.to_string())
    };
    tables(recipe).into_iter().map(key).collect()
}

fn key(recipe: &str, table: &str) -> String {
    let found = keys(recipe).into_iter().find(|(name, _)| name == table);
    found.unwrap_or_else(|| panic!("{recipe} has no table {table}")).1
}

#[test]
fn c11_sensor_data_has_its_time_in_the_key_only() {
    assert_eq!(
        key("timeseries", "sensor_data"),
        "ROW KEY (SALT(16 BY device_id), device_id STRING, BUCKET(ts, '1h') DESC)"
    );
    let columns: Vec<String> =
        tables("timeseries").remove(0).columns.iter().map(|column| column.name.clone()).collect();
    assert_eq!(columns, ["p"]);
}

#[test]
fn c12_keys_of_directories_and_files_have_boundaries() {
    let names: Vec<String> = keys("files").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["nodes", "entries", "by_owner", "moves"]);
    // The tutorial's concatenation makes ("1", "23") and ("12", "3") one key.
    let table = tables("files").remove(2);
    let encode = |owner: &str, parent: &str, name: &str| {
        let values = [format!("owner={owner}"), format!("parent={parent}"), format!("name={name}")];
        let values = table.key.parse_values(values.iter().map(String::as_str)).unwrap();
        table.key.encode(&values).unwrap().to_vec()
    };
    assert_ne!(encode("1", "23", "4"), encode("12", "3", "4"));
    assert_ne!(encode("a", "2", "3"), encode("a", "23", "''"));
}

#[test]
fn c13_counters_and_sketches_are_merged_cells_in_shards() {
    let merges: Vec<(String, String)> = tables("analytics")
        .iter()
        .filter_map(|table| {
            let family = table.descriptor.families().next()?;
            let merge = family.attributes.get("MERGE")?.clone();
            Some((table.descriptor.name().qualifier().to_owned(), merge))
        })
        .collect();
    let expected = [("minutes", "SUM"), ("hours", "HLL"), ("days", "BITMAP")]
        .map(|(a, b)| (a.into(), b.into()));
    assert_eq!(merges, expected);
    assert_eq!(
        key("analytics", "user_days"),
        "ROW KEY (SALT(16 BY user), day DATE, user U32)",
        "a day of all users is in all regions"
    );
}

#[test]
fn c14_features_of_users_and_items_are_rows_of_their_own() {
    assert_eq!(key("features", "user_features"), "ROW KEY (SALT(64 BY user), user U64)");
    assert_eq!(key("features", "item_features"), "ROW KEY (SALT(64 BY item), item U64)");
}

#[test]
fn c15_both_directions_of_messages_and_follows_are_tables() {
    let names =
        |recipe| -> Vec<String> { keys(recipe).into_iter().map(|(name, _)| name).collect() };
    assert_eq!(names("messages"), ["inbox", "outbox", "convo"]);
    let feed = names("feed");
    for table in ["follows", "followers", "timeline"] {
        assert!(feed.iter().any(|name| name == table), "{feed:?}");
    }
}

/// Returns a token for designs that page by other means, to say that a page follows.
pub(crate) fn any_token() -> halite::rowkey::PageToken {
    let bytes = b"\x02\0\0\0\0\0\0\0\0\0\0";
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let checksum = bytes.iter().fold(0xcbf2_9ce4_8422_2325, hash);
    let token = [&bytes[..], &checksum.to_be_bytes()].concat();
    halite::rowkey::PageToken::from_bytes(&token).unwrap()
}
