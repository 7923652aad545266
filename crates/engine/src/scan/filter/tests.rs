//! Filters against the recorded results of HBase's classes.
//!
//! ```text
//! cell ROW FAMILY QUALIFIER TIMESTAMP TYPE VALUE     a cell of the scan, in order
//! filter (NAME ...)                                  the same scan with a filter, forward and in reverse
//!   forward [whole-rows]                             whole-rows: has_filter_row
//!   reverse hangs                                    HBase never ends; Halite only has to end
//!     ROW: 0I 1C 2H>KEY kept 0                       cell 0 of the row: Include, 1: NextCol, 2: a hint and its key
//! value VALUE                                        a value to compare
//! comparator (NAME ...)                              its order against each value: < = > or ! if there is none
//! ```
//! Codes: `I` is `Include`, `IC` and `IR` the same with `NextCol` and `SeekNextRow`, `S` is `Skip`,
//! `C` `NextCol`, `R` `NextRow`, `H` `SeekNextUsingHint`; `=VALUE` after one is the transformed
//! value. `kept` are the cells that `keep_cell` retains, `filtered` is the result of
//! `filter_row_key` or `filter_row`, `end` is `filter_all_remaining`.
//! `interop/java/FilterAnswers.java` writes HBase's results to the files.

mod notation;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use halite_types::cell::{self, CellRef, CellType};

use super::comparator::Compiled;
use super::compiled_regex::RegexBudget;
use super::{FilterState, ReturnCode};
use notation::{Parser, bytes, print};

struct OwnCell {
    key: Vec<u8>,
    value: Vec<u8>,
}

impl OwnCell {
    fn parse(words: &str) -> Self {
        let [row, family, qualifier, timestamp, kind, value] =
            words.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let kind = if kind == "Put" { CellType::Put } else { CellType::DeleteColumn };
        let key = cell::make_key(
            &bytes(row),
            &bytes(family),
            &bytes(qualifier),
            timestamp.parse().unwrap(),
            kind.code(),
        );
        Self { key, value: bytes(value).to_vec() }
    }

    fn view(&self) -> CellRef<'_> {
        CellRef::new(&self.key, &self.value, &[], 0)
    }
}

/// Returns the results for the cases in a golden file, in the format of that file.
fn answers(golden: &str) -> String {
    let mut cells = Vec::new();
    let mut values = Vec::new();
    let mut out = String::new();
    let mut lines = golden.lines().peekable();
    while let Some(line) = lines.next() {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        if !matches!(kind, "cell" | "value" | "filter" | "comparator" | "#") {
            continue;
        }
        writeln!(out, "{line}").unwrap();
        match kind {
            "cell" => cells.push(OwnCell::parse(rest)),
            "value" => values.push(bytes(rest)),
            "filter" => {
                let until_next = std::iter::from_fn(|| lines.next_if(|line| line.starts_with(' ')));
                let hangs = until_next.filter(|line| *line == "  reverse hangs").count() > 0;
                answer_filter(rest, &cells, hangs, &mut out);
            }
            "comparator" => match Compiled::new(
                &Parser::new(rest).comparator(),
                &mut RegexBudget::for_expressions(1),
            ) {
                Ok(comparator) => {
                    let sign = |order: Option<std::cmp::Ordering>| {
                        order.map_or('!', |order| {
                            ['<', '=', '>'][usize::try_from(order as i8 + 1).unwrap()]
                        })
                    };
                    writeln!(
                        out,
                        "  {}",
                        values
                            .iter()
                            .map(|value| sign(comparator.order_of(value)))
                            .collect::<String>()
                    )
                    .unwrap();
                }
                Err(_) => out.push_str("  error\n"),
            },
            _ => {}
        }
    }
    out
}

fn answer_filter(text: &str, cells: &[OwnCell], hangs: bool, out: &mut String) {
    let filter = Parser::new(text).filter();
    for reversed in [false, true] {
        let Ok(mut state) = FilterState::new(&filter) else {
            out.push_str("  error\n");
            return;
        };
        state.set_reversed(reversed);
        if reversed && hangs {
            ScanOf { state, reversed, positions: BTreeMap::new() }.run(cells, &mut String::new());
            out.push_str("  reverse hangs\n");
            continue;
        }
        let whole_rows = if state.has_filter_row() { " whole-rows" } else { "" };
        writeln!(out, "  {}{whole_rows}", if reversed { "reverse" } else { "forward" }).unwrap();
        ScanOf { state, reversed, positions: BTreeMap::new() }.run(cells, out);
    }
}

