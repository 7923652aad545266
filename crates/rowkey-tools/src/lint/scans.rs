//! Rules about scans with explicit bounds: empty scans, and scans without an end.

use std::ops::Bound;

use halite_rowkey::language::Action;
use halite_rowkey::schema::{KeySchema, Order, SegmentKind};
use halite_types::key::to_string_binary;
use halite_types::{Filter, RowRange, Scan};

use super::finding::{Finding, Findings};
use super::input::QueryShape;

/// Returns the findings about a scan of a table with this key, if known: Q-INV and Q-OPEN. Nothing
/// is read.
pub fn lint_scan(key: Option<&KeySchema>, scan: &Scan) -> Vec<Finding> {
    let mut found = Findings::default();
    let ends_by_filter = matches!(scan.selection.filter, Some(Filter::Prefix(_)));
    check_range(key, "The scan", &scan.range, scan.reverse, ends_by_filter, &mut found);
    found.0
}

/// Checks the scans that are declared in bytes.
pub(super) fn check(key: Option<&KeySchema>, queries: &[QueryShape], found: &mut Findings) {
    for query in queries {
        let Action::RawScan { from, to } = &query.action else { continue };
        let row = |row: &Option<Vec<u8>>| row.clone().unwrap_or_default();
        let scan = Scan::range(row(from), row(to));
        check_range(key, &format!("Query {}", query.name), &scan.range, false, false, found);
    }
}

fn check_range(
    key: Option<&KeySchema>,
    who: &str,
    range: &RowRange,
    reverse: bool,
    ends_by_filter: bool,
    found: &mut Findings,
) {
    match (&range.start, &range.end) {
        (
            Bound::Included(start) | Bound::Excluded(start),
            Bound::Included(end) | Bound::Excluded(end),
        ) if start > end => {
            inverted(key, who, start, end, reverse, found);
        }
        // In a reverse scan the lower end is omitted.
        (Bound::Included(start), Bound::Unbounded) if !reverse && !ends_by_filter => {
            open(key, who, start, found);
        }
        (Bound::Unbounded, Bound::Included(end)) if reverse && !ends_by_filter => {
            open(key, who, end, found);
        }
        _ => {}
    }
}

/// Q-INV.
fn inverted(
    key: Option<&KeySchema>,
    who: &str,
    start: &[u8],
    end: &[u8],
    reverse: bool,
    found: &mut Findings,
) {
    let newest_first = key.filter(|key| differ_in_descending(key, start, end));
    let why = match newest_first {
        Some(_) => {
            " The field in which they differ is written newest first, so the later time comes \
             first."
        }
        None if reverse => {
            " Given to a program, a reversed scan has its upper end as the start row."
        }
        None => "",
    };
    let message = format!(
        "{who} begins at {} and ends before it, at {}: it finds nothing, and says so by an empty \
         answer.{why}",
        to_string_binary(start),
        to_string_binary(end)
    );
    let fix = if key.is_some_and(|key| differ_in_hash(key, start, end)) {
        "a prefix as both bounds: what two values hash to has no order, and nothing lies between \
         them"
    } else if newest_first.is_some() {
        "from Long.MAX_VALUE - end to Long.MAX_VALUE - start, one more for the stop row; or \
         conditions on the field, which the planner turns round"
    } else {
        "the bounds exchanged"
    };
    found.add("Q-INV", None, message).fix(fix);
}

/// Returns `true` if two keys, or prefixes of keys, differ in a leading hash.
fn differ_in_hash(key: &KeySchema, start: &[u8], end: &[u8]) -> bool {
    let Some(segment) =
        key.segments().first().filter(|segment| matches!(segment.kind, SegmentKind::Hash { .. }))
    else {
        return false;
    };
    let width = segment.digits.map(usize::from).or_else(|| key.fixed_bytes(0)).unwrap_or(0);
    start.iter().zip(end).take(width).any(|(a, b)| a != b)
}

/// Returns `true` if two keys, or prefixes of keys, first differ in a descending segment.
fn differ_in_descending(key: &KeySchema, start: &[u8], end: &[u8]) -> bool {
    let same = start.iter().zip(end).take_while(|(a, b)| a == b).count();
    let holds = |bytes: &[u8]| {
        let pieces = key.split_segments(bytes).ok()?;
        pieces.iter().position(|piece| piece.contains(&same))
    };
    let at = holds(start).or_else(|| holds(end));
    at.is_some_and(|at| key.segments()[at].order == Order::Desc)
}

