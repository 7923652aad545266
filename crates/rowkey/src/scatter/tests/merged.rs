//! Results of scatter-gather: the rows of the plan in its order, regardless of the number of
//! ranges, without reading more than requested.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use halite_types::{Bytes, ErrorKind, Row, Scan, block_on};

use super::fake::{Fake, keys_of};
use crate::plan::tests::cases::{Case, SeededRng};
use crate::plan::{KeyQuery, Plan, PlanOptions, Predicate};
use crate::scatter::{PageToken, Scatter, ScatterOptions, UndecodableRows};
use crate::schema::{Field, HashFunction, KeySchema, Profile, Segment, SegmentKind};
use crate::value::{FieldType, Value};

fn all(scatter: &mut Scatter) -> Vec<Row> {
    let mut rows = Vec::new();
    while let Some(row) = block_on(scatter.next()).expect("a row") {
        rows.push(row);
    }
    rows
}

fn scatter(table: &Fake, plan: &Arc<Plan>, after: Option<&PageToken>) -> Scatter {
    Scatter::new(
        Arc::new(table.clone()),
        Arc::clone(plan),
        Scan::all(),
        &ScatterOptions::default(),
        after,
    )
    .expect("a scatter")
}

fn plan(schema: &Arc<KeySchema>, query: &KeyQuery) -> Arc<Plan> {
    Arc::new(Plan::new(schema, query, &PlanOptions::default()).expect("a plan"))
}

/// Returns a schema of keys `(at, id)` after one of `salts` salts.
fn salted(salts: u32, function: HashFunction) -> Arc<KeySchema> {
    let field = |name: &str, ty| Field { name: name.into(), ty, pattern: None };
    let salt = Segment::new(SegmentKind::Salt { count: salts, by: vec![0, 1], function });
    let plain = |field| Segment::new(SegmentKind::Plain(field));
    let fields = vec![field("at", FieldType::Char(12)), field("id", FieldType::String)];
    Arc::new(
        KeySchema::new(Profile::Bin, fields, vec![salt, plain(0), plain(1)]).expect("a schema"),
    )
}

fn values(number: usize) -> [Value<'static>; 2] {
    [
        Value::Text(format!("2015{number:08}").into()),
        Value::Text(format!("u{}", number % 13).into()),
    ]
}

fn table(schema: &KeySchema, rows: usize) -> Fake {
    Fake::new((0..rows).map(|number| schema.encode(&values(number)).expect("a key").to_vec()))
}

/// Returns the keys without their salts.
fn logical(rows: &[Row], salt_bytes: usize) -> Vec<Bytes> {
    keys_of(rows).into_iter().map(|key| key.slice(salt_bytes..)).collect()
}

fn between(low: usize, high: usize) -> Predicate {
    let [low, high] = [low, high].map(|number| values(number)[0].clone());
    Predicate::Range { low: Bound::Included(low), high: Bound::Excluded(high) }
}

#[test]
fn random_plans_return_ordered_rows_across_pages() {
    for seed in 1..4_000 {
        let case = Case::new(seed);
        let query = KeyQuery { limit: None, ..case.query.clone() };
        let Ok(plan) = Plan::new(&case.schema, &query, &case.options) else { continue };
        let merge_key = |key: &[u8]| {
            let range = plan.ranges().find(|range| range.range.contains(key))?;
            let (first, second) = range.merge_key(key);
            Some([first, second].concat())
        };
        let in_plan = case.rows.keys().filter_map(|key| Some((merge_key(key)?, key.clone())));
        let mut expected: Vec<_> =
            in_plan.filter(|(_, key)| plan.admits(&plan.decode(key).expect("a key"))).collect();
        expected.sort();
        if query.reverse {
            expected.reverse();
        }
        let expected: Vec<_> = expected.into_iter().map(|(_, key)| Bytes::from(key)).collect();
        let mut chance = SeededRng::new(seed);
        let mut table = Fake::new(case.rows.keys().cloned());
        table.batch = 1 + chance.below(9);
        let options =
            ScatterOptions { concurrency: 1 + chance.below(5), ..ScatterOptions::default() };
        let open = |query: &KeyQuery, after: Option<&PageToken>| {
            let plan = Arc::new(Plan::new(&case.schema, query, &case.options).expect("a plan"));
            Scatter::new(Arc::new(table.clone()), plan, Scan::all(), &options, after)
                .expect("a scatter")
        };
        assert_eq!(keys_of(&all(&mut open(&query, None))), expected, "seed {seed}: {plan:?}");
        let mut unordered = keys_of(&all(&mut open(&query.clone().ordered(false), None)));
        unordered.sort();
        let mut sorted = expected.clone();
        sorted.sort();
        assert_eq!(unordered, sorted, "seed {seed}, without order: {plan:?}");
        let page = query.clone().limit(1 + chance.below(4));
        let (mut paged, mut token) = (Vec::new(), None);
        loop {
            let mut scatter = open(&page, token.as_ref());
            let rows = all(&mut scatter);
            let Some(last) = rows.last() else { break };
            token =
                Some(PageToken::from_bytes(&scatter.token_of(last).to_bytes()).expect("a token"));
            paged.extend(keys_of(&rows));
        }
        assert_eq!(paged, expected, "seed {seed}, in pages: {plan:?}");
    }
}