/// Scan as far as a filter sees it: each family moves independently, as scanners of stores do.
struct ScanOf {
    state: FilterState,
    reversed: bool,
    positions: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl ScanOf {
    fn run(&mut self, cells: &[OwnCell], out: &mut String) {
        let mut rows: Vec<&[OwnCell]> =
            cells.chunk_by(|a, b| a.view().row() == b.view().row()).collect();
        if self.reversed {
            rows.reverse();
        }
        for row in rows {
            if !row.iter().any(|cell| self.is_ahead(cell.view())) {
                continue;
            }
            if self.state.filter_all_remaining() {
                out.push_str("    end\n");
                return;
            }
            self.state.reset();
            let key = row[0].view().row();
            write!(out, "    {}:", print(key)).unwrap();
            if self.state.filter_row_key(key) {
                out.push_str(" filtered");
            } else {
                self.row(row, out);
            }
            out.push('\n');
        }
    }

    fn row(&mut self, row: &[OwnCell], out: &mut String) {
        let mut taken = Vec::new();
        for (number, cell) in row.iter().enumerate() {
            let cell = cell.view();
            if !self.is_ahead(cell) {
                continue;
            }
            if self.state.filter_all_remaining() {
                out.push_str(" end");
                break;
            }
            let code = self.state.filter_cell(cell);
            write!(out, " {number}{}", name(code)).unwrap();
            if code.includes() {
                let mut scratch = Vec::new();
                let value = self.state.transform_value(&cell, &mut scratch);
                assert!(self.state.transforms() || value == cell.value());
                if value != cell.value() {
                    write!(out, "={}", print(value)).unwrap();
                }
                taken.push((number, cell));
            }
            self.move_on(cell, code, out);
        }
        taken.retain(|&(_, cell)| {
            let kept = self.state.keep_cell(cell);
            assert!(kept || self.state.drops_cells());
            kept
        });
        if !taken.is_empty() {
            out.push_str(" kept");
            taken.iter().for_each(|(number, _)| write!(out, " {number}").unwrap());
            out.push_str(if self.state.filter_row() { " filtered" } else { "" });
        }
    }

    fn move_on(&mut self, cell: CellRef<'_>, code: ReturnCode, out: &mut String) {
        let position = match code {
            ReturnCode::Include | ReturnCode::Skip => return,
            ReturnCode::IncludeAndNextCol | ReturnCode::NextCol => {
                cell::last_on_column(cell.row(), cell.family(), cell.qualifier())
            }
            ReturnCode::IncludeAndSeekNextRow | ReturnCode::NextRow => {
                cell::last_on_row(cell.row())
            }
            ReturnCode::SeekNextUsingHint => {
                let Some(hint) = self.state.next_cell_hint(cell) else {
                    out.push_str(">none");
                    return;
                };
                let at = CellRef::new(&hint, &[], &[], 0);
                let [row, family, qualifier] = [at.row(), at.family(), at.qualifier()].map(print);
                write!(out, ">{row}/{family}/{qualifier}/{}/{}", at.timestamp(), at.type_code())
                    .unwrap();
                hint
            }
        };
        self.positions.insert(cell.family().to_vec(), position);
    }

    fn is_ahead(&self, cell: CellRef<'_>) -> bool {
        let Some(position) = self.positions.get(cell.family()) else { return true };
        match cell.row().cmp(cell::key_row(position)) {
            std::cmp::Ordering::Equal => cell::compare_keys(cell.key(), position).is_ge(),
            order => order.is_lt() == self.reversed,
        }
    }
}

fn name(code: ReturnCode) -> &'static str {
    match code {
        ReturnCode::Include => "I",
        ReturnCode::IncludeAndNextCol => "IC",
        ReturnCode::IncludeAndSeekNextRow => "IR",
        ReturnCode::Skip => "S",
        ReturnCode::NextCol => "C",
        ReturnCode::NextRow => "R",
        ReturnCode::SeekNextUsingHint => "H",
    }
}

