//! Statistics of a table, as ANALYZE leaves them in its descriptor. They choose plans, and change
//! no answer.

use std::fmt;
use std::str::FromStr;

use datafusion::arrow::datatypes::DataType;
use halite_rowkey::language::ROW_STATS;
use halite_rowkey::plan::{Condition, Predicate};
use halite_rowkey::{FieldId, KeySchema};
use halite_types::TableDescriptor;

/// Bytes that the attribute may have.
const MAX_BYTES: usize = 4096;
/// A condition on a range of a field leaves one row in this many.
const RANGE_SHARE: u64 = 3;

/// Statistics of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableStatistics {
    /// Rows.
    pub(crate) rows: u64,
    /// Rows of the sample.
    pub(crate) sampled: u64,
    /// Time of ANALYZE, in milliseconds since 1970.
    pub(crate) analyzed_ms: i64,
    /// Distinct values of the first field of the key, of the first two, and so on, in the order of
    /// [`key_fields`].
    pub(crate) distinct: Vec<u64>,
    /// Rows of the sample that have a cell, by column, in the order of the table.
    pub(crate) present: Vec<u64>,
    /// Mean length in bytes of a key.
    pub(crate) key_bytes: u64,
    /// Mean length in bytes of the cells of a column, where a row has one; in the same order.
    pub(crate) widths: Vec<u64>,
}

impl TableStatistics {
    /// Returns the statistics of a table; `None` if it was not analyzed, or its key has changed.
    pub(crate) fn of(descriptor: &TableDescriptor, key: &KeySchema) -> Option<Self> {
        let found: Self = descriptor.attributes.get(ROW_STATS)?.parse().ok()?;
        (found.distinct.len() == key_fields(key).len()).then_some(found)
    }

    /// Returns about how many rows satisfy conditions on fields of the key.
    pub(crate) fn rows_of(&self, key: &KeySchema, conditions: &[Condition]) -> u64 {
        let (known, combinations) = leading(key, conditions);
        let rows = match known.checked_sub(1) {
            None => self.rows,
            Some(last) => {
                let each = self.rows.div_ceil(self.distinct[last].max(1));
                each.saturating_mul(combinations)
            }
        };
        let next = key_fields(key).get(known).copied();
        let is_bounded =
            next.is_some_and(|field| conditions.iter().any(|condition| condition.field == field));
        let rows = if is_bounded { rows.div_ceil(RANGE_SHARE) } else { rows };
        rows.min(self.rows)
    }

    /// Returns about how many bytes of memory a row has in a column, by its position in the table
    /// and its type; `None` if the cells of the column were not measured.
    pub(crate) fn bytes_of(&self, column: usize, ty: &DataType, is_of_key: bool) -> Option<u64> {
        /// Offset of a value of variable length, and what tells whether it is NULL.
        const PLACE_BYTES: u64 = 5;
        let of_value = match ty.primitive_width() {
            Some(width) => width as u64,
            // That of all fields together, at most.
            None if is_of_key => self.key_bytes,
            None => {
                let rows = self.sampled.max(1);
                self.widths.get(column)? * self.present.get(column)?.min(&rows) / rows
            }
        };
        Some(of_value + PLACE_BYTES)
    }

    /// Returns about how many rows of those that satisfy conditions have the same values of
    /// `fields`; `None` if these are not the first of the key.
    pub(crate) fn rows_of_group(
        &self,
        key: &KeySchema,
        conditions: &[Condition],
        fields: &[FieldId],
    ) -> Option<u64> {
        let order = key_fields(key);
        let (known, _) = leading(key, conditions);
        let last = order.iter().rposition(|field| fields.contains(field))?;
        let is_given = |at: usize| at < known || fields.contains(&order[at]);
        (0..last).all(is_given).then(|| self.rows / self.distinct[last].max(1))
    }
}

/// Returns the fields of a key in the order in which it contains them.
pub(crate) fn key_fields(key: &KeySchema) -> Vec<FieldId> {
    let mut fields = Vec::new();
    for field in key.segments().iter().filter_map(|segment| segment.kind.field()) {
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields
}

/// Returns how many of the first fields have listed values, and how many combinations of them.
fn leading(key: &KeySchema, conditions: &[Condition]) -> (usize, u64) {
    let (mut known, mut combinations) = (0, 1u64);
    for field in key_fields(key) {
        let values = conditions.iter().filter(|condition| condition.field == field);
        let counts = values.filter_map(|condition| match &condition.predicate {
            Predicate::Equals(_) | Predicate::IsNull => Some(1),
            Predicate::In(values) => Some(values.len() as u64),
            _ => None,
        });
        let Some(count) = counts.min() else { break };
        known += 1;
        combinations = combinations.saturating_mul(count);
    }
    (known, combinations)
}

impl fmt::Display for TableStatistics {
    /// Formats the attribute: as many columns as it has room for.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: &[u64]| -> String {
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            numbers.join(",")
        };
        let head = format!(
            "rows={} sampled={} at={} distinct={} key={}",
            self.rows,
            self.sampled,
            self.analyzed_ms,
            list(&self.distinct),
            self.key_bytes
        );
        let names = " present= widths=";
        let room = MAX_BYTES.saturating_sub(head.len() + names.len()) / 2;
        let within_room = |numbers: &[u64]| {
            let mut text = list(numbers);
            if text.len() > room {
                text.truncate(text[..room].rfind(',').unwrap_or(0));
            }
            text
        };
        let (present, widths) = (within_room(&self.present), within_room(&self.widths));
        write!(out, "{head} present={present} widths={widths}")
    }
}

