//! Fingerprint of a query on a table, by which a page token is recognized.

use std::fmt::Write as _;
use std::ops::Bound;

use halite_types::TableName;

use super::{Condition, Plan, Predicate};
use crate::language::fnv1a;
use crate::schema::{KeySchema, SegmentKind};
use crate::value::Value;

impl Plan {
    /// Returns a hash of the table, of the schema without its salts, whose number may change
    /// between pages, of the conditions, and of the direction; not of the limit.
    pub(crate) fn page_fingerprint(&self, table: &TableName) -> u64 {
        let mut text = format!("{table}\0{}\0", unsalted_text(&self.schema));
        text.push(if self.query.reverse { '<' } else { '>' });
        if self.parts.is_empty() {
            self.write_conditions(&self.query.conditions, &mut text);
        }
        for part in &*self.parts {
            text.push('|');
            self.write_conditions(&part.plan.query.conditions, &mut text);
        }
        for any in &*self.checked {
            text.push('&');
            for term in &any.of.terms {
                text.push('|');
                self.write_conditions(term, &mut text);
            }
        }
        fnv1a(text.as_bytes())
    }

    fn write_conditions(&self, conditions: &[Condition], text: &mut String) {
        for Condition { field, predicate } in conditions {
            let _ = write!(text, "\0{field}");
            match predicate {
                Predicate::Equals(value) => self.write_value('=', *field, value, text),
                Predicate::In(values) => {
                    values.iter().for_each(|value| self.write_value('i', *field, value, text));
                }
                Predicate::Range { low, high } => {
                    self.write_bound('l', *field, low, text);
                    self.write_bound('h', *field, high, text);
                }
                Predicate::Prefix(bytes) => {
                    let _ = write!(text, "p{:?}", &bytes[..]);
                }
                Predicate::IsNull => text.push('n'),
                Predicate::NotNull => text.push('v'),
            }
        }
    }

    fn write_bound(&self, side: char, field: usize, bound: &Bound<Value<'_>>, text: &mut String) {
        text.push(side);
        match bound {
            Bound::Included(value) => self.write_value('[', field, value, text),
            Bound::Excluded(value) => self.write_value('(', field, value, text),
            Bound::Unbounded => {}
        }
    }

    /// Writes a value as a literal, whose length comes first: no two lists of values have one text.
    fn write_value(&self, mark: char, field: usize, value: &Value<'_>, text: &mut String) {
        let literal = match (value, self.schema.fields().get(field)) {
            (Value::Null, _) | (_, None) => "NULL".to_owned(),
            (value, Some(field)) => field.ty.print(value),
        };
        let _ = write!(text, "{mark}{}:{literal}", literal.len());
    }
}

fn unsalted_text(schema: &KeySchema) -> String {
    let carrying = schema
        .segments()
        .iter()
        .filter(|segment| !matches!(segment.kind, SegmentKind::Salt { .. }))
        .cloned()
        .collect();
    let unsalted = KeySchema::new(schema.profile(), schema.fields().to_vec(), carrying);
    unsalted.map_or_else(|_| schema.to_text(), |unsalted| unsalted.to_text())
}
