//! Keys as Rust types: runtime support for `#[derive(RowKey)]`.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use std::sync::Arc;

use halite_types::{Error, Scan};
pub use halite_types::{Result, Table};

use crate::error::{KeyError, KeyErrorKind};
use crate::plan::{KeyQuery, Plan, PlanError, PlanOptions, Predicate};
pub use crate::scatter::{Page, PageToken};
use crate::scatter::{Scatter, ScatterOptions};
use crate::schema::{FieldId, KeySchema};
use crate::value::{Decimal, Value};

/// Time in milliseconds since 1970, of type `TIMESTAMP`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TsMillis(pub i64);

/// Time in microseconds since 1970, of type `TIMESTAMP(us)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TsMicros(pub i64);

/// Time in nanoseconds since 1970, of type `TIMESTAMP(ns)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TsNanos(pub i64);

/// Day since 1970-01-01, of type `DATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Days(pub i32);

/// Conversion to the value of a key field.
pub trait ToValue {
    /// Returns the value, borrowing text and bytes.
    fn to_value(&self) -> Value<'_>;
}

/// Conversion from the value of a key field.
pub trait FromValue<'k>: Sized {
    /// Returns the value of a decoded field.
    ///
    /// # Errors
    /// A value of another type, and text that cannot be borrowed from the key because its stored
    /// form differs.
    fn from_value(value: Value<'k>) -> std::result::Result<Self, KeyErrorKind>;
}

fn wrong(expected: &str, given: &Value<'_>) -> KeyErrorKind {
    KeyErrorKind::WrongType { expected: expected.to_owned(), given: given.kind_name() }
}

macro_rules! integers {
    ($($rust:ty => $kind:ident),*) => {
        $(impl ToValue for $rust {
            fn to_value(&self) -> Value<'_> {
                Value::$kind((*self).into())
            }
        }
        impl<'k> FromValue<'k> for $rust {
            fn from_value(value: Value<'k>) -> std::result::Result<Self, KeyErrorKind> {
                match value {
                    Value::$kind(number) => Self::try_from(number).map_err(|_| wrong(stringify!($rust), &value)),
                    other => Err(wrong(stringify!($rust), &other)),
                }
            }
        })*
    };
}
integers!(u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned, i8 => Signed, i16 => Signed, i32 => Signed, i64 => Signed);

macro_rules! copied {
    ($($rust:ty => $kind:ident),*) => {
        $(impl ToValue for $rust {
            fn to_value(&self) -> Value<'_> {
                Value::$kind(*self)
            }
        }
        impl<'k> FromValue<'k> for $rust {
            fn from_value(value: Value<'k>) -> std::result::Result<Self, KeyErrorKind> {
                match value {
                    Value::$kind(value) => Ok(value),
                    other => Err(wrong(stringify!($rust), &other)),
                }
            }
        })*
    };
}
copied!(bool => Bool, f32 => F32, f64 => F64, Decimal => Decimal, Ipv4Addr => Ipv4, Ipv6Addr => Ipv6);

macro_rules! times {
    ($($rust:ident($number:ty)),*) => {
        $(impl ToValue for $rust {
            fn to_value(&self) -> Value<'_> {
                self.0.to_value()
            }
        }
        impl<'k> FromValue<'k> for $rust {
            fn from_value(value: Value<'k>) -> std::result::Result<Self, KeyErrorKind> {
                <$number>::from_value(value).map(Self)
            }
        })*
    };
}
times!(TsMillis(i64), TsMicros(i64), TsNanos(i64), Days(i32));

macro_rules! texts {
    ($($rust:ty, $kind:ident, $value:ident => $borrow:expr),*) => {
        $(impl ToValue for $rust {
            fn to_value(&self) -> Value<'_> {
                let $value = self;
                Value::$kind(Cow::Borrowed($borrow))
            }
        })*
    };
}
texts!(&str, Text, text => text, String, Text, text => text, Cow<'_, str>, Text, text => text);
texts!(&[u8], Bytes, bytes => bytes, Vec<u8>, Bytes, bytes => bytes, Cow<'_, [u8]>, Bytes, bytes => bytes);

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value<'_> {
        Value::Bytes(Cow::Borrowed(self))
    }
}

