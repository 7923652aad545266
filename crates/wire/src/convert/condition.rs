//! `Condition` of a check-and-mutate.
//!
//! A condition has the opposite operand order of a filter: the given value is on the left. HBase
//! uses only the bytes of its comparator and compares them bytewise, regardless of the class
//! (`ProtobufUtil.toCheckAndMutate` of HBase 2.6 calls `getValue`). Any comparator therefore
//! becomes a value; one without bytes, such as `NullComparator`, means that there is no value.

use bytes::Bytes;
use halite_types::{CheckAndMutate, Comparator, CompareOp, Condition, RowOp};

use super::{Result, comparator, display_bytes, filter, refused, selection};
use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;

/// Returns `then` under the condition of a client's request.
///
/// # Errors
/// `DoNotRetryIOException` if the rows differ, or for an invalid operator, time range or filter;
/// for a comparator as [`comparator::from_proto`].
pub fn from_proto(proto: &pb::Condition, then: impl Into<RowOp>) -> Result<CheckAndMutate> {
    let then = then.into();
    if proto.row != *then.row() {
        let (own, others) = (display_bytes(&proto.row), display_bytes(then.row()));
        return Err(refused(format!(
            "The row of the action {others} doesn't match the original one {own}"
        )));
    }
    let condition = match &proto.filter {
        Some(filter) => Condition::Filter(filter::from_proto(filter)?),
        None => column(proto)?,
    };
    let mut check = CheckAndMutate::new(proto.row.clone(), condition, then);
    check.time_range = selection::time_range(proto.time_range.as_ref())?;
    Ok(check)
}

fn column(proto: &pb::Condition) -> Result<Condition> {
    let Some(given) = &proto.comparator else {
        return Err(refused(format!(
            "the condition on row {} has neither a comparator nor a filter; set one",
            display_bytes(&proto.row)
        )));
    };
    let op = comparator::compare_op(proto.compare_type.unwrap_or_default())?;
    if op == CompareOp::NoOp {
        // Java's client retries after this, as with HBase.
        return Err(Exception::new(ExceptionKind::Io, "Unknown Compare op NO_OP"));
    }
    let value = bytes_of(comparator::from_proto(given)?);
    Ok(Condition::Column {
        family: proto.family.clone().unwrap_or_default(),
        qualifier: proto.qualifier.clone().unwrap_or_default(),
        op,
        value: Some(value).filter(|value| !value.is_empty()),
    })
}

/// Returns the bytes that Java's `ByteArrayComparable.getValue` returns.
fn bytes_of(comparator: Comparator) -> Bytes {
    match comparator {
        Comparator::Binary(value)
        | Comparator::BinaryPrefix(value)
        | Comparator::BinaryComponent { value, .. }
        | Comparator::Bit(_, value)
        | Comparator::BigDecimal(value) => value,
        Comparator::Substring(text) => text.to_lowercase().into(),
        Comparator::Regex(regex) => regex.pattern.into(),
        Comparator::Long(number) => Bytes::copy_from_slice(&number.to_be_bytes()),
        Comparator::Null => Bytes::new(),
    }
}

/// Returns the message of a condition; the operation is a separate message. The absence of a value
/// is an empty value, as Java sends it.
///
/// # Errors
/// `Unsupported` for a filter without a class in HBase.
pub fn to_proto(check: &CheckAndMutate) -> halite_types::Result<pb::Condition> {
    let proto = pb::Condition {
        row: check.row().clone(),
        time_range: selection::some_time_range(check.time_range),
        ..pb::Condition::default()
    };
    Ok(match &check.condition {
        Condition::Filter(filter) => {
            pb::Condition { filter: Some(filter::to_proto(filter)?), ..proto }
        }
        Condition::Column { family, qualifier, op, value } => pb::Condition {
            family: Some(family.clone()),
            qualifier: Some(qualifier.clone()),
            compare_type: Some(comparator::compare_type(*op)),
            comparator: Some(comparator::to_proto(&Comparator::Binary(
                value.clone().unwrap_or_default(),
            ))),
            ..proto
        },
    })
}

#[cfg(test)]
mod tests {
    use halite_types::{Delete, Put, RegexString, TimeRange};
    use proptest::prelude::*;

