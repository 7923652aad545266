//! Tests of the model against HBase's documentation.

use halite_types::{
    Append, CheckAndMutate, CompareOp, Condition, Delete, ErrorKind, Increment, Put, RowMutations,
    RowOp, Selection,
};

use super::*;

fn model(families: impl IntoIterator<Item = FamilyDescriptor>) -> Model {
    let table = families
        .into_iter()
        .fold(TableDescriptor::new("t".parse().unwrap()), TableDescriptor::family);
    Model::new(&table)
}

fn one_family(family: FamilyDescriptor) -> Model {
    model([family])
}

fn put(timestamp: i64, value: &str) -> RowOp {
    Put::new("r").add_at("f", "q", timestamp, value).into()
}

fn write(model: &mut Model, op: impl Into<RowOp>, now: i64) -> Effect {
    let effect = model.effect(&op.into(), now).unwrap();
    model.apply(&effect);
    effect
}

fn all_versions() -> Selection {
    Selection { max_versions: u32::MAX, ..Selection::default() }
}

/// Returns the values of each correct result.
fn read(model: &Model, selection: &Selection, now: i64) -> Vec<String> {
    let answers = model.accepted_results(b"r", selection, now);
    let text = |answer: &Vec<VisibleCell>| {
        answer
            .iter()
            .map(|seen| String::from_utf8(seen.value.to_vec()).unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let AcceptedResults::Among(answers) = &answers[0].1 else { panic!("unknown") };
    answers.iter().map(text).collect()
}

#[test]
fn newest_versions_are_visible_up_to_both_limits() {
    let mut model = one_family(FamilyDescriptor::new("f").versions(2));
    for stamp in [30, 10, 20] {
        write(&mut model, put(stamp, &stamp.to_string()), 100);
    }
    assert_eq!(read(&model, &Selection::default(), 100), ["30"]);
    assert_eq!(read(&model, &all_versions(), 100), ["30 20"]);
    let range = Selection { time_range: TimeRange::new(0, 20).unwrap(), ..all_versions() };
    assert_eq!(read(&model, &range, 100), ["10"], "the time range is applied before the versions");
}

#[test]
fn later_put_at_same_timestamp_wins() {
    let mut model = one_family(FamilyDescriptor::new("f").versions(5));
    write(&mut model, put(10, "first"), 100);
    write(&mut model, put(10, "second"), 100);
    assert_eq!(read(&model, &all_versions(), 100), ["second"]);
}

#[test]
fn markers_hide_by_timestamp_whatever_was_written_first() {
    let deletes: [(Delete, &str); 5] = [
        (Delete::new("r").version("f", "q", 20), "30 10"),
        (Delete::new("r").column_up_to("f", "q", 20), "30"),
        (Delete::new("r").family_up_to("f", 20), "30"),
        (Delete::new("r").family_version("f", 20), "30 10"),
        (Delete::new("r").newest("f", "q"), "20 10"),
    ];
    for (delete, left) in deletes {
        let mut model = one_family(FamilyDescriptor::new("f").versions(5));
        for stamp in [10, 20, 30] {
            write(&mut model, put(stamp, &stamp.to_string()), 100);
        }
        write(&mut model, delete.clone(), 100);
        assert_eq!(read(&model, &all_versions(), 100), [left], "{delete:?}");
        write(&mut model, put(20, "again"), 100);
        let hidden = !left.contains("20");
        assert_eq!(read(&model, &all_versions(), 100)[0].contains("again"), !hidden, "{delete:?}");
    }
}

#[test]
fn delete_without_columns_covers_all_families_until_now() {
    let mut model = model([FamilyDescriptor::new("f"), FamilyDescriptor::new("g")]);
    write(&mut model, Put::new("r").add("f", "q", "x").add("g", "q", "y"), 100);
    write(&mut model, Put::new("r").add_at("g", "future", 102, "z"), 100);
    write(&mut model, Delete::new("r"), 101);
    let left: Vec<_> = model
        .accepted_results(b"r", &all_versions(), 101)
        .into_iter()
        .map(|(_, answers)| answers)
        .collect();
    let AcceptedResults::Among(g) = &left[1] else { panic!() };
    assert_eq!(left[0], AcceptedResults::Among([Vec::new()].into()));
    assert_eq!(g.first().unwrap().len(), 1);
}

#[test]
fn cells_expire_except_newest_min_versions() {
    let mut plain = one_family(FamilyDescriptor::new("f").versions(5).ttl_seconds(1));
    let mut kept =
        one_family(FamilyDescriptor::new("f").versions(5).ttl_seconds(1).set("MIN_VERSIONS", 2));
    for stamp in [10, 20, 30] {
        write(&mut plain, put(stamp, &stamp.to_string()), 100);
        write(&mut kept, put(stamp, &stamp.to_string()), 100);
    }
    assert_eq!(
        read(&plain, &all_versions(), 1020),
        ["30 20"],
        "a cell is visible until its time to live ends"
    );
    assert_eq!(read(&plain, &all_versions(), 1031), [""]);
    assert_eq!(read(&kept, &all_versions(), 5000), ["30 20"]);
}

#[test]
fn expired_cell_ttl_reveals_earlier_version() {
    let mut model = one_family(FamilyDescriptor::new("f"));
    write(&mut model, put(10, "old"), 100);
    write(&mut model, Put::new("r").ttl_ms(50).add("f", "q", "new"), 100);
    assert_eq!(read(&model, &Selection::default(), 150), ["new"]);
    assert_eq!(read(&model, &Selection::default(), 151), ["old"]);
}

#[test]
fn keep_deleted_cells_shows_past_versions() {
    let past = Selection { time_range: TimeRange::new(0, 15).unwrap(), ..all_versions() };
    for (keep, seen) in [("FALSE", ""), ("TRUE", "10")] {
        let mut model =
            one_family(FamilyDescriptor::new("f").versions(5).set("KEEP_DELETED_CELLS", keep));
        write(&mut model, put(10, "10"), 100);
        write(&mut model, Delete::new("r").column_up_to("f", "q", 20), 100);
        assert_eq!(read(&model, &past, 100), [seen], "{keep}");
        assert_eq!(read(&model, &all_versions(), 100), [""], "{keep}");
    }
}

#[test]
fn limits_count_cells_per_family() {
    let mut model = one_family(FamilyDescriptor::new("f").versions(5));
    for (qualifier, stamp) in [("a", 10), ("a", 20), ("b", 30), ("c", 40)] {
        write(
            &mut model,
            Put::new("r").add_at("f", qualifier, stamp, format!("{qualifier}{stamp}")),
            100,
        );
    }
    let page = Selection { family_limit: Some(2), family_offset: 1, ..all_versions() };
    assert_eq!(read(&model, &page, 100), ["a10 b30"]);
}

#[test]
fn counter_timestamps_never_decrease() {
    let mut model = one_family(FamilyDescriptor::new("f"));
    let number =
        |effect: &Effect| i64::from_be_bytes(effect.result[0].value[..].try_into().unwrap());
    assert_eq!(number(&write(&mut model, Increment::new("r").add("f", "n", 5), 100)), 5);
    let effect = write(&mut model, Increment::new("r").add("f", "n", -7), 90);
    assert_eq!((number(&effect), effect.result[0].timestamp), (-2, 101));
    write(&mut model, put(10, "text"), 100);
    assert_eq!(
        model.effect(&Increment::new("r").add("f", "q", 1).into(), 100).unwrap_err(),
        ExpectedError(ErrorKind::InvalidRequest)
    );
    assert_eq!(
        model.effect(&Put::new("r").add("x", "q", "v").into(), 100).unwrap_err(),
        ExpectedError(ErrorKind::NoSuchFamily)
    );
}

#[test]
fn appends_and_row_mutations_are_atomic() {
    let mut model = one_family(FamilyDescriptor::new("f").versions(5));
    write(&mut model, Append::new("r").add("f", "q", "ab"), 100);
    assert_eq!(
        &write(&mut model, Append::new("r").add("f", "q", "cd"), 101).result[0].value[..],
        b"abcd"
    );
    let both = RowMutations::new("r")
        .add(Delete::new("r").column("f", "q"))
        .add(Put::new("r").add("f", "p", "x"));
    write(&mut model, both, 102);
    assert_eq!(read(&model, &all_versions(), 102), ["x"]);
}

#[test]
fn condition_checks_newest_value() {
    let mut model = one_family(FamilyDescriptor::new("f"));
    write(&mut model, put(10, "b"), 100);
    let holds = |op, value: Option<&'static str>, qualifier: &'static str| {
        let condition = Condition::Column {
            family: "f".into(),
            qualifier: qualifier.into(),
            op,
            value: value.map(Bytes::from),
        };
        model
            .effect(&CheckAndMutate::new("r", condition, put(20, "new")).into(), 100)
            .unwrap()
            .processed
    };
    assert!(holds(CompareOp::Equal, Some("b"), "q") && !holds(CompareOp::Equal, Some("a"), "q"));
    assert!(
        holds(CompareOp::Less, Some("a"), "q") && !holds(CompareOp::Greater, Some("a"), "q"),
        "the given value is the first operand"
    );
    assert!(
        holds(CompareOp::Equal, None, "none")
            && holds(CompareOp::NotEqual, None, "q")
            && !holds(CompareOp::NotEqual, None, "none")
    );
    assert!(
        !holds(CompareOp::NotEqual, Some("b"), "none"),
        "an absent value matches no comparison"
    );
}

#[test]
fn excess_version_may_reappear_after_version_delete() {
    let mut model = one_family(FamilyDescriptor::new("f"));
    write(&mut model, put(10, "old"), 100);
    write(&mut model, put(20, "new"), 100);
    let delete = Delete::new("r").version("f", "q", 20);
    let mut unflushed = model.clone();
    write(&mut unflushed, delete.clone(), 100);
    assert_eq!(read(&unflushed, &all_versions(), 100), ["old"]);
    model.record_flush(100);
    assert_eq!(read(&model, &all_versions(), 100), ["new"]);
    write(&mut model, delete, 100);
    assert_eq!(read(&model, &all_versions(), 100), ["", "old"]);
}

#[test]
fn deleted_cell_stays_hidden_unless_marker_was_dropped() {
    let mut model = one_family(FamilyDescriptor::new("f").versions(5));
    write(&mut model, put(10, "deleted"), 100);
    write(&mut model, Delete::new("r").column_up_to("f", "q", 50), 100);
    model.record_flush(100);
    write(&mut model, put(11, "flushed"), 100);
    assert_eq!(read(&model, &all_versions(), 100), [""], "a flush drops no marker");
    model.record_compaction(100);
    write(&mut model, put(20, "late"), 100);
    assert_eq!(read(&model, &all_versions(), 100), ["", "late", "late flushed"]);
    model.record_compaction(100);
    let left = ["", "flushed", "late", "late flushed"];
    assert_eq!(
        read(&model, &all_versions(), 100),
        left,
        "the late put may be dropped with a marker that still exists"
    );
    assert_eq!(model.raw(b"r", 100).0.len(), 0);
    assert_eq!(model.raw(b"r", 100).1.len(), 4);
}

#[test]
fn cells_under_expired_marker_may_reappear_after_clock_reset() {
    for (compacted_at, answers) in [(3000, &["", "deleted"][..]), (2000, &[""])] {
        let mut model = one_family(FamilyDescriptor::new("f").ttl_seconds(2));
        write(&mut model, put(10, "deleted"), 100);
        write(&mut model, Delete::new("r").family_up_to("f", 50), 100);
        model.record_compaction(compacted_at);
        assert_eq!(read(&model, &all_versions(), 3000), [""]);
        assert_eq!(read(&model, &all_versions(), 100), answers, "compacted at {compacted_at}");
    }
}

#[test]
fn major_compaction_resolves_uncertain_outcomes() {
    let mut model = one_family(FamilyDescriptor::new("f"));
    write(&mut model, put(10, "old"), 100);
    write(&mut model, put(20, "new"), 100);
    write(&mut model, Delete::new("r").column_up_to("f", "other", 50), 100);
    model.record_major_compaction(100);
    let (certain, possible) = model.raw(b"r", 100);
    assert_eq!((certain.len(), possible.len()), (1, 1));
    write(&mut model, Put::new("r").add_at("f", "other", 40, "late"), 100);
    write(&mut model, Delete::new("r").version("f", "q", 20), 100);
    assert_eq!(read(&model, &all_versions(), 100), ["late"]);
}
