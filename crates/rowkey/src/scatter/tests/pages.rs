//! Pages and their tokens: a token continues one query of one table, and no bytes are trusted.

use std::ops::Bound;
use std::sync::Arc;

use halite_types::{ErrorKind, Scan, TableName, block_on};

use super::fake::{Fake, keys_of};
use crate::plan::tests::cases::SeededRng;
use crate::plan::{KeyQuery, Plan, PlanOptions, Predicate};
use crate::scatter::{Page, PageToken, ScatterOptions};
use crate::schema::KeySchema;
use crate::value::Value;

const KEY: &str = "ROW KEY (SALT(4 BY user), user STRING, at U32)";

fn schema(text: &str) -> Arc<KeySchema> {
    Arc::new(text.parse().expect("a key"))
}

fn plan(schema: &Arc<KeySchema>, query: &KeyQuery) -> Arc<Plan> {
    Arc::new(Plan::new(schema, query, &PlanOptions::default()).expect("a plan"))
}

fn text(value: &str) -> Value<'static> {
    Value::Text(value.to_owned().into())
}

/// Returns a table of ten rows of each of two users.
fn table(schema: &KeySchema) -> Fake {
    let rows = (0..20).map(|row| (if row % 2 == 0 { "ada" } else { "adam" }, row / 2));
    let key = |(user, at): (&str, u64)| schema.encode(&[text(user), Value::Unsigned(at)]);
    Fake::new(rows.map(|row| key(row).expect("a key").to_vec()))
}

fn page(
    table: &Fake,
    schema: &Arc<KeySchema>,
    query: &KeyQuery,
    after: Option<&PageToken>,
) -> halite_types::Result<Page> {
    let (table, options) = (Arc::new(table.clone()), ScatterOptions::default());
    block_on(Page::read(table, plan(schema, query), Scan::all(), &options, after))
}

fn of_ada() -> KeyQuery {
    KeyQuery::all().equals(0, text("ada"))
}

#[test]
fn token_continues_its_query_with_any_limit_and_number_of_salts() {
    let schema_of_four = schema(KEY);
    let first = page(&table(&schema_of_four), &schema_of_four, &of_ada().limit(3), None);
    let first = first.expect("a page");
    assert_eq!((first.items.len(), first.examined), (3, 3));
    let token: PageToken = first.next.expect("the page is full").to_string().parse().unwrap();
    for salts in ["4", "16"] {
        let schema = schema(&KEY.replace('4', salts));
        let rest = page(&table(&schema), &schema, &of_ada().limit(100), Some(&token)).unwrap();
        let at =
            |key: &[u8]| schema.decode(key).unwrap().into_values().nth(1).unwrap().into_owned();
        let times: Vec<_> = rest.items.iter().map(|row| at(row.key())).collect();
        assert_eq!(times, (3..10).map(Value::Unsigned).collect::<Vec<_>>(), "{salts} salts");
        assert_eq!(rest.next, None);
    }
}

#[test]
fn token_of_another_query_or_table_is_refused() {
    let schema = schema(KEY);
    let table = table(&schema);
    let bounds = |low: u64, high: u64| Predicate::Range {
        low: Bound::Included(Value::Unsigned(low)),
        high: Bound::Excluded(Value::Unsigned(high)),
    };
    let own = of_ada().with(1, bounds(0, 9)).limit(3);
    let token = page(&table, &schema, &own, None).unwrap().next.unwrap();
    assert!(page(&table, &schema, &own, Some(&token)).is_ok());
    for other in [
        KeyQuery::all().equals(0, text("adam")).with(1, bounds(0, 9)),
        of_ada().with(1, bounds(0, 8)),
        of_ada().with(1, bounds(1, 9)),
        of_ada(),
        KeyQuery::all().is_in(0, [text("ada")]).with(1, bounds(0, 9)),
        own.clone().reverse(true),
    ] {
        let error = page(&table, &schema, &other.limit(3), Some(&token)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.message().contains("another query"), "{error}");
    }
    let mut other = table.clone();
    other.name = "other".parse::<TableName>().unwrap();
    assert!(page(&other, &schema, &own, Some(&token)).is_err());
    let fields = schema_with_other_name();
    assert!(page(&table, &fields, &own, Some(&token)).is_err());
}

fn schema_with_other_name() -> Arc<KeySchema> {
    schema(&KEY.replace("at U32", "number U32"))
}

#[test]
fn lists_with_equal_joined_values_are_other_queries() {
    let schema = schema(KEY);
    let fingerprint = |values: &[&str]| {
        let query = KeyQuery::all().is_in(0, values.iter().map(|value| text(value)));
        plan(&schema, &query).page_fingerprint(&"t".parse().unwrap())
    };
    assert_ne!(fingerprint(&["a", "b"]), fingerprint(&["ab"]));
    assert_ne!(fingerprint(&["a", "i1:b"]), fingerprint(&["a", "i", "1:b"]));
}

#[test]
fn changed_bytes_are_never_a_token() {
    let schema = schema(KEY);
    let token = page(&table(&schema), &schema, &of_ada().limit(3), None).unwrap().next.unwrap();
    let bytes = token.to_bytes();
    assert_eq!(PageToken::from_bytes(&bytes).unwrap(), token);
    for length in 0..bytes.len() {
        assert!(PageToken::from_bytes(&bytes[..length]).is_err(), "{length} bytes");
    }
    let mut chance = SeededRng::new(1);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << chance.below(8);
        assert!(PageToken::from_bytes(&changed).is_err(), "byte {at}");
    }
    for text in ["", "0", "zz", "02", "\u{e9}\u{e9}", &token.to_string()[1..]] {
        assert!(text.parse::<PageToken>().is_err(), "{text:?}");
    }
}

/// A token that a caller made up has the right checksum, and may name any key: what it returns are
/// rows of its query.
#[test]
fn forged_token_stays_in_the_ranges_of_the_query() {
    let schema = schema(KEY);
    let table = table(&schema);
    let query = of_ada().limit(100);
    let own = keys_of(&page(&table, &schema, &query, None).unwrap().items);
    let fingerprint = plan(&schema, &query).page_fingerprint(&table.name);
    let mut chance = SeededRng::new(2);
    for _ in 0..500 {
        let mut noise = |most: usize| -> Vec<u8> {
            let byte = |byte: usize| u8::try_from(byte).expect("below 256");
            (0..chance.below(most)).map(|_| byte(chance.below(256))).collect()
        };
        let (merge_key, key) = (noise(12), noise(12));
        let mut bytes = vec![2];
        bytes.extend(fingerprint.to_be_bytes());
        bytes.extend(u16::try_from(merge_key.len()).unwrap().to_be_bytes());
        bytes.extend([merge_key, key].concat());
        bytes.extend(crate::language::fnv1a(&bytes).to_be_bytes());
        let token = PageToken::from_bytes(&bytes).unwrap();
        let rows = keys_of(&page(&table, &schema, &query, Some(&token)).unwrap().items);
        assert!(rows.iter().all(|key| own.contains(key)));
    }
}

#[test]
fn page_without_a_limit_is_refused() {
    let schema = schema(KEY);
    for query in [of_ada(), of_ada().limit(0)] {
        let error = page(&table(&schema), &schema, &query, None).unwrap_err();
        assert!(error.message().contains("a page has a limit"), "{error}");
    }
}
