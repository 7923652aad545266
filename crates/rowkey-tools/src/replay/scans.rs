//! Conditions on fields that are equivalent to a range of keys.

use std::ops::Bound;

use halite_rowkey::plan::{KeyQuery, Predicate};
use halite_rowkey::schema::FieldId;
use halite_rowkey::value::Value;

use super::rekey::Rekeyer;

/// Returns the query that a scan from `start` to `stop` makes under the other schema: equal values
/// for the fields that all keys of the range have in common, and a range of the next field. A range
/// that says nothing about fields has no conditions.
pub(super) fn query_of_range(rekeyer: &Rekeyer, start: &[u8], stop: &[u8]) -> KeyQuery {
    let query = KeyQuery::all();
    let last = last_prefix(stop);
    let low = rekeyer.filled(start, rekeyer.filler(false));
    let high = last.as_deref().and_then(|last| rekeyer.filled(last, rekeyer.filler(true)));
    let common = last
        .as_ref()
        .map_or(0, |last| start.iter().zip(last).take_while(|(one, other)| one == other).count());
    let Some(low) = low else { return query };
    let (known, next) = fields_of(rekeyer, &low, common);
    let values = |key: &[u8]| -> Option<Vec<Value<'static>>> {
        let decoded = rekeyer.decode(key).ok()?;
        Some(decoded.values().iter().map(|value| value.clone().into_owned()).collect())
    };
    let Some(low_values) = values(&low) else { return query };
    let mut query = query;
    for field in known {
        let (Some(place), Some(value)) = (rekeyer.place_of(field), low_values.get(field)) else {
            continue;
        };
        let predicate =
            if value.is_null() { Predicate::IsNull } else { Predicate::Equals(value.clone()) };
        query = query.with(place, predicate);
    }
    let high_values = high.as_deref().and_then(values);
    if let (Some(field), Some(high_values)) = (next, high_values)
        && let (Some(place), Some(one), Some(other)) =
            (rekeyer.place_of(field), low_values.get(field), high_values.get(field))
        && start.len() > common
        && !one.is_null()
        && !other.is_null()
    {
        let (low, high) = if one.compare(other).is_le() { (one, other) } else { (other, one) };
        query = query.range(place, Bound::Included(low.clone()), Bound::Included(high.clone()));
    }
    query
}

/// Returns the bytes that the last keys before `stop` begin with; `None` at the end of the table.
fn last_prefix(stop: &[u8]) -> Option<Vec<u8>> {
    let end = stop.iter().rposition(|byte| *byte != 0)?;
    let mut last = stop[..=end].to_vec();
    // Keys before one that ends in zeros begin like it.
    if end + 1 == stop.len() {
        last[end] -= 1;
    }
    Some(last)
}

/// Returns the fields of the segments that lie in the first `common` bytes of a key, and that of
/// the first segment after them.
fn fields_of(rekeyer: &Rekeyer, key: &[u8], common: usize) -> (Vec<FieldId>, Option<FieldId>) {
    let Ok(ranges) = rekeyer.from().split_segments(key) else { return (Vec::new(), None) };
    let carried = |at: usize| rekeyer.from().segments()[at].kind.carries();
    let known = (0..ranges.len()).filter(|at| ranges[*at].end <= common && ranges[*at].end > 0);
    let next = (0..ranges.len()).filter(|at| ranges[*at].end > common).find_map(carried);
    (known.filter_map(carried).collect(), next)
}