/// Compares line by line, because the first line that differs shows the error.
fn check(golden: &str) {
    let golden = golden.replace("\r\n", "\n");
    let ours = answers(&golden);
    let mut question = "";
    for (number, (expected, given)) in golden.lines().zip(ours.lines()).enumerate() {
        if expected.starts_with(|first: char| first.is_ascii_lowercase()) {
            question = expected;
        }
        assert_eq!(expected, given, "line {}, of {question}", number + 1);
    }
    assert_eq!(golden.lines().count(), ours.lines().count());
}

#[test]
fn each_filter_behaves_as_in_hbase() {
    check(include_str!("../../../testdata/filter/single.txt"));
}

#[test]
fn nested_filters_behave_as_in_hbase() {
    check(include_str!("../../../testdata/filter/nested.txt"));
}

#[test]
fn comparators_behave_as_in_hbase() {
    check(include_str!("../../../testdata/filter/comparators.txt"));
}

fn answer(question: &str, rows: &[&str]) -> String {
    let cells: Vec<OwnCell> =
        rows.iter().map(|row| OwnCell::parse(&format!("{row} f q 1 Put v"))).collect();
    let mut out = String::new();
    answer_filter(question, &cells, false, &mut out);
    out
}

#[test]
fn unbounded_ranges_work_in_reverse() {
    let rows = ["a", "m", "z"];
    let expected = "  reverse\n    z: 0I kept 0\n    m: 0H>b/''/''/9223372036854775807/255\n    a: 0I kept 0\n";
    assert!(answer("(ranges from a to b from n to '')", &rows).ends_with(expected));
}

#[test]
fn reverse_hints_after_greatest_byte_skip_no_matching_row() {
    let rows = ["a\\xFF", "a\\xFFb", "c"];
    let expected = "  reverse\n    c: 0H>b/''/''/9223372036854775807/255\n    a\\xFFb: 0I kept 0\n    a\\xFF: 0I kept 0\n";
    assert!(answer("(prefix a\\xFF)", &rows).ends_with(expected));
    assert!(answer("(fuzzy a\\xFF 00)", &rows).ends_with(expected));
}

#[test]
fn wrapped_filter_ignores_scan_direction() {
    // In reverse, m follows z; the prefix filter inside treats z as the end, as in HBase.
    assert!(
        answer("(while (prefix m))", &["a", "m", "z"])
            .ends_with("  reverse whole-rows\n    z: filtered\n    end\n")
    );
}

#[test]
fn page_limits_near_the_maximum_do_not_overflow() {
    assert!(answer("(pages 4294967295 1)", &["a"]).starts_with("  forward\n    a: 0C\n"));
    assert!(answer("(pages 4294967295 0)", &["a"]).starts_with("  forward\n    a: 0IC kept 0\n"));
}

#[test]
fn random_filter_keeps_its_ratio_and_follows_its_seed() {
    let kept = |seed| -> Vec<bool> {
        let mut state =
            FilterState::new(&halite_types::Filter::All(vec![halite_types::Filter::RandomRow(
                0.25,
            )]))
            .unwrap();
        state.set_seed(seed);
        (0..4000).map(|_| !state.filter_row_key(b"row")).collect()
    };
    let share = kept(1).iter().filter(|kept| **kept).count();
    assert!((900..1100).contains(&share), "{share} of 4000 rows");
    assert_eq!(kept(1), kept(1));
    assert_ne!(kept(1), kept(2));
}

#[test]
fn filter_all_drops_rows_unless_another_filter_passes() {
    use halite_types::Filter;
    let key = cell::make_key(b"r", b"f", b"q", 1, 4);
    let cell = CellRef::new(&key, b"v", b"", 0);
    let run = |filter: &Filter| {
        let mut state = FilterState::new(filter).unwrap();
        state.reset();
        assert!(state.has_filter_row() && !state.filter_all_remaining());
        let _ = state.filter_row_key(b"r");
        (state.filter_cell(cell).includes(), state.filter_row())
    };
    assert_eq!(run(&Filter::FilterAll), (false, true));
    assert_eq!(run(&Filter::One(vec![Filter::FilterAll, Filter::FirstKeyOnly])), (true, false));
}

