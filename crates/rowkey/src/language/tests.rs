//! Printed declarations parse to the same declaration, mistakes are shown at their position, and
//! malicious text is harmless.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::random::{SeededRng, column, schema};
use halite_types::{FamilyDescriptor, TableDescriptor};

use super::{
    Action, Column, ColumnType, ConditionKind, MAX_TEXT_BYTES, Query, QueryCondition, QueryOrder,
    SplitClause, Statement, Suppression, TableDeclaration, statements,
};
use crate::schema::{KeySchema, Order, SegmentKind};
use crate::series::SeriesColumn;
use crate::value::FieldType;

fn read(text: &str) -> KeySchema {
    text.parse()
        .unwrap_or_else(|error: super::LanguageError| panic!("{text}\n{}", error.render(text)))
}

fn cases() -> u64 {
    std::env::var("HALITE_ROWKEY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

#[test]
fn schemas_round_trip_through_text() {
    let seed =
        std::env::var("HALITE_ROWKEY_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    for case in 0..cases() {
        let schema = schema(&mut SeededRng::new(seed + case));
        let text = schema.to_text();
        let again = text.parse::<KeySchema>().unwrap_or_else(|error| {
            panic!("HALITE_ROWKEY_SEED={}:\n{}", seed + case, error.render(&text))
        });
        assert_eq!(again, schema, "HALITE_ROWKEY_SEED={}: {text}", seed + case);
        assert_eq!(again.to_text(), text, "HALITE_ROWKEY_SEED={}", seed + case);
    }
}

#[test]
fn corrupted_schema_text_parses_or_renders_an_error() {
    for case in 0..cases() / 5 {
        let mut chance = SeededRng::new(case);
        let mut text = schema(&mut chance).to_text().into_bytes();
        for _ in 0..=chance.below(3) {
            let at = usize::try_from(chance.below(text.len() as u64)).unwrap();
            match chance.below(3) {
                0 => drop(text.remove(at)),
                1 => text
                    .insert(at, b"'\"(){}:,x0 \n\xc3"[usize::try_from(chance.below(13)).unwrap()]),
                _ => text[at] = b"'\"(){}:,x0 \n\xc3"[usize::try_from(chance.below(13)).unwrap()],
            }
            if text.is_empty() {
                break;
            }
        }
        let text = String::from_utf8_lossy(&text);
        match text.parse::<KeySchema>() {
            Ok(schema) => assert_eq!(read(&schema.to_text()), schema, "{text}"),
            Err(error) => assert!(
                error.span.start <= error.span.end
                    && error.span.end <= text.len()
                    && error.render(&text).contains('^'),
                "{text}"
            ),
        }
    }
}

#[test]
fn hostile_texts_are_rejected_quickly() {
    let began = Instant::now();
    let long = format!("ROW KEY ({})", "a STRING, ".repeat(1 << 20));
    assert!(long.parse::<KeySchema>().unwrap_err().message.contains("at most 65536"));
    let texts = [
        "(".repeat(MAX_TEXT_BYTES),
        format!("ROW KEY {}", "(".repeat(60_000)),
        format!("ROW KEY (SALT({}", "SALT(".repeat(12_000)),
        format!("ROW KEY ({}a STRING)", "b STRING, ".repeat(6_000)),
        format!("ROW KEY TEXT '{}'", "{rev(".repeat(12_000)),
        format!("ROW KEY TEXT '{}'", "{a}".repeat(20_000)),
        format!("ROW KEY TEXT '{{{}}}'", "''".repeat(30_000)),
        format!("ROW KEY TEXT '{}", "''".repeat(30_000)),
        format!("ROW KEY TEXT '{{a}}' WHERE a MATCHES '{}'", "(((a{99}){99}){99}){99}"),
        format!("ROW KEY (HASH({}a), a STRING)", "a,".repeat(30_000)),
        "/*".repeat(30_000),
        "ROW KEY (a CHAR(99999999999999999999))".into(),
        "ROW KEY (SALT(18446744073709551616), a STRING)".into(),
    ];
    for text in texts {
        let error = text.parse::<KeySchema>().expect_err(&text[..text.len().min(80)]);
        assert!(error.render(&text).len() < 2_000, "{}", error.render(&text).len());
    }
    // Seconds indicate a quadratic step; the time itself is not tested.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

/// Compares the blocks of `testdata/NAME` with the output of `answer`. A block is a text, a line of
/// dashes and the output for the text, and ends with a line `====`.
fn golden(name: &str, answer: impl Fn(&str) -> String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    let expected = std::fs::read_to_string(&path).unwrap();
    let mut found = String::new();
    for block in expected.split_inclusive("====\n") {
        let (text, _) = block
            .split_once("\n----\n")
            .unwrap_or_else(|| panic!("{}: a block has no ----:\n{block}", path.display()));
        writeln!(found, "{text}\n----\n{}\n====", answer(text)).unwrap();
    }
    if std::env::var_os("HALITE_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    assert!(
        found == expected || std::env::var_os("HALITE_UPDATE_GOLDEN").is_some(),
        "{}:\n{found}",
        path.display()
    );
}

#[test]
fn key_errors_match_the_golden_file() {
    golden("key_mistakes.txt", |text| match text.parse::<KeySchema>() {
        Ok(schema) => panic!("no mistake: {schema}"),
        Err(error) => error.render(text),
    });
}

#[test]
fn printed_keys_match_the_golden_file() {
    golden("keys.txt", |text| read(text).to_text());
}

fn format_statement(statement: &Statement) -> String {
    match statement {
        Statement::CreateTable(declaration) => declaration.to_string(),
        Statement::Adopt { table, key, forced } => {
            format!("{table} adopts {key}{}", if *forced { " FORCE" } else { "" })
        }
        other => format!("{other:?}"),
    }
}

/// Returns the declaration without positions in the text, which change when it is printed.
fn placeless(mut declaration: TableDeclaration) -> TableDeclaration {
    declaration.suppressions.iter_mut().for_each(|allowed| allowed.span = super::Span::default());
    declaration
}

#[test]
fn statements_match_the_golden_file_and_round_trip() {
    golden("statements.txt", |text| {
        let found = statements(text).unwrap_or_else(|error| panic!("{}", error.render(text)));
        for statement in &found {
            let Statement::CreateTable(declaration) = statement else { continue };
            let printed = declaration.to_string();
            let Ok(Statement::CreateTable(again)) = printed.parse() else { panic!("{printed}") };
            let declaration =
                TableDeclaration { if_not_exists: false, ..placeless(declaration.clone()) };
            assert_eq!(placeless(again), declaration, "{printed}");
            let kept = TableDeclaration::from_descriptor(&declaration.described())
                .unwrap()
                .unwrap_or_else(|error| panic!("{error}\n{printed}"));
            assert_eq!(placeless(kept), declaration, "{printed}");
            declaration.described().check().unwrap();
        }
        found.iter().map(format_statement).collect::<Vec<_>>().join("\n;\n")
    });
}

#[test]
fn c09_tutorial_statement_sets_family_encoding_and_compression() {
    let text = "CREATE TABLE messages (msg_id VARCHAR, receiver_id VARCHAR, content VARCHAR, \
                PRIMARY KEY (msg_id))
        WITH (COLUMN_FAMILY='msg', DATA_BLOCK_ENCODING='PREFIX', COMPRESSION='SNAPPY')";
    let Ok(Statement::CreateTable(messages)) = text.parse() else { panic!("it parses") };
    let families: Vec<_> = messages.descriptor.families().collect();
    assert_eq!(families.len(), 1);
    assert_eq!(
        (&families[0].name()[..], families[0].data_block_encoding(), families[0].compression()),
        (&b"msg"[..], "PREFIX".into(), "SNAPPY".into())
    );
    assert_eq!(messages.key, read("(msg_id STRING)"));
    let columns: Vec<_> = messages
        .columns
        .iter()
        .map(|column| (column.family.as_str(), &column.qualifier[..]))
        .collect();
    assert_eq!(columns, [("msg", &b"receiver_id"[..]), ("msg", b"content")]);
}

#[test]
fn corrupted_statement_parses_or_renders_an_error() {
    let whole = std::fs::read_to_string(
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/statements.txt"),
    )
    .unwrap();
    let blocks: Vec<&str> =
        whole.split("====\n").filter_map(|block| Some(block.split_once("\n----\n")?.0)).collect();
    for case in 0..cases() / 20 {
        let mut chance = SeededRng::new(case);
        let mut text = chance.pick(&blocks).as_bytes().to_vec();
        for _ in 0..=chance.below(3) {
            let at = usize::try_from(chance.below(text.len() as u64)).unwrap();
            match chance.below(3) {
                0 => drop(text.drain(at..(at + 9).min(text.len()))),
                1 => text.insert(at, chance.pick(b"'\"(),;:.=-x0 \n")),
                _ => text[at] = chance.pick(b"'\"(),;:.=-x0 \n"),
            }
        }
        let text = String::from_utf8_lossy(&text);
        match statements(&text) {
            Ok(found) => drop(found),
            Err(error) => assert!(
                error.span.start <= error.span.end
                    && error.span.end <= text.len()
                    && error.render(&text).contains('^'),
                "{text}"
            ),
        }
    }
}

/// Returns a declaration of random columns, queries and splits over a random key.
fn declaration(chance: &mut SeededRng) -> TableDeclaration {
    let key = schema(chance);
    let names = ["v", "odd name", "family", "it's", "salt", "\u{5f20}"];
    let mut descriptor =
        TableDescriptor::new(chance.pick(&["t", "ns:t", "ns:a-b"]).parse().unwrap())
            .set("DURABILITY", "SYNC_WAL");
    let mut columns: Vec<Column> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        // A column with the name of a field must have its type.
        if chance.flip() && key.field_id(name).is_none() {
            let (family, field) =
                (chance.pick(&["d", "e", "with"]), chance.pick(key.fields()).name);
            let series = ColumnType::Series {
                of: FieldType::F64,
                offset_of: chance.flip().then_some(field),
            };
            let mut column = if chance.below(4) == 0 {
                Column::new(*name, series, family)
            } else {
                column(chance, name, family)
            };
            column.qualifier = match (chance.below(3), &column.ty) {
                (_, ColumnType::Map { .. }) => format!("m{at}").into(),
                (0, _) => column.qualifier,
                (1, _) => format!("q{at}").into(),
                _ => vec![0x80, u8::try_from(at).unwrap()].into(),
            };
            if matches!(column.ty, ColumnType::Series { .. })
                && SeriesColumn::new(&key, &column).is_err()
            {
                column.ty = ColumnType::Value(FieldType::F32);
            }
            columns.push(column);
            descriptor.set_family(
                FamilyDescriptor::new(family)
                    .set("TTL", chance.below(3) + 1)
                    .set("COMPRESSION", "GZ"),
            );
        }
    }
    if descriptor.family_count() == 0 || chance.flip() {
        descriptor.set_family(FamilyDescriptor::new("alone"));
    }
    let kinds =
        [ConditionKind::Equal, ConditionKind::In, ConditionKind::Range, ConditionKind::Prefix];
    // Without BY, a declared query determines the fields of a salt, and the printed text contains
    // them.
    let resolved = key
        .segments()
        .iter()
        .all(|segment| !matches!(&segment.kind, SegmentKind::Salt { by, .. } if by.is_empty()));
    let count = if resolved { chance.below(3) } else { 0 };
    let query = |at: u64, chance: &mut SeededRng| {
        let action = chance.pick(&[
            Action::Read,
            Action::Read,
            Action::RawScan { from: Some(b"it's".to_vec()), to: None },
            Action::RawScan { from: None, to: Some(vec![0, 255]) },
            Action::Put { ttl_ms: Some(1_500) },
            Action::Put { ttl_ms: None },
            Action::Delete,
            Action::Increment,
            Action::Append,
        ]);
        let (is_read, is_raw) = (action == Action::Read, matches!(action, Action::RawScan { .. }));
        let field = chance.pick(key.fields());
        let has_beginnings =
            field.ty.is_text() || matches!(field.ty, FieldType::Bytes | FieldType::Fixed(_));
        let kind = chance.pick(&kinds[..if has_beginnings { 4 } else { 3 }]);
        let condition = QueryCondition { column: field.name, kind };
        let expected = key.fields().iter().take(2).map(|field| QueryOrder {
            column: field.name.clone(),
            order: chance.pick(&[Order::Asc, Order::Desc]),
        });
        let order: Vec<_> = expected.filter(|_| is_read).collect();
        Query {
            name: chance.pick(&[format!("q {at}"), format!("put{at}"), format!("ALL{at}")]),
            conditions: if is_raw || is_read && chance.flip() {
                Vec::new()
            } else {
                vec![condition]
            },
            order: if chance.flip() { order } else { Vec::new() },
            limit: (is_read || is_raw).then(|| chance.pick(&[None, Some(10)])).flatten(),
            offset: is_read.then(|| chance.pick(&[None, Some(1 << 40)])).flatten(),
            rate: chance.pick(&[None, Some(0.5), Some(2_000.0)]),
            weight: chance.pick(&[1.0, 0.25, 3.5]),
            action,
        }
    };
    let queries = (0..count).map(|at| query(at, chance)).collect();
    let split = chance.pick(&[
        None,
        Some(SplitClause::BySalt { regions_each: 3 }),
        Some(SplitClause::Into(7)),
        Some(SplitClause::At(vec![b"a".to_vec(), vec![0xff, 0]])),
        Some(SplitClause::Like("ns:other".parse().unwrap())),
        Some(SplitClause::FromSample { file: "it's.txt".into(), regions: 2 }),
        Some(SplitClause::Rolling(86_400_000)),
    ]);
    let allowed = Suppression {
        rule: "K-MONO".into(),
        reason: "it is so".into(),
        span: super::Span::default(),
    };
    let suppressions = if chance.flip() { vec![allowed] } else { Vec::new() };
    TableDeclaration {
        descriptor,
        if_not_exists: false,
        key,
        columns,
        queries,
        split,
        suppressions,
    }
}

#[test]
fn declarations_round_trip_through_text_and_descriptor() {
    for case in 0..cases() / 10 {
        let expected = declaration(&mut SeededRng::new(case));
        let text = expected.to_string();
        match text.parse() {
            Ok(Statement::CreateTable(found)) => {
                assert_eq!(placeless(found), expected, "case {case}\n{text}");
            }
            Ok(other) => panic!("case {case}: {other:?}"),
            Err(error) => panic!("case {case}\n{}", error.render(&text)),
        }
        let kept = TableDeclaration::from_descriptor(&expected.described()).unwrap();
        assert_eq!(kept.map(placeless), Ok(expected), "case {case}\n{text}");
    }
}

#[test]
fn statement_errors_match_the_golden_file() {
    golden("statement_mistakes.txt", |text| match statements(text) {
        Ok(found) => panic!("no mistake: {found:?}"),
        Err(error) => error.render(text),
    });
}

#[test]
fn lint_comment_applies_to_same_line_or_next_statement() {
    let text = "-- about the first\n-- lint:allow K-MONO ids are random\nCREATE TABLE a (ROW KEY \
                (id U64)); -- lint:allow P-NONE\n/* lint:allow K-LEN */ CREATE TABLE b (\n ROW KEY \
                (id U64))";
    let found: Vec<Vec<Suppression>> = statements(text)
        .unwrap()
        .into_iter()
        .map(|statement| match statement {
            Statement::CreateTable(declaration) => declaration.suppressions,
            other => panic!("{other:?}"),
        })
        .collect();
    let rules: Vec<Vec<(&str, &str)>> = found
        .iter()
        .map(|allowed| allowed.iter().map(|one| (one.rule.as_str(), one.reason.as_str())).collect())
        .collect();
    assert_eq!(rules, [vec![("K-MONO", "ids are random"), ("P-NONE", "")], vec![("K-LEN", "")]]);
    assert!(text[found[0][0].span.start..].starts_with("-- lint:allow K-MONO"));
}

#[test]
fn key_change_that_moves_rows_is_rejected() {
    let old = "(SALT(16 BY device_id), device_id STRING, ts TIMESTAMP DESC)";
    let change = |new: &str| read(old).check_change(&read(new)).map_err(|error| error.to_string());
    assert_eq!(change("(SALT(16 BY device), device STRING, at TIMESTAMP DESC)"), Ok(()));
    let refused = [
        (
            "(SALT(32 BY device_id), device_id STRING, ts TIMESTAMP DESC)",
            "segment 1 of the row key, SALT(16 BY device_id), would become SALT(32 BY device_id)",
        ),
        ("(device_id STRING, ts TIMESTAMP DESC)", "would become device_id STRING"),
        (
            "(SALT(16 BY device_id), device_id STRING, ts TIMESTAMP)",
            "ts TIMESTAMP DESC, would become ts TIMESTAMP,",
        ),
        ("(SALT(16 BY device_id), device_id STRING, ts TIMESTAMP(us) DESC)", "segment 3"),
        (
            "(SALT(16 BY device_id), device_id STRING, ts TIMESTAMP DESC, n U8)",
            "nothing, would become n U8",
        ),
        (
            "(SALT(16 BY device_id), device_id STRING, ts TIMESTAMP DESC) PROFILE ORDERED",
            "another profile",
        ),
    ];
    for (new, expected) in refused {
        let said = change(new).unwrap_err();
        assert!(said.contains(expected) && said.contains("copy the rows"), "{said}");
    }
    let hashed = read("(HASH(a STRING), b U8)")
        .check_change(&read("(HASH(a BYTES BYTES 4), b U8)"))
        .unwrap_err()
        .to_string();
    assert!(hashed.contains("a is STRING and would become BYTES"), "{hashed}");
}

/// Regression test: the notation of a byte elsewhere was used as four letters of a boundary.
#[test]
fn split_row_text_rejects_backslash() {
    let error = "AT ('\\x41')".parse::<SplitClause>().unwrap_err();
    assert!(
        error.to_string().contains("written as bytes")
            && error.render("AT ('\\x41')").contains("x'41'"),
        "{error}"
    );
    let clause: SplitClause = "SPLIT AT (x'5c78', 'm')".parse().unwrap();
    assert_eq!(clause.to_string(), "SPLIT AT (x'5c78', 'm')");
    assert_eq!(clause.to_string().parse(), Ok(clause));
}

/// Regression test: the condition was accepted and printed, but had no effect.
#[test]
fn prefix_conditions_require_text_or_bytes() {
    let create = |query: &str| {
        format!(
            "CREATE TABLE t (v I64 FAMILY d, w STRING FAMILY d, ROW KEY (n U32, s STRING)) WITH \
             QUERIES (one: {query})"
        )
    };
    for (query, expected) in
        [("n LIKE ?", "n, which is of type U32"), ("s = ? AND v LIKE ?", "v, which is of type I64")]
    {
        let error = create(query).parse::<Statement>().unwrap_err();
        assert!(error.message.contains(expected), "{error}");
    }
    assert!(create("s LIKE ? AND w LIKE ?").parse::<Statement>().is_ok());
}

/// Regression test: the last of duplicate options was used without an error.
#[test]
fn duplicate_options_are_rejected() {
    let create = |columns: &str, options: &str| {
        format!("CREATE TABLE t ({columns}, ROW KEY (s STRING)) WITH ({options})")
            .parse::<Statement>()
    };
    for (columns, options, expected) in [
        ("v BYTES", "TTL=5, ttl=6", "ttl was said already"),
        ("v BYTES", "COLUMN_FAMILY='x', COLUMN_FAMILY='y'", "COLUMN_FAMILY was said already"),
        ("v BYTES FAMILY d", "d.TTL=5, d.TTL=5", "TTL was said already"),
        ("v BYTES VERSIONS 5", "VERSIONS=2", "keeps 5 versions"),
    ] {
        let error = create(columns, options).unwrap_err();
        assert!(error.message.contains(expected), "{options}: {error}");
    }
    for (columns, options) in [
        ("v BYTES FAMILY d, w BYTES FAMILY e", "d.TTL=5, e.TTL=6, TTL=7"),
        ("v BYTES VERSIONS 5", "VERSIONS=5, TTL=9"),
    ] {
        assert!(create(columns, options).is_ok(), "{options}: {:?}", create(columns, options));
    }
}

#[test]
fn standalone_key_is_recognized_after_comments_and_blanks() {
    for text in [
        "ROW KEY (a STRING)",
        "row  key (a STRING)",
        "/* a */ -- b\nROW\nKEY (a STRING)",
        "\u{feff}ROW KEY (a STRING)",
    ] {
        assert!(super::begins_with_key(text), "{text}");
        assert!(super::located_key(text).is_ok(), "{text}");
    }
    assert!(
        !super::begins_with_key("CREATE TABLE t (ROW KEY (a STRING))")
            && !super::begins_with_key("ROW")
    );
}

#[test]
fn a_key_is_adopted_whatever_attributes_the_cluster_adds() {
    let Ok(Statement::CreateTable(table)) =
        "CREATE TABLE t (v F64, ROW KEY (device STRING, ts TIMESTAMP))".parse()
    else {
        panic!("a table");
    };
    let descriptor = table.described().set("IS_META", "false").set("OWNER", "ada");
    let key: KeySchema = "ROW KEY (sensor STRING, ts TIMESTAMP)".parse().unwrap();
    let adopted = key.adopted_in(&descriptor).unwrap();
    assert_eq!(adopted.descriptor.attributes.get("OWNER").map(String::as_str), Some("ada"));
    assert_eq!(KeySchema::from_descriptor(&adopted.descriptor), Some(Ok(key)));
}
