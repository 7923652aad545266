//! Each rule reports its mistake, and does not report the fix.

use bytes::Bytes;
use halite_rowkey::language::{Column, ColumnType, Statement};
use halite_rowkey::schema::KeySchema;
use halite_rowkey::value::FieldType;
use halite_types::{FamilyDescriptor, TableDescriptor};

use super::*;

fn key(text: &str) -> KeySchema {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn ids(subject: &LintInput<'_>) -> Vec<&'static str> {
    lint(subject).iter().map(|finding| finding.rule.id).collect()
}

fn of_key(text: &str) -> Vec<&'static str> {
    let key = key(text);
    ids(&LintInput { key: Some(&key), ..LintInput::default() })
}

/// Rules that require only the declaration, each with a declaration that violates it and one that
/// does not.
const KEYS: &[(&str, &str, &str)] = &[
    ("K-MONO", "(ts TIMESTAMP, device STRING)", "(device STRING, ts TIMESTAMP)"),
    (
        "K-MONO",
        "(ts TIMESTAMP DESC, device STRING)",
        "(SALT(16 BY device), ts TIMESTAMP DESC, device STRING)",
    ),
    ("K-MONO", "(order_id U64)", "(BITREV(order_id) U64)"),
    ("K-MONO", "(SALT(1), day DATE, user STRING)", "(SALT(2 BY user), day DATE, user STRING)"),
    ("K-MONO", "(ts_ms U64, user STRING)", "(time_zone STRING, user STRING)"),
    ("K-MONO", "(day STRING, user STRING)", "(day_of_week STRING, user STRING)"),
    ("K-LOCAL", "(host STRING, day STRING, n U8)", "(host STRING, time_zone STRING, n U8)"),
    ("K-MONO", "TEXT '{date}_{user}'", "TEXT '{user}_{date}'"),
    ("K-BUCKETLEAD", "(BUCKET(ts, '15m'), host STRING)", "(host STRING, BUCKET(ts, '15m'))"),
    (
        "K-TSMOD",
        "(SALT(100 BY ts USING modulo), ts TIMESTAMP, host STRING)",
        "(SALT(100 BY host), ts TIMESTAMP, host STRING)",
    ),
    ("K-RNDSALT", "(SALT(4 USING random), id STRING)", "(SALT(4), id STRING)"),
    ("K-RNDSALT", "(SALT(4 USING round_robin), id STRING)", "(SALT(4 USING md5), id STRING)"),
    ("K-NEGMOD", "TEXT '{salt(1000 by k using java):3}{k}'", "TEXT '{salt(1000 by k):3}{k}'"),
    ("K-AMBIG", "TEXT '{parent}{child}'", "TEXT '{parent}/{child}'"),
    ("K-PAD", "TEXT '{user}_{n U32}'", "TEXT '{user}_{n U32:10}'"),
    ("K-PAD", "TEXT '{user}_{rev(ts):13}'", "TEXT '{user}_{rev(ts):19}'"),
    (
        "K-DELIM",
        "TEXT '{user}_{rev(ts):19}'",
        "TEXT '{user}_{rev(ts):19}' WHERE user MATCHES '[^_]+'",
    ),
    ("K-SEPORD", "TEXT '{user}_{rev(ts):19}'", "TEXT '{user} {rev(ts):19}'"),
    (
        "K-UNIQ",
        "(SALT(4 USING random), ts TIMESTAMP)",
        "(SALT(4 USING random), ts TIMESTAMP, writer U16)",
    ),
    ("K-TRUNC", "(TRUNC(host, 8), ts TIMESTAMP)", "(DICT(host, 4), ts TIMESTAMP)"),
    (
        "K-TRUNC",
        "(HASH(host STRING BYTES 2 USING md5), ts TIMESTAMP)",
        "(HASH(host BYTES 2 USING md5), host STRING, ts TIMESTAMP)",
    ),
    ("K-LOWCARD", "(flag BOOL, id STRING)", "(id STRING, flag BOOL)"),
    (
        "K-LOWCARD",
        "(SALT(16 BY flag), flag BOOL, id STRING)",
        "(SALT(16 BY flag, id), flag BOOL, id STRING)",
    ),
    ("K-LOWCARD", "(status STRING, id STRING)", "(SALT(16 BY id), status STRING, id STRING)"),
    ("K-LOWCARD", "(CONST 'v', kind U8, id STRING)", "(id STRING, kind U8)"),
    ("K-LEN", "(a CHAR(100), b CHAR(100))", "(a CHAR(10), b CHAR(10))"),
    (
        "K-NULLTAIL",
        "(a STRING, b STRING DESC NULLABLE) PROFILE ORDERED COMPAT",
        "(a STRING, b STRING NULLABLE) PROFILE ORDERED",
    ),
    (
        "K-BLOB",
        "(a BYTES, b I64) PROFILE ORDERED COMPAT",
        "(b I64, a BYTES) PROFILE ORDERED COMPAT",
    ),
    ("K-REVVAR", "(REVERSE(phone) STRING)", "(REVERSE(phone) CHAR(11))"),
    (
        "K-HEX",
        "(HASH(id BYTES 4 USING md5 HEX), id STRING)",
        "(HASH(id BYTES 4 USING md5), id STRING)",
    ),
    (
        "K-ENTROPY",
        "(HASH(id BYTES 16 USING md5), id STRING)",
        "(HASH(id BYTES 2 USING md5), id STRING)",
    ),
    ("K-LOCAL", "(host STRING, day STRING)", "(host STRING, day DATE)"),
];

/// Regression test: the first letter was cut off by bytes, which panicked if it has two.
#[test]
fn long_qualifier_may_start_with_multibyte_letter() {
    let text = "CREATE TABLE t (v BYTES FAMILY d QUALIFIER \"\u{e4}hnlich\", ROW KEY (a STRING, b \
                STRING))";
    let Ok(Statement::CreateTable(table)) = text.parse::<Statement>() else {
        panic!("a statement")
    };
    let columns = table.columns;
    let found = lint(&LintInput {
        columns: &columns,
        table: Some(&TableDescriptor::new("t".parse().unwrap())),
        ..LintInput::default()
    });
    let long = found.iter().find(|finding| finding.rule.id == "F-LONGQ").expect("a long qualifier");
    assert!(
        long.fix.as_ref().is_some_and(|fix| fix.contains("QUALIFIER \u{e4}, "))
            && long.message.contains("6 bytes more"),
        "{long:?}"
    );
}

#[test]
fn key_rules_report_bad_key_and_accept_good_key() {
    for (rule, bad, good) in KEYS {
        assert!(of_key(bad).contains(rule), "{rule} is silent about {bad}: {:?}", of_key(bad));
        assert!(!of_key(good).contains(rule), "{rule} speaks of {good}");
    }
}

#[test]
fn proposed_key_satisfies_the_reported_rule() {
    for (rule, bad, _) in KEYS {
        let bad = key(bad);
        for finding in lint(&LintInput { key: Some(&bad), ..LintInput::default() }) {
            let Some(Ok(proposed)) = finding
                .fix
                .as_deref()
                .filter(|fix| fix.starts_with("ROW KEY"))
                .map(str::parse::<KeySchema>)
            else {
                continue;
            };
            let again = ids(&LintInput { key: Some(&proposed), ..LintInput::default() });
            // If a key contains only a time, no salt makes it unique.
            assert!(
                !again.contains(&finding.rule.id),
                "{rule}: {bad} became {proposed}, of which {again:?} speak"
            );
        }
    }
}

/// Regression test: the proposed fix of a reversed time was `{ts:19}`, which is ascending.
#[test]
fn proposed_wider_field_keeps_its_sort_direction() {
    let key = key("TEXT '{user}_{rev(ts):13}'");
    let found = lint(&LintInput { key: Some(&key), ..LintInput::default() });
    let fix = found
        .iter()
        .find(|finding| finding.rule.id == "K-PAD")
        .and_then(|finding| finding.fix.as_deref())
        .unwrap();
    assert!(fix.starts_with("{rev(ts):19}"), "{fix}");
}

#[test]
fn key_sample_reveals_findings_missing_from_declaration() {
    let sample = |keys: &mut dyn Iterator<Item = String>, is_in_arrival_order| KeySample {
        keys: keys.map(Bytes::from).collect(),
        is_in_arrival_order,
    };
    let found = |sample: &KeySample, text: &str| {
        let key = key(text);
        ids(&LintInput { key: Some(&key), sample: Some(sample), ..LintInput::default() })
    };
    let rising = sample(&mut (0..200).map(|at| format!("user_{at:09}")), true);
    assert!(found(&rising, "(id STRING)").contains(&"K-MONO"));
    let unordered = KeySample { is_in_arrival_order: false, ..rising.clone() };
    assert!(!found(&unordered, "(id STRING)").contains(&"K-MONO"));
    let scattered =
        sample(&mut (0..200u32).map(|at| format!("{:08x}", at.wrapping_mul(2_654_435_761))), true);
    assert!(!found(&scattered, "(id STRING)").contains(&"K-MONO"));

    let signed = sample(
        &mut (0..200).map(|at| {
            if at % 2 == 0 {
                format!("00-{:03}k{at}", 100 + at)
            } else {
                format!("{:03}k{at}", 100 + at)
            }
        }),
        false,
    );
    assert!(found(&signed, "(id STRING)").contains(&"K-NEGMOD"));
    assert!(!found(&rising, "(id STRING)").contains(&"K-NEGMOD"));

    // A sign belongs to a salt if zeros precede it, or if numbers are as far below zero as above it
    // and text follows them.
    let heads = |number: fn(i64) -> String| sample(&mut (0..200).map(number), false);
    for (salts, expected) in [
        (heads(|at| format!("{}_k{at}", at * 37 % 200 - 100)), true),
        // Digits of the key follow the salt, as in the lab's K20.
        (heads(|at| format!("{:03}201505240{at:05}_1232", at * 337 % 2000 - 1000)), true),
        (heads(|at| format!("{}", at - 50)), false),
        (heads(|at| format!("{}", at - 100)), false),
        (heads(|at| format!("{}.{}", at / 10 - 10, at % 10)), false),
        (heads(|at| format!("{}_k{at}", at - 20)), false),
        (heads(|at| format!("{:02}-{at}", at % 16)), false),
    ] {
        assert_eq!(
            found(&salts, "(id STRING)").contains(&"K-NEGMOD"),
            expected,
            "{:?}",
            salts.keys[7]
        );
    }

    // A line of a file is not a written row.
    let twice = |is_in_arrival_order| {
        sample(&mut (0..200).map(|at| format!("k{}", at % 199)), is_in_arrival_order)
    };
    let worst = |sample: &KeySample| {
        let found = lint(&LintInput { sample: Some(sample), ..LintInput::default() });
        found
            .into_iter()
            .find(|finding| finding.rule.id == "K-UNIQ")
            .map(|finding| finding.severity)
    };
    assert_eq!(
        (worst(&twice(true)), worst(&twice(false)), worst(&rising)),
        (Some(Severity::Warning), Some(Severity::Note), None)
    );
    assert!(!found(&rising, "(id STRING)").contains(&"K-UNIQ"));

    let cased = sample(
        &mut (0..200)
            .map(|at| if at == 7 { "USER_000000008".into() } else { format!("user_{at:09}") }),
        false,
    );
    assert!(found(&cased, "(id STRING)").contains(&"K-CASE"));
    assert!(!found(&rising, "(id STRING)").contains(&"K-CASE"));
}

#[test]
fn sample_findings_omit_suppressed_and_already_reported_rules() {
    let Ok(Statement::CreateTable(allowed)) =
        "CREATE TABLE t (v I64, ROW KEY (id STRING)) -- lint:allow K-MONO one writer\n".parse()
    else {
        panic!("a statement")
    };
    let keys = (0..200).map(|at| Bytes::from(format!("user_{at:09}{}", "x".repeat(200)))).collect();
    let sample = KeySample { keys, is_in_arrival_order: true };
    let known = LintInput { sample: Some(&sample), ..LintInput::default() };
    let found: Vec<_> =
        lint_declaration(&allowed, &known).iter().map(|finding| finding.rule.id).collect();
    assert_eq!(found, ["K-LEN"]);
    let long = key("(a CHAR(200))");
    let found = ids(&LintInput { key: Some(&long), ..known });
    assert_eq!(found.iter().filter(|id| **id == "K-LEN").count(), 1, "{found:?}");
}

#[test]
fn spreading_field_with_few_values_is_reported() {
    let schema = key("(HASH(region BYTES 2 USING md5), region STRING, ts TIMESTAMP)");
    let rows = |regions: i64| -> KeySample {
        let keys = (0..400).map(|at| {
            let region = format!("r{}", at % regions);
            Bytes::copy_from_slice(
                &schema
                    .encode(&[region.as_str().into(), halite_rowkey::Value::Signed(at)])
                    .unwrap(),
            )
        });
        KeySample { keys: keys.collect(), is_in_arrival_order: false }
    };
    let found = |regions| {
        ids(&LintInput { key: Some(&schema), sample: Some(&rows(regions)), ..LintInput::default() })
    };
    assert!(found(8).contains(&"K-LOWCARD"));
    assert!(!found(200).contains(&"K-LOWCARD"));
}

/// Regression test: as many values as keys were reported as few.
#[test]
fn few_values_are_reported_only_if_they_repeat() {
    let schema = key("(SALT(1024 BY id), id STRING)");
    let found = |values: usize| {
        let keys = (0..250).map(|at| {
            Bytes::copy_from_slice(
                &schema
                    .encode(&[halite_rowkey::Value::Text(format!("id{}", at % values).into())])
                    .unwrap(),
            )
        });
        let sample = KeySample { keys: keys.collect(), is_in_arrival_order: false };
        ids(&LintInput { key: Some(&schema), sample: Some(&sample), ..LintInput::default() })
            .contains(&"K-LOWCARD")
    };
    assert_eq!([found(250), found(200), found(50), found(3)], [false, false, true, true]);
}

/// Regression test: the increase of a value was interpreted as the number of its writes, and
/// appended words as numbers.
#[test]
fn counter_writes_are_versions_and_words_are_not_numbers() {
    use halite_types::cell::CellParts;
    let found = |values: &[&[u8]], step_ms: i64| {
        let mut builder = halite_types::CellsBuilder::default();
        for (at, value) in values.iter().enumerate().rev() {
            let cell_type = halite_types::CellType::Put;
            builder.push_parts(CellParts {
                row: b"r",
                family: b"d",
                qualifier: b"v",
                timestamp: 1 + i64::try_from(at).unwrap() * step_ms,
                cell_type,
                value,
                tags: &[],
            });
        }
        let mut cells = CellSample::default();
        cells.add(&halite_types::Row::new(builder.finish()));
        cells.end_of_range();
        let found = lint(&LintInput { cells: Some(&cells), ..LintInput::default() });
        found.iter().map(|finding| (finding.rule.id, finding.severity)).collect::<Vec<_>>()
    };
    let numbers = |numbers: [i64; 3]| numbers.map(i64::to_be_bytes);
    let bytes_added = numbers([1_000_000, 2_000_000, 3_000_000]);
    assert_eq!(found(&bytes_added.each_ref().map(|number| &number[..]), 1000), []);
    let counted = numbers([1, 2, 3]);
    assert_eq!(found(&counted.each_ref().map(|number| &number[..]), 1000), []);
    // Three writes in two milliseconds are as many as one row accepts, regardless of their
    // increments.
    assert_eq!(found(&counted.each_ref().map(|number| &number[..]), 1), []);
    assert_eq!(found(&[b"ab", b"abab", b"ababab"], 1000), [("F-APPENDCNT", Severity::Note)]);
    assert_eq!(found(&[b"1", b"11", b"111"], 1000), [("F-APPENDCNT", Severity::Error)]);
    assert_eq!(found(&[b"eightsgn", b"eightsgnsixteens", b"eightsgnsixteensandmore."], 1000), []);
    let ones = [&1i64.to_be_bytes()[..]; 3].concat();
    assert_eq!(found(&[&ones[..8], &ones[..16], &ones], 1000), [("F-APPENDCNT", Severity::Error)]);
}

#[test]
fn queries_reveal_random_salt_cost_and_unused_fields() {
    let schema = key("(SALT(4 USING random), id STRING, note STRING)");
    let by_id = QueryShape {
        name: "one".into(),
        conditions: vec![(0, ConditionShape::Equals), (1, ConditionShape::Equals)],
        ..QueryShape::default()
    };
    let range = QueryShape {
        name: "some".into(),
        conditions: vec![(0, ConditionShape::Range)],
        ..QueryShape::default()
    };
    let worst = |queries: &[QueryShape]| {
        lint(&LintInput { key: Some(&schema), queries, ..LintInput::default() })[0].severity
    };
    assert_eq!(worst(std::slice::from_ref(&by_id)), Severity::Error);
    assert_eq!(worst(std::slice::from_ref(&range)), Severity::Warning);
    let found = |queries: &[QueryShape]| {
        ids(&LintInput { key: Some(&schema), queries, ..LintInput::default() })
    };
    assert!(found(&[range]).contains(&"K-UNUSED") && !found(&[by_id]).contains(&"K-UNUSED"));
}

#[test]
fn families_and_columns_are_linted() {
    let table = |families: &[FamilyDescriptor]| {
        families.iter().fold(TableDescriptor::new("t".parse().unwrap()), |table, family| {
            table.family(family.clone())
        })
    };
    let found = |families: &[FamilyDescriptor], columns: &[Column]| {
        let (key, table) = (key("(id STRING, ts TIMESTAMP)"), table(families));
        ids(&LintInput { key: Some(&key), table: Some(&table), columns, ..LintInput::default() })
    };
    let good = FamilyDescriptor::new("f").set("DATA_BLOCK_ENCODING", "FAST_DIFF");
    let column = |qualifier: &str, name: &str| {
        Column::new(name, ColumnType::Value(FieldType::String), "f").qualified(qualifier.to_owned())
    };
    assert_eq!(found(std::slice::from_ref(&good), &[column("v", "value")]), [""; 0]);
    assert_eq!(
        found(&[FamilyDescriptor::new("information").set("DATA_BLOCK_ENCODING", "FAST_DIFF")], &[]),
        ["F-LONGCF"]
    );
    assert_eq!(found(&[good.clone().versions(500)], &[]), ["F-VER"]);
    assert_eq!(found(&[FamilyDescriptor::new("f")], &[]), ["F-DBE"]);
    assert_eq!(
        found(
            &["a", "b", "c", "d"]
                .map(|name| FamilyDescriptor::new(name).set("DATA_BLOCK_ENCODING", "FAST_DIFF")),
            &[]
        ),
        ["F-MANYCF"]
    );
    assert_eq!(
        found(std::slice::from_ref(&good), &[column("login_count", "login_count")]),
        ["F-LONGQ"]
    );
    assert_eq!(found(std::slice::from_ref(&good), &[column("t", "timestamp")]), ["K-TIMEDUP"]);
}

#[test]
fn declaration_is_linted_whole_and_may_suppress_rules() {
    let found = |text: &str| {
        let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
        lint_declaration(&declaration, &LintInput::default())
            .iter()
            .map(|finding| finding.rule.id)
            .collect::<Vec<_>>()
    };
    let sensors = "CREATE TABLE s (v DOUBLE FAMILY d, ts2 TIMESTAMP FAMILY d, ROW KEY (ts \
                   TIMESTAMP, id STRING)) WITH QUERIES (one: id = ?)";
    assert_eq!(found(sensors), ["K-MONO", "P-ROLL", "Q-FULL", "K-TIMEDUP", "K-UNUSED", "F-DBE"]);
    let quiet =
        format!("{sensors} -- lint:allow K-MONO one writer, a day of data\n-- lint:allow F-DBE");
    assert_eq!(found(&quiet), ["P-ROLL", "Q-FULL", "K-TIMEDUP", "K-UNUSED"]);
    assert!(
        found(
            "CREATE TABLE m (body STRING FAMILY m, ROW KEY (id STRING, ts TIMESTAMP)) WITH QUERIES \
             (all: body = ? AND id = ?)"
        )
        .contains(&"K-UNUSED")
    );
}

#[test]
fn c11_column_with_the_time_of_the_key_is_found() {
    let found = |columns: &str| -> Vec<&'static str> {
        let text = format!(
            "CREATE TABLE sensor_data ({columns}, ROW KEY (SALT(16 BY device_id), device_id \
             STRING, ts TIMESTAMP DESC)) WITH (TTL = 31536000, DATA_BLOCK_ENCODING = 'FAST_DIFF') \
             SPLIT BY SALT"
        );
        let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
        lint_declaration(&declaration, &LintInput::default())
            .iter()
            .map(|finding| finding.rule.id)
            .filter(|id| *id == "K-TIMEDUP")
            .collect()
    };
    assert_eq!(found("value DOUBLE FAMILY d, timestamp TIMESTAMP FAMILY d"), ["K-TIMEDUP"]);
    assert_eq!(found("value DOUBLE FAMILY d"), [""; 0]);
}

