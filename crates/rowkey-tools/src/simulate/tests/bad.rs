//! Invalid traffic, traces and specifications are rejected with a fix.

use crate::simulate::{
    Design, FieldSpec, MAX_OPERATIONS, RegionLayout, RowSpec, SimulateOptions, Traffic,
    TrafficSpec, simulate,
};

fn traffic_spec(fields: &[(&str, &str)], operations: usize) -> TrafficSpec {
    let fields = fields
        .iter()
        .map(|(name, spec)| ((*name).to_owned(), FieldSpec::parse(spec).unwrap()))
        .collect();
    TrafficSpec {
        fields,
        operations,
        rate_per_second: Some(1000.0),
        start_ms: 0,
        reads: 0.0,
        seed: 1,
    }
}

fn design(key: &str) -> Design {
    Design {
        name: "d".into(),
        key: key.parse().unwrap(),
        regions: RegionLayout::Even(4),
        queries: Vec::new(),
    }
}

#[test]
fn bad_field_specification_error_lists_alternatives() {
    let bad = [
        ("unifrom(5)", "there is no unifrom(5); there are uniform(n)"),
        ("uniform(0)", "above 0"),
        ("uniform(5", ") is missing"),
        ("zipf(10)", "a number like 1.1"),
        ("zipf(99999999999,1)", "at most 1000000"),
        ("hot(2,10)", "0 to 1"),
        ("a{uniform(5)", "} is missing"),
        ("a{uniform(5):x}", "a width like 05"),
        ("a{uniform(5):4000000000}", "at most 32 digits"),
        ("now(soon)", "1000/s, jitter=500ms or step=1s"),
        ("now(-5/s)", "operations in a second"),
        ("now(jitter=5)", "is no duration"),
        // Regression test: parts that were not examined were omitted, or interpreted as text.
        ("uniform(10,20)", "takes 1 at most"),
        ("cycle(5,3)", "takes 1 at most"),
        ("zipf(10,1,9)", "takes 2 at most"),
        ("random(5)", "takes 0 at most"),
        ("one(x,,y)", "nothing between two commas"),
        ("{uuid:08}", "only numbers are filled up"),
        ("now(5/s,6/s)", "says again"),
        ("{now(5/s)}{now(6/s)}", "per second once"),
        ("zipf", "one(zipf) is the word itself"),
        ("cycle", "one(cycle) is the word itself"),
    ];
    for (text, expected) in bad {
        let said = FieldSpec::parse(text).expect_err(text);
        assert!(said.contains(expected), "{text}: {said}");
    }
}

#[test]
fn traffic_must_fit_the_key() {
    let twice = traffic_spec(&[("a", "now(5/s)"), ("b", "now(6/s)")], 10);
    let said = TrafficSpec { rate_per_second: None, ..twice }.generate().unwrap_err().to_string();
    assert!(said.contains("more than once: 5 by a, 6 by b"), "{said}");
    let said = traffic_spec(&[("a", "now(5/s)")], 10).generate().unwrap_err().to_string();
    assert!(said.contains("5 by a, 1000 for all"), "{said}");
    let refused = |key: &str, fields: &[(&str, &str)]| {
        let traffic = traffic_spec(fields, 10).generate().unwrap();
        simulate(&design(key), &traffic, &SimulateOptions::default()).unwrap_err().to_string()
    };
    let said = refused("(device STRING, ts TIMESTAMP)", &[("device", "d{uniform(3)}")]);
    assert!(
        said.contains(
            "nothing says what values ts has; the traffic has device: give --field ts=..."
        ),
        "{said}"
    );
    let said = refused("(id U8)", &[("id", "seq(250)")]);
    assert!(said.contains("id: 256 is outside of U8"), "{said}");
    let said = refused("TEXT '{a}_{b}'", &[("a", "x_{uniform(3)}"), ("b", "y")]);
    assert!(said.contains("the text contains \"_\""), "{said}");
    assert!(
        traffic_spec(&[], 0)
            .generate()
            .unwrap_err()
            .to_string()
            .contains("0 operations are not possible")
    );
    assert!(traffic_spec(&[], MAX_OPERATIONS + 1).generate().is_err());
    let reads = TrafficSpec { reads: 1.1, ..traffic_spec(&[("id", "random")], 10) };
    let said =
        simulate(&design("(id U64)"), &reads.generate().unwrap(), &SimulateOptions::default())
            .unwrap_err()
            .to_string();
    assert!(said.contains("reads only"), "{said}");
}

