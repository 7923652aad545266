//! Ranges that read complete keys by scans.

use std::ops::Bound;
use std::sync::Arc;

use halite_types::{Bytes, RowRange};

use crate::plan::{KeyQuery, KeyRange, Plan, PlanOptions};
use crate::schema::KeySchema;
use crate::value::Value;

fn plan(key: &str, ids: impl Iterator<Item = i64>) -> Plan {
    let schema: Arc<KeySchema> = Arc::new(key.parse().unwrap());
    let query = KeyQuery::all().is_in(0, ids.map(Value::Signed));
    Plan::new(&schema, &query, &PlanOptions::default()).unwrap()
}

/// Returns the keys that runs read.
fn keys(runs: &[KeyRange]) -> Vec<Bytes> {
    let points = |run: &KeyRange| {
        let points = run.points_in(&RowRange::all()).unwrap();
        let (first, last) = (&points[0].start, &points[points.len() - 1].end);
        assert_eq!((&run.range.start, &run.range.end), (first, last));
        points.into_iter().map(|range| match range.start {
            Bound::Included(key) => key,
            other => panic!("{other:?} is no key"),
        })
    };
    runs.iter().flat_map(points).collect()
}

fn points(plan: &Plan) -> Vec<Bytes> {
    let mut points = plan.points().unwrap();
    points.sort();
    points
}

#[test]
fn runs_have_the_keys_of_a_region_with_the_same_salt() {
    let salted = plan("ROW KEY (SALT(4 BY id), id I64)", 0..1000);
    let runs = salted.point_runs(&[]).unwrap();
    assert_eq!((runs.len(), keys(&runs)), (4, points(&salted)));
    let middle = points(&salted)[300].clone();
    let runs = salted.point_runs(&[Bytes::new(), middle.clone()]).unwrap();
    assert_eq!((runs.len(), keys(&runs)), (5, points(&salted)));
    assert!(runs.iter().any(|run| run.first_point() == Some(&middle)));
}

#[test]
fn runs_of_many_keys_are_cut() {
    let plan = plan("ROW KEY (id I64)", 0..25_000);
    let runs = plan.point_runs(&[]).unwrap();
    assert_eq!((runs.len(), keys(&runs)), (3, points(&plan)));
}

#[test]
fn a_run_goes_on_with_its_other_keys() {
    let plan = plan("ROW KEY (id I64)", 0..10);
    let all = points(&plan);
    let runs = plan.point_runs(&[]).unwrap();
    let rest = RowRange { start: Bound::Excluded(all[6].clone()), end: Bound::Unbounded };
    let left = runs[0].points_in(&rest).unwrap();
    assert_eq!(left.len(), 3);
    assert!(left.iter().zip(&all[7..]).all(|(range, key)| range.contains(key)));
}

#[test]
fn ranges_of_several_keys_have_no_runs() {
    let schema: Arc<KeySchema> = Arc::new("ROW KEY (a I64, b I64)".parse().unwrap());
    let query = KeyQuery::all().is_in(0, (0..5).map(Value::Signed));
    let plan = Plan::new(&schema, &query, &PlanOptions::default()).unwrap();
    assert!(plan.point_runs(&[]).is_none());
    assert!(plan.ranges().all(|range| range.points_in(&RowRange::all()).is_none()));
}