#[test]
fn m05_condition_on_a_column_is_found_to_read_all_rows() {
    let text = "CREATE TABLE users (name STRING FAMILY i, ROW KEY (user_id STRING)) WITH QUERIES \
                (by_name: name = ?)";
    let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
    let findings = lint_declaration(&declaration, &LintInput::default());
    assert!(findings.iter().any(|finding| finding.rule.id == "Q-FULL"), "{findings:?}");
}

#[test]
fn queries_are_linted_with_the_key() {
    let found = |key: &str, query: &str| {
        let text = format!(
            "CREATE TABLE t (v STRING FAMILY d, ROW KEY {key}) WITH QUERIES (one: {query})"
        );
        let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
        let ids: Vec<_> = lint_declaration(&declaration, &LintInput::default())
            .iter()
            .map(|finding| finding.rule.id)
            .filter(|id| id.starts_with("Q-"))
            .collect();
        ids
    };
    let sensors = "(SALT(16 BY id), id STRING, ts TIMESTAMP)";
    assert_eq!(found(sensors, "id = ?"), [""; 0]);
    assert_eq!(found(sensors, "id IN LIST AND ts IN RANGE"), [""; 0]);
    assert_eq!(found(sensors, "id LIKE ?"), [""; 0]);
    assert_eq!(found(sensors, "ts IN RANGE"), ["Q-FULL"]);
    assert_eq!(found("(SALT(100 BY id), id STRING, ts TIMESTAMP)", "id LIKE ?"), ["Q-FAN"]);
    assert_eq!(
        found("(HASH(id BYTES 2), id STRING, ts TIMESTAMP)", "id LIKE ?"),
        ["Q-FULL", "Q-HASHRANGE"]
    );
    assert_eq!(found("(HASH(id BYTES 2), id STRING, ts TIMESTAMP)", "id = ?"), [""; 0]);
    assert_eq!(found("(msg_id STRING)", "msg_id = ? AND v = ?"), ["Q-FILTER"]);
    assert_eq!(found("(msg_id STRING)", "v = ?"), ["Q-FULL", "Q-FILTER"]);
    // Regression test: the message stated that the key does not begin with its actual first field.
    let full = |key: &str, query: &str| {
        let text = format!(
            "CREATE TABLE t (v STRING FAMILY d, ROW KEY {key}) WITH QUERIES (one: {query})"
        );
        let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
        let found = lint_declaration(&declaration, &LintInput::default())
            .into_iter()
            .find(|finding| finding.rule.id == "Q-FULL");
        found.unwrap_or_else(|| panic!("{text}")).message
    };
    for (key, query, held) in [
        ("(BITREV(id) U64, n U8)", "id IN RANGE", "BITREV(id) U64"),
        ("(IPV4(h), n U8)", "h IN RANGE", "IPV4(h)"),
        ("(DICT(m, 3), n U8)", "m LIKE ?", "DICT(m, 3)"),
        ("(SALT(4 BY n), REVERSE(p) CHAR(11), n U8)", "p LIKE ?", "REVERSE(p) CHAR(11)"),
    ] {
        assert!(
            full(key, query).contains(&format!("the key holds it as {held}")),
            "{}",
            full(key, query)
        );
    }
    assert!(full("(a STRING, n U8)", "n = ?").contains("which the key does not begin with"));
    let paged = QueryShape {
        name: "page".into(),
        conditions: vec![(0, ConditionShape::Equals)],
        has_offset: true,
        ..QueryShape::default()
    };
    let schema = key("(id STRING)");
    assert_eq!(
        ids(&LintInput { key: Some(&schema), queries: &[paged], ..LintInput::default() }),
        ["Q-OFFSET"]
    );
}