impl<'k, const N: usize> FromValue<'k> for [u8; N] {
    fn from_value(value: Value<'k>) -> std::result::Result<Self, KeyErrorKind> {
        match &value {
            Value::Bytes(bytes) => {
                Self::try_from(&bytes[..]).map_err(|_| wrong("an array", &value))
            }
            other => Err(wrong("an array", other)),
        }
    }
}

/// Bytes of a UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl ToValue for Uuid {
    fn to_value(&self) -> Value<'_> {
        Value::Uuid(self.0)
    }
}

impl<'k> FromValue<'k> for Uuid {
    fn from_value(value: Value<'k>) -> std::result::Result<Self, KeyErrorKind> {
        match value {
            Value::Uuid(bytes) => Ok(Self(bytes)),
            other => Err(wrong("a UUID", &other)),
        }
    }
}

const NOT_BORROWED: KeyErrorKind = KeyErrorKind::Unsupported(
    "the key does not contain its bytes unchanged, so it cannot be borrowed; declare the field as \
     a Cow, a String or a Vec",
);

macro_rules! from_texts {
    ($kind:ident, $borrowed:ty, $owned:ty, $type_name:literal) => {
        impl<'k> FromValue<'k> for &'k $borrowed {
            fn from_value(value: Value<'k>) -> std::result::Result<Self, KeyErrorKind> {
                match value {
                    Value::$kind(Cow::Borrowed(value)) => Ok(value),
                    Value::$kind(Cow::Owned(_)) => Err(NOT_BORROWED),
                    other => Err(wrong($type_name, &other)),
                }
            }
        }
        impl<'k> FromValue<'k> for Cow<'k, $borrowed> {
            fn from_value(value: Value<'k>) -> std::result::Result<Self, KeyErrorKind> {
                match value {
                    Value::$kind(value) => Ok(value),
                    other => Err(wrong($type_name, &other)),
                }
            }
        }
        impl<'k> FromValue<'k> for $owned {
            fn from_value(value: Value<'k>) -> std::result::Result<Self, KeyErrorKind> {
                Cow::<'k, $borrowed>::from_value(value).map(Cow::into_owned)
            }
        }
    };
}
from_texts!(Text, str, String, "text");
from_texts!(Bytes, [u8], Vec<u8>, "bytes");

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<'k, T: FromValue<'k>> FromValue<'k> for Option<T> {
    fn from_value(value: Value<'k>) -> std::result::Result<Self, KeyErrorKind> {
        if value.is_null() { Ok(None) } else { T::from_value(value).map(Some) }
    }
}

/// Condition of a scan on a field of type `T`: a value, a range of values, a list, or [`Prefix`].
pub trait IntoPredicate<T> {
    /// Returns the condition.
    fn into_predicate(self) -> Predicate;
}

/// Prefix of text or bytes.
#[derive(Clone, Copy, Debug)]
pub struct Prefix<'p>(pub &'p str);

fn owned(value: &impl ToValue) -> Value<'static> {
    value.to_value().into_owned()
}

impl<T: ToValue> IntoPredicate<T> for T {
    fn into_predicate(self) -> Predicate {
        Predicate::Equals(owned(&self))
    }
}

impl<T: ToValue> IntoPredicate<T> for Vec<T> {
    fn into_predicate(self) -> Predicate {
        Predicate::In(self.iter().map(owned).collect())
    }
}

impl<T: ToValue, const N: usize> IntoPredicate<T> for [T; N] {
    fn into_predicate(self) -> Predicate {
        Predicate::In(self.iter().map(owned).collect())
    }
}

impl IntoPredicate<&str> for Prefix<'_> {
    fn into_predicate(self) -> Predicate {
        Predicate::Prefix(halite_types::Bytes::copy_from_slice(self.0.as_bytes()))
    }
}

impl IntoPredicate<String> for Prefix<'_> {
    fn into_predicate(self) -> Predicate {
        IntoPredicate::<&str>::into_predicate(self)
    }
}

impl IntoPredicate<Cow<'_, str>> for Prefix<'_> {
    fn into_predicate(self) -> Predicate {
        IntoPredicate::<&str>::into_predicate(self)
    }
}