#[test]
fn bad_trace_error_names_the_line() {
    let fields = ["id", "ts"];
    let read = |text: &str| Traffic::from_trace(text, &fields);
    let bad = [
        ("", "0 operations"),
        ("5\tW\n", "line 1 of the trace: time_ms<TAB>R|W<TAB>row"),
        ("5\tW\tid=1 ts=2\nx\tW\tid=1 ts=2\n", "line 2 of the trace: \"x\" is no time"),
        ("5\tD\tid=1\n", "neither R nor W"),
        ("5\tW\tid=1 ts=2\n6\tW\tid=1\n", "line 2 of the trace: field ts has no value"),
        ("5\tW\tid=1\n6\tW\tid=1 ts=2\n", "field ts is not in the lines before"),
        ("5\tW\tid=1 tz=2\n", "there is no field tz (did you mean ts?); there are id, ts"),
        ("5\tW\tid=1 ts\n", "\"ts\" is not field=value"),
        ("5\tW\tidd=1 ts=2\n", "there is no field idd (did you mean id?); there are id, ts"),
        ("5\tW\tid=1 ts=2 id=3\n", "field id is given twice"),
        ("5\tW\tuser_1\n", "a whole key is written as KEY, a tab, and the key"),
    ];
    for (text, expected) in bad {
        let said = read(text).expect_err(text).to_string();
        assert!(said.contains(expected), "{text:?}: {said}");
    }
    let mixed = read("9\tW\tid=1 ts=2\n7\tR\tid=3 ts=4\n\n").unwrap();
    assert_eq!(
        (mixed.operations[0].time_ms, mixed.operations[0].is_read, mixed.fields.len()),
        (7, true, 2),
        "in the order of time"
    );
    let keys = read("1\tW\tKEY\t\\x00a\n2\tW\tKEY\tb=1\n").unwrap();
    let found = simulate(&design("(id STRING)"), &keys, &SimulateOptions::default()).unwrap();
    assert_eq!((found.writes.operations, found.hot_rows.distinct), (2, 2));
    assert_eq!(found.misfits, 0);
    let odd = read("1\tW\tKEY\ta\n2\tW\tKEY\t\\x00\\x01\n").unwrap();
    assert_eq!(
        simulate(&design("(id U16)"), &odd, &SimulateOptions::default()).unwrap().misfits,
        1
    );
    let said =
        simulate(&design("(id U64)"), &odd, &SimulateOptions::default()).unwrap_err().to_string();
    assert!(said.contains("none of the 2 keys of the trace is a key of it"), "{said}");
}

/// Regression test: the notation of a key was used as the key.
#[test]
fn trace_keys_are_parsed_as_key_notation() {
    let traffic =
        Traffic::from_trace("\u{feff}1\tW\tKEY\tx'6100'\n2\tW\tKEY\tb\\x00\n", &[]).unwrap();
    let keys: Vec<_> = traffic.operations.iter().map(|operation| operation.row.clone()).collect();
    assert_eq!(
        keys,
        [
            RowSpec::Key(bytes::Bytes::from_static(b"a\0")),
            RowSpec::Key(bytes::Bytes::from_static(b"b\0"))
        ]
    );
    assert!(
        Traffic::from_trace("1\tW\tKEY\tx'610'", &[])
            .unwrap_err()
            .to_string()
            .contains("hexadecimal")
    );
}

#[test]
fn zero_width_windows_are_rejected() {
    let traffic = traffic_spec(&[("id", "random")], 10).generate().unwrap();
    for options in [
        SimulateOptions { window: 0, ..SimulateOptions::default() },
        SimulateOptions { window_ms: 0, ..SimulateOptions::default() },
    ] {
        let said = simulate(&design("(id U64)"), &traffic, &options).unwrap_err().to_string();
        assert!(said.contains("at least one operation"), "{said}");
    }
}

/// Regression test: dictionary values were not counted, and their queries were counted as full
/// scans.
#[test]
fn dictionary_values_are_counted_and_queried() {
    let traffic = traffic_spec(&[("m", "metric_{uniform(5)}"), ("n", "uniform(9)")], 1000)
        .generate()
        .unwrap();
    let query = halite_rowkey::language::Query::parse("one: m = ?", &["m", "n"]).unwrap();
    let design = Design { queries: vec![query], ..design("(DICT(m, 3), n U8)") };
    let found = simulate(&design, &traffic, &SimulateOptions::default()).unwrap();
    assert_eq!(found.cardinalities[0].distinct, 5);
    assert!(!found.queries[0].reads_all && found.queries[0].ranges == 1, "{:?}", found.queries);
}

/// Regression test: ids continued from field to field and started at 0, unlike those of a table.
#[test]
fn dictionary_ids_start_at_one_per_field() {
    let traffic =
        traffic_spec(&[("a", "x{cycle(3)}"), ("b", "y{cycle(2)}")], 6).generate().unwrap();
    let found =
        simulate(&design("(DICT(a, 1), DICT(b, 1))"), &traffic, &SimulateOptions::default())
            .unwrap();
    let keys: Vec<&[u8]> = found.hot_rows.top.iter().map(|(key, _)| &key[..]).collect();
    assert_eq!(keys, [[1, 1], [1, 2], [2, 1], [2, 2], [3, 1]]);
}
