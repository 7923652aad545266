//! Reasons why a query cannot be planned.

use std::fmt;

use crate::schema::FieldId;
use crate::value::{FieldType, Value};

/// Reason why a query cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanError {
    /// Condition on a field that the key does not have.
    NoSuchField {
        /// Requested field.
        field: FieldId,
        /// Number of fields.
        fields: usize,
    },
    /// Value of another type than the field's.
    WrongType {
        /// Name of the field.
        field: String,
        /// Type of the field.
        ty: FieldType,
        /// Kind of the value.
        given: &'static str,
    },
    /// Null as the bound of a range.
    NullBound {
        /// Name of the field.
        field: String,
    },
    /// Condition on a field that only a hash contains, other than one that determines the hash.
    OnlyHashed {
        /// Name of the field.
        field: String,
    },
    /// Queries of a union that differ in direction, limit or order.
    MixedUnion,
    /// Prefix of a field that is neither text nor bytes, or one that ends inside a character.
    NoPrefix {
        /// Name of the field.
        field: String,
        /// Type of the field.
        ty: FieldType,
    },
}

impl PlanError {
    pub(super) fn wrong_type(_: FieldId, name: &str, ty: FieldType, value: &Value<'_>) -> Self {
        Self::WrongType { field: name.to_owned(), ty, given: value.kind_name() }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchField { field, fields } => {
                write!(out, "a condition names field {field} of the row key, which has {fields}")
            }
            Self::WrongType { field, ty, given } => write!(
                out,
                "field {field} is of type {ty}, and a condition compares it with {given}"
            ),
            Self::NullBound { field } => write!(
                out,
                "a range of field {field} ends at null; leave that side open, which leaves null \
                 out too"
            ),
            Self::OnlyHashed { field } => {
                write!(
                    out,
                    "field {field} is in the key only as a hash: give single values of it, and of \
                     all fields before the hash"
                )
            }
            Self::MixedUnion => out.write_str(
                "the queries of a union have one direction, one limit and one order; set the same \
                 in all of them",
            ),
            Self::NoPrefix { field, ty } => {
                write!(
                    out,
                    "field {field} is of type {ty}: only text and bytes have prefixes, and those \
                     of text end with a letter"
                )
            }
        }
    }
}

impl std::error::Error for PlanError {}

impl From<PlanError> for halite_types::Error {
    fn from(error: PlanError) -> Self {
        Self::invalid(error.to_string())
    }
}
