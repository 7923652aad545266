//! Keys whose rows arrive in key order: every write goes to the region at one end of the table.
//!
//! This follows from the declaration alone, so that the derive macro can warn about a struct, and
//! lint about a table (K-MONO).

use std::fmt;

use crate::schema::{Field, FieldId, HashFunction, KeySchema, Order, Segment, SegmentKind};

/// Proposed number of salts: more than the region servers of most clusters, and a multiple of most
/// server counts.
const PROPOSED_SALTS: u32 = 16;

/// Reason why later rows have greater values of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The type is a time.
    Time,
    /// An integer has the name of a counter.
    NamedAsCounter,
    /// A text or an integer has the name of a time.
    NamedAsTime,
}

impl Growth {
    /// Returns the reason for a field; `None` if nothing indicates that its values grow.
    pub fn of_field(field: &Field) -> Option<Self> {
        let name = field.name.to_ascii_lowercase();
        let named = |words: &[&str]| {
            words.iter().any(|word| {
                name == *word
                    || name.ends_with(&format!("_{word}"))
                    || name.starts_with(&format!("{word}_"))
            })
        };
        if field.ty.is_time() {
            return Some(Self::Time);
        }
        if field.ty.integer_range().is_some()
            && named(&["id", "seq", "sequence", "no", "number", "counter", "serial"])
        {
            return Some(Self::NamedAsCounter);
        }
        // A time zone, a day of the week and the like have a few recurring values.
        let comes_again = name.split('_').any(|part| {
            ["zone", "tz", "of", "offset", "format", "name", "slot", "unit", "weekday"]
                .contains(&part)
        });
        let may_be_time =
            !comes_again && (field.ty.is_text() || field.ty.integer_range().is_some());
        (may_be_time && named(&["date", "day", "time", "ts", "timestamp", "month", "hour"]))
            .then_some(Self::NamedAsTime)
    }
}

impl fmt::Display for Growth {
    /// Formats the reason as what follows the name of the field.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Time => "is a time",
            Self::NamedAsCounter => "looks like a number that is counted up",
            Self::NamedAsTime => "looks like a time",
        })
    }
}

/// Key that directs all writes to one end of the table.
#[derive(Clone, Copy, Debug)]
pub struct HotEnd<'k> {
    /// Index of the leading segment.
    pub segment: usize,
    /// Field in it.
    pub field: &'k Field,
    /// Reason why its values grow.
    pub growth: Growth,
    /// `true` if the rows are at the start of the table, because the field is descending.
    pub is_first: bool,
}

impl<'k> HotEnd<'k> {
    /// Returns the hot end of a key; `None` if its writes go to more than one place.
    pub fn of_key(key: &'k KeySchema) -> Option<Self> {
        let at = leading_segment(key)?;
        let segment = &key.segments()[at];
        let (SegmentKind::Plain(field) | SegmentKind::Trunc { field, .. }) = segment.kind else {
            return None;
        };
        let field = &key.fields()[field];
        let growth = Growth::of_field(field)?;
        Some(Self { segment: at, field, growth, is_first: segment.order == Order::Desc })
    }
}

impl fmt::Display for HotEnd<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.is_first { "first" } else { "last" };
        write!(
            out,
            "{} {}: rows that come one after the other lie side by side, and one region, the \
             {end}, takes every write.",
            self.field.name, self.growth
        )
    }
}

/// Returns the first segment that differs between keys: constants and single salts precede it.
pub fn leading_segment(key: &KeySchema) -> Option<usize> {
    key.segments().iter().position(|segment| {
        !matches!(segment.kind, SegmentKind::Const(_) | SegmentKind::Salt { count: 1, .. })
    })
}

/// Returns the declaration of the key with a leading salt of all fields that do not grow, and those
/// that grow after the others.
pub fn salted(key: &KeySchema) -> String {
    let grows = |field: FieldId| Growth::of_field(&key.fields()[field]).is_some();
    let by: Vec<FieldId> = (0..key.fields().len()).filter(|&field| !grows(field)).collect();
    let mut segments = vec![salt_by(by.clone())];
    if by.is_empty() {
        segments.extend(key.segments().iter().cloned());
    } else {
        let is_growing = |segment: &Segment| segment.kind.field().is_some_and(grows);
        let (last, first): (Vec<_>, Vec<_>) = key.segments().iter().cloned().partition(is_growing);
        segments.extend(first);
        segments.extend(last);
    }
    rearranged_text(key, segments)
}

/// Returns a salt of some fields, with the proposed number of values.
pub fn salt_by(by: Vec<FieldId>) -> Segment {
    Segment::new(SegmentKind::Salt { count: PROPOSED_SALTS, by, function: HashFunction::default() })
}

/// Formats the proposed declaration of the same fields in other segments, or why there is none.
pub fn rearranged_text(key: &KeySchema, segments: Vec<Segment>) -> String {
    match key.rearranged(segments) {
        Ok(schema) => schema.to_string(),
        // Phoenix, for example, supports only its own salt.
        Err(error) => {
            format!("another key; one with a salt in front does not do here ({})", error.message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_first_key_has_hot_end_and_salted_form() {
        let key: KeySchema = "(CONST 'v', ts TIMESTAMP DESC, host STRING)".parse().unwrap();
        let hot = HotEnd::of_key(&key).expect("it begins with a time");
        assert_eq!((hot.segment, hot.growth, hot.is_first), (1, Growth::Time, true));
        assert!(hot.to_string().starts_with("ts is a time: "), "{hot}");
        assert_eq!(
            salted(&key),
            "ROW KEY (SALT(16 BY host), CONST 'v', host STRING, ts TIMESTAMP DESC)"
        );
        for spread in ["(host STRING, ts TIMESTAMP)", "(SALT(2 BY ts), ts TIMESTAMP)"] {
            assert!(HotEnd::of_key(&spread.parse().unwrap()).is_none(), "{spread}");
        }
    }
}
