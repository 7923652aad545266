//! Parser tests: complete statements, incomplete ones, and invalid ones.

use super::*;

fn read(source: &str) -> Vec<Expression> {
    parse(source, &BTreeSet::from(["x".to_owned()]))
        .unwrap_or_else(|problem| panic!("{source}: {problem:?}"))
}

fn command(source: &str) -> (String, usize) {
    match &read(source)[..] {
        [Expression::Call(call)] => (call.name.clone(), call.arguments.len()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn commands_take_arguments_with_and_without_parentheses_and_braces() {
    assert_eq!(command("list"), ("list".into(), 0));
    assert_eq!(command("create 't', 'a', {SPLITS => ['1', '2']}"), ("create".into(), 3));
    assert_eq!(command("scan('t', {LIMIT => 1})"), ("scan".into(), 2));
    assert_eq!(
        read("scan 't', LIMIT => 1, STARTROW: 'a'"),
        read("scan 't', {LIMIT => 1, STARTROW: 'a'}")
    );
    assert_eq!(read("t.scan {LIMIT => 1}"), read("t.scan({LIMIT => 1})"));
    assert_eq!(command("incr 't', 'r', 'c', -3"), ("incr".into(), 4));
}

#[test]
fn variable_is_not_parsed_as_command() {
    assert_eq!(read("x -1"), read("x - 1"));
    assert_ne!(read("y -1"), read("y - 1"));
}

#[test]
fn continuable_input_is_incomplete() {
    for source in [
        "scan 't', {",
        "scan 't',",
        "put 't', 'r",
        "x = ",
        "1 +",
        "for i in 1..3 do\nputs i",
        "3.times do |i|",
        "t.",
    ] {
        assert!(
            matches!(parse(source, &BTreeSet::new()), Err(SyntaxProblem::Incomplete { .. })),
            "{source}"
        );
    }
    for source in [
        "scan 't' {LIMIT => 1}",
        "scan 't', }",
        "{LIMIT =>}",
        "put 't' 'r' 5",
        "end",
        "scan 't', A => 1, 'b'",
    ] {
        assert!(
            matches!(parse(source, &BTreeSet::new()), Err(SyntaxProblem::Wrong { .. })),
            "{source}"
        );
    }
}

#[test]
fn parser_survives_truncated_and_deeply_nested_input() {
    let statement = "t = put('t', \"r\u{5f20}#{x + [1, 2.5][0]}\\x00\", {A => [1, b: :c], 'd' => \
                     -1..3}) ; for i in %w[a b] do puts i end";
    for (end, _) in statement.char_indices() {
        parse(&statement[..end], &BTreeSet::new()).ok();
        parse(&statement[end..], &BTreeSet::new()).ok();
    }
    for deep in ["(", "[", "{a => ", "-", "!", "x = ", "\"#{"] {
        assert!(parse(&deep.repeat(100_000), &BTreeSet::new()).is_err(), "{deep}");
    }
    assert!(matches!(
        parse("\"#{1 +}\"", &BTreeSet::new()),
        Err(SyntaxProblem::Wrong { offset: 0, .. })
    ));
}

#[test]
fn blocks_and_loops_hold_statements() {
    let Expression::For { variable, body, .. } =
        &read("for i in 1..3 do puts i; puts i + 1 end")[0]
    else {
        panic!()
    };
    assert_eq!((variable.as_str(), body.len()), ("i", 2));
    assert_eq!(read("[1].each { |i| puts i }"), read("[1].each do |i| puts i end"));
    assert_eq!(read("3.times { list }"), read("3.times do list end"));
}
