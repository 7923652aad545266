//! What is asked for: conditions on the logical fields of a key, the direction and how many rows.

use std::ops::Bound;

use halite_types::Bytes;

use crate::schema::FieldId;
use crate::value::Value;

/// A question about the fields of a key. Its conditions hold all at once; derived segments (salts, hashes, buckets) are
/// never named, they follow from the fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyQuery {
    /// What must hold; several conditions on one field are one, their intersection.
    pub conditions: Vec<Condition>,
    /// From the last key to the first.
    pub reverse: bool,
    /// Rows wanted; `None` means all.
    pub limit: Option<usize>,
    /// Rows are wanted in the order of the key; without it they may come as they are found.
    pub ordered: bool,
}

/// A condition on one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The field.
    pub field: FieldId,
    /// What its value must be like.
    pub test: Test,
}

/// What a field's value must be like. Values compare as [`Value::compare`] says; null is only met by [`Test::IsNull`] and
/// by a null among the values of [`Test::Equals`] and [`Test::In`].
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// This value.
    Equals(Value<'static>),
    /// One of these values.
    In(Vec<Value<'static>>),
    /// Between two values, each included, excluded or left open. The bounds are logical: `low` is the lesser value whatever
    /// the order of the bytes, so that a range over newest-first times cannot be written the wrong way round.
    Range {
        /// The lesser bound.
        low: Bound<Value<'static>>,
        /// The greater bound.
        high: Bound<Value<'static>>,
    },
    /// Text or bytes that begin with these.
    Prefix(Bytes),
    /// No value.
    IsNull,
    /// Any value but null.
    NotNull,
}

impl KeyQuery {
    /// Every key, in order.
    pub fn all() -> Self {
        Self { ordered: true, ..Self::default() }
    }

    /// Adds a condition.
    #[must_use]
    pub fn with(mut self, field: FieldId, test: Test) -> Self {
        self.conditions.push(Condition { field, test });
        self
    }

    /// Adds `field = value`.
    #[must_use]
    pub fn equals(self, field: FieldId, value: impl Into<Value<'static>>) -> Self {
        self.with(field, Test::Equals(value.into()))
    }

    /// Adds `field IN (values)`.
    #[must_use]
    pub fn is_in(self, field: FieldId, values: impl IntoIterator<Item = Value<'static>>) -> Self {
        self.with(field, Test::In(values.into_iter().collect()))
    }

    /// Adds a range of logical values.
    #[must_use]
    pub fn range(self, field: FieldId, low: Bound<Value<'static>>, high: Bound<Value<'static>>) -> Self {
        self.with(field, Test::Range { low, high })
    }

    /// Adds `field LIKE 'prefix%'`.
    #[must_use]
    pub fn prefix(self, field: FieldId, prefix: impl Into<Bytes>) -> Self {
        self.with(field, Test::Prefix(prefix.into()))
    }

    /// From the last key to the first.
    #[must_use]
    pub fn reverse(mut self, reverse: bool) -> Self {
        self.reverse = reverse;
        self
    }

    /// At most this many rows.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Whether rows must come in the order of the key.
    #[must_use]
    pub fn ordered(mut self, ordered: bool) -> Self {
        self.ordered = ordered;
        self
    }
}
