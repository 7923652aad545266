//! Filter language, compared with the recorded answers of HBase's parser.
//!
//! `testdata/filter/language.txt` has lines "parse STRING", each followed by the filter read by
//! HBase 2.6, in parentheses, or by "error"; `interop/java/FilterAnswers.java` writes them. Lines
//! "accepted STRING" with Halite's answer and "refused STRING" specify intentional differences.

use super::*;

const GOLDEN: &str = include_str!("../../testdata/filter/language.txt");

fn word(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "''".into();
    }
    let one = |&byte: &u8| match byte {
        b'!'..=b'~' if !b"\\()".contains(&byte) => char::from(byte).to_string(),
        _ => format!("\\x{byte:02X}"),
    };
    bytes.iter().map(one).collect()
}

fn format_comparator(comparator: &Comparator) -> String {
    match comparator {
        Comparator::Binary(value) => format!("(binary {})", word(value)),
        Comparator::BinaryPrefix(value) => format!("(bprefix {})", word(value)),
        Comparator::Substring(text) => {
            format!("(substring {})", word(text.to_lowercase().as_bytes()))
        }
        Comparator::Regex(regex) if regex.flags == RegexString::DOTALL => {
            format!("(regex {})", word(regex.pattern.as_bytes()))
        }
        Comparator::Regex(regex) => {
            format!("(regex {} {})", word(regex.pattern.as_bytes()), regex.flags)
        }
        other => panic!("{other:?} is not of the language"),
    }
}

fn joined(name: &str, words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = std::iter::once(name.to_owned()).chain(words).collect();
    format!("({})", words.join(" "))
}

fn format_filter(filter: &Filter) -> String {
    let list = |name: &str, filters: &[Filter]| joined(name, filters.iter().map(format_filter));
    let test = |name: &str, op: &CompareOp, comparator: &Comparator| {
        format!("({name} {op} {})", format_comparator(comparator))
    };
    match filter {
        Filter::All(filters) => list("all", filters),
        Filter::One(filters) => list("one", filters),
        Filter::Skip(inner) => format!("(skip {})", format_filter(inner)),
        Filter::WhileMatch(inner) => format!("(while {})", format_filter(inner)),
        Filter::Row(op, comparator) => test("row", op, comparator),
        Filter::Family(op, comparator) => test("family", op, comparator),
        Filter::Qualifier(op, comparator) => test("qualifier", op, comparator),
        Filter::Value(op, comparator) => test("value", op, comparator),
        Filter::SingleColumnValue {
            family,
            qualifier,
            op,
            comparator,
            filter_if_missing,
            latest_version_only,
            exclude,
        } => format!(
            "(scv {} {} {op} {} {filter_if_missing} {latest_version_only} {exclude})",
            word(family),
            word(qualifier),
            format_comparator(comparator)
        ),
        Filter::ColumnValue { family, qualifier, op, comparator } => {
            format!(
                "(cv {} {} {op} {})",
                word(family),
                word(qualifier),
                format_comparator(comparator)
            )
        }
        Filter::DependentColumn { family, qualifier, drop_column, check } => {
            let check = check
                .as_ref()
                .map(|(op, comparator)| format!(" {op} {}", format_comparator(comparator)))
                .unwrap_or_default();
            format!("(dep {} {} {drop_column}{check})", word(family), word(qualifier))
        }
        Filter::Prefix(prefix) => format!("(prefix {})", word(prefix)),
        Filter::ColumnPrefix(prefix) => format!("(colprefix {})", word(prefix)),
        Filter::MultipleColumnPrefix(prefixes) => {
            joined("colprefixes", prefixes.iter().map(|prefix| word(prefix)))
        }
        Filter::ColumnRange { min, min_inclusive, max, max_inclusive } => {
            let bound =
                |bound: &Option<Bytes>| bound.as_ref().map_or("-".into(), |bytes| word(bytes));
            format!("(colrange {} {min_inclusive} {} {max_inclusive})", bound(min), bound(max))
        }
        Filter::Page(rows) => format!("(page {rows})"),
        Filter::InclusiveStop(row) => format!("(stop {})", word(row)),
        Filter::ColumnCountGet(limit) => format!("(count {limit})"),
        Filter::ColumnPagination { limit, offset, column_offset: None } => {
            format!("(pages {limit} {offset})")
        }
        Filter::Timestamps { timestamps, can_hint: false } => {
            joined("stamps false", timestamps.iter().map(ToString::to_string))
        }
        Filter::KeyOnly(length) => format!("(keyonly {length})"),
        Filter::FirstKeyOnly => "(first)".into(),
        other => panic!("{other:?} is not of the language"),
    }
}

fn golden_cases(kind: &str) -> impl Iterator<Item = (Vec<u8>, &'static str)> {
    let lines = GOLDEN.lines().zip(GOLDEN.lines().skip(1).chain([""]));
    lines.filter_map(move |(question, answer)| {
        Some((crate::key::to_bytes_binary(question.strip_prefix(kind)?), answer.trim_start()))
    })
}