#[test]
fn k22_thousand_salts_return_rows_in_unsalted_order() {
    let (unsalted, schema) =
        (salted(1, HashFunction::Murmur3), salted(1000, HashFunction::Murmur3));
    let query = KeyQuery::all().with(0, between(500, 4500));
    let plain =
        logical(&all(&mut scatter(&table(&unsalted, 5000), &plan(&unsalted, &query), None)), 1);
    assert_eq!(plain.len(), 4000);
    for reverse in [false, true] {
        let table = table(&schema, 5000);
        let mut found = logical(
            &all(&mut scatter(&table, &plan(&schema, &query.clone().reverse(reverse)), None)),
            2,
        );
        if reverse {
            found.reverse();
        }
        assert_eq!(found, plain);
        assert!(
            table.counts.max_waiting.load(Ordering::Relaxed) <= 16,
            "more than the concurrency at once"
        );
        assert_eq!(table.counts.scans.load(Ordering::Relaxed), 1000);
    }
    let table = table(&schema, 5000);
    let mut first = scatter(&table, &plan(&schema, &query.limit(10)), None);
    assert_eq!(logical(&all(&mut first), 2), plain[..10]);
    let limits = table.counts.limits.lock().expect("a list");
    assert!(
        limits.iter().all(|limit| limit.is_some_and(|limit| limit <= 10)),
        "a branch must not request more than the limit"
    );
}

#[test]
fn page_token_resumes_after_salt_count_change() {
    let (before, after) = (salted(16, HashFunction::Murmur3), salted(64, HashFunction::Murmur3));
    let query = KeyQuery::all().with(0, between(100, 300));
    let mut first = scatter(&table(&before, 500), &plan(&before, &query.clone().limit(70)), None);
    let mut rows = all(&mut first);
    let token = first.token_of(rows.last().expect("a row"));
    let rest = all(&mut scatter(&table(&after, 500), &plan(&after, &query), Some(&token)));
    rows.extend(rest);
    let expected: Vec<_> = (100..300)
        .map(|number| Bytes::from(before.encode(&values(number)).expect("a key")).slice(1..))
        .collect();
    assert_eq!(logical(&rows, 1), expected);
    let other = plan(&before, &query.reverse(true));
    let refused = Scatter::new(
        Arc::new(table(&before, 1)),
        other,
        Scan::all(),
        &ScatterOptions::default(),
        Some(&token),
    )
    .err();
    assert_eq!(refused.map(|error| error.kind()), Some(ErrorKind::InvalidRequest));
}

#[test]
fn unordered_limit_opens_only_the_needed_branches() {
    let schema = salted(100, HashFunction::Murmur3);
    let table = table(&schema, 5000);
    let rows =
        all(&mut scatter(&table, &plan(&schema, &KeyQuery::all().ordered(false).limit(5)), None));
    assert_eq!((rows.len(), table.counts.scans.load(Ordering::Relaxed)), (5, 1));
}

#[test]
fn batches_larger_than_a_response_are_returned_whole() {
    let schema = salted(3, HashFunction::Murmur3);
    let mut table = table(&schema, 20_000);
    table.batch = 2500;
    for ordered in [true, false] {
        let mut found = keys_of(&all(&mut scatter(
            &table,
            &plan(&schema, &KeyQuery::all().ordered(ordered)),
            None,
        )));
        found.sort();
        assert!(found.iter().eq(table.keys()), "ordered: {ordered}, {} rows", found.len());
    }
}

