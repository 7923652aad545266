//! First rows of groups: those that a whole scan has first, by few rows examined.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use halite_types::{Row, Scan, block_on};

use super::fake::Fake;
use crate::plan::{KeyQuery, Plan, PlanOptions};
use crate::scatter::{Scatter, ScatterOptions, UndecodableRows};
use crate::schema::KeySchema;
use crate::value::Value;

fn schema(text: &str) -> Arc<KeySchema> {
    Arc::new(text.parse().expect("a schema"))
}

/// Returns a table of `of(group)` rows of each group.
fn table(schema: &KeySchema, groups: usize, of: impl Fn(usize) -> usize) -> Fake {
    let keys = (0..groups).flat_map(|group| (0..of(group)).map(move |at| (group, at)));
    Fake::new(keys.map(|(group, at)| {
        let at = i64::try_from(at).expect("a number");
        let values = [Value::Text(format!("g{group}").into()), Value::Signed(at)];
        schema.encode(&values).expect("a key").to_vec()
    }))
}

fn first_rows(table: &Fake, plan: &Arc<Plan>) -> Vec<Row> {
    let groups = plan.groups(&[0]).expect("groups");
    let options = ScatterOptions {
        first_of: Some(groups),
        undecodable_rows: UndecodableRows::Count,
        ..ScatterOptions::default()
    };
    let of = Arc::new(table.clone());
    let mut scatter =
        Scatter::new(of, Arc::clone(plan), Scan::all(), &options, None).expect("a scatter");
    let mut rows = Vec::new();
    while let Some(row) = block_on(scatter.next()).expect("a row") {
        rows.push(row);
    }
    rows
}

/// Returns the first key of each group of the keys in the order of the plan, salt by salt.
fn expected(table: &Fake, plan: &Plan) -> Vec<Vec<u8>> {
    let groups = plan.groups(&[0]).expect("groups");
    let mut keys: Vec<Vec<u8>> = table.keys().cloned().collect();
    if plan.query().reverse {
        keys.reverse();
    }
    keys.retain(|key| plan.ranges().any(|range| range.range.contains(key)));
    keys.dedup_by_key(|key| key[..plan.group_bytes(groups, key).expect("a group")].to_vec());
    keys
}

#[test]
fn first_rows_are_those_of_a_whole_scan() {
    for text in [
        "ROW KEY (a STRING, b I64)",
        "ROW KEY (a STRING, b I64 DESC)",
        "ROW KEY (SALT(4 BY a), a STRING, b I64)",
        "ROW KEY (SALT(3), a STRING, b I64)",
        "ROW KEY (a STRING DESC, HASH(b), b I64)",
    ] {
        let schema = schema(text);
        for of in [|_| 1, |_| 30, |group| group % 50, |group| 100 * usize::from(group == 9)] {
            let table = table(&schema, 40, of);
            for reverse in [false, true] {
                let query = KeyQuery::all().reverse(reverse);
                let plan = Plan::new(&schema, &query, &PlanOptions::default()).expect("a plan");
                let plan = Arc::new(plan);
                let keys: Vec<Vec<u8>> =
                    first_rows(&table, &plan).iter().map(|row| row.key().to_vec()).collect();
                assert_eq!(keys, expected(&table, &plan), "{text}, reverse {reverse}");
            }
        }
    }
}

#[test]
fn b9_large_groups_are_sought_and_small_ones_are_read() {
    let schema = schema("ROW KEY (a STRING, b I64 DESC)");
    let plan = Plan::new(&schema, &KeyQuery::all(), &PlanOptions::default()).expect("a plan");
    let plan = Arc::new(plan);
    let large = table(&schema, 100, |_| 200);
    assert_eq!(first_rows(&large, &plan).len(), 100);
    let rows = large.counts.rows.load(Ordering::Relaxed);
    // 20 rows of each of 8 groups, and one of each other.
    assert_eq!(rows, 8 * 20 + 92);
    let small = table(&schema, 1000, |_| 2);
    assert_eq!(first_rows(&small, &plan).len(), 1000);
    let scans = small.counts.scans.load(Ordering::Relaxed);
    assert!(scans <= 4, "{scans} scans");
}

#[test]
fn small_groups_after_large_ones_are_read_after_another_sample() {
    let schema = schema("ROW KEY (a STRING, b I64)");
    let plan = Plan::new(&schema, &KeyQuery::all(), &PlanOptions::default()).expect("a plan");
    let plan = Arc::new(plan);
    let of = |group: i64| if group < 600 { 30 } else { 1 };
    let keys = (0..4000_i64).flat_map(|group| (0..of(group)).map(move |at| (group, at)));
    let table = Fake::new(keys.map(|(group, at)| {
        let values = [Value::Text(format!("g{group:05}").into()), Value::Signed(at)];
        schema.encode(&values).expect("a key").to_vec()
    }));
    let keys: Vec<Vec<u8>> =
        first_rows(&table, &plan).iter().map(|row| row.key().to_vec()).collect();
    assert_eq!(keys, expected(&table, &plan));
    // Two rounds of seeks with their samples, and the rest in a few reads.
    let scans = table.counts.scans.load(Ordering::Relaxed);
    assert!((500..1100).contains(&scans), "{scans} scans");
}

#[test]
fn other_fields_in_front_and_rows_to_check_make_no_groups() {
    let groups = |text: &str, query: &KeyQuery, fields: &[usize]| {
        let schema = schema(text);
        let plan = Plan::new(&schema, query, &PlanOptions::default()).expect("a plan");
        plan.groups(fields)
    };
    let text = "ROW KEY (a STRING, b I64, c STRING)";
    assert!(groups(text, &KeyQuery::all(), &[0]).is_some());
    assert!(groups(text, &KeyQuery::all(), &[1, 0]).is_some());
    assert!(groups(text, &KeyQuery::all().equals(0, Value::Text("x".into())), &[1]).is_some());
    assert!(groups(text, &KeyQuery::all(), &[1]).is_none());
    assert!(groups(text, &KeyQuery::all(), &[0, 1, 2]).is_none());
    let residual = KeyQuery::all().equals(1, Value::Signed(3));
    assert!(groups(text, &residual, &[0]).is_none());
    // A key of text without widths: `x` and `x_y` both begin with `x_`.
    let delimited = "ROW KEY TEXT '{a}_{b}'";
    assert!(groups(delimited, &KeyQuery::all(), &[0]).is_none());
}

#[test]
fn keys_that_end_before_others_are_no_groups() {
    let groups = |text: &str, fields: &[usize]| {
        let plan = Plan::new(&schema(text), &KeyQuery::all(), &PlanOptions::default());
        plan.expect("a plan").groups(fields).is_some()
    };
    let fields = "x I64, a STRING NULLABLE, b STRING NULLABLE";
    for profile in ["ORDERED", "PHOENIX"] {
        let key = format!("ROW KEY ({fields}) PROFILE {profile}");
        assert!(!groups(&key, &[0, 1]), "the key of (1, NULL, NULL) begins all others of 1");
        let key = key.replace("b STRING NULLABLE", "b STRING");
        assert!(groups(&key, &[0]) && groups(&key, &[0, 1]), "{key}");
    }
}