macro_rules! ranges {
    ($($range:ty, $value:ident => ($low:expr, $high:expr)),*) => {
        $(impl<T: ToValue> IntoPredicate<T> for $range {
            fn into_predicate(self) -> Predicate {
                let $value = self;
                Predicate::Range { low: $low, high: $high }
            }
        })*
    };
}
ranges!(
    Range<T>, range => (Bound::Included(owned(&range.start)), Bound::Excluded(owned(&range.end))),
    RangeInclusive<T>, range => (Bound::Included(owned(range.start())), Bound::Included(owned(range.end()))),
    RangeFrom<T>, range => (Bound::Included(owned(&range.start)), Bound::Unbounded),
    RangeTo<T>, range => (Bound::Unbounded, Bound::Excluded(owned(&range.end))),
    RangeToInclusive<T>, range => (Bound::Unbounded, Bound::Included(owned(&range.end)))
);

impl<T> IntoPredicate<T> for RangeFull {
    fn into_predicate(self) -> Predicate {
        Predicate::Range { low: Bound::Unbounded, high: Bound::Unbounded }
    }
}

/// Query on the keys of one schema, under construction.
#[derive(Clone, Debug)]
pub struct TypedScan {
    schema: Arc<KeySchema>,
    query: KeyQuery,
}

impl TypedScan {
    /// Creates a query of all keys, in key order.
    pub fn new(schema: &Arc<KeySchema>) -> Self {
        Self { schema: Arc::clone(schema), query: KeyQuery::all() }
    }

    /// Adds a condition.
    #[must_use]
    pub fn with<T>(mut self, field: FieldId, test: impl IntoPredicate<T>) -> Self {
        self.query = self.query.with(field, test.into_predicate());
        self
    }

    /// Changes the query: direction, limit, order.
    #[must_use]
    pub fn change(mut self, change: impl FnOnce(KeyQuery) -> KeyQuery) -> Self {
        self.query = change(self.query);
        self
    }

    /// Returns the query.
    pub fn query(&self) -> &KeyQuery {
        &self.query
    }

    /// Returns the plan of the query.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn plan(&self) -> std::result::Result<Plan, PlanError> {
        Plan::new(&self.schema, &self.query, &PlanOptions::default())
    }

    /// Returns the rows of a table that match the query.
    ///
    /// # Errors
    /// As [`Plan::new`] and [`Scatter::new`].
    pub fn rows(&self, table: Arc<dyn Table>) -> Result<Scatter> {
        let plan = self.plan().map_err(Error::from)?;
        Scatter::new(table, Arc::new(plan), Scan::all(), &ScatterOptions::default(), None)
    }

    /// Reads the page of a table after the one that ended at `after`; its limit is the query's.
    ///
    /// # Errors
    /// As [`Plan::new`] and [`Page::read`].
    pub async fn read_page(
        &self,
        table: Arc<dyn Table>,
        after: Option<&PageToken>,
    ) -> Result<Page> {
        let plan = Arc::new(self.plan().map_err(Error::from)?);
        Page::read(table, plan, Scan::all(), &ScatterOptions::default(), after).await
    }
}

/// Returns the schema of a text that the derive macro has verified.
///
/// # Panics
/// If the text is not a valid schema.
pub fn declared(text: &str) -> Arc<KeySchema> {
    match text.parse() {
        Ok(schema) => Arc::new(schema),
        Err(error) => panic!(
            "this text was not made by the derive: {}",
            crate::LanguageError::render(&error, text)
        ),
    }
}

/// Returns the next field of a decoded key.
///
/// # Errors
/// As [`FromValue::from_value`], with the segment the field is in.
pub fn field<'k, T: FromValue<'k>>(
    schema: &KeySchema,
    id: FieldId,
    values: &mut impl Iterator<Item = Value<'k>>,
) -> std::result::Result<T, KeyError> {
    let segment =
        schema.segments().iter().position(|segment| segment.kind.field() == Some(id)).unwrap_or(0);
    T::from_value(values.next().unwrap_or(Value::Null))
        .map_err(|cause| KeyError::new(segment, 0, cause))
}
