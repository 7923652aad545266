//! Rules about queries: the number of ranges and the order that the key permits.

use halite_rowkey::internals::rearranged_text;
use halite_rowkey::language::Action;
use halite_rowkey::plan::serving_key;
use halite_rowkey::schema::{FieldId, KeySchema, Segment, SegmentKind};

use super::finding::Findings;
use super::input::{ConditionShape, QueryShape};
use super::planned_query::PlannedQuery;
use super::rules::Severity;

/// Ranges of one query that trigger a finding: each is a separate scan on a server.
const MAX_FAN_OUT: u64 = 64;

pub(super) fn check(key: &KeySchema, queries: &[QueryShape], found: &mut Findings) {
    for query in queries.iter().filter(|query| query.action == Action::Read) {
        let planned = PlannedQuery::for_query(key, query);
        full(key, query, &planned, found);
        fan(key, query, &planned, found);
        values(query, &planned, found);
        sorted(key, query, &planned, found);
        if query.has_offset {
            let message = format!(
                "Query {} pages by an offset: all rows before the page are read and thrown away, \
                 and rows that come meanwhile shift it.",
                query.name
            );
            found
                .add("Q-OFFSET", None, message)
                .fix("a page token, which begins after the last row");
        }
    }
}

/// Q-FULL and Q-HASHRANGE.
fn full(key: &KeySchema, query: &QueryShape, planned: &PlannedQuery, found: &mut Findings) {
    if let Some(at) = planned.hash {
        let by: Vec<_> =
            key.hashed_fields(at).iter().map(|&field| key.fields()[field].name.as_str()).collect();
        let message = format!(
            "Query {} does not give {} completely, and the key begins with a hash of it: no later \
             condition narrows the range.",
            query.name,
            by.join(", ")
        );
        found.add("Q-HASHRANGE", at, message).fix(
            "a salt instead of the hash, since all salts can be read; or the hash over the fields \
             that are given",
        );
    }
    if planned.is_narrow {
        return;
    }
    let names: Vec<_> =
        query.conditions.iter().map(|(field, _)| key.fields()[*field].name.as_str()).collect();
    let turned = turned(key, query);
    let serving = serving_key(key, &query.asks);
    let selection = match &turned {
        _ if names.is_empty() => "no field of the key".to_owned(),
        Some((name, held)) => format!(
            "a range or beginning of {name}, and the key holds it as {held}, which those do not \
             narrow"
        ),
        None => format!("{}, which the key does not begin with", names.join(" and ")),
    };
    let finding = found.add(
        "Q-FULL",
        None,
        format!("Query {} asks for {selection}: the whole table is read for it.", query.name),
    );
    if let Some((name, _)) = turned {
        finding.fix(format!("{name} unchanged, after a salt if it increases; or {name} = ? only"));
    } else if !names.is_empty() {
        let such = serving.map_or_else(String::new, |key| format!(": {key}"));
        finding.fix(format!(
            "a second table whose key begins with {}, written together with this one{such}",
            names.join(", ")
        ));
    } else if let Some(first) = key.segments().iter().find_map(|segment| segment.kind.field()) {
        let such = serving.map_or_else(String::new, |key| format!(", such as {key}"));
        finding.fix(format!(
            "a key that begins with the fields of the query{such}; this one begins with {}",
            key.fields()[first].name
        ));
    }
}

/// Returns the first field of the key and its transform, if the query requires more than single
/// values of it and these are not adjacent.
fn turned(key: &KeySchema, query: &QueryShape) -> Option<(String, String)> {
    let is_in_front = |segment: &Segment| {
        matches!(segment.kind, SegmentKind::Const(_) | SegmentKind::Salt { .. })
    };
    let at = key.segments().iter().position(|segment| !is_in_front(segment))?;
    let kind = &key.segments()[at].kind;
    let is_turned = matches!(
        kind,
        SegmentKind::BitReverse(_)
            | SegmentKind::Reverse(_)
            | SegmentKind::Dict { .. }
            | SegmentKind::Ipv4(_)
    );
    let field = kind.field().filter(|_| is_turned)?;
    let is_asked = query.conditions.iter().any(|&(of, asks)| {
        of == field && matches!(asks, ConditionShape::Range | ConditionShape::Prefix)
    });
    is_asked.then(|| (key.fields()[field].name.clone(), key.segment_text(at)))
}

/// Q-FAN.
fn fan(key: &KeySchema, query: &QueryShape, planned: &PlannedQuery, found: &mut Findings) {
    let Some(at) = planned.salt.filter(|_| planned.ranges > MAX_FAN_OUT) else { return };
    let by: Vec<_> =
        key.hashed_fields(at).iter().map(|&field| key.fields()[field].name.as_str()).collect();
    let message = format!(
        "Query {} reads {} ranges, one for each salt, because it does not give {}.",
        query.name,
        planned.ranges,
        by.join(", ")
    );
    found
        .add("Q-FAN", at, message)
        .fix(format!("a salt over fields that every query gives, or at most {MAX_FAN_OUT} salts"));
}

/// Q-FILTER.
fn values(query: &QueryShape, planned: &PlannedQuery, found: &mut Findings) {
    if !query.filters_values {
        return;
    }
    let message = format!(
        "Query {} filters on columns outside the key, which are checked row by row.",
        query.name
    );
    let severity = if planned.is_narrow { Severity::Note } else { Severity::Warning };
    found
        .add("Q-FILTER", None, message)
        .cap_severity(severity)
        .fix("the column in the key, or a table with it in front of the key");
}

/// Q-SORT.
fn sorted(key: &KeySchema, query: &QueryShape, planned: &PlannedQuery, found: &mut Findings) {
    if planned.is_ordered {
        return;
    }
    let limit =
        query.limit.map_or(String::new(), |rows| format!(" before the first {rows} can be given"));
    let message = format!(
        "Query {} wants its rows in an order that the key does not have: all that it asks for are \
         read and sorted{limit}.",
        query.name
    );
    let finding = found.add("Q-SORT", None, message);
    if query.orders_by_values {
        finding.fix("the column in the key, after the fields for which the query gives one value");
    } else if let Some(fix) = ordered_key(key, query) {
        finding.fix(fix);
    }
}

/// Returns a key with the fields that the query fixes first, then its order, then the rest; `None`
/// if that is the existing key.
fn ordered_key(key: &KeySchema, query: &QueryShape) -> Option<String> {
    let is_given = |field: FieldId| {
        query.conditions.iter().any(|&(of, asks)| {
            of == field && matches!(asks, ConditionShape::Equals | ConditionShape::In)
        })
    };
    let place = |segment: &Segment| match segment.kind.field() {
        None => 0,
        Some(field) if is_given(field) => 1,
        Some(field) => {
            query.order.iter().position(|&(of, _)| of == field).map_or(usize::MAX, |at| at + 2)
        }
    };
    let mut segments: Vec<Segment> = key.segments().to_vec();
    segments.sort_by_key(place);
    for segment in &mut segments {
        let SegmentKind::Plain(field) = segment.kind else { continue };
        if let Some(&(_, order)) =
            query.order.iter().find(|(of, _)| *of == field && !is_given(field))
        {
            segment.order = order;
        }
    }
    (segments != key.segments()).then(|| rearranged_text(key, segments))
}