#[test]
fn splits_are_linted_with_salts_and_keys() {
    let found = |text: &str| {
        let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
        let ids: Vec<_> = lint_declaration(&declaration, &LintInput::default())
            .iter()
            .map(|finding| finding.rule.id)
            .filter(|id| id.starts_with("P-"))
            .collect();
        ids
    };
    let table = |salts: u32, split: &str| {
        format!("CREATE TABLE s (v DOUBLE, ROW KEY (SALT({salts} BY id), id STRING)) {split}")
    };
    assert_eq!(found(&table(16, "")), ["P-NONE"]);
    assert_eq!(found(&table(16, "SPLIT BY SALT")), [""; 0]);
    assert_eq!(found(&table(16, "SPLIT INTO 8")), [""; 0]);
    assert_eq!(found(&table(16, "SPLIT INTO 10")), ["P-SALTREG"]);
    assert_eq!(found(&table(4, "SPLIT AT (x'01', x'0161', x'02', x'03')")), ["P-ALIGN"]);
    // Regression test: splits by a salt that is not at the start were proposed, and invalid splits
    // were not reported.
    let of_key = |key: &str, split: &str| {
        found(&format!("CREATE TABLE s (v DOUBLE, ROW KEY {key}) {split}"))
    };
    assert_eq!(of_key("(a STRING, SALT(4 BY b), b STRING)", ""), [""; 0]);
    assert_eq!(of_key("(CONST 'v', SALT(4 BY b), b STRING)", ""), ["P-NONE"]);
    assert_eq!(of_key("(a STRING, b STRING)", "SPLIT BY SALT"), ["P-CLAUSE"]);
    assert_eq!(of_key("(a STRING, b STRING)", "SPLIT ROLLING '1d'"), ["P-CLAUSE"]);
    assert_eq!(of_key("(f F64, b STRING)", "SPLIT INTO 4"), ["P-CLAUSE"]);
    assert_eq!(of_key("(a STRING, b STRING)", "SPLIT LIKE other"), [""; 0]);

    let keys: Vec<Bytes> =
        (0..400).map(|at| format!("{at:09}").chars().rev().collect::<String>().into()).collect();
    let sample = KeySample { keys, is_in_arrival_order: false };
    let splits = |keys: &[&'static str]| {
        keys.iter().map(|key| Bytes::from_static(key.as_bytes())).collect::<Vec<_>>()
    };
    let of_sample = |splits: &[Bytes]| {
        ids(&LintInput { splits: Some(splits), sample: Some(&sample), ..LintInput::default() })
    };
    assert_eq!(of_sample(&splits(&["4", "8", "a", "c", "e"])), ["P-RANGE"]);
    assert_eq!(of_sample(&splits(&["3", "6"])), [""; 0]);
    let load = LoadEstimate { servers: Some(1), ..LoadEstimate::default() };
    let many: Vec<_> = (0..300).map(|at| Bytes::from(format!("{at:03}"))).collect();
    assert_eq!(ids(&LintInput { splits: Some(&many), load, ..LintInput::default() }), ["P-MANY"]);
    assert_eq!(
        ids(&LintInput { splits: Some(&many[..100]), load, ..LintInput::default() }),
        [""; 0]
    );
}

