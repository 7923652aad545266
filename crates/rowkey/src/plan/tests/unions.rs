//! A union of random queries returns the rows of each, once, in the order that it promises.

use std::collections::BTreeSet;

use super::cases::{Case, SeededRng, query};
use super::random::{in_order, meets, number, run};
use crate::plan::{AnyOf, Condition, KeyQuery, Plan, PlanError, PlanOptions};
use crate::schema::SegmentKind;
use crate::value::Value;

/// Returns the keys that a plan selects.
fn keys(case: &Case, plan: &Plan) -> BTreeSet<Vec<u8>> {
    run(case, plan, None).into_iter().map(|(_, (key, _))| key.clone()).collect()
}

/// Statistics of the tested cases.
#[derive(Default)]
struct UnionStats {
    rows: u64,
    residual: u64,
    joined: u64,
    ordered: u64,
    branches: u64,
}

fn check(seed: u64, seen: &mut UnionStats) {
    let case = Case::new(seed);
    let mut chance = SeededRng::new(!seed);
    let count = 1 + chance.below(4);
    let rules = |query: KeyQuery| KeyQuery {
        conditions: query.conditions,
        ..KeyQuery { conditions: Vec::new(), ..case.query.clone() }
    };
    let queries: Vec<KeyQuery> =
        (0..count).map(|_| rules(query(&mut chance, case.schema.fields()))).collect();
    // Of truncated text a skip scan may return fewer of the rows that are not excluded.
    let options = PlanOptions { distinct: Vec::new(), ..case.options.clone() };
    let single = |query| Plan::new(&case.schema, query, &options);
    let plans = match queries.iter().map(single).collect::<Result<Vec<_>, _>>() {
        Ok(plans) => plans,
        Err(PlanError::OnlyHashed { .. }) => {
            assert!(Plan::union(&case.schema, &queries, &case.options).is_err());
            return;
        }
        Err(other) => panic!("{other}"),
    };
    let union = Plan::union(&case.schema, &queries, &case.options).unwrap();
    let expected: BTreeSet<_> = plans.iter().flat_map(|plan| keys(&case, plan)).collect();
    let found = run(&case, &union, None);
    let found_keys: BTreeSet<_> = found.iter().map(|(_, (key, _))| (*key).clone()).collect();
    assert_eq!(found.len(), found_keys.len(), "a row came twice");
    assert_eq!(found_keys, expected);
    for pair in found.windows(2) {
        assert!(in_order(&case, &union, &pair[0].1.1[0], &pair[1].1.1[0]), "{pair:?}");
    }
    let limit = case.query.limit.unwrap_or(3);
    let limited: Vec<_> =
        run(&case, &union, Some(limit)).into_iter().map(|(_, (key, _))| key).collect();
    let first: Vec<_> = found.iter().take(limit).map(|(_, (key, _))| *key).collect();
    assert_eq!(limited, first, "with a limit");
    let ranges: usize = plans.iter().map(|plan| plan.ranges().count()).sum();
    seen.rows += found.len() as u64;
    seen.residual += u64::from(union.has_residual());
    seen.joined += u64::from(union.ranges().count() < ranges);
    seen.ordered += u64::from(!union.order().is_empty() && count > 1);
    seen.branches += u64::from(union.fan_out() > 1);
    assert!(!union.explain(&[]).is_empty());
}

#[test]
fn union_selects_the_rows_of_each_query_once() {
    let cases = number("HALITE_PLAN_CASES").unwrap_or(30_000);
    let first = number("HALITE_PLAN_SEED").unwrap_or(1);
    let mut seen = UnionStats::default();
    for seed in first..first + cases {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut seen = UnionStats::default();
            check(seed, &mut seen);
            seen
        }));
        let of_case = outcome.unwrap_or_else(|_| {
            panic!("seed {seed} (HALITE_PLAN_CASES=1 HALITE_PLAN_SEED={seed})")
        });
        seen.rows += of_case.rows;
        seen.residual += of_case.residual;
        seen.joined += of_case.joined;
        seen.ordered += of_case.ordered;
        seen.branches += of_case.branches;
    }
    for (kind, count) in [
        ("rows", seen.rows),
        ("residuals", seen.residual),
        ("joined ranges", seen.joined),
        ("orders", seen.ordered),
        ("branches", seen.branches),
    ] {
        assert!(count > cases / 100, "only {count} {kind} in {cases} cases");
    }
}

