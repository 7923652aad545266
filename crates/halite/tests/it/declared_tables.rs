//! Tables created from their statements: existing ones are compared, and nothing is created beside
//! one that differs.

use halite::{ErrorKind, declare_tables};
use halite_engine::env::sim::SimEnv;

const VISITS: &str = "CREATE TABLE visits (
  page_count I64 COUNTER FAMILY v VERSIONS 3,
  ROW KEY (SALT(4 BY page), page STRING)
) WITH (TTL = 3600) SPLIT BY SALT";

#[test]
fn tables_are_created_once_with_their_splits() {
    let store = super::reopen(&SimEnv::new(1));
    let created = declare_tables(&store, "site", VISITS).unwrap();
    assert_eq!((created.len(), created[0].created), (1, true));
    assert_eq!(store.regions("site:visits").unwrap().len(), 4);
    let found = declare_tables(&store, "site", VISITS).unwrap();
    assert_eq!((found[0].name.clone(), found[0].created), (created[0].name.clone(), false));

    // A statement may name its namespace.
    let elsewhere = VISITS.replace("TABLE visits", "TABLE other:visits");
    assert_eq!(declare_tables(&store, "site", &elsewhere).unwrap()[0].name.namespace(), "other");
    let same_splits = "CREATE TABLE log (m STRING FAMILY v, ROW KEY (SALT(4 BY page), page STRING)) \
                       SPLIT LIKE site:visits";
    declare_tables(&store, "default", same_splits).unwrap();
    assert_eq!(store.regions("log").unwrap().len(), 4);
}

#[test]
fn table_that_differs_is_refused_with_the_difference() {
    let store = super::reopen(&SimEnv::new(1));
    declare_tables(&store, "site", VISITS).unwrap();
    for (changed, expected) in [
        (VISITS.replace("SALT(4", "SALT(8"), "it declares ROW KEY (SALT(4 BY page), page STRING)"),
        (VISITS.replace("page_count", "views"), "declared otherwise: page_count, and not views"),
        (VISITS.replace("VERSIONS 3", "VERSIONS 5"), "family v retains 3 versions, and not 5"),
        (VISITS.replace("WITH (TTL = 3600)", ""), "a TTL of 3600000 ms, and not no time to live"),
    ] {
        let other = "CREATE TABLE first (m STRING FAMILY v, ROW KEY (page STRING));";
        let error = declare_tables(&store, "site", &format!("{other}{changed}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!store.table_exists("site:first").unwrap(), "nothing is created");
    }
}

#[test]
fn other_statements_and_files_of_keys_are_refused() {
    let store = super::reopen(&SimEnv::new(1));
    for (text, expected) in [
        ("SHOW CREATE TABLE visits", "only CREATE TABLE declares a table"),
        ("CREATE TABLE visits (", "expected"),
        (
            "CREATE TABLE visits (m STRING FAMILY v, ROW KEY (page STRING)) SPLIT FROM SAMPLE \
             'keys.txt' INTO 4",
            "reads a file",
        ),
    ] {
        let error = declare_tables(&store, "site", text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(store.list_tables().unwrap().is_empty());
}
