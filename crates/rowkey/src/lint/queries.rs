//! Rules about what is asked: whether the key answers it, and from how many places.

use crate::schema::{FieldId, KeySchema, SegmentKind};

use super::{Asks, Findings, QueryShape, Severity};

/// Ranges of one question from which on it is remarked upon: each is a scan of its own on some server.
const FAN_OUT_MAX: u64 = 64;

pub(super) fn check(key: &KeySchema, queries: &[QueryShape], found: &mut Findings) {
    for query in queries {
        let reach = Reach::of(key, query);
        full(key, query, &reach, found);
        fan(key, query, &reach, found);
        values(query, &reach, found);
        if query.has_offset {
            let message = format!(
                "Query {} pages by an offset: all rows before the page are read and thrown away, and rows that come meanwhile shift it.",
                query.name
            );
            found.add("Q-OFFSET", None, message).fix("a page token, which begins behind the last row");
        }
    }
}

/// How far conditions reach into the key, from the left.
struct Reach {
    /// Some condition narrows what is read.
    is_narrow: bool,
    /// Ranges, lists counted once.
    ranges: u64,
    /// A salt that could not be computed.
    salt: Option<usize>,
    /// A hash at which it ended, because not all of its fields are known.
    hash: Option<usize>,
}

impl Reach {
    fn of(key: &KeySchema, query: &QueryShape) -> Self {
        let mut reach = Self { is_narrow: false, ranges: 1, salt: None, hash: None };
        let asks = |field: FieldId| query.conditions.iter().find(|(of, _)| *of == field).map(|(_, asks)| *asks);
        let is_known = |field: &FieldId| matches!(asks(*field), Some(Asks::Equals | Asks::In));
        for (at, segment) in key.segments().iter().enumerate() {
            match &segment.kind {
                SegmentKind::Const(_) => {}
                SegmentKind::Salt { count, function, .. } => {
                    if !(function.is_deterministic() && key.hashed_fields(at).iter().all(is_known)) {
                        reach.ranges = reach.ranges.saturating_mul((*count).into());
                        reach.salt = Some(at);
                    }
                }
                SegmentKind::Hash { by, .. } if by.iter().all(is_known) => reach.is_narrow = true,
                SegmentKind::Hash { .. } => {
                    reach.hash = Some(at);
                    return reach;
                }
                kind => match kind.field().and_then(asks) {
                    Some(Asks::Equals | Asks::In) => reach.is_narrow = true,
                    Some(Asks::Range | Asks::Prefix) => {
                        reach.is_narrow = true;
                        return reach;
                    }
                    None => return reach,
                },
            }
        }
        reach
    }
}

/// Q-FULL and Q-HASHRANGE.
fn full(key: &KeySchema, query: &QueryShape, reach: &Reach, found: &mut Findings) {
    if let Some(at) = reach.hash {
        let by: Vec<_> = key.hashed_fields(at).iter().map(|&field| key.fields()[field].name.as_str()).collect();
        let message = format!(
            "Query {} does not give {} whole, and in front of the key is a hash of it: nothing can be narrowed behind that.",
            query.name,
            by.join(", ")
        );
        found
            .add("Q-HASHRANGE", at, message)
            .fix("a salt in the place of the hash, of which all can be asked; or the hash over the fields that are given");
    }
    if reach.is_narrow {
        return;
    }
    let asked: Vec<_> = query.conditions.iter().map(|(field, _)| key.fields()[*field].name.as_str()).collect();
    let what =
        if asked.is_empty() { "no field of the key".to_owned() } else { format!("{}, which the key does not begin with", asked.join(" and ")) };
    let finding = found.add("Q-FULL", None, format!("Query {} asks for {what}: the whole table is read for it.", query.name));
    if !asked.is_empty() {
        finding.fix(format!("a table whose key begins with {}, written beside this one", asked.join(", ")));
    }
}

/// Q-FAN.
fn fan(key: &KeySchema, query: &QueryShape, reach: &Reach, found: &mut Findings) {
    let Some(at) = reach.salt.filter(|_| reach.ranges > FAN_OUT_MAX) else { return };
    let by: Vec<_> = key.hashed_fields(at).iter().map(|&field| key.fields()[field].name.as_str()).collect();
    let message = format!("Query {} reads {} ranges, one for each salt, because it does not give {}.", query.name, reach.ranges, by.join(", "));
    found.add("Q-FAN", at, message).fix(format!("a salt over fields that every query gives, or at most {FAN_OUT_MAX} salts"));
}

/// Q-FILTER.
fn values(query: &QueryShape, reach: &Reach, found: &mut Findings) {
    if !query.filters_values {
        return;
    }
    let message = format!("Query {} asks for values of columns outside the key, which are looked at row by row.", query.name);
    let severity = if reach.is_narrow { Severity::Note } else { Severity::Warning };
    found.add("Q-FILTER", None, message).no_worse_than(severity).fix("the column in the key, or a table with it in front of the key");
}
