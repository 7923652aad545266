//! Query: conditions on the logical fields of a key, the direction and the limit.

use std::ops::Bound;

use halite_types::Bytes;

use crate::schema::FieldId;
use crate::value::Value;

/// Query on the fields of a key. All conditions must hold. Derived segments (salts, hashes,
/// buckets) are never named; they follow from the fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyQuery {
    /// Conditions; several on one field are combined to their intersection.
    pub conditions: Vec<Condition>,
    /// `true` to scan from the last key to the first.
    pub reverse: bool,
    /// Maximum rows; `None` means all.
    pub limit: Option<usize>,
    /// `true` if rows must be in key order; otherwise their order is unspecified.
    pub ordered: bool,
}

/// Condition on one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Field of the condition.
    pub field: FieldId,
    /// Predicate on its value.
    pub predicate: Predicate,
}

/// Predicate on a field's value. Values are compared by [`Value::compare`]; only
/// [`Predicate::IsNull`] and a null among the values of [`Predicate::Equals`] and [`Predicate::In`]
/// match null.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Equal to this value.
    Equals(Value<'static>),
    /// Equal to one of these values.
    In(Vec<Value<'static>>),
    /// Between two values, each inclusive, exclusive or unbounded. The bounds are logical: `low` is
    /// the lesser value regardless of the byte order, so a range over newest-first times cannot be
    /// reversed by mistake.
    Range {
        /// Lower bound.
        low: Bound<Value<'static>>,
        /// Upper bound.
        high: Bound<Value<'static>>,
    },
    /// Text or bytes that begin with these.
    Prefix(Bytes),
    /// Null.
    IsNull,
    /// Any value except null.
    NotNull,
}

impl KeyQuery {
    /// Creates a query of all keys, in order.
    pub fn all() -> Self {
        Self { ordered: true, ..Self::default() }
    }

    /// Adds a condition.
    #[must_use]
    pub fn with(mut self, field: FieldId, test: Predicate) -> Self {
        self.conditions.push(Condition { field, predicate: test });
        self
    }

    /// Adds `field = value`.
    #[must_use]
    pub fn equals(self, field: FieldId, value: impl Into<Value<'static>>) -> Self {
        self.with(field, Predicate::Equals(value.into()))
    }

    /// Adds `field IN (values)`.
    #[must_use]
    pub fn is_in(self, field: FieldId, values: impl IntoIterator<Item = Value<'static>>) -> Self {
        self.with(field, Predicate::In(values.into_iter().collect()))
    }

    /// Adds a range of logical values.
    #[must_use]
    pub fn range(
        self,
        field: FieldId,
        low: Bound<Value<'static>>,
        high: Bound<Value<'static>>,
    ) -> Self {
        self.with(field, Predicate::Range { low, high })
    }

    /// Adds `field LIKE 'prefix%'`.
    #[must_use]
    pub fn prefix(self, field: FieldId, prefix: impl Into<Bytes>) -> Self {
        self.with(field, Predicate::Prefix(prefix.into()))
    }

    /// Scans from the last key to the first.
    #[must_use]
    pub fn reverse(mut self, reverse: bool) -> Self {
        self.reverse = reverse;
        self
    }

    /// Returns at most this many rows.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Sets whether rows must be in key order.
    #[must_use]
    pub fn ordered(mut self, ordered: bool) -> Self {
        self.ordered = ordered;
        self
    }
}