#[test]
fn digest_of_field_outside_key_distinguishes_rows() {
    for (text, is_found) in [
        ("(SALT(16), ts TIMESTAMP)", true),
        ("(HASH(ts BYTES 4), ts TIMESTAMP)", true),
        ("(day DATE)", true),
        ("(HASH(host STRING BYTES 8 USING md5), ts TIMESTAMP)", false),
        ("(TRUNC(host, 8) STRING, ts TIMESTAMP)", false),
    ] {
        let schema = key(text);
        let findings = lint(&LintInput { key: Some(&schema), ..LintInput::default() });
        assert_eq!(findings.iter().any(|finding| finding.rule.id == "K-UNIQ"), is_found, "{text}");
    }
}

#[test]
fn lost_rows_are_estimated_if_load_is_known() {
    let schema = key("(SALT(4 USING random), ts TIMESTAMP)");
    let load = LoadEstimate {
        writes_per_second: Some(1000.0),
        rows: Some(1_000_000),
        ..LoadEstimate::default()
    };
    let findings = lint(&LintInput { key: Some(&schema), load, ..LintInput::default() });
    let unique = findings.iter().find(|finding| finding.rule.id == "K-UNIQ").unwrap();
    assert!(
        unique.evidence.as_ref().unwrap().contains("about 115.2 are lost each second"),
        "{unique:?}"
    );
}