#[test]
fn whole_keys_use_gets_for_each_possible_salt() {
    let schema = salted(16, HashFunction::Murmur3);
    let table = table(&schema, 100);
    let one = |number: usize| {
        KeyQuery::all().equals(0, values(number)[0].clone()).equals(1, values(number)[1].clone())
    };
    assert_eq!(all(&mut scatter(&table, &plan(&schema, &one(5)), None)).len(), 1);
    assert_eq!(
        (table.counts.gets.load(Ordering::Relaxed), table.counts.scans.load(Ordering::Relaxed)),
        (1, 0)
    );
    let drawn = salted(16, HashFunction::Random);
    let table = Fake::new(table.keys().cloned().collect::<Vec<_>>());
    assert_eq!(all(&mut scatter(&table, &plan(&drawn, &one(5)), None)).len(), 1);
    assert_eq!(
        (table.counts.gets.load(Ordering::Relaxed), table.counts.scans.load(Ordering::Relaxed)),
        (16, 0)
    );
}

#[test]
fn scan_error_names_table_and_row_range() {
    let schema = salted(4, HashFunction::Murmur3);
    let mut table = table(&schema, 400);
    let broken = table.keys().nth(150).cloned();
    table.broken = broken;
    let mut scatter = scatter(&table, &plan(&schema, &KeyQuery::all()), None);
    let error = loop {
        match block_on(scatter.next()) {
            Ok(row) => assert!(row.is_some(), "the end came before the error"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.message(), "table t, rows \\x01 .. \\x02: the block is damaged");
    assert_eq!(block_on(scatter.next()), Ok(None));
}

#[test]
fn dropping_the_scatter_closes_every_scan() {
    let schema = salted(100, HashFunction::Murmur3);
    let table = table(&schema, 5000);
    let mut scatter = scatter(&table, &plan(&schema, &KeyQuery::all()), None);
    assert!(block_on(scatter.next()).expect("a row").is_some());
    assert!(table.counts.open.load(Ordering::Relaxed) > 50);
    drop(scatter);
    assert_eq!(table.counts.open.load(Ordering::Relaxed), 0);
}

#[test]
fn undecodable_rows_are_returned_counted_or_rejected() {
    let schema = salted(4, HashFunction::Murmur3);
    let good = table(&schema, 20);
    let table = Fake::new(good.keys().cloned().chain([b"\x01stray".to_vec()]));
    let read = |unreadable| {
        let options = ScatterOptions { undecodable_rows: unreadable, ..ScatterOptions::default() };
        let plan = plan(&schema, &KeyQuery::all());
        let mut scatter = Scatter::new(Arc::new(table.clone()), plan, Scan::all(), &options, None)
            .expect("a scatter");
        let mut rows = 0;
        loop {
            match block_on(scatter.next()) {
                Ok(Some(_)) => rows += 1,
                Ok(None) => return (rows, scatter.left_out(), None),
                Err(error) => return (rows, scatter.left_out(), Some(error.kind())),
            }
        }
    };
    assert_eq!(read(UndecodableRows::Return), (21, 0, None));
    assert_eq!(read(UndecodableRows::Count), (20, 1, None));
    assert_eq!(read(UndecodableRows::Fail).2, Some(ErrorKind::InvalidRequest));
}

#[test]
fn skipped_rows_do_not_use_up_a_limit() {
    for salts in [1, 4] {
        let schema = salted(salts, HashFunction::Murmur3);
        let good = table(&schema, 50);
        let strays = (0..30).map(|number| format!("\0!{number}").into_bytes());
        let table = Fake::new(good.keys().cloned().chain(strays));
        let options = ScatterOptions {
            undecodable_rows: UndecodableRows::Count,
            ..ScatterOptions::default()
        };
        for limit in [1, 10, 40] {
            let plan = plan(&schema, &KeyQuery::all().limit(limit));
            let mut scatter =
                Scatter::new(Arc::new(table.clone()), plan, Scan::all(), &options, None)
                    .expect("a scatter");
            assert_eq!(all(&mut scatter).len(), limit, "{salts} salts");
        }
    }
}