#[test]
fn ranges_that_touch_are_joined_in_each_salt() {
    let schema = std::sync::Arc::new("(SALT(4 BY id), id STRING, n U8)".parse().unwrap());
    let of = |low: u64, high: u64| {
        KeyQuery::all().equals(0, "a").range(
            1,
            std::ops::Bound::Included(Value::Unsigned(low)),
            std::ops::Bound::Excluded(Value::Unsigned(high)),
        )
    };
    let plan = |queries: &[KeyQuery]| Plan::union(&schema, queries, &<_>::default()).unwrap();
    let joined = plan(&[of(7, 9), of(1, 5), of(4, 7)]);
    assert_eq!((joined.ranges().count(), joined.fan_out(), joined.has_residual()), (1, 1, false));
    assert_eq!(plan(&[of(1, 3), of(4, 7)]).ranges().count(), 2);
    let other = KeyQuery::all().equals(0, "b");
    let two = plan(&[of(1, 3), other.clone()]);
    assert_eq!(two.fan_out(), two.ranges().count());
    assert!(two.serves_order(&[(0, crate::Order::Asc), (1, crate::Order::Asc)]));
    assert!(plan(&[of(1, 3), of(5, 7)]).serves_order(&[(1, crate::Order::Asc)]));
    assert!(!two.serves_order(&[(1, crate::Order::Asc)]));
    let mixed = Plan::union(&schema, &[of(1, 3), other.limit(3)], &<_>::default());
    assert_eq!(mixed.unwrap_err(), PlanError::MixedUnion);
    assert_eq!(plan(&[]).ranges().count(), 0);
}

#[test]
fn a_row_is_checked_by_the_query_that_reads_it() {
    let schema = std::sync::Arc::new("(a U8, b U8, c U8)".parse().unwrap());
    let is = |value| Value::Unsigned(value);
    let first = KeyQuery::all().equals(0, is(1)).equals(2, is(5));
    let second = KeyQuery::all().equals(0, is(2));
    let plan = Plan::union(&schema, &[first, second], &<_>::default()).unwrap();
    let admits = |key: [u8; 3]| plan.admits_row(&key, &plan.decode(&key).unwrap());
    assert!(plan.has_residual());
    assert_eq!([admits([1, 9, 5]), admits([1, 9, 6]), admits([2, 9, 6])], [true, false, true]);
}