#[test]
fn report_lists_worst_findings_first() {
    let schema = key("(ts TIMESTAMP, note STRING)");
    let family = FamilyDescriptor::new("data");
    let table = TableDescriptor::new("log".parse().unwrap()).family(family);
    let findings =
        lint(&LintInput { key: Some(&schema), table: Some(&table), ..LintInput::default() });
    let text = report(&findings, "log");
    assert!(text.starts_with("error[K-MONO] log, segment 1: "), "{text}");
    assert!(
        text.contains("instead: ROW KEY (SALT(16 BY note), note STRING, ts TIMESTAMP)"),
        "{text}"
    );
    assert!(text.ends_with("log: 1 errors, 1 warnings, 2 notes\n"), "{text}");
    assert_eq!(report(&[], "log"), "log: nothing found\n");
}

#[test]
fn rule_ids_are_unique() {
    let mut ids: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), RULES.len());
}

#[test]
fn points_of_a_series_are_ordered_in_their_row() {
    let found = |key: &str, query: &str| {
        let text = format!(
            "CREATE TABLE t (v SERIES(DOUBLE) FAMILY d OFFSET OF ts, ROW KEY {key}) WITH QUERIES \
             (one: {query})"
        );
        let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
        lint_declaration(&declaration, &LintInput::default())
            .iter()
            .any(|finding| finding.rule.id == "Q-SORT")
    };
    let sensors = "(SALT(16 BY id), id STRING, BUCKET(ts, '1h') DESC)";
    assert!(!found(sensors, "id = ? ORDER BY ts DESC LIMIT 1"));
    assert!(!found(sensors, "id = ? AND ts IN RANGE ORDER BY ts"));
    assert!(found(sensors, "ALL ORDER BY ts DESC"));
    let metrics = "(id STRING, BUCKET(ts, '1h') DESC, metric STRING)";
    assert!(found(metrics, "id = ? ORDER BY ts DESC"), "a bucket has a row for each metric");
    assert!(!found(metrics, "id = ? AND metric = ? ORDER BY ts DESC"));
}