/// Q-OPEN.
fn open(key: Option<&KeySchema>, who: &str, start: &[u8], found: &mut Findings) {
    let first = key.and_then(|key| {
        let of = |kind: &SegmentKind| kind.field().map(|field| key.fields()[field].name.as_str());
        key.segments().iter().find_map(|segment| of(&segment.kind))
    });
    let whose =
        first.map_or("what comes after it".to_owned(), |name| format!("those of the next {name}"));
    let stop = match RowRange::prefix(start.to_vec()).end {
        Bound::Excluded(stop) | Bound::Included(stop) => format!(
            "a stop row after all keys with this prefix, which is {}",
            to_string_binary(&stop)
        ),
        Bound::Unbounded => "a prefix".to_owned(),
    };
    let message = format!(
        "{who} begins at {} and has no end: where there are fewer rows than are wanted, {whose} \
         follow.",
        to_string_binary(start)
    );
    found
        .add("Q-OPEN", None, message)
        .fix(format!("{stop}; or ROWPREFIXFILTER, or conditions on fields"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(key: Option<&str>, scan: &Scan) -> Vec<(&'static str, String)> {
        let key: Option<KeySchema> = key.map(|text| text.parse().unwrap());
        lint_scan(key.as_ref(), scan)
            .into_iter()
            .map(|finding| (finding.rule.id, finding.message))
            .collect()
    }

    #[test]
    fn e01_inverted_bounds_name_the_reversed_field() {
        let key = Some("TEXT '{uid}_{rev(ts):19}'");
        let scan = Scan::range("u1_9223370326480375807", "u1_9223370326393975807");
        let [(rule, said)] = &found(key, &scan)[..] else { panic!("one finding") };
        assert!(*rule == "Q-INV" && said.contains("written newest first"), "{said}");
        let [(_, said)] = &found(None, &scan)[..] else { panic!("one finding") };
        assert!(!said.contains("newest first"), "{said}");
        let [(_, said)] = &found(key, &Scan::range("u2_1", "u1_1"))[..] else {
            panic!("one finding")
        };
        assert!(!said.contains("newest first"), "{said}");
        assert_eq!(
            found(key, &Scan::range("u1_9223370326393975808", "u1_9223370326480375808")),
            []
        );
        let binary = "(uid STRING, ts TIMESTAMP DESC)";
        let schema: KeySchema = binary.parse().unwrap();
        let binary = Some(binary);
        let key_of = |ts: i64| {
            halite_types::Bytes::copy_from_slice(
                &schema.encode(&["u1".into(), halite_rowkey::Value::Signed(ts)]).unwrap(),
            )
        };
        assert!(found(binary, &Scan::range(key_of(1), key_of(2)))[0].1.contains("newest first"));
        assert_eq!(found(binary, &Scan::range(key_of(2), key_of(1))), []);
    }

    #[test]
    fn e06_open_ended_scan_is_reported_unless_bounded_otherwise() {
        let rules = |scan: &Scan| {
            found(Some("(uid STRING, ts TIMESTAMP)"), scan)
                .into_iter()
                .map(|(rule, _)| rule)
                .collect::<Vec<_>>()
        };
        assert_eq!(rules(&Scan::all().start("user_1_")), ["Q-OPEN"]);
        assert_eq!(
            rules(&Scan::all().start("user_1_").filter(Filter::Prefix("user_1_".into()))),
            [""; 0]
        );
        assert_eq!(rules(&Scan::prefix("user_1_")), [""; 0]);
        assert_eq!(rules(&Scan::all()), [""; 0]);
        assert_eq!(rules(&Scan::all().start_exclusive("user_1_9")), [""; 0]);
        // In a reverse scan the upper end is the start.
        assert_eq!(rules(&Scan::all().stop_inclusive("user_1_~").reverse(true)), ["Q-OPEN"]);
        assert_eq!(rules(&Scan::all().start("user_1_").reverse(true)), [""; 0]);
    }

    #[test]
    fn proposed_stop_row_is_the_prefix_successor() {
        let key: KeySchema = "TEXT '{uid}_{n}'".parse().unwrap();
        let of_open = lint_scan(Some(&key), &Scan::all().start("user_1_"));
        assert!(of_open[0].fix.as_ref().unwrap().contains("which is user_1`"), "{of_open:?}");
        assert!(of_open[0].message.contains("those of the next uid follow"), "{of_open:?}");
    }
}
