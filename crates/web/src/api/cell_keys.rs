//! Keys of one row of a heat map, in any of its orders.

use halite_heat::operations::Call;

use super::heat::{KeyRange, Order};
use crate::key_view::DeclaredKey;
use crate::params::Params;
use crate::problem::{Answered, Problem};

/// Keys of a row of a heat map.
pub(crate) enum CellKeys {
    /// A range of them.
    Range(KeyRange),
    /// Those that are in a range without their salts.
    Unsalted(KeyRange, DeclaredKey),
    /// Those with one value of a field.
    Value { declared: DeclaredKey, segment: usize, value: String },
}

impl CellKeys {
    /// Reads `order`, and `k0` and `k1`, or `value`.
    pub(crate) fn of(params: &Params, declared: Option<&DeclaredKey>) -> Answered<Self> {
        let no_key = || Problem::field("order", "the table declares no row key");
        match Order::of(params)? {
            Order::Physical => Ok(Self::Range(KeyRange::of(params)?)),
            Order::Unsalted => {
                let declared = declared.ok_or_else(no_key)?.clone();
                Ok(Self::Unsalted(KeyRange::of(params)?, declared))
            }
            Order::Pivot(field) => {
                let declared = declared.ok_or_else(no_key)?.clone();
                let segment = declared.segment_of(&field).ok_or_else(|| {
                    let field = crate::params::short(&field);
                    Problem::field("order", format!("the declared key has no field {field:?}"))
                })?;
                let value = params.get("value").unwrap_or_default().to_owned();
                Ok(Self::Value { declared, segment, value })
            }
        }
    }

    pub(crate) fn contains(&self, row: &[u8]) -> bool {
        match self {
            Self::Range(range) => range.contains(row),
            Self::Unsalted(range, declared) => {
                let ranges = declared.schema.split_segments(row).unwrap_or_default();
                let rest = ranges.first().and_then(|salt| row.get(salt.end..));
                rest.is_some_and(|rest| range.contains(rest))
            }
            Self::Value { declared, segment, value } => {
                declared.value_of(row, *segment).is_some_and(|(_, text)| text == *value)
            }
        }
    }

    /// Returns `true` if a logged call is on one of the keys. A scan of other orders than the
    /// physical one counts where it begins.
    pub(crate) fn has_call(&self, call: &Call) -> bool {
        match self {
            Self::Range(range) => call.is_in(&range.start, range.end.as_deref()),
            Self::Unsalted(..) | Self::Value { .. } => self.contains(&call.row),
        }
    }

    /// Returns the range of keys, if they are one.
    pub(crate) fn range(&self) -> Option<&KeyRange> {
        match self {
            Self::Range(range) => Some(range),
            Self::Unsalted(..) | Self::Value { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(declared: &DeclaredKey, params: &[(&str, &str)]) -> CellKeys {
        let pairs = params.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        CellKeys::of(&Params(pairs.collect()), Some(declared)).unwrap()
    }

    #[test]
    fn keys_of_every_order_are_found() {
        let text = "ROW KEY (SALT(16 BY a), a STRING, b U8)";
        let declared = DeclaredKey::of_schema(text.parse().unwrap());
        let key = |a: &str| {
            let values = [format!("a={a}"), "b=7".to_owned()];
            let values = declared.schema.parse_values(values.iter().map(String::as_str)).unwrap();
            declared.schema.encode(&values).unwrap().to_vec()
        };
        let pivot = keys(&declared, &[("order", "pivot:a"), ("value", "x1")]);
        assert!(pivot.contains(&key("x1")) && !pivot.contains(&key("x2")));
        let unsalted = keys(&declared, &[("order", "unsalted"), ("k0", "7831"), ("k1", "7832")]);
        assert!(unsalted.contains(&key("x1")) && !unsalted.contains(&key("x2")));
        assert!(unsalted.range().is_none() && pivot.range().is_none());
        let physical = keys(&declared, &[("k0", "10")]);
        assert!(physical.contains(&[0x10]) && !physical.contains(&[0x0f]));
        let unknown = [("order".to_owned(), "pivot:c".to_owned())];
        assert!(CellKeys::of(&Params(unknown.into()), Some(&declared)).is_err());
    }
}
