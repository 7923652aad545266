//! Comparators: `{name of the Java class, message of the same simple name}`.

use bytes::Bytes;
use halite_types::{BitOp, Comparator, CompareOp, RegexString};
use prost::Message;

use super::{Result, class_not_found, refused};
use crate::exception::{Exception, ExceptionKind};
use crate::proto as pb;
use pb::bit_comparator::BitwiseOp;

/// Java package of filters and comparators.
pub(super) const PACKAGE: &str = "org.apache.hadoop.hbase.filter.";

/// Returns the comparator of a message.
///
/// # Errors
/// `java.io.IOException` as in HBase, for a class that is not HBase's own or content that is not
/// its message.
pub fn from_proto(proto: &pb::Comparator) -> Result<Comparator> {
    let bytes = proto.serialized_comparator.clone().unwrap_or_default();
    Ok(match proto.name.strip_prefix(PACKAGE).unwrap_or_default() {
        "BinaryComparator" => Comparator::Binary(
            read::<pb::BinaryComparator>(bytes)?.comparable.value.unwrap_or_default(),
        ),
        "BinaryPrefixComparator" => Comparator::BinaryPrefix(
            read::<pb::BinaryPrefixComparator>(bytes)?.comparable.value.unwrap_or_default(),
        ),
        "BinaryComponentComparator" => {
            let pb::BinaryComponentComparator { value, offset } = read(bytes)?;
            Comparator::BinaryComponent { value, offset }
        }
        "BitComparator" => bit(read(bytes)?)?,
        "SubstringComparator" => {
            Comparator::Substring(read::<pb::SubstringComparator>(bytes)?.substr)
        }
        "RegexStringComparator" => regex(read(bytes)?),
        "LongComparator" => {
            long(&read::<pb::LongComparator>(bytes)?.comparable.value.unwrap_or_default())?
        }
        "BigDecimalComparator" => Comparator::BigDecimal(
            read::<pb::BigDecimalComparator>(bytes)?.comparable.value.unwrap_or_default(),
        ),
        "NullComparator" => Comparator::Null,
        _ => return Err(Exception::new(ExceptionKind::Io, class_not_found(&proto.name))),
    })
}

fn read<M: Message + Default>(bytes: Bytes) -> Result<M> {
    M::decode(bytes).map_err(|error| {
        Exception::new(ExceptionKind::Io, format!("undecodable comparator message: {error}"))
    })
}

fn bit(proto: pb::BitComparator) -> Result<Comparator> {
    let op = match BitwiseOp::try_from(proto.bitwise_op) {
        Ok(BitwiseOp::And) => BitOp::And,
        Ok(BitwiseOp::Or) => BitOp::Or,
        Ok(BitwiseOp::Xor) => BitOp::Xor,
        Err(_) => {
            return Err(refused(format!(
                "invalid operator {} of a BitComparator: expected 1 (AND), 2 (OR) or 3 (XOR)",
                proto.bitwise_op
            )));
        }
    };
    Ok(Comparator::Bit(op, proto.comparable.value.unwrap_or_default()))
}

/// Returns the regular expression of a message. The engine in the message is ignored: Halite has
/// one, which is neither of Java's two.
fn regex(proto: pb::RegexStringComparator) -> Comparator {
    Comparator::Regex(RegexString {
        pattern: proto.pattern,
        flags: proto.pattern_flags.cast_unsigned(),
        charset: proto.charset,
    })
}

fn long(value: &[u8]) -> Result<Comparator> {
    match value.try_into() {
        Ok(value) => Ok(Comparator::Long(i64::from_be_bytes(value))),
        Err(_) => Err(refused(format!(
            "the value of a LongComparator has {} bytes, expected 8",
            value.len()
        ))),
    }
}

/// Returns the message of a comparator.
pub fn to_proto(comparator: &Comparator) -> pb::Comparator {
    let comparable = |value: &Bytes| pb::ByteArrayComparable { value: Some(value.clone()) };
    match comparator {
        Comparator::Binary(value) => {
            named("BinaryComparator", &pb::BinaryComparator { comparable: comparable(value) })
        }
        Comparator::BinaryPrefix(value) => named(
            "BinaryPrefixComparator",
            &pb::BinaryPrefixComparator { comparable: comparable(value) },
        ),
        Comparator::BinaryComponent { value, offset } => named(
            "BinaryComponentComparator",
            &pb::BinaryComponentComparator { value: value.clone(), offset: *offset },
        ),
        Comparator::Bit(op, value) => {
            let op = match op {
                BitOp::And => BitwiseOp::And,
                BitOp::Or => BitwiseOp::Or,
                BitOp::Xor => BitwiseOp::Xor,
            };
            named(
                "BitComparator",
                &pb::BitComparator { comparable: comparable(value), bitwise_op: op.into() },
            )
        }
        // As Java's constructor does: the evaluation compares with lower-case text.
        Comparator::Substring(text) => {
            named("SubstringComparator", &pb::SubstringComparator { substr: text.to_lowercase() })
        }
        Comparator::Regex(RegexString { pattern, flags, charset }) => {
            let (pattern, pattern_flags, charset) =
                (pattern.clone(), flags.cast_signed(), charset.clone());
            named(
                "RegexStringComparator",
                &pb::RegexStringComparator {
                    pattern,
                    pattern_flags,
                    charset,
                    engine: Some("JAVA".to_string()),
                },
            )
        }
        Comparator::Long(value) => named(
            "LongComparator",
            &pb::LongComparator {
                comparable: comparable(&Bytes::copy_from_slice(&value.to_be_bytes())),
            },
        ),
        Comparator::BigDecimal(value) => named(
            "BigDecimalComparator",
            &pb::BigDecimalComparator { comparable: comparable(value) },
        ),
        Comparator::Null => named("NullComparator", &pb::NullComparator {}),
    }
}

fn named(class: &str, message: &impl Message) -> pb::Comparator {
    pb::Comparator {
        name: format!("{PACKAGE}{class}"),
        serialized_comparator: Some(message.encode_to_vec().into()),
    }
}

/// Returns the operator of a number on the wire.
pub(super) fn compare_op(number: i32) -> Result<CompareOp> {
    use pb::CompareType;
    Ok(match CompareType::try_from(number) {
        Ok(CompareType::Less) => CompareOp::Less,
        Ok(CompareType::LessOrEqual) => CompareOp::LessOrEqual,
        Ok(CompareType::Equal) => CompareOp::Equal,
        Ok(CompareType::NotEqual) => CompareOp::NotEqual,
        Ok(CompareType::GreaterOrEqual) => CompareOp::GreaterOrEqual,
        Ok(CompareType::Greater) => CompareOp::Greater,
        Ok(CompareType::NoOp) => CompareOp::NoOp,
        Err(_) => {
            return Err(refused(format!(
                "invalid CompareType {number}: expected 0 (LESS) to 6 (NO_OP)"
            )));
        }
    })
}

/// Returns the number of an operator on the wire.
pub(super) fn compare_type(op: CompareOp) -> i32 {
    use pb::CompareType;
    i32::from(match op {
        CompareOp::Less => CompareType::Less,
        CompareOp::LessOrEqual => CompareType::LessOrEqual,
        CompareOp::Equal => CompareType::Equal,
        CompareOp::NotEqual => CompareType::NotEqual,
        CompareOp::GreaterOrEqual => CompareType::GreaterOrEqual,
        CompareOp::Greater => CompareType::Greater,
        CompareOp::NoOp => CompareType::NoOp,
    })
}
