//! Keys of questions, and what plans of them read.

use std::sync::Arc;

use crate::plan::{
    Asked, Condition, KeyQuery, Plan, PlanNote, PlanOptions, Predicate, Question, serving_key,
};
use crate::schema::{KeySchema, Order};
use crate::value::{FieldType, TimeUnit, Value};

fn asked(name: &str, ty: FieldType) -> Asked {
    Asked { name: name.to_owned(), ty }
}

fn time(name: &str) -> Asked {
    asked(name, FieldType::Timestamp(TimeUnit::Millis))
}

fn text(name: &str) -> Asked {
    asked(name, FieldType::String)
}

fn serving(declared: &str, question: &Question) -> String {
    let declared: KeySchema = declared.parse().unwrap();
    serving_key(&declared, question).map_or_else(String::new, |key| key.to_string())
}

#[test]
fn messages_of_a_receiver_are_served_by_receiver_time_and_id() {
    let question = Question {
        equal: vec![text("receiver_id")],
        order: vec![(time("created_at"), Order::Desc)],
        is_limited: true,
        ..Question::default()
    };
    assert_eq!(
        serving("ROW KEY (msg_id STRING)", &question),
        "ROW KEY (SALT(16 BY receiver_id), receiver_id STRING, created_at TIMESTAMP DESC, msg_id \
         STRING)"
    );
}

#[test]
fn declared_salts_orders_and_transforms_of_fields_stay() {
    let question =
        Question { equal: vec![text("sender")], ranges: vec![time("ts")], ..Question::default() };
    let inbox = "ROW KEY (SALT(8 BY receiver), receiver STRING, ts TIMESTAMP DESC, REVERSE(sender) \
                 STRING, msg_id STRING)";
    assert_eq!(
        serving(inbox, &question),
        "ROW KEY (SALT(8 BY sender), REVERSE(sender) STRING, ts TIMESTAMP DESC, receiver STRING, \
         msg_id STRING)"
    );
    // A beginning of a field is a range only where the key has its bytes in their order.
    let prefix = Question { ranges: vec![text("sender")], ..Question::default() };
    assert_eq!(
        serving(inbox, &prefix),
        "ROW KEY (sender STRING, receiver STRING, ts TIMESTAMP DESC, msg_id STRING)"
    );
}

#[test]
fn range_precedes_another_order_unless_only_the_first_rows_are_asked_for() {
    let mut question = Question {
        equal: vec![text("host")],
        ranges: vec![time("ts")],
        order: vec![(asked("v", FieldType::F64), Order::Asc)],
        is_limited: false,
    };
    let declared = "ROW KEY (id U64)";
    assert_eq!(
        serving(declared, &question),
        "ROW KEY (SALT(16 BY host), host STRING, ts TIMESTAMP, id U64)"
    );
    question.is_limited = true;
    assert_eq!(
        serving(declared, &question),
        "ROW KEY (SALT(16 BY host), host STRING, v F64, id U64)"
    );
}

#[test]
fn key_that_would_begin_with_a_time_has_a_salt_of_what_follows() {
    let question = Question { ranges: vec![time("ts")], ..Question::default() };
    assert_eq!(
        serving("ROW KEY (id STRING)", &question),
        "ROW KEY (SALT(16 BY id), ts TIMESTAMP, id STRING)"
    );
    let by_value = Question { ranges: vec![asked("v", FieldType::I64)], ..Question::default() };
    assert_eq!(serving("ROW KEY (id STRING)", &by_value), "ROW KEY (v I64, id STRING)");
}

#[test]
fn question_of_no_column_or_of_the_declared_key_has_no_other() {
    assert_eq!(serving("ROW KEY (id STRING)", &Question::default()), "");
    let question = Question { ranges: vec![text("id")], ..Question::default() };
    assert_eq!(serving("ROW KEY (id STRING, ts TIMESTAMP)", &question), "");
    let many = (0..70).map(|at| text(&format!("c{at}"))).collect();
    let question = Question { equal: many, ..Question::default() };
    assert_eq!(serving("ROW KEY (id STRING)", &question), "");
}

#[test]
fn profile_stays_where_it_holds_the_key() {
    let question = Question { equal: vec![text("city")], ..Question::default() };
    assert_eq!(
        serving("ROW KEY (id STRING, ts TIMESTAMP) PROFILE ORDERED", &question),
        "ROW KEY (SALT(16 BY city), city STRING, id STRING, ts TIMESTAMP) PROFILE ORDERED"
    );
    let template: KeySchema = "ROW KEY TEXT '{id}_{n:6}'".parse().unwrap();
    let key = serving_key(&template, &question).unwrap();
    assert_eq!(key.to_string(), "ROW KEY (SALT(16 BY city), city STRING, id STRING, n U64)");
}

#[test]
fn served_question_reads_one_range_for_each_salt() {
    let declared: KeySchema =
        "ROW KEY (SALT(4 BY a), a STRING, t TIMESTAMP DESC, b STRING)".parse().unwrap();
    let condition = |field: usize, predicate| Condition { field, predicate };
    let (of_a, of_b) = (Value::Text("x".into()), Value::Text("y".into()));
    let after = Predicate::Range {
        low: std::ops::Bound::Included(Value::Signed(5)),
        high: std::ops::Bound::Unbounded,
    };
    let questions = [
        (vec![condition(2, Predicate::Equals(of_b.clone()))], 1),
        (vec![condition(2, Predicate::Equals(of_b)), condition(1, after.clone())], 1),
        (vec![condition(1, after)], 4),
        (vec![condition(2, Predicate::Prefix("y".into()))], 1),
        (vec![condition(0, Predicate::Equals(of_a))], 1),
    ];
    for (conditions, ranges) in questions {
        let question = Question::of_key(&declared, &conditions);
        let key = serving_key(&declared, &question).unwrap_or_else(|| declared.clone());
        let renamed = conditions.iter().map(|condition| {
            let name = &declared.fields()[condition.field].name;
            Condition { field: key.field_id(name).unwrap(), predicate: condition.predicate.clone() }
        });
        let query = KeyQuery { conditions: renamed.collect(), ..KeyQuery::all() };
        let plan = Plan::new(&Arc::new(key.clone()), &query, &PlanOptions::default()).unwrap();
        assert_eq!(plan.ranges().count(), ranges, "{key}");
        assert!(!plan.notes().contains(&PlanNote::FullScan) && !plan.has_residual(), "{key}");
    }
}