#[test]
fn invalid_filters_are_rejected_with_fix() {
    let refusal = |text: &str| {
        FilterState::new(&Parser::new(text).filter())
            .err()
            .map(|error| (error.kind(), error.to_string()))
            .unwrap()
    };
    for (question, fix) in [
        ("(value = (regex \\x28?=a\\x29))", "unbounded time"),
        ("(value = (regex \\x28a\\x29\\x5C1))", "back-references"),
        ("(value = (regex a++))", "possessive"),
        ("(value = (regex [a))", "has no ]"),
        ("(value = (regex a 128))", "flags"),
        ("(value = (regex a 32 UTF-16))", "UTF-8"),
        (
            "(value = (regex (a{1000}){1000}))",
            "cannot be used: the regular expressions of one filter may take",
        ),
        ("(scv f q noop (binary v) true true true)", "comparison"),
        ("(fuzzy ab 0)", "mask"),
        ("(fuzzy)", "at least one"),
        ("(ranges)", "at least one"),
        ("(ranges from b to a)", "swap"),
        ("(colprefixes p p)", "once"),
        ("(stamps false -1)", "1970"),
    ] {
        let question = question.replace("(a{1000})", "\\x28a{1000}\\x29");
        let (kind, text) = refusal(&question);
        assert_eq!(kind, halite_types::ErrorKind::InvalidRequest);
        assert!(text.starts_with("filter: ") && text.contains(fix), "{question}: {text}");
    }
    let deep = (0..200).fold(halite_types::Filter::FirstKeyOnly, |inner, _| {
        halite_types::Filter::All(vec![inner])
    });
    assert!(FilterState::new(&deep).err().unwrap().to_string().contains("make the lists flat"));
}

fn value_matches(pattern: impl Into<String>) -> halite_types::Filter {
    let regex = halite_types::RegexString::new(pattern);
    halite_types::Filter::Value(
        halite_types::CompareOp::Equal,
        halite_types::Comparator::Regex(regex),
    )
}

#[test]
fn regular_expressions_of_a_filter_share_a_memory_limit() {
    let list = |count: usize| {
        halite_types::Filter::One((0..count).map(|_| value_matches(r"\pL{50}")).collect())
    };
    assert!(FilterState::new(&list(4)).is_ok());
    let error = FilterState::new(&halite_types::Filter::Skip(Box::new(list(500)))).err().unwrap();
    assert_eq!(error.kind(), halite_types::ErrorKind::InvalidRequest);
    assert!(
        error.message().contains("16777216 bytes together")
            && error.message().contains("several requests"),
        "{error}"
    );
}

/// Neither takes time or memory that depends on its content; each took hours or gigabytes.
#[test]
fn oversized_regex_is_rejected_before_parsing() {
    for (pattern, why) in [
        ("(?:".repeat(4 << 20), "over the limit of 65536"),
        ("$".repeat(60_000), "too large"),
        (format!("[{}]", r"\h".repeat(30_000)), "too large"),
        (r"\pL".repeat(20_000), "more than 1000 classes"),
        (r"(?U)\w".repeat(10_000), "more than 1000 classes"),
        (format!("(?i){}", r"[\x{0}-\x{10FFFF}]".repeat(101)), "more than 1000 classes"),
        (format!("(?{}", "x".repeat(65_000)), "not known"),
        (format!("[{}", "a".repeat(65_000)), "has no ]"),
    ] {
        let error = FilterState::new(&value_matches(pattern.clone())).err().unwrap();
        assert!(error.message().contains(why) && error.message().len() < 1500, "{error}");
        let error = super::FullMatch::new(&pattern).unwrap_err();
        assert!(error.message().contains(why) && error.message().len() < 1500, "{error}");
    }
    let many = (0..1001).map(|_| value_matches(r"\p{Lu}")).collect();
    assert!(
        FilterState::new(&halite_types::Filter::One(many))
            .err()
            .unwrap()
            .message()
            .contains("several requests")
    );
    let ignoring_case = (0..101).map(|_| value_matches("(?i)[\u{e4}-\u{fc}]")).collect();
    assert!(
        FilterState::new(&halite_types::Filter::One(ignoring_case))
            .err()
            .unwrap()
            .message()
            .contains("more than 1000 classes")
    );
    assert!(FilterState::new(&value_matches("(?i)[a-z0-9_]+".repeat(200))).is_ok());
    let rows: Vec<String> = (0..3000).map(|row| format!("row-{row:06}")).collect();
    assert!(FilterState::new(&value_matches(rows.join("|"))).is_ok());
}