#[test]
fn sort_findings_agree_with_the_planner() {
    let found = |key: &str, query: &str| {
        let text = format!(
            "CREATE TABLE t (v STRING FAMILY d, ROW KEY {key}) WITH QUERIES (one: {query})"
        );
        let Ok(Statement::CreateTable(declaration)) = text.parse() else { panic!("{text}") };
        lint_declaration(&declaration, &LintInput::default())
            .into_iter()
            .find(|finding| finding.rule.id == "Q-SORT")
    };
    let messages = "(SALT(16 BY user), user STRING, ts TIMESTAMP DESC, id U64)";
    assert_eq!(found(messages, "user = ? ORDER BY ts DESC LIMIT 10"), None);
    // A scan in reverse.
    assert_eq!(found(messages, "user = ? ORDER BY ts, id DESC LIMIT 10"), None);
    assert_eq!(found(messages, "ALL ORDER BY user"), None);
    assert_eq!(found(messages, "ALL LIMIT 10"), None);
    assert!(found(messages, "user = ? ORDER BY ts DESC, id DESC").is_some());
    assert!(found(messages, "user IN LIST ORDER BY ts DESC").is_some());
    assert!(found(messages, "ALL ORDER BY ts DESC LIMIT 1").is_some());
    assert!(found(messages, "user = ? ORDER BY v").is_some());
    assert_eq!(found("(DICT(user, 4), ts TIMESTAMP DESC)", "user = ? ORDER BY ts DESC"), None);
    assert!(found("(DICT(user, 4), ts TIMESTAMP DESC)", "ALL ORDER BY user").is_some());
    assert!(found("(HASH(user BYTES 2), user STRING)", "ALL ORDER BY user").is_some());
    let fix = found("(user STRING, id U64, ts TIMESTAMP)", "user = ? ORDER BY ts DESC LIMIT 10")
        .unwrap()
        .fix
        .unwrap();
    assert_eq!(fix, "ROW KEY (user STRING, ts TIMESTAMP DESC, id U64)");
    // Regression test: the fix was the declared key itself.
    assert_eq!(
        found("(user STRING, ts TIMESTAMP)", "user IN RANGE ORDER BY ts")
            .map(|finding| finding.fix.is_some()),
        Some(true)
    );
    for (key, query) in [
        ("(user STRING, ts TIMESTAMP)", "user IN LIST ORDER BY ts"),
        ("(DICT(user, 4), n U8)", "ALL ORDER BY user"),
    ] {
        assert!(found(key, query).is_some_and(|finding| finding.fix.is_none()), "{key}");
    }
}