    use super::*;
    use crate::convert::tests::{hex, strategies};
    use crate::exception::ExceptionKind;

    fn read(proto: &pb::Condition) -> Result<CheckAndMutate> {
        from_proto(proto, Put::new("r").add("f", "q", "new"))
    }

    fn of(compare_type: i32, comparator: &Comparator) -> pb::Condition {
        let comparator = Some(comparator::to_proto(comparator));
        let (family, qualifier) = (Some(Bytes::from("f")), Some(Bytes::from("q")));
        pb::Condition {
            row: "r".into(),
            family,
            qualifier,
            compare_type: Some(compare_type),
            comparator,
            ..pb::Condition::default()
        }
    }

    fn value(proto: &pb::Condition) -> Option<Bytes> {
        match read(proto).unwrap().condition {
            Condition::Column { value, .. } => value,
            Condition::Filter(filter) => panic!("{filter} is a filter"),
        }
    }

    #[test]
    fn absent_value_converts_to_empty_and_back() {
        assert_eq!(value(&of(2, &Comparator::Null)), None);
        assert_eq!(value(&of(2, &Comparator::Binary(Bytes::new()))), None);
        let absent = CheckAndMutate::if_not_exists("r", "f", "q", Delete::new("r"));
        let sent = to_proto(&absent).unwrap().comparator.unwrap();
        assert_eq!(
            sent,
            pb::Comparator {
                name: "org.apache.hadoop.hbase.filter.BinaryComparator".into(),
                serialized_comparator: Some(hex("0a020a00"))
            }
        );
    }

    #[test]
    fn condition_uses_bytes_of_every_comparator() {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        assert_eq!(value(&of(0, &Comparator::BinaryPrefix(bytes("ab")))), Some(bytes("ab")));
        assert_eq!(value(&of(0, &Comparator::Substring("AB".into()))), Some(bytes("ab")));
        assert_eq!(value(&of(0, &Comparator::Regex(RegexString::new("a.*")))), Some(bytes("a.*")));
        assert_eq!(value(&of(0, &Comparator::Long(5))), Some(hex("0000000000000005")));
        assert_eq!(
            value(&of(0, &Comparator::BinaryComponent { value: bytes("x"), offset: 3 })),
            Some(bytes("x"))
        );
    }

    #[test]
    fn invalid_conditions_are_rejected() {
        let good = of(2, &Comparator::Null);
        for proto in [
            pb::Condition { row: "other".into(), ..good.clone() },
            pb::Condition { compare_type: Some(9), ..good.clone() },
            pb::Condition { comparator: None, ..good.clone() },
            pb::Condition {
                time_range: Some(pb::TimeRange { from: Some(2), to: Some(1) }),
                ..good.clone()
            },
        ] {
            assert_eq!(
                read(&proto).unwrap_err().kind(),
                Some(ExceptionKind::DoNotRetry),
                "{proto:?}"
            );
        }
        let no_op = pb::Condition { compare_type: Some(6), ..good.clone() };
        assert_eq!(
            read(&no_op).unwrap_err().to_string(),
            "java.io.IOException: Unknown Compare op NO_OP"
        );
        let odd = pb::Condition {
            comparator: Some(pb::Comparator {
                name: "foo.Bar".into(),
                serialized_comparator: None,
            }),
            ..good
        };
        assert_eq!(
            read(&odd).unwrap_err().to_string(),
            "java.io.IOException: java.lang.ClassNotFoundException: foo.Bar"
        );
    }

    proptest! {
        #[test]
        fn every_condition_round_trips_through_message(
            op in strategies::compare_op(), given in prop::option::of(strategies::some_bytes()), family in strategies::any_bytes(),
            filter in prop::option::of(strategies::filter()), time_range in strategies::time_range()
        ) {
            prop_assume!(op != CompareOp::NoOp);
            let column = Condition::Column { qualifier: family.clone(), family, op, value: given };
            let mut check = CheckAndMutate::new("r", filter.map_or(column, Condition::Filter), Put::new("r").add("f", "q", "new"));
            check.time_range = TimeRange::new(time_range.min(), time_range.max()).unwrap();
            let again = read(&to_proto(&check).unwrap()).unwrap();
            prop_assert_eq!(format!("{:?}", again), format!("{:?}", check));
        }
    }
}
