//! A union of random queries returns the rows of each, once, in the order that it promises.

use std::collections::BTreeSet;

use super::cases::{Case, SeededRng, query};
use super::random::{in_order, number, run};
use crate::plan::{KeyQuery, Plan, PlanError, PlanOptions};
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