#[test]
fn key_with_maximum_salts_has_no_finding() {
    assert_eq!(of_key("(SALT(65536 BY id), id STRING)"), [""; 0]);
}

#[test]
fn ranges_of_many_salts_are_counted_quickly() {
    let schema = key("(SALT(65536 BY id), id STRING, ts TIMESTAMP)");
    let query = QueryShape {
        name: "some".into(),
        conditions: vec![(0, ConditionShape::Prefix)],
        ..QueryShape::default()
    };
    let queries = vec![query; 256];
    let began = std::time::Instant::now();
    let findings =
        lint(&LintInput { key: Some(&schema), queries: &queries, ..LintInput::default() });
    assert!(
        findings.iter().any(|finding| finding.message.contains("reads 65536 ranges")),
        "{findings:?}"
    );
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}

/// Returns the finding of a rule about a key.
fn finding_about(rule: &str, text: &str) -> Option<Finding> {
    let key = key(text);
    let found = lint(&LintInput { key: Some(&key), ..LintInput::default() });
    found.into_iter().find(|finding| finding.rule.id == rule)
}

#[test]
fn digest_that_neighbours_share_is_told_apart() {
    let shared =
        finding_about("K-ENTROPY", "(HASH(id BYTES 16 USING md5), id STRING, n U32)").unwrap();
    assert!(shared.message.contains("Rows with the same fields share them"), "{shared:?}");
    let scattered =
        finding_about("K-ENTROPY", "(HASH(id, n BYTES 16 USING md5), id STRING, n U32)").unwrap();
    assert!(scattered.message.contains("Neighbours share none of them"), "{scattered:?}");
    assert!(scattered.evidence.unwrap().starts_with("measured on 2000 keys made from"));
}

#[test]
fn encoding_is_proposed_where_it_saves_bytes() {
    let table = TableDescriptor::new("t".parse().unwrap()).family(FamilyDescriptor::new("f"));
    let key = key("(device STRING, ts TIMESTAMP DESC)");
    let found = lint(&LintInput { key: Some(&key), table: Some(&table), ..LintInput::default() });
    let finding = found.iter().find(|finding| finding.rule.id == "F-DBE").unwrap();
    let evidence = finding.evidence.as_deref().unwrap();
    assert!(evidence.contains("bytes on disk for a cell without an encoding"), "{evidence}");
    let long = finding_about("K-LEN", "(a CHAR(100), b CHAR(100))").unwrap();
    assert!(long.evidence.unwrap().contains("under FAST_DIFF"));
}