impl FromStr for TableStatistics {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut found = Self::default();
        let list = |text: &str| -> Result<Vec<u64>, ()> {
            let numbers = text.split(',').filter(|number| !number.is_empty());
            numbers.map(|number| number.parse().map_err(drop)).collect()
        };
        if text.len() > MAX_BYTES {
            return Err(());
        }
        for part in text.split_ascii_whitespace() {
            let (name, value) = part.split_once('=').ok_or(())?;
            match name {
                "rows" => found.rows = value.parse().map_err(drop)?,
                "sampled" => found.sampled = value.parse().map_err(drop)?,
                "at" => found.analyzed_ms = value.parse().map_err(drop)?,
                "distinct" => found.distinct = list(value)?,
                "present" => found.present = list(value)?,
                "key" => found.key_bytes = value.parse().map_err(drop)?,
                "widths" => found.widths = list(value)?,
                // A later version knows more.
                _ => {}
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use halite_rowkey::value::Value;

    use super::*;

    fn key() -> KeySchema {
        "ROW KEY (SALT(4 BY device), device STRING, ts TIMESTAMP, n I32)".parse().unwrap()
    }

    fn statistics() -> TableStatistics {
        TableStatistics {
            rows: 1000,
            sampled: 100,
            analyzed_ms: 7,
            distinct: vec![10, 500, 1000],
            present: vec![100, 40],
            key_bytes: 20,
            widths: vec![0, 90],
        }
    }

    fn is(field: FieldId, value: i64) -> Condition {
        Condition { field, predicate: Predicate::Equals(Value::Signed(value)) }
    }

    #[test]
    fn the_attribute_is_read_back_and_has_few_bytes() {
        let statistics = statistics();
        assert_eq!(statistics.to_string().parse(), Ok(statistics.clone()));
        let wide =
            TableStatistics { present: vec![12_345; 5000], widths: vec![9; 9], ..statistics };
        let text = wide.to_string();
        assert!(text.len() <= MAX_BYTES, "{}", text.len());
        let read: TableStatistics = text.parse().unwrap();
        assert!(read.present.len() > 250 && read.present.iter().all(|count| *count == 12_345));
        assert_eq!(read.widths, [9; 9]);
        for damaged in ["rows=x", "rows", "distinct=1,,x", "rows=-1"] {
            assert_eq!(damaged.parse::<TableStatistics>(), Err(()), "{damaged}");
        }
    }

    #[test]
    fn rows_follow_from_the_leading_fields() {
        let (key, statistics) = (key(), statistics());
        let list = Predicate::In(vec![Value::Signed(1), Value::Signed(2)]);
        assert_eq!(statistics.rows_of(&key, &[]), 1000);
        assert_eq!(statistics.rows_of(&key, &[is(0, 1)]), 100);
        assert_eq!(statistics.rows_of(&key, &[is(0, 1), is(1, 1)]), 2);
        assert_eq!(statistics.rows_of(&key, &[Condition { field: 0, predicate: list }]), 200);
        assert_eq!(statistics.rows_of(&key, &[is(1, 1)]), 1000);
        let after = Predicate::NotNull;
        assert_eq!(statistics.rows_of(&key, &[Condition { field: 0, predicate: after }]), 334);
    }

    #[test]
    fn bytes_of_a_column_are_those_of_its_type_or_of_the_sample() {
        let statistics = statistics();
        assert_eq!(statistics.bytes_of(0, &DataType::Int64, true), Some(13));
        assert_eq!(statistics.bytes_of(0, &DataType::Utf8, true), Some(25));
        assert_eq!(statistics.bytes_of(1, &DataType::Utf8, false), Some(41));
        assert_eq!(statistics.bytes_of(2, &DataType::Utf8, false), None);
        // ANALYZE of an earlier version measured no widths.
        let early: TableStatistics =
            "rows=1000 sampled=100 at=7 distinct=1 present=100,40".parse().unwrap();
        assert_eq!(early.bytes_of(1, &DataType::Utf8, false), None);
    }

    #[test]
    fn groups_are_those_of_the_leading_fields() {
        let (key, statistics) = (key(), statistics());
        assert_eq!(statistics.rows_of_group(&key, &[], &[0]), Some(100));
        assert_eq!(statistics.rows_of_group(&key, &[], &[1, 0]), Some(2));
        assert_eq!(statistics.rows_of_group(&key, &[], &[1]), None);
        assert_eq!(statistics.rows_of_group(&key, &[is(0, 1)], &[1]), Some(2));
    }
}