/// Plans a random query with alternatives; returns how many queries the union has, and whether rows
/// are checked.
fn check_alternatives(seed: u64) -> Option<(usize, bool)> {
    let case = Case::new(seed);
    let mut chance = SeededRng::new(seed ^ 0x5eed);
    let fields = case.schema.fields();
    let any_of: Vec<AnyOf> = (0..=chance.below(3))
        .map(|_| {
            let terms = (0..=chance.below(9)).map(|_| query(&mut chance, fields).conditions);
            AnyOf { terms: terms.collect() }
        })
        .collect();
    let options = PlanOptions { distinct: Vec::new(), ..case.options.clone() };
    let plan = match Plan::with_alternatives(&case.schema, &case.query, &any_of, &options) {
        Ok(plan) => plan,
        Err(PlanError::OnlyHashed { .. }) => return None,
        Err(other) => panic!("{other}"),
    };
    let with = |term: &Vec<_>| {
        let mut query = case.query.clone();
        query.conditions.extend(term.iter().cloned());
        Plan::new(&case.schema, &query, &options)
    };
    // The rows of each term by itself, those of one of each kind, those of all kinds.
    let mut expected: Option<BTreeSet<Vec<u8>>> = None;
    for any in &any_of {
        let mut of_any = BTreeSet::new();
        for term in &any.terms {
            match with(term) {
                Ok(plan) => of_any.extend(keys(&case, &plan)),
                // Together with another condition, its hash is known.
                Err(_) => return None,
            }
        }
        expected = Some(match expected {
            Some(before) => &before & &of_any,
            None => of_any,
        });
    }
    let expected = expected.expect("one condition at least");
    let found = run(&case, &plan, None);
    let found_keys: BTreeSet<_> = found.iter().map(|(_, (key, _))| (*key).clone()).collect();
    assert_eq!(found.len(), found_keys.len(), "a row came twice");
    let is_met = |conditions: &[Condition], row: &[Value<'static>]| {
        conditions.iter().all(|condition| meets(&condition.predicate, &row[condition.field]))
    };
    let is_selected = |row: &Vec<Value<'static>>| {
        let of_any = |any: &AnyOf| any.terms.iter().any(|term| is_met(term, row));
        is_met(&case.query.conditions, row) && any_of.iter().all(of_any)
    };
    for (key, values) in &case.rows {
        let is_missing = values.iter().any(is_selected) && !found_keys.contains(key);
        assert!(!is_missing, "{values:?}");
    }
    // Conditions on a part of a field may hold for different values of it, one by one.
    let in_part =
        |kind: &SegmentKind| matches!(kind, SegmentKind::Bucket { .. } | SegmentKind::Trunc { .. });
    if !case.schema.segments().iter().any(|segment| in_part(&segment.kind)) {
        assert_eq!(found_keys, expected);
    }
    for pair in found.windows(2) {
        assert!(in_order(&case, &plan, &pair[0].1.1[0], &pair[1].1.1[0]), "{pair:?}");
    }
    let limit = case.query.limit.unwrap_or(3);
    let limited: Vec<_> =
        run(&case, &plan, Some(limit)).into_iter().map(|(_, (key, _))| key).collect();
    let first: Vec<_> = found.iter().take(limit).map(|(_, (key, _))| *key).collect();
    assert_eq!(limited, first, "with a limit");
    let again = plan.replanned(case.query.limit, case.query.reverse).expect("a plan");
    assert!(again.ranges().eq(plan.ranges()), "planned again");
    assert!(!plan.explain(&[]).is_empty());
    Some((plan.queries().count(), plan.has_residual()))
}

#[test]
fn alternatives_select_the_rows_of_one_term_of_each() {
    let cases = number("HALITE_PLAN_CASES").unwrap_or(10_000);
    let first = number("HALITE_PLAN_SEED").unwrap_or(1);
    let (mut united, mut checked) = (0, 0);
    for seed in first..first + cases {
        let outcome = std::panic::catch_unwind(|| check_alternatives(seed));
        let of_case = outcome.unwrap_or_else(|_| {
            panic!("seed {seed} (HALITE_PLAN_CASES=1 HALITE_PLAN_SEED={seed})")
        });
        if let Some((queries, has_residual)) = of_case {
            united += u64::from(queries > 1);
            checked += u64::from(has_residual);
        }
    }
    for (kind, count) in [("unions", united), ("checks", checked)] {
        assert!(count > cases / 100, "only {count} {kind} in {cases} cases");
    }
}

#[test]
fn alternatives_beyond_the_queries_of_a_union_are_checked() {
    let schema = std::sync::Arc::new("(a U8, b U8, c U8)".parse().unwrap());
    let is = |field: usize, value: u64| Condition {
        field,
        predicate: crate::plan::Predicate::Equals(Value::Unsigned(value)),
    };
    let list = |field: usize| AnyOf { terms: (0..9).map(|at| vec![is(field, at)]).collect() };
    let plan = |any_of: &[AnyOf]| {
        Plan::with_alternatives(&schema, &KeyQuery::all(), any_of, &<_>::default()).unwrap()
    };
    let one = plan(&[list(0)]);
    assert_eq!((one.queries().count(), one.has_residual()), (9, false));
    // The first field of the key narrows most.
    let two = plan(&[list(1), list(0)]);
    assert_eq!((two.ranges().count(), two.queries().count(), two.has_residual()), (1, 9, true));
    let admits = |key: [u8; 3]| two.admits_row(&key, &two.decode(&key).unwrap());
    assert_eq!([admits([1, 8, 3]), admits([1, 9, 3]), admits([9, 8, 3])], [true, false, false]);
    let none = plan(&[AnyOf { terms: Vec::new() }]);
    assert_eq!(none.ranges().count(), 0);
    assert_eq!(none.replanned(None, true).unwrap().ranges().count(), 0);
    let more = one.and(&[is(0, 3)]).unwrap();
    assert_eq!((more.ranges().count(), more.queries().count()), (1, 1));
}