#[test]
fn strings_are_read_as_hbase_reads_them() {
    for (text, expected) in golden_cases("parse ").chain(golden_cases("accepted ")) {
        let given =
            Filter::parse_bytes(&text).map_or("error".into(), |filter| format_filter(&filter));
        assert_eq!(given, expected, "{}", text.escape_ascii());
    }
    assert!(golden_cases("parse ").count() > 80);
}

#[test]
fn printed_filter_parses_back() {
    for (text, _) in golden_cases("parse ") {
        let Ok(filter) = Filter::parse_bytes(&text) else { continue };
        let printed = filter.to_string();
        assert_eq!(
            Filter::parse_bytes(&crate::key::to_bytes_binary(&printed)).as_ref(),
            Ok(&filter),
            "{printed}"
        );
    }
}

#[test]
fn filter_texts_hbase_accepts_by_accident_are_rejected() {
    assert_eq!(golden_cases("refused ").count(), 2);
    for (text, _) in golden_cases("refused ") {
        assert!(Filter::parse_bytes(&text).is_err(), "{}", text.escape_ascii());
    }
}

#[test]
fn regular_expression_is_printed_with_flags_and_charset() {
    let print =
        |regex: RegexString| Filter::Row(CompareOp::Equal, Comparator::Regex(regex)).to_string();
    assert_eq!(print(RegexString::new("a'b")), "RowFilter(=, 'regexstring:a''b')");
    assert_eq!(print(RegexString::ignoring_case("a")), "RowFilter(=, 'regexstringnocase:a')");
    assert_eq!(
        print(RegexString { flags: 0, ..RegexString::new("a") }),
        "RowFilter(=, RegexStringComparator('a', 0, 'UTF-8'))"
    );
    assert_eq!(
        print(RegexString { charset: "ISO-8859-1".into(), ..RegexString::new("a") }),
        "RowFilter(=, RegexStringComparator('a', 32, 'ISO-8859-1'))"
    );
}

#[test]
fn errors_contain_column_and_expected_form() {
    for (text, column, what) in [
        ("PrefxFilter('a')", 1, "did you mean PrefixFilter?"),
        ("prefix('a')", 1, "did you mean PrefixFilter?"),
        ("Nonsense('a')", 1, "such as PrefixFilter"),
        ("PrefixFilter('a') AND", 22, "expected a filter"),
        ("PrefixFilter('a') PageFilter(1)", 19, "join filters with AND or OR"),
        ("(PrefixFilter('a')", 1, "unclosed parenthesis: add )"),
        ("PrefixFilter('a'", 13, "unclosed parenthesis: add )"),
        ("PrefixFilter('a", 14, "add the quote '"),
        ("PrefixFilter 'a'", 13, "the form is PrefixFilter('prefix')"),
        ("PrefixFilter(a)", 14, "in single quotes"),
        ("PrefixFilter()", 1, "a string is missing"),
        ("PrefixFilter('a', 'b')", 19, "extra argument"),
        ("PageFilter('1')", 12, "without quotes"),
        ("PageFilter(-1)", 12, "from 0 to 9223372036854775807"),
        ("ColumnCountGetFilter(2147483648)", 22, "from 0 to 2147483647"),
        ("ValueFilter(~, 'binary:x')", 13, "one of < <= = != >= >"),
        (
            "ValueFilter(=, 'x')",
            16,
            "binary: binaryprefix: substring: regexstring: or regexstringnocase:",
        ),
        ("ValueFilter(<, 'substring:x')", 16, "allow only = and !="),
        ("ValueFilter(<, 'regexstringnocase:x')", 16, "allow only = and !="),
        ("KeyOnlyFilter(yes)", 15, "true or false"),
        ("MultipleColumnPrefixFilter('a', 'b', 'a')", 38, "duplicate"),
        ("PrefixFilter('\u{e9}\u{e9}') x", 20, "AND or OR"),
        ("", 1, "expected a filter"),
    ] {
        let error = text.parse::<Filter>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("filter string, column {column}: ")) && error.contains(what),
            "{text}: {error}"
        );
    }
    let deep = format!("{}PageFilter(1)", "SKIP ".repeat(200));
    assert!(deep.parse::<Filter>().unwrap_err().to_string().contains("more than 100"));
}

#[test]
fn filters_outside_language_are_printed_in_its_style() {
    let fuzzy = Filter::FuzzyRow(vec![FuzzyKey {
        key: Bytes::from_static(b"a?"),
        mask: Bytes::from_static(b"\0\x01"),
    }]);
    assert_eq!(fuzzy.to_string(), "FuzzyRowFilter('a?', '\\x00\\x01')");
    let ranges = Filter::MultiRowRange(vec![RowRange::prefix("a"), RowRange::all()]);
    assert_eq!(ranges.to_string(), "MultiRowRangeFilter(['a', 'b'), ['', ''))");
    let value = Filter::Skip(Box::new(Filter::One(vec![Filter::Value(
        CompareOp::Greater,
        Comparator::Long(5),
    )])));
    assert_eq!(value.to_string(), "SKIP FilterListWithOR(ValueFilter(>, LongComparator(5)))");
}
